"""What PyTorch does in its own way."""

import torch


def scan(step, state, inputs):
    """See `keras_elmo.backend`."""
    outputs = []
    for step_inputs in zip(*(x.unbind(0) for x in inputs), strict=True):
        state = step(state, step_inputs)
        outputs.append(state[0])
    if not outputs:
        return state, state[0].new_zeros((0, *state[0].shape))
    return state, torch.stack(outputs)


def max_over(x, axis):
    """See `keras_elmo.backend`."""
    return torch.amax(x, dim=axis)

"""The recurrent loop on PyTorch, as a graph of one step that `torch.export` takes.

A loop in Python would be written out for the number of steps it is traced with.
"""

import torch

try:
    from torch._higher_order_ops import scan
except ImportError as error:
    raise ImportError(
        "This PyTorch has no loops that torch.export takes: pip install -U torch."
    ) from error


def projected_lstm(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    """See `keras_elmo.backend`."""

    def step(state, inputs):
        h, c = state
        gates = inputs[0] + h @ recurrent_kernel
        i, j, f, o = gates.chunk(4, dim=-1)
        new_c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(j)
        if cell_clip is not None:
            new_c = new_c.clamp(-cell_clip, cell_clip)
        new_h = torch.sigmoid(o) * torch.tanh(new_c)
        if projection_kernel is not None:
            new_h = new_h @ projection_kernel
            if proj_clip is not None:
                new_h = new_h.clamp(-proj_clip, proj_clip)
        if mask is not None:
            new_h = torch.where(inputs[1], new_h, h)
            new_c = torch.where(inputs[1], new_c, c)
        # What comes out twice must not be one tensor.
        return [new_h, new_c], new_h.clone()

    inputs = [gates_input] if mask is None else [gates_input, mask]
    (h, c), outputs = scan(step, [h, c], inputs)
    return outputs, h, c

"""What PyTorch does in its own way."""

import torch

from keras_elmo.backend.torch_products import matrix_product


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


def product(x, kernel, bias=None):
    """See `keras_elmo.backend`."""
    if torch.compiler.is_compiling():
        result = torch.matmul(x, kernel)
    elif torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in (x, kernel, bias)
    ):
        result = _Product.apply(x, kernel)
    else:
        return matrix_product(x, kernel, bias)
    return result if bias is None else result + bias


class _Product(torch.autograd.Function):
    """`matrix_product` with its gradient."""

    @staticmethod
    def forward(ctx, x, kernel):
        ctx.save_for_backward(x, kernel)
        return matrix_product(x, kernel)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_product):
        x, kernel = ctx.saved_tensors
        d_x = d_kernel = None
        if ctx.needs_input_grad[0]:
            d_x = matrix_product(d_product, kernel.t())
        if ctx.needs_input_grad[1]:
            d_kernel = matrix_product(x.flatten(0, -2).t(), d_product.flatten(0, -2))
        return d_x, d_kernel

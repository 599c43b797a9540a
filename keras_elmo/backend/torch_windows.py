"""The largest product of a filter with any window of a token, on PyTorch."""

import torch

from keras_elmo.backend.torch_products import matrix_product
from keras_elmo.backend.windows import positions


def max_over_windows(characters, kernel, filters):
    """See `keras_elmo.backend`."""
    return _MaxOverWindows.apply(characters, kernel, filters)


class _MaxOverWindows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, characters, kernel, filters):
        tokens, width, dim = characters.shape
        flat = characters.reshape(tokens, width * dim)
        best = flat.new_full((tokens, kernel.shape[1]), float("-inf"))
        arg = torch.zeros(best.shape, dtype=torch.uint8, device=best.device)
        for number, (first, last, rows, columns) in enumerate(
            positions(width, dim, filters)
        ):
            new = matrix_product(flat[:, first:last], kernel[:rows, :columns])
            arg[:, :columns].masked_fill_(new > best[:, :columns], number)
            torch.maximum(best[:, :columns], new, out=best[:, :columns])
        ctx.save_for_backward(flat, kernel, arg)
        ctx.shape, ctx.filters = characters.shape, filters
        return best

    @staticmethod
    def backward(ctx, d_best):
        flat, kernel, arg = ctx.saved_tensors
        _, width, dim = ctx.shape
        d_flat, d_kernel = torch.zeros_like(flat), torch.zeros_like(kernel)
        for number, (first, last, rows, columns) in enumerate(
            positions(width, dim, ctx.filters)
        ):
            d_new = d_best[:, :columns] * (arg[:, :columns] == number)
            d_kernel[:rows, :columns] += matrix_product(flat[:, first:last].T, d_new)
            part = kernel[:rows, :columns].T
            d_flat[:, first:last] += matrix_product(d_new, part)
        return d_flat.reshape(ctx.shape), d_kernel, None

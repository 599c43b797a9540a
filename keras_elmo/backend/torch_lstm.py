"""The projected LSTM on PyTorch, with its gradient by hand."""

import torch

from keras_elmo.backend.torch_products import matrix_product

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


def projected_lstm(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    """See `keras_elmo.backend`."""
    floats = (gates_input, h, c, recurrent_kernel, projection_kernel)
    arguments = (mask, cell_clip, proj_clip, *floats)
    if torch.is_grad_enabled() and any(
        x is not None and x.requires_grad for x in floats
    ):
        return _ProjectedLSTM.apply(*arguments)
    with torch.no_grad():
        return _forward(*arguments, keep=False)[:3]


def _forward(
    mask,
    cell_clip,
    proj_clip,
    gates_input,
    h,
    c,
    recurrent_kernel,
    projection_kernel,
    keep,
):
    """(outputs, h, c, gates, cells, projected): the last three None unless kept.

    - gates: (time, batch, 4 H), after their activations.
    - cells: (time + 1, batch, H), c before the first step and after each.
    - projected: (time, batch, H), what goes into the projection.
    """
    time, batch, size = gates_input.shape
    units = size // 4
    outputs = h.new_empty((time, *h.shape))
    # Without a backward pass one step's buffers serve all steps.
    all_gates = gates_input.new_empty((time if keep else 1, batch, size))
    all_tanh = c.new_empty((time if keep else 1, batch, units))
    cells = c.new_empty((time + 1 if keep else 2, batch, units))
    cells[0] = c
    c = cells[0]
    for t, projected in enumerate(gates_input.unbind(0)):
        gates = all_gates[t if keep else 0]
        tanh_c = all_tanh[t if keep else 0]
        torch.add(matrix_product(h, recurrent_kernel), projected, out=gates)
        i, j, f, o = gates.split(units, dim=1)
        i.sigmoid_()
        j.tanh_()
        f.add_(1.0).sigmoid_()
        o.sigmoid_()
        new_c = cells[t + 1 if keep else (t + 1) % 2]
        torch.mul(f, c, out=new_c).add_(i * j)
        if cell_clip is not None:
            new_c.clamp_(-cell_clip, cell_clip)
        torch.tanh(new_c, out=tanh_c)
        new_h = outputs[t]
        if projection_kernel is None:
            torch.mul(o, tanh_c, out=new_h)
        else:
            new_h.copy_(matrix_product(o * tanh_c, projection_kernel))
            if proj_clip is not None:
                new_h.clamp_(-proj_clip, proj_clip)
        if mask is not None:
            torch.where(mask[t], new_h, h, out=new_h)
            torch.where(mask[t], new_c, c, out=new_c)
        h, c = new_h, new_c
    return outputs, h.clone(), c.clone(), all_gates, cells, all_tanh


class _ProjectedLSTM(torch.autograd.Function):
    """`projected_lstm` with its gradient.

    The loop of the backward pass gives the gradients of the gates alone; from them
    follow those of the weights, in one product over all steps each.
    """

    @staticmethod
    def forward(ctx, mask, cell_clip, proj_clip, *floats):
        _, first_h, _, recurrent_kernel, projection_kernel = floats
        outputs, h, c, gates, cells, tanh_cells = _forward(
            mask, cell_clip, proj_clip, *floats, keep=True
        )
        ctx.clips = cell_clip, proj_clip
        ctx.save_for_backward(
            mask,
            outputs,
            first_h,
            recurrent_kernel,
            projection_kernel,
            gates,
            cells,
            tanh_cells,
        )
        return outputs, h, c

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_outputs, d_h, d_c):
        cell_clip, proj_clip = ctx.clips
        (
            mask,
            outputs,
            first_h,
            recurrent_kernel,
            projection_kernel,
            gates,
            cells,
            tanh_cells,
        ) = ctx.saved_tensors
        time, units = len(gates), cells.shape[-1]
        d_gates = torch.empty_like(gates)
        d_projected = torch.empty_like(outputs)
        buffer = torch.empty_like(d_c)
        transposed_kernel = recurrent_kernel.t().contiguous()
        d_c = d_c.clone()
        for t in reversed(range(time)):
            i, j, f, o = gates[t].split(units, dim=1)
            d_i, d_j, d_f, d_o = d_gates[t].split(units, dim=1)
            d_h = d_h + d_outputs[t]
            d_m, passed = d_h, None
            if mask is not None:
                # What a masked step passes on, and what an unmasked one takes.
                passed = [x.masked_fill(mask[t], 0) for x in (d_h, d_c)]
                d_m = d_h.masked_fill(~mask[t], 0)
                d_c.masked_fill_(~mask[t], 0)
            if projection_kernel is not None:
                if proj_clip is not None:
                    d_m = d_m.masked_fill(outputs[t].abs() >= proj_clip, 0)
                d_projected[t] = d_m
                d_m = matrix_product(d_m, projection_kernel.t())
            tanh_c = tanh_cells[t]
            _sigmoid_backward(torch.mul(d_m, tanh_c, out=buffer), o, grad_input=d_o)
            torch.mul(d_m, o, out=buffer)
            d_c += _tanh_backward(buffer, tanh_c, grad_input=buffer)
            if cell_clip is not None:
                d_c.masked_fill_(cells[t + 1].abs() >= cell_clip, 0)
            _sigmoid_backward(torch.mul(d_c, j, out=buffer), i, grad_input=d_i)
            _tanh_backward(torch.mul(d_c, i, out=buffer), j, grad_input=d_j)
            _sigmoid_backward(torch.mul(d_c, cells[t], out=buffer), f, grad_input=d_f)
            d_c.mul_(f)
            d_h = matrix_product(d_gates[t], transposed_kernel)
            if passed is not None:
                d_h += passed[0]
                d_c += passed[1]
        previous_h = torch.cat([first_h[None], outputs])[:-1]
        d_recurrent = matrix_product(
            previous_h.flatten(0, 1).t(), d_gates.flatten(0, 1)
        )
        d_projection = None
        if projection_kernel is not None:
            m = gates[..., 3 * units :] * tanh_cells
            d_projection = matrix_product(
                m.flatten(0, 1).t(), d_projected.flatten(0, 1)
            )
        return None, None, None, d_gates, d_h, d_c, d_recurrent, d_projection

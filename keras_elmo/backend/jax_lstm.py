"""The projected LSTM on JAX, with its gradient by hand."""

import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.custom_vjp, nondiff_argnums=(6, 7))
def projected_lstm(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    """See `keras_elmo.backend`."""
    result, _ = _forward(
        gates_input,
        mask,
        h,
        c,
        recurrent_kernel,
        projection_kernel,
        cell_clip,
        proj_clip,
        lambda *values: None,
    )
    return result


def _clip(x, limit):
    return x if limit is None else jnp.clip(x, -limit, limit)


def _forward(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip,
    keep,
):  # fmt: skip
    """(outputs, h, c), and what `keep` of the gates and the previous c is, stacked."""

    def step(state, inputs):
        h, c = state
        projected, real = inputs
        gates = projected + h @ recurrent_kernel
        i, j, f, o = jnp.split(gates, 4, axis=-1)
        i, j, f, o = (
            jax.nn.sigmoid(i),
            jnp.tanh(j),
            jax.nn.sigmoid(f + 1.0),
            jax.nn.sigmoid(o),
        )
        kept = keep(i, j, f, o, c)
        new_c = _clip(f * c + i * j, cell_clip)
        new_h = o * jnp.tanh(new_c)
        if projection_kernel is not None:
            new_h = _clip(new_h @ projection_kernel, proj_clip)
        if real is not None:
            new_h, new_c = jnp.where(real, new_h, h), jnp.where(real, new_c, c)
        return (new_h, new_c), (new_h, kept)

    (last_h, last_c), (outputs, kept) = jax.lax.scan(step, (h, c), (gates_input, mask))
    return (outputs, last_h, last_c), kept


def _projected_lstm_forward(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    result, kept = _forward(
        gates_input,
        mask,
        h,
        c,
        recurrent_kernel,
        projection_kernel,
        cell_clip,
        proj_clip,
        lambda *values: values,
    )
    return result, (kept, result[0], mask, h, recurrent_kernel, projection_kernel)


def _projected_lstm_backward(cell_clip, proj_clip, saved, gradients):
    kept, outputs, mask, first_h, recurrent_kernel, projection_kernel = saved
    d_outputs, d_h, d_c = gradients

    def step(state, inputs):
        d_h, d_c = state
        d_output, h, real, (i, j, f, o, previous_c) = inputs
        d_h = d_h + d_output
        d_new_h, d_new_c = d_h, d_c
        if real is not None:
            d_new_h, d_new_c = jnp.where(real, d_h, 0.0), jnp.where(real, d_c, 0.0)
        raw_c = f * previous_c + i * j
        tanh_c = jnp.tanh(_clip(raw_c, cell_clip))
        if projection_kernel is None:
            d_m = d_new_h
        else:
            if proj_clip is not None:
                d_new_h = jnp.where(jnp.abs(h) < proj_clip, d_new_h, 0.0)
            d_m = d_new_h @ projection_kernel.T
        d_new_c = d_new_c + d_m * o * (1.0 - tanh_c * tanh_c)
        if cell_clip is not None:
            d_new_c = jnp.where(jnp.abs(raw_c) < cell_clip, d_new_c, 0.0)
        d_gates = jnp.concatenate(
            [
                d_new_c * j * i * (1.0 - i),
                d_new_c * i * (1.0 - j * j),
                d_new_c * previous_c * f * (1.0 - f),
                d_m * tanh_c * o * (1.0 - o),
            ],
            axis=-1,
        )
        previous = d_gates @ recurrent_kernel.T, d_new_c * f
        if real is not None:
            previous = (
                previous[0] + jnp.where(real, 0.0, d_h),
                previous[1] + jnp.where(real, 0.0, d_c),
            )
        d_projected = None if projection_kernel is None else d_new_h
        m = None if projection_kernel is None else o * tanh_c
        return previous, (d_gates, d_projected, m)

    (d_h, d_c), (d_gates, d_projected, m) = jax.lax.scan(
        step, (d_h, d_c), (d_outputs, outputs, mask, kept), reverse=True
    )
    previous_h = jnp.concatenate([first_h[None], outputs])[:-1]
    d_recurrent_kernel = _over_all_steps(previous_h, d_gates)
    d_projection_kernel = (
        None if projection_kernel is None else _over_all_steps(m, d_projected)
    )
    return d_gates, None, d_h, d_c, d_recurrent_kernel, d_projection_kernel


def _over_all_steps(x, y):
    """Sum over time and batch of x's outer product with y: a weight's gradient."""
    return jnp.einsum("tbx,tby->xy", x, y)


projected_lstm.defvjp(_projected_lstm_forward, _projected_lstm_backward)

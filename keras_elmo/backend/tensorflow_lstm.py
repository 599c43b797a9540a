"""The projected LSTM on TensorFlow, with its gradient by hand."""

import tensorflow as tf


def projected_lstm(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    """See `keras_elmo.backend`."""

    @tf.custom_gradient
    def run(gates_input, h, c, recurrent_kernel, *projection_kernels):
        floats = gates_input, h, c, recurrent_kernel, projection_kernels
        results, saved = _forward(mask, cell_clip, proj_clip, *floats)

        def gradient(*d_results):
            return _backward(mask, cell_clip, proj_clip, *floats, saved, d_results)

        return results, gradient

    # A list of one or none: what has a gradient may not be None.
    projection_kernels = [] if projection_kernel is None else [projection_kernel]
    return run(gates_input, h, c, recurrent_kernel, *projection_kernels)


def _new_array(like, time):
    """An array of `time` tensors, each of the shape of `like`."""
    return tf.TensorArray(
        like.dtype, time, element_shape=like.shape, clear_after_read=False
    )


def _unstack(x):
    array = tf.TensorArray(
        x.dtype, tf.shape(x)[0], element_shape=x.shape[1:], clear_after_read=False
    )
    return array.unstack(x)


def _forward(
    mask, cell_clip, proj_clip, gates_input, h, c, recurrent_kernel, projection_kernels
):
    """(outputs, h, c), and what the backward pass needs, (time, ...)."""
    time = tf.shape(gates_input)[0]
    inputs = _unstack(gates_input)
    real = None if mask is None else _unstack(mask)

    def step(t, h, c, outputs, kept):
        gates = inputs.read(t) + tf.matmul(h, recurrent_kernel)
        i, j, f, o = tf.split(gates, 4, axis=-1)
        i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + 1.0), tf.sigmoid(o)
        new_c = _clip(f * c + i * j, cell_clip)
        tanh_c = tf.tanh(new_c)
        kept = [
            array.write(t, x)
            for array, x in zip(kept, (i, j, f, o, c, tanh_c), strict=True)
        ]
        new_h = o * tanh_c
        for kernel in projection_kernels:
            new_h = _clip(tf.matmul(new_h, kernel), proj_clip)
        if real is not None:
            step_real = real.read(t)
            new_h = tf.where(step_real, new_h, h)
            new_c = tf.where(step_real, new_c, c)
        # A step may know its shapes better than the state it began with.
        new_h, new_c = tf.ensure_shape(new_h, h.shape), tf.ensure_shape(new_c, c.shape)
        return t + 1, new_h, new_c, outputs.write(t, new_h), kept

    kept = [_new_array(c, time) for _ in range(6)]
    _, h, c, outputs, kept = tf.while_loop(
        lambda t, *_: t < time,
        step,
        (0, h, c, _new_array(h, time), kept),
        maximum_iterations=time,
    )
    outputs = outputs.stack()
    # The gradient of a saved model may hold tensors, but no array of them.
    return (outputs, h, c), (outputs, [array.stack() for array in kept])


def _backward(
    mask,
    cell_clip,
    proj_clip,
    gates_input,
    first_h,
    first_c,
    recurrent_kernel,
    projection_kernels,
    saved,
    d_results,
):
    """Gradients of the five floats."""
    outputs, kept = saved
    d_outputs, d_h, d_c = d_results
    time = tf.shape(gates_input)[0]
    kept = [_unstack(x) for x in kept]
    output_steps, d_output_steps = _unstack(outputs), _unstack(d_outputs)
    real = None if mask is None else _unstack(mask)
    zero = tf.zeros((), first_c.dtype)
    # Few rows times a transposed matrix takes five times as long on a CPU.
    transposed_kernel = tf.transpose(recurrent_kernel)

    def step(t, d_h, d_c, d_gates, d_projected, unprojected):
        i, j, f, o, previous_c, tanh_c = (array.read(t) for array in kept)
        d_h = d_h + d_output_steps.read(t)
        d_new_h, d_new_c = d_h, d_c
        if real is not None:
            step_real = real.read(t)
            d_new_h = tf.where(step_real, d_h, zero)
            d_new_c = tf.where(step_real, d_c, zero)
        for kernel in projection_kernels:
            if proj_clip is not None:
                inside = tf.abs(output_steps.read(t)) < proj_clip
                d_new_h = tf.where(inside, d_new_h, zero)
            d_projected = d_projected.write(t, d_new_h)
            unprojected = unprojected.write(t, o * tanh_c)
            d_new_h = tf.matmul(d_new_h, kernel, transpose_b=True)
        d_new_c += _tanh_gradient(tanh_c, d_new_h * o)
        if cell_clip is not None:
            inside = tf.abs(f * previous_c + i * j) < cell_clip
            d_new_c = tf.where(inside, d_new_c, zero)
        d_step_gates = tf.concat(
            [
                _sigmoid_gradient(i, d_new_c * j),
                _tanh_gradient(j, d_new_c * i),
                _sigmoid_gradient(f, d_new_c * previous_c),
                _sigmoid_gradient(o, d_new_h * tanh_c),
            ],
            axis=-1,
        )
        previous_d_h = tf.matmul(d_step_gates, transposed_kernel)
        previous_d_c = d_new_c * f
        if real is not None:
            previous_d_h += tf.where(step_real, zero, d_h)
            previous_d_c += tf.where(step_real, zero, d_c)
        return (
            t - 1,
            tf.ensure_shape(previous_d_h, first_h.shape),
            tf.ensure_shape(previous_d_c, first_c.shape),
            d_gates.write(t, d_step_gates),
            d_projected,
            unprojected,
        )

    _, d_h, d_c, d_gates, d_projected, unprojected = tf.while_loop(
        lambda t, *_: t >= 0,
        step,
        (
            time - 1,
            tf.ensure_shape(d_h, first_h.shape),
            tf.ensure_shape(d_c, first_c.shape),
            tf.TensorArray(
                gates_input.dtype, time, element_shape=gates_input.shape[1:]
            ),
            _new_array(first_h, time),
            _new_array(first_c, time),
        ),
        maximum_iterations=time,
    )
    d_gates = d_gates.stack()
    previous_h = tf.concat([first_h[None], outputs], axis=0)[:-1]
    gradients = [d_gates, d_h, d_c, _over_all_steps(previous_h, d_gates)]
    for _ in projection_kernels:
        gradients.append(_over_all_steps(unprojected.stack(), d_projected.stack()))
    return gradients


def _sigmoid_gradient(y, d_y):
    return tf.raw_ops.SigmoidGrad(y=y, dy=d_y)


def _tanh_gradient(y, d_y):
    return tf.raw_ops.TanhGrad(y=y, dy=d_y)


def _clip(x, limit):
    return x if limit is None else tf.clip_by_value(x, -limit, limit)


def _over_all_steps(x, y):
    """Sum over time and batch of x's outer product with y: a weight's gradient."""
    # XLA's `tf.matmul` of the same takes twice as long on a CPU.
    return tf.einsum("tbx,tby->xy", x, y)

"""What TensorFlow does in its own way."""

import tensorflow as tf


def scan(step, state, inputs):
    """See `keras_elmo.backend`."""
    time = tf.shape(inputs[0])[0]
    arrays = [
        tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x)
        for x in inputs
    ]
    outputs = tf.TensorArray(
        state[0].dtype, time, element_shape=state[0].shape, name="outputs"
    )

    def body(i, outputs, *state):
        new = step(list(state), [array.read(i) for array in arrays])
        # A step may know its shapes better than the state it began with.
        new = [tf.ensure_shape(n, s.shape) for n, s in zip(new, state, strict=True)]
        return i + 1, outputs.write(i, new[0]), *new

    _, outputs, *state = tf.while_loop(
        lambda i, *_: i < time,
        body,
        (0, outputs, *state),
        # XLA can differentiate a loop only when it knows where it ends.
        maximum_iterations=time,
    )
    return state, outputs.stack()


def projected_lstm(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    """See `keras_elmo.backend`."""
    time = tf.shape(gates_input)[0]

    def new_array(x_or_like, element_shape=None):
        return tf.TensorArray(
            x_or_like.dtype, time, element_shape=element_shape, clear_after_read=False
        )

    def unstack(x):
        return new_array(x, x.shape[1:]).unstack(x)

    real = None if mask is None else unstack(mask)

    @tf.custom_gradient
    def run(gates_input, first_h, first_c, recurrent_kernel, *projection_kernels):
        inputs = unstack(gates_input)
        kept = [new_array(first_c, first_c.shape) for _ in range(6)]

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
            new_h = tf.ensure_shape(new_h, first_h.shape)
            new_c = tf.ensure_shape(new_c, first_c.shape)
            return t + 1, new_h, new_c, outputs.write(t, new_h), kept

        _, h, c, output_array, kept = tf.while_loop(
            lambda t, *_: t < time,
            step,
            (0, first_h, first_c, new_array(first_h, first_h.shape), kept),
            maximum_iterations=time,
        )
        outputs = output_array.stack()

        def gradient(d_outputs, d_h, d_c):
            d_outputs = unstack(d_outputs)

            def step(t, d_h, d_c, d_gates, d_projected, ms):
                i, j, f, o, previous_c, tanh_c = (array.read(t) for array in kept)
                d_h = d_h + d_outputs.read(t)
                d_new_h, d_new_c = d_h, d_c
                if real is not None:
                    step_real = real.read(t)
                    zero = tf.zeros((), d_h.dtype)
                    d_new_h = tf.where(step_real, d_h, zero)
                    d_new_c = tf.where(step_real, d_c, zero)
                d_m = d_new_h
                for kernel in projection_kernels:
                    if proj_clip is not None:
                        d_m = _where_inside(output_array.read(t), proj_clip, d_m)
                    d_projected = d_projected.write(t, d_m)
                    ms = ms.write(t, o * tanh_c)
                    d_m = tf.matmul(d_m, kernel, transpose_b=True)
                d_new_c += _tanh_gradient(tanh_c, d_m * o)
                if cell_clip is not None:
                    raw_c = f * previous_c + i * j
                    d_new_c = _where_inside(raw_c, cell_clip, d_new_c)
                d_step_gates = tf.concat(
                    [
                        _sigmoid_gradient(i, d_new_c * j),
                        _tanh_gradient(j, d_new_c * i),
                        _sigmoid_gradient(f, d_new_c * previous_c),
                        _sigmoid_gradient(o, d_m * tanh_c),
                    ],
                    axis=-1,
                )
                previous_d_h = tf.matmul(
                    d_step_gates, recurrent_kernel, transpose_b=True
                )
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
                    ms,
                )

            _, d_h, d_c, d_gates, d_projected, ms = tf.while_loop(
                lambda t, *_: t >= 0,
                step,
                (
                    time - 1,
                    d_h,
                    d_c,
                    new_array(gates_input, gates_input.shape[1:]),
                    new_array(first_h, first_h.shape),
                    new_array(first_c, first_c.shape),
                ),
                maximum_iterations=time,
            )
            d_gates = d_gates.stack()
            previous_h = tf.concat([first_h[None], outputs], axis=0)[:-1]
            gradients = [d_gates, d_h, d_c, _over_all_steps(previous_h, d_gates)]
            for _ in projection_kernels:
                gradients.append(_over_all_steps(ms.stack(), d_projected.stack()))
            return gradients

        return (outputs, h, c), gradient

    projection_kernels = [] if projection_kernel is None else [projection_kernel]
    return run(gates_input, h, c, recurrent_kernel, *projection_kernels)


def _sigmoid_gradient(y, d_y):
    return tf.raw_ops.SigmoidGrad(y=y, dy=d_y)


def _tanh_gradient(y, d_y):
    return tf.raw_ops.TanhGrad(y=y, dy=d_y)


def _clip(x, limit):
    return x if limit is None else tf.clip_by_value(x, -limit, limit)


def _where_inside(x, limit, gradient):
    return tf.where(tf.abs(x) < limit, gradient, tf.zeros((), gradient.dtype))


def _over_all_steps(x, y):
    """Sum over time and batch of x's outer product with y: a weight's gradient."""
    # XLA's `tf.matmul` of the same takes twice as long on a CPU.
    return tf.einsum("tbx,tby->xy", x, y)

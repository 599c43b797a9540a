"""An LSTM whose output is projected and clipped, as in the published biLMs."""

import keras
from keras import ops

from keras_elmo import backend, checks


@keras.saving.register_keras_serializable(package="keras_elmo")
class ProjectedLSTM(keras.layers.Layer):
    """LSTM with a recurrent projection and clips on cell and projection.

    One step, with gates in the order i, j, f, o:

        i, j, f, o = x W + h U + b
        c = clip(sigmoid(f + 1) * c + sigmoid(i) * tanh(j), ±cell_clip)
        h = clip((sigmoid(o) * tanh(c)) W_proj, ±proj_clip)

    The forget gate's 1 is added here and is not part of the stored bias. Masked steps
    keep the state and put out 0, so a row's state is the one after its last real
    step, and padding on either side changes nothing.

    Args:
        hidden_dim: int, number of cells (H).
        projection_dim: int, size of the output (P), or None for no projection: P is
            then `hidden_dim` and `proj_clip` has no effect.
        cell_clip: float above 0, or None for no clipping.
        proj_clip: float above 0, or None for no clipping.

    Call arguments:
        inputs: float, (batch, time, dim).
        mask: bool, (batch, time), True on real steps, or None for all.
        initial_state: [h (batch, P), c (batch, H)], or None for zeros.
        return_state: bool. Return the last state too.

    Returns:
        float in the compute dtype, (batch, time, P), and with `return_state` the
        pair [h, c]; c is kept in float32 at least.

    Reference: Sak et al. 2014; TensorFlow 1 `LSTMCell(num_proj=, cell_clip=,
    proj_clip=)` as bilm-tf `bilm/model.py` calls it.

    Example:
    ```python
    lstm = keras_elmo.ProjectedLSTM(16, projection_dim=4, cell_clip=3.0)
    outputs, (h, c) = lstm(keras.ops.ones((2, 5, 4)), return_state=True)
    ```
    """

    def __init__(
        self, hidden_dim, projection_dim=None, cell_clip=None, proj_clip=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.hidden_dim = checks.positive_int("hidden_dim", hidden_dim)
        self.projection_dim = (
            None
            if projection_dim is None
            else checks.positive_int("projection_dim", projection_dim)
        )
        self.cell_clip = checks.positive_float_or_none("cell_clip", cell_clip)
        self.proj_clip = checks.positive_float_or_none("proj_clip", proj_clip)

    @property
    def output_dim(self):
        """Size of the output and of the recurrent h."""
        return self.hidden_dim if self.projection_dim is None else self.projection_dim

    @property
    def state_dtype(self):
        """Dtype of the cell state c: sums of many steps need more than 16 bits."""
        return (
            "float32"
            if self.compute_dtype in ("float16", "bfloat16")
            else self.compute_dtype
        )

    def build(self, input_shape):
        dim, gates = input_shape[-1], 4 * self.hidden_dim
        # The original has one matrix over [input; previous h]: both parts take its
        # initial range.
        limit = (6.0 / (dim + self.output_dim + gates)) ** 0.5
        self.kernel = self.add_weight(
            name="kernel",
            shape=(dim, gates),
            initializer=keras.initializers.RandomUniform(-limit, limit),
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.output_dim, gates),
            initializer=keras.initializers.RandomUniform(-limit, limit),
        )
        self.bias = self.add_weight(name="bias", shape=(gates,), initializer="zeros")
        self.projection_kernel = None
        if self.projection_dim is not None:
            self.projection_kernel = self.add_weight(
                name="projection_kernel",
                shape=(self.hidden_dim, self.projection_dim),
                initializer="glorot_uniform",
            )

    def call(self, inputs, mask=None, initial_state=None, return_state=False):
        if initial_state is None:
            initial_state = self.zero_state(ops.shape(inputs)[0])
        h, c = initial_state
        real = None if mask is None else ops.expand_dims(mask, axis=-1)
        # The input's product does not wait for the recurrence: one large product.
        # Time comes first before it and not after, where there is more to move.
        inputs = ops.transpose(inputs, (1, 0, 2))
        time, batch_size, dim = ops.shape(inputs)
        gates_input = backend.product(ops.reshape(inputs, (-1, dim)), self.kernel)
        gates_input = ops.reshape(
            gates_input + self.bias, (time, batch_size, 4 * self.hidden_dim)
        )
        outputs, *state = backend.projected_lstm(
            gates_input,
            None if real is None else ops.transpose(real, (1, 0, 2)),
            ops.cast(h, self.compute_dtype),
            ops.cast(c, self.state_dtype),
            ops.cast(self.recurrent_kernel, self.compute_dtype),
            None
            if self.projection_kernel is None
            else ops.cast(self.projection_kernel, self.compute_dtype),
            self.cell_clip,
            self.proj_clip,
        )
        outputs = ops.transpose(outputs, (1, 0, 2))
        if real is not None:
            outputs = ops.where(real, outputs, ops.zeros_like(outputs))
        return (outputs, state) if return_state else outputs

    def zero_state(self, batch_size):
        """The state [h, c] before the first step: zeros."""
        return [
            ops.zeros((batch_size, self.output_dim), dtype=self.compute_dtype),
            ops.zeros((batch_size, self.hidden_dim), dtype=self.state_dtype),
        ]

    def compute_mask(self, inputs, mask=None):
        return mask

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.output_dim)

    def compute_output_spec(
        self, inputs, mask=None, initial_state=None, return_state=False
    ):
        batch = inputs.shape[0]
        outputs = keras.KerasTensor(
            self.compute_output_shape(inputs.shape), dtype=self.compute_dtype
        )
        if not return_state:
            return outputs
        return outputs, [
            keras.KerasTensor((batch, self.output_dim), dtype=self.compute_dtype),
            keras.KerasTensor((batch, self.hidden_dim), dtype=self.state_dtype),
        ]

    def get_config(self):
        config = super().get_config()
        config.update(
            hidden_dim=self.hidden_dim,
            projection_dim=self.projection_dim,
            cell_clip=self.cell_clip,
            proj_clip=self.proj_clip,
        )
        return config

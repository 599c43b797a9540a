"""The stacked LSTMs of one direction of a biLM."""

import keras

from keras_elmo import checks
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.randomness import seeded_dropout


@keras.saving.register_keras_serializable(package="keras_elmo")
class LSTMStack(keras.layers.Layer):
    """`num_layers` projected LSTMs over one stream, with residuals from layer 2 on.

    The layer knows no direction: a backward language model is this layer on a stream
    that runs backward.

    Args:
        num_layers: int, number of LSTMs (L).
        hidden_dim: int, cells of each (H).
        projection_dim: int, size of each one's output (P); at most `hidden_dim`.
            With `projection_dim == hidden_dim` there is no projection and
            `proj_clip` has no effect.
        always_project: bool. A projection whatever `projection_dim` is, as
            ELMoForManyLangs has it.
        cell_clip: float above 0, or None for no clipping.
        proj_clip: float above 0, or None for no clipping.
        use_skip_connections: bool. Add each layer's input to its output from the
            second layer on, after projection and clip; the recurrent h stays without.
        dropout: float in [0, 1), on each layer's input while training. The residual
            adds the dropped input.

    Call arguments:
        inputs: float, (batch, time, P).
        mask: bool, (batch, time), True on real steps, or None for all.
        initial_state: list of [h (batch, P), c (batch, H)], one a layer, or None.
        return_state: bool. Return the last states too, in the same form.

    Returns:
        list of L floats in the compute dtype, each (batch, time, P), exactly 0 on
        masked steps; with `return_state` the pair (list, states).

    Reference: Peters et al. 2018, section 3.1; bilm-tf `bilm/model.py`,
    `_build` and `bilm/training.py`, `_build`.

    Example:
    ```python
    stack = keras_elmo.LSTMStack(2, hidden_dim=16, projection_dim=4)
    first, second = stack(keras.ops.ones((2, 5, 4)))
    ```
    """

    def __init__(
        self,
        num_layers,
        hidden_dim,
        projection_dim,
        cell_clip=None,
        proj_clip=None,
        use_skip_connections=True,
        dropout=0.0,
        always_project=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_layers = checks.positive_int("num_layers", num_layers)
        self.hidden_dim = checks.positive_int("hidden_dim", hidden_dim)
        self.projection_dim = checks.positive_int("projection_dim", projection_dim)
        self.always_project = bool(always_project)
        if self.projection_dim > self.hidden_dim and not self.always_project:
            raise ValueError(
                f"`projection_dim` (={projection_dim}) must be at most `hidden_dim` "
                f"(={hidden_dim})."
            )
        self.cell_clip = checks.positive_float_or_none("cell_clip", cell_clip)
        self.proj_clip = checks.positive_float_or_none("proj_clip", proj_clip)
        self.use_skip_connections = bool(use_skip_connections)
        self.dropout = checks.fraction("dropout", dropout)
        is_projected = self.always_project or self.projection_dim < self.hidden_dim
        self.lstms = [
            ProjectedLSTM(
                self.hidden_dim,
                self.projection_dim if is_projected else None,
                cell_clip=self.cell_clip,
                proj_clip=self.proj_clip if is_projected else None,
                dtype=self.dtype_policy,
                name=f"lstm_{i}",
            )
            for i in range(self.num_layers)
        ]
        self.input_dropouts = [
            seeded_dropout(self.dropout, dtype=self.dtype_policy, name=f"dropout_{i}")
            for i in range(self.num_layers)
        ]

    def build(self, input_shape):
        for lstm, dropout in zip(self.lstms, self.input_dropouts, strict=True):
            dropout.build(input_shape)
            lstm.build(input_shape)

    def call(
        self,
        inputs,
        mask=None,
        initial_state=None,
        return_state=False,
        training=None,
    ):
        outputs, states = [], []
        x = inputs
        for i, lstm in enumerate(self.lstms):
            x = self.input_dropouts[i](x, training=training)
            y, state = lstm(
                x,
                mask=mask,
                initial_state=None if initial_state is None else initial_state[i],
                return_state=True,
            )
            x = y + x if self.use_skip_connections and i > 0 else y
            outputs.append(x)
            states.append(state)
        return (outputs, states) if return_state else outputs

    def zero_state(self, batch_size):
        """The states before the first step: zeros, [h, c] a layer."""
        return [lstm.zero_state(batch_size) for lstm in self.lstms]

    def compute_mask(self, inputs, mask=None):
        return [mask] * self.num_layers

    def compute_output_shape(self, input_shape):
        return [(*input_shape[:-1], self.projection_dim)] * self.num_layers

    def compute_output_spec(
        self,
        inputs,
        mask=None,
        initial_state=None,
        return_state=False,
        training=None,
    ):
        specs = [
            lstm.compute_output_spec(inputs, return_state=True) for lstm in self.lstms
        ]
        outputs = [output for output, _ in specs]
        return (outputs, [state for _, state in specs]) if return_state else outputs

    def get_config(self):
        config = super().get_config()
        config.update(
            num_layers=self.num_layers,
            hidden_dim=self.hidden_dim,
            projection_dim=self.projection_dim,
            cell_clip=self.cell_clip,
            proj_clip=self.proj_clip,
            use_skip_connections=self.use_skip_connections,
            dropout=self.dropout,
            always_project=self.always_project,
        )
        return config

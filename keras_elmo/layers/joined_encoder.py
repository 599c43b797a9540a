"""ELMoForManyLangs' `lstm` encoder: a plain bidirectional LSTM over token vectors."""

import keras
from keras import ops

from keras_elmo import checks
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.randomness import seeded_dropout


@keras.saving.register_keras_serializable(package="keras_elmo")
class JoinedEncoder(keras.layers.Layer):
    """Bidirectional LSTMs whose layers are joined: each one sees both directions.

    One projection is applied to the top layer's two directions. It is no language
    model, and it gives the top layer only. Masked steps are never read, wherever they
    are; the original program reads its padding backward.

    Args:
        num_layers: int, LSTMs a direction (L).
        hidden_dim: int, cells of each (H).
        projection_dim: int, size of a token's vector and of a direction's output (P).
        dropout: float in [0, 1), on each LSTM's input while training.

    Call arguments:
        inputs: float, (batch, time, P).
        mask: bool, (batch, time), True on real tokens, or None for all.

    Returns:
        list of one float in the compute dtype, (batch, time, 2 P), exactly 0 on masked
        steps.

    Reference: HIT-SCIR/ELMoForManyLangs `modules/lstm.py`, `LstmbiLm`.

    Example:
    ```python
    encoder = keras_elmo.JoinedEncoder(2, hidden_dim=16, projection_dim=4)
    (top,) = encoder(keras.ops.ones((2, 5, 4)))  # (2, 5, 8)
    ```
    """

    def __init__(self, num_layers, hidden_dim, projection_dim, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_layers = checks.positive_int("num_layers", num_layers)
        self.hidden_dim = checks.positive_int("hidden_dim", hidden_dim)
        self.projection_dim = checks.positive_int("projection_dim", projection_dim)
        self.dropout = checks.fraction("dropout", dropout)
        self.forward_lstms, self.backward_lstms = (
            [
                ProjectedLSTM(
                    self.hidden_dim, dtype=self.dtype_policy, name=f"{direction}_{i}"
                )
                for i in range(self.num_layers)
            ]
            for direction in ("forward", "backward")
        )
        self.input_dropouts = [
            seeded_dropout(self.dropout, dtype=self.dtype_policy, name=f"dropout_{i}")
            for i in range(self.num_layers)
        ]

    def build(self, input_shape):
        shape = input_shape
        for i in range(self.num_layers):
            self.input_dropouts[i].build(shape)
            self.forward_lstms[i].build(shape)
            self.backward_lstms[i].build(shape)
            shape = (*input_shape[:-1], 2 * self.hidden_dim)
        self.projection_kernel = self.add_weight(
            name="projection_kernel",
            shape=(self.hidden_dim, self.projection_dim),
            initializer="glorot_uniform",
        )
        self.projection_bias = self.add_weight(
            name="projection_bias", shape=(self.projection_dim,), initializer="zeros"
        )

    def call(self, inputs, mask=None, training=None):
        flipped = None if mask is None else ops.flip(mask, axis=1)
        x, directions = inputs, []
        for i in range(self.num_layers):
            x = self.input_dropouts[i](x, training=training)
            forward = self.forward_lstms[i](x, mask=mask)
            # Masked steps keep the state: a row starts at its last real token.
            backward = self.backward_lstms[i](ops.flip(x, axis=1), mask=flipped)
            directions = [forward, ops.flip(backward, axis=1)]
            x = ops.concatenate(directions, axis=-1)
        outputs = ops.concatenate(
            [
                ops.matmul(direction, self.projection_kernel) + self.projection_bias
                for direction in directions
            ],
            axis=-1,
        )
        if mask is not None:
            real = ops.expand_dims(mask, axis=-1)
            outputs = ops.where(real, outputs, ops.zeros_like(outputs))
        return [outputs]

    def compute_mask(self, inputs, mask=None):
        return [mask]

    def compute_output_shape(self, input_shape):
        return [(*input_shape[:-1], 2 * self.projection_dim)]

    def compute_output_spec(self, inputs, mask=None, training=None):
        (shape,) = self.compute_output_shape(inputs.shape)
        return [keras.KerasTensor(shape, dtype=self.compute_dtype)]

    def get_config(self):
        config = super().get_config()
        config.update(
            num_layers=self.num_layers,
            hidden_dim=self.hidden_dim,
            projection_dim=self.projection_dim,
            dropout=self.dropout,
        )
        return config

"""LSTM state that outlives a batch, for training on streams."""

import keras
from keras import ops

from keras_elmo import checks

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_elmo")
class CarriedState(keras.layers.Layer):
    """The last state of each row of a stream, in variables that are not trained.

    Args:
        batch_size: int, rows (B).
        num_layers: int, LSTMs a direction.
        hidden_dim: int, cells of each (H).
        projection_dim: int, size of each one's output (P).

    `read` gives the state a batch starts from, in the form that `LSTMStack` takes;
    `write` keeps the state it ended in. No gradient flows from batch to batch.

    Reference: bilm-tf `bilm/training.py`, `init_lstm_state`, `final_lstm_state`.
    """

    def __init__(self, batch_size, num_layers, hidden_dim, projection_dim, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = checks.positive_int("batch_size", batch_size)
        self.num_layers = checks.positive_int("num_layers", num_layers)
        self.hidden_dim = checks.positive_int("hidden_dim", hidden_dim)
        self.projection_dim = checks.positive_int("projection_dim", projection_dim)
        self.states = {
            direction: [
                [
                    self._variable(f"{direction}_{layer}_h", self.projection_dim),
                    self._variable(f"{direction}_{layer}_c", self.hidden_dim),
                ]
                for layer in range(self.num_layers)
            ]
            for direction in DIRECTIONS
        }
        self.built = True

    def _variable(self, name, dim):
        return self.add_weight(
            name=name,
            shape=(self.batch_size, dim),
            dtype="float32",
            initializer="zeros",
            trainable=False,
            autocast=False,
        )

    def read(self, direction, carry):
        """The state of one direction: [[h, c] a layer].

        Args:
            direction: "forward" or "backward".
            carry: float, (batch,), 1 where a row goes on and 0 where it starts anew.
        """
        carry = ops.expand_dims(ops.cast(carry, "float32"), axis=1)
        # A copy: the variable is assigned to while its old value is still needed for
        # the gradient.
        return [
            [ops.copy(variable.value) * carry for variable in layer]
            for layer in self.states[direction]
        ]

    def write(self, direction, state):
        """Keeps the state [[h, c] a layer] of one direction."""
        for variables, values in zip(self.states[direction], state, strict=True):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(ops.stop_gradient(ops.cast(value, "float32")))

    def get_config(self):
        config = super().get_config()
        config.update(
            batch_size=self.batch_size,
            num_layers=self.num_layers,
            hidden_dim=self.hidden_dim,
            projection_dim=self.projection_dim,
        )
        return config

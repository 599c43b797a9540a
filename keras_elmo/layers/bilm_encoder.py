"""Both directions of a biLM over token vectors."""

import keras
from keras import ops

from keras_elmo.layers.lstm_stack import LSTMStack


@keras.saving.register_keras_serializable(package="keras_elmo")
class BiLMEncoder(keras.layers.Layer):
    """A forward and a backward `LSTMStack` that never see each other.

    Both live in this one layer under names of their own, so that a weights file
    cannot load them swapped. Each is callable alone: `forward_stack` on a stream,
    `backward_stack` on a stream that runs backward already, which is how a language
    model with two streams is trained.

    Rows hold the sentence markers already. The backward direction starts at each
    row's last real token: masked steps are never read, wherever they are.

    Args:
        num_layers: int, LSTMs a direction (L).
        hidden_dim: int, cells of each (H).
        projection_dim: int, size of a token's vector and of each LSTM's output (P).
        cell_clip: float above 0, or None for no clipping.
        proj_clip: float above 0, or None for no clipping.
        use_skip_connections: bool. Residuals from the second layer on.
        dropout: float in [0, 1), on each LSTM's input while training.
        always_project: bool. A projection of each LSTM's output where P is not below H
            too, as ELMoForManyLangs has it.

    Call arguments:
        inputs: float, (batch, time, P).
        mask: bool, (batch, time), True on real tokens, or None for all.
        initial_state: {"forward": [[h, c] a layer], "backward": likewise}, or None
            for zeros, which makes a sentence's vectors independent of all others.
        return_state: bool. Return the last state too, in the same form.

    Returns:
        list of L + 1 floats in the compute dtype, each (batch, time, 2 P), exactly 0
        on masked steps: the token vector twice, then each layer's forward and
        backward output side by side; with `return_state` the pair (list, state).

    Reference: Peters et al. 2018, section 3.1; bilm-tf `bilm/model.py`,
    `BidirectionalLanguageModelGraph`.

    Example:
    ```python
    encoder = keras_elmo.BiLMEncoder(2, hidden_dim=16, projection_dim=4)
    layers, state = encoder(keras.ops.ones((2, 5, 4)), return_state=True)
    layers = encoder(keras.ops.ones((2, 5, 4)), initial_state=state)
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
        options = {
            "num_layers": num_layers,
            "hidden_dim": hidden_dim,
            "projection_dim": projection_dim,
            "cell_clip": cell_clip,
            "proj_clip": proj_clip,
            "use_skip_connections": use_skip_connections,
            "dropout": dropout,
            "always_project": always_project,
            "dtype": self.dtype_policy,
        }
        self.forward_stack = LSTMStack(**options, name="forward_stack")
        self.backward_stack = LSTMStack(**options, name="backward_stack")

    @property
    def num_layers(self):
        """LSTMs a direction (L)."""
        return self.forward_stack.num_layers

    @property
    def projection_dim(self):
        """Size of a token's vector and of each direction's output (P)."""
        return self.forward_stack.projection_dim

    def build(self, input_shape):
        self.forward_stack.build(input_shape)
        self.backward_stack.build(input_shape)

    def call(
        self,
        inputs,
        mask=None,
        initial_state=None,
        return_state=False,
        training=None,
    ):
        state = initial_state or {"forward": None, "backward": None}
        forward, forward_state = self.forward_stack(
            inputs,
            mask=mask,
            initial_state=state["forward"],
            return_state=True,
            training=training,
        )
        # Masked steps keep the state, so reading a padded row from its end is the
        # same as reversing it within its own length.
        backward, backward_state = self.backward_stack(
            ops.flip(inputs, axis=1),
            mask=None if mask is None else ops.flip(mask, axis=1),
            initial_state=state["backward"],
            return_state=True,
            training=training,
        )
        if mask is None:
            tokens = inputs
        else:
            real = ops.expand_dims(mask, axis=-1)
            tokens = ops.where(real, inputs, ops.zeros_like(inputs))
        outputs = [ops.concatenate([tokens, tokens], axis=-1)]
        outputs += [
            ops.concatenate([f, ops.flip(b, axis=1)], axis=-1)
            for f, b in zip(forward, backward, strict=True)
        ]
        if not return_state:
            return outputs
        return outputs, {"forward": forward_state, "backward": backward_state}

    def zero_state(self, batch_size):
        """The state before the first step of both directions: zeros."""
        return {
            "forward": self.forward_stack.zero_state(batch_size),
            "backward": self.backward_stack.zero_state(batch_size),
        }

    def compute_mask(self, inputs, mask=None):
        return [mask] * (self.num_layers + 1)

    def compute_output_shape(self, input_shape):
        output = (*input_shape[:-1], 2 * self.projection_dim)
        return [output] * (self.num_layers + 1)

    def compute_output_spec(
        self,
        inputs,
        mask=None,
        initial_state=None,
        return_state=False,
        training=None,
    ):
        outputs = [
            keras.KerasTensor(shape, dtype=self.compute_dtype)
            for shape in self.compute_output_shape(inputs.shape)
        ]
        if not return_state:
            return outputs
        state = {
            "forward": self.forward_stack.compute_output_spec(
                inputs, return_state=True
            )[1],
            "backward": self.backward_stack.compute_output_spec(
                inputs, return_state=True
            )[1],
        }
        return outputs, state

    def get_config(self):
        config = super().get_config()
        stack = self.forward_stack
        config.update(
            num_layers=stack.num_layers,
            hidden_dim=stack.hidden_dim,
            projection_dim=stack.projection_dim,
            cell_clip=stack.cell_clip,
            proj_clip=stack.proj_clip,
            use_skip_connections=stack.use_skip_connections,
            dropout=stack.dropout,
            always_project=stack.always_project,
        )
        return config

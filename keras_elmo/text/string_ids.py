"""Strings to ids inside a model, on TensorFlow."""

import keras

from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.text.vocabulary_files import read_vocabulary, write_vocabulary


def holds_strings(inputs):
    """Whether a call's input is text: a tensor, array or list of strings."""
    dtype = getattr(inputs, "dtype", None)
    if dtype is not None:
        kind = getattr(dtype, "kind", None)
        # NumPy's kinds of text; an object array holds str or lists of them.
        return kind in ("U", "S", "O") if kind else "string" in str(dtype)
    while isinstance(inputs, list | tuple) and inputs:
        inputs = inputs[0]
    return isinstance(inputs, str | bytes)


@keras.saving.register_keras_serializable(package="keras_elmo")
class StringIds(keras.layers.Layer):
    """The ids that a biLM reads, made from strings by TensorFlow ops.

    Equal to `ElmoPreprocessor`, which works on every backend, outside the model.

    Args:
        tokenizer: "whitespace" or "unicode", how sentences are split.
        input_kind: what the biLM reads, as `ElmoTokenizer` names it.
        max_characters_per_token: int, character ids a token (C).

    Call arguments:
        inputs: string, (batch,) sentences, or (batch, time) tokens padded with "".

    Returns:
        int32, (batch, time, C) or (batch, time); 0 where padded.

    Raises:
        TypeError: when TensorFlow is not the backend: no other has strings.

    Example: (on TensorFlow)
    ```py
    ids = keras_elmo.StringIds(max_characters_per_token=16)(["The bank ."])
    ```
    """

    def __init__(
        self,
        tokenizer="whitespace",
        input_kind="characters",
        max_characters_per_token=50,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._tokenizer = ElmoTokenizer(tokenizer, input_kind, max_characters_per_token)
        self._encoder = None
        self.built = True

    @classmethod
    def of(cls, backbone, tokenizer="whitespace"):
        """The layer that makes the ids an `ElmoBackbone` reads."""
        kind, width = backbone.input_kind, backbone.max_characters_per_token
        layer = cls(tokenizer, kind, width)
        layer._tokenizer.vocabulary = backbone.vocabulary
        return layer

    def __call__(self, inputs, *args, **kwargs):
        if keras.backend.backend() != "tensorflow":
            raise TypeError(
                "Strings go into a model on TensorFlow only; Keras runs on "
                f"{keras.backend.backend()} here. `keras_elmo.ElmoPreprocessor` turns "
                "them into ids before the model, on every backend."
            )
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs):
        if self._encoder is None:
            from keras_elmo.text.graph import GraphEncoder

            self._encoder = GraphEncoder(self._tokenizer)
        return self._encoder(inputs)

    def compute_output_spec(self, inputs):
        time = inputs.shape[1] if len(inputs.shape) == 2 else None
        shape = (inputs.shape[0], time)
        if self._tokenizer.ids_width is not None:
            shape += (self._tokenizer.ids_width,)
        return keras.KerasTensor(shape, "int32")

    def get_config(self):
        config = super().get_config()
        config.update(
            tokenizer=self._tokenizer.splitter,
            input_kind=self._tokenizer.input_kind,
            max_characters_per_token=self._tokenizer.max_characters_per_token,
        )
        return config

    # The vocabulary travels inside a .keras file as an asset.
    def save_assets(self, dir_path):
        write_vocabulary(self._tokenizer.vocabulary, dir_path)

    def load_assets(self, dir_path):
        self._tokenizer.vocabulary = read_vocabulary(dir_path)
        self._encoder = None

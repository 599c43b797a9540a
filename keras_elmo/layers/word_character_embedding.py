"""ELMoForManyLangs' token vectors: of words, of characters, or of both."""

import keras
from keras import ops

from keras_elmo import checks
from keras_elmo.layers.character_cnn import CharacterCNN
from keras_elmo.layers.word_embedding import WordEmbedding


@keras.saving.register_keras_serializable(package="keras_elmo")
class WordCharacterEmbedding(keras.layers.Layer):
    """A word's row of a table and its character CNN side by side, projected.

    Args:
        projection_dim: int, size of a token's vector (P).
        vocabulary_size: int, rows of the word table, or None for no words.
        word_embedding_dim: int, size of a row.
        num_characters: int, rows of the table of characters, or None for no
            characters.
        char_cnn_filters: list of [width, number] pairs.
        character_embedding_dim: int, size of a character's vector.
        num_highway_layers: int, 0 or more.
        char_cnn_activation: "relu" or "tanh".
        max_characters_per_token: int, character ids a token (C).

    Call arguments:
        inputs: int, row + 1 everywhere and 0 where padded: (..., 1 + C), the word and
            its characters; (..., C) without words; (...) without characters.

    Returns:
        float in the compute dtype, (..., P); exactly 0 for padding.

    Reference: HIT-SCIR/ELMoForManyLangs `modules/token_embedder.py`,
    `ConvTokenEmbedder`.

    Example:
    ```python
    embed = keras_elmo.WordCharacterEmbedding(
        4, vocabulary_size=9, word_embedding_dim=3, num_characters=20,
        char_cnn_filters=[[1, 4], [2, 8]], character_embedding_dim=5,
        max_characters_per_token=6,
    )
    vectors = embed(keras.ops.array([[[9, 1, 2, 3, 4, 4, 4]]]))  # (1, 1, 4)
    ```
    """

    def __init__(
        self,
        projection_dim,
        vocabulary_size=None,
        word_embedding_dim=None,
        num_characters=None,
        char_cnn_filters=None,
        character_embedding_dim=None,
        num_highway_layers=0,
        char_cnn_activation="relu",
        max_characters_per_token=50,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if vocabulary_size is None and num_characters is None:
            raise ValueError(
                "`vocabulary_size` (words), `num_characters` or both must be given."
            )
        self.projection_dim = checks.positive_int("projection_dim", projection_dim)
        self.word_embedding = self.character_cnn = None
        if vocabulary_size is not None:
            self.word_embedding = WordEmbedding(
                vocabulary_size,
                checks.positive_int("word_embedding_dim", word_embedding_dim),
                dtype=self.dtype_policy,
                name="word_embedding",
            )
        if num_characters is not None:
            self.character_cnn = CharacterCNN(
                char_cnn_filters,
                character_embedding_dim,
                num_highway_layers=num_highway_layers,
                activation=char_cnn_activation,
                max_characters_per_token=max_characters_per_token,
                num_characters=num_characters,
                dtype=self.dtype_policy,
                name="character_cnn",
            )
        self._arguments = {
            "projection_dim": projection_dim,
            "vocabulary_size": vocabulary_size,
            "word_embedding_dim": word_embedding_dim,
            "num_characters": num_characters,
            "char_cnn_filters": char_cnn_filters,
            "character_embedding_dim": character_embedding_dim,
            "num_highway_layers": num_highway_layers,
            "char_cnn_activation": char_cnn_activation,
            "max_characters_per_token": max_characters_per_token,
        }

    def build(self, input_shape):
        dim = 0
        for part in (self.word_embedding, self.character_cnn):
            if part is not None:
                part.build(input_shape)
                dim += part.output_dim
        self.projection_kernel = self.add_weight(
            name="projection_kernel",
            shape=(dim, self.projection_dim),
            initializer="glorot_uniform",
        )
        self.projection_bias = self.add_weight(
            name="projection_bias", shape=(self.projection_dim,), initializer="zeros"
        )

    def call(self, inputs, training=None):
        parts = []
        if self.word_embedding is not None:
            words = inputs if self.character_cnn is None else inputs[..., 0]
            parts.append(self.word_embedding(words))
        if self.character_cnn is not None:
            characters = inputs if self.word_embedding is None else inputs[..., 1:]
            parts.append(self.character_cnn(characters, training=training))
        features = ops.concatenate(parts, axis=-1)
        vectors = ops.matmul(features, self.projection_kernel) + self.projection_bias
        is_token = ops.expand_dims(self.compute_mask(inputs), axis=-1)
        return ops.where(is_token, vectors, ops.zeros_like(vectors))

    def compute_mask(self, inputs, mask=None):
        is_token = ops.not_equal(inputs, 0)
        return is_token if self._is_flat else ops.any(is_token, axis=-1)

    @property
    def _is_flat(self):
        """Whether a token is one id."""
        return self.character_cnn is None

    def compute_output_shape(self, input_shape):
        tokens = input_shape if self._is_flat else input_shape[:-1]
        return (*tokens, self.projection_dim)

    def compute_output_spec(self, inputs, **kwargs):
        # The inputs are integers; the output has the compute dtype.
        return keras.KerasTensor(
            self.compute_output_shape(inputs.shape), dtype=self.compute_dtype
        )

    def get_config(self):
        return {**super().get_config(), **self._arguments}

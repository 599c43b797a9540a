"""The character CNN: a token's character ids to its context-free vector."""

import keras
from keras import ops

from keras_elmo import backend, checks
from keras_elmo.layers.highway import Highway
from keras_elmo.text.characters import NUM_CHARACTER_IDS

ACTIVATIONS = ("relu", "tanh")


@keras.saving.register_keras_serializable(package="keras_elmo")
class CharacterCNN(keras.layers.Layer):
    """Embeds each token from its characters alone.

    Characters are looked up, convolved with every filter width ("valid"), reduced to
    their maximum over the token, activated, joined in filter order, sent through
    highway layers and projected.

    Args:
        filters: list of [width, number] pairs.
        character_embedding_dim: int, size of a character's vector.
        projection_dim: int, size of a token's vector, or None for no projection: the
            token's vector then has as many numbers as there are filters.
        num_highway_layers: int, 0 or more.
        activation: "relu" or "tanh".
        max_characters_per_token: int, ids a token (C).
        num_characters: int, rows of the table of characters, padding not counted.

    Call arguments:
        inputs: int, (..., C), ids as `keras_elmo.text.characters` makes them; a token
            whose ids are all 0 is padding.

    Returns:
        float in the compute dtype, (..., output_dim); exactly 0 for padding.

    Reference: Peters et al. 2018, section 3.4; Kim et al. 2015; bilm-tf
    `bilm/model.py`, `_build_word_char_embeddings`.

    Example:
    ```python
    ids = keras_elmo.text.encode_sentences([["The", "bank"]], 12)
    cnn = keras_elmo.CharacterCNN(
        [[1, 4], [2, 8]], 4, projection_dim=6, max_characters_per_token=12
    )
    vectors = cnn(ids)  # (1, 2, 6)
    ```
    """

    def __init__(
        self,
        filters,
        character_embedding_dim,
        projection_dim=None,
        num_highway_layers=0,
        activation="relu",
        max_characters_per_token=50,
        num_characters=NUM_CHARACTER_IDS - 1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.max_characters_per_token = checks.positive_int(
            "max_characters_per_token", max_characters_per_token, minimum=3
        )
        self.num_characters = checks.positive_int("num_characters", num_characters)
        self.filters = checks.char_cnn_filters(
            "filters", filters, self.max_characters_per_token
        )
        self.character_embedding_dim = checks.positive_int(
            "character_embedding_dim", character_embedding_dim
        )
        self.projection_dim = (
            None
            if projection_dim is None
            else checks.positive_int("projection_dim", projection_dim)
        )
        self.num_highway_layers = checks.positive_int(
            "num_highway_layers", num_highway_layers, minimum=0
        )
        if activation not in ACTIVATIONS:
            raise ValueError(
                checks.received("activation", activation, f"one of {ACTIVATIONS}")
            )
        self.activation = activation
        self.highways = [
            Highway(dtype=self.dtype_policy, name=f"highway_{i}")
            for i in range(self.num_highway_layers)
        ]

    @property
    def num_filters(self):
        """Number of filters of all widths together."""
        return sum(number for _, number in self.filters)

    @property
    def output_dim(self):
        """Size of a token's vector."""
        return self.num_filters if self.projection_dim is None else self.projection_dim

    def build(self, input_shape):
        # Row 0 (padding) is always zeros and is not stored: the variable holds the
        # other rows, which is the table as the published files hold it.
        self.character_table = self.add_weight(
            name="character_table",
            shape=(self.num_characters, self.character_embedding_dim),
            initializer=keras.initializers.RandomUniform(-1.0, 1.0),
        )
        self.kernels, self.biases = [], []
        for i, (width, number) in enumerate(self.filters):
            if self.activation == "relu":
                initializer = keras.initializers.RandomUniform(-0.05, 0.05)
            else:
                stddev = (width * self.character_embedding_dim) ** -0.5
                initializer = keras.initializers.RandomNormal(stddev=stddev)
            self.kernels.append(
                self.add_weight(
                    name=f"kernel_{i}",
                    shape=(width, self.character_embedding_dim, number),
                    initializer=initializer,
                )
            )
            self.biases.append(
                self.add_weight(name=f"bias_{i}", shape=(number,), initializer="zeros")
            )
        for highway in self.highways:
            highway.build((None, self.num_filters))
        self.projection_kernel = self.projection_bias = None
        if self.projection_dim is not None:
            self.projection_kernel = self.add_weight(
                name="projection_kernel",
                shape=(self.num_filters, self.projection_dim),
                initializer=keras.initializers.RandomNormal(
                    stddev=self.num_filters**-0.5
                ),
            )
            self.projection_bias = self.add_weight(
                name="projection_bias",
                shape=(self.projection_dim,),
                initializer="zeros",
            )

    def call(self, inputs, training=None):
        shape = ops.shape(inputs)
        is_token = ops.any(ops.not_equal(inputs, 0), axis=-1, keepdims=True)
        flat = ops.reshape(inputs, (-1, shape[-1]))
        table = ops.convert_to_tensor(self.character_table)
        table = ops.concatenate([ops.zeros_like(table[:1]), table], axis=0)
        features = self._convolve(backend.take_rows(table, flat), bool(training))
        for highway in self.highways:
            features = highway(features)
        if self.projection_kernel is not None:
            features = backend.product(features, self.projection_kernel)
            features = features + self.projection_bias
        features = ops.reshape(features, (*shape[:-1], self.output_dim))
        return ops.where(is_token, features, ops.zeros_like(features))

    def _convolve(self, characters, training):
        """(tokens, C, dim) to (tokens, number of filters)."""
        kernels = [ops.convert_to_tensor(kernel) for kernel in self.kernels]
        largest = backend.max_over_windows(characters, kernels, training=training)
        biases = ops.concatenate([ops.convert_to_tensor(b) for b in self.biases])
        activate = ops.relu if self.activation == "relu" else ops.tanh
        # Adding the bias and activating keep the order of numbers, so both may come
        # after the maximum.
        return activate(largest + biases)

    def compute_mask(self, inputs, mask=None):
        return ops.any(ops.not_equal(inputs, 0), axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.output_dim)

    def compute_output_spec(self, inputs, **kwargs):
        # The inputs are integers; the output has the compute dtype.
        return keras.KerasTensor(
            self.compute_output_shape(inputs.shape), dtype=self.compute_dtype
        )

    def get_config(self):
        config = super().get_config()
        config.update(
            filters=self.filters,
            character_embedding_dim=self.character_embedding_dim,
            projection_dim=self.projection_dim,
            num_highway_layers=self.num_highway_layers,
            activation=self.activation,
            max_characters_per_token=self.max_characters_per_token,
            num_characters=self.num_characters,
        )
        return config

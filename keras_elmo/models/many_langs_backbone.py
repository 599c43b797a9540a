"""ELMoForManyLangs' models: ids in, every layer's vectors out."""

import keras

from keras_elmo import checks
from keras_elmo.layers import BiLMEncoder, JoinedEncoder, WordCharacterEmbedding
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.text.dictionaries import Dictionaries

ENCODERS = ("elmo", "lstm")


@keras.saving.register_keras_serializable(package="keras_elmo")
class ManyLangsBackbone(ElmoBackbone):
    """An `ElmoBackbone` with ELMoForManyLangs' token embedder and encoders.

    It reads words, characters (code points, not bytes) or both, by `Dictionaries`.

    Args:
        hidden_dim: int, cells of each LSTM (H).
        projection_dim: int, size of a token's vector and of each direction's output
            (P).
        begin_ids: the ids of `<bos>`, as one token of the input has them: an int, or a
            list of ints.
        end_ids: the ids of `<eos>`.
        num_layers: int, LSTMs a direction (L).
        encoder_kind: "elmo", a bidirectional language model, or "lstm", LSTMs whose
            layers are joined: it gives the top layer only.
        vocabulary_size: int, rows of the word table, or None for no words.
        word_embedding_dim: int, size of a row.
        num_characters: int, rows of the table of characters, or None for no
            characters.
        char_cnn_filters: list of [width, number] pairs.
        character_embedding_dim: int, size of a character's vector.
        max_characters_per_token: int, character ids a token (C).
        num_highway_layers: int.
        char_cnn_activation: "relu" or "tanh".
        cell_clip: float above 0, or None for no clipping ("elmo").
        proj_clip: float above 0, or None for no clipping ("elmo").
        keep_boundaries: bool. Keep the vectors of `<bos>` and `<eos>`.
        dropout: float in [0, 1), on each LSTM's input while training.
        mix_weights: floats that sum to 1, one an output, or None for equal ones.
        gamma: float, the scale of `embed`'s mix.
        dtype: dtype policy of every layer.
        name: str.
        trainable: bool. False freezes every weight.

    Call arguments:
        inputs: int32, row + 1 everywhere and 0 where padded: (batch, T, 1 + C), the
            word and its characters; (batch, T, C) without words; (batch, T) without
            characters.

    Returns:
        list of L + 1 floats in the compute dtype ("lstm": of one), each
        (batch, T, 2 P), as `ElmoBackbone`.

    Raises:
        ValueError: as `ElmoBackbone`.

    Reference: Che et al. 2018, "Towards Better UD Parsing"; HIT-SCIR/ELMoForManyLangs.

    Example:
    ```python
    words = {"<oov>": 0, "<bos>": 1, "<eos>": 2, "<pad>": 3, "the": 4}
    backbone = keras_elmo.ManyLangsBackbone(
        hidden_dim=16, projection_dim=4, begin_ids=2, end_ids=3,
        vocabulary_size=5, word_embedding_dim=6,
    )
    backbone.vocabulary = keras_elmo.text.Dictionaries(words=words)
    vectors = keras_elmo.embed([["the", "bank"]], backbone)  # (1, 2, 8)
    ```
    """

    def __init__(
        self,
        *,
        hidden_dim,
        projection_dim,
        begin_ids,
        end_ids,
        num_layers=2,
        encoder_kind="elmo",
        vocabulary_size=None,
        word_embedding_dim=None,
        num_characters=None,
        char_cnn_filters=None,
        character_embedding_dim=None,
        max_characters_per_token=50,
        num_highway_layers=0,
        char_cnn_activation="relu",
        cell_clip=None,
        proj_clip=None,
        keep_boundaries=False,
        dropout=0.0,
        mix_weights=None,
        gamma=1.0,
        dtype=None,
        name=None,
        trainable=True,
    ):
        # === Layers ===
        token_embedder = WordCharacterEmbedding(
            projection_dim,
            vocabulary_size=vocabulary_size,
            word_embedding_dim=word_embedding_dim,
            num_characters=num_characters,
            char_cnn_filters=char_cnn_filters,
            character_embedding_dim=character_embedding_dim,
            num_highway_layers=num_highway_layers,
            char_cnn_activation=char_cnn_activation,
            max_characters_per_token=max_characters_per_token,
            dtype=dtype,
            name="token_embedder",
        )
        if checks.one_of("encoder_kind", encoder_kind, ENCODERS) == "lstm":
            encoder = JoinedEncoder(
                num_layers,
                hidden_dim,
                projection_dim,
                dropout=dropout,
                dtype=dtype,
                name="encoder",
            )
        else:
            encoder = BiLMEncoder(
                num_layers,
                hidden_dim,
                projection_dim,
                cell_clip=cell_clip,
                proj_clip=proj_clip,
                dropout=dropout,
                always_project=True,
                dtype=dtype,
                name="encoder",
            )
        if num_characters is None:
            width, ids_name = (), "token_ids"
        else:
            columns = max_characters_per_token + (vocabulary_size is not None)
            width, ids_name = (columns,), "character_ids"
        ids = keras.Input((None, *width), dtype="int32", name=ids_name)

        # === Functional Model ===
        self._assemble(
            ids,
            [begin_ids, end_ids],
            token_embedder,
            encoder,
            keep_boundaries=keep_boundaries,
            mix_weights=mix_weights,
            gamma=gamma,
            dtype=dtype,
            name=name,
            trainable=trainable,
        )

        # === Config ===
        self.hidden_dim = hidden_dim
        self.projection_dim = projection_dim
        self.begin_ids = begin_ids
        self.end_ids = end_ids
        self.num_layers = encoder.num_layers
        self.encoder_kind = encoder_kind
        self.vocabulary_size = vocabulary_size
        self.word_embedding_dim = word_embedding_dim
        self.num_characters = num_characters
        self.char_cnn_filters = char_cnn_filters
        self.character_embedding_dim = character_embedding_dim
        self.max_characters_per_token = max_characters_per_token
        self.num_highway_layers = num_highway_layers
        self.char_cnn_activation = char_cnn_activation
        self.cell_clip = checks.positive_float_or_none("cell_clip", cell_clip)
        self.proj_clip = checks.positive_float_or_none("proj_clip", proj_clip)
        self.dropout = checks.fraction("dropout", dropout)

    def call(self, inputs, training=None, mask=None):
        # Keras unwraps a list of one.
        outputs = super().call(inputs, training=training, mask=mask)
        return outputs if isinstance(outputs, list) else [outputs]

    @property
    def input_kind(self):
        """What the model reads, as `ElmoTokenizer` names it."""
        if self.num_characters is None:
            return "dictionary_words"
        if self.vocabulary_size is None:
            return "dictionary_characters"
        return "dictionary_words_and_characters"

    def _check_vocabulary(self, vocabulary):
        if not isinstance(vocabulary, Dictionaries):
            raise TypeError(
                checks.received("vocabulary", vocabulary, "a `Dictionaries`, or None")
            )
        for name, entries, rows in (
            ("words", vocabulary.words, self.vocabulary_size),
            ("characters", vocabulary.characters, self.num_characters),
        ):
            if (entries is None) != (rows is None):
                raise ValueError(
                    f"`vocabulary.{name}` must be "
                    f"{'None' if rows is None else 'given'}: the model reads "
                    f"{self.input_kind}."
                )
            if entries and rows and not 0 <= max(entries.values()) < rows:
                raise ValueError(
                    f"`vocabulary.{name}` must have rows below {rows}, those of the "
                    f"model's table. Received: {max(entries.values())}."
                )

    def _id_limits(self):
        words = "token_ids", ..., (self.vocabulary_size or 0) + 1
        characters = "character_ids", ..., (self.num_characters or 0) + 1
        if self.num_characters is None:
            return [words]
        if self.vocabulary_size is None:
            return [characters]
        return [
            ("character_ids[..., 0]", (..., 0), words[2]),
            ("character_ids[..., 1:]", (..., slice(1, None)), characters[2]),
        ]

    def get_config(self):
        names = (
            *("hidden_dim", "projection_dim", "begin_ids", "end_ids", "num_layers"),
            *("encoder_kind", "vocabulary_size", "word_embedding_dim"),
            *("num_characters", "char_cnn_filters", "character_embedding_dim"),
            *("max_characters_per_token", "num_highway_layers", "char_cnn_activation"),
            *("cell_clip", "proj_clip", "keep_boundaries", "dropout", "mix_weights"),
            *("gamma", "name", "trainable"),
        )
        return {
            **{name: getattr(self, name) for name in names},
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
        }

"""The biLM without its softmax: ids in, every layer's vectors out."""

import keras

from keras_elmo import checks
from keras_elmo.layers import (
    AddSentenceMarkers,
    BiLMEncoder,
    CharacterCNN,
    RemoveSentenceMarkers,
    WordEmbedding,
)
from keras_elmo.models.id_checks import check_ids
from keras_elmo.text.characters import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    NUM_CHARACTER_IDS,
    encode_tokens,
)
from keras_elmo.text.elmo_tokenizer import ids_width
from keras_elmo.text.vocabulary import check_vocabulary
from keras_elmo.text.vocabulary_files import (
    VOCABULARY_FILE as VOCABULARY_FILE,
    read_vocabulary,
    write_vocabulary,
)


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoBackbone(keras.Model):
    """A bidirectional language model that gives each token its L + 1 vectors.

    Each sentence stands alone: its vectors are the same in any batch, in any order,
    with any padding. Give `char_cnn_filters` for a model that reads characters, or
    `vocabulary_size` for one that reads words.

    Args:
        hidden_dim: int, cells of each LSTM (H).
        projection_dim: int, size of a token's vector and of each LSTM's output (P);
            at most `hidden_dim`, and without an LSTM projection where equal. The
            character CNN has no projection where its filters number P already.
        num_layers: int, LSTMs a direction (L).
        char_cnn_filters: list of [width, number] pairs.
        character_embedding_dim: int, size of a character's vector.
        max_characters_per_token: int, character ids a token (C).
        num_highway_layers: int.
        char_cnn_activation: "relu" or "tanh".
        vocabulary_size: int, rows of the word table (V).
        start_token_id: int, the id of `<S>` for word input: its row + 1.
        end_token_id: int, the id of `</S>` for word input.
        cell_clip: float above 0, or None for no clipping.
        proj_clip: float above 0, or None for no clipping.
        use_skip_connections: bool. Residuals from the second layer on.
        keep_boundaries: bool. Keep the vectors of `<S>` and `</S>`, T + 2 a sentence.
        dropout: float in [0, 1), on each LSTM's input while training.
        mix_weights: L + 1 floats that sum to 1, the weights `embed` mixes the layers
            with, or None for equal ones.
        gamma: float, the scale of `embed`'s mix.
        dtype: dtype policy of every layer.
        name: str.
        trainable: bool. False freezes every weight. A frozen model in another one is
            to be called with `training=False`: freezing does not end its dropout.

    Call arguments:
        inputs: int32, `character_ids` (batch, T, C) or `token_ids` (batch, T), without
            sentence markers; 0 is padding.

    Returns:
        list of L + 1 floats in the compute dtype, each (batch, T, 2 P) with a mask of
        its real tokens and exactly 0 elsewhere: the token vector twice, then each
        layer's forward and backward output.

    Raises:
        ValueError: when ids are out of range, before anything is computed (checked
            where the ids have values, not inside a compiled function), and when the
            arguments contradict each other.

    Reference: Peters et al. 2018; bilm-tf `bilm/model.py`,
    `BidirectionalLanguageModel`.

    Example:
    ```python
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32,
        projection_dim=8,
        char_cnn_filters=[[1, 8], [2, 16]],
        character_embedding_dim=4,
        max_characters_per_token=16,
    )
    ids = keras_elmo.text.encode_sentences([["The", "bank", "."]], 16)
    token_vectors, layer_1, layer_2 = backbone(ids)  # each (1, 3, 16)
    ```
    """

    def __init__(
        self,
        *,
        hidden_dim,
        projection_dim,
        num_layers=2,
        char_cnn_filters=None,
        character_embedding_dim=None,
        max_characters_per_token=50,
        num_highway_layers=0,
        char_cnn_activation="relu",
        vocabulary_size=None,
        start_token_id=1,
        end_token_id=2,
        cell_clip=None,
        proj_clip=None,
        use_skip_connections=True,
        keep_boundaries=False,
        dropout=0.0,
        mix_weights=None,
        gamma=1.0,
        dtype=None,
        name=None,
        trainable=True,
    ):
        if (char_cnn_filters is None) == (vocabulary_size is None):
            raise ValueError(
                "Exactly one of `char_cnn_filters` (character input) and "
                "`vocabulary_size` (word input) must be given. Received: "
                f"char_cnn_filters={char_cnn_filters!r}, "
                f"vocabulary_size={vocabulary_size!r}."
            )
        projection_dim = checks.positive_int("projection_dim", projection_dim)

        # === Layers ===
        if char_cnn_filters is not None:
            max_characters_per_token = checks.positive_int(
                "max_characters_per_token", max_characters_per_token, minimum=3
            )
            char_cnn_filters = checks.char_cnn_filters(
                "char_cnn_filters", char_cnn_filters, max_characters_per_token
            )
            num_filters = sum(number for _, number in char_cnn_filters)
            token_embedder = CharacterCNN(
                char_cnn_filters,
                checks.positive_int("character_embedding_dim", character_embedding_dim),
                None if projection_dim == num_filters else projection_dim,
                num_highway_layers=num_highway_layers,
                activation=char_cnn_activation,
                max_characters_per_token=max_characters_per_token,
                dtype=dtype,
                name="token_embedder",
            )
            markers = encode_tokens(
                [BEGIN_SENTENCE, END_SENTENCE], max_characters_per_token
            ).tolist()
            ids = keras.Input(
                (None, max_characters_per_token), dtype="int32", name="character_ids"
            )
        else:
            token_embedder = WordEmbedding(
                vocabulary_size, projection_dim, dtype=dtype, name="token_embedder"
            )
            markers = [
                checks.positive_int("start_token_id", start_token_id),
                checks.positive_int("end_token_id", end_token_id),
            ]
            ids = keras.Input((None,), dtype="int32", name="token_ids")
        encoder = BiLMEncoder(
            num_layers,
            hidden_dim,
            projection_dim,
            cell_clip=cell_clip,
            proj_clip=proj_clip,
            use_skip_connections=use_skip_connections,
            dropout=dropout,
            dtype=dtype,
            name="encoder",
        )

        # === Functional Model ===
        self._assemble(
            ids,
            markers,
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
        self.hidden_dim = self.encoder.forward_stack.hidden_dim
        self.projection_dim = projection_dim
        self.num_layers = self.encoder.num_layers
        self.char_cnn_filters = char_cnn_filters
        self.character_embedding_dim = character_embedding_dim
        self.max_characters_per_token = max_characters_per_token
        self.num_highway_layers = num_highway_layers
        self.char_cnn_activation = char_cnn_activation
        self.vocabulary_size = vocabulary_size
        self.start_token_id = start_token_id
        self.end_token_id = end_token_id
        self.cell_clip = self.encoder.forward_stack.cell_clip
        self.proj_clip = checks.positive_float_or_none("proj_clip", proj_clip)
        self.use_skip_connections = bool(use_skip_connections)
        self.dropout = self.encoder.forward_stack.dropout

    def _assemble(
        self,
        ids,
        markers,
        token_embedder,
        encoder,
        *,
        keep_boundaries,
        mix_weights,
        gamma,
        dtype,
        name,
        trainable,
    ):
        """Makes the graph: what `__init__` of this class and of others calls."""
        framed = AddSentenceMarkers(*markers, name="add_markers")(ids)
        layers = encoder(token_embedder(framed))
        if mix_weights is not None:
            mix_weights = checks.mix_weights("mix_weights", mix_weights, len(layers))
        if not keep_boundaries:
            layers = RemoveSentenceMarkers(dtype=dtype, name="remove_markers")(layers)
        super().__init__(inputs=ids, outputs=layers, name=name)
        if not trainable:
            self.trainable = False
        # One layer of each class: the names in a weights file come from the classes.
        self.token_embedder = token_embedder
        self.encoder = encoder
        if dtype is not None:
            self.dtype_policy = dtype
        self.keep_boundaries = bool(keep_boundaries)
        self.mix_weights = mix_weights
        self.gamma = float(gamma)
        self.vocabulary = None

    @classmethod
    def from_options(
        cls, options_json, weights_hdf5, vocabulary=None, token_embeddings=None
    ):
        """A published biLM: bilm-tf's and AllenNLP's options and weights files.

        Args:
            options_json: path of the options.
            weights_hdf5: path of the weights.
            vocabulary: `Vocabulary`, or the path of one. Needed for word input.
            token_embeddings: path of a file of bilm-tf's `dump_token_embeddings`:
                the model then reads words through this table.

        Returns:
            `ElmoBackbone`.

        Raises:
            ValueError: when options and weights contradict each other, naming each
                option; nothing is loaded then.
        """
        from keras_elmo.checkpoints.bilm_hdf5 import build_backbone

        return build_backbone(options_json, weights_hdf5, vocabulary, token_embeddings)

    @classmethod
    def from_preset(cls, preset, dtype=None):
        """The model of a preset that `save_to_preset` wrote.

        Args:
            preset: path of a directory, name that `keras-elmo presets` lists (a
                published model is fetched and converted the first time),
                `hf://owner/name[@revision]`, or
                `kaggle://owner/model/framework/variation[/version]`.
            dtype: dtype policy, or None for the preset's own.

        Returns:
            `ElmoBackbone`.
        """
        from keras_elmo.presets import load_backbone

        return load_backbone(preset, dtype=dtype)

    def save_to_preset(self, preset_dir, overwrite=False):
        """Writes the model as a preset directory, whole or not at all.

        Args:
            preset_dir: path of the directory to make.
            overwrite: bool. Replace what is there.

        Raises:
            FileExistsError: when `preset_dir` exists and `overwrite` is False.
        """
        from keras_elmo.presets import save_backbone

        save_backbone(self, preset_dir, overwrite=overwrite)

    @property
    def input_kind(self):
        """What the model reads: "characters" or "words"."""
        return "words" if self.char_cnn_filters is None else "characters"

    @property
    def ids_width(self):
        """Ids a token, the last axis of the input; None where a token is one id."""
        return ids_width(self.input_kind, self.max_characters_per_token)

    @property
    def num_outputs(self):
        """How many vectors a token gets: L + 1."""
        return len(self.outputs)

    @property
    def output_dim(self):
        """Size of a token's vectors: 2 P."""
        return 2 * self.projection_dim

    @property
    def vocabulary(self):
        """The `Vocabulary` the model was trained with, or None where not known."""
        return self._vocabulary

    @vocabulary.setter
    def vocabulary(self, vocabulary):
        if vocabulary is not None:
            self._check_vocabulary(vocabulary)
        self._vocabulary = vocabulary

    def _check_vocabulary(self, vocabulary):
        check_vocabulary(vocabulary)
        if self.vocabulary_size is not None and len(vocabulary) != self.vocabulary_size:
            raise ValueError(
                f"`vocabulary` must have one word a row of the model's word table "
                f"(={self.vocabulary_size}). Received: {len(vocabulary)} words."
            )

    def __call__(self, inputs, *args, **kwargs):
        check_ids(inputs, self._id_limits())
        return super().__call__(inputs, *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """`keras.Model.predict`, after a check of the ids."""
        check_ids(x, self._id_limits())
        return super().predict(x, *args, **kwargs)

    def predict_on_batch(self, x):
        """`keras.Model.predict_on_batch`, after a check of the ids."""
        check_ids(x, self._id_limits())
        return super().predict_on_batch(x)

    def _id_limits(self):
        if self.vocabulary_size is not None:
            return [("token_ids", ..., self.vocabulary_size + 1)]
        return [("character_ids", ..., NUM_CHARACTER_IDS)]

    def get_config(self):
        return {
            "hidden_dim": self.hidden_dim,
            "projection_dim": self.projection_dim,
            "num_layers": self.num_layers,
            "char_cnn_filters": self.char_cnn_filters,
            "character_embedding_dim": self.character_embedding_dim,
            "max_characters_per_token": self.max_characters_per_token,
            "num_highway_layers": self.num_highway_layers,
            "char_cnn_activation": self.char_cnn_activation,
            "vocabulary_size": self.vocabulary_size,
            "start_token_id": self.start_token_id,
            "end_token_id": self.end_token_id,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "use_skip_connections": self.use_skip_connections,
            "keep_boundaries": self.keep_boundaries,
            "dropout": self.dropout,
            "mix_weights": self.mix_weights,
            "gamma": self.gamma,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "name": self.name,
            "trainable": self.trainable,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The model of a `get_config`, with new weights."""
        config = dict(config)
        if isinstance(config.get("dtype"), dict):
            config["dtype"] = keras.dtype_policies.deserialize(config["dtype"])
        return cls(**config)

    # The vocabulary travels inside a .keras file as an asset.
    def save_assets(self, dir_path):
        write_vocabulary(self.vocabulary, dir_path)

    def load_assets(self, dir_path):
        self.vocabulary = read_vocabulary(dir_path)

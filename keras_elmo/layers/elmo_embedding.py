"""A biLM as a layer of any Keras model."""

from os import PathLike

import keras
from keras import ops

from keras_elmo.layers.layer_mixes import LayerMixes
from keras_elmo.text.string_ids import StringIds, holds_strings


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoEmbedding(keras.layers.Layer):
    """Contextual word vectors: a biLM and the task's learned sums of its layers.

    The biLM is held still unless `trainable_backbone` is set, and then runs as in
    `predict` while the model around it trains: freezing a layer alone does not end
    its dropout. Its own `trainable` is set to what this layer was told.

    Args:
        backbone: `ElmoBackbone`, or what `ElmoBackbone.from_preset` takes.
        num_mixes: int, how many sums, each with weights and dropout of its own; the
            biLM runs once for all. The paper's models take one at the input of the
            task's RNN and one at its output.
        layers: "mix" (learned weights), "mean" (equal weights), "top" or a layer's
            index, each times a learned gamma, or "all": the layers themselves.
        layer_norm: bool. Normalise each layer over the real tokens of the batch
            before the sum, as bilm-tf's `do_layer_norm`: a sentence's vectors then
            depend on the sentences beside it.
        dropout: float in [0, 1), on each sum while training (AllenNLP's `Elmo` has 0.5
            unless told otherwise, bilm-tf none).
        mix_regularizer: keras regularizer of the weights before the softmax, or a
            float, bilm-tf's `l2_coef`: the factor of the sum of their squares.
        initial_mix_weights: floats of at least 0 that sum to 1, the weights after the
            softmax to start from. None for those of the preset, or equal ones where it
            has none.
        trainable_mix: bool. False keeps weights and gamma as they are.
        trainable_backbone: bool. True trains the biLM along. May be set later, before
            the model is compiled.
        tokenizer: "whitespace" or "unicode", how sentences that come as one string
            each are split (TensorFlow).

    Call arguments:
        inputs: int32, `character_ids` (batch, time, characters) or `token_ids`
            (batch, time), as the biLM reads them, without sentence markers, 0 where
            padded. On TensorFlow also strings: (batch,) sentences, or (batch, time)
            tokens padded with "".

    Returns:
        float in the compute dtype, (batch, time, dim) with a mask, a list of them where
        `num_mixes` is above 1; exactly 0 where padded. (batch, num_layers + 1, time,
        dim) without a mask for `layers="all"`. dim is 2 x `projection_dim`, time 2
        longer for a biLM that keeps its sentence markers.

    Raises:
        TypeError: when `backbone` is no biLM, or strings come where TensorFlow is not
            the backend.
        ValueError: when arguments contradict each other.

    Reference: Peters et al. 2018, sections 3.2 and 3.3; bilm-tf `bilm/elmo.py`,
    `weight_layers`; AllenNLP `Elmo`.

    Example:
    ```python
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32, projection_dim=8, char_cnn_filters=[[1, 8], [2, 16]],
        character_embedding_dim=4, max_characters_per_token=16,
    )
    elmo = keras_elmo.ElmoEmbedding(backbone, dropout=0.5)
    ids = keras.Input((None, 16), dtype="int32")
    tags = keras.layers.Dense(3, activation="softmax")(elmo(ids))
    model = keras.Model(ids, tags)
    weights, gamma = elmo.mix_weights, elmo.gamma
    ```
    """

    def __init__(
        self,
        backbone,
        num_mixes=1,
        layers="mix",
        layer_norm=False,
        dropout=0.0,
        mix_regularizer=None,
        initial_mix_weights=None,
        trainable_mix=True,
        trainable_backbone=False,
        tokenizer="whitespace",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        if isinstance(backbone, str | PathLike):
            from keras_elmo.models.elmo_backbone import ElmoBackbone

            backbone = ElmoBackbone.from_preset(backbone, dtype=kwargs.get("dtype"))
        if not hasattr(backbone, "token_embedder"):
            raise TypeError(
                "`backbone` must be an ElmoBackbone or the name of a preset. Received: "
                f"backbone={backbone!r} of type {type(backbone).__name__}."
            )
        self.backbone = backbone
        # What was asked for; what it comes to stands in the mixes.
        self.initial_mix_weights = initial_mix_weights
        gamma = 1.0
        if layers == "mix" and initial_mix_weights is None:
            initial_mix_weights, gamma = backbone.mix_weights, backbone.gamma
        self.mixes = LayerMixes(
            num_mixes,
            layers,
            layer_norm=layer_norm,
            dropout=dropout,
            mix_regularizer=mix_regularizer,
            initial_mix_weights=initial_mix_weights,
            initial_gamma=gamma,
            trainable_mix=trainable_mix,
            dtype=self.dtype_policy,
            name="mixes",
        )
        self.tokenizer = tokenizer
        self._trainable_backbone = bool(trainable_backbone)
        self._string_ids = None
        self._apply_freeze()

    def build(self, input_shape):
        number = self.backbone.num_outputs
        self.mixes.build((None, number, None, self.backbone.output_dim))

    def __call__(self, inputs, *args, **kwargs):
        if holds_strings(inputs):
            if self._string_ids is None:
                self._string_ids = StringIds.of(self.backbone, self.tokenizer)
            inputs = self._string_ids(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None):
        learns = self.trainable and self.trainable_backbone
        # Frozen: as in `predict`, whatever the model around it does.
        layers = self.backbone(inputs, training=training if learns else False)
        mask = self._mask(inputs)
        return self.mixes(ops.stack(layers, axis=1), mask=mask, training=training)

    def _mask(self, inputs):
        mask = ops.not_equal(inputs, 0)
        if self.backbone.ids_width is not None:
            mask = ops.any(mask, axis=-1)
        if self.backbone.keep_boundaries:
            # A sentence of n tokens is n + 2 long: its mask begins with two more.
            both = ops.ones_like(mask[:, :1])
            mask = ops.concatenate([both, both, mask], axis=1)
        return mask

    def compute_mask(self, inputs, mask=None):
        return self.mixes.compute_mask(None, self._mask(inputs))

    def compute_output_shape(self, input_shape):
        backbone = self.backbone
        time = input_shape[1]
        if time is not None and backbone.keep_boundaries:
            time += 2
        number = backbone.num_outputs
        return self.mixes.compute_output_shape(
            (input_shape[0], number, time, backbone.output_dim)
        )

    @property
    def mix_weights(self):
        """The weights after the softmax: NumPy float32, (num_layers + 1,), sum 1.

        A list of them where there are several mixes; None for `layers="all"`.
        """
        self._build_mixes()
        return self.mixes.mix_weights

    @property
    def gamma(self):
        """The scale of the sum, a float, or a list of them; None for "all"."""
        self._build_mixes()
        return self.mixes.gamma

    def _build_mixes(self):
        # Their sizes are the biLM's: nothing has to be called first.
        if not self.mixes.built:
            self.build(None)

    @property
    def trainable_backbone(self):
        """Whether the biLM is trained along."""
        return self._trainable_backbone

    @trainable_backbone.setter
    def trainable_backbone(self, value):
        self._trainable_backbone = bool(value)
        self._apply_freeze()

    @property
    def trainable(self):
        """Whether the layer learns; what is held still by an argument stays so."""
        return keras.layers.Layer.trainable.fget(self)

    @trainable.setter
    def trainable(self, value):
        keras.layers.Layer.trainable.fset(self, value)
        # Keras hands the value down to every sublayer, the biLM with them.
        if getattr(self, "backbone", None) is not None:
            self._apply_freeze()

    def _apply_freeze(self):
        self.backbone.trainable = self.trainable and self._trainable_backbone

    def get_config(self):
        config = super().get_config()
        mixes = self.mixes.get_config()
        names = ("num_mixes", "layers", "layer_norm", "dropout", "mix_regularizer")
        config.update({name: mixes[name] for name in (*names, "trainable_mix")})
        backbone = keras.saving.serialize_keras_object(self.backbone)
        # Two layers of one biLM: Keras sets this too late for the first of them, and
        # the second would get a biLM of its own that no file has weights for.
        backbone["shared_object_id"] = id(self.backbone)
        config.update(
            backbone=backbone,
            initial_mix_weights=self.initial_mix_weights,
            trainable_backbone=self.trainable_backbone,
            tokenizer=self.tokenizer,
        )
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The layer of a `get_config`, with new weights."""
        config = dict(config)
        config["backbone"] = keras.saving.deserialize_keras_object(
            config["backbone"], custom_objects=custom_objects
        )
        return cls(**config)

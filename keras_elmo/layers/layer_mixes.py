"""What a task takes from a biLM's layers: one or several learned sums of them."""

from numbers import Integral, Real

import keras
from keras import ops

from keras_elmo import checks
from keras_elmo.layer_choice import check_layers
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.randomness import seeded_dropout


@keras.saving.register_keras_serializable(package="keras_elmo")
class LayerMixes(keras.layers.Layer):
    """Sums of a biLM's layers, each with weights and a dropout of its own.

    The part of `ElmoEmbedding` that a task learns. Alone it takes layers that were
    computed before, as `keras_elmo.embed(..., layers="all")` gives them.

    Args:
        num_mixes: int, how many sums.
        layers: "mix" (learned weights), "mean" (equal weights), "top", a layer's index
            (negative ones count from the top), each times a learned gamma; or "all":
            the layers as they are, nothing learned.
        layer_norm: bool, see `ScalarMix`: a sentence's vectors then depend on its
            batch.
        dropout: float in [0, 1), on each sum while training.
        mix_regularizer: keras regularizer of the weights before the softmax, or a
            float, the factor of the sum of their squares (bilm-tf's `l2_coef`).
        initial_mix_weights: floats of at least 0 that sum to 1, the weights after the
            softmax to start from, or None for equal ones. For "mix" only.
        initial_gamma: float, the scale to start from.
        trainable_mix: bool. False keeps weights and gamma as they are.
        mask_zero: bool. Positions where every layer is 0 are padding. For layers that
            were computed before, which bring no mask.

    Call arguments:
        inputs: float, (batch, num_layers + 1, time, dim).
        mask: bool, (batch, time), True on real tokens, or None.

    Returns:
        float in the compute dtype, (batch, time, dim) with the mask, a list of them
        where `num_mixes` is above 1; exactly 0 where padded. For "all"
        (batch, num_layers + 1, time, dim), without a mask, since Keras looks for time
        on axis 1.

    Raises:
        ValueError: when arguments contradict each other, or `inputs` has other layers
            than they name.

    Reference: Peters et al. 2018, equation 1; bilm-tf `bilm/elmo.py`,
    `weight_layers`; AllenNLP `Elmo`.

    Example:
    ```python
    mixes = keras_elmo.LayerMixes(num_mixes=2, dropout=0.5)
    at_input, at_output = mixes(keras.ops.ones((2, 3, 5, 8)))  # each (2, 5, 8)
    ```
    """

    def __init__(
        self,
        num_mixes=1,
        layers="mix",
        layer_norm=False,
        dropout=0.0,
        mix_regularizer=None,
        initial_mix_weights=None,
        initial_gamma=1.0,
        trainable_mix=True,
        mask_zero=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_mixes = checks.positive_int("num_mixes", num_mixes)
        self.layers = check_layers(layers)
        self.layer_norm = bool(layer_norm)
        self.dropout = checks.fraction("dropout", dropout)
        if isinstance(mix_regularizer, Real):
            mix_regularizer = keras.regularizers.L2(float(mix_regularizer))
        self.mix_regularizer = keras.regularizers.get(mix_regularizer)
        self.initial_mix_weights = (
            None
            if initial_mix_weights is None
            else checks.mix_weights("initial_mix_weights", initial_mix_weights)
        )
        self.initial_gamma = float(initial_gamma)
        self.trainable_mix = bool(trainable_mix)
        self.mask_zero = bool(mask_zero)
        if self.layers == "all" and (self.num_mixes > 1 or self.layer_norm):
            raise ValueError(
                "`layers='all'` hands out the layers themselves: `num_mixes` must be 1 "
                f"and `layer_norm` False. Received: num_mixes={num_mixes}, "
                f"layer_norm={layer_norm}."
            )
        if self.layers != "mix" and self.initial_mix_weights is not None:
            raise ValueError(
                "`initial_mix_weights` are those of `layers='mix'`. Received: "
                f"layers={layers!r}."
            )
        number = 0 if self.layers == "all" else self.num_mixes
        self.mixes = [
            ScalarMix(
                layer_norm=self.layer_norm,
                initial_weights=self.initial_mix_weights,
                initial_gamma=self.initial_gamma,
                learn_weights=self.layers == "mix",
                regularizer=self.mix_regularizer if self.layers == "mix" else None,
                trainable=self.trainable_mix,
                dtype=self.dtype_policy,
                name=f"mix_{i}",
            )
            for i in range(number)
        ]
        self.dropouts = [
            seeded_dropout(self.dropout, dtype=self.dtype_policy, name=f"dropout_{i}")
            for i in range(number or 1)
        ]

    def build(self, input_shape):
        if len(input_shape) != 4:
            rule = "of shape (batch, num_layers + 1, time, dim)"
            raise ValueError(checks.received("inputs", input_shape, rule))
        number = input_shape[1]
        check_layers(self.layers, number)
        self._number = number
        self.layers_shape = (number, None, input_shape[3])
        shape = (input_shape[0], self._rows(number), *input_shape[2:])
        for mix in self.mixes:
            mix.build(shape)

    def _rows(self, number):
        """How many of the layers a sum is taken over."""
        return 1 if self._picked(number) is not None else number

    def _picked(self, number):
        """The one layer that is asked for, from 0 up, or None."""
        if self.layers == "top":
            return number - 1
        return self.layers % number if isinstance(self.layers, Integral) else None

    def call(self, inputs, mask=None, training=None):
        if mask is None:
            mask = self._zero_mask(inputs)
        if self.layers == "all":
            outputs = ops.cast(inputs, self.compute_dtype)
            if mask is not None:
                real = mask[:, None, :, None]
                outputs = ops.where(real, outputs, ops.zeros_like(outputs))
            return self.dropouts[0](outputs, training=training)
        picked = self._picked(inputs.shape[1])
        if picked is not None:
            inputs = inputs[:, picked : picked + 1]
        outputs = [
            dropout(mix(inputs, mask=mask), training=training)
            for mix, dropout in zip(self.mixes, self.dropouts, strict=True)
        ]
        return outputs if self.num_mixes > 1 else outputs[0]

    def _zero_mask(self, inputs):
        return (
            ops.any(ops.not_equal(inputs, 0), axis=(1, 3)) if self.mask_zero else None
        )

    @property
    def mix_weights(self):
        """The weights after the softmax: NumPy float32, (num_layers + 1,), sum 1.

        A list of them where there are several mixes; None for `layers="all"`, which
        has none.
        """
        if not self.mixes:
            return None
        self._need_build()
        picked = self._picked(self._number)
        if picked is None:
            weights = [mix.mix_weights for mix in self.mixes]
        else:
            row = ops.one_hot(picked, self._number, dtype="float32")
            weights = [ops.convert_to_numpy(row) for _ in self.mixes]
        return weights if self.num_mixes > 1 else weights[0]

    @property
    def gamma(self):
        """The scale of the sum, a float, or a list of them; None for "all"."""
        if not self.mixes:
            return None
        self._need_build()
        values = [mix.gamma for mix in self.mixes]
        return values if self.num_mixes > 1 else values[0]

    def _need_build(self):
        if not self.built:
            raise ValueError(
                f"The weights of {self.name!r} are made when it is first called or "
                "built: it does not know the number of layers before."
            )

    @property
    def trainable(self):
        """Whether the layer learns; what `trainable_mix` holds still stays so."""
        return keras.layers.Layer.trainable.fget(self)

    @trainable.setter
    def trainable(self, value):
        keras.layers.Layer.trainable.fset(self, value)
        # Keras hands the value down to every sublayer.
        for mix in getattr(self, "mixes", []):
            mix.trainable = bool(value) and self.trainable_mix

    def compute_mask(self, inputs, mask=None):
        if self.layers == "all":
            return None
        if mask is None:
            mask = self._zero_mask(inputs)
        return [mask] * self.num_mixes if self.num_mixes > 1 else mask

    def compute_output_shape(self, input_shape):
        if self.layers == "all":
            return tuple(input_shape)
        shape = (input_shape[0], *input_shape[2:])
        return [shape] * self.num_mixes if self.num_mixes > 1 else shape

    def get_config(self):
        config = super().get_config()
        config.update(
            num_mixes=self.num_mixes,
            layers=self.layers,
            layer_norm=self.layer_norm,
            dropout=self.dropout,
            mix_regularizer=keras.regularizers.serialize(self.mix_regularizer),
            initial_mix_weights=self.initial_mix_weights,
            initial_gamma=self.initial_gamma,
            trainable_mix=self.trainable_mix,
            mask_zero=self.mask_zero,
        )
        return config

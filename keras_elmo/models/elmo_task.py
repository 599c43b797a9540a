"""What the task models share: an embedding in front, classes, text in, loss."""

from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_elmo import checks
from keras_elmo.layers import ElmoEmbedding, LayerMixes
from keras_elmo.models.elmo_backbone import VOCABULARY_FILE
from keras_elmo.text.elmo_preprocessor import ElmoPreprocessor
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.text.vocabulary import Vocabulary, check_vocabulary

# A target that does not count: padding.
IGNORED = -1


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoTask(keras.Model):
    """A functional model behind an embedding of words: what task models derive from.

    A task model makes its layers and its graph in `__init__` and says in `nll` what
    it is trained by. Everything else is here.

    Args:
        inputs: the graph's inputs.
        outputs: the graph's outputs.
        embedding: what `as_embedding` gave.
        arguments: dict, what the task's own `__init__` takes beside `embedding`.
        vocabulary: `Vocabulary` of a `keras.layers.Embedding`, or None.
        **kwargs: of `keras.Model`.
    """

    def __init__(self, inputs, outputs, embedding, arguments, vocabulary, **kwargs):
        if vocabulary is not None:
            check_vocabulary(vocabulary)
        trainable, dtype = kwargs.pop("trainable", True), kwargs.pop("dtype", None)
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        if dtype is not None:  # a functional model passes over the argument
            self.dtype_policy = dtype
        if not trainable:  # True would thaw what is frozen inside
            self.trainable = False
        self.embedding = embedding
        self._arguments = arguments
        self._vocabulary = vocabulary

    def nll(self, y, y_pred):
        """Negative log-likelihoods of targets and which of them count.

        Args:
            y: int32 targets, `IGNORED` where there is none.
            y_pred: the model's outputs.

        Returns:
            two float32 tensors of one shape.
        """
        raise NotImplementedError

    def fit(self, x=None, y=None, *arguments, **options):
        """`keras.Model.fit`, which would train on numbers that no class has."""
        return super().fit(x, self._checked(y), *arguments, **options)

    def evaluate(self, x=None, y=None, *arguments, **options):
        """`keras.Model.evaluate`, for numbers that a class has."""
        return super().evaluate(x, self._checked(y), *arguments, **options)

    def _checked(self, y):
        """`y`, where it is an array of the numbers of classes."""
        classes = getattr(self, "classes", None)
        if classes is None or not isinstance(y, list | tuple | np.ndarray):
            return y
        numbers = np.asarray(y)
        rule = (
            f"numbers of classes, 0 to {len(classes) - 1}, or {IGNORED} where there is "
            "no target"
        )
        if numbers.dtype.kind not in "biuf":
            raise ValueError(checks.received("y", numbers.dtype, rule))
        is_wrong = (numbers < IGNORED) | (numbers >= len(classes))
        if is_wrong.any():
            raise ValueError(checks.received("y", numbers[is_wrong][0].item(), rule))
        return y

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if y is None:
            raise ValueError("`fit` and `evaluate` must be given targets `y`.")
        values, weight = self.nll(y, y_pred)
        if sample_weight is not None:
            weight = weight * ops.cast(sample_weight, "float32")
        loss = ops.sum(values * weight) / ops.maximum(ops.sum(weight), 1e-6)
        for extra in self.losses:
            loss = loss + ops.cast(extra, "float32")
        return loss

    @property
    def preprocessor(self):
        """The `ElmoPreprocessor` that makes this model's ids from text."""
        if isinstance(self.embedding, ElmoEmbedding):
            backbone, splitter = self.embedding.backbone, self.embedding.tokenizer
            return ElmoPreprocessor.of(backbone, splitter)
        splitter = self._arguments.get("tokenizer", "whitespace")
        tokenizer = ElmoTokenizer(splitter, "words", vocabulary=self._vocabulary)
        return ElmoPreprocessor(tokenizer)

    def get_config(self):
        return {
            **self._arguments,
            "embedding": keras.saving.serialize_keras_object(self.embedding),
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "name": self.name,
            "trainable": self.trainable,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The model of a `get_config`, with new weights."""
        config = dict(config)
        for name in ("embedding", "dtype"):
            if isinstance(config.get(name), dict):
                config[name] = keras.saving.deserialize_keras_object(
                    config[name], custom_objects=custom_objects
                )
        return cls(**config)

    # The words of a `keras.layers.Embedding` travel inside a .keras file.
    def save_assets(self, dir_path):
        if self._vocabulary is not None:
            self._vocabulary.write(Path(dir_path) / VOCABULARY_FILE)

    def load_assets(self, dir_path):
        path = Path(dir_path) / VOCABULARY_FILE
        if path.exists():
            self._vocabulary = Vocabulary.read(path)


def as_embedding(embedding, dtype=None):
    """The layer that a task's `embedding` stands for.

    Args:
        embedding: `ElmoEmbedding`; an `ElmoBackbone` or a preset, for one with its
            defaults; `keras.layers.Embedding` with `mask_zero`, for vectors that know
            no context; or a built `LayerMixes`, for layers that were computed before.
        dtype: dtype policy of an `ElmoEmbedding` made here.

    Raises:
        TypeError: when it is none of these.
        ValueError: when a `keras.layers.Embedding` does not mask 0.
    """
    if isinstance(embedding, keras.layers.Embedding):
        if not embedding.mask_zero:
            raise ValueError(
                "`embedding` must mask padding: keras.layers.Embedding(..., "
                "mask_zero=True), a row for each word + 1."
            )
        return embedding
    if not isinstance(embedding, ElmoEmbedding | LayerMixes):
        embedding = ElmoEmbedding(embedding, dtype=dtype)
    if isinstance(embedding, LayerMixes):
        mixes = embedding
    else:
        mixes = embedding.mixes
        if embedding.backbone.keep_boundaries:
            raise ValueError(
                "`embedding` must give a vector a token: its biLM keeps the sentence "
                "markers (keep_boundaries=True)."
            )
    if mixes.layers == "all" or mixes.num_mixes > 2:
        raise ValueError(
            "`embedding` must give one mix of layers (the input of the task's RNN) or "
            f"two (its output as well). Received: layers={mixes.layers!r}, "
            f"num_mixes={mixes.num_mixes}."
        )
    return embedding


def check_classes(classes):
    """`classes` as a list of distinct str, at least two."""
    rule = "a list of at least two distinct strings"
    if isinstance(classes, str) or not all(isinstance(name, str) for name in classes):
        raise TypeError(checks.received("classes", classes, rule))
    classes = list(classes)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError(checks.received("classes", classes, rule))
    return classes


def cross_entropy(y, logits):
    """Negative log-likelihood of classes, and 1 where there is one.

    Args:
        y: int, any shape; `IGNORED` where there is no target.
        logits: float, the shape of `y` and an axis of classes.
    """
    y = ops.cast(y, "int32")
    counts = ops.not_equal(y, IGNORED)
    logits = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    picked = ops.one_hot(ops.where(counts, y, 0), logits.shape[-1], dtype="float32")
    # Not times 0 but picked by a test: a forbidden class may have -inf.
    picked = ops.where(picked > 0, logits, 0.0)
    return -ops.sum(picked, axis=-1), ops.cast(counts, "float32")


def input_of(embedding, name):
    """A `keras.Input` of what an embedding reads, and the vectors it gives.

    Args:
        embedding: what `as_embedding` gave.
        name: str, of the input.

    Returns:
        the input, and a list of (batch, time, dim): the vectors at the input of the
        task's RNN, then those at its output where there are two mixes.
    """
    if isinstance(embedding, LayerMixes):
        ids = keras.Input(embedding.layers_shape, name=name)
    else:
        is_elmo = isinstance(embedding, ElmoEmbedding)
        width = embedding.backbone.ids_width if is_elmo else None
        shape = (None,) if width is None else (None, width)
        ids = keras.Input(shape, dtype="int32", name=name)
    vectors = embedding(ids)
    return ids, vectors if isinstance(vectors, list) else [vectors]

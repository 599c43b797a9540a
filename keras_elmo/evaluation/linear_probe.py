"""Linear probes: a softmax regression on vectors that are held still."""

from dataclasses import dataclass

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.evaluation.token_layers import MEAN, choose_layer
from keras_elmo.layers.scalar_mix import ScalarMix

BATCH_SIZE = 512
STEPS = 1000
LEARNING_RATE = 0.01
# As a share of the root mean square of all numbers: what deviates less is rounding, and
# must not be blown up to a deviation of 1.
SMALLEST_DEVIATION = 0.01
CHUNK = 8192
# Added to the score of a class that an example may not have.
NEVER = -1e9

MIX = "mix"


class ProbeExamples:
    """What a probe learns from or is scored on.

    Args:
        vectors: float, (examples, layers, dim).
        targets: int, (examples,), classes from 0; -1 for one that training never saw.
        groups: int, (examples,), from 0, or None for one group. Examples of a group
            choose among the classes that the group has in training, as the uses of a
            word do among its senses.
    """

    def __init__(
        self,
        vectors: np.ndarray,
        targets: np.ndarray,
        groups: np.ndarray | None = None,
    ):
        self.vectors = vectors
        self.targets = targets
        self.groups = np.zeros(len(targets), int) if groups is None else groups

    def __len__(self):
        return len(self.targets)


@dataclass
class ProbeResult:
    """A trained probe's answers.

    Attributes:
        accuracy: float, on the test examples.
        predicted: int, (examples,), their classes.
        mix_weights: floats, of a probe that learned a mix of layers, else None.
    """

    accuracy: float
    predicted: np.ndarray
    mix_weights: list[float] | None = None


def linear_probe(
    train: ProbeExamples,
    test: ProbeExamples,
    layer: int | str,
    seed: int = 0,
    steps: int = STEPS,
    batch_size: int = BATCH_SIZE,
) -> ProbeResult:
    """Trains a softmax regression on a layer, or on a sum of layers, and scores it.

    Minimises the mean cross-entropy + |W|^2 / (2 n), as scikit-learn's
    `LogisticRegression` does with `C=1`, over standardised vectors, by Adam with a
    learning rate that falls to 0. Groups are as many regressions of their own, trained
    side by side.

    Args:
        train: `ProbeExamples`.
        test: `ProbeExamples` of the same layers, classes and groups.
        layer: a layer's index; "mean" of all; or "mix", ELMo's sum, whose weights are
            learned along.
        seed: int, of the first weights and of the order of the examples.
        steps: int, batches.
        batch_size: int, examples a batch.

    Returns:
        `ProbeResult`.

    Raises:
        ValueError: when `train` has no examples, or an argument is none of these.

    Example:
    ```python
    result = linear_probe(train, test, "mix")
    print(result.accuracy, result.mix_weights)
    ```
    """
    if not len(train):
        raise ValueError("`train` must hold examples. Received: none.")
    features = _Features(train, layer)
    allowed = _allowed_classes(train)
    model, dense, mix = _build(features.shape, allowed.shape[1], len(train), seed)
    model.compile(
        keras.optimizers.Adam(
            keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps)
        ),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    batches = _Batches(features, train, allowed, seed, steps, batch_size)
    model.fit(batches, epochs=1, shuffle=False, verbose=0)
    # In NumPy: a compiler would have to see one more shape.
    kernel, bias = dense.get_weights()
    predicted = np.empty(len(test), int)
    for start in range(0, len(test), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(test)))
        vectors = features(test, rows)
        if mix is None:
            vectors = vectors[:, 0]
        else:
            vectors = mix.gamma * np.einsum("l,nld->nd", mix.mix_weights, vectors)
        scores = vectors @ kernel + bias + allowed[test.groups[rows]]
        predicted[rows] = scores.argmax(axis=-1)
    return ProbeResult(
        float(np.mean(predicted == test.targets)) if len(test) else 0.0,
        predicted,
        None if mix is None else mix.mix_weights.tolist(),
    )


class _Features:
    """The standardised vectors of one layer, of the mean, or of each layer of a mix.

    Nothing here takes from what a linear probe can tell or adds to it: the means are
    what a bias could hold, the deviations are scales of `W`.
    """

    def __init__(self, train, layer):
        number, dim = train.vectors.shape[1:]
        if layer not in (MEAN, MIX, *range(number)):
            rule = f'"{MEAN}", "{MIX}" or the index of one of {number} layers'
            raise ValueError(checks.received("layer", layer, rule))
        self._layer = layer
        self.shape = (number if layer == MIX else 1, dim)
        # A group's vectors have a mean of their own: most of a word's vector says
        # which word it is.
        self._centers = np.zeros((int(train.groups.max()) + 1, *self.shape), "float32")
        for group in np.unique(train.groups):
            mean = train.vectors[train.groups == group].mean(axis=0, dtype="float32")
            self._centers[group] = self._choose(mean[None])[0]
        # Of the mean for a mix: one scale for all layers, whose weights are learned.
        squares, power = np.zeros(dim), 0.0
        self._deviations = np.ones(dim, "float32")
        for start in range(0, len(train), CHUNK):
            rows = np.arange(start, min(start + CHUNK, len(train)))
            squares += (self(train, rows).mean(axis=1) ** 2).sum(axis=0)
            raw = self._choose(train.vectors[rows]).mean(axis=1)
            power += float((raw**2).mean(axis=1).sum())
        floor = max(SMALLEST_DEVIATION**2 * power / len(train), 1e-12)
        self._deviations = np.sqrt(squares / len(train) + floor).astype("float32")

    def __call__(self, examples, rows):
        """float32, (rows, layers of the mix or 1, dim)."""
        vectors = self._choose(examples.vectors[rows])
        return (vectors - self._centers[examples.groups[rows]]) / self._deviations

    def _choose(self, vectors):
        if self._layer == MIX:
            return vectors.astype("float32")
        return choose_layer(vectors, self._layer)[:, None]


class _Batches(keras.utils.PyDataset):
    """Batches of one size, a new order of the examples whenever they are through."""

    def __init__(self, features, train, allowed, seed, steps, batch_size):
        super().__init__()
        self._features, self._train, self._allowed = features, train, allowed
        self._known = np.flatnonzero(train.targets >= 0)
        self._steps, self._size = steps, min(batch_size, len(self._known))
        self._seed = seed

    def __len__(self):
        return self._steps

    def __getitem__(self, index):
        number = len(self._known)
        places = np.arange(index * self._size, (index + 1) * self._size)
        turns = range(places[0] // number, places[-1] // number + 1)
        orders = [
            np.random.default_rng([self._seed, turn]).permutation(number)
            for turn in turns
        ]
        order = np.concatenate(orders)[places - turns[0] * number]
        rows = self._known[order]
        vectors = self._features(self._train, rows)
        allowed = self._allowed[self._train.groups[rows]]
        return (vectors, allowed), self._train.targets[rows].astype("int32")


def _allowed_classes(train):
    """float32, (groups, classes): 0 for a group's own classes, `NEVER` for others."""
    known = train.targets >= 0
    if not known.any():
        raise ValueError("`train` must hold examples of known classes.")
    shape = int(train.groups.max()) + 1, int(train.targets.max()) + 1
    allowed = np.full(shape, NEVER, "float32")
    allowed[train.groups[known], train.targets[known]] = 0.0
    return allowed


def _build(shape, classes, examples, seed):
    """The model, its `Dense` layer, and its `ScalarMix` or None."""
    layers, dim = shape
    vectors = keras.Input(shape)
    allowed = keras.Input((classes,))
    mix, x = None, vectors
    if layers > 1:
        mix = ScalarMix()
        # The mix expects an axis of time.
        x = mix(keras.layers.Reshape((layers, 1, dim))(x))
    x = keras.layers.Reshape((dim,))(x)
    dense = keras.layers.Dense(
        classes,
        kernel_initializer=keras.initializers.GlorotUniform(seed),
        kernel_regularizer=keras.regularizers.L2(0.5 / examples),
    )
    scores = keras.layers.Add()([dense(x), allowed])
    return keras.Model([vectors, allowed], scores), dense, mix

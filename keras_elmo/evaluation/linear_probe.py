"""Linear probes: a softmax regression on vectors that are held still."""

import functools
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
        loss: float, the mean cross-entropy, in nats, of those of a class training saw.
        predicted: int, (examples,), their classes.
        mix_weights: floats, of a probe that learned a mix of layers, else None.
    """

    accuracy: float
    loss: float
    predicted: np.ndarray
    mix_weights: list[float] | None = None


class LinearProbe:
    """A softmax regression on a layer, or on a sum of layers.

    Minimises the mean cross-entropy + |W|^2 / (2 n), as scikit-learn's
    `LogisticRegression` does with `C=1`, over standardised vectors, by Adam with a
    learning rate that falls to 0. Groups are as many regressions of their own, trained
    side by side.

    Args:
        train: `ProbeExamples` to learn from.
        layer: a layer's index; "mean" of all; or "mix", ELMo's sum, whose weights are
            learned along.
        steps: int, batches.
        batch_size: int, examples a batch.

    Raises:
        ValueError: when `train` has no examples, or an argument is none of these.

    Example:
    ```python
    probe = LinearProbe(train, "mix")
    for seed in range(3):
        result = probe.run(test, seed)
        print(result.accuracy, result.mix_weights)
    ```
    """

    def __init__(
        self,
        train: ProbeExamples,
        layer: int | str,
        steps: int = STEPS,
        batch_size: int = BATCH_SIZE,
    ):
        if not len(train):
            raise ValueError("`train` must hold examples. Received: none.")
        self._train, self._steps = train, checks.positive_int("steps", steps)
        self._batch_size = checks.positive_int("batch_size", batch_size)
        self._features = _Features(train, layer)
        self._allowed = _allowed_classes(train)
        classes = self._allowed.shape[1]
        shape = self._features.shape
        self._model, self._dense, self._mix = _build(shape, classes, len(train))
        self._model.compile(
            keras.optimizers.Adam(
                keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps)
            ),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        self._model.optimizer.build(self._model.trainable_variables)

    def run(self, test: ProbeExamples, seed: int = 0) -> ProbeResult:
        """Trains from the start, and scores.

        Args:
            test: `ProbeExamples` of the layers, classes and groups of training.
            seed: int, of the first weights and of the order of the examples.
        """
        self._start(seed)
        batches = _Batches(
            self._features,
            self._train,
            self._allowed,
            seed,
            self._steps,
            self._batch_size,
        )
        self._model.fit(batches, epochs=1, shuffle=False, verbose=0)
        return self.score(test)

    def score(self, test: ProbeExamples) -> ProbeResult:
        """Scores what the last `run` has learned on other examples."""
        predicted, losses = self._predict(test)
        return ProbeResult(
            float(np.mean(predicted == test.targets)) if len(test) else 0.0,
            float(np.mean(losses)) if len(losses) else 0.0,
            predicted,
            None if self._mix is None else self._mix.mix_weights.tolist(),
        )

    def _start(self, seed):
        """Weights and optimizer as new: a new model would be compiled once more."""
        kernel, bias = self._dense.get_weights()
        bound = (6.0 / sum(kernel.shape)) ** 0.5
        drawn = np.random.default_rng(seed).uniform(-bound, bound, kernel.shape)
        self._dense.set_weights([drawn.astype("float32"), np.zeros_like(bias)])
        if self._mix is not None:
            # All equal, and gamma 1.
            scalars, gamma = self._mix.get_weights()
            self._mix.set_weights([np.zeros_like(scalars), np.ones_like(gamma)])
        for variable in self._model.optimizer.variables:
            variable.assign(np.zeros(variable.shape, variable.dtype))

    def _predict(self, test):
        """The class of each example, and the losses of those whose class is known.

        In NumPy: a compiler would see one more shape.
        """
        kernel, bias = self._dense.get_weights()
        weights = np.ones(1, "float32")
        if self._mix is not None:
            weights = self._mix.gamma * self._mix.mix_weights
        predicted, losses = np.empty(len(test), int), []
        for start in range(0, len(test), CHUNK):
            rows = np.arange(start, min(start + CHUNK, len(test)))
            vectors = np.einsum("l,nld->nd", weights, self._features(test, rows))
            scores = vectors @ kernel + bias + self._allowed[test.groups[rows]]
            predicted[rows] = scores.argmax(axis=-1)
            targets = test.targets[rows]
            scores, targets = scores[targets >= 0], targets[targets >= 0]
            scores = scores - scores.max(axis=-1, keepdims=True)
            right = np.take_along_axis(scores, targets[:, None], axis=-1)[:, 0]
            losses.append(np.log(np.exp(scores).sum(axis=-1)) - right)
        return predicted, np.concatenate(losses) if losses else np.zeros(0)


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
        self._order = functools.lru_cache(2)(self._new_order)

    def __len__(self):
        return self._steps

    def __getitem__(self, index):
        number = len(self._known)
        places = np.arange(index * self._size, (index + 1) * self._size)
        turns = range(places[0] // number, places[-1] // number + 1)
        order = np.concatenate([self._order(turn) for turn in turns])
        rows = order[places - turns[0] * number]
        vectors = self._features(self._train, rows)
        allowed = self._allowed[self._train.groups[rows]]
        return (vectors, allowed), self._train.targets[rows].astype("int32")

    def _new_order(self, turn):
        """The examples in the order of a turn."""
        return np.random.default_rng([self._seed, turn]).permutation(self._known)


def _allowed_classes(train):
    """float32, (groups, classes): 0 for a group's own classes, `NEVER` for others."""
    known = train.targets >= 0
    if not known.any():
        raise ValueError("`train` must hold examples of known classes.")
    shape = int(train.groups.max()) + 1, int(train.targets.max()) + 1
    allowed = np.full(shape, NEVER, "float32")
    allowed[train.groups[known], train.targets[known]] = 0.0
    return allowed


def _build(shape, classes, examples):
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
    penalty = keras.regularizers.L2(0.5 / examples)
    dense = keras.layers.Dense(classes, kernel_regularizer=penalty)
    scores = keras.layers.Add()([dense(x), allowed])
    return keras.Model([vectors, allowed], scores), dense, mix

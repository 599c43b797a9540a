"""Batches of a task's examples, of few shapes, in an order that a seed decides."""

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.models.elmo_task import IGNORED
from keras_elmo.shapes import power_of_two, round_up

# Texts are padded to these lengths and their halves steps: 8, 16, 24, 32, 48, 64, ...
SHORTEST = 8


class TaskBatches(keras.utils.PyDataset):
    """Examples in batches of one size, those of similar length together.

    Args:
        inputs: dict of a model's inputs by name: what `encode` gives for texts, int
            arrays (examples,) for anything else.
        targets: int array (examples,), a list of int arrays, one a token, or a dict
            of arrays; None where there are none.
        batch_size: int. The last rows of a batch are padding where examples run out.
        seed: int, of the order, a new one each epoch; None for the order by length.

    Yields `x`, or (x, y): `y` is -1 where padded.

    Raises:
        ValueError: when inputs and targets are not of as many examples.
    """

    def __init__(self, inputs, targets=None, batch_size=32, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = checks.positive_int("batch_size", batch_size)
        self.inputs = inputs
        self.targets = targets
        self.seed = seed
        self._epoch = 0
        self._check_numbers()
        times = {
            name: np.array([bucket(n) for n in encoded.lengths], int)
            for name, encoded in inputs.items()
            if not isinstance(encoded, np.ndarray)
        }
        if "first" in times:
            # Texts that are compared have one length: fewer shapes to compile for.
            longest = np.maximum(times["first"], times["second"])
            times = {"first": longest, "second": longest}
        self._times = times
        keys = np.stack(list(times.values()), axis=1)
        distinct, group = np.unique(keys, axis=0, return_inverse=True)
        self._groups = [
            np.flatnonzero(group.reshape(-1) == g) for g in range(len(distinct))
        ]
        self.plan = self._make_plan()

    def _check_numbers(self):
        """Refuses inputs and targets that are not of one number of examples."""
        numbers = {
            name: len(encoded if isinstance(encoded, np.ndarray) else encoded.lengths)
            for name, encoded in self.inputs.items()
        }
        if isinstance(self.targets, dict):
            numbers.update(
                {f"target {name}": len(y) for name, y in self.targets.items()}
            )
        elif self.targets is not None:
            numbers["targets"] = len(self.targets)
        if len(set(numbers.values())) > 1:
            told = ", ".join(f"{name}: {number}" for name, number in numbers.items())
            raise ValueError(
                "`inputs` and `targets` must be of as many examples each. Received: "
                f"{told}."
            )

    def _make_plan(self):
        """Rows of each batch of an epoch."""
        generator = None
        if self.seed is not None:
            generator = np.random.default_rng([self.seed, self._epoch])
        plan = []
        for rows in self._groups:
            if generator is not None:
                rows = generator.permutation(rows)
            starts = range(0, len(rows), self.batch_size)
            plan += [rows[start : start + self.batch_size] for start in starts]
        if generator is not None:
            plan = [plan[i] for i in generator.permutation(len(plan))]
        return plan

    def on_epoch_end(self):
        """Goes on to the next order. Keras calls this when `fit` begins, too."""
        self._epoch += 1
        self.plan = self._make_plan()

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, index):
        rows, size = self.plan[index], self.batch_size
        x = {}
        for name, encoded in self.inputs.items():
            if isinstance(encoded, np.ndarray):
                x[name] = np.zeros(size, "int32")
                x[name][: len(rows)] = encoded[rows]
            else:
                x[name] = encoded.batch(rows, size, self._times[name][rows[0]])
        if len(x) == 1:
            (x,) = x.values()
        if self.targets is None:
            return x
        if isinstance(self.targets, dict):
            return x, {name: self._targets(t, rows) for name, t in self.targets.items()}
        return x, self._targets(self.targets, rows)

    def _targets(self, targets, rows):
        if isinstance(targets, np.ndarray):
            y = np.full(self.batch_size, IGNORED, "int32")
            y[: len(rows)] = targets[rows]
            return y
        (times,) = self._times.values()
        y = np.full((self.batch_size, times[rows[0]]), IGNORED, "int32")
        for target, row in zip(y, rows, strict=False):
            target[: len(targets[row])] = targets[row]
        return y


def bucket(length):
    """The length that a text of `length` tokens is padded to."""
    length = max(int(length), 1)
    return round_up(length, max(SHORTEST, power_of_two(length) // 4))

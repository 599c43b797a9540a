"""What training goes on from beside the weights: options, steps done, Adagrad's slots.

A preset made from a training checkpoint keeps it in one file:

```
optimizer.h5   attributes "step" and "options" (JSON as bilm-tf's options.json), and a
               dataset for each weight's accumulator, by the weight's published name
```
"""

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import keras
import numpy as np

from keras_elmo.checkpoints import hdf5
from keras_elmo.checkpoints.bilm_fit import check_fit
from keras_elmo.checkpoints.bilm_names import (
    SOFTMAX_BIAS,
    SOFTMAX_KERNEL,
    WORD_TABLE,
    language_model_weights,
)
from keras_elmo.files import LARGEST_DESCRIPTION, atomic_path

STATE_FILE = "optimizer.h5"
# bilm-tf's, where its options do not say.
LEARNING_RATE = 0.2
INITIAL_ACCUMULATOR = 1.0
# Weights with a row a word.
_BY_WORD = (SOFTMAX_KERNEL, SOFTMAX_BIAS, WORD_TABLE)


@dataclass
class TrainingState:
    """The state of a training run of bilm-tf's kind.

    Attributes:
        options: dict, bilm-tf's `options.json`.
        step: int, steps done.
        accumulators: dict of float32 arrays, Adagrad's sums of squares, by the
            published names of the weights; empty where they are not known.
    """

    options: dict
    step: int = 0
    accumulators: dict[str, np.ndarray] = field(default_factory=dict)

    def number(self, key: str, default: float | None = None) -> float | None:
        """An option that is a number above 0.

        Raises:
            ValueError: when it is something else.
        """
        value = self.options.get(key, default)
        is_number = type(value) in (int, float) and 0 < value < math.inf
        if value is not None and not is_number:
            raise ValueError(f"`{key}` must be a number above 0. Received: {value!r}.")
        return value

    def check(self) -> None:
        """Refuses options of training that are not what they must be.

        Raises:
            ValueError: naming the option.
        """
        for key in ("learning_rate", "all_clip_norm_val", "unroll_steps"):
            self.number(key)

    def optimizer(self, model) -> keras.optimizers.Adagrad:
        """Adagrad as bilm-tf's, that goes on where the run stood.

        Args:
            model: the `ElmoBiLM` that it will train.
        """
        optimizer = keras.optimizers.Adagrad(
            self.number("learning_rate", LEARNING_RATE),
            initial_accumulator_value=INITIAL_ACCUMULATOR,
            epsilon=0.0,
            global_clipnorm=self.number("all_clip_norm_val"),
        )
        self.restore(model, optimizer)
        return optimizer

    def restore(self, model, optimizer, vocabulary=None) -> None:
        """Gives an Adagrad optimizer the accumulators and the number of steps.

        Args:
            model: the `ElmoBiLM` that it trains.
            optimizer: `keras.optimizers.Adagrad`; it is built where it is not.
            vocabulary: `Vocabulary` that the state's rows stand for, where it is not
                the model's own: words are found by name, and the accumulators of
                others stay as they are.

        Raises:
            ValueError: when the optimizer is another one, or the accumulators are
                those of another model.
        """
        slots = _slots(model, optimizer)
        rows = _rows(vocabulary, model.backbone.vocabulary)
        arrays = {}
        for name, weight in _weights(model).items() if self.accumulators else ():
            array = self.accumulators.get(name)
            if array is not None and rows is not None and name in _BY_WORD:
                moved = weight.join(slots[name])
                moved[rows[0]] = array[rows[1]]
                array = moved
            if array is None or array.shape != weight.shape:
                found = "none" if array is None else array.shape
                raise ValueError(
                    f"The accumulator of `{name}` must have shape {weight.shape}. "
                    f"Received: {found}. It is of another model."
                )
            arrays[name] = array
        # All or nothing: nothing is assigned before everything was checked.
        for name, array in arrays.items():
            _weights(model)[name].split(slots[name], array)
        optimizer.iterations.assign(self.step)

    @classmethod
    def of(cls, model, optimizer, options: dict) -> "TrainingState":
        """The state that a model's Adagrad optimizer is in.

        Args:
            model: `ElmoBiLM`.
            optimizer: `keras.optimizers.Adagrad` that trains it.
            options: bilm-tf's options of the run.
        """
        slots = _slots(model, optimizer)
        accumulators = {
            name: weight.join(slots[name]) for name, weight in _weights(model).items()
        }
        step = int(keras.ops.convert_to_numpy(optimizer.iterations))
        return cls(options, step, accumulators)

    def write(self, path: str | os.PathLike, overwrite: bool = False) -> None:
        """Writes the file that a preset keeps.

        Raises:
            FileExistsError: when `path` exists and `overwrite` is False.
        """
        with atomic_path(path, overwrite=overwrite) as temporary:
            attributes = {"step": self.step, "options": json.dumps(self.options)}
            hdf5.write_float32(self.accumulators, temporary, attributes)

    @classmethod
    def read(cls, path: str | os.PathLike, model, vocabulary=None) -> "TrainingState":
        """Reads what `write` wrote of a model's training.

        Args:
            path: the file, or the preset's directory.
            model: the `ElmoBiLM` that was trained, or one of its sizes.
            vocabulary: `Vocabulary` that the state's rows stand for, where it is not
                the model's own.

        Raises:
            FileNotFoundError: when there is none.
            ValueError: when it does not hold what it should, or the state of another
                model, which is told before any of its numbers are read.
        """
        path = Path(path)
        path = path / STATE_FILE if path.is_dir() else path
        config, weights = _described(model, vocabulary)
        with hdf5.open_hdf5(path) as file:
            datasets = hdf5.find_datasets(file, path)
            step, options = _attributes(file, path)
            # None: a run's beginning, or not known.
            if datasets:
                shapes = {name: item.shape or () for name, item in datasets.items()}
                check_fit(config, weights, shapes, path, "the model that was trained")
            for name, dataset in datasets.items():
                hdf5.check_stored(dataset, name, path)
            accumulators = {
                name: hdf5.read_float32(dataset, name, path)
                for name, dataset in datasets.items()
            }
        return cls(options, step, accumulators)


def _described(model, vocabulary):
    """The sizes of the model that a state is of, and its weights by published name."""
    config, size = dict(model.backbone.get_config()), model.vocabulary_size
    if vocabulary is not None:
        size = len(vocabulary)
        if model.backbone.input_kind == "words":
            config["vocabulary_size"] = size
    return config, language_model_weights(config, size, model.tie_embeddings)


def _attributes(file, path):
    """The number of steps and the options, when they are small and right."""
    try:
        for key in ("step", "options"):
            stored = file.attrs.get_id(key)
            if stored.shape != () or stored.get_storage_size() > LARGEST_DESCRIPTION:
                raise ValueError(f"`{key}` is {stored.shape} of {stored.dtype}")
        step, options = int(file.attrs["step"]), json.loads(file.attrs["options"])
    except (KeyError, OSError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"`{path}` must have the attributes `step` and `options`: {error}"
        ) from None
    if not isinstance(options, dict) or step < 0:
        raise ValueError(f"`{path}` holds no state of a training run.")
    return step, options


def _weights(model):
    return language_model_weights(
        model.backbone.get_config(), model.vocabulary_size, model.tie_embeddings
    )


def _slots(model, optimizer):
    """{published name: the accumulators of the weight's variables}."""
    if not isinstance(optimizer, keras.optimizers.Adagrad):
        raise ValueError(
            "`optimizer` must be keras.optimizers.Adagrad, whose accumulators the "
            f"state has. Received: {type(optimizer).__name__}."
        )
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    accumulators = [v for v in optimizer.variables if "accumulator" in v.path]
    trained = model.trainable_variables
    of_variable = {
        id(variable): slot for variable, slot in zip(trained, accumulators, strict=True)
    }
    try:
        return {
            name: [of_variable[id(variable)] for variable in weight.variables(model)]
            for name, weight in _weights(model).items()
        }
    except KeyError:
        raise ValueError(
            "Every weight of the model must be trained: some are frozen, and have no "
            "accumulator."
        ) from None


def _rows(theirs, ours):
    """(our rows, their rows) of the words that both have; None for the same words."""
    if theirs is None or ours is None or theirs.tokens == ours.tokens:
        return None
    # A word that comes twice has the row of its last one.
    row = {token: number for number, token in enumerate(theirs.tokens)}
    pairs = [
        (number, row[token]) for number, token in enumerate(ours.tokens) if token in row
    ]
    found = np.array(pairs, "int64").reshape(-1, 2)
    return found[:, 0], found[:, 1]

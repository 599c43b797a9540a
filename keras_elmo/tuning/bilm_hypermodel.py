"""The biLM's hypermodel: sizes, filters, dropout, optimizer, rate, batch, unroll."""

import dataclasses
import math
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path

import keras
import keras_tuner

from keras_elmo import checks
from keras_elmo.data.corpus import Corpus
from keras_elmo.files import atomic_path
from keras_elmo.presets_head import save_language_model
from keras_elmo.training.build import count_steps, prepare_model
from keras_elmo.training.perplexity import perplexity
from keras_elmo.training.pretrain import pretrain
from keras_elmo.training.recipes import (
    BOOKKEEPING,
    RECIPES,
    Settings,
    settings_of,
    to_json,
)
from keras_elmo.training.run_directory import CHECKPOINTS, PRESET
from keras_elmo.tuning.hypermodel import SettingsHyperModel
from keras_elmo.tuning.ranges import Range, around

# Data and bookkeeping: equal in all trials, or their scores could not be compared.
NEVER = (*BOOKKEEPING, "seed", "dtype", "epochs", "input_kind")
# Parts of a whole training that Hyperband gives its rounds: 1, 3, 9.
BUDGET = 9
RUN = "run"
# What belongs to an optimizer beside its rate: a rate rises, falls, or stays.
_WAY = ("schedule", "warmup_steps", "scale_loss", "clip_norm")


class BiLMHyperModel(SettingsHyperModel):
    """A biLM whose settings are searched for the lowest held-out perplexity.

    The perplexity is that of `keras-elmo evaluate`: of each held-out sentence on its
    own, with the full softmax, whatever a trial was trained with.

    Args:
        corpus: `Corpus`, or the path of one that `prepare` made.
        held_out: `Corpus` with the same vocabulary, as `training.read_held_out` gives.
        recipe: name of one of `training.RECIPES`: the settings of the first trial.
        changes: {setting: value} on top of the recipe; these are not searched.
        ranges: {name: range} in place of the default ones, see `tuning.read_ranges`.
        only: names that are searched, or none for all that have a range.
        looks: int, how often a trial looks at the held-out text.
        patience: int, looks without a lower perplexity before a trial ends.

    Raises:
        ValueError: when a range is none, or names no setting.

    Example:
    ```py
    import keras_tuner
    from keras_elmo.tuning import BiLMHyperModel

    hypermodel = BiLMHyperModel(corpus, held_out, "tiny", {"epochs": 1})
    tuner = keras_tuner.RandomSearch(
        hypermodel, objective=hypermodel.objective, max_trials=5, directory="search"
    )
    tuner.search()
    ```
    `Search` in place of `keras_tuner.RandomSearch` goes on after a kill, passes over
    what is too large, and frees memory.
    """

    objective = keras_tuner.Objective("perplexity", "min")
    budget = BUDGET

    def __init__(
        self,
        corpus: Corpus | str | PathLike,
        held_out: Corpus,
        recipe: str = "small",
        changes: Mapping | None = None,
        ranges: Mapping | None = None,
        only: Collection[str] = (),
        looks: int = 10,
        patience: int = 3,
    ):
        self.corpus = corpus if isinstance(corpus, Corpus) else Corpus.read(corpus)
        self.held_out, self.recipe = held_out, recipe
        self.looks = checks.positive_int("looks", looks)
        self.patience = checks.positive_int("patience", patience)
        settings = settings_of(recipe, changes)
        fixed = set(changes or {})
        super().__init__(settings, _defaults(settings), ranges, only, fixed, NEVER)
        self._fixed = fixed | {one.setting for one in self.ranges}

    def complete(self, settings, changed):
        if settings.optimizer != self.settings.optimizer:
            recipe = "paper" if settings.optimizer == "adagrad" else "small"
            way = dataclasses.asdict(Settings(**RECIPES[recipe]))
            settings = dataclasses.replace(
                settings, **{k: way[k] for k in _WAY if k not in self._fixed}
            )
        every = max(count_steps(settings, self.corpus) // self.looks, 1)
        names = ("log_steps", "evaluate_steps", "checkpoint_steps")
        return dataclasses.replace(settings, **dict.fromkeys(names, every))

    def build(self, hp):
        """The compiled `ElmoBiLM` of a trial.

        Args:
            hp: `keras_tuner.HyperParameters`.
        """
        model = prepare_model(self.settings_of(hp), self.corpus)
        if keras.backend.backend() == "tensorflow":
            # Steps are up to twice as fast with XLA, which takes longer to compile a
            # model than a short trial takes, and keeps what it has compiled for as long
            # as the process lives: 140 MB with each small biLM.
            model.jit_compile = False
        return model

    def fit(
        self,
        hp,
        model,
        *,
        epochs: int | None = None,
        folder: str | PathLike | None = None,
        previous: str | PathLike | None = None,
        check: Callable[[], None] | None = None,
        callbacks: Sequence = (),
        **unused,
    ):
        """Trains a trial's model.

        Args:
            hp: `keras_tuner.HyperParameters`.
            model: what `build` gave.
            epochs: int, ninths of a whole training, or None for all of it.
            folder: where the run's directory lies, or is to lie; a trial that was
                killed goes on there. None for one that is removed at the end.
            previous: folder of a trial of the same settings to go on from, or None.
            check: called at each look; what it raises ends the training.
            callbacks: Keras callbacks that are told of the end.
            **unused: what KerasTuner's own tuners pass besides.

        Returns:
            dict of floats: "perplexity" and others, of the weights that the model has.

        Raises:
            keras_tuner.errors.FailedTrialError: when the loss is no number.
        """
        settings = self.settings_of(hp)
        with tempfile.TemporaryDirectory() as temporary:
            run = Path(temporary if folder is None else folder) / RUN
            if previous is not None:
                _go_on_from(Path(previous) / RUN, run)
            looks = _Looks(model, self.patience, check)
            steps = None
            if epochs is not None and epochs < self.budget:
                steps = math.ceil(
                    count_steps(settings, self.corpus) * epochs / self.budget
                )
            try:
                pretrain(
                    self.corpus,
                    run,
                    settings,
                    held_out=self.held_out,
                    steps=steps,
                    verbose=False,
                    model=model,
                    watch=looks.watch,
                )
            except ArithmeticError as error:
                raise keras_tuner.errors.FailedTrialError(str(error)) from error
        looks.restore()
        found = perplexity(model, self._sentences(), self.corpus.vocabulary)
        del found["tokens"]  # the same in all trials
        self.tell(callbacks, model, found)
        return found

    def _sentences(self):
        """The held-out sentences as text."""
        types, tokens = self.held_out.types, self.held_out.tokens
        offsets = self.held_out.offsets
        for start, end in pairwise(offsets):
            yield [str(types[number]) for number in tokens[start:end]]

    def save(self, model, path):
        """Writes a trained model as a preset directory.

        Args:
            model: `ElmoBiLM`.
            path: the directory to make.
        """
        save_language_model(model, path)

    def clean(self, folder: str | PathLike, going_on: bool = False) -> None:
        """Removes what a trial that has ended left and nobody needs; the log stays.

        Args:
            folder: the trial's.
            going_on: bool. Another trial may go on from it.
        """
        for name in (PRESET, *([] if going_on else [CHECKPOINTS])):
            shutil.rmtree(Path(folder) / RUN / name, ignore_errors=True)

    def changes_of(self, settings) -> dict:
        """What settings differ in from their recipe, but for bookkeeping.

        Args:
            settings: `Settings`.
        """
        recipe = settings_of(self.recipe)
        return {
            name: value
            for name, value in to_json(settings).items()
            if name not in BOOKKEEPING and value != to_json(recipe)[name]
        }

    def describe(self) -> dict:
        """What a search is made of, as JSON holds it."""
        return {
            "settings": to_json(self.settings),
            "looks": self.looks,
            "patience": self.patience,
        }


class _Looks:
    """Keeps the weights of a trial's best look, and ends it when none is better."""

    def __init__(self, model, patience, check):
        self._model, self._patience = model, patience
        self._check = check or (lambda: None)
        self._best, self._since = math.inf, 0
        self._kept = None

    def watch(self, row):
        """Whether the training is to end: what `pretrain` calls with its log's rows."""
        self._check()
        if "perplexity" not in row:
            return False
        if row["perplexity"] < self._best:
            self._best, self._since = row["perplexity"], 0
            self._kept = self._model.get_weights()
            return False
        self._since += 1
        return self._since >= self._patience

    def restore(self):
        """Gives the model the weights of its best look, where that was not the last."""
        if self._since and self._kept is not None:
            self._model.set_weights(self._kept)


def _go_on_from(source, run):
    """Copies another trial's run, where there is one and no own one yet."""
    if run.exists() or not (source / CHECKPOINTS).is_dir():
        return
    run.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(run) as temporary:
        shutil.copytree(source, temporary)


def _defaults(settings):
    """The default ranges: around the recipe's sizes, and where optimizers work."""
    ranges = [
        Range("hidden_dim", "hidden_dim", around(settings.hidden_dim)),
        Range("projection_dim", "projection_dim", around(settings.projection_dim)),
        Range("num_layers", "num_layers", [1, 2]),
    ]
    if settings.input_kind == "characters":
        filters = [
            tuple((width, max(number * share // 2, 1)) for width, number in pairs)
            for share, pairs in ((n, settings.char_cnn_filters) for n in (1, 2, 4))
        ]
        ranges.append(Range("char_cnn_filters", "char_cnn_filters", filters))
    rates = {"adagrad": (0.05, 0.5), "adamw": (5e-4, 1e-2), "lion": (1e-4, 2e-3)}
    ranges += [
        Range("dropout", "dropout", {"min": 0.0, "max": 0.3, "step": 0.1}),
        Range("optimizer", "optimizer", list(rates)),
    ]
    ranges += [
        Range(
            f"{optimizer}_learning_rate",
            "learning_rate",
            {"min": low, "max": high, "sampling": "log"},
            None if optimizer == settings.optimizer else math.sqrt(low * high),
            ("optimizer", optimizer),
        )
        for optimizer, (low, high) in rates.items()
    ]
    return [
        *ranges,
        Range("batch_size", "batch_size", around(settings.batch_size)),
        Range("unroll", "unroll", around(settings.unroll)),
    ]

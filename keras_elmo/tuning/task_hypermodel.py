"""The task models' hypermodel: what of ELMo goes into a task, where, and how."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from types import SimpleNamespace

import keras_tuner

from keras_elmo import checks
from keras_elmo.changes import read_changes
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.tasks.kinds import TASKS, Examples
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.train import Fitting, build_model
from keras_elmo.tuning.hypermodel import SettingsHyperModel
from keras_elmo.tuning.ranges import Range, around

# How files are read, and what is equal in all trials.
NEVER = ("scheme", "tokenizer", "tag", "encoding", "embedding_dim")
NEVER += ("epochs", "patience", "seed", "dtype")
# Settings that a task's model does not have.
_TOKEN, _TEXT = ("num_rnn_layers", "crf"), ("kind",)
FOREIGN = {
    "token-classifier": _TEXT,
    "text-classifier": _TOKEN,
    "pair-classifier": (*_TOKEN, *_TEXT),
    "question-answering": (*_TOKEN, *_TEXT),
}


class ElmoTaskHyperModel(SettingsHyperModel):
    """A task model whose settings are searched for the best score on held-out data.

    Searched by default: which of ELMo's layers and how they are mixed, layer
    normalisation, dropout, the mix regulariser, ELMo at the input of the task's RNN or
    at its output too, whether the biLM is trained along, learning rates, sizes.

    The layers of a biLM that is held still are computed once for all trials; one that
    is trained along is a copy.

    Args:
        task: a key of `tasks.kinds.TASKS`: "token-classifier", "text-classifier",
            "pair-classifier" or "question-answering".
        train: `Examples`, as the task's `read` gives them.
        dev: `Examples` that are scored.
        model: `ElmoBackbone`, or a preset.
        changes: {setting: value} of `TaskSettings`; these are not searched.
        ranges: {name: range} in place of the default ones, see `tuning.read_ranges`.
        only: names that are searched, or none for all that have a range.

    Raises:
        ValueError: when a range is none, or names no setting.

    Example:
    ```py
    from keras_elmo.tasks.kinds import TASKS
    from keras_elmo.tasks.settings import TaskSettings
    from keras_elmo.tuning import ElmoTaskHyperModel, Search

    read, settings = TASKS["token-classifier"].read, TaskSettings()
    train, dev = (read(f"{part}.conllu", settings) for part in ("train", "dev"))
    hypermodel = ElmoTaskHyperModel("token-classifier", train, dev, "preset")
    search = Search(hypermodel, "search", max_trials=20)
    search.search()
    search.best_settings()
    ```
    """

    suffix = ".keras"

    def __init__(
        self,
        task: str,
        train: Examples,
        dev: Examples,
        model: ElmoBackbone | str | PathLike,
        changes: Mapping | None = None,
        ranges: Mapping | None = None,
        only: Collection[str] = (),
    ):
        self.task = TASKS[checks.one_of("task", task, tuple(TASKS))]
        settings = TaskSettings(**read_changes(TaskSettings, changes or {}))
        super().__init__(
            settings,
            _defaults(task, settings),
            ranges,
            only,
            set(changes or {}),
            (*NEVER, *FOREIGN[task]),
        )
        self.train, self.dev = train, dev
        if not isinstance(model, ElmoBackbone):
            dtype = None if settings.dtype == "float32" else settings.dtype
            model = ElmoBackbone.from_preset(model, dtype=dtype)
        self.backbone = model
        self.budget = settings.epochs
        # The score depends on the classes: tags that mark spans have an F1.
        tags = train.gold if task == "token-classifier" else ()
        names = {tag for row in tags for tag in row}
        metric = self.task.metric(SimpleNamespace(classes=sorted(names)))
        self.objective = keras_tuner.Objective(metric, "max")
        self._stored: dict = {}

    def build(self, hp):
        """The task model of a trial.

        Args:
            hp: `keras_tuner.HyperParameters`.
        """
        settings = self.settings_of(hp)
        backbone = self.backbone
        if settings.fine_tune:
            # A copy: no other trial may get what this one learns.
            backbone = ElmoBackbone.from_config(backbone.get_config())
            backbone.vocabulary = self.backbone.vocabulary
            backbone.set_weights(self.backbone.get_weights())
        return build_model(self.task, self.train, settings, backbone)

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
        """Trains a trial's model; a trial that was killed begins anew.

        Args:
            hp: `keras_tuner.HyperParameters`.
            model: what `build` gave.
            epochs: int at most, or None for the settings'.
            folder: not used.
            previous: not used: more epochs begin as fewer do.
            check: called after each epoch; what it raises ends the training.
            callbacks: Keras callbacks that are told of the end.
            **unused: what KerasTuner's own tuners pass besides.

        Returns:
            dict of floats: the scores on `dev`, of the weights that the model has.

        Raises:
            keras_tuner.errors.FailedTrialError: when the loss or a score is no number.
        """
        settings = self.settings_of(hp)
        if epochs is not None:
            settings = dataclasses.replace(
                settings,
                epochs=epochs,
                frozen_epochs=min(settings.frozen_epochs, epochs),
            )
        fitting = Fitting(
            self.task,
            model,
            self.train,
            self.dev,
            settings,
            log=None if check is None else lambda line: check(),
            stored=self._stored,
        )
        try:
            found = fitting.run()
        except ArithmeticError as error:
            raise keras_tuner.errors.FailedTrialError(str(error)) from error
        found = {name: float(value) for name, value in found.items()}
        self.tell(callbacks, model, found)
        return found

    def save(self, model, path):
        """Writes a trained model as a `.keras` file.

        Args:
            model: the task model.
            path: the file to make.
        """
        model.save(path)

    def clean(self, folder: str | PathLike, going_on: bool = False) -> None:
        """Nothing: a trial's training leaves no files.

        Args:
            folder: the trial's.
            going_on: bool.
        """

    def changes_of(self, settings) -> dict:
        """What settings differ in from the defaults.

        Args:
            settings: `TaskSettings`.
        """
        return {
            name: value
            for name, value in dataclasses.asdict(settings).items()
            if value != getattr(TaskSettings(), name)
        }

    def describe(self) -> dict:
        """What a search is made of, as JSON holds it."""
        return {"settings": dataclasses.asdict(self.settings)}


def _defaults(task, settings):
    """The default ranges of a task."""
    dropout = {"min": 0.0, "max": 0.6, "step": 0.1}
    # Settings without a rate have Adam's, one for each way.
    rates = {
        value: dataclasses.replace(settings, fine_tune=value).adam_learning_rate
        for value in (False, True)
    }
    ranges = [
        Range("layers", "layers", ["mix", "mean", "top"]),
        Range("layer_norm", "layer_norm", [False, True]),
        Range("elmo_dropout", "elmo_dropout", {"min": 0.0, "max": 0.5, "step": 0.1}),
        Range(
            "mix_regularizer",
            "mix_regularizer",
            [0.0, 0.001, 0.01, 0.1],
            parent=("layers", "mix"),
        ),
        Range("num_mixes", "num_mixes", [1, 2]),
        Range("fine_tune", "fine_tune", [False, True]),
        Range(
            "frozen_learning_rate",
            "learning_rate",
            {"min": 3e-4, "max": 1e-2, "sampling": "log"},
            rates[False],
            ("fine_tune", False),
        ),
        Range(
            "fine_tune_learning_rate",
            "learning_rate",
            {"min": 3e-5, "max": 1e-3, "sampling": "log"},
            rates[True],
            ("fine_tune", True),
        ),
        Range("dropout", "dropout", dropout),
        Range("rnn_dim", "rnn_dim", around(settings.rnn_dim)),
        Range("num_rnn_layers", "num_rnn_layers", [1, 2]),
        Range("kind", "kind", ["pooled", "biattentive"]),
        Range("batch_size", "batch_size", around(settings.batch_size)),
    ]
    return [one for one in ranges if one.setting not in FOREIGN[task]]

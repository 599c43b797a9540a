"""The search: trials one after the other, each in the memory of the one before."""

import contextlib
import io
import json
import math
import os
import shutil
import time
import traceback
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import keras_tuner
import numpy as np
from keras_tuner.engine.base_tuner import BaseTuner
from keras_tuner.engine.trial import TrialStatus

from keras_elmo import checks
from keras_elmo.files import atomic_path
from keras_elmo.tuning.chief import ChiefClient, Heartbeat
from keras_elmo.tuning.hypermodel import RESERVED, SettingsHyperModel
from keras_elmo.tuning.memory import trial_memory
from keras_elmo.tuning.oracles import SKIPPED, make_oracle
from keras_elmo.tuning.trials import RESULT_FILE, Trials

TRIALS = "trials"
ERROR_FILE = "error.txt"
MODEL = "model"
# Whose model was moved to where the best one belongs.
TAKEN_FILE = "taken"
# Seconds between two questions of a worker that has to wait for others.
PAUSE = 0.5


class Search(BaseTuner):
    """A search of KerasTuner's that survives kills, large models, and NaN.

    The first trial has the hypermodel's settings as they are. The same search on the
    same directory goes on: no trial that has ended runs again. A trial whose loss is
    no number, or whose training raises, has failed, and the next one runs; a model
    above `max_parameters` is passed over and does not count as a trial. Of the trained
    models the best one is kept.

    With KerasTuner's environment variables `KERASTUNER_TUNER_ID`,
    `KERASTUNER_ORACLE_IP` and `KERASTUNER_ORACLE_PORT` the search is one worker of
    several, which a chief gives trials to (`keras-elmo tune` is both).

    Args:
        hypermodel: `BiLMHyperModel` or `ElmoTaskHyperModel`.
        directory: where the search lies, or is to lie.
        tuner: "random", "hyperband" or "bayesian".
        max_trials: int, trials in all. A search that has ended goes on with more.
        max_parameters: int, numbers in a model at most, or None.
        seed: int from 1, of what is tried.
        worker_timeout: float, seconds without a sign after which a worker, or the
            chief, counts as dead.
        log: function of a line of text, called after each trial; None for silence.

    Raises:
        ImportError: when what the tuner needs is not installed.
        ValueError: when an argument is none of these, or `directory` is damaged.

    Example:
    ```py
    search = Search(hypermodel, "search", tuner="bayesian", max_trials=30)
    search.search()
    print(search.best().score, search.best_settings())
    ```
    """

    def __init__(
        self,
        hypermodel: SettingsHyperModel,
        directory: str | PathLike,
        tuner: str = "random",
        max_trials: int = 10,
        *,
        max_parameters: int | None = None,
        seed: int = 1,
        worker_timeout: float = 120.0,
        log: Callable[[str], None] | None = None,
    ):
        wanted = checks.positive_int("max_trials", max_trials)
        if max_parameters is not None:
            checks.positive_int("max_parameters", max_parameters)
        self.max_parameters = max_parameters
        self.worker_timeout = checks.positive_float("worker_timeout", worker_timeout)
        self.is_hyperband = tuner == "hyperband"
        seed = checks.positive_int("seed", seed)
        oracle = make_oracle(
            tuner, hypermodel.objective, wanted, hypermodel.budget, seed
        )
        first = keras_tuner.HyperParameters()
        hypermodel.declare_hyperparameters(first)
        oracle.prepare(wanted, first.values)
        with quiet():
            super().__init__(oracle, hypermodel, str(directory), TRIALS)
        if self._is_worker():
            self.oracle = ChiefClient(oracle, self.worker_timeout)
        self.trials = Trials(Path(self.project_dir), oracle, log)

    # KerasTuner would look for a file of its own for each worker's name, and start
    # anew in a directory that was begun under another.
    def _get_tuner_fname(self):
        return os.path.join(str(self.project_dir), "oracle.json")

    def save(self):
        """Nothing: the oracle writes its state when it changes."""

    def reload(self):
        """Reads the state of a search that was begun."""
        if not self._is_worker():
            self.oracle.reload()

    def _populate_initial_space(self):
        # KerasTuner would build models to find out what is searched.
        hp = self.oracle.get_space()
        self.hypermodel.declare_hyperparameters(hp)
        self.oracle.update_space(hp)

    def search(self):
        """Runs trials until there are enough, or as a worker until the chief says so.

        Raises:
            ConnectionError: as a worker, when the chief is gone.
            ValueError: when one trial after the other fails.
        """
        with quiet():
            while True:
                trial = self.oracle.create_trial(self.tuner_id)
                if trial.status == TrialStatus.STOPPED:
                    break
                if trial.status == TrialStatus.IDLE:
                    time.sleep(PAUSE)
                    continue
                # Around all of it: an error holds the model that it was raised in.
                with trial_memory():
                    self._try(trial)
                self.oracle.end_trial(trial)
                self._keep_the_best(trial)
                if not self._is_worker():
                    self.trials.tell()
        if not self._is_worker():
            self.trials.check()

    def _try(self, trial):
        """Runs a trial; what it came to stands in it and in its folder."""
        folder = Path(self.get_trial_dir(trial.trial_id))
        started = time.monotonic()
        facts: dict = {"worker": self.tuner_id}
        try:
            with Heartbeat.of(self.oracle, trial, self.worker_timeout) as check:
                metrics = self._fit(trial, folder, facts, check)
            self.oracle.update_trial(trial.trial_id, metrics)
            trial.status = TrialStatus.COMPLETED
            facts.update(status="completed", **metrics)
        except (OSError, keras_tuner.errors.FatalError):
            # The disk is full, or the chief is gone: no fault of the trial.
            raise
        except _TooLargeError as error:
            trial.status, trial.message = TrialStatus.FAILED, str(error)
            trial.metrics.update(SKIPPED, 1.0)
            facts.update(status="skipped", message=str(error))
        except keras_tuner.errors.FailedTrialError as error:
            trial.status, trial.message = TrialStatus.FAILED, str(error)
            facts.update(status="failed", message=str(error))
        except Exception as error:  # whatever a backend raises: out of memory, ...
            text = f"{type(error).__name__}: {error}"
            trial.status, trial.message = TrialStatus.FAILED, text
            facts.update(status="failed", message=text)
            (folder / ERROR_FILE).write_text(traceback.format_exc(), encoding="utf-8")
        facts["seconds"] = round(time.monotonic() - started, 1)
        with atomic_path(folder / RESULT_FILE, overwrite=True) as temporary:
            temporary.write_text(json.dumps(facts, indent=1), encoding="utf-8")

    def _fit(self, trial, folder, facts, check):
        hp = trial.hyperparameters
        model = self.hypermodel.build(hp)
        facts["parameters"] = model.count_params()
        if self.max_parameters is not None and (
            facts["parameters"] > self.max_parameters
        ):
            raise _TooLargeError(
                f"{facts['parameters']:,} parameters, more than max_parameters "
                f"(={self.max_parameters:,})."
            )
        past = hp.values.get(f"{RESERVED}trial_id")
        metrics = self.hypermodel.fit(
            hp,
            model,
            epochs=hp.values.get(f"{RESERVED}epochs"),
            folder=folder,
            previous=None if past is None else self.get_trial_dir(past),
            check=check,
        )
        objective = self.oracle.objective
        value = metrics[objective.name]
        if not math.isfinite(value):
            raise keras_tuner.errors.FailedTrialError(f"{objective.name} is {value}.")
        best = self._best_of_oracle()
        # As the chief knows scores: in float32. Of equal ones it may name either.
        score = None if best is None else np.float32(best.score)
        if score is None or not objective.better_than(score, np.float32(value)):
            with atomic_path(self.model_path(trial.trial_id), overwrite=True) as path:
                self.hypermodel.save(model, path)
        return metrics

    def _best_of_oracle(self):
        """The best completed trial that the oracle knows, or None."""
        for trial in self.oracle.get_best_trials(1):
            if trial.status == TrialStatus.COMPLETED:
                return trial
        return None

    def _keep_the_best(self, trial):
        """Removes what the trial left, but for the best model."""
        best = self._best_of_oracle()
        if best is None or best.trial_id != trial.trial_id:
            remove(self.model_path(trial.trial_id))
        self.hypermodel.clean(
            self.get_trial_dir(trial.trial_id), going_on=self.is_hyperband
        )

    def model_path(self, trial_id: str) -> Path:
        """Where a trial's model lies while it may be the best.

        Args:
            trial_id: the trial's.
        """
        return Path(self.get_trial_dir(trial_id)) / (MODEL + self.hypermodel.suffix)

    def best(self):
        """The best `keras_tuner` trial; its `score` is the objective.

        Raises:
            ValueError: when no trial has completed.
        """
        best = self._best_of_oracle()
        if best is None:
            raise ValueError("No trial has completed: there is no best one.")
        return best

    def best_settings(self):
        """The settings of the best trial."""
        return self.hypermodel.settings_of(self.best().hyperparameters)

    def take_best(self, path: str | PathLike) -> None:
        """Moves the best model to a path, and removes what other trials left.

        Args:
            path: where the model is to be; replaced where it is a former best one.

        Raises:
            FileNotFoundError: when the model lies on another machine.
        """
        best = self.best()
        source = self.model_path(best.trial_id)
        taken = Path(self.project_dir) / TAKEN_FILE
        if source.exists():
            taken.write_text(best.trial_id, encoding="utf-8")
            with atomic_path(path, overwrite=True) as temporary:
                os.rename(source, temporary)
        elif (
            not Path(path).exists()
            or not taken.exists()
            or taken.read_text(encoding="utf-8") != best.trial_id
        ):
            raise FileNotFoundError(
                f"The model of trial {best.trial_id}, the best, is not at `{source}`. "
                "All workers must reach one directory."
            )
        for trial_id in self.trials.ids():
            remove(self.model_path(trial_id))
            self.hypermodel.clean(self.get_trial_dir(trial_id))


class _TooLargeError(keras_tuner.errors.FailedTrialError):
    """A model has more parameters than it may."""


def remove(path: Path) -> None:
    """Removes a file or a directory, where it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def quiet():
    """Takes what KerasTuner prints: stdout is for results."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield

"""KerasTuner's oracles, made to survive what searches meet.

An oracle decides what the next trial is and keeps all trials. KerasTuner 1.4.8, seen by
running and in its source: files are written in place, so that a kill while one is
written ends the search for good; a trial that had ended when its process was killed may
run again; three failures in a row raise while a lock is held, and everything waits for
ever; a worker that dies takes its trial with it, and the chief waits for both.
"""

import functools
import importlib
import json
import math
import os
import threading
from pathlib import Path

import keras_tuner
from keras_tuner.engine.trial import TrialStatus

from keras_elmo import checks
from keras_elmo.files import atomic_path

TUNERS = ("random", "hyperband", "bayesian")
# Trials that fail one after the other before a search is given up.
MOST_FAILURES = 5
# Workers that a trial may take with it before it counts as failed.
MOST_DEATHS = 3
# Models that are passed over for their size, at most, for each trial that is wanted.
MOST_SKIPPED = 10
# The metric that says so. A trial's metrics reach the chief, its message does not.
SKIPPED = "skipped"


def _locked(method):
    """Lets one thread at a time in, and the next one after an error too."""

    @functools.wraps(method)
    def locked(self, *args, **kwargs):
        with self.lock:
            return method(self, *args, **kwargs)

    return locked


class _Sturdy(keras_tuner.Oracle):
    """What the three oracles share; stands before KerasTuner's class."""

    def prepare(self, wanted, first):
        """Sets what KerasTuner has no argument for.

        Args:
            wanted: int, trials that are to run, beside those that are passed over.
            first: dict, the values of the first trial.
        """
        self.lock = threading.RLock()
        self.wanted, self.first = wanted, first
        self.skipped, self.deaths = set(), {}
        self.failures = 0
        self.max_trials = wanted
        # Never equal to a number of failures: see the module's text.
        self.max_consecutive_failed_trials = None
        self.verbose = 0

    def _random_values(self):
        if not self.trials:
            return dict(self.first)
        return super()._random_values()

    def populate_space(self, trial_id):
        if self.failures >= MOST_FAILURES:
            return {"status": TrialStatus.STOPPED}
        return super().populate_space(trial_id)

    @_locked
    def create_trial(self, tuner_id):
        more = min(len(self.skipped), MOST_SKIPPED * self.wanted)
        self.max_trials = self.wanted + more
        trial = super().create_trial(tuner_id)
        if trial.status == TrialStatus.STOPPED and self.ongoing_trials:
            # Another worker may die: somebody has to be there for its trial.
            trial.status = TrialStatus.IDLE
            self.tuner_ids.add(tuner_id)
        return trial

    @_locked
    def update_trial(self, trial_id, metrics, step=0):
        if trial_id in self.end_order or trial_id not in self.trials:
            return self.trials.get(trial_id)
        return super().update_trial(trial_id, metrics, step)

    @_locked
    def end_trial(self, trial):
        trial_id = trial.trial_id
        # A worker that was taken for dead may come back behind the one that has its
        # trial; and a chief that was started again knows no trial of another search.
        if trial_id in self.end_order or trial_id not in self.trials:
            return
        own = self.trials[trial_id]
        if trial.metrics.exists(SKIPPED):
            self.skipped.add(trial_id)
        elif trial.status == TrialStatus.COMPLETED:
            self.failures = 0
        else:
            self.failures += 1
        # On its way from a worker a trial loses the order of its hyperparameters.
        trial.hyperparameters = own.hyperparameters
        if trial_id in self._retry_queue:
            self._retry_queue.remove(trial_id)
        super().end_trial(trial)

    @_locked
    def release(self, tuner_id):
        """Takes its trial from a worker that has died, for the next one to run.

        Returns:
            str, the trial's id; None where it had none.
        """
        self.tuner_ids.discard(tuner_id)
        trial = self.ongoing_trials.pop(tuner_id, None)
        if trial is None:
            return None
        trial_id = trial.trial_id
        self.deaths[trial_id] = self.deaths.get(trial_id, 0) + 1
        if self.deaths[trial_id] < MOST_DEATHS:
            self._queue(trial)
        else:
            trial.status = TrialStatus.FAILED
            trial.message = f"{MOST_DEATHS} workers died of it."
            self.failures += 1
            self.end_order.append(trial_id)
            self._save_trial(trial)
        self.save()
        return trial_id

    def _queue(self, trial):
        """Puts a trial that was not ended in front of all others, without results."""
        blank = type(trial)(trial.hyperparameters, trial.trial_id, TrialStatus.RUNNING)
        trial.metrics, trial.score = blank.metrics, blank.score
        trial.status, trial.message = blank.status, None
        if trial.trial_id not in self._retry_queue:
            self._retry_queue.append(trial.trial_id)

    def holder(self, trial_id):
        """The worker that a trial is with, or None."""
        for tuner_id, trial in list(self.ongoing_trials.items()):
            if trial.trial_id == trial_id:
                return tuner_id
        return None

    def get_state(self):
        return {**super().get_state(), "skipped": sorted(self.skipped)}

    def set_state(self, state):
        super().set_state(state)
        self.skipped = set(state.get("skipped", ()))

    def save(self):
        _write(self._get_oracle_fname(), self.get_state())

    def _save_trial(self, trial):
        _write(
            os.path.join(self._get_trial_dir(trial.trial_id), "trial.json"),
            trial.get_state(),
        )

    def reload(self):
        path = self._get_oracle_fname()
        try:
            super().reload()
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise ValueError(
                f"`{path}`: the search's state cannot be read ({error})."
            ) from error
        # In the order they began, not that of the folder: of equal ones the first is
        # the best.
        self.trials = dict(sorted(self.trials.items(), key=lambda one: int(one[0])))
        # A kill may have come between the writing of a trial and of the oracle.
        self._retry_queue = []
        for trial_id, trial in reversed(self.trials.items()):
            if trial_id not in self.start_order:
                self.start_order.append(trial_id)
                self._record_values(trial)
            if trial.status in (TrialStatus.COMPLETED, TrialStatus.FAILED):
                if trial_id not in self.end_order:
                    self.end_order.append(trial_id)
            else:
                self._queue(trial)


class _Random(_Sturdy, keras_tuner.oracles.RandomSearchOracle):
    """Values at random."""


class _Hyperband(_Sturdy, keras_tuner.oracles.HyperbandOracle):
    """Many short trainings, and long ones for the best."""


class _Bayesian(_Sturdy, keras_tuner.oracles.BayesianOptimizationOracle):
    """Values where a Gaussian process hopes for the best, after some at random."""

    def populate_space(self, trial_id):
        found = super().populate_space(trial_id)
        if found["status"] == TrialStatus.RUNNING and self._duplicate(found["values"]):
            return self._random_populate_space()
        return found


def make_oracle(tuner, objective, wanted, budget, seed):
    """The oracle of a search.

    Args:
        tuner: one of `TUNERS`.
        objective: `keras_tuner.Objective`.
        wanted: int, trials.
        budget: int, what Hyperband takes for the epochs of a whole training.
        seed: int from 1.
    """
    if checks.one_of("tuner", tuner, TUNERS) == "random":
        return _Random(objective, seed=seed)
    if tuner == "hyperband":
        # Brackets without end: the number of trials ends the search.
        return _Hyperband(objective, budget, hyperband_iterations=None, seed=seed)
    for package in ("scipy", "sklearn"):
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise ImportError(
                "The Bayesian tuner needs scipy and scikit-learn: "
                "pip install 'keras-elmo[tuner]'."
            ) from error
    # KerasTuner's default is three at random for each hyperparameter: more than most
    # searches have.
    start = max(3, math.ceil(wanted / 4))
    return _Bayesian(objective, num_initial_points=start, seed=seed)


def _write(path, state):
    with atomic_path(Path(path), overwrite=True) as temporary:
        temporary.write_text(json.dumps(state), encoding="utf-8")

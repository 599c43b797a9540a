"""What both hypermodels are: settings of which some are searched."""

import dataclasses

import keras_tuner

from keras_elmo.tuning.ranges import resolve

# KerasTuner's own values in a trial: Hyperband's rounds.
RESERVED = "tuner/"


class SettingsHyperModel(keras_tuner.HyperModel):
    """A `keras_tuner.HyperModel` of settings in a dataclass.

    Args:
        settings: the settings; the first trial has them as they are.
        defaults: `Range`s.
        ranges: {name: spec} in their place, or None.
        only: names that are searched, or none for all.
        fixed: names of settings that are not to be searched.
        never: names of settings that cannot be.

    Attributes:
        objective: `keras_tuner.Objective`.
        budget: int, what `fit` takes as `epochs` for a whole training.
        suffix: str, how the name of a saved model ends.
    """

    objective: keras_tuner.Objective
    budget: int
    suffix = ""

    def __init__(self, settings, defaults, ranges, only, fixed, never):
        super().__init__()
        self.settings, self.ranges = resolve(
            settings, defaults, ranges, only, fixed, never
        )

    def declare_hyperparameters(self, hp):
        self._declare(hp)

    def _declare(self, hp):
        return [(one, one.declare(hp, self.settings)) for one in self.ranges]

    def settings_of(self, hp):
        """The settings of a trial.

        Args:
            hp: `keras_tuner.HyperParameters`.
        """
        kind = type(self.settings)
        changed = {
            one.setting: one.decode(kind, value)
            for one, value in self._declare(hp)
            if value is not None
        }
        return self.complete(dataclasses.replace(self.settings, **changed), changed)

    def complete(self, settings, changed):
        """Settings that go along with what a trial changed.

        Args:
            settings: those of the trial.
            changed: dict, what the trial changed.
        """
        return settings

    def save(self, model, path):
        """Writes what `fit` has trained."""
        raise NotImplementedError

    def tell(self, callbacks, model, metrics):
        """Lets callbacks of KerasTuner's own tuners see the trained model once."""
        for callback in callbacks or ():
            callback.set_model(model)
            callback.on_epoch_end(0, dict(metrics))

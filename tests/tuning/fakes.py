"""A hypermodel whose trials take no time, and come to what their settings say."""

import dataclasses
import json
import math

import keras
import keras_tuner

from keras_elmo.tuning.hypermodel import SettingsHyperModel

RATE = {"min": 0.001, "max": 1.0, "sampling": "log"}


@dataclasses.dataclass(frozen=True)
class FakeSettings:
    """Settings of every type."""

    size: int = 4
    rate: float = 0.1
    kind: str = "plain"
    bias: bool = True
    level: str | int = "mix"
    clip: float | None = None
    filters: tuple = ((1, 2),)

    def __post_init__(self):
        if self.size < 1:
            raise ValueError(f"`size` must be above 0. Received: size={self.size}.")


class FakeHyperModel(SettingsHyperModel):
    """The loss is a function of the rate; `events` says what else happens, by trial.

    Args:
        ranges: {name: spec}; by default the rate is searched.
        events: {number of the call to `fit`: an exception to raise, or a loss}.
    """

    objective = keras_tuner.Objective("loss", "min")
    budget = 9
    suffix = ".json"

    def __init__(self, ranges=None, events=None):
        super().__init__(
            FakeSettings(), [], {"rate": RATE, **(ranges or {})}, (), (), ()
        )
        self.events = events or {}
        self.calls = []

    def build(self, hp):
        size = self.settings_of(hp).size
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(size)])
        model.settings = dataclasses.asdict(self.settings_of(hp))
        return model

    def fit(self, hp, model, *, epochs, folder, previous, check):
        check()
        number = len(self.calls)
        self.calls.append({**model.settings, "epochs": epochs, "folder": folder})
        self.calls[-1]["previous"] = previous
        event = self.events.get(number)
        if isinstance(event, BaseException):
            # A new one: a test's own would keep the traceback, and all it holds.
            raise type(event)(*event.args)
        if event is not None:
            return {"loss": event}
        return {"loss": abs(math.log(model.settings["rate"] / 0.03)), "extra": 1.5}

    def save(self, model, path):
        path.write_text(json.dumps(model.settings))

    def clean(self, folder, going_on=False):
        pass

"""Small trainings of tasks, for tests."""

import numpy as np

from keras_elmo.tasks.kinds import TASKS, Examples, TextClassifierTask
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.train import Fitting, build_model
from tests.models_for_tests import character_backbone
from tests.tasks.task_files import FAST, sentences


def settings(**changes):
    return TaskSettings(**{**FAST, **changes})


def examples(number=16, seed=0):
    """Texts and the first letter of their verb."""
    found = sentences(number, seed)
    return Examples({"tokens": found}, [row[2][0] for row in found])


def fitting(settings, task=None, backbone=None, log=None, **sets):
    task = task or TASKS["text-classifier"]
    parts = {"train": examples(), "dev": examples(8, 1), **sets}
    backbone = backbone or character_backbone()
    model = build_model(task, parts["train"], settings, backbone)
    return Fitting(task, model, parts["train"], parts["dev"], settings, log)


class Scripted(TextClassifierTask):
    """Gives the scores it was told, and keeps the weights it was asked about."""

    def __init__(self, *scores):
        self.scores, self.seen = list(scores), []

    def score(self, model, inputs, examples, batch_size):
        self.seen.append([np.array(w) for w in model.get_weights()])
        return {"accuracy": self.scores[len(self.seen) - 1]}

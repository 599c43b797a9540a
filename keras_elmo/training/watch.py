"""Callbacks that end a training."""

import math
import time

import keras

from keras_elmo.training.checkpoint import last_good


class StopAfter(keras.callbacks.Callback):
    """Ends training at the first batch after a moment.

    Args:
        deadline: float, of `time.monotonic()`, or None for never.
    """

    def __init__(self, deadline):
        super().__init__()
        self.deadline = deadline

    def on_train_batch_end(self, batch, logs=None):
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.model.stop_training = True


class StopAtNoNumber(keras.callbacks.Callback):
    """Counts steps, and raises ArithmeticError when a loss is NaN or infinite.

    Args:
        step: int, steps done before.
        checkpoints: the folder of a run's checkpoints, which the error names the last
            of.
    """

    def __init__(self, step, checkpoints):
        super().__init__()
        self.steps = 0
        self._before = step
        self._checkpoints = checkpoints

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        loss = float((logs or {}).get("loss", 0.0))
        if math.isfinite(loss):
            return
        optimizer = self.model.optimizer
        rate = float(keras.ops.convert_to_numpy(optimizer.learning_rate))
        raise ArithmeticError(
            f"The loss is {loss} at step {self._before + self.steps} (learning rate "
            f"{rate:g}). {last_good(self._checkpoints)} Train again with a lower "
            "learning rate."
        )

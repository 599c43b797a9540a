"""Pretraining on sentences in memory, with `fit`."""

import math
import time

import keras

from keras_elmo import checks
from keras_elmo.data.sentence_batches import SentenceBatches


def pretrain(
    model,
    sentences,
    vocabulary,
    *,
    epochs=10,
    batch_size=32,
    learning_rate=2e-3,
    seconds=None,
    seed=0,
    verbose=1,
):
    """Trains an `ElmoBiLM` with the full softmax.

    Adam with gradients clipped to a global norm of 10 and a learning rate that falls
    to nothing by a half cosine over `epochs`.

    Args:
        model: `ElmoBiLM`.
        sentences: list of token sequences.
        vocabulary: `Vocabulary` of the model's targets.
        epochs: int.
        batch_size: int, sentences a batch.
        learning_rate: float, at the start.
        seconds: float, wall time after which training ends at the next batch, or
            None.
        seed: int, of the order of sentences.
        verbose: as in `keras.Model.fit`.

    Returns:
        `keras.callbacks.History`.

    Raises:
        ValueError: when there are no sentences.
        ArithmeticError: when the loss is no finite number, naming step and learning
            rate.
    """
    epochs = checks.positive_int("epochs", epochs)
    batches = SentenceBatches(
        sentences, model.backbone, vocabulary, batch_size=batch_size, seed=seed
    )
    if len(batches) == 0:
        raise ValueError("`sentences` must hold at least one sentence. Received: none.")
    # A schedule of the optimizer's own: on JAX `fit` does not see a rate that a
    # callback sets between two batches.
    schedule = keras.optimizers.schedules.CosineDecay(
        learning_rate, decay_steps=epochs * len(batches)
    )
    model.compile(optimizer=keras.optimizers.Adam(schedule, global_clipnorm=10.0))
    callbacks = [StopAtNoNumber()]
    if seconds is not None:
        callbacks.append(StopAfter(seconds))
    return model.fit(
        batches,
        epochs=epochs,
        shuffle=False,  # `SentenceBatches` orders itself
        callbacks=callbacks,
        verbose=verbose,
    )


class StopAfter(keras.callbacks.Callback):
    """Ends training at the first batch after a wall time.

    Args:
        seconds: float, from the start of training.
    """

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self._started = time.monotonic()

    def on_train_begin(self, logs=None):
        self._started = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if time.monotonic() - self._started > self.seconds:
            self.model.stop_training = True


class StopAtNoNumber(keras.callbacks.Callback):
    """Raises ArithmeticError when the loss is NaN or infinite, and says where."""

    def __init__(self):
        super().__init__()
        self._step = 0

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        loss = (logs or {}).get("loss", 0.0)
        if not math.isfinite(loss):
            rate = self.model.optimizer.learning_rate
            rate = float(keras.ops.convert_to_numpy(rate))
            raise ArithmeticError(
                f"The loss is {loss} at step {self._step} (learning rate {rate:g}). "
                "Train again with a lower learning rate."
            )

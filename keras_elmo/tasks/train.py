"""Training of a task model: epochs until the held-out score falls."""

import dataclasses

import keras
import numpy as np

from keras_elmo.layers import ElmoEmbedding
from keras_elmo.randomness import seeded
from keras_elmo.tasks.batches import TaskBatches
from keras_elmo.tasks.encoding import copy_weights, encode, on_stored_layers


def build_model(task, train, settings, model=None, embedding=None, vocabulary=None):
    """A task's model with new weights, which the settings' seed decides.

    Args:
        task: one of `TASKS`' values.
        train: `Examples`, whose classes are learned.
        settings: `TaskSettings`.
        model: `ElmoBackbone` or preset, or None for `embedding`.
        embedding: `keras.layers.Embedding`, for vectors that know no context.
        vocabulary: `Vocabulary` of `embedding`.
    """
    dtype = None if settings.dtype == "float32" else settings.dtype
    with seeded(settings.seed):
        if model is not None:
            embedding = ElmoEmbedding(
                model,
                num_mixes=settings.num_mixes,
                layers=settings.layers,
                layer_norm=settings.layer_norm,
                dropout=settings.elmo_dropout,
                mix_regularizer=settings.mix_regularizer or None,
                trainable_backbone=settings.fine_tune,
                tokenizer=settings.tokenizer,
                dtype=dtype,
            )
        return task.build(
            embedding, train, settings, vocabulary=vocabulary, dtype=dtype
        )


def score_model(task, model, examples, batch_size):
    """The scores of examples by a task model: dict.

    Args:
        task: one of `TASKS`' values.
        model: what `build_model` made, or a file of it holds.
        examples: `Examples`.
        batch_size: int.
    """
    inputs = _inputs(examples, lambda name, texts: encode(model, texts))
    return task.score(model, inputs, examples, batch_size)


def _inputs(examples, encode):
    """A model's inputs by name, where `encode` makes those of texts."""
    return {
        name: np.asarray(values, "int32")
        if name.endswith("_target")
        else encode(name, values)
        for name, values in examples.texts.items()
    }


class Fitting:
    """Trains a task model, an epoch at a time, and keeps the best weights.

    Where the biLM is held still its layers are computed once, and the model that is
    trained stands behind them; the weights go back at the end. Fine-tuning begins with
    such epochs (`TaskSettings.frozen_epochs`), and its result is never worse on `dev`
    than theirs.

    Args:
        task: one of `TASKS`' values.
        model: what `build_model` made.
        train: `Examples`.
        dev: `Examples`, whose score ends the training.
        settings: `TaskSettings`.
        log: function of a line of text, called once an epoch; None for silence.
        stored: dict that keeps a biLM's layers of examples from one `Fitting` to the
            next of the same biLM, or None.
    """

    def __init__(self, task, model, train, dev, settings, log=None, stored=None):
        self.task, self.model, self.settings = task, model, settings
        self.log = log or (lambda line: None)
        # Not the layer's own flag: fine-tuning holds the biLM still at first.
        held = isinstance(model.embedding, ElmoEmbedding) and not settings.fine_tune
        self.lent, self.stored = stored, {} if stored is None else stored
        with seeded(settings.seed):
            self.trained = on_stored_layers(model) if held else model
        self.train, self.dev = train, dev
        self.dev_inputs = self.encode(dev)
        self.batches = TaskBatches(
            self.encode(train),
            task.targets(model, train),
            batch_size=settings.batch_size,
            seed=settings.seed,
        )
        self.history: list[dict] = []

    def encode(self, examples):
        """A model's inputs of examples."""
        return _inputs(examples, self._encode)

    def _encode(self, name, sentences):
        if self.trained is self.model:
            return encode(self.model, sentences)
        key = name, id(sentences)
        if key not in self.stored:
            # The sentences are kept with it, so that no other list gets their id.
            self.stored[key] = encode(self.trained, sentences), sentences
        return self.stored[key][0]

    def score(self, examples, inputs=None):
        """The scores of examples by the weights of now: dict."""
        inputs = self.encode(examples) if inputs is None else inputs
        return self.task.score(self.trained, inputs, examples, self.settings.batch_size)

    def score_model(self, examples):
        """The scores of examples by the model itself, whatever was stored: dict.

        Stored layers are float16, in which a close call may go the other way.
        """
        return score_model(self.task, self.model, examples, self.settings.batch_size)

    def run(self):
        """Trains to the end.

        Returns:
            dict: the scores on `dev` of the best epoch, which the model then has the
            weights of, "epoch", its number, and "epochs", how many there were: those
            before a fine-tuning count.

        Raises:
            ArithmeticError: when the loss or a score is no number, naming the epoch.
        """
        settings, metric = self.settings, self.task.metric(self.model)
        optimizer = keras.optimizers.Adam(
            settings.adam_learning_rate, global_clipnorm=settings.clip_norm
        )
        best: dict = {}
        kept = None
        if settings.fine_tune and settings.frozen_epochs:
            best = self._learn_own_layers()
            kept = self.trained.get_weights()
        begin = len(self.history)
        self.trained.compile(optimizer=optimizer)
        for epoch in range(begin + 1, begin + settings.epochs + 1):
            (loss,) = self.trained.fit(
                self.batches, epochs=1, verbose=0, shuffle=False
            ).history["loss"]
            if not np.isfinite(loss):
                raise self._diverged(f"The loss is {loss}", epoch)
            try:
                scores = self.score(self.dev, self.dev_inputs)
            except FloatingPointError:
                # The epoch's last step, which no loss has seen.
                raise self._diverged("Scores are NaN or infinite", epoch) from None
            self.history.append({"epoch": epoch, "loss": float(loss), **scores})
            told = "  ".join(f"{name} {value:.4g}" for name, value in scores.items())
            self.log(f"epoch {epoch}  loss {loss:.4f}  {told}")
            if not best or scores[metric] > best[metric]:
                best = {**scores, "epoch": epoch}
                kept = self.trained.get_weights()
            # A span score stays 0 while all is "O": no sign that training is over.
            elif (
                best[metric] > 0
                and epoch - max(best["epoch"], begin) >= settings.patience
            ):
                break
        self.trained.set_weights(kept)
        if self.trained is not self.model:
            copy_weights(self.trained, self.model)
        else:
            # Adam's slots would make a saved model three times as large.
            self.model.optimizer, self.model.compiled = None, False
        return {**best, "epochs": len(self.history)}

    def _learn_own_layers(self):
        """Trains all but the biLM; the best scores on `dev`, and their epoch."""
        settings = self.settings
        frozen = Fitting(
            *(self.task, self.model, self.train, self.dev),
            dataclasses.replace(
                settings,
                fine_tune=False,
                epochs=settings.frozen_epochs,
                learning_rate=None,
            ),
            log=lambda line: self.log(f"{line}  (biLM held still)"),
            # Where nobody wants the layers again they go with these epochs.
            stored=self.lent,
        )
        found = frozen.run()
        self.history = frozen.history
        # Not by the stored layers, which are float16: by the model that goes on.
        return {**self.score(self.dev, self.dev_inputs), "epoch": found["epoch"]}

    def _diverged(self, what, epoch):
        return ArithmeticError(
            f"{what} in epoch {epoch}, at a learning rate of "
            f"{self.settings.adam_learning_rate:g}. A lower one may help: "
            "--set learning_rate=..."
        )

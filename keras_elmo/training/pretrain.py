"""Pretraining: a corpus and settings in, a run's directory with a preset out."""

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import keras

from keras_elmo.data.corpus import Corpus
from keras_elmo.data.overlap import warn_of_overlap
from keras_elmo.data.stream_batches import StreamBatches
from keras_elmo.data.stream_plan import StreamPlan
from keras_elmo.models.elmo_bilm import ElmoBiLM
from keras_elmo.presets_head import save_language_model
from keras_elmo.training import run_directory
from keras_elmo.training.build import (
    count_steps,
    prepare_model,
    take_over,
    take_over_slots,
    usable_negatives,
)
from keras_elmo.training.checkpoint import (
    find_checkpoints,
    remove_leftovers,
    restore_checkpoint,
    save_checkpoint,
)
from keras_elmo.training.perplexity import perplexity_of_batches
from keras_elmo.training.processes import check_agreement, processes
from keras_elmo.training.progress import Progress
from keras_elmo.training.recipes import Settings, settings_of
from keras_elmo.training.watch import StopAfter, StopAtNoNumber


@dataclass
class Position:
    """Where a run is: the next batch is number `step_in_epoch` of `epoch`."""

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    words: int = 0
    seconds: float = 0.0


def pretrain(
    corpus: Corpus | str | PathLike,
    run_dir: str | PathLike,
    recipe: str | Settings = "small",
    changes: dict | None = None,
    *,
    held_out: Corpus | None = None,
    init_from: str | PathLike | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    verbose: bool = True,
    model: ElmoBiLM | None = None,
    watch: Callable[[dict], bool] | None = None,
) -> ElmoBiLM:
    """Trains an `ElmoBiLM`, or goes on with a run that was stopped in any way.

    Args:
        corpus: `Corpus`, or the path of one that `prepare` made.
        run_dir: the run's directory. Where it holds this run, the run goes on from its
            last checkpoint, with the same batches and to the same numbers.
        recipe: name of one of `training.RECIPES`, or `Settings`.
        changes: {setting: value}, on top of the recipe.
        held_out: `Corpus` with the vocabulary of `corpus`, on which the perplexity is
            taken every `evaluate_steps` steps and at the end, or None.
        init_from: preset with a language model's head, of the sizes that the settings
            give, to start from; its words are found by name in the vocabulary.
        steps: int, steps in all after which to stop, or None for the end of the last
            epoch.
        seconds: float, wall time after which to stop, or None.
        verbose: bool. Progress on stderr.
        model: what `prepare_model` made of the settings and the corpus, for who needs
            the model before; or None.
        watch: called with each line of the log; training ends when it returns True.

    Returns:
        `ElmoBiLM`. `run_dir/preset` holds it.

    Raises:
        ArithmeticError: when the loss is no finite number, naming step, learning rate
            and last good checkpoint.
        ValueError: when `run_dir` holds another run, or the settings or the corpus do
            not fit.
    """
    corpus = corpus if isinstance(corpus, Corpus) else Corpus.read(Path(corpus))
    settings = settings_of(recipe, changes) if isinstance(recipe, str) else recipe
    facts = {
        "corpus": _facts_of(corpus),
        "init_from": None if init_from is None else str(init_from),
    }
    number, index = processes()
    path = Path(run_dir)
    if number > 1 and seconds is not None:
        raise ValueError(
            "With several processes `seconds` must be None, as their clocks differ: "
            f"give `steps`. Received: seconds={seconds!r}."
        )
    check_agreement(
        settings=settings,
        corpus=facts["corpus"],
        init_from=facts["init_from"],
        held_out=None if held_out is None else _facts_of(held_out),
        steps=steps,
    )
    writes = index == 0
    is_new = writes and not (path / run_directory.RUN_FILE).exists()
    if writes:
        run_directory.open_run(path, settings, facts)
    with run_directory.locked(path) if writes else contextlib.nullcontext():
        verbose = verbose and writes
        try:
            run = _Run(
                path, settings, corpus, held_out, init_from, verbose, model, watch
            )
        except BaseException:
            # A run that its settings do not allow must not stand in the way of others.
            if is_new:
                run_directory.discard_run(path)
            raise
        run.train(steps, seconds)
        return run.model


class _Run:
    """One process' work on a run's directory."""

    def __init__(
        self, path, settings, corpus, held_out, init_from, verbose, model, watch
    ):
        self.path, self.settings, self.corpus = path, settings, corpus
        self.held_out = held_out
        self.watch = watch or (lambda row: False)
        self.is_ended = False
        self.shards, self.shard = processes()
        self.writes = self.shard == 0
        self.checkpoints = path / run_directory.CHECKPOINTS
        self.num_negatives = usable_negatives(settings, corpus.vocabulary)
        self.total_steps = count_steps(settings, corpus)
        self.model = model or prepare_model(settings, corpus, self.total_steps)
        self.position = Position()
        if self.writes:
            for folder in (path, self.checkpoints):
                remove_leftovers(folder)
        # By the same name, the directory of one may be another than that of the others.
        seen = [checkpoint.name for checkpoint in find_checkpoints(self.checkpoints)]
        check_agreement(run_dir=seen)
        stored = restore_checkpoint(self.model, self.checkpoints)
        if stored is not None:
            fields = self.position.__dict__
            self.position = Position(**{name: stored[name] for name in fields})
        elif init_from is not None:
            # Not in the text above: a run that goes on has its own weights.
            source = ElmoBiLM.from_preset(init_from)
            found = take_over(self.model, source)
            words = source.backbone.vocabulary
            if take_over_slots(self.model, init_from, words):
                found["optimizer"] = "Adagrad goes on from its slots"
            _say(verbose, f"From {init_from}: {found}")
        if held_out is not None and stored is None and model is None and self.writes:
            warn_of_overlap(corpus, held_out)
        self.log = run_directory.Log(path, self.position.step) if self.writes else None
        self.progress = Progress(verbose)
        self._planned_epoch: int | None = None
        _say(
            verbose,
            f"{corpus.num_sentences:,} sentences, {corpus.num_tokens:,} tokens, "
            f"{len(corpus.vocabulary):,} words; {self.model.count_params():,} numbers "
            f"in the model; {settings.epochs} epochs of about "
            f"{self.total_steps // settings.epochs:,} steps"
            + (f"; goes on from step {self.position.step:,}" if stored else ""),
        )

    def train(self, steps, seconds):
        """Trains to the end, or to the first of `steps` and `seconds`."""
        settings, position = self.settings, self.position
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            while position.epoch < settings.epochs and not self.is_ended:
                left = self._plan_of(position.epoch).steps(settings.unroll)
                left -= position.step_in_epoch
                if left == 0:
                    position.epoch, position.step_in_epoch = position.epoch + 1, 0
                    continue
                until = [
                    left,
                    *(_to_multiple(position.step, n) for n in self._intervals()),
                    *([] if steps is None else [steps - position.step]),
                ]
                if min(until) <= 0 or (deadline and time.monotonic() > deadline):
                    break
                self._segment(min(until), deadline)
                if position.step % settings.checkpoint_steps == 0:
                    self._checkpoint()
            self._finish()
        finally:
            self.progress.close()
            if self.log is not None:
                self.log.close()

    def _intervals(self):
        settings = self.settings
        yield settings.log_steps
        yield settings.checkpoint_steps
        if self.held_out is not None:
            yield settings.evaluate_steps

    def _plan_of(self, epoch):
        if self._planned_epoch != epoch:
            settings = self.settings
            plan = StreamPlan(
                self.corpus.offsets, settings.batch_size, settings.seed, epoch
            )
            self._planned_epoch, self._plan = epoch, plan
            _say(
                self.progress.verbose,
                f"Epoch {epoch + 1} of {settings.epochs}: "
                f"{plan.steps(settings.unroll):,} steps",
            )
        return self._plan

    def _segment(self, steps, deadline):
        """Some steps, up to the next that the log or a checkpoint waits for."""
        settings, position = self.settings, self.position
        batches = StreamBatches(
            self.corpus,
            self.model.backbone,
            settings.batch_size,
            settings.unroll,
            seed=settings.seed,
            epoch=position.epoch,
            start=position.step_in_epoch,
            steps=steps,
            num_negatives=self.num_negatives,
            plan=self._plan_of(position.epoch),
            shards=self.shards,
            shard=self.shard,
        )
        words = settings.batch_size * settings.unroll
        watch = StopAtNoNumber(position.step, self.checkpoints)
        stop = StopAfter(deadline)
        self.progress.begin(position.step, self.total_steps, words)
        started = time.monotonic()
        history = self.model.fit(
            batches,
            shuffle=False,  # the order is the plan's
            verbose=0,
            callbacks=[watch, stop, self.progress.callback()],
        )
        took = time.monotonic() - started
        done = watch.steps
        position.step += done
        position.step_in_epoch += done
        position.words += done * words
        position.seconds += took
        row = {
            "step": position.step,
            "epoch": position.epoch + 1,
            "seconds": round(position.seconds, 1),
            "words": position.words,
            "words_per_second": round(done * words / took, 1),
            "learning_rate": learning_rate(self.model.optimizer),
            "loss": history.history["loss"][-1],
        }
        # Of the result too, however seldom it was looked at before.
        is_last = position.epoch == settings.epochs - 1 and (
            position.step_in_epoch
            == self._plan_of(position.epoch).steps(settings.unroll)
        )
        is_due = is_last or position.step % settings.evaluate_steps == 0
        if self.held_out is not None and is_due:
            row.update(self._held_out_perplexity())
        if self.log is not None:
            self.log.write(row)
        self.progress.show(row)
        self.is_ended = self.watch(row)

    def _held_out_perplexity(self):
        settings = self.settings
        batches = StreamBatches(
            self.held_out,
            self.model.backbone,
            settings.batch_size,
            settings.unroll,
            shuffle=False,
            fresh=True,
        )
        found = perplexity_of_batches(self.model, batches)
        return {name: round(found[name], 3) for name in found if name != "tokens"}

    def _checkpoint(self):
        if self.writes:
            save_checkpoint(self.model, dict(self.position.__dict__), self.checkpoints)

    def _finish(self):
        self._checkpoint()
        if not self.writes:
            return
        preset = self.path / run_directory.PRESET
        save_language_model(self.model, preset, overwrite=True)
        _say(self.progress.verbose, f"The model is in {preset}.")


def learning_rate(optimizer) -> float:
    """The rate of an optimizer's next step."""
    return float(keras.ops.convert_to_numpy(optimizer.learning_rate))


def _facts_of(corpus):
    """What tells a corpus from another, as JSON holds it."""
    return {
        "sentences": corpus.num_sentences,
        "tokens": corpus.num_tokens,
        "sha256": corpus.fingerprint(),
        "vocabulary": corpus.vocabulary.fingerprint(),
    }


def _to_multiple(number, step):
    return step - number % step


def _say(verbose, text):
    if verbose:
        print(text, file=sys.stderr, flush=True)

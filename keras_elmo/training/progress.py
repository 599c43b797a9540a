"""What a person sees of a training: one bar on stderr, and a line now and then."""

import sys

import keras
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Progress:
    """A bar of steps with words a second, on a terminal; lines alone elsewhere.

    Args:
        verbose: bool. False shows nothing.
    """

    def __init__(self, verbose):
        self.verbose = verbose
        self._bar = self._task = None

    def begin(self, step, total, words):
        """Makes the bar where there is none, for steps of so many words."""
        self._words = words
        if self._bar is None and self.verbose and sys.stderr.isatty():
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("", total=total, completed=step)
            self._bar.start()

    def callback(self):
        """The callback that moves the bar on."""
        return _Advance(self._bar, self._task)

    def show(self, row):
        """One line for a row of the log."""
        if not self.verbose:
            return
        rate = f"{row['words_per_second']:,.0f} words/s"
        text = f"step {row['step']:,}  loss {row['loss']:.4f}  {rate}"
        if "perplexity" in row:
            text += f"  held-out perplexity {row['perplexity']:.2f}"
        if self._bar is None:
            print(text, file=sys.stderr, flush=True)
            return
        if self._task is not None:
            self._bar.update(self._task, description=rate)
        if "perplexity" in row:
            self._bar.console.print(text)

    def close(self):
        """Ends the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class _Advance(keras.callbacks.Callback):
    def __init__(self, bar, task):
        super().__init__()
        self._bar, self._task = bar, task

    def on_train_batch_end(self, batch, logs=None):
        if self._bar is not None:
            self._bar.advance(self._task)

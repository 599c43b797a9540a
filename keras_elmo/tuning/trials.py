"""What trials came to: a line of the log each, and a table."""

import contextlib
import csv
import io
from collections.abc import Callable
from pathlib import Path

from keras_tuner.engine.trial import TrialStatus

from keras_elmo.files import atomic_path, read_json
from keras_elmo.tuning.hypermodel import RESERVED
from keras_elmo.tuning.oracles import MOST_FAILURES

RESULT_FILE = "result.json"
TABLE_FILE = "trials.csv"
# A failure's reason in the table and the log: its beginning.
MOST_CHARACTERS = 300


class Trials:
    """The trials of a search's directory.

    Args:
        folder: where each has a folder.
        oracle: what `make_oracle` gave.
        log: function of a line of text, or None.
    """

    def __init__(self, folder: Path, oracle, log: Callable[[str], None] | None):
        self._folder, self._oracle = folder, oracle
        self._log = log or (lambda line: None)
        self._told = len(oracle.end_order)

    def ids(self) -> list[str]:
        """The trials' ids, in the order they began."""
        return sorted(self._oracle.trials, key=int)

    def tell(self) -> None:
        """Logs the trials that have ended since the last call, and writes the table."""
        ended = self._oracle.end_order
        if self._told == len(ended):
            return
        name = self._oracle.objective.name
        for trial_id in ended[self._told :]:
            row = self.row(trial_id)
            told = f"{name} {row[name]:.6g}" if row[name] != "" else row["status"]
            best = self.best_row()
            if best is not None:
                told += f"  best {best[name]:.6g} (trial {best['trial']})"
            if row["seconds"] != "":
                told += f"  {row['seconds']} s"
            values = self._values(self._oracle.trials[trial_id])
            told += "".join(f"  {k}={_short(v)}" for k, v in values.items())
            self._log(f"trial {trial_id}  {told}")
            if row["message"]:
                self._log(f"trial {trial_id}  {row['message']}")
        self._told = len(ended)
        self.write()

    def row(self, trial_id: str) -> dict:
        """A trial's row of the table; what it has no value for is "".

        Args:
            trial_id: the trial's.
        """
        trial = self._oracle.trials[trial_id]
        found: dict = {}
        with contextlib.suppress(OSError, ValueError):
            found = read_json(self._folder / f"trial_{trial_id}" / RESULT_FILE)  # type: ignore[assignment]
        is_ended = trial_id in self._oracle.end_order
        status = found.get("status", trial.status.lower()) if is_ended else "running"
        row = {"trial": trial_id, "status": status}
        # A score came by way of a message in float32: the file has it whole.
        name = self._oracle.objective.name
        row[name] = found.get(name, trial.score) if status == "completed" else ""
        for key in ("parameters", "seconds", "worker"):
            row[key] = found.get(key, "") if is_ended else ""
        row.update(self._values(trial))
        message = found.get("message") or trial.message or ""
        row["message"] = " ".join(message.split())[:MOST_CHARACTERS]
        extra = {"status", "message", "parameters", "seconds", "worker"}
        if status == "completed":
            row.update({k: v for k, v in found.items() if k not in {*extra, *row}})
        return row

    def best_row(self) -> dict | None:
        """The row of the best completed trial, or None."""
        for trial in self._oracle.get_best_trials(1):
            if trial.status == TrialStatus.COMPLETED:
                return self.row(trial.trial_id)
        return None

    def rows(self) -> list[dict]:
        """The table's rows."""
        return [self.row(trial_id) for trial_id in self.ids()]

    def write(self) -> None:
        """Writes the table as a file beside the trials' folder."""
        rows = self.rows()
        # The reason last: it is long.
        columns = list(dict.fromkeys(k for row in rows for k in row if k != "message"))
        text = io.StringIO()
        writer = csv.DictWriter(text, [*columns, "message"], restval="")
        writer.writeheader()
        writer.writerows(rows)
        path = self._folder.parent / TABLE_FILE
        with atomic_path(path, overwrite=True) as temporary:
            temporary.write_text(text.getvalue(), encoding="utf-8", newline="")

    def check(self) -> None:
        """ValueError when the search ended since one trial after the other failed."""
        ended = self._oracle.end_order
        if self._oracle.failures >= MOST_FAILURES:
            last = self.row(ended[-1])
            raise ValueError(
                f"{MOST_FAILURES} trials failed one after the other, the last one: "
                f"{last['message']}"
            )
        if self.best_row() is None:
            reason = self.row(ended[-1])["message"] if ended else "there was none."
            raise ValueError(f"No trial has completed. The last one: {reason}")

    def _values(self, trial):
        """A trial's hyperparameters, in the order they are searched; "" where idle."""
        names = [hp.name for hp in self._oracle.hyperparameters.space]
        values = trial.hyperparameters.values
        found = {name: values[name] for name in names if name in values}
        found.update(
            {
                name.removeprefix(RESERVED): value
                for name, value in values.items()
                if name == f"{RESERVED}epochs"
            }
        )
        return found


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else value

"""What `keras-elmo tune` does."""

import dataclasses
import hashlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

import keras

from keras_elmo import checks
from keras_elmo.changes import read_changes, split_changes
from keras_elmo.data.corpus import Corpus
from keras_elmo.data.overlap import warn_of_overlap
from keras_elmo.files import atomic_path
from keras_elmo.tasks.kinds import TASKS
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.train import score_model
from keras_elmo.training.held_out import read_held_out
from keras_elmo.training.recipes import settings_of
from keras_elmo.training.run_directory import locked, open_described
from keras_elmo.tuning.bilm_hypermodel import BiLMHyperModel
from keras_elmo.tuning.chief import IP, PORT, role
from keras_elmo.tuning.oracles import TUNERS
from keras_elmo.tuning.ranges import as_text, read_ranges
from keras_elmo.tuning.report import write_report
from keras_elmo.tuning.search import Search
from keras_elmo.tuning.task_hypermodel import ElmoTaskHyperModel
from keras_elmo.tuning.workers import serve

SEARCH_FILE = "search.json"
CALL_FILE = "call.json"
BEST = "best"
BEST_FILE = "best.json"


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How a search is run.

    Attributes:
        tuner: "random", "hyperband" or "bayesian".
        max_trials: int, trials in all.
        ranges: path of a file of ranges, or None.
        only: names that are searched, or none for all.
        max_parameters: int, numbers in a model at most, or None.
        workers: int, worker processes on this machine; 0 for none but this one.
        worker_timeout: float, seconds without a sign after which one counts as dead.
        seed: int from 1, of what is tried.
        overwrite: bool. Begin anew where there is a search.
        verbose: bool. Tell each trial on stderr.
    """

    tuner: str = "random"
    max_trials: int = 10
    ranges: str | PathLike | None = None
    only: Sequence[str] = ()
    max_parameters: int | None = None
    workers: int = 0
    worker_timeout: float = 120.0
    seed: int = 1
    overwrite: bool = False
    verbose: bool = True

    def __post_init__(self):
        # Before files and models are read.
        checks.one_of("tuner", self.tuner, TUNERS)
        checks.positive_int("max_trials", self.max_trials)
        checks.positive_int("workers", self.workers, minimum=0)
        checks.positive_int("seed", self.seed)
        checks.positive_float("worker_timeout", self.worker_timeout)
        if self.max_parameters is not None:
            checks.positive_int("max_parameters", self.max_parameters)


def tune_bilm(
    corpus_dir: str | PathLike,
    output: str | PathLike,
    *,
    held_out: Sequence[str | PathLike],
    recipe: str = "small",
    changes: Iterable[str] = (),
    looks: int = 10,
    patience: int = 3,
    options: SearchOptions | None = None,
) -> dict:
    """Searches for the settings of a biLM with the lowest held-out perplexity.

    Args:
        corpus_dir: what `prepare` made.
        output: the search's directory, new or begun.
        held_out: text files to take perplexities on.
        recipe: name of a recipe, which the first trial has.
        changes: texts of the form "name=value": settings that are not searched.
        looks: int, how often a trial looks at the held-out text.
        patience: int, looks without a lower perplexity before a trial ends.
        options: `SearchOptions`.

    Returns:
        dict: the best trial, its perplexity, where its model is; {} for a worker.

    Raises:
        ValueError: when `output` holds another search, an argument is wrong, or no
            trial completes.
    """
    options = options or SearchOptions()
    changes = list(changes)
    set_by_hand = split_changes(changes)
    settings = settings_of(recipe, set_by_hand)
    ranges = _ranges(options)
    corpus = Corpus.read(Path(corpus_dir))
    text = read_held_out(held_out, corpus, settings.evaluate_tokens)
    warn_of_overlap(corpus, text)
    hypermodel = BiLMHyperModel(
        corpus,
        text,
        recipe,
        set_by_hand,
        ranges,
        options.only,
        looks=looks,
        patience=patience,
    )
    facts = {
        "corpus": {
            "sentences": corpus.num_sentences,
            "tokens": corpus.num_tokens,
            "vocabulary": corpus.vocabulary.fingerprint(),
        },
        "held_out": {"sentences": text.num_sentences, "tokens": text.num_tokens},
    }
    call = {
        "kind": "bilm",
        "corpus_dir": str(corpus_dir),
        "held_out": [str(path) for path in held_out],
        "recipe": recipe,
        "changes": changes,
        "looks": looks,
        "patience": patience,
    }
    again = ["pretrain", str(corpus_dir), "--output", "RUN_DIR", "--recipe", recipe]
    return _tune(hypermodel, output, options, facts, call, again)


def tune_task(
    task: str,
    train: str | PathLike,
    dev: str | PathLike,
    output: str | PathLike,
    *,
    model: str | PathLike,
    test: str | PathLike | None = None,
    changes: Iterable[str] = (),
    options: SearchOptions | None = None,
) -> dict:
    """Searches for the settings of a task model with the best score on `dev`.

    Args:
        task: a key of `TASKS`.
        train: file of examples.
        dev: file of examples that trials are scored on.
        output: the search's directory, new or begun.
        model: preset of the biLM.
        test: file of examples that the best model is scored on at the end, or None.
        changes: texts of the form "name=value": settings that are not searched.
        options: `SearchOptions`.

    Returns:
        dict: the best trial, its score, where its model is; {} for a worker.

    Raises:
        ValueError: when `output` holds another search, an argument is wrong, or no
            trial completes.
    """
    options = options or SearchOptions()
    changes = list(changes)
    set_by_hand = split_changes(changes)
    kind = TASKS[checks.one_of("task", task, tuple(TASKS))]
    ranges = _ranges(options)
    settings = TaskSettings(**read_changes(TaskSettings, set_by_hand))
    paths = {"train": train, "dev": dev, **({} if test is None else {"test": test})}
    examples = {part: kind.read(path, settings) for part, path in paths.items()}
    hypermodel = ElmoTaskHyperModel(
        task,
        examples["train"],
        examples["dev"],
        model,
        set_by_hand,
        ranges,
        options.only,
    )
    facts = {
        "task": task,
        "model": str(model),
        **{part: _fingerprint(paths[part], examples[part]) for part in paths},
    }
    call = {
        "kind": task,
        **{part: str(path) for part, path in paths.items()},
        "model": str(model),
        "changes": changes,
    }
    again = ["train-task", task, "--train", str(train), "--dev", str(dev)]
    again += ["--model", str(model), "--output", "MODEL.keras"]

    def score(path):
        """The scores that the file itself has: trials are scored in less precision."""
        best = keras.saving.load_model(path)
        return {
            f"{part}_{name}": value
            for part in ("dev", "test")
            if part in examples
            for name, value in score_model(
                kind, best, examples[part], settings.batch_size
            ).items()
        }

    return _tune(hypermodel, output, options, facts, call, again, score)


def run_call(call: dict) -> None:
    """Runs a search that another process has described, as one of its workers.

    Args:
        call: what that one's call file holds.
    """
    call = dict(call)
    options = SearchOptions(**call.pop("options"))
    kind, output = call.pop("kind"), call.pop("output")
    if kind == "bilm":
        tune_bilm(call.pop("corpus_dir"), output, **call, options=options)
    else:
        train, dev = call.pop("train"), call.pop("dev")
        tune_task(kind, train, dev, output, **call, options=options)


def _tune(hypermodel, output, options, facts, call, again, score=None):
    """Runs a search and writes what it found; a worker's part of it only runs.

    Args:
        hypermodel: what is searched.
        output: the search's directory.
        options: `SearchOptions`.
        facts: dict, what makes the search beside its settings: the data.
        call: dict, how another process gets the same hypermodel.
        again: list, the command that trains with given settings.
        score: function of the best model's path, for more scores; or None.
    """
    path, place = Path(output), role()

    def log(line):
        if options.verbose:
            print(line, file=sys.stderr, flush=True)

    def open_search():
        return Search(
            hypermodel,
            path,
            options.tuner,
            options.max_trials,
            max_parameters=options.max_parameters,
            seed=options.seed,
            worker_timeout=options.worker_timeout,
            log=log,
        )

    if place == "worker":
        open_search().search()
        return {}
    described = {
        **hypermodel.describe(),
        "ranges": {one.name: one.spec for one in hypermodel.ranges},
        "tuner": options.tuner,
        "max_parameters": options.max_parameters,
        "seed": options.seed,
        **facts,
    }
    if options.overwrite and (path / SEARCH_FILE).exists():
        shutil.rmtree(path)
    # As a file gives it back: lists, no tuples.
    open_described(path, SEARCH_FILE, json.loads(json.dumps(described)), "search")
    with locked(path):
        call["options"] = {**dataclasses.asdict(options), "workers": 0}
        _write(path / CALL_FILE, {**call, "output": str(path)})
        search = open_search()
        if place == "chief":
            address = os.environ[IP], int(os.environ[PORT])
            serve(search, path, options.workers, *address, log)
        elif options.workers:
            serve(search, path, options.workers, "127.0.0.1", 0, log)
        else:
            search.search()
        return _finish(search, path, again, score, log)


def _finish(search, path, again, score, log):
    """Puts the best model, the tables and the pictures where they belong."""
    target = path / f"{BEST}{search.hypermodel.suffix}"
    search.take_best(target)
    search.trials.write()
    row = search.trials.best_row()
    name = search.oracle.objective.name
    settings = search.best_settings()
    changed = search.hypermodel.changes_of(settings)
    for key, value in changed.items():
        again += ["--set", f"{key}={as_text(value)}"]
    rows = search.trials.rows()
    numbers = {
        status: sum(one["status"] == status for one in rows)
        for status in ("completed", "failed", "skipped")
    }
    summary = {
        "trials": len(rows),
        **numbers,
        "best_trial": row["trial"],
        name: row[name],
        **(score(target) if score else {}),
        "model": str(target),
        "settings": changed,
        "command": shlex.join(["keras-elmo", *again]),
    }
    _write(path / BEST_FILE, summary)
    write_report(path, search, rows, summary, log)
    return summary


def _write(path, value):
    with atomic_path(path, overwrite=True) as temporary:
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")


def _ranges(options):
    return None if options.ranges is None else read_ranges(options.ranges)


def _fingerprint(path, examples):
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    return {"examples": len(examples), "sha256": digest}

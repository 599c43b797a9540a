"""Whether tuning pays: parts of speech of UD English EWT, tuned against the defaults.

Searches for a tagger's settings on the training and development parts, then trains the
default settings and the best ones with several seeds and scores both on the test part,
which no trial has seen. Results go into a JSON file; the same command goes on.

    python scripts/bench/tune.py --data EVAL --model PRESET --output DIR --trials 30

The default settings have their learning rate, sizes and dropout from `TaskSettings`;
both have the same number of epochs at most and the same patience.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

from keras_elmo import ElmoBackbone
from keras_elmo.files import atomic_path
from keras_elmo.tasks.kinds import TASKS, Examples
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.train import Fitting, build_model
from keras_elmo.tuning import ElmoTaskHyperModel, Search, read_ranges

KIND = "token-classifier"
FILES = {part: f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")}


def first(examples, number):
    """The first examples, all of them for None."""
    return Examples(
        {"tokens": examples.texts["tokens"][:number]}, examples.gold[:number]
    )


def train_and_score(hypermodel, settings, sets, stored):
    """The accuracies of one training on the development and the test part."""
    backbone = hypermodel.backbone
    if settings.fine_tune:
        # What this one learns is not for the next one.
        backbone = ElmoBackbone.from_config(backbone.get_config())
        backbone.set_weights(hypermodel.backbone.get_weights())
    model = build_model(hypermodel.task, sets["train"], settings, backbone)
    fitting = Fitting(
        hypermodel.task, model, sets["train"], sets["dev"], settings, print, stored
    )
    found = fitting.run()
    test = fitting.score_model(sets["test"])
    return {"dev": found["accuracy"], "test": test["accuracy"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--tuner", default="random")
    parser.add_argument("--ranges", help=".json or .toml of ranges")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--limit", type=int, help="training sentences at most")
    options = parser.parse_args()

    fixed = {"epochs": options.epochs, "patience": 2}
    folder, task = options.data / "ud_english_ewt", TASKS[KIND]
    sets = {
        part: task.read(folder / name, TaskSettings()) for part, name in FILES.items()
    }
    sets["train"] = first(sets["train"], options.limit)
    hypermodel = ElmoTaskHyperModel(
        KIND,
        sets["train"],
        sets["dev"],
        options.model,
        fixed,
        read_ranges(options.ranges) if options.ranges else None,
    )
    options.output.mkdir(parents=True, exist_ok=True)
    search = Search(
        hypermodel,
        options.output / "search",
        tuner=options.tuner,
        max_trials=options.trials,
        log=lambda line: print(line, flush=True),
    )
    started = time.monotonic()
    search.search()
    path = options.output / "tune.json"
    results = json.loads(path.read_text("utf-8")) if path.exists() else {}
    best = search.best_settings()
    told = hypermodel.changes_of(best)
    if results.get("best") != told:
        results = {"best": told, "trial": search.best().trial_id, "runs": {}}
    results["search_seconds"] = round(time.monotonic() - started, 1)
    stored: dict = {}
    for name, settings in {"defaults": TaskSettings(**fixed), "tuned": best}.items():
        runs = results["runs"].setdefault(name, {})
        for seed in options.seeds:
            if str(seed) in runs:
                continue
            print(name, "seed", seed, flush=True)
            settings = replace(settings, seed=seed)
            runs[str(seed)] = train_and_score(hypermodel, settings, sets, stored)
            with atomic_path(path, overwrite=True) as temporary:
                temporary.write_text(json.dumps(results, indent=1), "utf-8")
    print(f"Best: trial {results['trial']}, {json.dumps(told)}")
    print("| | dev | test |\n|---|---|---|")
    for name, runs in results["runs"].items():
        cells = []
        for part in ("dev", "test"):
            values = [100 * run[part] for run in runs.values()]
            spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
            cells.append(f"{mean(values):.2f}{spread}")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

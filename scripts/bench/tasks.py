"""What ELMo is worth in tasks: scores by what of it a task is given.

Each task is trained with the same settings and several seeds on ELMo's learned mix, the
layers' mean, the top layer alone, the token vectors alone, random vectors of words that
are trained along (no ELMo), and with the biLM trained along. Results go into a JSON
file as they come: the same command again does what is missing. The table is printed.

    python scripts/bench/tasks.py --data EVAL --model PRESET --output tasks.json
    python scripts/bench/tasks.py --data EVAL --model PRESET --output tasks.json \
        --tasks qa --questions QUESTIONS
"""

import argparse
import hashlib
import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev

from keras_elmo import ElmoBackbone
from keras_elmo.files import atomic_path
from keras_elmo.tasks.command import static_embedding
from keras_elmo.tasks.kinds import TASKS, Examples, pair_examples
from keras_elmo.tasks.mcl_wic import read_mcl_wic
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.tasks.train import Fitting, build_model

VARIANTS = {
    "ELMo mix": {},
    "mean of layers": {"layers": "mean"},
    "top layer": {"layers": "top"},
    "token vectors": {"layers": 0},
    "no ELMo": None,
    "fine-tuned": {"fine_tune": True},
}
SETTINGS = TaskSettings(rnn_dim=64, epochs=10, patience=2, batch_size=32)
# Behind the epochs in which the biLM is held still, as many as those of the others.
FINE_TUNE = {"epochs": 5, "patience": 2}


def parts(examples, *shares):
    """Examples cut into consecutive parts of these shares."""
    ends = [round(sum(shares[:i]) * len(examples)) for i in range(len(shares) + 1)]
    return [
        Examples(
            {name: values[start:end] for name, values in examples.texts.items()},
            examples.gold[start:end],
            examples.offsets[start:end],
        )
        for start, end in pairwise(ends)
    ]


def read(kind, folder, settings, *names):
    """The examples of files."""
    return [TASKS[kind].read(folder / name, settings) for name in names]


def pos(data, settings):
    names = [f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")]
    return read("token-classifier", data / "ud_english_ewt", settings, *names)


def chunks(data, settings):
    train, test = read(
        "token-classifier", data / "conll2000", settings, "train.txt", "test.txt"
    )
    return [*parts(train, 0.9, 0.1), test]


def entities(data, settings):
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    return read("token-classifier", data / "wnut17", settings, *names)


def sentiment(data, settings):
    names = ("train.tsv", "dev.tsv", "test.tsv")
    return read("text-classifier", data / "sst2", settings, *names)


def questions(data, settings):
    settings = replace(settings, encoding="latin-1")
    train, test = read(
        "text-classifier", data / "qc", settings, "train.txt", "test.txt"
    )
    return [*parts(train, 0.9, 0.1), test]


def words_in_context(data, settings):
    found = []
    for part in ("training", "dev", "test"):
        files = [data / "mcl_wic" / f"{part}.en-en.{end}" for end in ("data", "gold")]
        found.append(pair_examples(read_mcl_wic(*files), "unicode"))
    return found


def answers(data, settings):
    names = ("train.json", "dev.json", "test.json")
    return read("question-answering", data, settings, *names)


# Name: the task, its reader, what differs from SETTINGS, the score that is told.
BENCH = {
    "pos": ("token-classifier", pos, {}, "accuracy"),
    "chunks": ("token-classifier", chunks, {}, "f1"),
    # Nothing but "O" is found for some epochs.
    "ner": (
        "token-classifier",
        entities,
        {"crf": True, "scheme": "IOB2", "epochs": 20},
        "f1",
    ),
    "sst2": ("text-classifier", sentiment, {}, "accuracy"),
    "trec": ("text-classifier", questions, {}, "accuracy"),
    "wic": ("pair-classifier", words_in_context, {}, "accuracy"),
    "qa": (
        "question-answering",
        answers,
        {"tokenizer": "unicode", "num_mixes": 2},
        "f1",
    ),
}


def run_one(kind, sets, settings, changes, backbone, stored):
    """Trains and scores one model; a dict of its scores on the test part."""
    train, dev, test = sets
    task = TASKS[kind]
    if changes is None:
        embedding, vocabulary = static_embedding("random", train, settings)
        model = build_model(task, train, settings, None, embedding, vocabulary)
    else:
        settings = replace(settings, **changes)
        if settings.fine_tune:
            settings = replace(settings, frozen_epochs=settings.epochs, **FINE_TUNE)
            # A copy: the next model must not get what this one has learned.
            weights = backbone.get_weights()
            backbone = ElmoBackbone.from_config(backbone.get_config())
            backbone.set_weights(weights)
        model = build_model(task, train, settings, backbone)
    fitting = Fitting(task, model, train, dev, settings, log=print, stored=stored)
    best = fitting.run()
    scores = {f"test_{k}": v for k, v in fitting.score(test).items()}
    scores.update({f"dev_{k}": v for k, v in best.items()})
    if hasattr(model.embedding, "mix_weights") and settings.layers == "mix":
        weights = model.embedding.mix_weights
        rows = weights if isinstance(weights, list) else [weights]
        scores["mix_weights"] = [row.tolist() for row in rows]
    return scores


def weights_hash(backbone):
    """What tells a model's weights from another's."""
    digest = hashlib.sha256()
    for weight in backbone.get_weights():
        digest.update(weight.tobytes())
    return digest.hexdigest()[:16]


def table(results):
    """Markdown: a row a variant, a column a task, mean and deviation over seeds."""
    names = [name for name in BENCH if name in results]
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for variant in VARIANTS:
        cells = []
        for name in names:
            metric = BENCH[name][3]
            runs = results[name].get(variant, {}).values()
            values = [run[f"test_{metric}"] for run in runs]
            # Exact match and F1 of answers are in percent already.
            values = [v if name == "qa" else 100 * v for v in values]
            cell = f"{mean(values):.1f}" if values else ""
            cells.append(cell + (f" ± {stdev(values):.1f}" if len(values) > 1 else ""))
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=Path, help="what make_questions.py wrote")
    parser.add_argument("--model", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", default=list(BENCH), choices=BENCH)
    parser.add_argument(
        "--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="in place of the task's own")
    parser.add_argument("--limit", type=int, help="training examples at most")
    options = parser.parse_args()
    results = {}
    if options.output.exists():
        results = json.loads(options.output.read_text("utf-8"))
    backbone = ElmoBackbone.from_preset(options.model)
    made_with = {
        "weights": weights_hash(backbone),
        "limit": options.limit,
        "epochs": options.epochs,
    }
    if results.setdefault("made with", made_with) != made_with:
        parser.error(
            f"{options.output} was made with {results['made with']}, not {made_with}: "
            "give another --output"
        )
    for name in options.tasks:
        kind, reader, changes, _ = BENCH[name]
        settings = replace(SETTINGS, **changes)
        if options.epochs:
            settings = replace(settings, epochs=options.epochs)
        data = options.questions if name == "qa" else options.data
        if data is None:
            print("qa needs --questions: passed over")
            continue
        sets = reader(data, settings)
        if options.limit and len(sets[0]) > options.limit:
            sets[0] = parts(sets[0], options.limit / len(sets[0]))[0]
        stored: dict = {}
        for variant in options.variants:
            done = results.setdefault(name, {}).setdefault(variant, {})
            for seed in options.seeds:
                if str(seed) in done:
                    continue
                started = time.monotonic()
                scores = run_one(
                    kind,
                    sets,
                    replace(settings, seed=seed),
                    VARIANTS[variant],
                    backbone,
                    stored,
                )
                scores["seconds"] = round(time.monotonic() - started, 1)
                done[str(seed)] = scores
                print(name, variant, seed, json.dumps(scores), flush=True)
                with atomic_path(options.output, overwrite=True) as temporary:
                    temporary.write_text(json.dumps(results, indent=1), "utf-8")
    print(table(results))


if __name__ == "__main__":
    main()

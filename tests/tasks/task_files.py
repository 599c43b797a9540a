"""Tiny files of the four tasks, which a tiny model learns something from."""

import json

import numpy as np

from tests.models_for_tests import character_backbone

THINGS = ["dog", "cat", "river", "bank", "house"]
DEEDS = ["sees", "likes", "builds"]
# Settings with which a run takes about a second.
FAST = {"rnn_dim": 4, "epochs": 2, "batch_size": 8, "dropout": 0.1, "seed": 3}
TASKS = (
    "token-classifier",
    "text-classifier",
    "pair-classifier",
    "question-answering",
)
PARTS = {"train": 24, "dev": 10, "test": 7}


def changes(**more):
    """Texts of `--set` for `FAST` and what is given."""
    return [f"{name}={value}" for name, value in {**FAST, **more}.items()]


def sentences(number, seed):
    """Sentences as "the dog sees the river ."."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        one, other = rng.choice(THINGS, 2)
        found.append(["the", str(one), str(rng.choice(DEEDS)), "the", str(other), "."])
    return found


def tag(token):
    """The tag of a token: spans of an article and a thing."""
    return {"the": "B-x"}.get(token, "I-x" if token in THINGS else "O")


def columns(found):
    """A file of tokens and tags."""
    rows = ["".join(f"{token} {tag(token)}\n" for token in row) for row in found]
    return "\n".join(rows)


def labelled(found):
    """A TSV of texts and labels."""
    return "".join(f"{' '.join(row)}\t{row[2][0]}\n" for row in found)


def pairs(found, targets=False):
    """A TSV of pairs: whether both begin with the same thing."""
    lines = []
    for one, other in zip(found, found[1:] + found[:1], strict=True):
        cells = [" ".join(one), " ".join(other), "yes" if one[1] == other[1] else "no"]
        lines.append("\t".join(cells + (["1", "1"] if targets else [])) + "\n")
    return "".join(lines)


def squad(found):
    """A JSON file of questions: what is seen, liked or built."""
    paragraphs = []
    for number, row in enumerate(found):
        context = " ".join(row)
        answer = {"answer_start": context.rindex(row[4]), "text": row[4]}
        entry = {
            "id": str(number),
            "question": f"What the {row[1]} {row[2]} ?",
            "answers": [answer],
        }
        paragraphs.append({"context": context, "qas": [entry]})
    return json.dumps({"version": "1.1", "data": [{"paragraphs": paragraphs}]})


WRITERS = dict(zip(TASKS, (columns, labelled, pairs, squad), strict=True))
ENDS = dict(zip(TASKS, ("txt", "tsv", "tsv", "json"), strict=True))


def write_files(folder, task, **options):
    """The task's files in a folder: dict of "train", "dev" and "test" to paths."""
    paths = {}
    for seed, (part, number) in enumerate(PARTS.items()):
        paths[part] = folder / f"{part}.{ENDS[task]}"
        text = WRITERS[task](sentences(number, seed), **options)
        paths[part].write_text(text, encoding="utf-8")
    return paths


def save_preset(path):
    """A preset of random weights; the path."""
    backbone = character_backbone()
    # Larger weights than Keras starts from: words differ, and a run learns in seconds.
    drawn = np.random.default_rng(0)
    backbone.set_weights(
        [
            drawn.normal(0.0, 0.5, w.shape).astype(w.dtype)
            for w in backbone.get_weights()
        ]
    )
    backbone.save_to_preset(path)
    return path


def names(folder):
    """The names of what lies in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())

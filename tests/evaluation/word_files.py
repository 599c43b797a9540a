"""Small files of word senses, tags and pairs, in the forms of the published ones."""

import json

import numpy as np

import keras_elmo
from tests.models_for_tests import character_backbone

# Sentences whose words tell the sense of "bank".
CONTEXTS = {
    "money": ["the bank lends money .", "a loan of the bank", "money in a bank ."],
    "river": ["the river has a bank .", "on the bank of a river", "a muddy bank ."],
}


def strong_backbone(**changes):
    """A backbone of random weights large enough that words differ by context."""
    backbone = character_backbone(**changes)
    drawn = np.random.default_rng(0)
    backbone.set_weights(
        [
            drawn.normal(0.0, 0.5, w.shape).astype(w.dtype)
            for w in backbone.get_weights()
        ]
    )
    return backbone


def save_language_model(path):
    """A preset with a softmax over the words of `CONTEXTS`; the path."""
    words = sorted({w for texts in CONTEXTS.values() for t in texts for w in t.split()})
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])
    backbone = strong_backbone()
    backbone.vocabulary = vocabulary
    keras_elmo.ElmoBiLM(backbone, len(vocabulary)).save_to_preset(path)
    return path


def write_senses(folder, words=("bank",), train=12, test=6):
    """Folders as CoarseWSD-20's; the folder."""
    folder.mkdir(exist_ok=True)
    for word in words:
        (folder / word).mkdir()
        names = {str(i): f"{word}_{sense}" for i, sense in enumerate(CONTEXTS)}
        (folder / word / "classes_map.txt").write_text(json.dumps(names))
        for part, number in {"train": train, "test": test}.items():
            data, gold = [], []
            for i in range(number):
                sense = i % 2
                tokens = list(CONTEXTS.values())[sense][i // 2 % 3].split()
                tokens.append(f"w{i}")  # no two sentences are equal
                data.append(f"{tokens.index('bank')}\t{' '.join(tokens)}\n")
                gold.append(f"{sense}\n")
            (folder / word / f"{part}.data.txt").write_text("".join(data))
            (folder / word / f"{part}.gold.txt").write_text("".join(gold))
    return folder


def write_tags(path, number=10):
    """A file of tokens and parts of speech; the path."""
    tags = {"the": "DET", "a": "DET", "bank": "NOUN", "river": "NOUN", ".": "PUNCT"}
    texts = [text for texts in CONTEXTS.values() for text in texts] * number
    rows = [
        "".join(f"{t} {tags.get(t, 'X')}\n" for t in text.split())
        for text in texts[:number]
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def write_pairs(path, number=12):
    """MCL-WiC's two files, each second pair of equal texts; the path of the first."""
    data, gold = [], []
    texts = list(CONTEXTS.values())
    for i in range(number):
        first, second = texts[0][i % 3], texts[i % 2][i % 3]
        entry = {"id": f"pair.{i}", "lemma": "bank", "pos": "NOUN"}
        for side, text in {"1": first, "2": second}.items():
            start = text.index("bank")
            entry |= {f"sentence{side}": text, f"start{side}": str(start)}
            entry |= {f"end{side}": str(start + 4)}
        data.append(entry)
        gold.append({"id": entry["id"], "tag": "FT"[i % 2 == 0]})
    path.write_text(json.dumps(data), encoding="utf-8")
    path.with_suffix(".gold").write_text(json.dumps(gold), encoding="utf-8")
    return path


def write_corpus(path, number=24):
    """Text with uses of "bank"; the path."""
    texts = [text for texts in CONTEXTS.values() for text in texts]
    lines = [f"{texts[i % 6]} w{i}" for i in range(number)]
    path.write_text("\n".join([*lines, "no such word here", ""]), encoding="utf-8")
    return path

"""The files that README.md's commands take, each of a few short sentences.

A reader has these of his own: a corpus, sentences, trees with tags, word senses. Each
sentence is drawn from a few patterns, and the same ones every time.
"""

import gzip
import json
import random

# Words of which one is drawn, and their tag. "bank" has one sense a group.
_NAME = "Anna|Peter|Maria|Omar|Paris|Lima/PROPN"
_PATTERNS = {
    "bank_river": [
        f"{_NAME} sat|slept|fished|rested/VERB on/ADP the|a|this/DET bank/NOUN of/ADP"
        " the/DET river|stream|canal/NOUN ./PUNCT",
        "the|a|every/DET muddy|green|steep/ADJ bank/NOUN was|is/AUX"
        " wet|flooded|cold/ADJ ./PUNCT",
    ],
    "bank_money": [
        f"{_NAME} paid|asked|left|sued/VERB the|a|this/DET bank/NOUN for/ADP a/DET"
        " loan|credit|card/NOUN ./PUNCT",
        "the|a|every/DET bank/NOUN lends|keeps|owes/VERB money|gold|savings/NOUN to/ADP"
        f" {_NAME} ./PUNCT",
    ],
}


def _tagged(number, seed):
    """Each (words, tags, sense) of so many sentences."""
    drawn = random.Random(seed)
    for i in range(number):
        sense = list(_PATTERNS)[i % 2]
        slots = [s.split("/") for s in drawn.choice(_PATTERNS[sense]).split()]
        words = [drawn.choice(words.split("|")) for words, _ in slots]
        yield words, [tag for _, tag in slots], sense


def _text(number, seed):
    return "".join(" ".join(words) + "\n" for words, _, _ in _tagged(number, seed))


def _conllu(number, seed):
    sentences = []
    for words, tags, _ in _tagged(number, seed):
        rows = zip(words, tags, strict=True)
        # number, form, lemma, tag, and six columns that nothing here reads
        sentences.append(
            "".join(
                f"{i}\t{w}\t_\t{t}" + "\t_" * 6 + "\n"
                for i, (w, t) in enumerate(rows, 1)
            )
        )
    return "\n".join(sentences) + "\n"


def _write_senses(folder):
    word = folder / "bank"
    word.mkdir(parents=True)
    names = dict(enumerate(_PATTERNS))
    (word / "classes_map.txt").write_text(json.dumps(names))
    for part, number, seed in (("train", 60, 5), ("test", 30, 6)):
        uses = [(words, sense) for words, _, sense in _tagged(number, seed)]
        (word / f"{part}.data.txt").write_text(
            "".join(f"{words.index('bank')}\t{' '.join(words)}\n" for words, _ in uses)
        )
        (word / f"{part}.gold.txt").write_text(
            "".join(f"{list(_PATTERNS).index(sense)}\n" for _, sense in uses)
        )


def write_files(folder):
    """Writes all of them into a folder that holds none of them."""
    for name, number, seed in (
        ("corpus", 400, 0),
        ("sentences", 60, 1),
        ("dev", 60, 2),
    ):
        (folder / f"{name}.txt").write_text(_text(number, seed))
    (folder / "text").mkdir()
    for i in range(2):
        path = folder / "text" / f"{i}.txt.gz"
        path.write_bytes(gzip.compress(_text(150, 10 + i).encode(), mtime=0))
    for name, number, seed in (("train", 80, 3), ("dev", 30, 2), ("test", 30, 4)):
        (folder / f"{name}.conllu").write_text(_conllu(number, seed))
    _write_senses(folder / "CoarseWSD-20")

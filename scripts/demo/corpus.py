"""English that every Python has on board: its language reference and docstrings."""

import ast
import pathlib
import random
import re
import sysconfig

from keras_elmo.text import unicode_tokenize

_SENTENCE_END = re.compile(r"(?<=[a-z0-9)'\"][.!?])\s+(?=[A-Z])")
# Code, directives, tables and headings.
_NO_TEXT = re.compile(r"\s*(>>>|\.\.\.|\.\. |[-=*+|~^]{3,})")
_WORDS = re.compile(r"[A-Za-z]+")


def sections():
    """(name, text) of each topic of the reference and each module's docstrings."""
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield f"topic {name}", topics[name]
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).parts
        if {"site-packages", "test", "tests", "idlelib", "lib2to3"} & set(parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        texts = [
            text
            for node in ast.walk(tree)
            if isinstance(
                node,
                ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
            )
            and (text := ast.get_docstring(node))
        ]
        if texts:
            yield "module " + ".".join(parts), "\n\n".join(texts)


def sentences(text):
    """Token lists of the sentences of a text that read as English."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        # Code, tables, signatures and headings are no sentences.
        if any(
            re.match(r"\s*(>>>|\.\.\.|\.\. |[-=*+|~^]{3,})", line) for line in lines
        ):
            continue
        flat = " ".join(" ".join(lines).split())
        flat = re.sub(r"[*`]+", "", flat)
        for sentence in _SENTENCE_END.split(flat):
            tokens = unicode_tokenize(sentence)
            words = sum(bool(_WORDS.fullmatch(token)) for token in tokens)
            if 5 <= len(tokens) <= 60 and words >= 0.7 * len(tokens):
                found.append(tokens)
    return found


def corpus(held_out=0.06, seed=0):
    """(training, held-out) sentences: held out by section, and none in both."""
    every = [(name, sentences(text)) for name, text in sections()]
    random.Random(seed).shuffle(every)
    total = sum(len(found) for _, found in every)
    train, dev = {}, {}
    for _, found in every:
        part = dev if len(dev) < held_out * total else train
        part.update((tuple(tokens), None) for tokens in found)
    return list(train), [tokens for tokens in dev if tokens not in train]

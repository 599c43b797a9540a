"""Dependency trees of a CoNLL-U file, with each word's place in its sentence's text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike

from keras_elmo.lines import read_lines

_COLUMNS = 10


@dataclass
class Word:
    """One syntactic word: `text[start:end]` of its sentence is what is seen of it."""

    form: str
    lemma: str
    upos: str
    feats: dict[str, str]
    head: int  # index of the head from 0, -1 for the root
    deprel: str
    misc: dict[str, str]
    start: int = 0
    end: int = 0

    @property
    def relation(self) -> str:
        """The relation without its subtype: `obl` of `obl:agent`."""
        return self.deprel.partition(":")[0]


@dataclass
class Tree:
    """A sentence: its text, its words, and the document it stands in."""

    document: str
    text: str
    words: list[Word]
    children: list[list[int]] = field(default_factory=list)

    def subtree(self, index: int) -> list[int]:
        """The indices of a word and all below it, in order."""
        found, left = [], [index]
        while left:
            at = left.pop()
            found.append(at)
            left += self.children[at]
        return sorted(found)

    def child(self, index: int, *relations: str) -> int | None:
        """The first dependent of one of these relations, with subtype, or None."""
        for child in self.children[index]:
            if self.words[child].deprel in relations:
                return child
        return None


def read_trees(path: str | PathLike) -> Iterator[Tree]:
    """The trees of a CoNLL-U file.

    `# newdoc` starts a document; `# text` must be what the forms and `SpaceAfter=No`
    say. Words inside a multiword token have their own place where their forms make up
    the token's, else the token's. Empty nodes are left out.

    Raises:
        ValueError: for a broken line, an unknown head, a circle, or another `# text`.
    """
    document, comments, rows = "", {}, []
    # A last blank line ends the last sentence, whether the file has one or not.
    for number, line in enumerate([*read_lines(path), ""], 1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            comments[key.strip()] = value.strip()
        elif line.strip():
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                raise ValueError(f"`{path}` line {number}: not {_COLUMNS} columns.")
            rows.append(columns)
        elif rows:
            if "newdoc id" in comments or "newdoc" in comments:
                document = comments.get("newdoc id", f"line {number}")
            try:
                yield _tree(document, comments.get("text", ""), rows)
            except ValueError as error:
                raise ValueError(
                    f"`{path}`, the sentence before line {number}: {error}"
                ) from None
            comments, rows = {}, []


def _tree(document, text, rows):
    words, surface, inside = [], [], 0
    for name, form, lemma, upos, _, feats, head, deprel, _, misc in rows:
        if "." in name:
            continue  # an empty node
        values = _values(misc)
        if "-" in name:
            surface.append((form, values))
            inside = int(name.partition("-")[2])
            continue
        if int(name) != len(words) + 1:
            raise ValueError(f"word {name} stands where {len(words) + 1} should.")
        if int(name) > inside:
            surface.append((form, values))
        surface_index = len(surface) - 1
        word = Word(form, lemma, upos, _values(feats), int(head) - 1, deprel, values)
        words.append((word, surface_index))
    _place(words, surface, text)
    tree = Tree(document, text, [word for word, _ in words])
    _hang(tree)
    return tree


def _place(words, surface, text):
    """Gives each word its place in the text, which must be that of the tokens."""
    position = 0
    for index, (form, values) in enumerate(surface):
        start, position = position, position + len(form)
        if text[start:position] != form:
            raise ValueError(
                f"{form!r} is not at {start} of its text, but {text[start:position]!r}."
            )
        mine = [word for word, at in words if at == index]
        split = "".join(word.form for word in mine) == form
        for word in mine:
            word.start, word.end = start, start + len(word.form) if split else position
            start = word.end if split else start
        # Mostly one space, but a no-break space or several are white space too.
        rest = text[position:]
        gap = len(rest) - len(rest.lstrip())
        if index + 1 < len(surface) and (gap > 0) != (values.get("SpaceAfter") != "No"):
            raise ValueError(f"white space after {form!r} is not as SpaceAfter says.")
        position += gap
    if position != len(text):
        raise ValueError(f"its text goes on: {text[position:]!r}.")


def _hang(tree):
    """Lists each word's dependents; refuses what is no tree."""
    count = len(tree.words)
    tree.children = [[] for _ in range(count)]
    roots = []
    for index, word in enumerate(tree.words):
        if not -1 <= word.head < count:
            raise ValueError(f"word {index + 1} has the head {word.head + 1}.")
        (roots if word.head < 0 else tree.children[word.head]).append(index)
    # Words in a circle hang on no root.
    if len(roots) != 1 or len(tree.subtree(roots[0])) != count:
        raise ValueError("its heads make no tree with one root.")


def _values(column):
    """`Number=Sing|Person=3` as a dict."""
    pairs = (item.partition("=") for item in column.split("|") if "=" in item)
    return {key: value for key, _, value in pairs}

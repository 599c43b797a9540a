"""Clauses of a dependency tree that a question can be made of."""

from collections.abc import Iterable
from dataclasses import dataclass

from trees import Tree
from word_lists import FACT_MARKS, LINKING, NO_FACTS, STRANDED, TITLES

# Behind the verb these stay in the question, and behind a noun or adjective these too.
_KEPT = {"obj", "iobj", "obl", "xcomp", "ccomp", "compound", "advmod", "fixed"}
_KEPT_NOMINAL = _KEPT | {"nmod", "acl", "flat", "nummod"}
# Slips of the pen and lists: such a clause is no sentence.
_BROKEN = {"goeswith", "reparandum", "orphan", "dep", "list", "dislocated", "discourse"}


@dataclass(frozen=True)
class Clause:
    """The parts of a clause, as indices of its tree's words."""

    tree: Tree
    head: int  # the verb, or the noun or adjective behind a copula
    subject: int
    subject_words: list[int]
    auxiliaries: list[int]  # the copula included
    middle: list[int]  # adverbs between subject and verb
    rest: list[int]  # the head and what is kept behind it
    negated: bool


@dataclass(frozen=True)
class Names:
    """Words that are known to name a person, and words that are known not to."""

    persons: frozenset[str]
    places: frozenset[str]


def find_names(trees: Iterable[Tree]) -> Names:
    """The names of a treebank.

    People: proper nouns with a title, or in a flat name, which the treebank keeps for
    people's names and foreign ones (others are compounds). Places: proper nouns behind
    "in" or "into". What is both is a place, unless it has a title.
    """
    titled, flat_names, places = set(), set(), set()
    for tree in trees:
        for index, word in enumerate(tree.words):
            if word.upos != "PROPN" or word.form in TITLES or len(word.form) < 3:
                continue
            parts = [
                tree.words[child].form
                for child in tree.children[index]
                if tree.words[child].deprel == "flat"
                and tree.words[child].upos == "PROPN"
            ]
            if parts:
                flat_names.update([word.form, *parts])
            if has_title(tree, index):
                titled.update([word.form, *parts])
            case = tree.child(index, "case")
            if case is not None and tree.words[case].lemma in ("in", "into"):
                places.update([word.form, *parts])
    persons = (flat_names - places) | titled
    return Names(frozenset(persons), frozenset(places - persons))


def has_title(tree: Tree, index: int) -> bool:
    """Whether a noun has a word such as "Mr." on it."""
    return any(
        tree.words[child].deprel in ("nmod:desc", "compound")
        and tree.words[child].form in TITLES
        for child in tree.children[index]
    )


def find_clauses(tree: Tree) -> list[Clause]:
    """The clauses of a sentence that state something, but for broken ones."""
    if tree.words[-1].form in ("?", ":"):
        return []
    clauses = []
    for head in range(len(tree.words)):
        if _states(tree, head):
            clause = _clause(tree, head)
            if clause is not None:
                clauses.append(clause)
    return clauses


def trim(tree: Tree, indices: list[int]) -> list[int]:
    """Indices without punctuation at either end."""
    while indices and tree.words[indices[-1]].upos == "PUNCT":
        indices = indices[:-1]
    while indices and tree.words[indices[0]].upos == "PUNCT":
        indices = indices[1:]
    return indices


def _states(tree, head):
    """Whether the clause of a word is told as a fact."""
    word = tree.words[head]
    if word.relation == "root":
        return True
    if word.relation not in ("conj", "parataxis", "ccomp", "advcl"):
        return False
    marks = [c for c in tree.children[head] if tree.words[c].deprel == "mark"]
    if any(tree.words[mark].form.lower() not in FACT_MARKS for mark in marks):
        return False
    if word.relation == "advcl" and not marks:
        return False
    if word.relation == "ccomp" and (
        _negated(tree, word.head) or tree.words[word.head].lemma in NO_FACTS
    ):
        return False
    return _states(tree, word.head)


def _is_broken(word):
    return word.relation in _BROKEN or word.feats.get("Typo") == "Yes"


def _negated(tree, head):
    return any(tree.words[c].lemma in ("not", "never") for c in tree.children[head])


def _clause(tree, head):
    word, copula = tree.words[head], tree.child(head, "cop")
    if (word.upos != "VERB" and copula is None) or word.feats.get("Mood") == "Imp":
        return None
    subject, shared = _subject(tree, head)
    if subject is None:
        return None
    subject_words = trim(tree, tree.subtree(subject))
    auxiliaries, middle = [], []
    first = head if copula is None else copula
    for child in tree.children[head]:
        relation = tree.words[child].relation
        if not subject < child < head:
            continue
        if relation in ("aux", "cop"):
            auxiliaries.append(child)
        elif relation == "advmod" and child < first:
            middle += tree.subtree(child)
        elif child < first and relation not in ("obl", "punct") and not shared:
            return None
    # Before its subject an auxiliary asks or wishes.
    if any(
        tree.words[c].relation == "aux" and c < subject for c in tree.children[head]
    ):
        return None
    rest = _rest(tree, head, copula)
    used = [*subject_words, *auxiliaries, *middle, *rest]
    if not rest or any(_is_broken(tree.words[index]) for index in used):
        return None
    case = tree.child(head, "case")
    if copula is not None and case is not None and tree.words[case].lemma in STRANDED:
        return None  # "The request was for two": nobody asks "what was for two".
    return Clause(
        tree=tree,
        head=head,
        subject=subject,
        subject_words=subject_words,
        auxiliaries=auxiliaries,
        middle=sorted(middle),
        rest=rest,
        negated=_negated(tree, head),
    )


def _subject(tree, head):
    """(the subject before a head or None, whether it is that of the clause before)."""
    word = tree.words[head]
    subjects = [
        c
        for c in tree.children[head]
        if tree.words[c].relation in ("nsubj", "csubj", "expl")
    ]
    if not subjects and word.relation == "conj" and word.feats.get("VerbForm") == "Fin":
        subject, _ = _subject(tree, word.head)
        return subject, True
    if len(subjects) != 1 or subjects[0] > head:
        return None, False
    if tree.words[subjects[0]].deprel not in ("nsubj", "nsubj:pass"):
        return None, False
    return subjects[0], False


def _rest(tree, head, copula):
    """What is kept from the head, or from behind its copula, on; empty if nothing."""
    kept = [head]
    if copula is not None:
        for child in tree.children[head]:
            if copula < child < head:
                if tree.words[child].relation in ("punct", "cc", "parataxis", "advcl"):
                    return []
                kept += tree.subtree(child)
    for child in tree.children[head]:
        if child < head:
            continue
        word = tree.words[child]
        allowed = _KEPT if copula is None else _KEPT_NOMINAL
        if word.relation not in allowed or word.lemma in LINKING:
            break
        kept += tree.subtree(child)
    kept.sort()
    # Crossing branches would come in another order.
    return kept if kept[-1] - kept[0] + 1 == len(kept) else []

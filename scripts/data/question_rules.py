"""Rules that turn clauses into questions.

A clause is a verb, or a noun or adjective with a copula, with a subject before it: the
root of a sentence, and what is told as a fact beside or below it (`clauses.py`). Its
question is the clause with a wh-word in place of one dependent; that dependent's words
are the answer:

- subject: "Who/What VERB REST?"
- object: "Who/What AUX SUBJECT VERB REST?"
- preposition: "Who/What AUX SUBJECT VERB REST for?", with the prepositions of
  `STRANDED`, "by" of a passive among them.
- where: "Where AUX SUBJECT VERB REST?", for a dependent or a predicate behind "in" or
  "at" whose head is a name that is no person's, or a noun of `PLACES`.
- when: the same with "When" for a noun of `TIMES`, a year or a clock time, behind "in",
  "at" or "on", or "last week" and its like.

REST is what follows the verb up to the first comma, adverbial clause or conjunct.
Where there is no auxiliary, a form of "do" and the lemma are put in. Answers have no
preposition before them. They are short, no pronouns, and no words of `VAGUE`. Questions
hold no pronoun that points out of them ("it", "they", "this"), and a noun and another
word of content at least, so that they say which sentence is meant.
"""

import re
from dataclasses import dataclass, replace

from clauses import Names, find_clauses, has_title, trim
from trees import Tree, Word
from word_lists import (
    AIMING_VERBS,
    LIGHT_VERBS,
    PERSONS,
    PLACES,
    STRANDED,
    TIME_WORDS_BEFORE,
    TIMES,
    TIMES_ALONE,
    TITLES,
    VAGUE,
)

MAX_ANSWER_WORDS = 8
MAX_QUESTION_WORDS = 18
# What is left of an auxiliary behind an apostrophe, by its lemma.
_FULL: dict[str, dict[str, str]] = {
    "'s": {"be": "is", "have": "has"},
    "'re": {"be": "are"},
    "'m": {"be": "am"},
    "'ve": {"have": "have"},
    "'ll": {"will": "will"},
    "'d": {"have": "had", "would": "would", "will": "would"},
}
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does", "am": "is"}
_YEAR = re.compile(r"(1[5-9]|20)\d\d(s|'s)?|\d0s")
_CLOCK = re.compile(r"\d{1,2}(:\d\d){1,2}")


@dataclass(frozen=True)
class Asked:
    """A question on one sentence; the answer is `text[start:end]` of the sentence."""

    kind: str
    question: str
    start: int
    end: int


def ask(tree: Tree, names: Names) -> list[Asked]:
    """The questions that the rules make of a sentence."""
    rules = (_ask_subject, _ask_object, _ask_preposition, _ask_place_time)
    return [
        asked
        for clause in find_clauses(tree)
        for rule in rules
        for asked in rule(clause, names)
    ]


def _ask_subject(clause, names):
    tree, head = clause.tree, clause.tree.words[clause.head]
    wh = _wh(tree, clause.subject, names)
    if tree.words[clause.subject].upos == "PROPN" and head.lemma in PERSONS:
        wh = "Who"  # "Miramar was a famous trainer."
    if wh is None or not _can_answer(tree, clause.subject, clause.subject_words):
        return []
    words = sorted({*clause.auxiliaries, *clause.middle, *clause.rest})
    # "What are the best places?" agrees with what follows.
    plural = head.upos in ("NOUN", "PROPN") and head.feats.get("Number") == "Plur"
    changed = {} if plural else _agreement(tree, words)
    for index in clause.auxiliaries[:1]:
        changed.setdefault(index, _in_full(tree.words[index]))
    return _asked("subject", clause, [wh], [], words, clause.subject_words, changed)


def _ask_object(clause, names):
    tree = clause.tree
    obj = tree.child(clause.head, "obj")
    # With a second verb the object is that one's subject: "made us wait".
    if obj is None or tree.child(clause.head, "xcomp", "ccomp") is not None:
        return []
    if not tree.children[obj] and tree.words[clause.head].lemma in LIGHT_VERBS:
        return []
    wh, words = _wh(tree, obj, names), trim(tree, tree.subtree(obj))
    if wh is None or obj < clause.head or not _can_answer(tree, obj, words):
        return []
    return _inverted("object", clause, wh, words, words)


def _ask_preposition(clause, names):
    tree, found = clause.tree, []
    for index in tree.children[clause.head]:
        word, words = tree.words[index], trim(tree, tree.subtree(index))
        if word.relation != "obl" or _case(tree, index, words) not in STRANDED:
            continue
        wh, answer = _wh(tree, index, names), words[1:]
        if wh is None or not _can_answer(tree, index, answer):
            continue
        # "looking to firms to build it": without what follows it would mean another.
        if any(
            child > index and tree.words[child].relation in ("advcl", "xcomp", "ccomp")
            for child in tree.children[clause.head]
        ):
            continue
        # The preposition ends the question.
        rest = [kept for kept in clause.rest if kept <= words[0]]
        if words[0] in rest:
            shorter = replace(clause, rest=rest)
            found += _inverted("preposition", shorter, wh, answer, answer)
    return found


def _ask_place_time(clause, names):
    tree, found = clause.tree, []
    if tree.child(clause.head, "cop") is not None:
        candidates = [clause.head]
    else:
        candidates = tree.children[clause.head]
    for index in candidates:
        if index == clause.head:
            words = trim(tree, clause.rest)
        else:
            words = trim(tree, tree.subtree(index))
        if index != clause.head and tree.words[index].relation != "obl":
            continue
        kind = _place_or_time(tree, index, words, names)
        if kind is None:
            continue
        answer = words if _case(tree, index, words) is None else words[1:]
        if _can_answer(tree, index, answer):
            found += _inverted(kind, clause, kind.capitalize(), answer, words)
    return found


def _case(tree, index, words):
    """The preposition that opens a noun's words, "" for another order, or None."""
    cases = [c for c in tree.children[index] if tree.words[c].deprel == "case"]
    if not cases:
        return None
    return tree.words[cases[0]].form.lower() if cases == words[:1] else ""


def _place_or_time(tree, index, words, names):
    """What a dependent says: "where", "when" or None."""
    word = tree.words[index]
    lemma = word.lemma.lower().removeprefix("mid-")
    case = _case(tree, index, words)
    if case is None:
        before = tree.words[words[0]].form.lower()
        timely = lemma in TIMES_ALONE or before in TIME_WORDS_BEFORE
        is_time = word.deprel == "obl:unmarked" and lemma in TIMES and timely
        return "when" if is_time else None
    if case not in ("in", "at", "on"):
        return None
    if _YEAR.fullmatch(word.form) or _CLOCK.fullmatch(word.form):
        return "when"
    if lemma in TIMES:
        # "in two weeks" says how long.
        return None if tree.child(index, "nummod") is not None else "when"
    verb = tree.words[word.head].lemma if word.head >= 0 else ""
    if case == "on" or (case == "at" and verb in AIMING_VERBS):
        return None
    is_name = word.upos == "PROPN" and word.form in names.places
    return "where" if lemma in PLACES or is_name else None


def _inverted(kind, clause, wh, answer, dropped):
    """The question with an auxiliary before the subject."""
    tree, verb = clause.tree, clause.tree.words[clause.head]
    if clause.negated or any(
        tree.words[index].form in (",", "(", '"') for index in clause.subject_words
    ):
        return []
    if clause.auxiliaries:
        front, *others = clause.auxiliaries
        if tree.words[front].feats.get("VerbForm", "Fin") != "Fin":
            return []
        opening, changed = [wh, _in_full(tree.words[front])], {}
    elif (do := _do(verb)) is not None:
        opening, others, changed = [wh, do], [], {clause.head: verb.lemma}
    else:
        return []
    words = {*others, *clause.middle, *clause.rest} - set(dropped)
    return _asked(
        kind, clause, opening, clause.subject_words, sorted(words), answer, changed
    )


def _do(verb: Word):
    """The form of "do" that asks for a finite verb, or None."""
    if verb.feats.get("VerbForm") != "Fin":
        return None
    if verb.feats.get("Tense") == "Past":
        return "did"
    return "does" if _is_third_person(verb) else "do"


def _is_third_person(word):
    return word.feats.get("Number") == "Sing" and word.feats.get("Person") == "3"


def _agreement(tree, words):
    """The first finite verb as it goes with "who" and "what", by its index."""
    for index in words:
        word = tree.words[index]
        if word.feats.get("VerbForm") != "Fin" or word.upos not in ("AUX", "VERB"):
            continue
        form = _in_full(word)
        if form in _SINGULAR:
            return {index: _SINGULAR[form]}
        present = word.upos == "VERB" and word.feats.get("Tense") == "Pres"
        if present and not _is_third_person(word):
            return {index: _third_person(form)}
        break
    return {}


def _third_person(form):
    if re.search(r"(s|x|z|ch|sh|o)$", form):
        return form + "es"
    if re.search(r"[^aeiou]y$", form):
        return form[:-1] + "ies"
    return form + "s"


def _in_full(word: Word) -> str:
    """A verb in lower case, and what is left of one behind an apostrophe in full."""
    form = word.form.lower().replace("’", "'")
    return _FULL.get(form, {}).get(word.lemma, form)


def _wh(tree, index, names):
    """ "Who" or "What" for a noun, None where it is not known which."""
    word = tree.words[index]
    if word.lemma.lower() in TIMES:
        return None
    if word.upos == "NOUN":
        return "Who" if word.lemma in PERSONS else "What"
    if word.upos != "PROPN":
        return None
    if word.form in TITLES or has_title(tree, index):
        return "Who"
    parts = [c for c in tree.children[index] if tree.words[c].relation == "flat"]
    determined = tree.child(index, "det") is not None
    compound = tree.child(index, "compound") is not None
    # "UN Secretary General Kofi Annan", but not "the Bush plan" and "Bush Avenue".
    if parts or not (determined or compound):
        forms = {tree.words[i].form for i in (index, *parts)}
        if forms & names.persons:
            return "Who"
    acronym = word.form.isupper() and len(word.form) > 1
    plural = word.feats.get("Number") == "Plur"
    known = determined or compound or acronym or plural or word.form in names.places
    return "What" if known else None


def _can_answer(tree, head, words):
    """Whether words may be an answer: in a row, few, and naming something."""
    if not 0 < len(words) <= MAX_ANSWER_WORDS or words[-1] - words[0] + 1 != len(words):
        return False
    if tree.words[head].lemma.lower() in VAGUE:
        return False
    return not any(
        tree.words[index].relation in ("parataxis", "advcl", "ccomp")
        or tree.words[index].feats.get("PronType") in ("Int", "Neg")
        for index in words
    )


def _asked(kind, clause, opening, subject, words, answer, changed):
    """The question, in a list; an empty one where it would say too little."""
    tree = clause.tree
    used = [*subject, *words]
    if not 2 <= len(used) <= MAX_QUESTION_WORDS or set(used) & set(answer):
        return []
    if any(
        _points_away(tree.words[index])
        or tree.words[index].feats.get("PronType") == "Int"
        for index in used
    ):
        return []
    tags = [tree.words[i].upos for i in used if i not in clause.auxiliaries]
    nouns = sum(tag in ("NOUN", "PROPN", "NUM") for tag in tags)
    if nouns < 1 or nouns + sum(tag in ("ADJ", "VERB") for tag in tags) < 2:
        return []
    parts = (_text(tree, part, changed) for part in (subject, words) if part)
    text = " ".join([*opening, *parts]).rstrip(" ,;:-") + "?"
    if re.search(r'[.!?]["”]\?$', text):
        return []
    # A mark beside the gap belonged to what stood there.
    gaps = {index for index in (answer[0] - 1, answer[-1] + 1) if index in used}
    if any(tree.words[index].upos == "PUNCT" for index in gaps):
        return []
    start, end = tree.words[answer[0]].start, tree.words[answer[-1]].end
    said = tree.text[start:end]
    if any(
        part.count(pair[0]) != part.count(pair[1])
        for part in (text, said)
        for pair in ("()", "“”")
    ):
        return []
    if text.count('"') % 2 or said.count('"') % 2:
        return []
    if said.casefold() in text.casefold():
        return []
    return [Asked(kind, text, start, end)]


def _text(tree, indices, changed):
    """Words, spaced as in the sentence; its first word loses its capital."""
    text, before = "", None
    opening = next(i for i, word in enumerate(tree.words) if word.upos != "PUNCT")
    for index in indices:
        word = tree.words[index]
        form = changed.get(index, word.form)
        acronym = form.isupper() and len(form) > 1
        if index == opening and word.upos != "PROPN" and form != "I" and not acronym:
            form = form[0].lower() + form[1:]
        together = index - 1 == before and tree.words[index - 1].end == word.start
        text += form if before is None or together else " " + form
        before = index
    return text


def _points_away(word):
    """Whether a word means something that is named elsewhere."""
    if word.upos != "PRON" or word.feats.get("Poss") == "Yes":
        return False
    if word.feats.get("PronType") == "Prs":
        return word.feats.get("Person") == "3" and word.feats.get("Reflex") != "Yes"
    return word.feats.get("PronType") == "Dem"

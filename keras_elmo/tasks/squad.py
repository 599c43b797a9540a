"""Questions whose answers are spans of a text, in SQuAD's JSON."""

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from keras_elmo import checks
from keras_elmo.files import atomic_path, read_json
from keras_elmo.text.tokenizers import get_tokenizer

VERSION = "1.1"
_KINDS = {str: "a text", int: "an integer", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Question:
    """A question on a text.

    Args:
        id: str, unique in its file.
        question: str.
        context: str, the text that holds the answer.
        answers: tuple of (start_char, text) pairs, each an answer that counts as right:
            `context[start_char : start_char + len(text)] == text`, in Python's
            characters (code points).
    """

    id: str
    question: str
    context: str
    answers: tuple[tuple[int, str], ...]


def read_squad(
    path: str | os.PathLike, on_misplaced: str = "error", need_answers: bool = True
) -> list[Question]:
    """The questions of a JSON file in SQuAD's form, version 1.1 or 2.0.

    Questions marked `is_impossible`, of version 2.0, are left out, and one warning says
    how many: an extractor of spans has no answer to learn from them.

    Args:
        path: the file.
        on_misplaced: what happens when an answer's text does not stand at its
            `answer_start`. "error" refuses the file and says how many there are. "skip"
            leaves such answers out, and a question that has no other, and one warning
            says how many of both.
        need_answers: bool. Refuse a question without answers, as training and scoring
            must; False reads files of questions that are only to be answered.

    Returns:
        list of `Question`, in the order of the file.

    Raises:
        ValueError: when the file is no JSON, or lacks a key, holds a value of another
            type, an answer elsewhere than it says, or an id twice: with the file and
            the place in it, as `data[3].paragraphs[1].qas[0].answers[0]`.

    Example:
    ```python
    question = Question("q1", "Who slept?", "The cat slept.", ((0, "The cat"),))
    write_squad("questions.json", [question])
    assert read_squad("questions.json") == [question]
    ```

    Reference: Rajpurkar et al. 2016 (arXiv:1606.05250) and 2018 (arXiv:1806.03822).
    """
    if on_misplaced not in ("error", "skip"):
        raise ValueError(checks.received("on_misplaced", on_misplaced, "error or skip"))
    reader = _Reader(path, need_answers)
    questions = reader.read()
    if reader.misplaced and on_misplaced == "error":
        raise ValueError(
            f"`{path}`: {reader.misplaced[0]}. {len(reader.misplaced)} of "
            f"{reader.answers} answers are misplaced; offsets count characters (code "
            "points), not bytes or UTF-16 units. In Python "
            '`keras_elmo.tasks.read_squad(path, on_misplaced="skip")` leaves them out.'
        )
    if reader.misplaced:
        _warn(
            f"`{path}`: {len(reader.misplaced)} of {reader.answers} answers do not "
            f"stand where they say and were left out, and with them {reader.dropped} "
            f"questions that had no other. The first: {reader.misplaced[0]}."
        )
    if reader.impossible:
        _warn(
            f"`{path}`: {reader.impossible} questions are marked `is_impossible` and "
            f"were left out; {len(questions)} remain."
        )
    return questions


def write_squad(
    path: str | os.PathLike,
    questions: Iterable[Question],
    title: str = "",
    overwrite: bool = False,
) -> None:
    """Writes questions in the form of SQuAD 1.1, which `read_squad` reads back.

    Questions in a row that have one context share a paragraph.

    Args:
        path: the file to make.
        questions: the questions, in their order.
        title: str, the title of the one article.
        overwrite: bool. Replace a file that is there.

    Raises:
        ValueError: when two questions have one id, or an answer is not in its context
            where it says. Nothing is written then.
        FileExistsError: when `path` exists and `overwrite` is False.
    """
    questions, seen = list(questions), set()
    for question in questions:
        if question.id in seen:
            raise ValueError(f"The id {question.id!r} must be that of one question.")
        seen.add(question.id)
        for start, text in question.answers:
            if not _stands_at(question.context, start, text):
                raise ValueError(
                    f"The answer {text!r} of question {question.id!r} must stand in "
                    f"its context at {start}."
                )
    paragraphs = [
        {"context": context, "qas": [_entry(question) for question in group]}
        for context, group in groupby(questions, lambda question: question.context)
    ]
    value = {"version": VERSION, "data": [{"title": title, "paragraphs": paragraphs}]}
    with atomic_path(path, overwrite) as temporary:
        # ASCII escapes: text may hold lone surrogates, which UTF-8 cannot.
        temporary.write_text(json.dumps(value), encoding="ascii")


def tokenize_with_offsets(
    text: str, splitter: str = "unicode"
) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens of a text and where each stands in it.

    Args:
        text: str.
        splitter: "whitespace" or "unicode", as `ElmoTokenizer` takes it.

    Returns:
        (tokens, offsets): a list of str and a list of (start, end) of the same length,
        with `text[start:end] == token` for each.

    Raises:
        ValueError: when `splitter` is none of these.

    Example:
    ```python
    tokens, offsets = tokenize_with_offsets("Who? Me.", "unicode")
    assert offsets == [(0, 3), (3, 4), (5, 7), (7, 8)]
    ```
    """
    tokens, offsets, end = get_tokenizer(splitter)(text), [], 0
    for token in tokens:
        # Only white space and NUL are dropped, and no token starts with one of those
        # that its tokenizer drops: the next place it is found at is its own.
        start = text.index(token, end)
        end = start + len(token)
        offsets.append((start, end))
    return tokens, offsets


def answer_tokens(
    offsets: Sequence[tuple[int, int]], start_char: int, text: str
) -> tuple[int, int]:
    """The first and the last token that share a character with an answer.

    Args:
        offsets: (start, end) of each token of the context, in order.
        start_char: int, the answer's place in the context.
        text: str, the answer.

    Returns:
        (first, last), both in the answer.

    Raises:
        ValueError: when no token shares a character with the answer.
    """
    end_char = start_char + len(text)
    inside = [
        index
        for index, (start, end) in enumerate(offsets)
        if start < end_char and end > start_char
    ]
    if not inside:
        raise ValueError(
            f"The answer {text!r} at {start_char} must hold a token of its context."
        )
    return inside[0], inside[-1]


def best_span(start_logits, end_logits, max_tokens: int = 30) -> tuple[int, int]:
    """The span whose first and last token have the highest sum of logits.

    Args:
        start_logits: float, (time,), one a token; -inf where no answer may start.
        end_logits: float, (time,), the same for the last token.
        max_tokens: int, the longest span.

    Returns:
        (first, last) with `first <= last < first + max_tokens`. Of equal sums the one
        that starts first counts, then the shorter one.

    Raises:
        ValueError: when the shapes are no two equal (time,), time at least 1, or a
            logit is NaN or +inf, or no span has a finite sum.
    """
    max_tokens = checks.positive_int("max_tokens", max_tokens)
    starts = np.asarray(start_logits, dtype="float64")
    ends = np.asarray(end_logits, dtype="float64")
    if starts.ndim != 1 or starts.shape != ends.shape or not starts.size:
        raise ValueError(
            "`start_logits` and `end_logits` must have the same shape, (time,). "
            f"Received: shapes {starts.shape} and {ends.shape}."
        )
    # `not (... < ...)` also refuses NaN.
    if not (starts.max() < np.inf and ends.max() < np.inf):
        raise ValueError("`start_logits` and `end_logits` must be numbers or -inf.")
    width = min(max_tokens, starts.size)
    padded = np.concatenate([ends, np.full(width - 1, -np.inf)])
    sums = starts[:, None] + np.lib.stride_tricks.sliding_window_view(padded, width)
    first, length = np.unravel_index(np.argmax(sums), sums.shape)
    if sums[first, length] == -np.inf:
        raise ValueError(
            "`start_logits` and `end_logits` must allow at least one span of "
            f"{max_tokens} tokens or fewer."
        )
    return int(first), int(first + length)


def _stands_at(context, start, text):
    return start >= 0 and context.startswith(text, start)


def _entry(question):
    return {
        "id": question.id,
        "question": question.question,
        "answers": [
            {"answer_start": start, "text": text} for start, text in question.answers
        ],
    }


def _warn(text):
    warnings.warn(text, UserWarning, stacklevel=3)


class _Reader:
    """Walks a file's value, knowing where it is."""

    def __init__(self, path, need_answers):
        self._path, self._need_answers = path, need_answers
        self._places: dict[str, str] = {}
        self.misplaced: list[str] = []
        self.answers = self.impossible = self.dropped = 0

    def read(self):
        top = read_json(self._path, largest=None)
        if not isinstance(top, dict):
            raise self._error("the file", "must be an object with the key `data`", top)
        questions = []
        for article, at_article in self._items(top, "", "data"):
            for paragraph, at in self._items(article, at_article, "paragraphs"):
                context = self._get(paragraph, at, "context", str)
                for entry, at_entry in self._items(paragraph, at, "qas"):
                    question = self._question(entry, at_entry, context)
                    if question is not None:
                        questions.append(question)
        return questions

    def _question(self, entry, at, context):
        name = self._get(entry, at, "id", str)
        if name in self._places:
            raise ValueError(
                f"`{self._path}`: {at}.id must be that of one question. {name!r} is "
                f"{self._places[name]}'s too."
            )
        self._places[name] = at
        text = self._get(entry, at, "question", str)
        impossible = entry.get("is_impossible", False)
        if not isinstance(impossible, bool):
            raise self._error(
                f"{at}.is_impossible", "must be true or false", impossible
            )
        if impossible:
            self.impossible += 1
            return None
        if "answers" not in entry and not self._need_answers:
            return Question(name, text, context, ())
        listed = [
            self._answer(answer, at_answer, context)
            for answer, at_answer in self._items(entry, at, "answers")
        ]
        if not listed and self._need_answers:
            raise self._error(f"{at}.answers", "must hold an answer", [])
        answers = tuple(answer for answer in listed if answer is not None)
        if listed and not answers:
            self.dropped += 1
            return None
        return Question(name, text, context, answers)

    def _answer(self, answer, at, context):
        start = self._get(answer, at, "answer_start", int)
        text = self._get(answer, at, "text", str)
        if not text.strip():
            raise self._error(f"{at}.text", "must not be blank", text)
        self.answers += 1
        if _stands_at(context, start, text):
            return start, text
        found = context[max(start, 0) : max(start, 0) + len(text)]
        self.misplaced.append(
            f"{at}: its text {text[:80]!r} is not at answer_start={start}, where the "
            f"context has {found[:80]!r}"
        )
        return None

    def _items(self, value, at, key):
        """Each (item, place) of a list that an object holds."""
        place = f"{at}.{key}" if at else key
        for index, item in enumerate(self._get(value, at, key, list)):
            if not isinstance(item, dict):
                raise self._error(f"{place}[{index}]", "must be an object", item)
            yield item, f"{place}[{index}]"

    def _get(self, value, at, key, kind):
        place = f"{at}.{key}" if at else key
        if key not in value:
            raise ValueError(f"`{self._path}`: {place} is missing.")
        found = value[key]
        # JSON's true and false are no numbers.
        if not isinstance(found, kind) or isinstance(found, bool):
            raise self._error(place, f"must be {_KINDS[kind]}", found)
        return found

    def _error(self, place, rule, value):
        text = repr(value)
        if len(text) > 80:
            text = text[:80] + "..."
        return ValueError(f"`{self._path}`: {place} {rule}. Received: {text}.")

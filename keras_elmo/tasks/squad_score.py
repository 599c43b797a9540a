"""SQuAD's two measures of answers: exact match, and F1 of the words."""

import re
import string
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping

from keras_elmo.tasks.squad import Question

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalized_answer(text: str) -> str:
    """What of an answer is compared.

    Lower case; without ASCII punctuation, which leaves no space behind; without the
    words "a", "an" and "the"; one space where there was white space.

    Args:
        text: str.

    Returns:
        str, without white space at its ends.

    Example:
    ```python
    assert normalized_answer("The  U.S. Army!") == "us army"
    ```

    Reference: Rajpurkar et al. 2016, section 6.1; the rules and their order are those
    of the official evaluate-v1.1.py.
    """
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(prediction: str, answer: str) -> float:
    """1.0 when both are equal after `normalized_answer`, else 0.0."""
    return float(normalized_answer(prediction) == normalized_answer(answer))


def f1(prediction: str, answer: str) -> float:
    """The harmonic mean of precision and recall over the words of both.

    A word that stands twice counts twice. Without a word in common it is 0, also where
    nothing remains of both: version 1.1 has no empty answers (2.0 gives 1 there).

    Args:
        prediction: str.
        answer: str.

    Returns:
        float from 0 to 1.
    """
    predicted = normalized_answer(prediction).split()
    wanted = normalized_answer(answer).split()
    common = sum((Counter(predicted) & Counter(wanted)).values())
    # 2PR / (P + R) with P = common / predicted and R = common / wanted.
    return 2 * common / (len(predicted) + len(wanted)) if common else 0.0


def score(
    questions: Iterable[Question], predictions: Mapping[str, str]
) -> dict[str, float | int]:
    """Exact match and F1 of predictions, in percent.

    Each question counts its best of all its answers. One without a prediction counts 0,
    and one warning says how many those are. Predictions of other ids are not looked at.

    Args:
        questions: `Question`s, each with an answer.
        predictions: the answer given to each id.

    Returns:
        {"exact_match", "f1", "total"}: two means over all questions, from 0 to 100, and
        the number of questions.

    Raises:
        ValueError: when there is no question, or one has no answer.
        TypeError: when a prediction is no str.

    Example:
    ```python
    question = Question("q1", "Who slept?", "The cat slept.", ((0, "The cat"),))
    assert score([question], {"q1": "cat"})["exact_match"] == 100.0
    ```

    Reference: Rajpurkar et al. 2016, section 6.1; the official evaluate-v1.1.py.
    """
    total, matches, overlap, missing = 0, 0.0, 0.0, []
    for question in questions:
        total += 1
        if not question.answers:
            raise ValueError(
                f"Each question must have an answer. {question.id!r} has none."
            )
        if question.id not in predictions:
            missing.append(question.id)
            continue
        prediction = predictions[question.id]
        if not isinstance(prediction, str):
            raise TypeError(
                f"`predictions` must hold strings. Received: {prediction!r} for "
                f"{question.id!r}."
            )
        answers = [text for _, text in question.answers]
        matches += max(exact_match(prediction, answer) for answer in answers)
        overlap += max(f1(prediction, answer) for answer in answers)
    if not total:
        raise ValueError("`questions` must hold at least one question.")
    if missing:
        warnings.warn(
            f"{len(missing)} of {total} questions have no prediction and count 0, the "
            f"first of them {missing[0]!r}.",
            UserWarning,
            stacklevel=2,
        )
    return {
        "exact_match": 100.0 * matches / total,
        "f1": 100.0 * overlap / total,
        "total": total,
    }

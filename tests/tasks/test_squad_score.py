"""Exact match and F1, worked by hand from the official rules."""

import pytest

from keras_elmo.tasks.squad import Question
from keras_elmo.tasks.squad_score import exact_match, f1, normalized_answer, score

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  U.S. Army!", "us army"),
        ("a cat, an owl and the dog", "cat owl and dog"),
        ("another theory", "another theory"),  # articles are whole words
        ("well-known", "wellknown"),  # punctuation leaves no space
        ("$1,000.50", "100050"),
        # Punctuation goes first: what was "a." is then an article.
        ("Plan A.", "plan"),
        ("A.T.M.", "atm"),
        ("\tNew\u3000York\n", "new york"),
        ("“The” – dog", "“ ” – dog"),  # ASCII punctuation only
        ("the a", ""),
        ("?!", ""),
        ("", ""),
    ],
)
def test_normalising(text, expected):
    assert normalized_answer(text) == expected


def test_exact_match_is_that_of_the_normal_forms():
    assert exact_match("the Broncos", "Broncos.") == 1.0
    assert exact_match("Broncos win", "Broncos") == 0.0
    assert exact_match("the", "a!") == 1.0  # nothing remains of either


@pytest.mark.parametrize(
    ("prediction", "answer", "expected"),
    [
        ("the cat", "a cat", 1.0),
        # P = 1/2, R = 1/1: 2 * 1/2 / (3/2)
        ("black cat", "cat", 2 / 3),
        # P = 2/4, R = 2/3: 2 * 1/3 / (7/6)
        ("in New York city", "New York state", 4 / 7),
        ("dog", "cat", 0.0),
        # Common is the smaller count of each word: 1 of "no". P = 1/3, R = 1/2.
        ("no no no", "no way", 2 / 5),
        # Two of "no". P = 2/3, R = 2/2.
        ("no no no", "no no", 4 / 5),
        # Order does not count.
        ("York New", "New York", 1.0),
        ("the", "cat", 0.0),
        ("cat", "the", 0.0),
        ("", "cat", 0.0),
        ("the", "a", 0.0),
    ],
)
def test_f1(prediction, answer, expected):
    # One division apart from the hand's: a rounding of the last bit.
    assert f1(prediction, answer) == pytest.approx(expected, abs=1e-15)


def ask(name, *answers):
    return Question(name, "?", " ".join(answers), tuple((0, text) for text in answers))


def test_a_question_counts_its_best_answer():
    questions = [ask("q1", "cat", "black cat"), ask("q2", "dog")]
    # q1: EM with the second answer; q2: EM 0, F1 = 2 * 1/2 * 1 / (3/2) = 2/3.
    result = score(questions, {"q1": "the black cat", "q2": "big dog", "other": "x"})
    assert result == {
        "exact_match": 50.0,
        "f1": pytest.approx(100 * (1 + 2 / 3) / 2, abs=1e-9),
        "total": 2,
    }


def test_a_missing_prediction_counts_nothing_and_is_told():
    questions = [ask("q1", "cat"), ask("q2", "dog"), ask("q3", "owl"), ask("q4", "ox")]
    with pytest.warns(UserWarning, match="2 of 4 questions .* 'q2'"):
        result = score(questions, {"q1": "cat", "q4": "ox"})
    assert result == {"exact_match": 50.0, "f1": 50.0, "total": 4}


def test_an_empty_prediction_is_a_wrong_one():
    assert score([ask("q", "cat")], {"q": ""}) == {
        "exact_match": 0.0,
        "f1": 0.0,
        "total": 1,
    }


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="at least one question"):
        score([], {})
    with pytest.raises(ValueError, match="'q' has none"):
        score([ask("q")], {"q": "x"})
    with pytest.raises(TypeError, match="Received: None for 'q'"):
        score([ask("q", "x")], {"q": None})

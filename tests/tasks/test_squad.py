"""SQuAD's files, the places of tokens and answers, and the best span."""

import itertools
import json
import re
import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from keras_elmo.tasks.squad import (
    Question,
    answer_tokens,
    best_span,
    read_squad,
    tokenize_with_offsets,
    write_squad,
)

pytestmark = pytest.mark.once

CONTEXT = "The cat slept. A dog barked."


def qa(name="q1", answers=((0, "The cat"),), **more):
    listed = [{"text": text, "answer_start": start} for start, text in answers]
    return {"id": name, "question": "Who slept?", "answers": listed, **more}


def squad(*qas, context=CONTEXT):
    return {
        "version": "1.1",
        "data": [
            {"title": "t", "paragraphs": []},
            {"title": "u", "paragraphs": [{"context": context, "qas": list(qas)}]},
        ],
    }


@pytest.fixture
def write(tmp_path):
    def write(value):
        path = tmp_path / "questions.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return write


def test_a_file_is_read_in_its_order(write):
    second = qa("q2", [(15, "A dog"), (17, "dog")], question="Who barked?")
    assert read_squad(write(squad(qa(), second))) == [
        Question("q1", "Who slept?", CONTEXT, ((0, "The cat"),)),
        Question("q2", "Who barked?", CONTEXT, ((15, "A dog"), (17, "dog"))),
    ]
    assert read_squad(write({"data": []})) == []


def test_offsets_count_characters(write):
    """A letter outside the basic plane is one, and so is a combining mark."""
    context = "\U0001d400e\u0301 日本 x"
    path = write(squad(qa(answers=[(4, "日本")]), context=context))
    assert read_squad(path)[0].answers == ((4, "日本"),)


def broken(change):
    value = squad(qa())
    change(value["data"][1]["paragraphs"][0])
    return value


PARAGRAPH = "data[1].paragraphs[0]"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "the file must be an object with the key `data`. Received: []"),
        ({"version": "1.1"}, "data is missing"),
        ({"data": {}}, "data must be a list. Received: {}"),
        ({"data": [{"paragraphs": []}, 3]}, "data[1] must be an object. Received: 3"),
        ({"data": [{"title": "x"}]}, "data[0].paragraphs is missing"),
        (broken(lambda p: p.pop("context")), f"{PARAGRAPH}.context is missing"),
        (broken(lambda p: p.update(context=None)), f"{PARAGRAPH}.context must be a te"),
        (broken(lambda p: p.pop("qas")), f"{PARAGRAPH}.qas is missing"),
        (squad({"id": "x"}), f"{PARAGRAPH}.qas[0].question is missing"),
        (squad(qa(7)), f"{PARAGRAPH}.qas[0].id must be a text. Received: 7"),
        (squad(qa(question=[])), f"{PARAGRAPH}.qas[0].question must be a text"),
        (squad(qa(answers=[])), f"{PARAGRAPH}.qas[0].answers must hold an answer"),
        (
            squad(qa(), qa("q2", [(0, "The"), (True, "The")])),
            f"{PARAGRAPH}.qas[1].answers[1].answer_start must be an integer. "
            "Received: True",
        ),
        (
            squad(qa(answers=[(0.0, "The")])),
            f"{PARAGRAPH}.qas[0].answers[0].answer_start must be an integer",
        ),
        (
            squad(qa(answers=[(3, " ")])),
            f"{PARAGRAPH}.qas[0].answers[0].text must not be blank",
        ),
        (
            squad(qa(is_impossible="no")),
            f"{PARAGRAPH}.qas[0].is_impossible must be true or false",
        ),
        (
            squad(qa(), qa("q2"), qa()),
            f"{PARAGRAPH}.qas[2].id must be that of one question. 'q1' is "
            f"{PARAGRAPH}.qas[0]'s too",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(write, value, told):
    path = write(value)
    with pytest.raises(ValueError, match=re.escape(f"`{path}`: {told}")) as got:
        read_squad(path)
    assert len(str(got.value)) < len(str(path)) + 250


def test_a_broken_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "q.json"
    path.write_text('{"data":\n [}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"q\.json` line 2: no JSON"):
        read_squad(path)


def test_misplaced_answers_are_refused_and_counted(write):
    path = write(squad(qa(answers=[(0, "The cat"), (1, "The cat")]), qa("q2")))
    with pytest.raises(ValueError, match="1 of 3 answers are misplaced") as error:
        read_squad(path)
    assert f"{PARAGRAPH}.qas[0].answers[1]: its text 'The cat'" in str(error.value)
    assert "answer_start=1, where the context has 'he cat '" in str(error.value)


@pytest.mark.parametrize("start", [-28, -1, 27, 10_000])
def test_places_outside_the_context_are_misplaced(write, start):
    # -28 is the first character, counted from the end as Python does.
    with pytest.raises(ValueError, match="1 of 1 answers are misplaced"):
        read_squad(write(squad(qa(answers=[(start, "The cat")]))))


def test_misplaced_answers_may_be_left_out(write):
    bad = qa("q2", [(1, "The cat")])
    mixed = qa("q1", [(5, "cat"), (4, "cat")])
    path = write(squad(mixed, bad))
    with pytest.warns(UserWarning, match="2 of 3 answers .* with them 1 questions"):
        questions = read_squad(path, on_misplaced="skip")
    assert questions == [Question("q1", "Who slept?", CONTEXT, ((4, "cat"),))]
    with pytest.raises(ValueError, match="on_misplaced='ignore'"):
        read_squad(path, on_misplaced="ignore")


def test_impossible_questions_are_left_out_and_counted(write):
    impossible = qa("q2", [], is_impossible=True, plausible_answers=[])
    path = write(squad(impossible, qa(is_impossible=False)))
    with pytest.warns(UserWarning, match="1 questions are marked .* 1 remain"):
        questions = read_squad(path)
    assert [question.id for question in questions] == ["q1"]


def test_questions_without_answers_are_read_where_none_are_needed(write):
    bare = qa("q2")
    del bare["answers"]
    path = write(squad(qa(answers=[]), bare, qa("q3")))
    questions = read_squad(path, need_answers=False)
    assert [question.answers for question in questions] == [(), (), ((0, "The cat"),)]


texts = st.text(max_size=12)


@st.composite
def question_lists(draw):
    names = draw(st.lists(st.text(max_size=5), unique=True, max_size=5))
    contexts = draw(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=2))
    made = []
    for name in names:
        context = draw(st.sampled_from(contexts))
        start = draw(st.integers(0, len(context) - 1))
        text = context[start : start + draw(st.integers(1, 5))]
        answers = ((start, text),) if text.strip() else ()
        made.append(Question(name, draw(texts), context, answers))
    return made


@hypothesis.given(question_lists())
@hypothesis.settings(max_examples=50)
def test_what_is_written_is_read_back(tmp_path_factory, questions):
    path = tmp_path_factory.mktemp("squad") / "q.json"
    write_squad(path, questions)
    assert read_squad(path, need_answers=False) == questions


def test_lone_surrogates_are_written_too(tmp_path):
    question = Question("q", "\ud800?", "a \udfff b", ((2, "\udfff"),))
    write_squad(tmp_path / "q.json", [question])
    assert read_squad(tmp_path / "q.json") == [question]


def test_questions_in_a_row_share_their_paragraph(tmp_path):
    made = [Question(n, "?", c, ((0, c),)) for n, c in zip("abcd", "xxyx", strict=True)]
    write_squad(tmp_path / "q.json", made, title="letters")
    value = json.loads((tmp_path / "q.json").read_text())
    assert value["version"] == "1.1"
    (article,) = value["data"]
    assert article["title"] == "letters"
    shared = [(p["context"], len(p["qas"])) for p in article["paragraphs"]]
    assert shared == [("x", 2), ("y", 1), ("x", 1)]
    assert article["paragraphs"][1]["qas"] == [
        {"id": "c", "question": "?", "answers": [{"answer_start": 0, "text": "y"}]}
    ]


def test_wrong_questions_are_not_written(tmp_path):
    path = tmp_path / "q.json"
    good = Question("q", "?", "a b", ((2, "b"),))
    with pytest.raises(ValueError, match="id 'q' must be that of one question"):
        write_squad(path, [good, good])
    with pytest.raises(ValueError, match="answer 'a' of question 'q' must stand"):
        write_squad(path, [Question("q", "?", "a b", ((2, "a"),))])
    assert list(tmp_path.iterdir()) == []
    write_squad(path, [good])
    with pytest.raises(FileExistsError):
        write_squad(path, [])
    assert read_squad(path) == [good]
    write_squad(path, [], overwrite=True)
    assert read_squad(path) == []


@pytest.mark.parametrize(
    ("splitter", "text", "expected"),
    [
        ("unicode", "Isn't 3.14 a\0b?", ["Isn't", "3.14", "a", "b", "?"]),
        ("whitespace", "Isn't  3.14 a\0b?\n", ["Isn't", "3.14", "a\0b?"]),
        ("unicode", "aa a aa", ["aa", "a", "aa"]),
        ("unicode", "日本 e\u0301\u3000", ["日", "本", "e\u0301"]),
        ("unicode", " \0", []),
        ("whitespace", "\0 \0\0", ["\0", "\0\0"]),
    ],
)
def test_offsets_are_those_of_the_tokens(splitter, text, expected):
    tokens, offsets = tokenize_with_offsets(text, splitter)
    assert tokens == expected
    assert [text[start:end] for start, end in offsets] == expected


def test_offsets_by_hand():
    assert tokenize_with_offsets(" a\0a, aa")[1] == [(1, 2), (3, 4), (4, 5), (6, 8)]
    with pytest.raises(ValueError, match="'whitespace' or 'unicode'"):
        tokenize_with_offsets("a", "letters")


@hypothesis.given(
    st.text(st.sampled_from("ab .,'1\0\t\u3000\u2028\x85日e\u0301")) | st.text(),
    st.sampled_from(["unicode", "whitespace"]),
)
def test_tokens_stand_where_their_offsets_say(text, splitter):
    tokens, offsets = tokenize_with_offsets(text, splitter)
    assert [text[start:end] for start, end in offsets] == tokens
    # In order, never over each other, and nothing but white space and NUL between:
    # so each offset is that very token's, not that of an equal one further on.
    ends = [0, *(end for _, end in offsets)]
    starts = [*(start for start, _ in offsets), len(text)]
    for end, start in zip(ends, starts, strict=True):
        assert end <= start
        assert not text[end:start].replace("\0", "").strip()


def test_an_answer_is_the_tokens_it_overlaps():
    text = "The cat's tail, 3.14 cm."
    tokens, offsets = tokenize_with_offsets(text)
    assert tokens == ["The", "cat's", "tail", ",", "3.14", "cm", "."]
    assert answer_tokens(offsets, 4, "cat's tail") == (1, 2)
    assert answer_tokens(offsets, 4, "cat") == (1, 1)  # part of a token
    assert answer_tokens(offsets, 3, " cat's ") == (1, 1)  # white space around
    assert answer_tokens(offsets, 14, ", 3") == (3, 4)
    assert answer_tokens(offsets, 0, text) == (0, 6)
    with pytest.raises(ValueError, match="answer ' ' at 3 must hold a token"):
        answer_tokens(offsets, 3, " ")


@hypothesis.given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(-3, 3), min_size=n, max_size=n)] * 2)
    ),
    st.integers(1, 10),
)
def test_the_best_span_is_that_of_a_search_of_all(logits, max_tokens):
    starts, ends = logits
    spans = [
        (first, last)
        for first, last in itertools.product(range(len(starts)), repeat=2)
        if first <= last < first + max_tokens
    ]
    # `max` keeps the first of equal ones: by start, then by length.
    expected = max(spans, key=lambda span: starts[span[0]] + ends[span[1]])
    assert best_span(starts, ends, max_tokens) == expected


def test_the_best_span_by_hand():
    # Alone, the best start is token 2 and the best end token 0.
    starts, ends = [1.0, 0.0, 5.0, 0.0], [5.0, 0.0, 1.0, 3.0]
    assert best_span(starts, ends) == (2, 3)
    assert best_span(starts, ends, max_tokens=1) == (0, 0)
    masked = np.array([-np.inf, -np.inf, 0.0, 1.0], dtype="float32")
    assert best_span(masked, masked) == (3, 3)
    assert all(type(place) is int for place in best_span(starts, ends))


def test_logits_that_have_no_best_span_are_refused():
    for starts, ends in [([], []), ([[1.0]], [[1.0]]), ([1.0], [1.0, 2.0])]:
        with pytest.raises(ValueError, match="same shape"):
            best_span(starts, ends)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="numbers or -inf"):
            best_span([0.0, bad], [0.0, 0.0])
        with pytest.raises(ValueError, match="numbers or -inf"):
            best_span([0.0, 0.0], [bad, 0.0])
    with pytest.raises(ValueError, match="at least one span of 30 tokens"):
        best_span([-np.inf, 0.0], [0.0, -np.inf])
    with pytest.raises(ValueError, match="max_tokens=0"):
        best_span([0.0], [0.0], max_tokens=0)


def test_a_clean_file_warns_of_nothing(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_squad(write(squad(qa())))) == 1

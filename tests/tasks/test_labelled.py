"""Readers of labelled texts and pairs: each form, the real files, broken files."""

import collections
import gzip
import json
import os
import pathlib

import pytest

from keras_elmo.tasks.labelled import (
    LabelledPair,
    LabelledText,
    read_labelled,
    read_pairs,
)
from keras_elmo.tasks.mcl_wic import read_mcl_wic
from keras_elmo.tasks.settings import TaskSettings
from keras_elmo.text.tokenizers import unicode_tokenize

pytestmark = pytest.mark.once


@pytest.fixture
def evaluation():
    """The folder of published test sets, a pathlib.Path."""
    data = os.environ.get("KERAS_ELMO_TEST_DATA")
    if not data or not (folder := pathlib.Path(data) / "eval").is_dir():
        pytest.skip(f"KERAS_ELMO_TEST_DATA={data!r} names no folder that holds eval/")
    return folder


@pytest.fixture
def written(tmp_path):
    def write(text, name="data.txt", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_sst2_is_read(evaluation):
    counts = {
        name: collections.Counter(
            label for _, label in read_labelled(evaluation / "sst2" / f"{name}.tsv")
        )
        for name in ("train", "dev", "test")
    }
    # The sizes that are published for binary sentences; counted with awk.
    assert {name: sum(c.values()) for name, c in counts.items()} == {
        "train": 6920,
        "dev": 872,
        "test": 1821,
    }
    assert sum(counts.values(), collections.Counter()) == {"0": 4650, "1": 4963}
    first = read_labelled(evaluation / "sst2" / "dev.tsv")[0]
    assert first == LabelledText("one long string of cliches", "0")


def test_trec_is_read_coarse_and_fine(evaluation):
    path = evaluation / "qc" / "train.txt"
    coarse = read_labelled(path, encoding="latin-1")
    # Counted with cut and uniq; 5,452 and 500 are Li and Roth's numbers.
    assert collections.Counter(label for _, label in coarse) == {
        "ABBR": 86,
        "DESC": 1162,
        "ENTY": 1250,
        "HUM": 1223,
        "LOC": 835,
        "NUM": 896,
    }
    assert coarse[0] == ("How did serfdom develop in and then leave Russia ?", "DESC")
    fine = read_labelled(path, encoding="latin-1", fine=True)
    assert [text for text, _ in fine] == [text for text, _ in coarse]
    assert fine[0].label == "DESC:manner"
    assert len({label for _, label in fine}) == 50
    assert len(read_labelled(evaluation / "qc" / "test.txt")) == 500


def test_a_line_of_another_encoding_is_named(evaluation):
    with pytest.raises(ValueError, match=r"train\.txt` line 66: not UTF-8.*'latin-1'"):
        read_labelled(evaluation / "qc" / "train.txt")


def test_mcl_wic_is_read_with_the_words_positions(evaluation):
    folder = evaluation / "mcl_wic"
    for name, size in (("training", 8000), ("dev", 1000), ("test", 1000)):
        data, gold = folder / f"{name}.en-en.data", folder / f"{name}.en-en.gold"
        pairs = read_mcl_wic(data, gold)
        labels = collections.Counter(pair.label for pair in pairs)
        assert labels == {"T": size // 2, "F": size // 2}
    entries = json.loads(data.read_text(encoding="utf-8"))
    partial = 0
    for pair, entry in zip(pairs, entries, strict=True):
        for text, index, n in (
            (pair.text_a, pair.index_a, "1"),
            (pair.text_b, pair.index_b, "2"),
        ):
            word = entry[f"sentence{n}"][
                int(entry[f"start{n}"]) : int(entry[f"end{n}"])
            ]
            token = unicode_tokenize(text)[index]
            # All words are of letters alone here, so that none is split.
            assert word in token
            partial += word != token
    # "court's" and "caltrop's" alone are longer than the word in question.
    assert partial == 2


def test_tsv_columns_and_headers(written):
    table = 'label\tid\tsentence\n1\ta\tGood .\n0\tb\tBad "one .\n'
    expected = [("Good .", "1"), ('Bad "one .', "0")]
    assert read_labelled(written(table), 2, 0) == expected
    assert read_labelled(written(table), 2, 0, header=True) == expected
    whole = read_labelled(written(table), 2, 0, header=False)
    assert whole == [("sentence", "label"), *expected]
    # A header of another name is one when it is said to be one.
    other = "text\tsentiment\nGood .\t1\n"
    assert read_labelled(written(other), header=True) == [("Good .", "1")]
    assert len(read_labelled(written(other))) == 2


def test_columns_are_given_both_or_neither_and_of_a_tsv(written):
    table = written("1\tgood\n0\tbad\n")
    assert read_labelled(table, 1, 0) == [("good", "1"), ("bad", "0")]
    for columns in ((1, None), (None, 0), (0, 0)):
        with pytest.raises(ValueError, match=r"two different columns.*text_column="):
            read_labelled(table, *columns)
        with pytest.raises(ValueError, match="two different columns"):
            TaskSettings(text_column=columns[0], label_column=columns[1])
    with pytest.raises(ValueError, match=r"`text_column` must be .*-1"):
        read_labelled(table, -1, 0)
    with pytest.raises(ValueError, match=r"line 1: expected a column 1, from 0"):
        read_labelled(written('{"text": "a", "label": "x"}'), 0, 1)


def test_line_ends_blank_lines_and_packed_files(written, tmp_path):
    text = "\ufeffa b\t x \r\n\r\nc\u2028d\ty\n\n"
    expected = [("a b", "x"), ("c\u2028d", "y")]
    assert read_labelled(written(text)) == expected
    packed = tmp_path / "data.tsv.gz"
    packed.write_bytes(gzip.compress(text.encode("utf-8")))
    assert read_labelled(packed) == expected


def test_json_lines(written):
    lines = [
        {"text": "a\tb", "label": "x", "id": 7},
        {"label": 1, "text": ""},
        {"text": "{c", "label": True},
    ]
    path = written("\n".join(map(json.dumps, lines)))
    assert read_labelled(path) == [("a\tb", "x"), ("", "1"), ("{c", "true")]


def test_the_form_may_be_said(written):
    # The first line would be taken for a TSV.
    path = written("DESC:def What is a\ttab ?\nNUM:date When ?\n")
    texts = read_labelled(path, form="trec")
    assert texts == [("What is a\ttab ?", "DESC"), ("When ?", "NUM")]
    with pytest.raises(ValueError, match=r"`form` must be .*csv"):
        read_labelled(path, form="csv")  # pyright: ignore


def test_another_encoding(written):
    path = written("caf\u00e9 \u20ac\t1\r\n", encoding="cp1252")
    assert read_labelled(path, encoding="cp1252") == [("caf\u00e9 \u20ac", "1")]
    (path.parent / "broken").write_bytes(b"a\t1\nb\x81\t0\n")
    with pytest.raises(ValueError, match="broken` line 2: not cp1252"):
        read_labelled(path.parent / "broken", encoding="cp1252")
    for name in ("utf-16", "no-such-encoding"):
        with pytest.raises(ValueError, match=f"`encoding` must be .*{name}"):
            read_labelled(path, encoding=name)


@pytest.mark.parametrize(
    "text, told",
    [
        ("a\t1\nb 2\n", r"data\.txt` line 2: expected a column 1.*'b 2'"),
        ("a\t1\n\nb\t \n", "line 3: expected a label"),
        ("7\ta\t1\n", r"line 1: .*`label_column` say which.*'7\\ta\\t1'"),
        ("just words\n", "line 1: expected a tab, a JSON object or"),
        ("NUM:date When ?\nWhen ?\n", r"line 2: expected `COARSE:fine text`"),
        ('{"text": "a", "label": "x"}\n{"text": "a"', "line 2: no JSON"),
        ('{"text": "a", "label": "x"}\n["a", "x"]', "line 2: expected a JSON object"),
        ('{"text": 1, "label": "x"}', "line 1: expected a text as `text`"),
        ('{"text": "a", "label": 0.5}', "line 1: expected a label"),
        ('{"text": "a"}', "line 1: expected a label.*None"),
        ("label\tlabel\n", "holds no examples"),
        ("", "holds no examples"),
    ],
)
def test_a_broken_file_of_texts_names_the_line(text, told, written):
    with pytest.raises(ValueError, match=told):
        read_labelled(written(text))


def test_pairs_with_and_without_positions(written):
    table = "text_a\ttext_b\tlabel\na b\tc\tT\nd\te f\tF\n"
    expected = [LabelledPair("a b", "c", "T"), LabelledPair("d", "e f", "F")]
    assert read_pairs(written(table)) == expected
    table = "a b\tc\tT\t1\t0\n"
    assert read_pairs(written(table)) == [("a b", "c", "T", 1, 0)]
    lines = [
        {"text_a": "a b", "text_b": "c", "label": 1, "index_a": 1, "index_b": 0},
        {"text_a": "d", "text_b": "e", "label": "F"},
    ]
    assert read_pairs(written("\n".join(map(json.dumps, lines)))) == [
        ("a b", "c", "1", 1, 0),
        ("d", "e", "F", None, None),
    ]


@pytest.mark.parametrize(
    "text, told",
    [
        ("a\tb\tT\na\tb\n", r"data\.txt` line 2: expected text_a"),
        ("a\tb\tT\t1\n", "line 1: expected text_a"),
        ("a\tb\tT\t-1\t0\n", "line 1: expected positions of tokens.*'-1'"),
        ("a\tb\tT\tx\t0\n", "line 1: expected positions"),
        ("NUM:date When ?\n", "line 1: expected text_a"),
        ('{"text_a": "a", "label": "T"}', "line 1: expected a text as `text_b`"),
        (
            '{"text_a": "a", "text_b": "b", "label": "T", "index_a": 0}',
            "line 1: expected positions.*None",
        ),
        (
            '{"text_a": "a", "text_b": "b", "label": "T", "index_a": 0.0, "index_b":1}',
            "line 1: expected positions",
        ),
        ("", "holds no examples"),
    ],
)
def test_a_broken_file_of_pairs_names_the_line(text, told, written):
    with pytest.raises(ValueError, match=told):
        read_pairs(written(text))


ENTRY = {
    "id": "dev.0",
    "sentence1": "A co-operative bank, here.",
    "sentence2": "bank",
    "start1": "2",
    "end1": "14",
    "start2": 0,
    "end2": 4,
}


def mcl_wic(written, data, gold, **options):
    return read_mcl_wic(
        written(json.dumps(data), "data"), written(json.dumps(gold), "gold"), **options
    )


def test_the_words_position_depends_on_the_splitter(written):
    gold = [{"id": "dev.0", "tag": "T"}]
    (pair,) = mcl_wic(written, [ENTRY], gold)
    # A word that is split: its first token, "co".
    assert pair == (ENTRY["sentence1"], "bank", "T", 1, 0)
    bank = {**ENTRY, "start1": "15", "end1": "19"}
    assert mcl_wic(written, [bank], gold)[0].index_a == 4

    def letters(text):
        return list(text), [(n, n + 1) for n in range(len(text))]

    (pair,) = mcl_wic(written, [bank], gold, tokenize=letters)
    assert (pair.index_a, pair.index_b) == (15, 0)


@pytest.mark.parametrize(
    "data, gold, told",
    [
        ({}, [], r"data` must hold a JSON list"),
        ([{"id": 1}], [], r"data` entry 1: expected an object with an id"),
        ([ENTRY], [], r"data` entry 1 \(dev\.0\): no tag in"),
        ([], [{"id": "x", "tag": "T"}], r"data` lacks 1 ids .*gold` has.* x\."),
        ([ENTRY], [{"id": "dev.0", "tag": "?"}], r"gold` entry 1 \(dev\.0\)"),
        ([{**ENTRY, "end1": "2"}], None, r"`start1` and `end1` must enclose a word"),
        ([{**ENTRY, "start2": 4, "end2": 9}], None, "`start2` and `end2`"),
        ([{**ENTRY, "start2": None}], None, "`start2` and `end2`"),
        ([{**ENTRY, "sentence2": None}], None, "`sentence2`"),
        ([ENTRY, ENTRY], None, r"data` entry 2 \(dev\.0\): .* second entry"),
    ],
)
def test_broken_words_in_context_name_the_entry(data, gold, told, written):
    gold = [{"id": "dev.0", "tag": "T"}] if gold is None else gold
    with pytest.raises(ValueError, match=told):
        mcl_wic(written, data, gold)

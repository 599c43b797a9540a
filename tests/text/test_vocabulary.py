"""Vocabularies: read as the original programs wrote them, checked, built, written."""

import gzip
import os
import subprocess
import sys
import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from keras_elmo.text import (
    Vocabulary,
    build_vocabulary,
    build_vocabulary_from_files,
)

SPECIALS = ["<S>", "</S>", "<UNK>"]


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_ids_are_rows_and_one_and_unknown_words_are_unknown():
    vocabulary = Vocabulary([*SPECIALS, "the", "bank"])
    ids = vocabulary.ids(["the", "river", "bank", "<S>"])
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(ids, [4, 3, 5, 1])
    special = (vocabulary.begin_sentence_id, vocabulary.end_sentence_id)
    assert (*special, vocabulary.unknown_id) == (1, 2, 3)
    assert "bank" in vocabulary and "river" not in vocabulary and len(vocabulary) == 5


@pytest.mark.parametrize("missing", SPECIALS)
def test_a_missing_special_word_is_named(tmp_path, missing):
    words = [word for word in [*SPECIALS, "a"] if word != missing]
    path = write(tmp_path / "v.txt", "\n".join(words))
    with pytest.raises(ValueError, match=rf"v\.txt`.*Missing: {missing}"):
        Vocabulary.read(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", ["", "end"])
def test_line_ends_and_byte_order_marks(tmp_path, end, mark, last):
    text = mark + end.join([*SPECIALS, "é", "a\u2028b", "a\xa0b"])
    path = write(tmp_path / "v.txt", text + (end if last else ""))
    assert Vocabulary.read(path).tokens == (*SPECIALS, "é", "a\u2028b", "a\xa0b")


def test_blank_lines_are_skipped_and_named(tmp_path):
    path = write(tmp_path / "v.txt", "<S>\n</S>\n\n<UNK>\n  \na\n")
    with pytest.warns(UserWarning, match=r"v\.txt`: 2 blank lines skipped: line 3, 5"):
        assert Vocabulary.read(path).tokens == (*SPECIALS, "a")


def test_duplicates_keep_their_rows_and_the_last_counts(tmp_path):
    path = write(tmp_path / "v.txt", "<S>\n</S>\n<UNK>\na\nb\na\n")
    with pytest.warns(UserWarning, match="keep both rows: line 6"):
        vocabulary = Vocabulary.read(path)
    assert len(vocabulary) == 6
    np.testing.assert_array_equal(vocabulary.ids(["a", "b"]), [6, 5])


def test_lines_that_are_no_words_are_left_out(tmp_path):
    path = write(tmp_path / "v.txt", "<S>\n</S>\n<UNK>\n!!!MAXTERMID\na\n")
    assert Vocabulary.read(path).tokens == (*SPECIALS, "a")


def test_ids_are_those_of_bilm_tf(golden, tmp_path):
    """The cases that have all three special words: others are refused here."""
    import json

    stored = np.load(golden / "peers" / "bilm_tf_vocabulary_cases.npz")
    cases = sorted({key.split("/")[0] for key in stored.files if "/" in key})
    compared = 0
    for case in cases:
        lines = json.loads(str(stored[f"{case}/vocabulary"]))
        if not set(SPECIALS) <= set(lines) or "" in lines:
            continue
        path = write(tmp_path / f"{case}.txt", "\n".join(lines) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vocabulary = Vocabulary.read(path)
        sentences = json.loads(str(stored["sentences"]))
        for row, sentence in zip(stored[f"{case}/token_ids"], sentences, strict=True):
            expected = row[: len(sentence) + 2]
            tokens = ["<S>", *sentence, "</S>"]
            np.testing.assert_array_equal(vocabulary.ids(tokens), expected)
            compared += 1
    assert compared


def test_bytes_that_are_no_utf8_are_named(tmp_path):
    path = write(tmp_path / "v.txt", b"<S>\n</S>\n<UNK>\nf\xfcr\n")
    with pytest.raises(ValueError, match=r"v\.txt` line 4: not UTF-8.*0xfc"):
        Vocabulary.read(path)


def test_counts_stand_behind_a_tab(tmp_path):
    path = write(tmp_path / "v.txt", "<S>\t0\n</S>\t0\n<UNK>\t9\na\t5\nb\t5\n")
    assert Vocabulary.read(path).counts == (0, 0, 9, 5, 5)
    write(path, "<S>\t0\n</S>\t0\n<UNK>\t9\na\t5\nb\n")
    with pytest.raises(ValueError, match=r"v\.txt` line 5: expected `word<TAB>count`"):
        Vocabulary.read(path)


def test_a_vocabulary_out_of_order_warns(tmp_path):
    path = write(tmp_path / "v.txt", "<S>\t0\n</S>\t0\n<UNK>\t0\na\t5\nb\t6\n")
    with pytest.warns(UserWarning, match=r"not sorted by falling counts: 'b' \(6\)"):
        Vocabulary.read(path)
    words_only = Vocabulary([*SPECIALS, "a", "b"])
    assert words_only.check_order()
    assert words_only.check_order([0, 0, 0, 2, 2])
    with pytest.warns(UserWarning, match="not sorted"):
        assert not words_only.check_order([0, 0, 0, 1, 2])


WORD = st.text(min_size=1, max_size=6)


@hypothesis.given(st.lists(WORD, unique=True, max_size=8), st.booleans())
def test_what_is_written_is_read_back(words, counted):
    words = [word for word in words if word not in SPECIALS]
    counts = range(len(words) + 3, 0, -1) if counted else None
    vocabulary = Vocabulary([*SPECIALS, *words], counts)
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.txt"
        try:
            vocabulary.write(path)
        except ValueError as error:
            assert "cannot stand on a line" in str(error)
            assert not path.exists()
        else:
            assert Vocabulary.read(path) == vocabulary


@pytest.mark.parametrize("word", ["", " ", "a\nb", "a\tb", "a\r", "\ud800"])
def test_words_that_could_not_be_read_back_are_refused(tmp_path, word):
    with pytest.raises(ValueError, match="Word 3 of the vocabulary cannot stand"):
        Vocabulary([*SPECIALS, word]).write(tmp_path / "v.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_byte_order_mark_is_lost_from_the_first_word_alone(tmp_path):
    words = ["<S>", "</S>", "<UNK>", "\ufeffa"]
    Vocabulary(words).write(tmp_path / "vocab.txt")
    assert Vocabulary.read(tmp_path / "vocab.txt").tokens == tuple(words)
    with pytest.raises(ValueError, match="Word 0 of the vocabulary cannot stand"):
        Vocabulary(words[::-1]).write(tmp_path / "other.txt")


def test_existing_files_are_kept(tmp_path):
    path = write(tmp_path / "v.txt", "mine")
    with pytest.raises(FileExistsError):
        Vocabulary(SPECIALS).write(path)
    assert path.read_text() == "mine"
    Vocabulary(SPECIALS).write(path, overwrite=True)
    assert Vocabulary.read(path).tokens == tuple(SPECIALS)


def test_built_by_falling_count_then_alphabet():
    sentences = [["b", "a", "b"], ["c", "a", "d", "<UNK>"], ["<S>", "b"]]
    vocabulary = build_vocabulary(sentences)
    assert vocabulary.tokens == (*SPECIALS, "b", "a", "c", "d")
    assert vocabulary.counts == (3, 3, 1, 3, 2, 1, 1)
    small = build_vocabulary(sentences, min_count=2)
    assert small.tokens == (*SPECIALS, "b", "a")
    assert small.counts == (3, 3, 3, 3, 2)
    assert build_vocabulary(sentences, max_size=4).tokens == (*SPECIALS, "b")
    with pytest.raises(ValueError, match="`max_size` must be an integer of at least 4"):
        build_vocabulary(sentences, max_size=3)


def test_built_from_files(tmp_path):
    plain = write(tmp_path / "a.txt", "\ufeffthe bank\r\n\r\nthe river\u2028x\n")
    packed = write(tmp_path / "b.gz", gzip.compress(b"the end\n"))
    vocabulary = build_vocabulary_from_files([plain, packed])
    assert vocabulary.tokens == (*SPECIALS, "the", "bank", "end", "river", "x")
    assert vocabulary.counts == (3, 3, 0, 3, 1, 1, 1, 1)
    with pytest.raises(FileNotFoundError):
        build_vocabulary_from_files([tmp_path / "none.txt"])


def test_the_locale_changes_nothing(tmp_path):
    path = write(tmp_path / "v.txt", "\n".join([*SPECIALS, "é", "日本"]))
    program = (
        "import sys; from keras_elmo.text.vocabulary import Vocabulary;"
        "v = Vocabulary.read(sys.argv[1]); v.write(sys.argv[2]);"
        "print(ascii(v.tokens))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, path, tmp_path / "out.txt"],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == ascii((*SPECIALS, "é", "日本"))
    assert Vocabulary.read(tmp_path / "out.txt").tokens == (*SPECIALS, "é", "日本")

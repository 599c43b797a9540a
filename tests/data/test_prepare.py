"""Text files into a corpus directory: what is read, counted, kept and refused."""

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from keras_elmo.data import prepare as module
from keras_elmo.data.corpus import Corpus
from keras_elmo.data.prepare import ArrayFile, prepare
from keras_elmo.text import (
    Vocabulary,
    build_vocabulary,
    count_truncated,
    encode_tokens,
    get_tokenizer,
)

SPECIALS = ["<S>", "</S>", "<UNK>"]
CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory: texts, and a place for what is made."""
    monkeypatch.chdir(tmp_path)
    Path("b.txt").write_text("the bank of the river\na bank\n")
    Path("a.txt").write_text("the café\n", "utf-8")
    return tmp_path


def sentences(corpus):
    ends = corpus.offsets.tolist()
    return [
        [corpus.types[t] for t in corpus.tokens[first:last]]
        for first, last in pairwise(ends)
    ]


def left():
    return sorted(path.name for path in Path().iterdir())


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 4)
    monkeypatch.setattr(module, "_TYPES_AT_ONCE", 3)
    monkeypatch.setattr("keras_elmo.data.corpus_files._CHUNK", 3)


lines = st.lists(
    st.one_of(
        st.text("ab \t\r", max_size=12),
        st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=20),
        st.sampled_from(
            [
                "",
                " \u2028\u3000",
                "<S> a </S> <UNK>",
                "x\0y \ufeffz",
                "w" * 60,
                "q\ufeff",
            ]
        ),
    ),
    max_size=8,
)


@hypothesis.given(
    files=st.lists(lines, min_size=1, max_size=3),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    tokenizer=st.sampled_from(["whitespace", "unicode"]),
    min_count=st.integers(1, 3),
    max_size=st.one_of(st.none(), st.integers(4, 9)),
    width=st.integers(3, 20),
)
@hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
    max_examples=150,
)
def test_a_store_holds_what_naive_python_finds(
    small_chunks, files, end, mark, tokenizer, min_count, max_size, width
):
    tokenize = get_tokenizer(tokenizer)
    # What `read_lines` takes for a line's end or a mark is no part of the line.
    texts = [[line.removesuffix("\r") for line in lines] for lines in files]
    for text in texts:
        if text and not mark:
            text[0] = text[0].removeprefix("\ufeff")
    rows = [[tokenize(line) for line in text] for text in texts]
    expected = [tokens for text in rows for tokens in text if tokens]
    with tempfile.TemporaryDirectory() as name:
        for number, text in enumerate(texts):
            data = mark + "".join(line + end for line in text)
            Path(name, f"{number}.txt").write_bytes(data.encode())
        arguments = (f"{name}/*.txt", f"{name}/corpus")
        options = {
            "tokenizer": tokenizer,
            "min_count": min_count,
            "max_size": max_size,
            "max_characters_per_token": width,
        }
        if not expected:
            with pytest.raises(ValueError, match="no sentences"):
                prepare(*arguments, **options)
            assert not Path(name, "corpus").exists()
            return
        summary = prepare(*arguments, **options)
        corpus = Corpus.read(f"{name}/corpus")
        assert corpus.vocabulary == build_vocabulary(expected, min_count, max_size)
        assert sentences(corpus) == expected
        in_memory = Corpus.from_sentences(expected, corpus.vocabulary, width)
        assert list(corpus.types) == list(in_memory.types)
        np.testing.assert_array_equal(corpus.tokens, in_memory.tokens)
        np.testing.assert_array_equal(
            np.load(f"{name}/corpus/characters.npy"), encode_tokens(corpus.types, width)
        )
        tokens = [token for sentence in expected for token in sentence]
        unknown = corpus.targets(corpus.tokens) == 2
        assert summary == {
            "output": f"{name}/corpus",
            "reused": False,
            "sentences": len(expected),
            "tokens": len(tokens),
            "types": corpus.num_types,
            "vocabulary_size": len(corpus.vocabulary),
            "unknown_tokens": unknown.sum() - tokens.count("<UNK>"),
            "truncated_tokens": count_truncated(tokens, width),
            # A file that is a mark alone has one line.
            "blank_lines": sum(not tokens for text in rows for tokens in text)
            + sum(bool(mark) and not text for text in texts),
            "empty_files": sum(not any(text) for text in rows),
            "files": len(files),
        }
        assert prepare(*arguments, **options) == {**summary, "reused": True}


@pytest.mark.parametrize(
    "data, told",
    [
        (b"one\ntwo \xff\n", r"bad\.txt.*` line 2: not UTF-8"),
        (b"\xed\xa0\x80\n", r"bad\.txt.*` line 1: not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named_and_leaves_nothing(folder, data, told):
    Path("bad.txt").write_bytes(data)
    with pytest.raises(ValueError, match=told):
        prepare("*.txt", "corpus")
    Path("bad.txt").unlink()
    packed = gzip.compress(b"many words here\n" * 99)
    Path("bad.txt.gz").write_bytes(packed[:-20])
    with pytest.raises(ValueError, match=r"bad\.txt\.gz` cannot be unpacked"):
        prepare("*.gz", "corpus")
    assert left() == ["a.txt", "b.txt", "bad.txt.gz"]


def test_nothing_at_all_is_an_error_that_names_the_files(folder):
    Path("empty.txt").write_bytes(b"\n")
    with pytest.raises(ValueError, match=r"no sentences in the text: empty\.txt"):
        prepare("empty.txt", "corpus")
    assert left() == ["a.txt", "b.txt", "empty.txt"]


def test_a_second_run_writes_nothing(folder):
    first = prepare("*.txt", "corpus", min_count=2)
    before = {path: path.stat() for path in Path("corpus").iterdir()}
    # The same text under another name, touched: the same corpus.
    Path("b.txt").rename("c.txt")
    os.utime("c.txt", (1, 1))
    assert prepare("*.txt", "corpus", min_count=2) == {**first, "reused": True}
    assert {path: path.stat() for path in Path("corpus").iterdir()} == before
    assert left() == ["a.txt", "c.txt", "corpus"]


@pytest.mark.parametrize(
    "options, told",
    [
        ({"min_count": 2}, r"options \(min_count\)"),
        ({"max_size": 9}, r"options \(max_size\)"),
        ({"max_characters_per_token": 9}, r"options \(max_characters_per_token\)"),
        ({"tokenizer": "unicode"}, r"options \(tokenizer\)"),
        ({"vocabulary": Vocabulary(SPECIALS)}, r"options \(vocabulary\)"),
        ({"patterns": "a.txt"}, r"input \(2 files then, 1 now\)"),
    ],
)
def test_other_options_are_refused_unless_told(folder, options, told):
    prepare("*.txt", "corpus")
    before = Path("corpus/corpus.json").read_bytes()
    arguments = {"patterns": "*.txt", "output": "corpus", **options}
    with pytest.raises(FileExistsError, match=rf"other {told}.*--overwrite"):
        prepare(**arguments)
    assert Path("corpus/corpus.json").read_bytes() == before
    assert not prepare(**arguments, overwrite=True)["reused"]
    assert prepare(**arguments)["reused"]


@pytest.mark.parametrize("text", ["the cafe!\n", "longer than that was\n"])
def test_other_text_is_refused_unless_told(folder, text):
    prepare("*.txt", "corpus")
    Path("a.txt").write_text(text, "utf-8")
    with pytest.raises(FileExistsError, match=r"other input \(a\.txt\)"):
        prepare("*.txt", "corpus")
    prepare("*.txt", "corpus", overwrite=True)
    assert sentences(Corpus.read("corpus"))[0] == text.split()


def test_a_damaged_corpus_is_not_reused(folder):
    prepare("*.txt", "corpus")
    os.truncate("corpus/tokens.npy", 130)
    with pytest.raises(FileExistsError, match=r"no whole corpus.*tokens\.npy"):
        prepare("*.txt", "corpus")
    prepare("*.txt", "corpus", overwrite=True)
    assert len(Corpus.read("corpus")) == 3


def test_only_a_corpus_is_overwritten(folder):
    Path("photos").mkdir()
    Path("photos/mine.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match=r"`photos`.*no corpus.*not replaced"):
        prepare("*.txt", "photos", overwrite=True)
    with pytest.raises(NotADirectoryError, match=r"`a\.txt` is a file"):
        prepare("b.txt", "a.txt", overwrite=True)
    with pytest.raises(FileExistsError, match="photos"):
        prepare("*.txt", "photos")
    assert left() == ["a.txt", "b.txt", "photos"]


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_is_an_error_that_leaves_what_was_there(folder, monkeypatch, there):
    if there:
        prepare("*.txt", "corpus")
    before = left()

    def full(self, rows):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ArrayFile, "append", full)
    with pytest.raises(OSError, match=r"No space left.*'corpus'") as told:
        prepare("*.txt", "corpus", min_count=2, overwrite=there)
    assert told.value.errno == errno.ENOSPC
    assert left() == before
    assert not there or Corpus.read("corpus").num_types == 9


def run_without_keras(*lines):
    """Lines of a program that finds `prepare` as `module`, in another process.

    The packages' own `__init__` import Keras, which takes seconds; these files need
    none of it.
    """
    start = f"""
import os, signal, sys, types
for name in ("keras_elmo", "keras_elmo.data", "keras_elmo.text"):
    sys.modules[name] = package = types.ModuleType(name)
    package.__path__ = [os.path.join({str(CHECKOUT)!r}, *name.split("."))]
from keras_elmo.data import prepare as module
"""
    return subprocess.run(
        [sys.executable, "-c", "\n".join([start, *lines])],
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_keras_is_needed(folder):
    ended = run_without_keras(
        "module.prepare('*.txt', 'corpus')",
        "print(sorted({'keras', 'torch', 'jax', 'tensorflow'} & set(sys.modules)))",
    )
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr
    assert len(Corpus.read("corpus")) == 3


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_run_leaves_what_was_there(folder):
    prepare("*.txt", "corpus")
    killed = (
        "module._write_types = lambda *_: os.kill(os.getpid(), signal.SIGKILL)",
        "module.prepare('*.txt', 'corpus', min_count=2, overwrite=True)",
    )
    ended = run_without_keras(*killed)
    assert ended.returncode == -signal.SIGKILL
    assert Corpus.read("corpus").num_types == 9
    rest = [name for name in left() if name not in ("a.txt", "b.txt", "corpus")]
    assert len(rest) == 1 and rest[0].startswith(".tmp-")
    # The next run of the same output clears it away.
    prepare("*.txt", "other")
    assert rest[0] in left()
    prepare("*.txt", "corpus", min_count=2, overwrite=True)
    assert left() == ["a.txt", "b.txt", "corpus", "other"]


def test_a_given_vocabulary_keeps_its_rows(folder):
    Path("v.tsv").write_text("bank\t9\n<UNK>\t1\n<S>\t1\n</S>\t1\nof\t3\n")
    summary = prepare("*.txt", "corpus", vocabulary="v.tsv")
    corpus = Corpus.read("corpus")
    assert corpus.vocabulary == Vocabulary.read("v.tsv")
    assert list(corpus.types[5:]) == ["the", "a", "café", "river"]
    assert corpus.targets([4, 5, 0]).tolist() == [4, 1, 0]
    assert summary["vocabulary_size"] == 5 and summary["unknown_tokens"] == 6
    # The file's words count, not its name.
    Path("v.tsv").rename("w.tsv")
    assert prepare("*.txt", "corpus", vocabulary="w.tsv")["reused"]


def test_a_vocabulary_with_duplicates_keeps_both_rows(folder):
    Path("v.tsv").write_text("<S>\n</S>\n<UNK>\nbank\nthe\nbank\n")
    with pytest.warns(UserWarning, match="keep both rows"):
        prepare("b.txt", "corpus", vocabulary="v.tsv")
    with pytest.warns(UserWarning, match="keep both rows"):
        corpus = Corpus.read("corpus")
    assert corpus.tokens.tolist() == [4, 5, 7, 4, 8, 6, 5]
    assert list(corpus.types[3:6]) == ["bank", "the", "bank"]


@pytest.mark.parametrize("counts", [None, [3, 3, 0, 1]])
@pytest.mark.parametrize(
    "options, added",
    [
        ({}, ["the", "a", "café", "of", "river"]),
        ({"min_count": 2}, ["the"]),
        ({"max_size": 6}, ["the", "a"]),
        ({"max_size": 4}, []),
    ],
)
def test_a_given_vocabulary_grows_by_the_texts_own_words(
    folder, counts, options, added
):
    given = Vocabulary([*SPECIALS, "bank"], counts)
    with warnings.catch_warnings():
        # Words that come later may be more frequent: `read` says so.
        warnings.simplefilter("ignore", UserWarning)
        prepare("*.txt", "corpus", vocabulary=given, grow=True, **options)
        vocabulary = Corpus.read("corpus").vocabulary
    assert vocabulary.tokens == (*given.tokens, *added)
    if counts is None:
        assert vocabulary.counts is None
    else:
        assert vocabulary.counts == (*counts, *([3, 1, 1, 1, 1][: len(added)]))


@pytest.mark.parametrize(
    "options, told",
    [
        ({"grow": True}, "`grow` needs a `vocabulary`"),
        ({"vocabulary": Vocabulary(SPECIALS), "min_count": 2}, "no effect"),
        ({"vocabulary": Vocabulary(SPECIALS), "max_size": 9}, "no effect"),
        (
            {"vocabulary": Vocabulary([*SPECIALS, *"ab"]), "grow": True, "max_size": 4},
            "at least 5.*max_size=4",
        ),
        ({"min_count": 0}, "min_count=0"),
        ({"max_size": 3}, "max_size=3"),
        ({"max_characters_per_token": 2}, "max_characters_per_token=2"),
        ({"tokenizer": "words"}, "tokenizer='words'"),
        ({"vocabulary": Vocabulary([*SPECIALS, "a\nb"])}, "cannot stand on a line"),
    ],
)
def test_wrong_options_are_named_and_leave_nothing(folder, options, told):
    with pytest.raises(ValueError, match=told):
        prepare("*.txt", "corpus", **options)
    assert left() == ["a.txt", "b.txt"]


def test_progress_is_told_on_a_terminal_alone(folder, monkeypatch, capsys):
    prepare("*.txt", "corpus")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes stderr for a terminal
    prepare("*.txt", "corpus", overwrite=True)
    told = capsys.readouterr()
    assert told.out == "" and "2 of 2 files, 9 tokens" in told.err


def test_the_description_says_what_it_was_made_from(folder):
    prepare("*.txt", "corpus", min_count=2)
    info = json.loads(Path("corpus/corpus.json").read_text())
    assert [entry["name"] for entry in info["inputs"]] == ["a.txt", "b.txt"]
    assert all(len(entry["sha256"]) == 64 for entry in info["inputs"])
    assert info["options"]["min_count"] == 2 and info["format"] == 1

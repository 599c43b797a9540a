"""Where text comes from: files, globs, packed files and data sets."""

import gzip
import os
import sys
import types
from itertools import pairwise
from pathlib import Path

import pytest

from keras_elmo.data.corpus import Corpus
from keras_elmo.data.prepare import prepare
from keras_elmo.data.text_files import find_sources


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


def test_files_are_sorted_and_each_is_read_once(folder):
    Path("deep/er").mkdir(parents=True)
    Path("deep/er/c.txt.gz").write_bytes(gzip.compress(b"packed\r\n"))
    Path("[x].txt").write_text("brackets\n")
    Path("link.txt").symlink_to("b.txt")
    patterns = ["**/*.txt", "b.txt", Path("a.txt"), "**/*.gz", "./b.txt", "[x].txt"]
    summary = prepare(patterns, "corpus")
    assert [" ".join(words) for words in sentences(Corpus.read("corpus"))] == [
        "brackets",
        "the café",
        "the bank of the river",
        "a bank",
        "packed",
    ]
    assert summary["files"] == 4 and summary["tokens"] == 11


def test_lines_without_words_are_skipped_and_counted(folder):
    Path("odd.txt").write_bytes(b"\xef\xbb\xbf\r\n  \t\r\na b\r\n\r\n\xe2\x80\xa8\n")
    Path("empty.txt").write_bytes(b"")
    Path("blank.txt").write_bytes(b"\n\n")
    summary = prepare(["odd.txt", "empty.txt", "blank.txt"], "corpus")
    assert sentences(Corpus.read("corpus")) == [["a", "b"]]
    assert summary["blank_lines"] == 6 and summary["empty_files"] == 2


def test_a_pattern_that_matches_nothing_is_an_error_before_anything_is_read(folder):
    Path("bad.txt").write_bytes(b"\xff\n")
    with pytest.raises(FileNotFoundError, match=r"`no\*\.txt` matches no file"):
        prepare(["bad.txt", "no*.txt"], "corpus")
    with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
        prepare(["bad.txt", "gone.txt"], "corpus")
    with pytest.raises(ValueError, match="at least one file"):
        prepare([], "corpus")


def test_directories_and_pipes_are_refused(folder):
    Path("deep").mkdir()
    with pytest.raises(IsADirectoryError, match=r"`deep` is a directory.*deep/\*"):
        prepare("deep", "corpus")
    with pytest.raises(FileNotFoundError, match="dee"):
        prepare("dee*", "corpus")
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match="`pipe` must be a regular file"):
        prepare("pipe", "corpus")


def test_a_glob_does_not_find_what_was_made_from_it(folder):
    first = prepare("**/*.txt", "corpus")
    assert prepare("**/*.txt", "corpus")["reused"]
    again = prepare("**/*.txt", "corpus", overwrite=True)
    assert first == again and first["files"] == 2


def test_a_file_that_changes_while_it_is_read_is_an_error(folder):
    source = find_sources("b.txt")[0]
    lines = source.lines()
    next(lines)
    with open("b.txt", "a") as file:
        file.write("more\n")
    with pytest.raises(ValueError, match=r"`b\.txt` was changed"):
        list(lines)


class FakeDatasets(types.ModuleType):
    """Stands for tensorflow_datasets: one data set, what was asked of it in `calls`."""

    def __init__(self, texts, features=("text",), version="1.0.0"):
        super().__init__("tensorflow_datasets")
        self.texts, self.calls = texts, []
        info = types.SimpleNamespace(
            features=dict.fromkeys(features), full_name=f"lm1b/{version}"
        )
        self.info, self.as_numpy = info, iter

    def builder(self, name):
        self.calls.append(name)
        return self

    def download_and_prepare(self):
        self.calls.append("download")

    def as_dataset(self, split, shuffle_files):
        self.calls.append((split, shuffle_files))
        return [{"text": text} for text in self.texts]


def test_a_data_set_is_read_behind_the_files(folder, monkeypatch):
    fake = FakeDatasets(["the sea\r\n\ncafé".encode(), "a str", b" "])
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    summary = prepare(["tfds:lm1b:test", "a.txt"], "corpus")
    expected = [["the", "café"], ["the", "sea"], ["café"], ["a", "str"]]
    assert sentences(Corpus.read("corpus")) == expected
    assert summary["blank_lines"] == 2 and summary["files"] == 2
    assert fake.calls == ["lm1b", "download", ("test", False)]
    # To know it again takes no download.
    assert prepare(["tfds:lm1b:test", "a.txt"], "corpus")["reused"]
    assert fake.calls[3:] == ["lm1b"]
    for other in ("tfds:lm1b", "tfds:lm1b:train[:9]"):
        with pytest.raises(FileExistsError, match="other input"):
            prepare([other, "a.txt"], "corpus")
    fake.info.full_name = "lm1b/2.0.0"
    with pytest.raises(FileExistsError, match="other input"):
        prepare(["tfds:lm1b:test", "a.txt"], "corpus")


def test_a_data_set_that_cannot_be_read_says_why(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match="pip install tensorflow-datasets"):
        prepare("tfds:lm1b", "corpus")
    with pytest.raises(ValueError, match="tfds:NAME"):
        prepare("tfds:", "corpus")
    fake = FakeDatasets([b"a", b"\xff"])
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    with pytest.raises(ValueError, match="`tfds:lm1b:train` example 2: not UTF-8"):
        prepare("tfds:lm1b", "corpus")
    fake.info.features = {"image": None}
    with pytest.raises(ValueError, match=r"feature `text`.*image"):
        prepare("tfds:lm1b", "corpus")
    assert left() == ["a.txt", "b.txt"]

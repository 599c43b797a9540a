"""`keras-elmo prepare`: files in, a corpus directory out, exit codes."""

import json
import sys

import pytest

from keras_elmo import cli
from keras_elmo.data.corpus import Corpus


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command in this process and in `tmp_path`: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("the bank\n\nthe river\n")
    (tmp_path / "b.txt").write_text("a bank of the river\n")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["keras-elmo", "prepare", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        told = capsys.readouterr()
        return exit_.value.code, told.out, told.err

    return run


def test_text_becomes_a_corpus_and_a_second_run_reuses_it(run):
    arguments = ("a.txt", "b*", "--output", "corpus", "--json")
    code, out, err = run(*arguments)
    expected = {
        "output": "corpus",
        "reused": False,
        "sentences": 3,
        "tokens": 9,
        "types": 8,
        "vocabulary_size": 8,
        "unknown_tokens": 0,
        "truncated_tokens": 0,
        "blank_lines": 1,
        "empty_files": 0,
        "files": 2,
    }
    assert code == 0 and json.loads(out) == expected
    assert err.splitlines()[0].startswith("keras_elmo ")
    assert len(err.splitlines()) == 1
    code, out, _ = run(*arguments)
    assert code == 0 and json.loads(out) == {**expected, "reused": True}


def test_every_option_has_its_effect(run, tmp_path):
    (tmp_path / "v.tsv").write_text("<S>\n</S>\n<UNK>\nriver\n")
    code, out, _ = run(
        *("*.txt", "--output", "corpus", "--max-characters", "6"),
        *("--vocabulary", "v.tsv", "--grow", "--min-count", "2", "--max-size", "5"),
    )
    assert code == 0 and "vocabulary size" in out
    corpus = Corpus.read(tmp_path / "corpus")
    assert corpus.vocabulary.tokens == ("<S>", "</S>", "<UNK>", "river", "the")
    assert corpus.max_characters_per_token == 6
    code, _, err = run("*.txt", "--output", "corpus", "--tokenizer", "unicode")
    assert code == 1 and "--overwrite" in err
    arguments = ("*.txt", "--output", "corpus", "--tokenizer", "unicode")
    assert run(*arguments, "--overwrite")[0] == 0
    assert len(Corpus.read(tmp_path / "corpus").vocabulary) == 8


@pytest.mark.parametrize(
    "arguments, told",
    [
        (("no*.txt",), "no*.txt"),
        ((".",), "is a directory"),
        (("a.txt", "--grow"), "grow"),
        (("a.txt", "--tokenizer", "words"), "tokenizer='words'"),
        (("a.txt", "--vocabulary", "no.txt"), "no.txt"),
        (("a.txt", "--vocabulary", "b.txt"), "Missing: <S>"),
    ],
)
def test_a_wrong_option_is_one_line_and_leaves_nothing(run, tmp_path, arguments, told):
    code, out, err = run(*arguments, "--output", "corpus")
    assert code == 1 and out == ""
    assert err.splitlines()[-1].startswith("Error: ") and told in err
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_usage_errors_exit_with_2(run):
    assert run("a.txt")[0] == 2
    assert run("--output", "corpus")[0] == 2
    assert run("a.txt", "--output", "corpus", "--min-count", "0")[0] == 2

"""The reader of CoarseWSD-20's folders."""

import json

import pytest

from keras_elmo.evaluation.coarse_wsd import WordUse, read_coarse_wsd
from tests.evaluation.word_files import write_senses

pytestmark = pytest.mark.once


def test_uses_have_their_word_and_sense(tmp_path):
    words = read_coarse_wsd(write_senses(tmp_path / "words", ("bank", "arm")))
    assert list(words) == ["arm", "bank"]
    train, test = words["bank"]
    assert (len(train), len(test)) == (12, 6)
    tokens = ["the", "bank", "lends", "money", ".", "w0"]
    assert train[0] == WordUse(tokens, 1, "bank_money")
    assert all(use.tokens[use.position] == "bank" for use in train + test)
    assert [use.sense for use in test] == ["bank_money", "bank_river"] * 3


def test_other_folders_and_files_are_passed_over(tmp_path):
    folder = write_senses(tmp_path / "words")
    (folder / "notes").mkdir()
    (folder / "README.txt").write_text("on these words")
    assert list(read_coarse_wsd(folder)) == ["bank"]


def test_a_folder_without_words_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no word"):
        read_coarse_wsd(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "train.data.txt",
            "9\tthe bank\n" * 12,
            "data.txt` line 1: expected a token's",
        ),
        ("train.data.txt", "the bank\n" * 12, "data.txt` line 1: expected a token's"),
        ("train.gold.txt", "0\n" * 11 + "7\n", r"gold.txt` line 12: expected one of"),
        ("train.gold.txt", "0\n", "a line for each of the 12"),
        ("classes_map.txt", json.dumps(["a"]), "classes_map.txt` must hold"),
    ],
)
def test_what_is_not_of_the_form_is_named(tmp_path, name, text, told):
    folder = write_senses(tmp_path / "words")
    (folder / "bank" / name).write_text(text)
    with pytest.raises(ValueError, match=told):
        read_coarse_wsd(folder)


def test_a_missing_file_is_named(tmp_path):
    folder = write_senses(tmp_path / "words")
    (folder / "bank" / "test.gold.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"test\.gold\.txt"):
        read_coarse_wsd(folder)


def test_the_published_data_is_read(golden):
    words = read_coarse_wsd(golden.parent / "eval/coarsewsd20/CoarseWSD-20")
    assert len(words) == 20
    assert sum(len(train) for train, _ in words.values()) == 23_370
    assert {use.sense for use in words["bank"][0]} == {
        "bank_bank",
        "bank_bank_(geography)",
    }

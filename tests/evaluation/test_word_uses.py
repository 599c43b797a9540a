"""A word's uses in text: which, how many, where."""

import pytest

from keras_elmo.evaluation.word_uses import Use, find_uses

pytestmark = pytest.mark.once


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    lines = ["The bank is open", "", "no use", "Bank on the bank", "The bank is open"]
    path.write_text("\n".join([*lines, "banks , embankment"]), encoding="utf-8")
    return path


def test_each_use_of_each_sentence_once(corpus):
    uses, number = find_uses("bank", [corpus])
    assert number == 3
    assert [(use.line, use.position) for use in uses] == [(1, 1), (4, 0), (4, 3)]
    assert uses[0] == Use(["The", "bank", "is", "open"], 1, str(corpus), 1)
    assert len(find_uses("bank", [corpus], match_case=True)[0]) == 2
    assert len(find_uses("BANK", [corpus])[0]) == 3


def test_a_choice_is_of_all_uses_and_in_order(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(f"bank {i}" for i in range(1000)))
    uses, number = find_uses("bank", [path], limit=50)
    lines = [use.line for use in uses]
    assert (len(uses), number) == (50, 1000)
    assert lines == sorted(set(lines)) and lines[-1] > 800 and lines[24] > 300
    assert find_uses("bank", [path], limit=50) == (uses, number)
    assert find_uses("bank", [path], limit=50, seed=1) != (uses, number)


def test_files_keep_their_order(tmp_path):
    paths = [tmp_path / "b.txt", tmp_path / "a.txt"]
    for path in paths:
        path.write_text(f"bank {path.name}")
    assert [use.file for use in find_uses("bank", paths)[0]] == list(map(str, paths))


def test_words_around_a_use():
    use = Use(["a", "b", "c", "bank", "d", "e", "f"], 3, "x", 1)
    assert use.around(9) == ("a b c", "bank", "d e f")
    assert use.around(1) == ("… c", "bank", "d …")
    assert Use(["bank"], 0, "x", 1).around(1) == ("", "bank", "")


def test_a_word_that_is_not_there_or_is_no_token_is_refused(corpus):
    with pytest.raises(ValueError, match="no sentence holds the token 'shore'"):
        find_uses("shore", [corpus])
    for word in ("", "two words", " bank"):
        with pytest.raises(ValueError, match="`word` must be one token"):
            find_uses(word, [corpus])
    with pytest.raises(ValueError, match="`limit`"):
        find_uses("bank", [corpus], limit=0)

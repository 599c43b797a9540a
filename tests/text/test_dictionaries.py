"""ELMoForManyLangs' dictionaries: files with odd lines, and tokens to ids."""

import numpy as np
import pytest

from keras_elmo.text import Dictionaries, ElmoTokenizer
from keras_elmo.text.dictionaries import read_dictionary
from keras_elmo.text.elmo_tokenizer import INPUT_KINDS
from keras_elmo.text.vocabulary_files import read_vocabulary, write_vocabulary

pytestmark = pytest.mark.once

CHARACTERS = {
    name: row
    for row, name in enumerate(
        ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>", "a", "é", "字", "\u3000"]
    )
}
WORDS = {"<oov>": 3, "<bos>": 0, "<eos>": 1, "<pad>": 2, "a": 4, "aé字a": 5, "": 6}
OOV, PAD, BOS, EOS, END, BEGIN, A = range(1, 8)


def dictionary(tmp_path, data):
    path = tmp_path / "char.dic"
    path.write_bytes(data)
    return read_dictionary(path)


@pytest.mark.parametrize(
    ("text", "entries", "lines"),
    [
        ("a\t1\nb\t0\n", {"a": 1, "b": 0}, 2),
        # The last line without its end, other ends, a byte order mark.
        ("\ufeffa\t1\r\nb\t0", {"a": 1, "b": 0}, 2),
        # White space around a line is no part of it.
        ("  a b \t1 \n", {"a b ": 1}, 1),
        ("7\n", {"\u3000": 7}, 1),
        ("\u3000\t7\n", {"\u3000": 7}, 1),
        ("\xa0\t7\n", {"\u3000": 7}, 1),
        # Two that would be one: each is what it was.
        ("\xa0\t7\n\u3000\t8\n", {"\xa0": 7, "\u3000": 8}, 2),
        ("\xa0\t7\n8\n", {"\xa0": 7, "\u3000": 8}, 2),
        # A line ends in LF alone.
        ("\u2028\t7\nb\x85c\t1\n", {"\u3000": 7, "b\x85c": 1}, 2),
        ("\n \na\t1\n\n", {"a": 1}, 1),
        ("a\t1\na\t2\n", {"a": 2}, 2),
        ("\ufeffa\t0\n\ufeff\t1\n\u200b\t2\n", {"a": 0, "\ufeff": 1, "\u200b": 2}, 3),
        ("", {}, 0),
    ],
)
def test_odd_lines(text, entries, lines, tmp_path):
    found = dictionary(tmp_path, text.encode("utf-8"))
    assert found == (entries, lines)
    # What was read can be written and is read again.
    written = "".join(f"{entry}\t{row}\n" for entry, row in entries.items())
    again = dictionary(tmp_path, written.encode("utf-8"))[0]
    assert again == (entries if "a b " not in entries else {"a b ": 1})


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a\t1\nb\n", 2),
        (b"a\tb\t1\n", 1),
        (b"a 1\n", 1),
        (b"a\t-1\n", 1),
        (b"a\t1.0\n", 1),
        ("a\t１\n".encode(), 1),
        (b"a\t99999999999999999999\n", 1),
        (b"a\t1\n\xff\t2\n", 2),
    ],
)
def test_lines_that_are_no_entries_are_named(data, line, tmp_path):
    with pytest.raises(ValueError, match=rf"char\.dic` line {line}: "):
        dictionary(tmp_path, data)


def test_characters_are_code_points_with_begin_and_end_swapped():
    encode = Dictionaries(characters=CHARACTERS).encode_tokens
    ids = encode(["a字", "", "b", "<bos>", "<eos>", "<pad>", "aaaaaa"], 6)
    np.testing.assert_array_equal(
        ids,
        [
            [BEGIN, A, 9, END, PAD, PAD],
            [BEGIN, END, PAD, PAD, PAD, PAD],
            [BEGIN, OOV, END, PAD, PAD, PAD],
            [BEGIN, BOS, END, PAD, PAD, PAD],
            [BEGIN, EOS, END, PAD, PAD, PAD],
            [BEGIN, OOV, OOV, A, OOV, END],
            [BEGIN, A, A, A, A, END],
        ],
    )
    assert encode([], 6).shape == (0, 6)
    # A lone surrogate is a character that no dictionary has.
    np.testing.assert_array_equal(encode(["\ud800"], 3), [[BEGIN, OOV, END]])


def test_words_are_cut_before_they_are_looked_up():
    encode = Dictionaries(words=WORDS).encode_tokens
    tokens = ["a", "A", "aé字abc", "", "<bos>", "<oov>"]
    assert encode(tokens, 6).tolist() == [5, 4, 6, 7, 1, 4]
    assert encode(tokens, 7).tolist() == [5, 4, 4, 7, 1, 4]


def test_both_stand_side_by_side_and_padding_is_0():
    both = Dictionaries(WORDS, CHARACTERS)
    tokenizer = ElmoTokenizer(
        input_kind=INPUT_KINDS[4], max_characters_per_token=5, vocabulary=both
    )
    assert tokenizer.ids_width == 6 and tokenizer.markers == ("<bos>", "<eos>")
    ids = tokenizer.encode_sentences([["a", "é"], []])
    assert ids.shape == (2, 2, 6) and not ids[1].any()
    assert ids[0, 0].tolist() == [5, BEGIN, A, END, PAD, PAD]
    assert ids[0, 1].tolist() == [4, BEGIN, 8, END, PAD, PAD]
    assert tokenizer.count_truncated(["aaa", "字字字字", "<bos>"]) == 1
    assert len(both) == 7 and repr(both) == "Dictionaries(7 words, 10 characters)"


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="must be given"):
        Dictionaries()
    with pytest.raises(ValueError, match="Missing: <oov>, <bos>, <eos>"):
        Dictionaries(words={"a": 0})
    with pytest.raises(ValueError, match="Missing: <eow>"):
        Dictionaries(characters={k: v for k, v in CHARACTERS.items() if k != "<eow>"})
    with pytest.raises(ValueError, match="needs its `Dictionaries`"):
        ElmoTokenizer(input_kind="dictionary_words").encode_tokens(["a"])


@pytest.mark.parametrize("words", [WORDS, None])
@pytest.mark.parametrize("characters", [CHARACTERS, None])
def test_files_are_written_and_read_back(words, characters, tmp_path):
    if words is None and characters is None:
        assert read_vocabulary(tmp_path) is None
        return
    words = words and {word: row for word, row in words.items() if word}
    dictionaries = Dictionaries(words, characters)
    write_vocabulary(dictionaries, tmp_path)
    assert read_vocabulary(tmp_path) == dictionaries
    with pytest.raises(FileExistsError):
        dictionaries.write(tmp_path)


@pytest.mark.parametrize("entry", ["", " a", "a\tb", "a\nb", "\ud800"])
def test_an_entry_that_could_not_be_read_back_is_not_written(entry, tmp_path):
    words = {word: row for word, row in WORDS.items() if word}
    with pytest.raises(ValueError, match=r"cannot stand in a file|surrogates"):
        Dictionaries(words={**words, entry: 7}).write(tmp_path)
    assert not list(tmp_path.iterdir())

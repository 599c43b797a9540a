"""Columns of tokens and tags, and CoNLL-U."""

import gzip
import os
import pathlib

import pytest

from keras_elmo.tasks.columns import read_columns

pytestmark = pytest.mark.once


def written(tmp_path, content, name="file.txt"):
    path = tmp_path / name
    data = content.encode("utf-8")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


SENTENCES = [(["The", "dog"], ["B-NP", "I-NP"]), (["It"], ["B-NP"])]


@pytest.mark.parametrize(
    "content, name",
    [
        ("The DT B-NP\ndog NN I-NP\n\nIt PRP B-NP\n", "a.txt"),
        ("\ufeffThe DT B-NP\r\ndog NN I-NP\r\n\r\n\r\nIt PRP B-NP", "a.txt"),
        ("The\tB-NP\ndog\tI-NP\n \nIt\tB-NP\n\n", "a.txt"),
        ("The  DT   B-NP\ndog NN I-NP\n\t\nIt PRP B-NP\n", "a.conll.gz"),
        ("-DOCSTART- -X- O\n\nThe DT B-NP\ndog NN I-NP\n\nIt PRP B-NP\n", "a.txt"),
    ],
)
def test_the_forms_of_columns(tmp_path, content, name):
    assert read_columns(written(tmp_path, content, name)) == SENTENCES


def test_columns_are_chosen_by_number(tmp_path):
    path = written(tmp_path, "0 The DT B-NP\n1 dog NN I-NP\n")
    assert read_columns(path, tag=2, token_column=1) == [(["The", "dog"], ["DT", "NN"])]
    with pytest.raises(ValueError, match="columns 0 to 3"):
        read_columns(path, tag=4)
    with pytest.raises(ValueError, match="number of a column"):
        read_columns(path, tag="upos")


@pytest.mark.parametrize("token", ["\xa0", "a b", "\x85", "\u2028", "\ufeff", "😀"])
def test_between_tabs_a_token_may_be_anything(tmp_path, token):
    path = written(tmp_path, f"x\tO\n{token}\tB-X\n")
    assert read_columns(path) == [(["x", token], ["O", "B-X"])]


CONLLU = """# newdoc id = 1
# sent_id = 1
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t_\t_

# sent_id = 2
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
"""


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz"])
def test_conllu_has_words_and_two_kinds_of_tags(tmp_path, name):
    path = written(tmp_path, CONLLU, name)
    assert read_columns(path) == [(["do", "n't"], ["AUX", "PART"]), (["Go"], ["VERB"])]
    assert read_columns(path, tag="xpos")[0].tags == ["VB", "RB"]
    with pytest.raises(ValueError, match="'upos', 'xpos'"):
        read_columns(path, tag="pos")


@pytest.mark.parametrize(
    "content, name, error",
    [
        ("", "a.txt", "no sentence"),
        ("\n\n", "a.txt", "no sentence"),
        ("# only\n", "a.conllu", "no sentence"),
        ("a O\nb c O\n", "a.txt", "line 2: expected 2 columns"),
        ("word\n", "a.txt", "line 1: expected 2 columns"),
        ("a\t\n", "a.txt", "line 1: token and tag"),
        ("a\tO\n\tO\n", "a.txt", "line 2: token and tag"),
        ("1\ta\tb\n", "a.conllu", "line 1: expected 10 columns"),
        (CONLLU.replace("VERB\tVB\t", "_\tVB\t"), "a.conllu", "line 9: the word"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, content, name, error):
    path = written(tmp_path, content, name)
    with pytest.raises(ValueError, match=error) as raised:
        read_columns(path)
    assert name in str(raised.value)


# Counted with grep and awk: lines of tokens, and groups of them.
COUNTS = {
    "ud_english_ewt/en_ewt-ud-train.conllu": (12_544, 204_577),
    "ud_english_ewt/en_ewt-ud-dev.conllu": (2_001, 25_147),
    "ud_english_ewt/en_ewt-ud-test.conllu": (2_077, 25_094),
    "conll2000/train.txt": (8_936, 211_727),
    "conll2000/test.txt": (2_012, 47_377),
    "wnut17/wnut17train.conll": (3_394, 62_730),
    "wnut17/emerging.dev.conll": (1_009, 15_733),
    "wnut17/emerging.test.annotated": (1_287, 23_394),
    # Without its 145 -DOCSTART- lines.
    "wikigold/wikigold.conll.txt": (1_696, 39_007),
}


@pytest.mark.parametrize("name", COUNTS)
def test_published_files_are_read_whole(name):
    data = os.environ.get("KERAS_ELMO_TEST_DATA")
    path = pathlib.Path(data or "", "eval", name)
    if not data or not path.exists():
        pytest.skip("KERAS_ELMO_TEST_DATA names no folder that holds eval/")
    sentences = read_columns(path)
    tokens = sum(len(sentence.tokens) for sentence in sentences)
    assert (len(sentences), tokens) == COUNTS[name]

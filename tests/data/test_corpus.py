"""A corpus as numbers: what types are, what a model reads of them, damaged stores."""

import json
import pickle
import shutil

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from keras_elmo.data.corpus import Corpus
from keras_elmo.data.corpus_files import ArrayFile
from keras_elmo.data.prepare import prepare
from keras_elmo.text import Vocabulary, build_vocabulary, encode_tokens

SPECIALS = ["<S>", "</S>", "<UNK>"]
SENTENCES = [["the", "bank", "of"], [], ["the", "<S>", "café"], ["of", "the"]]

words = st.one_of(
    st.text("ab", min_size=1, max_size=3),
    st.text(min_size=1, max_size=8),
    st.sampled_from([*SPECIALS, "!!!MAXTERMID", "x" * 60]),
)
texts = st.lists(st.lists(words, max_size=5), min_size=1, max_size=8)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "in.txt").write_text("\n".join(map(" ".join, SENTENCES)), "utf-8")
    prepare(tmp_path / "in.txt", tmp_path / "corpus", max_size=5)
    return tmp_path / "corpus"


def test_types_are_the_vocabulary_then_words_by_falling_count_and_alphabet():
    vocabulary = Vocabulary([*SPECIALS, "z"])
    sentences = [["b", "a", "c"], ["c", "z", "<UNK>"], ["</S>"]]
    corpus = Corpus.from_sentences(sentences, vocabulary)
    assert list(corpus.types) == [*SPECIALS, "z", "c", "a", "b"]
    np.testing.assert_array_equal(corpus.tokens, [6, 5, 4, 4, 3, 2, 1])
    np.testing.assert_array_equal(corpus.offsets, [0, 3, 6, 7])
    np.testing.assert_array_equal(corpus.targets(corpus.tokens), [2, 2, 2, 2, 3, 2, 1])
    assert (len(corpus), corpus.num_sentences, corpus.num_tokens) == (3, 3, 7)
    assert corpus.num_types == 7 and corpus.max_characters_per_token == 50


@hypothesis.given(texts)
def test_a_corpus_in_memory_says_what_the_sentences_say(sentences):
    hypothesis.assume(any(sentences))
    corpus = Corpus.from_sentences(sentences)
    kept = [sentence for sentence in sentences if sentence]
    assert corpus.vocabulary == build_vocabulary(kept)
    assert len(corpus) == len(kept)
    assert corpus.tokens.dtype == np.int32 and corpus.offsets.dtype == np.int64
    for number, sentence in enumerate(kept):
        types = corpus.tokens[corpus.offsets[number] : corpus.offsets[number + 1]]
        assert [corpus.types[t] for t in types] == sentence
        ids = corpus.vocabulary.ids(sentence)
        np.testing.assert_array_equal(corpus.targets(types), ids - 1)
        np.testing.assert_array_equal(corpus.input_ids(types, "words"), ids)


@hypothesis.given(texts, st.integers(3, 12), st.integers(0, 50))
def test_fewer_characters_are_what_the_encoder_would_have_made(texts, width, more):
    hypothesis.assume(any(texts))
    corpus = Corpus.from_sentences(texts, max_characters_per_token=width + more)
    types = np.arange(corpus.num_types)
    np.testing.assert_array_equal(
        corpus.input_ids(types, "characters", width),
        encode_tokens(corpus.types, width),
    )
    np.testing.assert_array_equal(
        corpus.input_ids(types, "characters"),
        encode_tokens(corpus.types, width + more),
    )


def test_batches_of_any_shape_keep_it():
    corpus = Corpus.from_sentences(SENTENCES)
    types = np.array([[0, 1, 3], [4, 5, 2]])
    for ids in (corpus.targets(types), corpus.input_ids(types, "words")):
        assert ids.shape == (2, 3) and ids.dtype == np.int32
    ids = corpus.input_ids(types, "characters", 7)
    assert ids.shape == (2, 3, 7) and ids.dtype == np.int32
    assert corpus.input_ids(types[:0], "characters", 7).shape == (0, 3, 7)
    np.testing.assert_array_equal(ids[1, 0], encode_tokens([corpus.types[4]], 7)[0])


def test_ids_are_copies_that_may_be_written_to(store):
    corpus = Corpus.read(store)
    before = corpus.input_ids([0, 4], "characters").copy()
    corpus.input_ids([0, 4], "characters", 3)[:] = 0
    corpus.input_ids([0, 4], "characters")[:] = 0
    np.testing.assert_array_equal(corpus.input_ids([0, 4], "characters"), before)


def test_a_word_that_comes_twice_is_its_last_row():
    vocabulary = Vocabulary([*SPECIALS, "a", "b", "a"])
    corpus = Corpus.from_sentences([["a", "b", "c"]], vocabulary)
    np.testing.assert_array_equal(corpus.tokens, [5, 4, 6])
    assert list(corpus.types) == [*SPECIALS, "a", "b", "a", "c"]


def test_more_characters_than_the_store_has_are_refused():
    corpus = Corpus.from_sentences(SENTENCES, max_characters_per_token=10)
    with pytest.raises(ValueError, match=r"at most 10.*Received: 11.*--max-characters"):
        corpus.input_ids(corpus.tokens, "characters", 11)
    with pytest.raises(ValueError, match="at least 3"):
        corpus.input_ids(corpus.tokens, "characters", 2)
    with pytest.raises(ValueError, match="input_kind='bytes'"):
        corpus.input_ids(corpus.tokens, "bytes", 5)


@pytest.mark.parametrize("wrong", [-1, 99])
def test_numbers_that_are_no_types_are_refused(wrong):
    corpus = Corpus.from_sentences(SENTENCES)
    for call in (corpus.targets, lambda types: corpus.input_ids(types, "characters")):
        with pytest.raises(ValueError, match=f"Received: {wrong}"):
            call([0, wrong])
    with pytest.raises(TypeError, match="integers"):
        corpus.targets([0.5])


def test_no_sentences_and_no_tokens_are_errors():
    with pytest.raises(ValueError, match="no sentences"):
        Corpus.from_sentences([[], []])
    with pytest.raises(TypeError, match=r"sentences\[0\]"):
        Corpus.from_sentences(["the bank"])


def test_a_store_is_memory_mapped_and_the_same_as_in_memory(store):
    corpus = Corpus.read(store)
    vocabulary = build_vocabulary(filter(None, SENTENCES), max_size=5)
    expected = Corpus.from_sentences(SENTENCES, vocabulary)
    assert isinstance(corpus.tokens, np.memmap)
    assert isinstance(corpus.offsets, np.memmap)
    assert not corpus.tokens.flags.writeable
    assert corpus.vocabulary == expected.vocabulary
    assert list(corpus.types) == list(expected.types)
    np.testing.assert_array_equal(corpus.tokens, expected.tokens)
    np.testing.assert_array_equal(corpus.offsets, expected.offsets)
    for width in (3, 5, 50):
        ids = corpus.input_ids(corpus.tokens, "characters", width)
        assert type(ids) is np.ndarray
        np.testing.assert_array_equal(
            ids, expected.input_ids(expected.tokens, "characters", width)
        )
    assert "3 sentences, 8 tokens" in repr(corpus)


def test_a_pickled_store_is_opened_again_where_it_lies(store, monkeypatch):
    corpus = Corpus.read(store)
    data = pickle.dumps(corpus)
    assert len(data) < 500
    monkeypatch.chdir("/")
    assert isinstance(pickle.loads(data).tokens, np.memmap)
    memory = pickle.loads(pickle.dumps(Corpus.from_sentences(SENTENCES)))
    assert memory.types[3] == "the"


def test_no_corpus_is_told_from_a_damaged_one(tmp_path, store):
    with pytest.raises(FileNotFoundError, match=r"corpus\.json.*prepare"):
        Corpus.read(tmp_path / "nowhere")
    (store / "offsets.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"offsets\.npy"):
        Corpus.read(store)


def changed_info(store, change):
    info = json.loads((store / "corpus.json").read_text())
    change(info)
    (store / "corpus.json").write_text(json.dumps(info))


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda info: info.update(format=99), "format 99"),
        (lambda info: info.pop("format"), "does not describe"),
        (lambda info: info.pop("numbers"), "numbers"),
        (lambda info: info["numbers"].pop("types"), "types"),
        (lambda info: info["numbers"].update(tokens="8"), "tokens='8'"),
        (lambda info: info["numbers"].update(tokens=True), "tokens=True"),
        (lambda info: info["numbers"].update(sentences=0), "sentences=0"),
        (lambda info: info["numbers"].update(vocabulary_size=99), "99 words"),
        (lambda info: info.update(max_characters_per_token=2), "at least 3"),
    ],
)
def test_a_wrong_description_is_refused(store, change, told):
    changed_info(store, change)
    with pytest.raises(ValueError, match=rf"corpus\.json`.*{told}"):
        Corpus.read(store)


@pytest.mark.parametrize("name", ["tokens", "offsets", "characters"])
@pytest.mark.parametrize(
    "change",
    [
        lambda array: array.astype("int16"),
        lambda array: array.astype(array.dtype.newbyteorder(">")),
        lambda array: array.astype("float32"),
        lambda array: array[:-1],
        lambda array: array[None],
        lambda array: array.astype(object),
        lambda array: np.zeros(0, array.dtype),
    ],
)
def test_an_array_of_another_type_or_shape_is_refused(store, name, change):
    path = store / f"{name}.npy"
    np.save(path, change(np.load(path)))
    with pytest.raises(ValueError, match=rf"{name}\.npy`"):
        Corpus.read(store)


@pytest.mark.parametrize("name", ["tokens", "offsets", "characters"])
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:100],
        lambda data: b"",
        lambda data: b"PK\x03\x04" + data,
        lambda data: pickle.dumps([1, 2]),
        lambda data: data.replace(b"'shape': (", b"'shape': (-"),
        lambda data: data.replace(b"'shape': (", b"'shape': (9**9**9"),
    ],
)
def test_a_damaged_array_is_refused(store, name, change):
    path = store / f"{name}.npy"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"{name}\.npy`"):
        Corpus.read(store)


@pytest.mark.parametrize(
    "name, values",
    [
        ("offsets", [0, 3, 3, 8]),
        ("offsets", [0, 6, 3, 8]),
        ("offsets", [1, 3, 6, 8]),
        ("offsets", [0, 3, 6, 7]),
        ("offsets", [0, -3, 6, 8]),
        ("tokens", [3, 4, 5, 3, 0, 6, 5, 7]),
        ("tokens", [3, 4, 5, 3, 0, 6, 5, -1]),
    ],
)
def test_numbers_out_of_range_are_refused(store, name, values):
    path = store / f"{name}.npy"
    np.save(path, np.array(values, np.load(path).dtype))
    with pytest.raises(ValueError, match=rf"{name}\.npy`"):
        Corpus.read(store)


def test_character_ids_out_of_range_are_refused(store):
    characters = np.load(store / "characters.npy")
    characters[1, 1] = 262
    np.save(store / "characters.npy", characters)
    with pytest.raises(ValueError, match=r"characters\.npy`"):
        Corpus.read(store)


@pytest.mark.parametrize(
    "name, change",
    [
        ("types.txt", lambda data: data[:-1]),
        ("types.txt", lambda data: data + b"more\n"),
        ("types.txt", lambda data: data.replace(b"the\n", b"The\n")),
        ("types.txt", lambda data: data.replace("é".encode(), b"\xff")),
        ("vocabulary.txt", lambda data: data + b"more\t1\n"),
        ("vocabulary.txt", lambda data: data.replace(b"the\t", b"\xff\t")),
    ],
)
def test_damaged_words_are_refused(store, name, change):
    path = store / name
    assert change(path.read_bytes()) != path.read_bytes()
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=name):
        Corpus.read(store)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_byte_that_changes_is_harmless_or_an_error_that_names_a_file(
    store, tmp_path
):
    rng = np.random.default_rng(0)
    names = sorted(path.name for path in store.iterdir())
    copy = tmp_path / "copy"
    for _ in range(300):
        shutil.copytree(store, copy)
        path = copy / rng.choice(names)
        data = bytearray(path.read_bytes())
        data[rng.integers(min(len(data), 200))] = rng.integers(256)
        path.write_bytes(data)
        try:
            corpus = Corpus.read(copy)
            corpus.input_ids(corpus.tokens, "characters", 4)
            assert len(corpus.types) == corpus.num_types
        except ValueError as error:
            assert str(copy) in str(error)
        shutil.rmtree(copy)


@pytest.mark.parametrize("row_shape", [(), (3,)])
def test_an_array_file_is_what_numpy_reads(tmp_path, monkeypatch, row_shape):
    monkeypatch.setattr("keras_elmo.data.corpus_files._CHUNK", 3)
    parts = [
        np.arange(n * int(np.prod(row_shape))).reshape(n, *row_shape) for n in (4, 1, 7)
    ]
    with ArrayFile(tmp_path / "a.npy", np.dtype("<i4"), row_shape) as file:
        for part in parts:
            file.append(part)
        file.rewrite(lambda rows: rows * 2 + 1)
        file.append(parts[0])
    expected = np.concatenate([*(part * 2 + 1 for part in parts), parts[0]])
    array = np.load(tmp_path / "a.npy")
    assert array.dtype == np.int32
    np.testing.assert_array_equal(array, expected)

"""Word vectors of files: rows, look-up, formats, and what a broken file says."""

import gzip

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import Vocabulary
from keras_elmo.tasks.word_vectors import (
    embedding_from_word_vectors,
    random_embedding,
    read_word_vectors,
)

GLOVE = "the 0.5 -1\nBank 1e-2 2\nbank 3 4\n. . . 5 6\nriver 7 8\nthe 9 9\n"
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "the", "Bank", "River", "BANK", "sea"])


@pytest.fixture
def written(tmp_path):
    def write(text, name="vectors.txt"):
        path = tmp_path / name
        data = text.encode("utf-8")
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def table(layer):
    return ops.convert_to_numpy(layer.embeddings)


def test_a_words_vector_is_the_row_of_its_id(written):
    layer, found = embedding_from_word_vectors(written(GLOVE), VOCABULARY)
    ids = VOCABULARY.ids(["the", "Bank", "River", "BANK"])
    vectors = ops.convert_to_numpy(layer(ops.convert_to_tensor([[*ids, 0]])))[0]
    # Exact first, then lower-cased; the first of two lines of "the"; padding: zeros.
    expected = [[0.5, -1], [0.01, 2], [7, 8], [3, 4], [0, 0]]
    np.testing.assert_array_equal(vectors, np.array(expected, "float32"))
    assert found == 4
    assert layer.built
    mask = layer.compute_mask(ops.convert_to_tensor([[4, 0]]))
    assert ops.convert_to_numpy(mask).tolist() == [[True, False]]
    assert layer.trainable_weights == []
    assert table(layer).shape == (len(VOCABULARY) + 1, 2)


@pytest.mark.parametrize("trainable", [False, True])
def test_vectors_are_trained_only_where_asked(trainable, written):
    layer, _ = embedding_from_word_vectors(written(GLOVE), VOCABULARY, trainable)
    # Dense: Keras warns of a model that has nothing to train.
    pooling, dense = keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)
    model = keras.Sequential([layer, pooling, dense])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    before = table(layer)
    model.fit(np.array([[4, 5, 0]]), np.ones((1, 2)), verbose=0)
    changed = (table(layer) != before).any(axis=1)
    expected = np.zeros(len(VOCABULARY) + 1, bool)
    expected[[4, 5]] = trainable
    np.testing.assert_array_equal(changed, expected)


@pytest.mark.once
def test_words_without_a_vector_get_random_ones_of_the_same_spread(written):
    words = [f"w{n}" for n in range(4000)]
    rng = np.random.default_rng(7)
    stored = rng.normal(0.0, 0.3, (2000, 4))
    lines = [
        " ".join([word, *map(str, row)])
        for word, row in zip(words[:2000], stored, strict=True)
    ]
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *words])
    path = written("\n".join(lines))
    layer, found = embedding_from_word_vectors(path, vocabulary, seed=1)
    assert found == 2000
    drawn = table(layer)[4 + 2000 :]
    # 8,000 numbers: the mean's standard error is 0.0034, the deviation's 0.0024.
    assert abs(drawn.mean()) < 0.015
    assert abs(drawn.std() - stored.std()) < 0.01
    again, _ = embedding_from_word_vectors(path, vocabulary, seed=1)
    np.testing.assert_array_equal(table(again), table(layer))
    other, _ = embedding_from_word_vectors(path, vocabulary, seed=2)
    assert (table(other)[4 + 2000 :] != drawn).all()


@pytest.mark.once
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
@pytest.mark.parametrize("header", ["", "2 3\n", "99999999999 3\n"])
def test_both_formats_are_read_whatever_number_of_words_they_claim(
    header, name, written
):
    # word2vec's own program leaves a space at the end; "3" is a word here.
    path = written(f"{header}the 1 2 3 \r\n3 4 5 6\n\n", name)
    vectors = read_word_vectors(path, {"the", "3"})
    assert {word: row.tolist() for word, row in vectors.items()} == {
        "the": [1, 2, 3],
        "3": [4, 5, 6],
    }


@pytest.mark.once
def test_words_with_white_space_are_words(written):
    # As in GloVe of 840 billion words: spaces, and U+00A0 and U+0085 inside a word.
    text = "a 1 2\n. . . 3 4\nx\u00a0y 5 6\nu\u0085v 7 8\n"
    vectors = read_word_vectors(written(text), {". . .", "x\u00a0y", "u\u0085v"})
    assert {word: row.tolist() for word, row in vectors.items()} == {
        ". . .": [3, 4],
        "x\u00a0y": [5, 6],
        "u\u0085v": [7, 8],
    }


@pytest.mark.once
def test_agrees_with_a_reader_of_whole_files(written):
    """Against `str.split` and `np.loadtxt`, which read all of a plain file."""
    rng = np.random.default_rng(3)
    words, rows = [f"w{n}" for n in range(50)], rng.normal(size=(50, 7))
    text = "".join(
        " ".join([w, *(f"{x:.6f}" for x in row)]) + "\n"
        for w, row in zip(words, rows, strict=True)
    )
    path = written(text)
    expected = np.loadtxt(path, usecols=range(1, 8), dtype="float32", encoding="utf-8")
    vectors = read_word_vectors(path, set(words[::3]))
    assert list(vectors) == words[::3]
    np.testing.assert_array_equal(list(vectors.values()), expected[::3])


@pytest.mark.once
@pytest.mark.parametrize(
    "text, told",
    [
        ("the 1 2\nbank 1\n", r"vectors\.txt` line 2: expected a word and 2 numbers"),
        ("the\nbank 1\n", "line 1: expected a word and 1 numbers"),
        ("1 2\nthe 1 2\nbank 1 2 3\n", "line 3: expected a word and 2 numbers"),
        ("2 3\nthe 1 2\n", "line 2: 2 numbers, where the first line says 3"),
        ("sea 1 2\nthe 1 x\n", "line 2: no number: .*'x'"),
        ("the 1 nan\n", "line 1: a number is NaN or infinite"),
        ("the -inf 1\n", "line 1: a number is NaN or infinite"),
        # Infinite in float32 only.
        ("the 1e39 1\n", "line 1: a number is NaN or infinite"),
        ("ocean 1 2\n", "no vector for any of the vocabulary's 8 words"),
        ("3 2\n", "no vector for any"),
        ("", "no vector for any"),
    ],
)
def test_a_broken_file_is_refused_naming_the_line(text, told, written):
    with pytest.raises(ValueError, match=told):
        embedding_from_word_vectors(written(text), VOCABULARY)


@pytest.mark.once
def test_a_line_of_another_encoding_is_named(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes("the 1 2\ncafé 3 4\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        read_word_vectors(path, {"the"})


@pytest.mark.once
def test_random_vectors_follow_the_seed():
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *map(str, range(500))])
    layer = random_embedding(vocabulary, 64, seed=5)
    rows = table(layer)
    assert rows.shape == (504, 64)
    assert (rows[0] == 0).all()
    # A sum of 64 squares of variance 1/64: 1, with a standard error of the mean of
    # sqrt(2 / 64 / 503) = 0.008.
    assert abs((rows[1:] ** 2).sum(axis=1).mean() - 1.0) < 0.04
    assert layer.trainable and layer.mask_zero
    np.testing.assert_array_equal(table(random_embedding(vocabulary, 64, 5)), rows)
    assert (table(random_embedding(vocabulary, 64, 6))[1:] != rows[1:]).all()
    with pytest.raises(ValueError, match="dim"):
        random_embedding(vocabulary, 0)

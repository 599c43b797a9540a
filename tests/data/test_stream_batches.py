"""Streams: whole sentences row by row, in both directions, the same batch each time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import keras_elmo
from keras_elmo.data import Corpus, StreamBatches
from tests.models_for_tests import character_backbone, word_backbone

WORDS = ["a", "b", "c", "d", "e"]
VOCABULARY = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *WORDS])
BACKBONE = word_backbone(WORDS)
TOKENS = st.lists(st.sampled_from([*WORDS, "unseen"]), min_size=1, max_size=9)


def corpus_of(sentences):
    return Corpus.from_sentences(sentences, VOCABULARY)


def sentences(number=23, seed=1):
    rng = np.random.default_rng(seed)
    return [list(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(number)]


def read_rows(batches):
    """What each row reads and is to predict: {direction: [(inputs, targets)] a row}."""
    found = {
        d: [([], []) for _ in range(batches.batch_size)]
        for d in ("forward", "backward")
    }
    for index in range(len(batches)):
        x, y, weight = batches[index]
        for direction, rows in found.items():
            for row, (inputs, targets) in enumerate(rows):
                real = weight[direction][row] > 0
                inputs += x["tokens"][x[direction][row][real]].tolist()
                targets += y[direction][row][real].tolist()
                assert not x[direction][row][~real].any()
    return found


def split_sentences(inputs, targets, first, last):
    """The sentences of one row, checked to be framed and shifted by one."""
    first, last = (int(VOCABULARY.ids([m])[0]) for m in (first, last))
    found, start = [], 0
    while start < len(inputs):
        assert inputs[start] == first
        end = targets.index(last - 1, start)
        words = [target + 1 for target in targets[start:end]]
        assert inputs[start + 1 : end + 1] == words
        found.append(words)
        start = end + 1
    return found


@settings(max_examples=30)
@given(
    st.lists(TOKENS, min_size=1, max_size=20),
    st.integers(1, 6),
    st.integers(1, 7),
    st.booleans(),
)
def test_every_sentence_once_in_both_directions(text, rows, unroll, shuffle):
    batches = StreamBatches(corpus_of(text), BACKBONE, rows, unroll, shuffle=shuffle)
    found = read_rows(batches)
    forward = [split_sentences(*row, "<S>", "</S>") for row in found["forward"]]
    backward = [split_sentences(*row, "</S>", "<S>") for row in found["backward"]]
    # The same sentences in the same order, each reversed.
    assert backward == [[words[::-1] for words in row] for row in forward]
    expected = [VOCABULARY.ids(tokens).tolist() for tokens in text]
    flat = [words for row in forward for words in row]
    assert sorted(flat) == sorted(expected)
    if not shuffle:
        assert flat == expected
    longest = max(sum(len(words) + 1 for words in row) for row in forward)
    assert len(batches) == -(-longest // unroll)


def test_rows_are_of_about_equal_length():
    text = sentences(1000)
    batches = StreamBatches(corpus_of(text), BACKBONE, 8, 5)
    positions = sum(len(tokens) + 1 for tokens in text)
    assert len(batches) <= -(-positions // (8 * 5)) + 2


def flat(batch):
    x, y, weight = batch
    negatives = x.get("negatives", {})
    arrays = [x["tokens"], x["carry"], *y.values(), *weight.values()]
    arrays += [x["forward"], x["backward"]]
    for found in negatives.values():
        arrays += list(found.values())
    return [array.tobytes() for array in arrays]


def test_a_batch_is_a_function_of_seed_epoch_and_number():
    corpus = corpus_of(sentences(60))

    def batches(**options):
        return StreamBatches(corpus, BACKBONE, 4, 5, num_negatives=3, **options)

    whole = batches(seed=1, epoch=2)
    assert flat(whole[3]) == flat(whole[3])
    part = batches(seed=1, epoch=2, start=3, steps=2)
    assert len(part) == 2
    assert [flat(part[i]) for i in (1, 0)] == [flat(whole[i]) for i in (4, 3)]
    assert flat(batches(seed=1, epoch=3)[3]) != flat(whole[3])
    assert flat(batches(seed=2, epoch=2)[3]) != flat(whole[3])


def test_negatives_are_drawn_for_each_direction_and_step():
    batches = StreamBatches(corpus_of(sentences()), BACKBONE, 4, 5, num_negatives=4)
    drawn = [batches[i][0]["negatives"] for i in range(2)]
    for found in drawn:
        for direction, values in found.items():
            assert len(set(values["sampled_ids"].tolist())) == 4
            assert values["true_expected_count"].shape == (4, 5)
            assert (values["true_expected_count"] > 0).all(), direction
    ids = [v["sampled_ids"].tolist() for found in drawn for v in found.values()]
    assert len({tuple(i) for i in ids}) > 1


def test_held_out_streams_start_from_nothing():
    batches = StreamBatches(corpus_of(sentences()), BACKBONE, 4, 5, fresh=True)
    assert [batches[i][0]["carry"].tolist() for i in (0, 1)] == [[0.0] * 4, [1.0] * 4]


def test_processes_share_one_batch():
    """Put together, the parts of two processes read what one process reads."""
    corpus = corpus_of(sentences(60))
    whole = StreamBatches(corpus, BACKBONE, 4, 5, num_negatives=4)
    parts = [
        StreamBatches(corpus, BACKBONE, 4, 5, num_negatives=4, shards=2, shard=i)
        for i in range(2)
    ]
    for index in range(len(whole)):
        x, y, weight = whole[index]
        (x0, y0, w0), (x1, y1, w1) = (part[index] for part in parts)
        tokens = np.concatenate([x0["tokens"], x1["tokens"]])
        for direction in ("forward", "backward"):
            rows = np.concatenate([x0[direction], x1[direction]])
            np.testing.assert_array_equal(tokens[rows], x["tokens"][x[direction]])
            for ours, first, second in ((y, y0, y1), (weight, w0, w1)):
                joined = np.concatenate([first[direction], second[direction]])
                np.testing.assert_array_equal(joined, ours[direction])
            for name, value in x["negatives"][direction].items():
                joined = [part["negatives"][direction][name] for part in (x0, x1)]
                np.testing.assert_array_equal(np.concatenate(joined), value)


def test_each_device_of_one_process_has_a_table_of_its_own():
    corpus = corpus_of(sentences(60))
    whole = StreamBatches(corpus, BACKBONE, 4, 5, num_negatives=4)
    both = StreamBatches(corpus, BACKBONE, 4, 5, num_negatives=4, shards=2, shard=None)
    x, expected = both[2][0], whole[2][0]
    tables = np.split(x["tokens"], 2)
    for direction in ("forward", "backward"):
        rows = np.split(x[direction], 2)
        read = [table[part] for table, part in zip(tables, rows, strict=True)]
        np.testing.assert_array_equal(
            np.concatenate(read), expected["tokens"][expected[direction]]
        )
        ids = x["negatives"][direction]["sampled_ids"]
        np.testing.assert_array_equal(
            ids, np.tile(expected["negatives"][direction]["sampled_ids"], 2)
        )


def test_long_words_have_the_same_vectors_in_their_own_table():
    words = ["short", "x" * 40, "é" * 30, "the"]
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])
    backbone = character_backbone(max_characters_per_token=50)
    corpus = Corpus.from_sentences([words, words[::-1]], vocabulary)
    x, y, weight = StreamBatches(corpus, backbone, 1, 10, shuffle=False)[0]
    assert x["tokens"].shape[1] < x["long_tokens"].shape[1] == 50
    model = keras_elmo.ElmoBiLM(backbone, len(vocabulary), batch_size=1)
    hidden = model.predict_on_batch(x)["forward"]
    # The same rows, all of full width in one table.
    table = np.concatenate([x["tokens"], x["long_tokens"][:, : x["tokens"].shape[1]]])
    tokens = np.full((len(table), 50), 261, "int32")
    tokens[:, : table.shape[1]] = table
    tokens[len(x["tokens"]) :] = x["long_tokens"]
    tokens[(table == 0).all(axis=1)] = 0
    plain = {name: x[name] for name in ("forward", "backward")}
    expected = model.predict_on_batch({**plain, "tokens": tokens})["forward"]
    np.testing.assert_allclose(hidden, expected, atol=1e-6)
    assert weight["forward"].all() and y["forward"].shape == (1, 10)


def test_shapes_are_few():
    rng = np.random.default_rng(2)
    words = [f"{'w' * int(n)}{i}" for i, n in enumerate(rng.integers(1, 30, 400))]
    vocabulary = keras_elmo.text.build_vocabulary([words])
    text = [list(rng.choice(words, 12)) for _ in range(400)]
    corpus = Corpus.from_sentences(text, vocabulary)
    backbone = character_backbone(max_characters_per_token=50)
    batches = StreamBatches(corpus, backbone, 8, 10)
    shapes = {
        (x["tokens"].shape, x["long_tokens"].shape)
        for x, _, _ in (batches[i] for i in range(len(batches)))
    }
    assert len(shapes) <= 15
    assert {shape[0][1] for shape in shapes} == {24}


def test_errors_name_what_is_wrong():
    corpus = corpus_of(sentences())
    with pytest.raises(ValueError, match=r"`start` \(=100\) and `steps`"):
        StreamBatches(corpus, BACKBONE, 4, 5, start=100)
    with pytest.raises(ValueError, match="must be multiples of the number of proc"):
        StreamBatches(corpus, BACKBONE, 4, 5, shards=3)

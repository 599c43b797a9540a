"""Batches of examples: each once an epoch, few shapes, an order that a seed decides."""

import random

import hypothesis
import hypothesis.strategies as st
import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo.tasks.batches import TaskBatches, bucket

once = pytest.mark.once


class Texts:
    """Stands for encoded texts: every token of text i is i + 1."""

    def __init__(self, lengths):
        self.lengths = np.array(lengths, int)

    def batch(self, rows, size, time):
        x = np.zeros((size, time), "int32")
        for target, row in zip(x, rows, strict=False):
            target[: self.lengths[row]] = row + 1
        return x


def all_batches(batches):
    return [batches[i] for i in range(len(batches))]


def rows_of(plan):
    return [rows.tolist() for rows in plan]


# How lengths are rounded up, written out: twice an octave, from 8.
LENGTHS = [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]


@once
def test_lengths_are_rounded_up_to_two_an_octave():
    for length in range(1025):
        assert bucket(length) == next(n for n in LENGTHS if n >= length)


@once
@hypothesis.given(
    lengths=st.lists(st.integers(0, 70), min_size=1, max_size=40),
    batch_size=st.integers(1, 9),
    seed=st.none() | st.integers(0, 2**32),
    epochs=st.integers(0, 2),
)
def test_each_example_comes_once_an_epoch_in_one_of_few_shapes(
    lengths, batch_size, seed, epochs
):
    number = len(lengths)
    batches = TaskBatches(
        {"tokens": Texts(lengths)}, np.arange(number) * 2, batch_size, seed
    )
    for _ in range(epochs):
        batches.on_epoch_end()
    seen = []
    for rows, (x, y) in zip(batches.plan, all_batches(batches), strict=True):
        assert y.shape == (batch_size,) and y.dtype == "int32"
        # One of the lengths that all its examples are rounded up to.
        assert x.shape[0] == batch_size
        assert {next(n for n in LENGTHS if n >= lengths[r]) for r in rows} == {
            x.shape[1]
        }
        real = len(rows)
        assert (y[:real] == rows * 2).all() and (y[real:] == -1).all()
        assert (x[real:] == 0).all()
        for ids, row in zip(x, rows, strict=False):
            expected = [row + 1] * lengths[row] + [0] * (x.shape[1] - lengths[row])
            assert ids.tolist() == expected
        seen += rows.tolist()
    assert sorted(seen) == list(range(number))
    # No more batches than examples of one rounded length need.
    groups = [bucket(n) for n in lengths]
    assert len(batches) == sum(
        -(-groups.count(length) // batch_size) for length in set(groups)
    )


@once
def test_the_order_is_a_function_of_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(1, 40, 60)

    def orders(seed, epochs):
        batches = TaskBatches({"tokens": Texts(lengths)}, None, 4, seed)
        found = [rows_of(batches.plan)]
        for _ in range(epochs):
            batches.on_epoch_end()
            found.append(rows_of(batches.plan))
        return found

    state = random.getstate(), np.random.get_state()[1].tolist()
    first, again = orders(5, 3), orders(5, 3)
    assert first == again
    assert (random.getstate(), np.random.get_state()[1].tolist()) == state
    # No two epochs have one order, nor do two seeds; and examples change companions.
    distinct = {str(order) for order in first + orders(6, 3)}
    assert len(distinct) == 8
    assert {frozenset(rows) for rows in first[0]} != {
        frozenset(rows) for rows in first[1]
    }
    # What was asked for already changes nothing.
    batches = TaskBatches({"tokens": Texts(lengths)}, None, 4, 5)
    all_batches(batches)
    batches.on_epoch_end()
    assert rows_of(batches.plan) == first[1]


@once
def test_without_a_seed_the_order_is_by_length_and_stays():
    lengths = [30, 3, 12, 5, 31, 9]
    batches = TaskBatches({"tokens": Texts(lengths)}, None, 2)
    expected = [[1, 3], [2, 5], [0, 4]]
    assert rows_of(batches.plan) == expected
    batches.on_epoch_end()
    assert rows_of(batches.plan) == expected


@once
def test_a_tag_a_token_is_padded_behind_the_text_and_below_the_rows():
    targets = [np.array([7, 8]), np.array([], int), np.array([9])]
    batches = TaskBatches({"tokens": Texts([2, 0, 1])}, targets, 4)
    ((x, y),) = all_batches(batches)
    assert x.shape == y.shape == (4, 8) and y.dtype == "int32"
    expected = np.full((4, 8), -1)
    expected[0, :2], expected[2, 0] = (7, 8), 9
    np.testing.assert_array_equal(y, expected)


@once
def test_pairs_share_the_longer_texts_length():
    first, second = [3, 20, 9, 1], [12, 2, 9, 8]
    places = np.array([2, 19, 0, 0])
    inputs = {
        "first": Texts(first),
        "second": Texts(second),
        "first_target": places,
        "second_target": places[::-1].copy(),
    }
    batches = TaskBatches(inputs, np.arange(4), 3, seed=0)
    seen = []
    for x, y in all_batches(batches):
        assert x["first"].shape == x["second"].shape
        rows = y[y >= 0]
        longest = max(max(first[r], second[r]) for r in rows)
        assert x["first"].shape == (3, bucket(longest))
        for name, row_places in (("first", places), ("second", places[::-1])):
            marked = x[f"{name}_target"]
            assert marked.dtype == "int32" and marked.shape == (3,)
            np.testing.assert_array_equal(marked[: len(rows)], row_places[rows])
            assert not marked[len(rows) :].any()
        seen += rows.tolist()
    assert sorted(seen) == [0, 1, 2, 3]


@once
def test_question_and_text_have_lengths_of_their_own():
    inputs = {"question": Texts([3, 10, 5]), "context": Texts([40, 40, 3])}
    targets = {"start": np.array([4, 5, 0]), "end": np.array([6, 5, 2])}
    batches = TaskBatches(inputs, targets, 2)
    shapes = set()
    for x, y in all_batches(batches):
        shapes.add((x["question"].shape, x["context"].shape))
        (row,) = x["question"][:1, 0] - 1
        assert x["context"][0, 0] - 1 == row
        assert y["start"].tolist() == [targets["start"][row], -1]
        assert y["end"].tolist() == [targets["end"][row], -1]
    assert shapes == {((2, 8), (2, 48)), ((2, 16), (2, 48)), ((2, 8), (2, 8))}


@once
def test_one_example_and_none():
    (x,) = all_batches(TaskBatches({"tokens": Texts([0])}, None, 32, seed=1))
    np.testing.assert_array_equal(x, np.zeros((32, 8)))
    for seed in (None, 1):
        none = TaskBatches({"tokens": Texts([])}, np.zeros(0, "int32"), 32, seed)
        assert len(none) == 0 and none.plan == []
    pairs = TaskBatches({"first": Texts([]), "second": Texts([])})
    assert len(pairs) == 0


@once
@pytest.mark.parametrize(
    "inputs, targets, told",
    [
        ({"tokens": Texts([1, 2])}, np.zeros(3), "tokens: 2, targets: 3"),
        ({"tokens": Texts([1, 2])}, [np.zeros(1)], "tokens: 2, targets: 1"),
        ({"first": Texts([1]), "second": Texts([])}, None, "first: 1, second: 0"),
        (
            {"question": Texts([1]), "context": Texts([1])},
            {"start": np.zeros(1), "end": np.zeros(2)},
            "target start: 1, target end: 2",
        ),
    ],
)
def test_unequal_numbers_of_examples_are_refused(inputs, targets, told):
    with pytest.raises(ValueError, match=told):
        TaskBatches(inputs, targets)


@once
def test_a_batch_size_that_is_none_is_refused():
    with pytest.raises(ValueError, match="batch_size=0"):
        TaskBatches({"tokens": Texts([1])}, batch_size=0)
    with pytest.raises(TypeError, match=r"batch_size=2\.5"):
        TaskBatches({"tokens": Texts([1])}, batch_size=2.5)


class Counting(keras.Model):
    """Counts which examples it is trained on: targets are their numbers."""

    def __init__(self, number):
        super().__init__()
        self.number = number
        self.scale = self.add_weight(shape=(), initializer="ones")
        self.counts = self.add_weight(
            shape=(number,), initializer="zeros", trainable=False
        )

    def call(self, x):
        return self.scale * ops.cast(x, "float32")

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        known = ops.one_hot(ops.maximum(y, 0), self.number, dtype="float32")
        known = known * ops.cast(y >= 0, "float32")[:, None]
        self.counts.assign(self.counts + ops.sum(known, axis=0))
        return ops.mean(y_pred)


def test_fit_sees_each_example_once_an_epoch_in_orders_that_the_seed_decides():
    # Batches are read ahead, and TensorFlow reads the first ones twice.
    lengths = [3, 5, 12, 2, 30, 1, 7, 14, 8, 0, 9]
    number = len(lengths)
    model = Counting(number)
    model.compile("sgd")
    total, orders = 0, []
    for _ in range(2):
        batches = TaskBatches({"tokens": Texts(lengths)}, np.arange(number), 2, seed=4)
        for _ in range(3):
            model.fit(batches, epochs=1, verbose=0, shuffle=False)
            total += 1
            counts = ops.convert_to_numpy(model.counts)
            np.testing.assert_array_equal(counts, np.full(number, total))
            orders.append(str(rows_of(batches.plan)))
    assert orders[:3] == orders[3:] and len(set(orders)) == 3

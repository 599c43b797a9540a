"""Sizes that batches are padded to, worked by hand."""

import pytest

from keras_elmo.shapes import power_of_two, round_up


@pytest.mark.parametrize(
    "number, expected", [(0, 1), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128)]
)
def test_powers_of_two(number, expected):
    assert power_of_two(number) == expected


@pytest.mark.parametrize(
    "number, step, expected", [(0, 8, 0), (1, 8, 8), (8, 8, 8), (9, 8, 16)]
)
def test_multiples(number, step, expected):
    assert round_up(number, step) == expected

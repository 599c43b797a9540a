"""Negatives: different words, drawn as often as their odds say."""

import numpy as np
import pytest

from keras_elmo.data import LogUniformSampler


def test_a_draw_has_different_words_of_the_vocabulary():
    sampler = LogUniformSampler(63, 40)
    rng = np.random.default_rng(0)
    for _ in range(50):
        ids, tries = sampler.draw(rng)
        assert ids.dtype == np.int32 and len(set(ids.tolist())) == 40
        assert ids.min() >= 0 and ids.max() < 63 and tries >= 40


def test_the_same_generator_draws_the_same():
    sampler = LogUniformSampler(1000, 16)
    one = sampler.draw(np.random.default_rng([1, 2, 3]))
    same = sampler.draw(np.random.default_rng([1, 2, 3]))
    np.testing.assert_array_equal(one[0], same[0])
    assert one[1] == same[1]


def test_expected_counts_are_how_often_words_come():
    sampler = LogUniformSampler(500, 100)
    rng = np.random.default_rng(0)
    seen, expected, draws = np.zeros(500), np.zeros(500), 4000
    for _ in range(draws):
        ids, tries = sampler.draw(rng)
        seen[ids] += 1
        expected += sampler.expected_count(np.arange(500), tries)
    groups = np.split(np.stack([seen, expected]) / draws, [1, 5, 25, 100, 300], axis=1)
    for group in groups:
        found, wanted = group.mean(axis=1)
        assert found == pytest.approx(wanted, rel=0.03)


def test_expected_counts_by_hand():
    sampler = LogUniformSampler(3, 2)
    # p = log(2 / 1) / log 4 = 1/2, log(3 / 2) / log 4, log(4 / 3) / log 4.
    odds = np.log([2, 3 / 2, 4 / 3]) / np.log(4)
    np.testing.assert_allclose(sampler.expected_count([0, 1, 2], 2), 2 * odds, 1e-6)
    np.testing.assert_allclose(
        sampler.expected_count([0, 1, 2], 3), 1 - (1 - odds) ** 3, 1e-6
    )


def test_a_draw_of_almost_all_words_ends():
    ids, tries = LogUniformSampler(200, 199).draw(np.random.default_rng(0))
    assert len(set(ids.tolist())) == 199 and tries > 199


def test_too_few_words_are_refused():
    with pytest.raises(ValueError, match=r"`number` must be below vocabulary_size"):
        LogUniformSampler(16, 16)

"""Linear probes learn what a layer linearly holds, and nothing else."""

import numpy as np
import pytest

from keras_elmo.evaluation.linear_probe import LinearProbe, ProbeExamples

DIM = 6


def examples(number, seed, offset=0.0):
    """Vectors of three layers, of which layer 1 alone holds the class."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(number, 3, DIM)) + offset
    targets = (vectors[:, 1, :3] - offset).argmax(axis=1)
    return ProbeExamples(vectors.astype("float16"), targets)


def test_the_layer_that_holds_the_class_tells_it_and_the_mix_finds_that_layer():
    train, test = examples(600, 1, offset=3.0), examples(300, 2, offset=3.0)
    results = {
        layer: LinearProbe(train, layer, steps, 64).run(test)
        for layer, steps in ((0, 20), (1, 200), ("mean", 20), ("mix", 250))
    }
    assert results[1].accuracy > 0.7
    assert results[0].accuracy < 0.5
    assert results["mean"].accuracy < 0.65
    assert results["mix"].accuracy > 0.7
    weights = results["mix"].mix_weights
    assert np.argmax(weights) == 1 and sum(weights) == pytest.approx(1, abs=1e-5)
    assert results[1].mix_weights is None
    told = np.mean(results[1].predicted == test.targets)
    assert results[1].accuracy == pytest.approx(told)


@pytest.mark.once
def test_the_same_seed_gives_the_same_probe_and_another_one_another():
    train, test = examples(100, 1), examples(50, 2)
    probe = LinearProbe(train, "mix", steps=10, batch_size=32)
    runs = [probe.run(test, seed).mix_weights for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    other = LinearProbe(train, "mix", steps=10, batch_size=32)
    assert other.run(test, 1).mix_weights == runs[2]


@pytest.mark.slow
@pytest.mark.once
def test_the_probe_is_the_regression_of_its_objective():
    """With the whole data a batch it comes to where the objective is least."""
    train = examples(80, 1)
    test = examples(400, 2)
    found = LinearProbe(train, 1, 1500, 80).run(test)
    features = train.vectors[:, 1].astype("float64")
    mean = features.mean(axis=0)
    # As the probe standardises them.
    power = (features**2).mean(axis=1).sum() / len(features)
    deviation = np.sqrt(features.var(axis=0) + 1e-4 * power)
    x, y = (features - mean) / deviation, np.eye(3)[train.targets]
    kernel, bias = np.zeros((DIM, 3)), np.zeros(3)
    for _ in range(5_000):  # plain gradient descent on a convex function
        odds = np.exp(x @ kernel + bias)
        error = odds / odds.sum(axis=1, keepdims=True) - y
        kernel -= 0.3 * (x.T @ error + kernel) / len(x)
        bias -= 0.3 * error.mean(axis=0)
    scores = (test.vectors[:, 1] - mean) / deviation @ kernel + bias
    agreed = np.mean(scores.argmax(axis=1) == found.predicted)
    assert agreed > 0.99
    odds = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    loss = -np.log(odds[np.arange(len(odds)), test.targets]).mean()
    np.testing.assert_allclose(found.loss, loss, rtol=0.02)


@pytest.mark.once
def test_examples_of_a_group_have_a_class_of_their_group():
    generator = np.random.default_rng(0)
    groups = np.repeat([0, 1], 40)
    sign = generator.choice([-1.0, 1.0], 80)
    # What tells the classes of one group is turned round in the other, and all of a
    # group's vectors are far from the other's.
    vectors = (sign * np.where(groups == 0, 1, -1))[:, None] * np.ones(DIM)
    vectors = vectors + 50.0 * groups[:, None] + generator.normal(0, 0.1, (80, DIM))
    targets = 2 * groups + (sign > 0)
    data = ProbeExamples(vectors[:, None].astype("float32"), targets, groups)
    result = LinearProbe(data, 0, steps=100).run(data)
    assert result.accuracy == 1.0
    np.testing.assert_array_equal(result.predicted // 2, groups)


@pytest.mark.once
def test_vectors_that_are_all_equal_tell_the_most_frequent_class():
    targets = np.array([0, 1, 1, 1])
    data = ProbeExamples(np.full((4, 1, DIM), 7.0, "float16"), targets)
    assert LinearProbe(data, 0, steps=60).run(data).predicted.tolist() == [1, 1, 1, 1]


@pytest.mark.once
def test_a_class_that_training_never_saw_is_not_learned_and_counts_as_wrong():
    train = examples(60, 1)
    train.targets[0] = -1
    test = ProbeExamples(train.vectors, np.full(60, -1))
    probe = LinearProbe(train, 1, steps=20)
    result = probe.run(test)
    assert (result.accuracy, result.loss) == (0.0, 0.0)  # none has a known class
    assert probe.score(train).loss > 0.0


@pytest.mark.once
def test_what_cannot_be_probed_is_refused():
    data = examples(4, 1)
    with pytest.raises(ValueError, match="index of one of 3 layers"):
        LinearProbe(data, 3)
    with pytest.raises(ValueError, match="`train` must hold examples"):
        LinearProbe(examples(0, 1), 0)
    unknown = ProbeExamples(data.vectors, np.full(4, -1))
    with pytest.raises(ValueError, match="known classes"):
        LinearProbe(unknown, 0)

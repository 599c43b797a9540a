"""The sampled softmax against NumPy, and against the full one."""

import keras
import numpy as np
from keras import ops

import keras_elmo


def arguments(seed=0, words=30, dim=4, shape=(2, 3), number=6):
    rng = np.random.default_rng(seed)
    return {
        "hidden": rng.normal(size=(*shape, dim)).astype("float32"),
        "targets": rng.integers(0, words, shape).astype("int32"),
        "kernel": rng.normal(size=(words, dim)).astype("float32"),
        "bias": rng.normal(size=words).astype("float32"),
        "sampled_ids": rng.permutation(words)[:number].astype("int32"),
        "true_expected_count": rng.uniform(0.1, 1, shape).astype("float32"),
        "sampled_expected_count": rng.uniform(0.1, 1, number).astype("float32"),
    }


def reference(
    hidden,
    targets,
    kernel,
    bias,
    sampled_ids,
    true_expected_count,
    sampled_expected_count,
    remove=True,
):
    """Position by position, in float64."""
    losses = np.zeros(targets.shape)
    for at in np.ndindex(targets.shape):
        h, target = hidden[at].astype("float64"), targets[at]
        true = h @ kernel[target] + bias[target] - np.log(true_expected_count[at])
        scores = [true]
        for word, count in zip(sampled_ids, sampled_expected_count, strict=True):
            if not (remove and word == target):
                scores.append(h @ kernel[word] + bias[word] - np.log(count))
        losses[at] = np.log(np.exp(scores).sum()) - true
    return losses


def test_equals_the_reference():
    values = arguments()
    values["targets"][0, 0] = values["sampled_ids"][2]  # an accidental hit
    for remove in (True, False):
        layer = keras_elmo.SampledSoftmax(remove)
        found = ops.convert_to_numpy(layer(**values))
        np.testing.assert_allclose(found, reference(**values, remove=remove), rtol=1e-5)
    assert found.dtype == np.float32


def test_all_other_words_as_negatives_are_the_full_softmax():
    values = arguments(words=12, number=12)
    values["true_expected_count"][:] = values["sampled_expected_count"][:] = 1.0
    found = ops.convert_to_numpy(keras_elmo.SampledSoftmax()(**values))
    full = keras_elmo.BiLMSoftmax(12)
    full.build((None, None, 4))
    full.kernel.assign(values["kernel"])
    full.bias.assign(values["bias"])
    expected = ops.convert_to_numpy(full(values["hidden"], values["targets"]))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_config_comes_back():
    layer = keras_elmo.SampledSoftmax(remove_accidental_hits=False, name="softmax")
    again = keras.layers.deserialize(keras.layers.serialize(layer))
    assert again.get_config() == layer.get_config()

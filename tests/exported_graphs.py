"""Exported graphs run beside the Keras model."""

import keras
import numpy as np

import keras_elmo
from keras_elmo.export import export_graph, load_graph
from tests.models_for_tests import character_backbone

# (batch, time), as a graph of any size takes one after the other.
SHAPES = ((3, 7), (1, 1), (5, 23), (3, 7))
MIX = {"mix_weights": [0.2, 0.3, 0.5], "gamma": 1.5}


def small_word_backbone():
    """One layer, and matrices that are worth to be stored in fewer bits."""
    vocabulary = keras_elmo.Vocabulary(
        ["<S>", "</S>", "<UNK>", *(f"w{i}" for i in range(97))]
    )
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32, projection_dim=16, num_layers=1, vocabulary_size=100
    )
    backbone.vocabulary = vocabulary
    return backbone


def random_ids(backbone, batch, time):
    """Ids of rows of several lengths, the last one of padding where there are more."""
    shape = (batch, time, *backbone.inputs[0].shape[2:])
    top = 262 if backbone.input_kind == "characters" else backbone.vocabulary_size + 1
    ids = np.random.default_rng(batch * time).integers(1, top, shape).astype("int32")
    for row in range(batch):
        ids[row, time - row * time // max(batch - 1, 1) :] = 0
    return ids


def expected_outputs(backbone, ids):
    """What a graph must give, from the layers of the Keras model."""
    layers = [keras.ops.convert_to_numpy(x) for x in backbone(ids)]
    weights = backbone.mix_weights or [1 / len(layers)] * len(layers)
    mixed = backbone.gamma * sum(w * x for w, x in zip(weights, layers, strict=True))
    lengths = ((ids != 0).any(axis=-1) if ids.ndim == 3 else ids != 0).sum(axis=1)
    return {
        "word_emb": layers[0][..., : backbone.projection_dim],
        **{f"lstm_outputs{i}": x for i, x in enumerate(layers[1:], 1)},
        "elmo": mixed,
        "default": mixed.sum(axis=1) / np.maximum(lengths, 1)[:, None],
        "sequence_len": lengths,
    }


def check_equal_to_keras(output_format, output, shapes=SHAPES):
    """Exports a biLM of characters, which has both clips, and runs it."""
    backbone = character_backbone(**MIX)
    told = export_graph(backbone, output, output_format)
    assert told["version"] == 1 and told["max_difference"] < 1e-4
    assert told["cosine_similarity"] > 0.99999
    run = load_graph(told["directory"], threads=1)
    for shape in shapes:
        ids = random_ids(backbone, *shape)
        expected, found = expected_outputs(backbone, ids), run(ids)
        assert set(found) == set(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(
                found[name], value, atol=1e-5, err_msg=f"{shape} {name}"
            )
        assert (found["elmo"][-1, 1:] == 0).all() or shape[0] == 1
        assert found["sequence_len"].dtype == "int32"
    return told["directory"]


def check_stored_in_fewer_bits(output_format, output):
    """Exports a biLM of words with both small dtypes of weights; what each told."""
    backbone = small_word_backbone()
    told = {
        dtype: export_graph(backbone, output, output_format, dtype)
        for dtype in ("float16", "int8")
    }
    ids = random_ids(backbone, 4, 9)
    expected = expected_outputs(backbone, ids)["elmo"]
    limits = {"float16": (1e-6, 2e-3), "int8": (1e-4, 5e-2)}
    for dtype, (least, most) in limits.items():
        found = load_graph(told[dtype]["directory"], threads=1)(ids)["elmo"]
        # Farther than in float32: the weights have been rounded.
        assert least < np.abs(found - expected).max() < most, dtype
        assert told[dtype]["cosine_similarity"] > 0.999
    return told

"""ELMoForManyLangs' options in all their values, against the NumPy reference.

`scripts/check_many_langs.py` runs the original program on the same models.
"""

import itertools

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import many_langs
from tests.golden.support import outputs_of
from tests.many_langs_files import (
    COMBINATIONS,
    SENTENCES,
    changed_config,
    reference_model,
    write_combination,
)

# golden/efml/README.md.
TOLERANCE = {"atol": 2e-5, "rtol": 1e-5}


def test_the_combinations_hold_every_value():
    configs = [changed_config(*changes) for changes in COMBINATIONS.values()]
    encoders = [config["encoder"] for config in configs]
    embedders = [config["token_embedder"] for config in configs]
    names = [encoder["name"] for encoder in encoders]
    layers = [encoder["n_layers"] for encoder in encoders]
    both = set(itertools.product(("elmo", "lstm"), (1, 2, 3)))
    assert set(zip(names, layers, strict=True)) == both
    inputs = [(e["word_dim"] > 0, e["char_dim"] > 0) for e in embedders]
    kinds = itertools.product(
        ("elmo", "lstm"), ((True, False), (False, True), (True, True))
    )
    assert set(zip(names, inputs, strict=True)) == set(kinds)
    clips = {
        (encoder["cell_clip"], encoder["proj_clip"])
        for encoder in encoders
        if encoder["name"] == "elmo"
    }
    assert {(bool(cell), bool(proj)) for cell, proj in clips} == set(
        itertools.product((True, False), repeat=2)
    )
    assert {0, None} <= {clip for pair in clips for clip in pair}
    spelled = [e for e in embedders if e["char_dim"]]
    assert {(e["n_highway"], e["activation"]) for e in spelled} == set(
        itertools.product((0, 1, 2), ("relu", "tanh"))
    )
    filters = [sum(n for _, n in e["filters"]) for e in embedders]
    sizes = [encoder["projection_dim"] for encoder in encoders]
    assert {
        name
        for name, size, number in zip(names, sizes, filters, strict=True)
        if size == number
    } == {"elmo", "lstm"}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_vectors_equal_the_reference(name, tmp_path):
    config, arrays = write_combination(tmp_path / "model", name)
    backbone = many_langs.backbone_from_directory(tmp_path / "model")
    model = reference_model(config, arrays)
    ids = keras_elmo.ElmoTokenizer.of(backbone).encode_sentences(SENTENCES)
    layers = outputs_of(backbone)(ids)
    for number, tokens in enumerate(SENTENCES):
        found, rest = np.split(layers[number], [len(tokens)], axis=1)
        np.testing.assert_allclose(found, model.layers(tokens), **TOLERANCE)
        np.testing.assert_array_equal(rest, 0)
    backbone.save_to_preset(tmp_path / "preset")
    again = keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")
    for ours, theirs in zip(again.get_weights(), backbone.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.vocabulary == backbone.vocabulary

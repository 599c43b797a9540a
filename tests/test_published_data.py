"""What keras_elmo/published.json says, checked as far as a network is not needed."""

import re

import pytest

from keras_elmo.checkpoints.forms import FORMS
from keras_elmo.published import published_models

pytestmark = pytest.mark.once


def test_what_is_known_is_well_formed():
    models = published_models()
    assert {
        "elmo_original_en",
        "elmo_5_5b_en",
        "elmo_medium_en",
        "elmo_small_en",
        "elmo_pt",
        "elmo_pubmed_en",
        "seqvec",
    } <= set(models)
    many = [name for name in models if name.startswith("elmo_many_langs_")]
    assert len(many) == 44
    places = [models[name].files[0].addresses[0] for name in many]
    # The repository's entries 136 to 179, each once.
    assert sorted(places) == [
        f"http://vectors.nlpl.eu/repository/11/{number}.zip"
        for number in range(136, 180)
    ]
    for name, model in models.items():
        assert re.fullmatch(r"[a-z0-9_]+", name)
        assert model.form in FORMS
        assert model.description and model.homepage and model.citations
        assert set(model.sizes) == set(models["elmo_original_en"].sizes)
        for file in model.files:
            assert file.addresses
            assert all(re.match(r"https?://\S+$", a) for a in file.addresses)
            assert file.size is None or file.size > 0
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)


@pytest.mark.parametrize(
    "name", ["elmo_original_en", "elmo_medium_en", "elmo_small_en", "elmo_5_5b_en"]
)
def test_the_sizes_give_the_published_number_of_parameters(name):
    model = published_models()[name]
    sizes = model.sizes
    options = {
        "lstm": {
            "dim": sizes["hidden_dim"],
            "projection_dim": sizes["projection_dim"],
            "n_layers": sizes["num_layers"],
        },
        "char_cnn": {
            # As bilm-tf's bin/train_elmo.py has them.
            "filters": [[1, 32], *([width, 8 * 2**width] for width in range(2, 8))],
            "embedding": {"dim": 16},
            "n_highway": sizes["num_highway_layers"],
        },
    }
    assert sum(n for _, n in options["char_cnn"]["filters"]) == sizes["num_filters"]
    assert parameters(options) == pytest.approx(
        model.parameters_in_millions, abs=0.05 + 1e-9
    )


def parameters(options):
    """Millions of weights in a file of bilm-tf's."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    number = 261 * 16 + sum(n * (width * 16 + 1) for width, n in cnn["filters"])
    filters = sum(n for _, n in cnn["filters"])
    number += cnn["n_highway"] * 2 * (filters + 1) * filters
    number += (filters + 1) * lstm["projection_dim"]
    cell = (2 * lstm["projection_dim"] + 1) * 4 * lstm["dim"]
    cell += lstm["dim"] * lstm["projection_dim"]
    return (number + 2 * lstm["n_layers"] * cell) / 1e6

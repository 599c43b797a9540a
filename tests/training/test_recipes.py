"""Recipes and settings: what the paper says, and errors that help."""

import pytest

from keras_elmo.training import RECIPES, settings_of
from keras_elmo.training.recipes import to_json


def test_the_papers_recipe():
    """Peters et al. 2018, section 3.4; bilm-tf `bin/train_elmo.py`."""
    paper = settings_of("paper")
    assert (paper.hidden_dim, paper.projection_dim, paper.num_layers) == (4096, 512, 2)
    assert (paper.optimizer, paper.learning_rate) == ("adagrad", 0.2)
    assert paper.initial_accumulator_value == 1.0
    assert (paper.clip_norm, paper.dropout, paper.unroll) == (10.0, 0.1, 20)
    assert (paper.num_negatives, paper.epochs, paper.batch_size) == (8192, 10, 128)
    assert sum(number for _, number in paper.char_cnn_filters) == 2048
    assert paper.num_highway_layers == 2 and paper.scale_loss


def test_every_recipe_is_valid_and_can_be_written():
    for name in RECIPES:
        assert to_json(settings_of(name))["unroll"] == 20


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("hidden_dim", "64", 64),
        ("learning_rate", "1", 1.0),
        ("dropout", "0", 0.0),
        ("cell_clip", "none", None),
        ("scale_loss", "False", False),
        ("optimizer", "lion", "lion"),
        ("char_cnn_filters", "[[1, 4], [2, 8]]", ((1, 4), (2, 8))),
    ],
)
def test_values_from_the_command_line(name, text, value):
    assert getattr(settings_of("tiny", {name: text}), name) == value


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"hiden_dim": 3}, "Did you mean 'hidden_dim'"),
        ({"hidden_dim": "3.5"}, "`hidden_dim` must be of type int"),
        ({"hidden_dim": "x"}, "`hidden_dim` must be of type int"),
        ({"hidden_dim": True}, "`hidden_dim` must be of type int"),
        ({"scale_loss": "maybe"}, "`scale_loss` must be true or false"),
        ({"learning_rate": -1.0}, "`learning_rate` must be a number above 0"),
        ({"optimizer": "sgd"}, "`optimizer` must be one of 'adagrad'"),
        ({"tie_embeddings": True}, "`tie_embeddings` needs `input_kind` words"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        settings_of("tiny", changes)


def test_an_unknown_recipe_names_the_known_ones():
    with pytest.raises(ValueError, match="`recipe` must be one of 'paper', 'small'"):
        settings_of("huge")


@pytest.mark.parametrize(
    "name, value", [("clip_norm", "0"), ("clip_norm", "-1"), ("weight_decay", "-1")]
)
def test_what_would_train_wrong_is_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        settings_of("tiny", {name: value})
    assert settings_of("tiny", {"clip_norm": "none"}).clip_norm is None

"""Small backbones that many tests need."""

import keras_elmo
from keras_elmo.text.dictionaries import MARKERS

CHARACTERS = 16


def character_backbone(**changes):
    """A character-input backbone with random weights."""
    arguments = {
        "hidden_dim": 8,
        "projection_dim": 4,
        "char_cnn_filters": [[1, 4], [2, 4], [3, 4]],
        "character_embedding_dim": 3,
        "max_characters_per_token": CHARACTERS,
        "num_highway_layers": 1,
        "cell_clip": 3.0,
        "proj_clip": 3.0,
    }
    return keras_elmo.ElmoBackbone(**{**arguments, **changes})


def word_backbone(words=("the", "bank", "river", "."), **changes):
    """A word-input backbone with random weights, and its vocabulary."""
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=8, projection_dim=4, vocabulary_size=len(vocabulary), **changes
    )
    backbone.vocabulary = vocabulary
    return backbone


def dictionaries_backbone(rows):
    """A tiny `ManyLangsBackbone` that reads characters by {entry: row}."""
    dictionaries = keras_elmo.text.Dictionaries(characters=rows)
    begin, end = dictionaries.encode_tokens(list(MARKERS), 10).tolist()
    backbone = keras_elmo.ManyLangsBackbone(
        hidden_dim=8,
        projection_dim=4,
        begin_ids=begin,
        end_ids=end,
        num_characters=len(rows),
        char_cnn_filters=[[1, 4], [2, 4]],
        character_embedding_dim=3,
        max_characters_per_token=10,
    )
    backbone.vocabulary = dictionaries
    return backbone

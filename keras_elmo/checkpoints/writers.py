"""One writer a form: from a model to a directory of its files.

Each is called with the model, its `TrainingState` or None, and the directory to make,
and returns what it reads back from there, and remarks for the user.
"""

from keras_elmo.checkpoints import bilm_tf1
from keras_elmo.checkpoints.bilm_hdf5 import build_backbone, write_weights
from keras_elmo.checkpoints.bilm_options import write_options
from keras_elmo.checkpoints.training_state import STATE_FILE
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.models.elmo_bilm import ElmoBiLM
from keras_elmo.presets import load_backbone, save_backbone
from keras_elmo.presets_head import load_language_model, save_language_model
from keras_elmo.text.vocabulary import Vocabulary

# Names that simple_elmo looks for; the other programs are told the paths.
OPTIONS_FILE, WEIGHTS_FILE, VOCABULARY_FILE = "options.json", "model.hdf5", "vocab.txt"


def backbone_of(model):
    """The layers below the softmax."""
    return model.backbone if isinstance(model, ElmoBiLM) else model


def _write_preset(model, state, directory):
    if not isinstance(model, ElmoBiLM):
        save_backbone(model, directory)
        return load_backbone(directory), []
    save_language_model(model, directory)
    if state is not None:
        state.write(directory / STATE_FILE)
    return load_language_model(directory), []


def _write_bilm_hdf5(model, state, directory):
    del state  # the form has no place for it
    backbone = backbone_of(model)
    if type(backbone) is not ElmoBackbone:
        raise ValueError(
            f"A {type(backbone).__name__} is another network than bilm-tf's: `to` must "
            "be preset."
        )
    directory.mkdir()
    write_options(backbone, directory / OPTIONS_FILE)
    write_weights(backbone, directory / WEIGHTS_FILE)
    vocabulary = None
    if backbone.vocabulary is not None:
        vocabulary = directory / VOCABULARY_FILE
        # Without the counts: the programs take the whole line for the word.
        Vocabulary(backbone.vocabulary.tokens).write(vocabulary)
    again = build_backbone(
        directory / OPTIONS_FILE, directory / WEIGHTS_FILE, vocabulary
    )
    return again, list(_not_read(backbone))


def _not_read(backbone):
    """Lines for what AllenNLP and flair cannot read, though bilm-tf can."""
    reasons = []
    if backbone.input_kind == "words":
        reasons.append("word input")
    else:
        if sum(number for _, number in backbone.char_cnn_filters) == (
            backbone.projection_dim
        ):
            reasons.append("no projection of the character CNN")
        if backbone.max_characters_per_token != 50:
            reasons.append("max_characters_per_token other than 50")
    if not backbone.use_skip_connections:
        reasons.append("no skip connections")
    if backbone.hidden_dim == backbone.projection_dim:
        reasons.append("no projection of the LSTMs")
    if reasons:
        yield f"AllenNLP and flair do not read such a model: {', '.join(reasons)}."
    elif backbone.num_layers == 1:
        yield "flair does not read such a model: it needs two layers."
    elif backbone.num_layers > 2:
        yield "flair leaves out the layers above the second."


def _write_bilm_tf1(model, state, directory):
    if not isinstance(model, ElmoBiLM):
        raise ValueError(
            "A checkpoint of bilm-tf's training has a softmax, and the model has none "
            "(published models do not): `to` must be bilm_hdf5."
        )
    bilm_tf1.write_checkpoint(model, directory, state)
    again = bilm_tf1.read_checkpoint(directory, directory / bilm_tf1.VOCABULARY_FILE)
    return again.language_model(), []


WRITERS = {
    "preset": _write_preset,
    "bilm_hdf5": _write_bilm_hdf5,
    "bilm_tf1": _write_bilm_tf1,
}

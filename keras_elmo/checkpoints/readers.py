"""One reader a form: from the place of a model's files to the model.

Each is called with the place and the path of a vocabulary or None, and returns the
model, `ElmoBiLM` where there is a softmax and `ElmoBackbone` where not; its
`TrainingState` or None; and remarks for the user.
"""

from keras_elmo.checkpoints import bilm_tf1, many_langs, tf_hub
from keras_elmo.checkpoints.bilm_hdf5 import build_backbone
from keras_elmo.checkpoints.training_state import STATE_FILE, TrainingState
from keras_elmo.presets import load_backbone
from keras_elmo.presets_head import TASK_FILE, load_language_model
from keras_elmo.text.vocabulary import Vocabulary


def _read_bilm_hdf5(place, vocabulary):
    folder = place if place.is_dir() else place.parent
    options = place if place.is_file() else _only(folder, "*options.json", "options")
    weights = _only(folder, "*.hdf5", "weights")
    vocabulary = vocabulary or _vocabulary_of(folder)
    return build_backbone(options, weights, vocabulary), None, []


def _read_bilm_tf1(place, vocabulary):
    folder = place if place.is_dir() else place.parent
    vocabulary = vocabulary or _vocabulary_of(folder)
    checkpoint = bilm_tf1.read_checkpoint(place, vocabulary)
    model = checkpoint.language_model()
    if checkpoint.vocabulary is not None:
        return model, checkpoint.state, []
    remark = (
        "The softmax and the state of training are left out: give `--vocabulary FILE` "
        f"with its {checkpoint.vocabulary_size} words to keep them."
    )
    return model.backbone, None, [remark]


def _read_tf_hub(place, vocabulary):
    backbone = tf_hub.build_backbone(place)
    if vocabulary is not None:
        backbone.vocabulary = Vocabulary.read(vocabulary)
    return backbone, None, []


def _read_many_langs(place, vocabulary):
    if vocabulary is not None:
        raise ValueError("`vocabulary` must be None: ELMoForManyLangs has its own.")
    return many_langs.backbone_from_directory(place), None, []


def _read_preset(place, vocabulary):
    if vocabulary is not None:
        raise ValueError("`vocabulary` must be None: a preset has its own.")
    if not (place / TASK_FILE).exists():
        return load_backbone(place), None, []
    model = load_language_model(place)
    has_state = (place / STATE_FILE).exists()
    return model, TrainingState.read(place, model) if has_state else None, []


READERS = {
    "preset": _read_preset,
    "many_langs": _read_many_langs,
    "tf_hub": _read_tf_hub,
    "bilm_tf1": _read_bilm_tf1,
    "bilm_hdf5": _read_bilm_hdf5,
}


def _vocabulary_of(folder):
    found = _files(folder, "vocab*.txt")
    if len(found) > 1:
        raise ValueError(_several(folder, "vocab*.txt", found))
    return found[0] if found else None


def _only(folder, pattern, what):
    found = _files(folder, pattern)
    if what == "weights" and len(found) > 1:
        # What bilm-tf's `dump_token_embeddings` writes lies beside the weights.
        found = [path for path in found if "embedding" not in path.name] or found
    if not found:
        raise FileNotFoundError(
            f"`{folder}` has no {what}: no file `{pattern}` (bilm-tf's and AllenNLP's "
            "published form is `*options.json` beside `*.hdf5`)."
        )
    if len(found) > 1:
        raise ValueError(_several(folder, pattern, found))
    return found[0]


def _files(folder, pattern):
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def _several(folder, pattern, found):
    names = ", ".join(path.name for path in found)
    return f"`{folder}` must have one file `{pattern}`. Received: {names}."

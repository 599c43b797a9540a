"""The forms that ELMo's weights come in, told apart by their files."""

import os
from pathlib import Path

from keras_elmo.checkpoints import bilm_tf1, many_langs, tf_hub
from keras_elmo.files import read_json

# What is looked for, in this order: a checkpoint has more than weights beside it.
FORMS = {
    "preset": "config.json of a keras_elmo preset",
    "many_langs": "config.json, word.dic, token_embedder.pkl and encoder.pkl",
    "tf_hub": "saved_model.pb or tfhub_module.pb, and variables/variables.index",
    "bilm_tf1": "options.json and model.ckpt-*.index",
    "bilm_hdf5": "*options.json and *.hdf5",
}


def recognise(folder: str | os.PathLike) -> list[str]:
    """The forms whose files a folder has, the one that says most first."""
    folder = Path(folder)
    return [form for form, has in _CHECKS.items() if has(folder)]


def locate(source: Path) -> Path:
    """The folder that a model's files lie in: `source`, or the one folder in it."""
    folder = source
    while folder.is_dir() and not recognise(folder):
        inside = list(folder.iterdir())
        if len(inside) != 1 or not inside[0].is_dir():
            return source
        folder = inside[0]
    return folder


def nothing_known(source: Path) -> FileNotFoundError:
    """The error for a folder of none of the forms."""
    listed = "; ".join(f"{form}: {files}" for form, files in FORMS.items())
    return FileNotFoundError(
        f"`{source}` holds no ELMo that is known. Looked for: {listed}."
    )


def _is_preset(folder):
    try:
        config = read_json(folder / "config.json")
    except (OSError, ValueError):
        return False
    return (
        isinstance(config, dict)
        # ElmoBackbone, or ELMoForManyLangs' own.
        and str(config.get("registered_name")).startswith("keras_elmo>")
    )


def _is_many_langs(folder):
    return many_langs.recognise(folder)


def _is_tf_hub(folder):
    return (folder / f"{tf_hub.VARIABLES}.index").is_file()


def _is_bilm_tf1(folder):
    has_options = (folder / bilm_tf1.OPTIONS_FILE).is_file()
    return has_options and _has_file(folder, "*.ckpt*.index")


def _is_bilm_hdf5(folder):
    return _has_file(folder, "*options.json") and _has_file(folder, "*.hdf5")


def _has_file(folder, pattern):
    return any(path.is_file() for path in folder.glob(pattern))


_CHECKS = {
    "preset": _is_preset,
    "many_langs": _is_many_langs,
    "tf_hub": _is_tf_hub,
    "bilm_tf1": _is_bilm_tf1,
    "bilm_hdf5": _is_bilm_hdf5,
}

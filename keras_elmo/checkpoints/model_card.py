"""The card of a converted model: what it is, of which files, under which licence."""

import hashlib
import json
import os
from pathlib import Path

from keras_elmo._version import __version__

CARD_FILE = "README.md"
_FORMS = {
    "bilm_hdf5": "weights of bilm-tf and AllenNLP (`options.json`, HDF5)",
    "bilm_tf1": "a training checkpoint of bilm-tf (TensorFlow 1)",
    "tf_hub": "google/elmo of TensorFlow Hub, or a SavedModel with it",
    "many_langs": "ELMoForManyLangs",
    "preset": "a preset of keras_elmo",
}


def files_of(place: Path) -> list[tuple[str, int, str]]:
    """(name, bytes, SHA-256) of each file that a model may have come from.

    Args:
        place: a folder, whose files are taken and those one level below; or one of a
            model's files, or a checkpoint's prefix, beside which they lie.
    """
    if place.is_dir():
        folder, found = place, [*place.iterdir(), *place.glob("*/*")]
    else:
        folder = place.parent
        patterns = (f"{place.name}.*", "*options.json", "*.hdf5", "vocab*.txt")
        if not place.exists():
            patterns = (patterns[0], patterns[1], patterns[3])
        found = {path for pattern in patterns for path in folder.glob(pattern)}
    paths = sorted(path for path in found if path.is_file())
    listed = []
    for path in paths:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        name = path.relative_to(folder).as_posix()
        listed.append((name, path.stat().st_size, digest))
    return listed


def write_card(
    directory: str | os.PathLike,
    *,
    title: str,
    form: str,
    facts: dict,
    files: list[tuple[str, int, str]],
    licence: str | None = None,
    origin: str | None = None,
    languages: tuple[str, ...] = (),
) -> None:
    """Writes `README.md` into a folder, with the head that model hubs read.

    Args:
        directory: the folder.
        title: str, name of the model.
        form: str, one of those that `convert` knows.
        facts: dict of what is known of the model, for a table.
        files: what `files_of` returns.
        licence: str that the user told, or None.
        origin: str, where the files come from, as the user told, or None.
        languages: codes or names, as the user or the files told.
    """
    # JSON's strings are YAML's too, whatever they hold.
    head = ["---", "library_name: keras", 'tags: ["elmo", "keras_elmo"]']
    if licence is not None:
        head.append(f"license: {json.dumps(licence, ensure_ascii=False)}")
    if languages:
        head.append(f"language: {json.dumps(list(languages), ensure_ascii=False)}")
    lines = [*head, "---", "", f"# {_line(title)}", ""]
    lines += [f"ELMo, converted by keras_elmo {__version__} from {_FORMS[form]}.", ""]
    lines += ["| | |", "|---|---|"]
    lines += [
        f"| {key.replace('_', ' ')} | {_line(value)} |"
        for key, value in facts.items()
        if value is not None
    ]
    told = "not told" if origin is None else _line(origin)
    lines += ["", "## Source", "", f"Where the files come from: {told}.", ""]
    lines += ["| file | bytes | SHA-256 |", "|---|---|---|"]
    lines += [f"| {_line(name)} | {size} | {digest} |" for name, size, digest in files]
    lines += ["", "## Licence", ""]
    if licence is None:
        lines.append(
            "None was told when the model was converted. The weights are under the "
            "licence of who published them, which keras_elmo's does not change."
        )
    else:
        lines.append(f"{_line(licence)}, as told when the model was converted.")
    lines += ["", "## Reference", ""]
    lines.append(
        "Peters et al. 2018, Deep contextualized word representations, "
        "[arXiv:1802.05365](https://arxiv.org/abs/1802.05365)."
    )
    text = "\n".join(lines) + "\n"
    (Path(directory) / CARD_FILE).write_text(text, "utf-8", "backslashreplace")


def _line(value):
    """A value as one line of a table."""
    return " ".join(str(value).split()).replace("|", r"\|")

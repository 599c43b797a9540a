"""Which files of a folder are a training checkpoint of bilm-tf's."""

import os
import re
from pathlib import Path

OPTIONS_FILE = "options.json"
LATEST_FILE = "checkpoint"
_NUMBER = re.compile(r"-(\d{1,18})$")
# The path is that of the machine it was trained on: only the name at its end counts.
_NAMED = re.compile(
    r'^model_checkpoint_path:\s*"(?:[^"\n]*[/\\])?([^"/\\\n.][^"/\\\n]*)"', re.MULTILINE
)


def find_checkpoint(source: str | os.PathLike) -> tuple[Path, Path]:
    """The files of a checkpoint: (prefix, options).

    Args:
        source: a folder (its file `checkpoint` names the latest; else the highest
            number is taken), its options.json, or a checkpoint's prefix or index.

    Raises:
        FileNotFoundError: saying what was looked for.
        ValueError: when it is a checkpoint of TensorFlow's first format.
    """
    source = Path(source)
    if source.is_dir() or source.name.endswith(OPTIONS_FILE):
        folder = source if source.is_dir() else source.parent
        prefix = _latest(folder)
        options = source if source.is_file() else folder / OPTIONS_FILE
    else:
        prefix = source.with_suffix("") if source.suffix == ".index" else source
        options = source.parent / OPTIONS_FILE
        if not _index_of(prefix).is_file():
            if source.is_file() and "ckpt" in source.name:
                raise ValueError(
                    f"`{source}` is no checkpoint of TensorFlow's second format: there "
                    f"is no `{_index_of(prefix).name}` beside it."
                )
            raise FileNotFoundError(f"`{_index_of(prefix)}` does not exist.")
    if not options.is_file():
        raise FileNotFoundError(
            f"`{options}` does not exist: bilm-tf's options belong beside `{prefix}`."
        )
    return prefix, options


def _index_of(prefix):
    return prefix.with_name(f"{prefix.name}.index")


def _latest(folder):
    text = ""
    if (folder / LATEST_FILE).is_file():
        with open(folder / LATEST_FILE, "rb") as file:
            text = file.read(65536).decode("utf-8", "replace")
    if told := _NAMED.search(text):
        prefix = folder / told[1]
        if _index_of(prefix).is_file():
            return prefix
    found = sorted(
        (path.with_suffix("") for path in folder.glob("*.ckpt*.index")),
        key=lambda path: (int(m[1]) if (m := _NUMBER.search(path.name)) else -1, path),
    )
    if not found:
        raise FileNotFoundError(
            f"`{folder}` has no checkpoint: no file `*.ckpt*.index`."
        )
    return found[-1]


def latest_text(name: str) -> str:
    """What TensorFlow writes into `checkpoint` for a folder's only checkpoint."""
    return f'model_checkpoint_path: "{name}"\nall_model_checkpoint_paths: "{name}"\n'

"""All that a run needs to go on as if it had never stopped, in a directory."""

import json
import shutil
import warnings
from pathlib import Path

import h5py
import keras
import numpy as np

from keras_elmo.checkpoints import hdf5
from keras_elmo.files import TEMPORARY_PREFIX, atomic_path, read_json
from keras_elmo.hdf5_output import create_hdf5

FORMAT = 1
STATE_FILE = "state.h5"
POSITION_FILE = "position.json"
PREFIX = "step-"
# The one before the last is there in case the last cannot be read.
KEPT = 2


def state_variables(model):
    """The variables of a compiled model that training changes, in a fixed order.

    Weights, carried states, seeds, and the optimizer's step and slots; metrics begin
    anew.
    """
    metrics = {id(variable) for variable in model.metrics_variables}
    found = [("model", v) for v in model.variables if id(v) not in metrics]
    found += [("optimizer", v) for v in model.optimizer.variables]
    return [
        (f"{part}/{number:04d}", variable)
        for number, (part, variable) in enumerate(found)
    ]


def save_checkpoint(model, position: dict, folder: str | Path) -> Path:
    """Writes a checkpoint, and removes all but the last two.

    Args:
        model: compiled `ElmoBiLM` with a built optimizer.
        position: what else to keep; "step" is the number of steps done.
        folder: where a run's checkpoints lie.

    Returns:
        pathlib.Path, the checkpoint's directory.

    Raises:
        ArithmeticError: when a weight is NaN or infinite; nothing is written.
        OSError: when the disk is full; what was there stays.
    """
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    target = folder / f"{PREFIX}{position['step']:09d}"
    if target.exists():
        return target
    try:
        with atomic_path(target) as temporary:
            temporary.mkdir()
            with create_hdf5(temporary / STATE_FILE) as file:
                for name, variable in state_variables(model):
                    array = keras.ops.convert_to_numpy(variable)
                    if array.dtype.kind == "f" and not np.isfinite(array).all():
                        raise ArithmeticError(
                            f"At step {position['step']} `{variable.path}` has numbers "
                            f"that are NaN or infinite. {last_good(folder)}"
                        )
                    file.create_dataset(name, data=array).attrs["path"] = variable.path
            text = json.dumps({"format": FORMAT, **position}, indent=2)
            (temporary / POSITION_FILE).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise OSError(
            f"The checkpoint `{target}` could not be written: {error}. "
            + last_good(folder)
        ) from error
    for old in find_checkpoints(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def find_checkpoints(folder: str | Path) -> list[Path]:
    """The complete checkpoints of a folder, the last one last."""
    return sorted(path for path in Path(folder).glob(f"{PREFIX}*") if path.is_dir())


def last_good(folder: str | Path) -> str:
    """A sentence for an error: which checkpoint a run can go on from."""
    last = find_checkpoints(folder)
    if not last:
        return "There is no checkpoint yet."
    return f"The last good checkpoint is `{last[-1]}`."


def remove_leftovers(folder: str | Path) -> None:
    """Removes what a killed process had begun to write."""
    for path in Path(folder).glob(f"{TEMPORARY_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def restore_checkpoint(model, folder: str | Path) -> dict | None:
    """Gives a model the state of the last checkpoint that can be read.

    Args:
        model: compiled `ElmoBiLM` with a built optimizer, as it was when saved.
        folder: where a run's checkpoints lie.

    Returns:
        dict, the position; None where there is no checkpoint.

    Raises:
        ValueError: when there are some and none can be read.
    """
    reasons = []
    for path in reversed(find_checkpoints(folder)):
        try:
            return _restore(model, path)
        except (OSError, ValueError, KeyError) as error:
            reasons.append(f"`{path}`: {error}")
            warnings.warn(
                f"A checkpoint cannot be read and is passed over: {reasons[-1]}",
                UserWarning,
                stacklevel=2,
            )
    if reasons:
        raise ValueError("No checkpoint can be read: " + " ".join(reasons))
    return None


def _restore(model, path):
    position = read_json(path / POSITION_FILE)
    if not isinstance(position, dict) or position.get("format") != FORMAT:
        raise ValueError(f"{POSITION_FILE} is not of format {FORMAT}.")
    wanted = state_variables(model)
    with hdf5.open_hdf5(path / STATE_FILE) as file:
        stored = hdf5.find_datasets(file, path / STATE_FILE)
        if set(stored) != {name for name, _ in wanted}:
            raise ValueError(
                f"{STATE_FILE} has {len(stored)} variables, the run's model and "
                f"optimizer have {len(wanted)}."
            )
        for name, variable in wanted:
            _check_declared(stored[name], name, variable)
        arrays = [np.asarray(stored[name][()]) for name, _ in wanted]
    # All or nothing: nothing is assigned before everything was read.
    for (_, variable), array in zip(wanted, arrays, strict=True):
        variable.assign(array)
    return position


def _check_declared(dataset, name, variable):
    """Refuses what is not a variable's numbers, as `save_checkpoint` writes them."""
    shape, kind = dataset.shape, dataset.id.get_type()
    if shape != tuple(variable.shape):
        raise ValueError(
            f"`{name}` ({dataset.attrs.get('path')}) is {shape}, "
            f"expected {tuple(variable.shape)} for {variable.path}."
        )
    # Packed or of another type, they may take any amount of memory.
    is_number = kind.get_class() in (h5py.h5t.FLOAT, h5py.h5t.INTEGER)
    if not is_number or kind.get_size() > 8 or dataset.chunks is not None:
        raise ValueError(
            f"`{name}` must hold plain numbers. Received: {kind.get_size()} bytes "
            f"each, in pieces of {dataset.chunks}."
        )

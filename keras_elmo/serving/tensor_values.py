"""Tensors as JSON and as rows: what goes to a model server, and what comes back."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Names of tensorflow.DataType -> NumPy's. Strings are Python's.
DTYPES = {
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_HALF": "float16",
    "DT_INT8": "int8",
    "DT_UINT8": "uint8",
    "DT_INT16": "int16",
    "DT_UINT16": "uint16",
    "DT_INT32": "int32",
    "DT_UINT32": "uint32",
    "DT_INT64": "int64",
    "DT_UINT64": "uint64",
    "DT_BOOL": "bool",
    "DT_STRING": "object",
}


@dataclass(frozen=True)
class TensorInfo:
    """Type and shape of an input or output.

    Args:
        dtype: NumPy's name; "object" for strings.
        shape: sizes, None where one may vary; None where nothing is known.
    """

    dtype: str
    shape: tuple[int | None, ...] | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "TensorInfo":
        """From the JSON form of a `tensorflow.TensorInfo`."""
        shape = told.get("tensor_shape", {})
        sizes = [int(dim.get("size", 0)) for dim in shape.get("dim", ())]
        return cls(
            dtype=DTYPES.get(told.get("dtype", ""), "object"),
            shape=None
            if shape.get("unknown_rank")
            else tuple(None if size < 0 else size for size in sizes),
        )

    def array(self, values) -> np.ndarray:
        """Nested lists as an array of this type, with all its axes."""
        array = np.asarray(values, self.dtype)
        if self.shape is not None and array.size == 0 and array.ndim < len(self.shape):
            # An empty list says nothing of the axes inside it.
            missing = self.shape[array.ndim :]
            array = array.reshape(*array.shape, *(size or 0 for size in missing))
        return array


def as_inputs(inputs) -> tuple[dict[str, Any], str | None]:
    """Inputs by name, and the signature they are meant for where that is clear.

    Args:
        inputs: dict of arrays or lists by name; or texts; or token sequences, which
            "tokens" takes.

    Raises:
        TypeError: when it is none of these.
    """
    rule = "a dict of inputs, texts, or token sequences"
    if isinstance(inputs, Mapping):
        return dict(inputs), None
    if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise TypeError(f"`inputs` must be {rule}. Received: inputs={inputs!r}.")
    rows = list(inputs)
    if all(isinstance(row, str | bytes) for row in rows):
        return {"strings": rows}, None
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    for row in rows:
        if (
            isinstance(row, str | bytes)
            or not isinstance(row, Sequence)
            or not all(isinstance(token, str | bytes) for token in row)
        ):
            raise TypeError(f"`inputs` must be {rule}. Received in it: {row!r}.")
    longest = max(map(len, rows), default=0)
    return {
        "tokens": [[*row, *[""] * (longest - len(row))] for row in rows],
        "sequence_len": [len(row) for row in rows],
    }, "tokens"


def encoded(text: str | bytes) -> bytes:
    """The bytes of a text; a byte that the system could not read comes back as it was.

    Raises:
        ValueError: when a text holds half a surrogate pair.
    """
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"A text must be Unicode without lone surrogates. Received: {text!r}."
        ) from error


def to_bytes(value):
    """Texts, in lists of any depth, as bytes."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str | bytes):
        return encoded(value)
    return [to_bytes(item) for item in value]


def to_json(value):
    """A value of a request: what is no UTF-8 goes as base64."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | bytes):
        raw = encoded(value)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(raw).decode("ascii")}
    if isinstance(value, Sequence):
        return [to_json(item) for item in value]
    return value


def rows(outputs: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Outputs row by row, each without the padding behind its sentence.

    Args:
        outputs: arrays by name, all of one batch.

    Returns:
        list of dicts by name: arrays, or numbers and strings where a row has one.
    """
    lengths = outputs.get("sequence_len")
    size = len(next(iter(outputs.values()), ()))
    found = [
        {name: value[row] for name, value in outputs.items()} for row in range(size)
    ]
    if lengths is None:
        return found
    for name, value in outputs.items():
        # Vectors of tokens, and strings of tokens.
        if value.ndim == 3 or (value.ndim == 2 and value.dtype == object):
            for row, length in enumerate(lengths):
                found[row][name] = value[row, :length]
    return found


def row_as_json(row: Mapping[str, Any]) -> str:
    """A row as one line of JSON, each float32 as short as it reads back."""
    return json.dumps(
        {name: _plain(value) for name, value in row.items()}, ensure_ascii=False
    )


def _plain(value):
    if not isinstance(value, np.ndarray | np.generic):
        return value
    if value.dtype == np.float32:
        # As text and back: 0.1 and not 0.10000000149011612.
        value = value.astype("U32").astype("float64")
    return value.tolist()

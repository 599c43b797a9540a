"""Ids checked before a model computes with them."""

import keras
import numpy as np
from keras import ops


def check_ids(ids, limits):
    """Refuses ids that no row of a table has, where their values are known.

    Left to the backends, an id out of range is an error, a zero vector or NaN,
    depending on the device.

    Args:
        ids: a model's input, of any type.
        limits: list of (name, index, rows): the part `ids[index]`, what an error calls
            it, and the number its ids must be below.
    """
    ids = concrete_array(ids)
    if ids is None or ids.size == 0 or ids.dtype.kind not in "iu":
        return
    for name, index, rows in limits:
        part = ids[index]
        smallest, largest = int(part.min()), int(part.max())
        if smallest < 0 or largest >= rows:
            wrong = smallest if smallest < 0 else largest
            raise ValueError(
                f"`{name}` must be from 0 to {rows - 1}. Received an id of {wrong}."
            )


def concrete_array(x):
    """`x` as a NumPy array, or None where it is not an array or has no values yet."""
    if isinstance(x, list | tuple | np.ndarray):
        try:
            return np.asarray(x)
        except ValueError:  # ragged lists: the error comes from where they are used
            return None
    if isinstance(x, keras.KerasTensor) or not ops.is_tensor(x):
        return None
    try:
        return ops.convert_to_numpy(x)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
        # A tensor inside a compiled function: each backend refuses in its own way.
        return None

"""Weights in fewer bits than they are computed with.

Matrices alone: biases are few, and stay in float32.
"""

import keras
import numpy as np

WEIGHTS_DTYPES = ("float32", "float16", "int8")


def int8_of(array, axis):
    """A matrix as int8 with a scale a row or column.

    Args:
        array: float32, rank 2 or more.
        axis: int, the axis that keeps a scale of its own for each index.

    Returns:
        int8 of the same shape, and float32 scales, size 1 along every other axis: their
        product is the matrix to half a scale.
    """
    others = tuple(i for i in range(array.ndim) if i != axis % array.ndim)
    largest = np.abs(array).max(axis=others, keepdims=True)
    scale = np.maximum(largest / 127, np.finfo("float32").tiny).astype("float32")
    return np.round(array / scale).astype("int8"), scale


def stored_pieces(variable, weights_dtype):
    """What is stored of a Keras variable: arrays whose product in float32 it is.

    Args:
        variable: `keras.Variable`.
        weights_dtype: one of `WEIGHTS_DTYPES`.

    Returns:
        list of one array, or of two: int8 and its scales.
    """
    array = keras.ops.convert_to_numpy(variable.value).astype("float32")
    if array.ndim < 2 or weights_dtype == "float32":
        return [array]
    if weights_dtype == "float16":
        return [array.astype("float16")]
    # A table is read row by row; a kernel's columns are its outputs.
    is_table = variable.name.endswith("table")
    return list(int8_of(array, 0 if is_table else -1))

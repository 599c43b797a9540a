"""Weights rounded to fewer bits, for backends that multiply in float32 all the same."""

from keras import ops


def rounded(weight, dtype):
    """A float32 weight with the values it has in `dtype`.

    Args:
        weight: float32 tensor, (inputs, outputs).
        dtype: "float32", "bfloat16", "float16", or "int8": a scale an output, which is
            its largest weight / 127.
    """
    if dtype == "float32":
        return weight
    if dtype != "int8":
        return ops.cast(ops.cast(weight, dtype), "float32")
    scale = ops.maximum(ops.max(ops.abs(weight), axis=0), 1e-30) / 127.0
    return ops.round(weight / scale) * scale

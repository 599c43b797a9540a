"""JSON to tensors and back, by the rules of TF Serving's `util/json_tensor.cc`."""

import base64
import binascii
import json

import grpc
import numpy as np
import tensorflow as tf


class ServerError(Exception):
    """A status of TF Serving's."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


def wrong(message):
    return ServerError(grpc.StatusCode.INVALID_ARGUMENT, message)


def inputs_from_json(body, signatures, request):
    """Fills a `PredictRequest`; whether the body has rows (`instances`)."""
    try:
        told = json.loads(body.decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise wrong(f"JSON Parse error: {error}") from error
    if not isinstance(told, dict):
        raise wrong(f"JSON Value: {told} Is not object")
    name = told.get("signature_name", "")
    if not isinstance(name, str):
        raise wrong("'signature_name' key must be a string value.")
    request.model_spec.signature_name = name
    name = name or "serving_default"
    if name not in signatures:
        raise wrong(f'Serving signature name: "{name}" not found in signature def')
    infos = signatures[name].inputs
    if "instances" in told and "inputs" in told:
        raise wrong("expecting only one of 'inputs' or 'instances' keys to exist")
    if "instances" in told:
        _rows(told["instances"], infos, request)
        return True
    if "inputs" not in told:
        raise wrong("Missing 'inputs' or 'instances' key")
    _columns(told["inputs"], infos, request)
    return False


def _rows(instances, infos, request):
    if not isinstance(instances, list):
        raise wrong("Excepting 'instances' to be an list/array")
    if not instances:
        raise wrong("No values in 'instances' array")
    if not isinstance(instances[0], dict) and len(infos) > 1:
        raise wrong("instances is a plain list, but expecting list of objects")
    named = _is_object(instances[0])
    rows = {name: [] for name in infos}
    for number, row in enumerate(instances):
        if named != _is_object(row):
            raise wrong(f"Expecting other kind of item at {number} of input list")
        row = row if named else {next(iter(infos)): row}
        if set(row) != set(infos):
            keys = ",".join(sorted(infos))
            raise wrong(
                f"Failed to process element: {number} of 'instances' list. "
                f"keys must be equal to: {keys}"
            )
        for name, value in row.items():
            rows[name].append(_array(value, infos[name]))
            shapes = rows[name][0].shape, rows[name][-1].shape
            if shapes[0] != shapes[1]:
                sizes = [int(np.prod(shape)) for shape in shapes]
                raise wrong(
                    f"Failed to process element: {number} key: {name} of 'instances' "
                    f"list. Error: Expecting tensor size: {sizes[0]} but got: "
                    f"{sizes[1]}"
                )
    for name, values in rows.items():
        _set(request, name, np.stack(values), infos[name])


def _columns(inputs, infos, request):
    if not _is_object(inputs):
        if len(infos) > 1:
            raise wrong("inputs is a plain value/list, but expecting an object")
        inputs = {next(iter(infos)): inputs}
    for name, info in infos.items():
        if name not in inputs:
            raise wrong(f"Missing named input: {name} in 'inputs' object.")
        _set(request, name, _array(inputs[name], info), info)


def _is_object(value):
    return isinstance(value, dict) and list(value) != ["b64"]


def _set(request, name, array, info):
    dtype = tf.as_dtype(info.dtype)
    proto = tf.make_tensor_proto(array, dtype, shape=array.shape)
    request.inputs[name].CopyFrom(proto)


def _array(value, info):
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    dtype = tf.as_dtype(info.dtype)
    values: list = []
    _fill(value, 0, shape, dtype, values)
    array = np.empty(len(values), dtype.as_numpy_dtype)
    array[:] = values
    return array.reshape(shape)


def _fill(value, level, shape, dtype, values):
    if not isinstance(value, list):
        if level != len(shape):
            raise wrong(f"JSON Value: {value} found at incorrect level: {level + 1}")
        values.append(_value(value, dtype))
        return
    if level >= len(shape):
        raise wrong(f"Encountered list at unexpected level: {level}")
    if len(value) != shape[level]:
        raise wrong(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _fill(item, level + 1, shape, dtype, values)


def _value(value, dtype):
    if dtype == tf.string and isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if dtype == tf.string and isinstance(value, dict):
        if list(value) != ["b64"] or not isinstance(value["b64"], str):
            raise wrong(f"JSON Value: {value} not formatted correctly for base64 data")
        try:
            return base64.b64decode(value["b64"], validate=True)
        except binascii.Error as error:
            raise wrong("Unable to base64 decode") from error
    kinds = int if dtype.is_integer else int | float
    if dtype != tf.string and isinstance(value, kinds) and not isinstance(value, bool):
        return value
    kind = type(value).__name__
    raise wrong(
        f"JSON Value: {value} Type: {kind} is not of expected type: {dtype.name}"
    )


def outputs_to_json(outputs, is_row):
    """The body of an answer: "predictions" by row, or "outputs" by name."""
    arrays = {name: tf.make_ndarray(tensor) for name, tensor in outputs.items()}
    only = next(iter(arrays)) if len(arrays) == 1 else None
    if is_row:
        sizes = set()
        for name, array in arrays.items():
            if not array.ndim:
                raise wrong(f"Tensor name: {name} has no shape information ")
            sizes.add(len(array))
            if len(sizes) > 1:
                raise wrong(f"Tensor name: {name} has inconsistent batch size")
        values = {name: _listed(name, array) for name, array in arrays.items()}
        rows = [
            {name: value[row] for name, value in values.items()}
            for row in range(sizes.pop())
        ]
        told = {"predictions": rows if only is None else values[only]}
    else:
        values = {name: _listed(name, array) for name, array in arrays.items()}
        told = {"outputs": values if only is None else values[only]}
    # Strings are written byte for byte, UTF-8 or not.
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _listed(name, array):
    if array.dtype == np.float32:
        # The shortest number that reads back as the same float32.
        return array.astype("U32").astype("float64").tolist()
    if array.dtype != object:
        return array.tolist()

    def text(value):
        if name.endswith("_bytes"):
            return {"b64": base64.b64encode(value).decode()}
        return value.decode("utf-8", "surrogateescape")

    texts = np.empty(array.shape, object)
    for place, value in np.ndenumerate(array):
        texts[place] = text(value)
    return texts.tolist()

"""A biLM as an ONNX file, by tf2onnx."""

import numpy as np

from keras_elmo.export.stored_weights import int8_of

FILE = "model.onnx"
# Runs in ONNX Runtime 1.14 and later; has what int8 weights need.
OPSET = 18


def write(backbone, folder, shape, weights_dtype):
    """Writes the file; see `keras_elmo.export.export_graph`."""
    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise ImportError(
            f"ONNX files are written by tf2onnx: pip install 'keras-elmo[onnx]'. "
            f"({error})"
        ) from error
    from keras_elmo.export.tensorflow_graph import traced

    function, spec = traced(backbone, shape)
    model, _ = tf2onnx.convert.from_function(
        function, input_signature=[spec], opset=OPSET
    )
    for value in [*model.graph.input, *model.graph.output]:
        sizes = value.type.tensor_type.shape.dim
        for size, name in zip(sizes, ("batch", "time"), strict=False):
            if size.dim_param:
                size.dim_param = name
    if weights_dtype != "float32":
        _store_weights_as(model.graph, weights_dtype)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(folder / FILE))


def _store_weights_as(graph, weights_dtype):
    """Replaces matrices by stored ones and the node that makes them float32 again."""
    from onnx import TensorProto, helper, numpy_helper

    rows = {n.input[0] for n in graph.node if n.op_type == "Gather"}
    nodes = []
    for tensor in list(graph.initializer):
        if tensor.data_type != TensorProto.FLOAT or len(tensor.dims) < 2:
            continue
        array = numpy_helper.to_array(tensor)
        stored = f"{tensor.name}_{weights_dtype}"
        graph.initializer.remove(tensor)
        if weights_dtype == "float16":
            pieces = [(stored, array.astype("float16"))]
            node = helper.make_node(
                "Cast", [stored], [tensor.name], to=TensorProto.FLOAT
            )
        else:
            axis = 0 if tensor.name in rows else array.ndim - 1
            values, scale = int8_of(array, axis)
            pieces = [(stored, values), (f"{stored}_scale", scale.reshape(-1))]
            node = helper.make_node(
                "DequantizeLinear",
                [name for name, _ in pieces],
                [tensor.name],
                axis=axis,
            )
        nodes.append(node)
        graph.initializer.extend(
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in pieces
        )
    # A node comes after those it takes from.
    others = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *others])


def load(folder, threads=None):
    """A function from ids to outputs, run by ONNX Runtime on the CPU."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            f"ONNX files are run by onnxruntime: pip install 'keras-elmo[onnx]'. "
            f"({error})"
        ) from error
    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        str(folder / FILE), options, providers=["CPUExecutionProvider"]
    )
    input_name = session.get_inputs()[0].name
    names = [output.name for output in session.get_outputs()]

    def run(ids):
        return dict(zip(names, session.run(names, {input_name: ids}), strict=True))

    return run

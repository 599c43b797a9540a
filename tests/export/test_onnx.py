"""ONNX files, run by ONNX Runtime."""

import keras
import pytest

from tests.exported_graphs import check_equal_to_keras, check_stored_in_fewer_bits

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
pytest.importorskip("tf2onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow",
    reason="written on TensorFlow; test_graph.py has a process of its own do it",
)


def all_nodes(graph):
    """The nodes of a graph, and of the loops in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def test_the_file_equals_keras_in_any_size_with_standard_operations(tmp_path):
    shapes = ((3, 7), (1, 1), (2, 0), (5, 23), (3, 7))
    directory = check_equal_to_keras("onnx", tmp_path / "elmo", shapes)
    model = onnx.load(f"{directory}/model.onnx")
    assert {node.domain for node in all_nodes(model.graph)} == {""}
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    assert model.graph.input[0].name == "character_ids"
    assert [size.dim_param or size.dim_value for size in sizes] == ["batch", "time", 16]


def test_weights_in_fewer_bits(tmp_path):
    told = check_stored_in_fewer_bits("onnx", tmp_path / "elmo")
    for dtype, kind in (
        ("float16", onnx.TensorProto.FLOAT16),
        ("int8", onnx.TensorProto.INT8),
    ):
        model = onnx.load(f"{told[dtype]['directory']}/model.onnx")
        matrices = [x for x in model.graph.initializer if len(x.dims) == 2]
        assert len(matrices) > 5
        assert {x.data_type for x in matrices} == {kind}

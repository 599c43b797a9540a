"""LiteRT files, run by ai-edge-litert."""

import keras
import pytest

from keras_elmo.export import export_graph, load_graph
from tests.exported_graphs import (
    check_equal_to_keras,
    check_stored_in_fewer_bits,
    expected_outputs,
    random_ids,
    small_word_backbone,
)

pytest.importorskip("ai_edge_litert", reason="needs the extra litert")
pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow",
    reason="written on TensorFlow; test_graph.py has a process of its own do it",
)


def operators(directory):
    """Names of a file's built-in operations, and of those that are not."""
    from ai_edge_litert import schema_py_generated as schema

    with open(f"{directory}/model.tflite", "rb") as file:
        model = schema.ModelT.InitFromPackedBuf(file.read())
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if k.isupper()}
    codes = [max(c.builtinCode, c.deprecatedBuiltinCode) for c in model.operatorCodes]
    return {names[code] for code in codes}, [c.customCode for c in model.operatorCodes]


def test_the_file_equals_keras_in_any_size_with_built_in_operations(tmp_path):
    shapes = ((3, 7), (1, 1), (2, 0), (5, 23), (3, 7))
    directory = check_equal_to_keras("litert", tmp_path / "elmo", shapes)
    built_in, custom = operators(directory)
    assert "CUSTOM" not in built_in and set(custom) == {None}
    # The weights are constants: nothing has to be set before a run.
    assert {"WHILE", "FULLY_CONNECTED"} <= built_in
    assert not {"VAR_HANDLE", "READ_VARIABLE"} & built_in


def test_weights_in_fewer_bits(tmp_path):
    told = check_stored_in_fewer_bits("litert", tmp_path / "elmo")
    parameters = small_word_backbone().count_params()
    # Beside the weights the file holds a graph of 45 kB.
    assert told["float16"]["bytes"] - 45_000 < 2.2 * parameters
    # LiteRT's quantizer leaves matrices below 1,024 numbers alone, most of them here.
    assert told["int8"]["bytes"] < told["float16"]["bytes"]


def test_sizes_may_be_fixed(tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    backbone = small_word_backbone()
    told = export_graph(backbone, tmp_path / "elmo", "litert", batch=1, time=6)
    path = f"{told['directory']}/model.tflite"
    (detail,) = Interpreter(path).get_input_details()
    assert detail["shape_signature"].tolist() == [1, 6]
    ids = random_ids(backbone, 1, 6)
    found = load_graph(told["directory"])(ids)["elmo"]
    assert abs(found - expected_outputs(backbone, ids)["elmo"]).max() < 1e-5

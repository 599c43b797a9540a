"""OpenVINO's files, run by OpenVINO."""

import os

import keras
import pytest

from tests.exported_graphs import (
    check_equal_to_keras,
    check_stored_in_fewer_bits,
    small_word_backbone,
)

openvino = pytest.importorskip("openvino", reason="needs the extra openvino")
pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow",
    reason="written on TensorFlow; test_graph.py has a process of its own do it",
)


def test_the_files_equal_keras_in_any_size(tmp_path):
    shapes = ((3, 7), (1, 1), (2, 0), (5, 23), (3, 7))
    directory = check_equal_to_keras("openvino", tmp_path / "elmo", shapes)
    model = openvino.Core().read_model(f"{directory}/model.xml")
    assert model.inputs[0].get_names() == {"character_ids"}
    assert model.inputs[0].get_partial_shape().to_string() == "[?,?,16]"


def test_weights_in_fewer_bits(tmp_path):
    told = check_stored_in_fewer_bits("openvino", tmp_path / "elmo")
    parameters = small_word_backbone().count_params()
    for dtype, most in (("float16", 2.2), ("int8", 1.6)):
        size = os.path.getsize(f"{told[dtype]['directory']}/model.bin")
        assert size < most * parameters

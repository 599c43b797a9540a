"""What all exports of graphs have in common, and the command."""

import json
import sys

import keras
import numpy as np
import pytest

from keras_elmo import presets
from keras_elmo.export import export_graph, graph, load_graph
from tests.exported_graphs import expected_outputs, random_ids, small_word_backbone
from tests.models_for_tests import character_backbone, word_backbone

pytestmark = pytest.mark.once


def test_another_process_writes_what_this_backend_cannot(tmp_path):
    pytest.importorskip("tf2onnx", reason="needs the extra onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    backbone = small_word_backbone()
    told = export_graph(backbone, tmp_path / "elmo", "onnx")
    assert told["max_difference"] < 1e-4
    ids = random_ids(backbone, 3, 8)
    found = load_graph(told["directory"])(ids)["elmo"]
    expected = expected_outputs(backbone, ids)["elmo"]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_command_tells_the_loss_and_makes_the_next_version(run, tmp_path):
    backbone = word_backbone(num_layers=1)
    backbone.save_to_preset(tmp_path / "preset")
    (tmp_path / "elmo" / "1").mkdir(parents=True)
    presets.write_json(tmp_path / "elmo" / "1" / "metadata.json", {"format": "torch"})
    command = ["export", tmp_path / "preset", "--output", tmp_path / "elmo", "--json"]
    command += ["--format", "torch"]
    code, out, _ = run(*command, "--weights-dtype", "int8")
    told = json.loads(out)
    assert code == 0 and told["version"] == 2
    assert 0 < told["max_difference"] < 0.1
    assert 0.99 < told["cosine_similarity"] < 0.9999999
    folder = tmp_path / "elmo" / "2"
    metadata = json.loads((folder / "metadata.json").read_text("utf-8"))
    assert metadata["weights_dtype"] == "int8"
    assert metadata["input"]["name"] == "token_ids"
    # What turns words into the ids it reads.
    words = (folder / "vocabulary.txt").read_text("utf-8").split()
    assert words == list(backbone.vocabulary.tokens)
    for wrong in (
        ["--tokenizer", "unicode"],
        ["--format", "saved_model", "--time", 5],
        ["--format", "tflite"],
    ):
        code, _, err = run(*command, *wrong)
        assert code == 1 and (wrong[-2] in err or "output_format" in err)
    assert sorted(p.name for p in (tmp_path / "elmo").iterdir()) == ["1", "2"]


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"output_format": "tflite"}, "output_format"),
        ({"weights_dtype": "int4"}, "weights_dtype"),
        ({"time": 0}, "time"),
        ({"model": keras.layers.Dense(3)}, "`model` must be"),
        ({"model": character_backbone(keep_boundaries=True)}, "keep_boundaries"),
    ],
)
def test_what_cannot_be_exported_leaves_nothing(arguments, error, tmp_path):
    arguments = {"model": word_backbone(), "output_format": "torch", **arguments}
    with pytest.raises(ValueError, match=error):
        export_graph(output=tmp_path / "elmo", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_versions_of_two_formats_are_not_mixed(tmp_path):
    (tmp_path / "elmo" / "3").mkdir(parents=True)  # as a SavedModel's
    with pytest.raises(ValueError, match="version 3 is of saved_model"):
        export_graph(word_backbone(), tmp_path / "elmo", "torch")
    with pytest.raises(FileNotFoundError):
        load_graph(tmp_path / "elmo" / "3")
    (tmp_path / "elmo" / "3" / graph.METADATA_FILE).write_text('{"format": "keras"}')
    with pytest.raises(ValueError, match="holds no graph"):
        load_graph(tmp_path / "elmo" / "3")


class WrongRuntime:
    """A format whose files give other numbers than Keras; keeps what it was given."""

    def write(self, model, folder, shape, weights_dtype):
        self.model = model
        (folder / "model").write_bytes(b"...")

    def load(self, folder, threads):
        def run(ids):
            return {k: v + 1 for k, v in expected_outputs(self.model, ids).items()}

        return run


def test_a_graph_that_disagrees_with_keras_is_not_kept(tmp_path, monkeypatch):
    runtime = WrongRuntime()
    monkeypatch.setattr(graph, "_module", lambda output_format: runtime)
    backbone = character_backbone(dtype="mixed_bfloat16")
    with pytest.raises(RuntimeError, match=r"1\.0e\+00 from the Keras model"):
        export_graph(backbone, tmp_path / "elmo", "torch")
    assert list((tmp_path / "elmo").iterdir()) == []
    # In float32 the difference is an error, and float32 is what graphs compute in.
    assert runtime.model.dtype_policy.name == "float32"
    for one, other in zip(runtime.model.weights, backbone.weights, strict=True):
        assert keras.ops.all(one.value == other.value)


def test_what_is_missing_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match=r"keras-elmo\[tensorflow\]"):
        export_graph(word_backbone(), tmp_path / "elmo", "onnx")
    for output_format, module in (
        ("litert", "ai_edge_litert.interpreter"),
        ("onnx", "onnxruntime"),
        ("openvino", "openvino"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        folder = tmp_path / output_format
        folder.mkdir()
        presets.write_json(folder / "metadata.json", {"format": output_format})
        monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
        with pytest.raises(ImportError, match=rf"keras-elmo\[{output_format}\]"):
            load_graph(folder)

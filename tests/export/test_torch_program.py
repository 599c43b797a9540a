"""Programs of torch.export, run by PyTorch."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.export import export_graph, load_graph
from tests.exported_graphs import (
    check_equal_to_keras,
    check_stored_in_fewer_bits,
    random_ids,
)
from tests.models_for_tests import character_backbone

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    keras.config.backend() != "torch", reason="written on torch"
)

CLIENT = """
import json, sys
import numpy as np, torch
program = torch.export.load(sys.argv[1]).module()
outputs = program(torch.from_numpy(np.load("ids.npy")))
np.save("elmo.npy", outputs["elmo"].detach().numpy())
print(json.dumps(sorted({"keras", "keras_elmo", "tensorflow"} & set(sys.modules))))
"""


def test_pytorch_alone_gives_the_results_of_keras_in_any_size(tmp_path):
    directory = check_equal_to_keras("torch", tmp_path / "elmo")
    # Not the checkout: nothing of this package can be imported by accident.
    np.save(tmp_path / "ids.npy", random_ids(character_backbone(), 4, 11))
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, f"{directory}/model.pt2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout) == []
    found = load_graph(directory)(np.load(tmp_path / "ids.npy"))["elmo"]
    np.testing.assert_allclose(np.load(tmp_path / "elmo.npy"), found, atol=1e-6)


def test_weights_in_fewer_bits(tmp_path):
    import torch

    told = check_stored_in_fewer_bits("torch", tmp_path / "elmo")
    for dtype, stored in (("float16", torch.float16), ("int8", torch.int8)):
        program = torch.export.load(f"{told[dtype]['directory']}/model.pt2")
        weights = program.state_dict.values()
        assert {x.dtype for x in weights if x.ndim == 2 and min(x.shape) > 1} == {
            stored
        }


def test_a_model_of_one_output(tmp_path):
    words = {"<oov>": 0, "<bos>": 1, "<eos>": 2, "<pad>": 3, "the": 4}
    backbone = keras_elmo.ManyLangsBackbone(
        hidden_dim=8,
        projection_dim=4,
        begin_ids=2,
        end_ids=3,
        encoder_kind="lstm",
        vocabulary_size=5,
        word_embedding_dim=6,
        num_layers=1,
    )
    backbone.vocabulary = keras_elmo.text.Dictionaries(words=words)
    told = export_graph(backbone, tmp_path / "elmo", "torch")
    assert told["max_difference"] < 1e-4
    ids = np.array([[5, 1, 5], [5, 0, 0]], "int32")
    found = load_graph(told["directory"])(ids)["elmo"]
    expected = keras_elmo.embed([["the", "none", "the"], ["the"]], backbone)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (tmp_path / "elmo" / "1" / "word.dic").exists()

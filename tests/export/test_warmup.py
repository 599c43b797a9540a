"""Warm-up requests: what a model server runs of them at its start, it can run."""

import shutil
import sys

import pytest

from keras_elmo.export import export_saved_model
from tests.models_for_tests import character_backbone

tf = pytest.importorskip("tensorflow")

# A server that is asked to takes as many at most.
MOST_REQUESTS = 1000
FILE = "assets.extra/tf_serving_warmup_requests"


def replay(directory):
    """Runs a version's requests as TF Serving does: (signatures, requests) seen."""
    apis = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    signatures = tf.saved_model.load(str(directory)).signatures
    seen, number = set(), 0
    for record in tf.data.TFRecordDataset(str(directory / FILE)):
        log = apis.PredictionLog.FromString(record.numpy())
        assert log.WhichOneof("log_type") == "predict_log"
        request = log.predict_log.request
        function = signatures[request.model_spec.signature_name]
        specs = function.structured_input_signature[1]
        assert set(request.inputs) == set(specs)
        inputs = {}
        for name, tensor in request.inputs.items():
            # The server hands the tensor over as it is: no cast, no other shape.
            assert tf.as_dtype(tensor.dtype) == specs[name].dtype
            inputs[name] = tf.constant(tf.make_ndarray(tensor))
            assert specs[name].shape.is_compatible_with(inputs[name].shape)
        outputs = function(**inputs)
        batch = len(next(iter(inputs.values())))
        for name, value in outputs.items():
            assert len(value) == batch, name
        seen.add(request.model_spec.signature_name)
        number += 1
    assert set(signatures) == seen
    return number


@pytest.mark.once
def test_every_signature_of_a_bilm_is_warmed_up(exported):
    _, directory, told = exported
    assert replay(directory / "1") == told["warmup_requests"] <= MOST_REQUESTS
    # What is asked is of the lengths that people write, not of one alone.
    from tensorflow_serving.apis import prediction_log_pb2

    lengths = set()
    for record in tf.data.TFRecordDataset(str(directory / "1" / FILE)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        request = log.predict_log.request
        if "strings" in request.inputs:
            texts = tf.make_ndarray(request.inputs["strings"])
            lengths |= {(len(texts), len(text.split())) for text in texts}
    assert {(1, 1), (1, 20), (8, 20)} == lengths


@pytest.mark.once
def test_without_tensorflow_serving_api_the_export_goes_on(
    exported, tmp_path, monkeypatch
):
    from keras_elmo.export import saved_model, warmup

    _, directory, _ = exported
    shutil.copy(directory / "1" / "saved_model.pb", tmp_path)
    for name in ("tensorflow_serving", "tensorflow_serving.apis"):
        monkeypatch.setitem(sys.modules, name, None)
    assert warmup.write_warmup(tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["saved_model.pb"]

    def call_on(backend, target, model, path, tokenizer):
        shutil.copytree(tmp_path, path)
        return {"signatures": [], "custom_ops": [], "warmup_requests": None}

    monkeypatch.setattr(saved_model, "call_on", call_on)
    with pytest.warns(UserWarning, match=r"keras-elmo\[serving\]"):
        export_saved_model(character_backbone(), directory.parent / "without")


@pytest.mark.once
@pytest.mark.slow
def test_task_models_are_warmed_up_too(tmp_path):
    import keras_elmo

    backbone = character_backbone()
    models = {
        "tags": keras_elmo.ElmoTokenClassifier(backbone, ["a", "b"], rnn_dim=4),
        "pairs": keras_elmo.ElmoPairClassifier(
            backbone, ["no", "yes"], targets=True, rnn_dim=4
        ),
        # White space alone: no process here has TF Text's ops without asking.
        "answers": keras_elmo.ElmoQuestionAnswering(
            backbone, rnn_dim=4, tokenizer="whitespace"
        ),
    }
    for name, model in models.items():
        told = export_saved_model(model, tmp_path / name)
        assert replay(tmp_path / name / "1") == told["warmup_requests"]

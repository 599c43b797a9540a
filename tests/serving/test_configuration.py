"""saved_models/serving/: what a model server reads is what it can read."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.once

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "saved_models" / "serving"
# tensorflow.serving.BatchingParameters, with the fields that are wrapped values.
WRAPPED = {
    "max_batch_size",
    "batch_timeout_micros",
    "num_batch_threads",
    "max_enqueued_batches",
}
PLAIN = {"pad_variable_length_inputs"}


def without_comments(text):
    return [
        line for line in text.splitlines() if line.strip() and line.strip()[0] != "#"
    ]


def batching(text):
    found = {}
    for line in without_comments(text):
        match = re.fullmatch(r"(\w+) \{ value: (\d+) \}|(\w+): (true|false)", line)
        assert match, line
        found[match[1] or match[3]] = match[2] or match[4]
    return found


def test_models_config_is_read_by_its_own_message():
    messages = pytest.importorskip("tensorflow_serving.config.model_server_config_pb2")
    from google.protobuf import text_format

    config = text_format.Parse(
        (FOLDER / "models.config").read_text(), messages.ModelServerConfig()
    )
    [model] = config.model_config_list.config
    assert (model.name, model.base_path) == ("elmo", "/models/elmo")
    assert model.model_platform == "tensorflow"
    assert model.model_version_policy.latest.num_versions == 1


def test_batching_parameters_have_fields_that_exist():
    found = batching((FOLDER / "batching_parameters.txt").read_text())
    assert set(found) == WRAPPED | PLAIN
    # A filled-up row of tokens is read by its length alone.
    assert found["pad_variable_length_inputs"] == "true"


def test_compose_and_kubernetes_say_the_same():
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    service = compose["services"]["serving"]
    flags = dict(flag[2:].split("=") for flag in service["command"])
    assert flags["model_config_file"] == "/models/serving/models.config"
    [volume] = service["volumes"]
    assert volume == "..:/models:ro"
    assert (FOLDER / ".." / "serving" / "models.config").exists()
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert compose["services"]["serving-gpu"]["image"].endswith("-gpu")

    documents = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()))
    by_kind = {document["kind"]: document for document in documents}
    data = by_kind["ConfigMap"]["data"]
    for name in ("models.config", "batching_parameters.txt"):
        kept = without_comments((FOLDER / name).read_text())
        assert "".join(kept).split() == "".join(without_comments(data[name])).split()
    pod = by_kind["Deployment"]["spec"]["template"]
    [container] = pod["spec"]["containers"]
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert mounts == set(volumes)
    claim = volumes["models"]["persistentVolumeClaim"]["claimName"]
    assert claim == by_kind["PersistentVolumeClaim"]["metadata"]["name"]
    assert (
        volumes["config"]["configMap"]["name"]
        == (by_kind["ConfigMap"]["metadata"]["name"])
    )
    labels = pod["metadata"]["labels"]
    assert by_kind["Service"]["spec"]["selector"].items() <= labels.items()
    same = ("enable_batching", "rest_api_timeout_in_ms", "enable_model_warmup")
    given = dict(flag[2:].split("=") for flag in container["args"])
    assert {name: given[name] for name in same} == {name: flags[name] for name in same}
    assert given["model_config_file"].startswith("/config/")
    ports = {port["name"] for port in container["ports"]}
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] == "/v1/models/elmo"
        assert container[probe]["httpGet"]["port"] in ports

"""The client against a server of the exported model, over REST and over gRPC."""

import concurrent.futures
import socket
import sys
import time

import numpy as np
import pytest

import keras_elmo
from keras_elmo.serving import ServingClient, rows

grpc = pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")

pytestmark = pytest.mark.once

SENTENCES = ["", "the", "the bank .", "café 日本 \U0001f600", " ".join(["w"] * 60)]


@pytest.fixture(params=["rest", "grpc"])
def url(request, server, faults):
    return getattr(server, request.param)


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_vectors_are_those_of_python(url, exported):
    backbone = exported[0]
    tokens = [sentence.split() for sentence in SENTENCES]
    with ServingClient(url) as client:
        found = client.predict(SENTENCES)
        by_tokens = client.predict(tokens)
        [empty] = rows(client.predict([""]))
        none = client.predict([])
    assert set(found) == {
        *("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default"),
        "sequence_len",
    }
    assert found["sequence_len"].dtype == np.int32
    expected = list(keras_elmo.embed_iter(tokens, backbone))
    for row, vectors in zip(rows(found), expected, strict=True):
        np.testing.assert_allclose(row["elmo"], vectors, atol=1e-5)
    means = keras_elmo.embed(tokens, backbone, pooling="mean")
    np.testing.assert_allclose(found["default"], means, atol=1e-5)
    for name, value in found.items():
        assert by_tokens[name].dtype == value.dtype
        np.testing.assert_allclose(by_tokens[name], value, atol=1e-6)
    assert none["elmo"].shape == (0, 0, 8) and rows(none) == []
    assert empty["elmo"].shape == (0, 8) and empty["word_emb"].shape == (0, 4)


def test_any_bytes_and_any_length(url):
    texts = [b"\xff\xfe bad", "\udcff", "a\x00b", " ".join(["w"] * 10_000)]
    with ServingClient(url) as client:
        found = client.predict(texts, outputs=["sequence_len", "default"])
    assert list(found) == ["sequence_len", "default"]
    assert found["sequence_len"].tolist() == [2, 1, 1, 10_000]
    assert np.isfinite(found["default"]).all()


def test_signatures_and_named_inputs(url, exported):
    ids = keras_elmo.ElmoPreprocessor.of(exported[0])(["the bank .", "a"])
    with ServingClient(url) as client:
        known = client.signatures()
        assert sorted(known) == [
            *("character_ids", "default", "serving_default", "tokens")
        ]
        spec = known["character_ids"]["inputs"]["character_ids"]
        assert (spec.dtype, spec.shape) == ("int32", (None, None, 16))
        by_ids = client.predict({"character_ids": ids}, "character_ids", ["elmo"])
        by_texts = client.predict(["the bank .", "a"], "default", ["elmo"])
    np.testing.assert_allclose(by_ids["elmo"], by_texts["elmo"], atol=1e-6)


def test_over_grpc_only_what_is_wanted_is_sent(server, faults):
    with ServingClient(server.grpc) as client:
        client.predict(["a"], outputs=["default"])
    assert list(server.asked[-1][3].output_filter) == ["default"]


@pytest.mark.parametrize(
    "arguments, told",
    [
        ((["a"], "nope"), "`signature` must be one of 'character_ids', 'default'"),
        ((["a"], "tokens"), "`inputs` of 'tokens' must be sequence_len, tokens"),
        ((["a"], None, ["nope"]), "`outputs` must be one of 'default', 'elmo'"),
        (({"strings": [["a"]]},), "answered"),
        (({"character_ids": [[[1]]]}, "character_ids"), "answered"),
    ],
)
def test_what_the_model_has_not_is_refused(url, arguments, told):
    with ServingClient(url, retries=0) as client, pytest.raises(ValueError) as error:
        client.predict(*arguments)
    assert told in str(error.value)
    if told == "answered":
        assert url in str(error.value)


def test_a_version_and_a_model_that_are_not_there(url):
    with ServingClient(f"{url}/versions/1") as client:
        assert client.predict(["a"], outputs=["default"])["default"].shape == (1, 8)
        assert client.status() == [
            {"version": 1, "state": "AVAILABLE", "error_message": ""}
        ]
    for wrong in (f"{url}/versions/9", url.replace("elmo", "other")):
        with ServingClient(wrong) as client, pytest.raises(ValueError) as error:
            client.predict(["a"])
        assert wrong in str(error.value)
        assert "Servable not found for request" in str(error.value)
    with (
        ServingClient(f"{url}/labels/stable") as client,
        pytest.raises(ValueError, match="version label: stable"),
    ):
        client.predict(["a"])


def busy(server, code=grpc.StatusCode.UNAVAILABLE):
    from tests.serving.json_tensors import ServerError

    return ServerError(code, "too much to do")


def test_a_busy_server_is_asked_again(url, server, faults):
    with ServingClient(url, retries=2) as client:
        client.signatures()
        faults += [busy(server), busy(server, grpc.StatusCode.RESOURCE_EXHAUSTED)]
        assert client.predict(["a"], outputs=["default"])["default"].shape == (1, 8)
        assert faults == []
        faults += [busy(server)] * 2
        client._retries = 1
        with pytest.raises(ConnectionError, match="too much to do") as error:
            client.predict(["a"])
    assert url in str(error.value) and "(2 tries)" in str(error.value)


def test_a_fault_of_the_servers_is_not_asked_again(url, server, faults):
    with ServingClient(url) as client:
        client.signatures()
        asked = len(server.asked)
        faults.append(busy(server, grpc.StatusCode.INTERNAL))
        with pytest.raises(ConnectionError, match="too much to do"):
            client.predict(["a"])
        assert len(server.asked) == asked + 1


def test_a_silent_server_is_given_up(url, faults):
    with ServingClient(url, timeout=0.3, retries=1) as client:
        faults += [1.0, 1.0]
        started = time.monotonic()
        with pytest.raises(TimeoutError, match=r"no answer in 0\.3 s") as error:
            client.status()
    assert url in str(error.value) and "(2 tries)" in str(error.value)
    assert time.monotonic() - started < 20


def test_a_server_that_is_not_there(server):
    port = unused_port()
    for url in (
        f"http://127.0.0.1:{port}/v1/models/elmo",
        f"grpc://127.0.0.1:{port}/m",
    ):
        with (
            ServingClient(url, retries=1) as client,
            pytest.raises(ConnectionError) as error,
        ):
            client.predict(["a"])
        assert url in str(error.value) and "(2 tries)" in str(error.value)
    with (
        ServingClient("http://nowhere.invalid/v1/models/elmo") as client,
        pytest.raises(ConnectionError, match=r"nowhere\.invalid"),
    ):
        client.predict(["a"])


def test_waiting_for_a_server(url, server, faults):
    with ServingClient(url) as client:
        faults += [busy(server), busy(server, grpc.StatusCode.NOT_FOUND)]
        client.wait_until_ready(60)
        assert faults == []
    gone = f"http://127.0.0.1:{unused_port()}/v1/models/elmo"
    with pytest.raises(TimeoutError, match=r"was not ready in 0\.1 s: .*reached"):
        ServingClient(gone).wait_until_ready(0.1)


@pytest.mark.parametrize(
    "fault, told, kind",
    [
        ((502, {}, b"<html>Bad gateway</html>"), "502 .*<html>Bad gateway", OSError),
        ((401, {}, b""), "401 Unauthorized: no reason given", PermissionError),
        ((200, {}, b"<html>Log in</html>"), "not as TF Serving.*Log in", ValueError),
        ((200, {}, b'{"predictions": []}'), "not as TF Serving does", ValueError),
        ((200, {}, b"[" * 100_000), "not as TF Serving does", ValueError),
        ((200, {}, b'{"outputs": {"a": [1]}}'), "lacks .*elmo.* It has a", OSError),
        ("reset", "cannot be reached", ConnectionError),
    ],
)
def test_what_is_no_answer_of_tf_servings(server, faults, fault, told, kind):
    with ServingClient(server.rest, retries=0) as client:
        client.signatures()
        faults.append(fault)
        with pytest.raises(kind, match=told):
            client.predict(["a"])


def test_the_server_says_when_to_come_back(server, faults):
    with ServingClient(server.rest, retries=1) as client:
        client.signatures()
        faults.append((429, {"Retry-After": "1"}, b'{"error": "later"}'))
        started = time.monotonic()
        client.predict(["a"])
        assert time.monotonic() - started >= 1.0


def test_headers_are_sent(url, server):
    with ServingClient(url, headers={"Authorization": "Bearer x"}) as client:
        client.status()
    headers = {name.lower(): value for name, value in server.asked[-1][2].items()}
    assert headers["authorization"] == "Bearer x"


def test_32_callers_at_once_get_right_answers(url, exported):
    texts = [" ".join(["the"] * n) for n in range(32)]
    expected = keras_elmo.embed([t.split() for t in texts], exported[0], pooling="mean")
    with ServingClient(url) as client:
        client.signatures()
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            found = pool.map(
                lambda text: client.predict([text], outputs=["default"]), texts
            )
            for row, outputs in enumerate(found):
                np.testing.assert_allclose(
                    outputs["default"][0], expected[row], atol=1e-5
                )


def test_grpc_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_serving", None)
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    monkeypatch.delitem(sys.modules, "keras_elmo.serving.grpc_transport", raising=False)
    with pytest.raises(ImportError, match=r"keras-elmo\[serving\].*over REST"):
        ServingClient("grpc://localhost:8500/elmo")
    ServingClient("http://localhost:8501/v1/models/elmo")


@pytest.mark.parametrize(
    "change", [{"timeout": 0}, {"timeout": "x"}, {"retries": -1}, {"retries": 1.5}]
)
def test_wrong_settings_are_named(change):
    with pytest.raises((ValueError, TypeError), match=f"`{next(iter(change))}` must"):
        ServingClient("http://h/v1/models/m", **change)

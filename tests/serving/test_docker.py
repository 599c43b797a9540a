"""The client against TensorFlow Serving itself, where Docker has its image."""

import shutil
import socket
import subprocess

import numpy as np
import pytest

import keras_elmo
from keras_elmo.serving import ServingClient
from tests.serving.test_configuration import FOLDER

pytestmark = [pytest.mark.once, pytest.mark.slow]

IMAGE = "tensorflow/serving"


def docker(*arguments):
    return subprocess.run(
        ["docker", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def ports(exported):
    """(REST's, gRPC's) of a server in a container, with the files of saved_models/."""
    if shutil.which("docker") is None:
        pytest.skip("no docker command on this machine")
    found = docker("image", "inspect", IMAGE)
    if found.returncode:
        pytest.skip(f"docker has no image {IMAGE}: {found.stderr.strip()[:200]}")
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    started = docker(
        *("run", "--detach", "--rm", "--read-only", "--tmpfs", "/tmp"),
        *("--publish", f"127.0.0.1:{ports[0]}:8501"),
        *("--publish", f"127.0.0.1:{ports[1]}:8500"),
        *("--volume", f"{exported[1]}:/models/elmo:ro"),
        *("--volume", f"{FOLDER}:/models/serving:ro"),
        *(IMAGE, "--model_config_file=/models/serving/models.config"),
        *("--enable_batching=true", "--enable_model_warmup=true"),
        "--batching_parameters_file=/models/serving/batching_parameters.txt",
    )
    assert started.returncode == 0, started.stderr
    yield ports
    docker("stop", started.stdout.strip())


@pytest.mark.parametrize("kind", ["rest", "grpc"])
def test_tensorflow_serving_gives_the_results_of_python(ports, exported, kind):
    url = {
        "rest": f"http://127.0.0.1:{ports[0]}/v1/models/elmo",
        "grpc": f"grpc://127.0.0.1:{ports[1]}/elmo",
    }[kind]
    texts = ["", "the", "the bank .", "caf\u00e9 \u65e5\u672c", " ".join(["w"] * 60)]
    tokens = [text.split() for text in texts]
    with ServingClient(url) as client:
        client.wait_until_ready(120)
        by_text, by_tokens = client.predict(texts), client.predict(tokens)
        with pytest.raises(ValueError, match="answered"):
            client.predict({"character_ids": [[[1]]]}, "character_ids")
    expected = keras_elmo.embed(tokens, exported[0])
    for found in (by_text, by_tokens):
        np.testing.assert_allclose(found["elmo"], expected, atol=1e-5)

"""The exported model that these tests share, and a server of it."""

import pytest

from tests.exported_models import exported as exported


@pytest.fixture(scope="session")
def server(exported):
    pytest.importorskip("tensorflow_serving.apis.predict_pb2")
    from tests.serving.model_server import ModelServer

    _, directory, _ = exported
    server = ModelServer("elmo", directory)
    yield server
    server.close()


@pytest.fixture
def faults(server):
    """What the server's next requests meet; none is left for other tests."""
    server.asked.clear()
    yield server.faults
    server.faults.clear()

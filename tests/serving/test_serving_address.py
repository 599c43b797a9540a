"""URLs of models."""

import pytest

from keras_elmo.serving.serving_address import ServingAddress

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    "url, parts, canonical",
    [
        (
            "http://h:8501/v1/models/elmo",
            ("http", "h:8501", "", "elmo", None, None),
            "",
        ),
        ("grpc://h:8500/elmo", ("grpc", "h:8500", "", "elmo", None, None), ""),
        ("grpcs://h:443/a/versions/12", ("grpcs", "h:443", "", "a", 12, None), ""),
        (
            "https://h/ml/v1/models/my%20elmo/versions/3:predict",
            ("https", "h", "/ml", "my elmo", 3, None),
            "https://h/ml/v1/models/my%20elmo/versions/3",
        ),
        (
            "http://[::1]:8501/v1/models/elmo/labels/stable/",
            ("http", "[::1]:8501", "", "elmo", None, "stable"),
            "http://[::1]:8501/v1/models/elmo/labels/stable",
        ),
    ],
)
def test_a_url_names_a_model(url, parts, canonical):
    address = ServingAddress.of(url)
    assert address == ServingAddress(*parts)
    assert address.is_grpc == parts[0].startswith("grpc")
    assert address.url == (canonical or url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8501",
        "http://localhost:8501",
        "http://localhost:8501/elmo",
        "http://localhost:8501/v1/models/",
        "http://localhost:8501/v1/models/elmo:classify",
        "http://localhost:8501/v1/models/elmo/versions/two",
        "http://localhost:notaport/v1/models/elmo",
        "http://localhost:99999/v1/models/elmo",
        "http:///v1/models/elmo",
        "http://me:secret@localhost/v1/models/elmo",
        "ftp://localhost/v1/models/elmo",
        "file:///v1/models/elmo",
        "grpc://localhost/elmo",
        "grpc://localhost:8500",
        "grpc://localhost:8500/v1/models/elmo",
        "http://[::1/v1/models/elmo",
    ],
)
def test_what_names_none_is_refused(url):
    with pytest.raises(ValueError, match="`url` must be http") as error:
        ServingAddress.of(url)
    assert repr(url) in str(error.value)

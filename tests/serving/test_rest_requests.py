"""What people send with curl: the exported model by TF Serving's own rules of JSON."""

import base64
import json
import urllib.error
import urllib.request

import numpy as np
import pytest

import keras_elmo

pytest.importorskip("tensorflow_serving")

pytestmark = pytest.mark.once


def ask(url, body=None):
    """(status, answer) of a request, as curl would send it."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url, data=body, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_rows_of_texts(server, exported):
    texts = ["the bank .", "", "hello"]
    status, told = ask(f"{server.rest}:predict", {"instances": texts})
    assert status == 200
    means = keras_elmo.embed([t.split() for t in texts], exported[0], pooling="mean")
    rows = told["predictions"]
    np.testing.assert_allclose([row["default"] for row in rows], means, atol=1e-5)
    assert [row["sequence_len"] for row in rows] == [3, 0, 1]
    # As wide as the longest of the request, zeros behind the others.
    assert {len(row["elmo"]) for row in rows} == {3}
    assert rows[2]["elmo"][1] == [0.0] * 8
    named = [{"strings": text} for text in texts]
    assert ask(f"{server.rest}:predict", {"instances": named}) == (200, told)


def test_columns_and_base64_say_the_same(server):
    texts = ["caf\u00e9 \u65e5\u672c", "a"]
    _, plain = ask(f"{server.rest}:predict", {"inputs": texts})
    packed = [{"b64": base64.b64encode(t.encode()).decode()} for t in texts]
    for inputs in (packed, {"strings": texts}, {"strings": packed}):
        body = {"signature_name": "default", "inputs": inputs}
        assert ask(f"{server.rest}/versions/1:predict", body) == (200, plain)
    _, rows = ask(f"{server.rest}:predict", {"instances": packed})
    assert [row["default"] for row in rows["predictions"]] == plain["outputs"][
        "default"
    ]


def test_tokens_are_padded_and_counted(server):
    rows = [
        {"tokens": ["the", "bank", "."], "sequence_len": 3},
        {"tokens": ["hello", "", ""], "sequence_len": 1},
    ]
    body = {"signature_name": "tokens", "instances": rows}
    _, found = ask(f"{server.rest}:predict", body)
    _, texts = ask(f"{server.rest}:predict", {"instances": ["the bank .", "hello"]})
    for one, other in zip(found["predictions"], texts["predictions"], strict=True):
        np.testing.assert_allclose(one["elmo"], other["elmo"], atol=1e-6)
    # Rows of different width are no tensor: TF Serving's own words on it.
    rows[1]["tokens"] = ["hello"]
    status, told = ask(f"{server.rest}:predict", body)
    assert status == 400 and "Expecting tensor size: 3 but got: 1" in told["error"]


@pytest.mark.parametrize(
    "body, told",
    [
        (b"", "JSON Parse error"),
        (b"[1]", "Is not object"),
        ({"texts": ["a"]}, "Missing 'inputs' or 'instances' key"),
        ({"instances": []}, "No values in 'instances' array"),
        ({"instances": [1]}, "not of expected type"),
        ({"instances": [["a"]]}, ""),
        ({"instances": [{"b64": "?"}]}, "Unable to base64 decode"),
        ({"instances": [{"text": "a"}]}, "keys must be equal to: strings"),
        ({"inputs": {"texts": ["a"]}}, "Missing named input: strings"),
        ({"signature_name": "nope", "instances": ["a"]}, "nope"),
        ({"signature_name": "tokens", "instances": ["a"]}, "expecting list of objects"),
    ],
)
def test_what_is_wrong_is_an_error_and_no_crash(server, body, told):
    status, answer = ask(f"{server.rest}:predict", body)
    assert status == 400 and told in answer["error"]
    assert ask(f"{server.rest}:predict", {"instances": ["a"]})[0] == 200


def test_status_metadata_and_what_is_not_there(server):
    status, told = ask(server.rest)
    assert status == 200
    [version] = told["model_version_status"]
    assert (version["version"], version["state"]) == ("1", "AVAILABLE")
    _, told = ask(f"{server.rest}/metadata")
    found = told["metadata"]["signature_def"]["signature_def"]
    assert found["default"]["inputs"]["strings"]["dtype"] == "DT_STRING"
    assert ask(f"{server.rest}x")[0] == 404
    assert ask(f"{server.rest}/versions/7:predict", {"instances": ["a"]})[0] == 404

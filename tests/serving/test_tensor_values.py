"""Values on their way to a model server and back."""

import json

import numpy as np
import pytest

from keras_elmo.serving.tensor_values import (
    TensorInfo,
    as_inputs,
    row_as_json,
    rows,
    to_bytes,
    to_json,
)

pytestmark = pytest.mark.once


def test_texts_tokens_and_named_inputs():
    assert as_inputs(["a b", b"c"]) == ({"strings": ["a b", b"c"]}, None)
    assert as_inputs(x for x in ("a", "")) == ({"strings": ["a", ""]}, None)
    assert as_inputs([]) == ({"strings": []}, None)
    tokens = {"tokens": [["a", "b"], ["c", ""], ["", ""]], "sequence_len": [2, 1, 0]}
    assert as_inputs([["a", "b"], ("c",), np.array([], "U1")]) == (tokens, "tokens")
    assert as_inputs({"question": ["q"]}) == ({"question": ["q"]}, None)
    for wrong in ("a b", b"a", 3, [1, 2], ["a", ["b"]], [["a", 1]]):
        with pytest.raises(TypeError, match="`inputs` must be"):
            as_inputs(wrong)


def test_what_is_no_utf8_goes_as_base64():
    assert to_json(["é", b"\xc3\xa9", b"\xff", "\udcff"]) == [
        *("é", "é"),
        *({"b64": "/w=="}, {"b64": "/w=="}),
    ]
    assert to_bytes([["é"], ["\udcff", b"\xff"]]) == [[b"\xc3\xa9"], [b"\xff"] * 2]
    assert to_json(np.array([[1, 2]])) == [[1, 2]]
    assert to_json(np.array(["a"])) == ["a"]
    for encode in (to_json, to_bytes):
        with pytest.raises(ValueError, match="lone surrogates"):
            encode(["\ud800"])


def test_an_empty_list_has_all_its_axes():
    info = TensorInfo.of(
        {
            "dtype": "DT_FLOAT",
            "tensor_shape": {"dim": [{"size": "-1"}, {"size": "-1"}, {"size": "8"}]},
        }
    )
    assert info == TensorInfo("float32", (None, None, 8))
    assert info.array([[], []]).shape == (2, 0, 8)
    assert info.array([]).shape == (0, 0, 8)
    found = info.array([[[0.1] * 8]])
    assert found.shape == (1, 1, 8) and found.dtype == np.float32
    anything = TensorInfo.of({"dtype": "DT_INT64", "tensor_shape": {"unknown_rank": 1}})
    assert anything == TensorInfo("int64", None)


def test_rows_end_where_their_sentences_end():
    outputs = {
        "elmo": np.arange(12, dtype="float32").reshape(2, 3, 2),
        "tokens": np.array([["a", "", ""], ["b", "c", ""]], object),
        "default": np.zeros((2, 3), "float32"),
        "sequence_len": np.array([1, 2], "int32"),
    }
    first, second = rows(outputs)
    assert first["elmo"].tolist() == [[0.0, 1.0]] and second["elmo"].shape == (2, 2)
    assert first["tokens"].tolist() == ["a"] and second["tokens"].tolist() == ["b", "c"]
    assert first["default"].shape == (3,) and second["sequence_len"] == 2
    # Without lengths there is nothing to cut.
    assert rows({"classes": np.array([["x", "y"]], object)})[0]["classes"].size == 2
    assert rows({}) == []


def test_a_float32_is_written_as_short_as_it_reads_back():
    value = np.float32([0.1, 1e-30, -0.33333334, 2.0])
    row = {"v": value, "n": np.int32(3), "s": "日", "x": np.float32(0.1)}
    text = row_as_json(row)
    assert text.startswith('{"v": [0.1, 1e-30, -0.33333334, 2.0], "n": 3, "s": "日"')
    again = json.loads(text)
    assert (np.float32(again["v"]) == value).all() and again["x"] == 0.1

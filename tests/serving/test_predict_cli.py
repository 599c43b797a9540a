"""keras-elmo predict: sentences in, lines of JSON out."""

import io
import json
import sys

import numpy as np
import pytest

import keras_elmo

pytest.importorskip("tensorflow_serving")

pytestmark = pytest.mark.once

SENTENCES = ["the bank .", "", "hello"]


def lines(out):
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("kind", ["rest", "grpc"])
def test_sentences_as_arguments(run, server, exported, kind):
    url = getattr(server, kind)
    code, out, err = run("predict", "--url", url, *SENTENCES)
    assert code == 0, err
    expected = keras_elmo.embed_iter(map(str.split, SENTENCES), exported[0])
    for row, vectors in zip(lines(out), expected, strict=True):
        found = np.reshape(row["elmo"], (-1, 8))
        np.testing.assert_allclose(found, vectors, atol=1e-5)
        assert row["sequence_len"] == len(vectors)


def test_a_file_and_stdin_in_small_batches(run, server, faults, tmp_path, monkeypatch):
    path = tmp_path / "in.txt"
    path.write_bytes("\ufeffthe bank .\r\n\r\nhello\n".encode())
    options = ("--output", "elmo", "--output", "default", "--batch-size", 2)
    code, out, _ = run("predict", "--url", server.rest, "--input", path, *options)
    assert code == 0
    assert [len(row["elmo"]) for row in lines(out)] == [3, 0, 1]
    assert all(list(row) == ["elmo", "default"] for row in lines(out))
    posts = [asked for asked in server.asked if asked[0] == "POST"]
    assert len(posts) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    again = run("predict", "--url", server.rest, "--input", "-", *options)
    assert again[:2] == (0, out)


def test_instances_are_inputs_by_name(run, server, tmp_path):
    rows = [{"tokens": ["a", "b"], "sequence_len": n} for n in (1, 2)]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    code, out, _ = run(
        *("predict", "--url", server.rest, "--input", path, "--instances"),
        *("--signature", "tokens", "--output", "elmo", "--wait", 5),
    )
    assert code == 0
    assert [len(row["elmo"]) for row in lines(out)] == [1, 2]
    for wrong in ("{", "[1]", '{"tokens": []}\n{"x": 1}'):
        path.write_text(wrong)
        code, out, err = run(
            "predict", "--url", server.rest, "--input", path, "--instances"
        )
        assert code == 1 and out == "" and "JSON" in err


def test_an_error_is_one_line_with_the_url_and_what_was_said(run, server, tmp_path):
    options = ("predict", "--retries", 0, "--url")
    code, out, err = run(*options, f"{server.rest}/versions/9", "a")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ") and len(err.splitlines()) == 1
    assert f"{server.rest}/versions/9" in err and "Servable not found" in err
    code, _, err = run(*options, "http://localhost/elmo", "a")
    assert code == 1 and "`url` must be http(s)://HOST" in err
    code, _, err = run(*options, server.rest, "a", "--header", "Authorization")
    assert code == 1 and "NAME: VALUE" in err
    for value in ("A: ✓", "A: b\nC: d"):
        code, _, err = run(*options, server.rest, "a", "--header", value)
        assert code == 1 and "characters of Latin-1" in err
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"ok\n\xff\n")
    code, _, err = run(*options, server.rest, "--input", bad)
    assert code == 1 and "bad.txt` line 2: not UTF-8" in err
    # Neither, or both, is no way to say what is asked.
    assert run(*options, server.rest)[0] == 2
    assert run(*options, server.rest, "a", "--input", bad)[0] == 2

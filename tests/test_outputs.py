"""Archives and Parquet: what other programs read of our vectors."""

import json
import sys
import zipfile

import numpy as np
import pytest

import keras_elmo
from keras_elmo import outputs
from keras_elmo.embed_file import embed_file
from tests.models_for_tests import character_backbone

pytestmark = pytest.mark.once

LINES = ["The bank .", "", "a", "Ω 银行 open today !"]


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def read(path):
    return pytest.importorskip("pyarrow.parquet").read_table(path)


@pytest.mark.parametrize("pooling", [None, "mean"])
@pytest.mark.parametrize("layers", ["mix", "all"])
def test_parquet_has_a_row_a_sentence(text, backbone, tmp_path, pooling, layers):
    output = tmp_path / "out.parquet"
    options = {"layers": layers, "pooling": pooling}
    table = read(embed_file(text, backbone, output, **options)["output"])
    assert table.column_names == ["number", "text", "vectors"]
    assert table["number"].to_pylist() == [0, 1, 2, 3]
    assert table["text"].to_pylist() == LINES
    tokens = map(str.split, LINES)
    expected = list(keras_elmo.embed_iter(tokens, backbone, **options))
    for vectors, wanted in zip(table["vectors"].to_pylist(), expected, strict=True):
        got = np.array(vectors, "float32").reshape(wanted.shape)
        np.testing.assert_allclose(got, wanted, atol=1e-6)
        assert len(vectors) == wanted.shape[0]
    # The size of a vector is part of the type.
    kind = table.schema.field("vectors").type
    for _ in range(expected[0].ndim - 1):
        kind = kind.value_type
    assert kind.list_size == 8 and str(kind.value_type) == "float"


def test_rows_are_written_in_groups(text, backbone, tmp_path, monkeypatch):
    whole = read(embed_file(text, backbone, tmp_path / "one.parquet")["output"])
    monkeypatch.setattr(outputs, "ROW_GROUP", 8)
    path = embed_file(text, backbone, tmp_path / "some.parquet")["output"]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.ParquetFile(path).num_row_groups == 3
    assert read(path).equals(whole)


def test_an_empty_file_gives_no_rows(backbone, tmp_path):
    path = tmp_path / "in.txt"
    path.touch()
    table = read(embed_file(path, backbone, tmp_path / "out.parquet")["output"])
    assert table.num_rows == 0
    assert table.column_names == ["number", "text", "vectors"]


def test_proteins_have_identifiers(backbone, tmp_path):
    path = tmp_path / "in.fasta"
    path.write_text(">a x\nMKV\n>a\nS\n")
    output = tmp_path / "out.pq"
    options = {"output_format": "parquet", "pooling": "mean"}
    table = read(embed_file(path, backbone, output, **options)["output"])
    assert table["identifier"].to_pylist() == ["a", "a"]


def test_without_pyarrow_the_extra_is_named(text, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-elmo\[parquet\]'"):
        # No model is loaded for that.
        embed_file(text, "no such preset", tmp_path / "out.parquet")


def test_arrays_of_an_archive_are_found_by_their_sentence(text, backbone, tmp_path):
    embed_file(text, backbone, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        assert set(arrays) == {"0", "1", "2", "3", "sentence_to_index"}
        index = json.loads(str(arrays["sentence_to_index"]))
        assert index == {line: str(number) for number, line in enumerate(LINES)}
        assert arrays["sentence_to_index"].dtype.kind == "U"
        assert arrays["0"].shape == (3, 8) and arrays["1"].shape == (0, 8)


def test_an_archive_of_many_sentences_is_whole(tmp_path):
    number = 70_000  # more than an archive's first form counts to
    writer = outputs.NpzWriter(tmp_path / "out.npz")
    for row in range(number):
        writer.write(f"sentence {row}", np.float32(row))
    writer.finish()
    writer.close()
    with zipfile.ZipFile(tmp_path / "out.npz") as archive:
        assert archive.testzip() is None
    with np.load(tmp_path / "out.npz") as arrays:
        assert len(arrays) == number + 1
        index = json.loads(str(arrays["sentence_to_index"]))
        for row in (0, 1, 12_345, number - 1):
            assert arrays[index[f"sentence {row}"]] == row

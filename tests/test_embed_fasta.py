"""Proteins to vectors, by SeqVec's rules."""

import gzip
import json

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.embed_file import embed_file
from tests.models_for_tests import character_backbone

pytestmark = pytest.mark.once

FASTA = ">sp|P1|A one\nSEQ\nwence\n>b\n\n>sp|P1|A again\nPRO-TEU*\n"
PROTEINS = ["SEQWENCE", "", "PROTEU"]


@pytest.fixture(scope="module")
def backbone():
    # Mix weights of its own: SeqVec's sum does not use them.
    return character_backbone(mix_weights=[0.2, 0.5, 0.3], gamma=2.0)


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "in.fasta"
    path.write_text(FASTA)
    return path


@pytest.fixture(scope="module")
def every_layer(backbone):
    """(L + 1, residues, dim) of each protein, its letters as tokens."""
    return list(keras_elmo.embed_iter(map(list, PROTEINS), backbone, layers="all"))


def test_residues_have_the_sum_of_layers(fasta, backbone, every_layer, tmp_path):
    output = tmp_path / "out.h5"
    assert embed_file(fasta, backbone, output) == {
        "output": str(output),
        "proteins": 3,
        "residues": 14,
        "unusual_residues": 2,  # O and U
    }
    with h5py.File(output) as file:
        assert [file[str(n)].shape for n in range(3)] == [(8, 8), (0, 8), (6, 8)]
        for number, layers in enumerate(every_layer):
            # SeqVec: `embedding.sum(axis=0)`; a sum of three float32.
            np.testing.assert_allclose(file[str(number)], layers.sum(0), atol=1e-5)
        index = json.loads(file["sentence_to_index"][0])
    assert index == {"sp|P1|A": "2", "b": "1"}


def test_a_protein_has_the_mean_of_its_residues(fasta, backbone, every_layer, tmp_path):
    output = tmp_path / "out.npz"
    embed_file(fasta, backbone, output, pooling="mean")
    with np.load(output) as arrays:
        for number, layers in enumerate(every_layer):
            expected = layers.sum(axis=(0, 1)) / max(layers.shape[1], 1)
            np.testing.assert_allclose(arrays[str(number)], expected, atol=1e-5)
        assert json.loads(str(arrays["sentence_to_index"]))["b"] == "1"


def test_other_layers_can_be_asked_for(fasta, backbone, every_layer, tmp_path):
    embed_file(fasta, backbone, tmp_path / "all.npz", layers="all")
    embed_file(fasta, backbone, tmp_path / "mean.npz", layers="mean")
    with np.load(tmp_path / "all.npz") as arrays:
        np.testing.assert_allclose(arrays["0"], every_layer[0], atol=1e-5)
    with np.load(tmp_path / "mean.npz") as arrays:
        np.testing.assert_allclose(arrays["0"], every_layer[0].mean(0), atol=1e-5)


def test_a_words_model_has_residues_for_words(fasta, tmp_path):
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *"SEQWNCPROT"])
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=8, projection_dim=4, vocabulary_size=len(vocabulary)
    )
    backbone.vocabulary = vocabulary
    summary = embed_file(fasta, backbone, tmp_path / "out.h5")
    assert summary["residues"] == 14


@pytest.fixture
def preset(backbone, tmp_path):
    backbone.save_to_preset(tmp_path / "preset")
    return tmp_path / "preset"


def test_one_command(run, fasta, preset, tmp_path, every_layer):
    """The name says what it is; --input-format says it where it does not."""
    plain = tmp_path / "proteins.txt"
    plain.write_text(FASTA)
    for source, more in ((fasta, ()), (plain, ("--input-format", "fasta"))):
        output = tmp_path / f"{source.stem}.h5"
        code, out, _ = run(
            *("embed", source, "--model", preset, "--output", output),
            *("--pooling", "mean", "--json", *more),
        )
        assert code == 0
        assert json.loads(out)["proteins"] == 3
        with h5py.File(output) as file:
            expected = every_layer[0].sum(0).mean(0)
            np.testing.assert_allclose(file["0"], expected, atol=1e-5)


@pytest.mark.parametrize(
    "name, is_fasta",
    [
        ("in.fasta", True),
        ("in.FA", True),
        ("in.faa.gz", True),
        ("in.fas", True),
        ("in.fasta.txt", False),
    ],
)
def test_the_name_tells_the_format(name, is_fasta, tmp_path, backbone):
    path = tmp_path / name
    data = FASTA.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    summary = embed_file(path, backbone, tmp_path / "out.h5")
    assert ("proteins" in summary) == is_fasta
    forced = embed_file(path, backbone, tmp_path / "text.h5", input_format="text")
    assert forced["sentences"] == FASTA.count("\n")


@pytest.mark.parametrize(
    "options, told",
    [
        ({"tokenizer": "unicode"}, "`tokenizer` must be 'whitespace' for a FASTA"),
        ({"input_format": "pdb"}, "`input_format` must be one of 'text', 'fasta'"),
        ({"layers": "total"}, "'sum'"),
    ],
)
def test_a_wrong_option_leaves_nothing(fasta, backbone, tmp_path, options, told):
    with pytest.raises(ValueError, match=told):
        embed_file(fasta, backbone, tmp_path / "out.h5", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.fasta"]


def test_a_wrong_line_leaves_nothing(backbone, tmp_path):
    path = tmp_path / "in.fasta"
    path.write_text(">a\nMKV\n>b\nM7\n")
    with pytest.raises(ValueError, match=r"in\.fasta` line 4: '7' is no residue"):
        embed_file(path, backbone, tmp_path / "out.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["in.fasta"]


def test_a_model_that_learns_its_scale_takes_no_sum(backbone):
    with pytest.raises(ValueError, match="`layers` must be one of"):
        keras_elmo.ElmoEmbedding(backbone, layers="sum")

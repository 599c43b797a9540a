"""HDF5 files on a disk that refuses to take more: an error, no fault, nothing left."""

import contextlib

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.embed_file import embed_file
from keras_elmo.hdf5_output import HDF5Output, create_hdf5, save_weights
from tests.models_for_tests import character_backbone

pytestmark = pytest.mark.once


@contextlib.contextmanager
def largest_file(size):
    """Within it no file grows beyond `size` bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


def test_it_is_read_as_any_hdf5_file(tmp_path):
    arrays = {"a/b": np.arange(6.0).reshape(2, 3), "c": np.zeros((0, 4), "float32")}
    with create_hdf5(tmp_path / "new.h5") as file:
        file.attrs["step"] = 3
        for name, array in arrays.items():
            file[name] = array
    with h5py.File(tmp_path / "new.h5") as file:
        assert file.attrs["step"] == 3
        for name, array in arrays.items():
            np.testing.assert_array_equal(file[name], array)
    with pytest.raises(FileExistsError), create_hdf5(tmp_path / "new.h5"):
        pass


# Where HDF5 stands when the disk is full: at its head, amid small and large arrays.
@pytest.mark.parametrize("size", [10, 5_000, 50_000])
@pytest.mark.parametrize("rows", [1, 100])
def test_a_write_that_fails_is_told_once(tmp_path, size, rows, capfd):
    path = tmp_path / "new.h5"
    refused = pytest.raises(OSError, match="File too large")
    with largest_file(size), refused, create_hdf5(path) as file:
        for number in range(200):
            file[str(number)] = np.ones((rows, 100))
    assert path.stat().st_size <= size
    with largest_file(size):
        output = HDF5Output(tmp_path / "other.h5")
        with pytest.raises(OSError, match="File too large"):
            for number in range(200_000):
                output.file[str(number)] = np.ones((rows, 100))
                output.check()
        with pytest.raises(OSError, match="File too large"):
            output.close()
    # HDF5's own complaints would be here.
    assert capfd.readouterr().err == ""


def test_weights_are_those_that_keras_writes(backbone, tmp_path):
    save_weights(backbone, tmp_path / "ours.weights.h5")
    backbone.save_weights(tmp_path / "keras.weights.h5")
    ours, theirs = (
        h5py.File(tmp_path / f"{name}.weights.h5") for name in ("ours", "keras")
    )
    names: list[list[str]] = [[], []]
    ours.visit(names[0].append)
    theirs.visit(names[1].append)
    assert names[0] == names[1] and len(names[0]) > 20
    for name in names[0]:
        if isinstance(theirs[name], h5py.Dataset):
            np.testing.assert_array_equal(ours[name][()], theirs[name][()])


@pytest.mark.parametrize("size", [2_000, 6_000, 20_000])
def test_a_preset_is_written_whole_or_not_at_all(backbone, tmp_path, size):
    backbone.save_to_preset(tmp_path / "preset")
    weights = (tmp_path / "preset" / "model.weights.h5").read_bytes()
    assert len(weights) > 20_000
    with largest_file(size), pytest.raises(OSError, match="File too large"):
        backbone.save_to_preset(tmp_path / "preset", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]
    assert (tmp_path / "preset" / "model.weights.h5").read_bytes() == weights


def test_vectors_and_a_token_cache_are_written_whole_or_not_at_all(backbone, tmp_path):
    text = tmp_path / "in.txt"
    text.write_text("The bank was open .\n" * 500)
    words = [f"word{number}" for number in range(1000)]
    with largest_file(20_000):
        with pytest.raises(OSError, match="File too large"):
            embed_file(text, backbone, tmp_path / "out.h5")
        with pytest.raises(OSError, match="File too large"):
            keras_elmo.TokenCache.create(tmp_path / "cache.h5", words, backbone)
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]

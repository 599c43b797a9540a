"""torch's pickles: their numbers, without torch, and nothing that they ask for."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from keras_elmo.checkpoints import torch_pickle
from keras_elmo.checkpoints.torch_pickle import find_tensors
from tests.many_langs_files import pickled_state, write_tensors, write_zip

pytestmark = pytest.mark.once

ARRAYS = {
    "a.weight": np.arange(6, dtype="float32").reshape(2, 3),
    "b": np.array([0.5], "float32"),
    "scalar": np.array(-2.0, "float32"),
}


def read(path):
    return {name: tensor.read() for name, tensor in find_tensors(path).items()}


def assert_equal(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == np.float32 and found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("legacy", [False, True])
def test_both_forms_are_read(legacy, tmp_path):
    write_tensors(tmp_path / "t.pkl", ARRAYS, legacy)
    assert_equal(read(tmp_path / "t.pkl"), ARRAYS)


@pytest.mark.parametrize("new", [True, False])
def test_what_torch_writes_is_read(new, tmp_path):
    torch = pytest.importorskip("torch")
    square = torch.arange(12.0).reshape(3, 4)
    state = {
        "transposed": square.T,
        "piece": square[1:, 1:3],
        "expanded once": square[:1],
        "double": square.double() / 3,
        "half": square.half(),
        "bfloat16": square.bfloat16(),
        "parameter": torch.nn.Parameter(square + 1),
        "empty": torch.zeros(0, 3),
    }
    path = tmp_path / "t.pt"
    torch.save(state, path, _use_new_zipfile_serialization=new)
    expected = {name: t.detach().float().numpy() for name, t in state.items()}
    assert_equal(read(path), expected)
    lstm = torch.nn.LSTM(3, 4, bidirectional=True)
    torch.save(lstm.state_dict(), path, _use_new_zipfile_serialization=new)
    assert_equal(read(path), {k: v.numpy() for k, v in lstm.state_dict().items()})


def test_golden_pickles_are_read_to_the_bit(golden):
    found = sorted((golden / "efml").glob("*/weights.npz"))
    assert found
    for path in found:
        with np.load(path) as stored:
            names = list(stored.files)
            expected = {name: stored[name] for name in names}
        arrays = {
            f"{part}/{name}": array
            for part in ("token_embedder", "encoder")
            for name, array in read(path.with_name(f"{part}.pkl")).items()
        }
        assert_equal(arrays, expected)


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def refused(path, match):
    with pytest.raises(ValueError, match=match) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("protocol", range(6))
def test_code_in_a_pickle_is_refused_and_not_run(protocol, tmp_path):
    made, path = tmp_path / "made", tmp_path / "t.pkl"
    data = pickle.dumps({"a": Hostile(made)}, protocol)
    path.write_bytes(data)
    refused(path, "no code is run|no data|does not begin")
    write_zip(path, {"archive/data.pkl": data})
    refused(path, "no code is run|no data")
    assert not made.exists()
    # The file would have done it.
    pickle.loads(data)
    assert made.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"(cos\nsystem\nS'id'\no.",
        b"(S'id'\nios\nsystem\n.",
        b"cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
        b"\x80\x02ccollections\nOrderedDict\n)\x81.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x01tR.",
        b"\x80\x02}(K\x01K\x02u.",
        b"\x80\x02}))s.",
        b"\x80\x02}(X\x01\x00\x00\x00ah\x07u.",
        b"\x80\x02]r\xff\xff\xff\x7f.",
        b"\x80\x02(((((((((t.",
        b"\x80\x02.",
        b"\x80\x02}N\x86Q.",
        b"\x80\x04N" + b"\x94\x86\x8c\x01a" * 3 + b"N\x86\x93.",
        b"\x80\x02" + b"(" * 20000 + b"t" * 20000 + b".",
        b"",
    ],
)
def test_pickles_of_anything_else_are_refused(data, tmp_path):
    path = tmp_path / "t.pkl"
    write_zip(path, {"archive/data.pkl": data})
    with pytest.raises(ValueError, match="cannot be read as torch's tensors"):
        find_tensors(path)
    path.write_bytes(data)
    with pytest.raises(ValueError, match="cannot be read as torch's tensors"):
        find_tensors(path)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"shape": (2**40, 2**40)}, "needs more than|impossible"),
        ({"shape": (2**60,)}, "that is none"),
        ({"shape": (10**6,), "strides": (0,)}, "needs more than"),
        ({"shape": (3, 2), "strides": (2**30, 1)}, "needs more than"),
        ({"shape": (2, 3), "strides": (-3, 1)}, "that is none"),
        ({"shape": (6,), "strides": (1, 1)}, "that is none"),
        ({"size": 2**40}, "declares|cut short"),
        ({"size": -1}, "impossible size"),
        ({"kind": "LongStorage"}, "only floats"),
    ],
)
def test_sizes_that_are_not_so_are_refused(legacy, changes, match, tmp_path):
    array = {"a": ARRAYS["a.weight"]}
    write_tensors(tmp_path / "t.pkl", array, legacy, **changes)
    refused(tmp_path / "t.pkl", match)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../a", "archive/../../a", "C:/a", "archive\\..\\a"],
)
def test_members_outside_of_the_archive_are_refused(name, tmp_path):
    members = {"archive/data.pkl": pickled_state(ARRAYS), name: b"x"}
    write_zip(tmp_path / "t.pkl", members)
    refused(tmp_path / "t.pkl", "outside of the archive")


def test_zip_bombs_are_refused(tmp_path):
    members = {
        "archive/data.pkl": pickled_state(ARRAYS),
        "archive/data/0": bytes(10**7),
    }
    write_zip(tmp_path / "t.pkl", members, zipfile.ZIP_DEFLATED)
    refused(tmp_path / "t.pkl", "is packed")


def test_archives_of_something_else_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.pkl"
    write_zip(path, {"archive/a": b""})
    refused(path, "one `data.pkl`")
    write_zip(path, {"a/data.pkl": b"", "b/data.pkl": b""})
    refused(path, "one `data.pkl`")
    write_zip(path, {"a/data.pkl": pickled_state(ARRAYS)})
    refused(path, "are missing")
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(path, "w") as archive,
    ):
        archive.writestr("a/data.pkl", b"")
        archive.writestr("a/data.pkl", b"")
    refused(path, "two members")
    monkeypatch.setattr(torch_pickle, "LARGEST_NUMBER_OF_MEMBERS", 1)
    write_tensors(path, ARRAYS)
    refused(path, "more than 1 members")
    monkeypatch.undo()
    monkeypatch.setattr(torch_pickle, "LARGEST_STRUCTURE", 10)
    refused(path, "more than 10 bytes")


def test_a_directory_of_members_that_lies_nowhere_is_refused(tmp_path):
    path = tmp_path / "t.pkl"
    write_tensors(path, ARRAYS)
    data = bytearray(path.read_bytes())
    # Its size, in the record at the end of the file: it would begin before the file.
    data[-10:-6] = (2**31).to_bytes(4, "little")
    path.write_bytes(data)
    refused(path, "cannot be read as torch's tensors")


def test_numbers_that_are_none_are_refused(tmp_path):
    write_tensors(tmp_path / "t.pkl", {"a": np.array([1, np.nan, np.inf], "float32")})
    refused(tmp_path / "t.pkl", "2 numbers that are NaN")


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        find_tensors(tmp_path / "t.pkl")


def test_the_pickle_machine_reads_what_is_no_tensor():
    """Versions, names and nested values: what torch keeps beside tensors."""
    value = {"a": [1, 2.5, "é", None, True, (1, (2, 3, 4, 5))], "b": {"c": -(2**70)}}
    for protocol in range(2, 6):
        stream = io.BytesIO(pickle.dumps(value, protocol))
        found = torch_pickle.run_pickle(stream)
        assert found == value

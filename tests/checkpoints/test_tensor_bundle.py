"""TensorFlow's checkpoint files: checksums, tables, and indexes that lie."""

import struct

import numpy as np
import pytest

from keras_elmo.checkpoints.crc32c import crc32c, masked_crc32c
from keras_elmo.checkpoints.sorted_table import (
    read_table,
    read_varint,
    write_table,
    write_varint,
)
from keras_elmo.checkpoints.tensor_bundle import TensorBundle, write_bundle

pytestmark = pytest.mark.once

ARRAYS = {
    "step": np.float32(7),
    "lm/a": np.arange(6, dtype="float32").reshape(2, 3),
    "lm/b": np.array([1.5, -2.0]),
    "lm/a/Adagrad": np.ones((2, 3), "float32"),
    "count": np.array([2**40, -1]),
    "none": np.zeros((0, 3), "float16"),
}


def slow_crc32c(data):
    """Bit by bit, as the polynomial says."""
    state = 0xFFFFFFFF
    for octet in data:
        state ^= octet
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 9, 4095, 4096, 4097, 12_345])
def test_the_checksum_is_castagnolis(size):
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == slow_crc32c(data)


def test_the_checksum_of_the_standards_example():
    assert crc32c(b"123456789") == 0xE3069283
    # 18 MB: more than one piece. That of zeros is known by squaring, not by counting.
    many = 18 * 2**20
    data = bytearray(many)
    data[:9] = b"123456789"
    whole = crc32c(data)
    data[-1] = 1
    assert crc32c(data) != whole


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**32, 2**64 - 1])
def test_numbers_of_variable_length(number):
    data = write_varint(number)
    assert read_varint(data, 0) == (number, len(data))
    with pytest.raises(ValueError):
        read_varint(data[:-1], 0)
    with pytest.raises(ValueError):
        read_varint(b"\xff" * 11, 0)


def test_tables_are_read_back():
    entries = {f"name/{i:05d}".encode(): b"v" * (i % 300) for i in range(5000)}
    data = write_table(sorted(entries.items()))
    assert read_table(data) == entries
    assert len(data) > 262_144  # several blocks
    assert read_table(write_table([(b"", b"")])) == {b"": b""}


def test_every_flipped_bit_of_a_table_is_found():
    data = write_table([(b"", b"header"), (b"a", b"1"), (b"b", b"22")])
    for at in range(len(data)):
        spoilt = bytearray(data)
        spoilt[at] ^= 4
        try:
            found = read_table(bytes(spoilt))
        except ValueError:
            continue
        # An empty description of 8 bytes and its checksum, which nobody asks for,
        # between the entries and their index; and the footer, which has no checksum.
        assert found == read_table(data)
        assert 33 <= at < 46 or len(data) - 48 <= at < len(data) - 8


def test_arrays_are_read_back(tmp_path):
    write_bundle(tmp_path / "model", ARRAYS)
    bundle = TensorBundle(tmp_path / "model")
    assert set(bundle.entries) == set(ARRAYS)
    for name, array in ARRAYS.items():
        found = bundle.read(name)
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype and bundle.shapes[name] == array.shape
    np.testing.assert_array_equal(bundle.read_float32("lm/b"), ARRAYS["lm/b"])
    with pytest.raises(ValueError, match="must hold floats"):
        bundle.read_float32("count")


def test_a_flipped_bit_of_an_array_is_found(tmp_path):
    write_bundle(tmp_path / "model", ARRAYS)
    path = tmp_path / "model.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    bundle = TensorBundle(tmp_path / "model")
    damaged = []
    for name in ARRAYS:
        try:
            bundle.read(name)
        except ValueError as error:
            assert "checksum" in str(error)
            damaged.append(name)
    assert len(damaged) == 1
    path.write_bytes(data[:-4])
    with pytest.raises(ValueError, match="truncated"):
        for name in ARRAYS:
            bundle.read(name)


def number(field, value):
    return write_varint(field << 3) + write_varint(value % 2**64)


def message(field, value):
    return write_varint(field << 3 | 2) + write_varint(len(value)) + value


def entry(dtype=1, dims=(4,), shard=0, offset=0, size=16, more=b""):
    shape = b"".join(message(2, number(1, dim)) for dim in dims)
    found = number(1, dtype) + message(2, shape) + number(3, shard)
    return found + number(4, offset) + number(5, size) + more


# Each ends TensorFlow's own reader (2.21) or is an error of it.
LIES = {
    "a size below 0": entry(dims=(-5,)),
    "a size of a petabyte": entry(dims=(2**50,)),
    "sizes that overflow": entry(dims=(2**62, 4)),
    "three huge sizes": entry(dims=(2**40,) * 3),
    "300 axes": entry(dims=(1,) * 300),
    "a type that is none": entry(dtype=0),
    "a type of a reference": entry(dtype=101),
    "texts": entry(dtype=7, dims=(2**40,)),
    "another file": entry(shard=5),
    "a file below 0": entry(shard=-1),
    "a place far away": entry(offset=2**50),
    "a place below 0": entry(offset=-8),
    "a length below 0": entry(size=-8),
    "no known rank": number(1, 1) + message(2, number(3, 1)) + number(5, 16),
    "slices": entry(more=message(7, b"")),
    "no entry": b"",
    "noise": b"\xff" * 20,
    "a text for a number": message(1, b"1"),
    "a shape that is a number": number(1, 1) + number(2, 1),
    "an axis that is a number": number(1, 1) + message(2, number(2, 4)),
    "a short checksum": entry(more=message(6, b"1")),
    "a group": b"\x0b",
}


@pytest.mark.parametrize("lie", LIES)
def test_an_index_that_lies_is_refused(tmp_path, lie):
    write_bundle(tmp_path / "model", ARRAYS)
    path = tmp_path / "model.index"
    entries = read_table(path.read_bytes())
    entries[b"lm/a"] = LIES[lie]
    path.write_bytes(write_table(entries.items()))
    with pytest.raises(ValueError, match="`"):
        TensorBundle(tmp_path / "model").read("lm/a")


@pytest.mark.parametrize(
    "header",
    [b"", number(1, 0), number(1, 2**31), number(1, 1) + number(2, 1), b"\xff\xff"],
)
def test_a_header_that_lies_is_refused(tmp_path, header):
    write_bundle(tmp_path / "model", ARRAYS)
    path = tmp_path / "model.index"
    entries = read_table(path.read_bytes())
    entries[b""] = header
    path.write_bytes(write_table(entries.items()))
    with pytest.raises(ValueError, match=r"model\.index"):
        TensorBundle(tmp_path / "model")


def test_a_table_whose_blocks_lie_is_refused():
    """With right checksums: prefixes too long, names out of order, one block often."""

    def table(block, handles=1):
        block += struct.pack("<II", 0, 1)
        out = block + b"\0" + struct.pack("<I", masked_crc32c(block + b"\0"))
        handle = write_varint(0) + write_varint(len(block))
        index = b""
        for _ in range(handles):
            key = b"z"
            index += write_varint(0) + write_varint(1) + write_varint(len(handle))
            index += key + handle
        index += struct.pack("<II", 0, 1)
        footer = write_varint(0) * 2 + write_varint(len(out)) + write_varint(len(index))
        out += index + b"\0" + struct.pack("<I", masked_crc32c(index + b"\0"))
        return out + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)

    good = b"\x00\x01\x01a1\x00\x01\x01b2"
    assert read_table(table(good)) == {b"a": b"1", b"b": b"2"}
    for block, handles in (
        (b"\x05\x01\x01a1", 1),  # shares more than there is
        (b"\x00\x01\x01b1\x00\x01\x01a2", 1),  # falls
        (b"\x00\x01\x01a1\x00\x01\x01a2", 1),  # twice
        (b"\x00\x01\x7fa1", 1),  # ends behind the block
        (good, 2),  # one block under two names
    ):
        with pytest.raises(ValueError):
            read_table(table(block, handles))
    compressed = bytearray(table(good))
    compressed[len(good) + 8] = 1
    body = bytes(compressed[: len(good) + 9])
    compressed[len(good) + 9 : len(good) + 13] = struct.pack("<I", masked_crc32c(body))
    with pytest.raises(ValueError, match="compressed"):
        read_table(bytes(compressed))

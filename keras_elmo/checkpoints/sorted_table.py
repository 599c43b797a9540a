"""The sorted table that TensorFlow keeps a checkpoint's index in (LevelDB's format).

Blocks of entries with shared prefixes, each with a checksum, a block of their places,
and a footer. TensorFlow writes the blocks uncompressed.

Reference: LevelDB, `doc/table_format.md`; TensorFlow, `core/lib/io/table.cc`.
"""

import struct
from collections.abc import Iterable, Iterator

from keras_elmo.checkpoints.crc32c import masked_crc32c

_MAGIC = 0xDB4775248B80FB57
_FOOTER_SIZE = 48
_TRAILER_SIZE = 5  # kind of compression, checksum
_BLOCK_SIZE = 262_144
_RESTART_INTERVAL = 16
LARGEST_KEY = 4096
LARGEST_NUMBER_OF_ENTRIES = 100_000


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and the place behind it.

    Raises:
        ValueError: when the data end before the number does, or it has over 64 bits.
    """
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number has no end")
        octet = data[at]
        at += 1
        number |= (octet & 0x7F) << shift
        if octet < 0x80:
            return number, at
        shift += 7


def write_varint(number: int) -> bytes:
    """A number of at least 0 in groups of 7 bits."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_table(data: bytes) -> dict[bytes, bytes]:
    """The entries of a table, in its order.

    Raises:
        ValueError: when the data are no table, damaged, or compressed.
    """
    if len(data) < _FOOTER_SIZE:
        raise ValueError("it is too short")
    footer = data[-_FOOTER_SIZE:]
    if struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
        raise ValueError("it does not end as such a file does")
    _, at = _read_handle(footer, 0)
    index, _ = _read_handle(footer, at)
    entries: dict[bytes, bytes] = {}
    last = None
    for _, handle in _read_block(data, index):
        place, _ = _read_handle(handle, 0)
        for key, value in _read_block(data, place):
            # Also what keeps a small file from naming one block many times.
            if last is not None and key <= last:
                raise ValueError("its names are not in order")
            if len(entries) == LARGEST_NUMBER_OF_ENTRIES:
                raise ValueError(f"it has over {LARGEST_NUMBER_OF_ENTRIES} names")
            last = key
            entries[key] = value
    return entries


def _read_handle(data, at):
    """((offset, size), the place behind)."""
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def _read_block(data, handle) -> Iterator[tuple[bytes, bytes]]:
    offset, size = handle
    end = offset + size
    if end + _TRAILER_SIZE > len(data) or size < 4:
        raise ValueError("a block lies outside of it")
    kind, checksum = struct.unpack("<BI", data[end : end + _TRAILER_SIZE])
    if masked_crc32c(data[offset : end + 1]) != checksum:
        raise ValueError("a checksum is wrong")
    if kind != 0:
        raise ValueError("it is compressed, as TensorFlow does not write it")
    block = data[offset:end]
    restarts = struct.unpack("<I", block[-4:])[0]
    stop = len(block) - 4 * (restarts + 1)
    if stop < 0:
        raise ValueError("a block is damaged")
    at, key = 0, b""
    while at < stop:
        shared, at = read_varint(block, at)
        own, at = read_varint(block, at)
        length, at = read_varint(block, at)
        if shared > len(key) or at + own + length > stop or shared + own > LARGEST_KEY:
            raise ValueError("a block is damaged")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + length]
        at += length


def write_table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A table of entries, which must be in the order of their names."""
    out = bytearray()

    def add(block):
        handle = write_varint(len(out)) + write_varint(len(block))
        out.extend(block)
        out.append(0)
        out.extend(struct.pack("<I", masked_crc32c(block + b"\0")))
        return handle

    index, waiting, size = [], [], 0
    for key, value in entries:
        waiting.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK_SIZE:
            index.append((key, add(_block(waiting))))
            waiting, size = [], 0
    if waiting:
        # TensorFlow names the end of the last block by a short name behind it.
        behind = _successor(waiting[-1][0])
        index.append((behind, add(_block(waiting))))
    footer = add(_block([])) + add(_block(index, interval=1))
    return bytes(out + footer.ljust(_FOOTER_SIZE - 8, b"\0")) + struct.pack(
        "<Q", _MAGIC
    )


def _block(entries, interval=_RESTART_INTERVAL):
    out, restarts, previous = bytearray(), [], b""
    for number, (key, value) in enumerate(entries):
        shared = 0
        if number % interval == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(key), len(previous)) and (
                key[shared] == previous[shared]
            ):
                shared += 1
        out += write_varint(shared) + write_varint(len(key) - shared)
        out += write_varint(len(value)) + key[shared:] + value
        previous = key
    restarts = restarts or [0]
    return bytes(out) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _successor(key):
    """The shortest name at or behind `key`: its first byte that can be raised, is."""
    for at, octet in enumerate(key):
        if octet != 0xFF:
            return key[:at] + bytes([octet + 1])
    return key

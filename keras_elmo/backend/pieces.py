"""How the packed loop of a compiling backend is cut: pieces of few different shapes."""

import dataclasses

import numpy as np

from keras_elmo.shapes import power_of_two, round_up

# Rows whose input product is made at once, and that a piece holds, at least: enough for
# the product's best rate.
INPUT_ROWS = 256
# Steps a piece holds where its rows allow more than INPUT_ROWS. Within a piece no
# sentence leaves, so that the fewer, the fewer rows are computed in vain.
STEPS = 3


@dataclasses.dataclass(frozen=True)
class Piece:
    """Some steps of a packed layout, as one compiled call runs them.

    Attributes:
        start: int, the first step's first row.
        stop: int, the row behind the last step's last.
        rows: int, rows that every step of the piece is computed on, the first step's
            or more.
        size: int, rows of the piece's arrays: `rows` fit behind each step's first.
        offsets: int32, (size,), each step's first row within the piece, then zeros.
        steps: int, how many there are.
    """

    start: int
    stop: int
    rows: int
    size: int
    offsets: np.ndarray
    steps: int


def pieces(counts):
    """The pieces of a layout.

    Args:
        counts: list of int, rows of each step, never growing.

    Returns:
        list of `Piece`.
    """
    starts = np.concatenate([[0], np.cumsum(counts, dtype="int64")])
    result, first = [], 0
    while first < len(counts):
        start, rows = starts[first], row_bucket(counts[first])
        spare = rows - counts[first]
        size = min(
            power_of_two(starts[-1] - start + spare),
            round_up(STEPS * rows, INPUT_ROWS),
        )
        # The steps that begin early enough for `rows` rows to fit behind.
        end = np.searchsorted(starts, start + size - rows, side="right")
        end = min(int(end), len(counts))
        offsets = np.zeros(size, "int32")
        offsets[: end - first] = starts[first:end] - start
        result.append(
            Piece(
                start=int(start),
                stop=int(starts[end]),
                rows=rows,
                size=size,
                offsets=offsets,
                steps=end - first,
            )
        )
        first = end
    return result


def row_bucket(rows):
    """`rows` rounded up to one of few: powers of two to 8, then by 8s, by 32s."""
    if rows <= 8:
        return power_of_two(rows)
    return round_up(rows, 8 if rows <= 32 else 32)

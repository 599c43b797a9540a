"""What the three backends' `max_over_windows` have in common: which window is where."""


def positions(width, dim, filters):
    """Each place a window may begin at, and how much of the kernel fits there.

    Args:
        width: int, characters a token (C).
        dim: int, numbers a character.
        filters: (width, number) pairs, widths rising.

    Returns:
        list of (first, last, rows, columns): the numbers `first` to `last` of a token's
        characters in a row, times the kernel's first rows and columns.
    """
    found = []
    for at in range(width - filters[0][0] + 1):
        fitting = [(w, n) for w, n in filters if at + w <= width]
        rows = fitting[-1][0] * dim
        columns = sum(number for _, number in fitting)
        found.append((at * dim, at * dim + rows, rows, columns))
    return found

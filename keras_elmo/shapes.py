"""Sizes that batches are padded to, so that a compiler sees a bounded number."""


def power_of_two(number):
    """The smallest power of two that is at least `number`; 1 for 0."""
    return 1 << max(int(number) - 1, 0).bit_length()


def round_up(number, step):
    """The smallest multiple of `step` that is at least `number`."""
    return int(-(-number // step) * step)

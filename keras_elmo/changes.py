"""Changes of settings, as the command line gives them: texts, read as their types."""

import difflib
import json
import types
import typing
from collections.abc import Iterable, Mapping

from keras_elmo import checks

_RULES = {bool: "true or false", tuple: "[[width, number], ...]"}


def split_changes(changes: Iterable[str]) -> dict[str, str]:
    """Texts of the form "name=value" as a dict."""
    values = {}
    for text in changes:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"`--set` must be NAME=VALUE. Received: {text!r}.")
        values[name.strip()] = value.strip()
    return values


def read_changes(settings: type, changes: Mapping) -> dict:
    """Values of some settings in their types.

    Args:
        settings: a dataclass whose hints say the types.
        changes: {name: value}; a value that is a str is read as the setting's type.

    Raises:
        ValueError: naming the setting, and what is near it or what it must be.
    """
    hints = typing.get_type_hints(settings)
    values = {}
    for name, value in changes.items():
        if name not in hints:
            near = difflib.get_close_matches(name, hints, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"There is no setting {name!r}.{hint} Settings: {', '.join(hints)}."
            )
        values[name] = _read(name, value, hints[name])
    return values


def _read(name, value, hint):
    """A setting's value in one of its types."""
    kinds = hint.__args__ if isinstance(hint, types.UnionType) else (hint,)
    if type(None) in kinds and (
        value is None or (isinstance(value, str) and value.lower() == "none")
    ):
        return None
    kinds = [kind for kind in kinds if kind is not type(None)]
    # Any text is a str: that comes last.
    for kind in sorted(kinds, key=lambda kind: kind is str):
        read = _read_kind(value, kind)
        if read is not None:
            return read
    rule = " or ".join(_RULES.get(kind, f"of type {kind.__name__}") for kind in kinds)
    raise ValueError(checks.received(name, value, rule))


def _read_kind(value, kind):
    """`value` as a `kind`, or None where it is none."""
    if isinstance(value, str) and kind is not str:
        try:
            value = json.loads(value.lower() if kind is bool else value)
        except (ValueError, RecursionError):  # no JSON, or more than can be read
            return None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return None
    return value

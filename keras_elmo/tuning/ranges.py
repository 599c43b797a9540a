"""What is searched: ranges of settings, and the files that say them.

A file in JSON or TOML holds a range for each name:

```toml
hidden_dim = [256, 512]                                     # one of these
dropout = {min = 0.0, max = 0.5, step = 0.1}                # these steps
learning_rate = {min = 1e-4, max = 1e-2, sampling = "log"}  # any number between
optimizer = "adamw"                                         # not searched
```
"""

import contextlib
import dataclasses
import difflib
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from keras_elmo import checks
from keras_elmo.changes import read_changes
from keras_elmo.files import read_json

SAMPLINGS = ("linear", "log")
_KEYS = ("min", "max", "step", "sampling")


@dataclasses.dataclass(frozen=True)
class Range:
    """The values that a hyperparameter may take.

    Attributes:
        name: str, of the hyperparameter.
        setting: str, the setting it is a value of. Several hyperparameters may be of
            one setting, each for another value of their parent.
        spec: list of values, or a dict of "min" and "max", inclusive, and where given
            "step" and "sampling", "linear" or "log".
        default: what the first trial has, or None for the settings' own value.
        parent: (name, value), the hyperparameter and its value that this one goes
            with; or None.
    """

    name: str
    setting: str
    spec: Any
    default: Any = None
    parent: tuple[str, Any] | None = None

    def declare(self, hp, settings):
        """Adds the hyperparameter to KerasTuner's, and returns its value there.

        Args:
            hp: `keras_tuner.HyperParameters`.
            settings: the settings whose value is the default.

        Returns:
            what `decode` takes; None where the parent has another value.
        """
        scope = contextlib.nullcontext()
        if self.parent is not None:
            name, value = self.parent
            scope = hp.conditional_scope(name, [value])
        default = self.default
        if default is None:
            default = getattr(settings, self.setting)
        with scope:
            if isinstance(self.spec, dict):
                return self._declare_numbers(hp, default)
            values = _encode(self.spec)
            (default,) = _encode([default], like=values)
            if set(values) == {True, False} and isinstance(values[0], bool):
                return hp.Boolean(self.name, default=bool(default))
            default = default if default in values else None
            return hp.Choice(self.name, values, default=default)

    def _declare_numbers(self, hp, default):
        spec, low, high = self.spec, self.spec["min"], self.spec["max"]
        add = hp.Int if isinstance(low, int) and isinstance(high, int) else hp.Float
        inside = isinstance(default, int | float) and low <= default <= high
        return add(
            self.name,
            low,
            high,
            step=spec.get("step"),
            sampling=spec.get("sampling", "linear"),
            default=default if inside else None,
        )

    def decode(self, settings: type, value):
        """The setting's value of a hyperparameter's value.

        Args:
            settings: a dataclass of settings.
            value: what `declare` returned.
        """
        return _read(settings, self.setting, value)


def _read(settings, setting, value):
    """A setting's value in its type; pairs are tuples, as settings have them."""
    (value,) = read_changes(settings, {setting: value}).values()
    if isinstance(value, tuple):
        value = tuple(tuple(v) if isinstance(v, list) else v for v in value)
    return value


def _encode(values, like=None):
    """Values as KerasTuner's `Choice` takes them: of one type, no None and no list.

    What is of no such type becomes text that `read_changes` reads back.

    Args:
        values: list.
        like: list that was encoded, whose type is wanted; or None.
    """
    kinds = {type(value) for value in (values if like is None else like)}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        (kind,) = kinds
        if kind is not str or all(isinstance(value, str) for value in values):
            return list(values)
    elif kinds == {int, float}:
        return [float(value) for value in values]
    return [as_text(value) for value in values]


def as_text(value) -> str:
    """A setting's value as `read_changes` reads it back.

    Args:
        value: of any type that settings have.
    """
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def around(size: int) -> list[int]:
    """Half a size, the size, and twice the size."""
    return sorted({max(size // 2, 1), size, 2 * size})


def read_ranges(path: str | PathLike) -> dict:
    """The ranges of a `.json` or `.toml` file, not checked yet.

    Args:
        path: the file.

    Returns:
        dict, what a hypermodel takes as `ranges`.

    Raises:
        ValueError: when the file is neither, or not well-formed, naming the line.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        found = read_json(path)
    elif suffix == ".toml":
        try:
            found = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:  # TOML's own error says the line
            raise ValueError(f"`{path}`: no TOML ({error}).") from None
    else:
        raise ValueError(checks.received("ranges", str(path), "a .json or .toml file"))
    if not isinstance(found, dict):
        raise ValueError(f"`{path}` must hold an object of ranges by name.")
    return found


def resolve(
    settings,
    defaults: Iterable[Range],
    ranges: Mapping | None = None,
    only: Collection[str] = (),
    fixed: Collection[str] = (),
    never: Collection[str] = (),
):
    """Which ranges are searched, and the settings that all trials share.

    Args:
        settings: a dataclass of settings.
        defaults: `Range`s, each behind its parent.
        ranges: {name: spec} in place of the defaults'. A name is a setting's, or that
            of a default. A range for a setting that has several by default replaces
            them all.
        only: names that are searched, or none for all.
        fixed: names of settings that the user gave a value: they are not searched.
        never: names of settings that cannot be searched.

    Returns:
        the settings, and a list of `Range`s.

    Raises:
        ValueError: naming the range and what is wrong with it.
    """
    found = {one.name: one for one in defaults}
    aliases = {one.name: one.setting for one in found.values()}
    fields = {field.name for field in dataclasses.fields(settings)} - set(never)
    for name, spec in (ranges or {}).items():
        setting = aliases.get(name, name)
        if setting not in fields:
            raise ValueError(_unknown(name, fields | set(aliases), never))
        if setting in fixed:
            raise ValueError(
                f"{name!r} has a range and a value that was set (--set): give one."
            )
        spec = check_spec(settings, name, setting, spec)
        if name in found:
            found[name] = dataclasses.replace(found[name], spec=spec)
        else:
            found = {k: one for k, one in found.items() if one.setting != setting}
            found[name] = Range(name, setting, spec)
    found = {k: one for k, one in found.items() if one.setting not in fixed}
    if only:
        for name in only:
            if not any(name in (one.name, one.setting) for one in found.values()):
                raise ValueError(
                    f"There is no range for {name!r} that could be searched. Ranges: "
                    f"{', '.join(found)}."
                )
        found = {k: v for k, v in found.items() if {v.name, v.setting} & set(only)}
    return _without_fixed(settings, found)


def _without_fixed(settings, found):
    """Takes out ranges of one value, and those whose parent is not searched."""
    kept: dict[str, Range] = {}
    for one in found.values():
        if one.parent is not None:
            name, value = one.parent
            if name not in kept:
                if getattr(settings, name) != value:
                    continue
                one = dataclasses.replace(one, parent=None)
            elif value not in kept[name].spec:
                continue
        if isinstance(one.spec, list) and len(one.spec) == 1 and one.parent is None:
            settings = dataclasses.replace(settings, **{one.setting: one.spec[0]})
        else:
            kept[one.name] = one
    if not kept:
        raise ValueError("Nothing is left to search: no setting has a range.")
    return settings, list(kept.values())


def check_spec(settings, name, setting, spec):
    """A range's spec with its values in their setting's type.

    Args:
        settings: a dataclass of settings, for its types and checks.
        name: str, of the range.
        setting: str.
        spec: list, dict, or one value.
    """

    def read(value):
        try:
            value = _read(type(settings), setting, value)
            # The settings' own checks.
            dataclasses.replace(settings, **{setting: value})
        except (TypeError, ValueError) as error:
            raise ValueError(f"The range of {name!r} is wrong: {error}") from None
        return value

    if not isinstance(spec, dict):
        values = [read(value) for value in (spec if isinstance(spec, list) else [spec])]
        if not values or len(values) > len(set(map(repr, values))):
            rule = "a list of values, none of them twice"
            raise ValueError(checks.received(name, spec, rule))
        return values
    wrong = [key for key in spec if key not in _KEYS]
    if wrong or not {"min", "max"} <= set(spec):
        rule = "{min, max} with or without step and sampling, or a list of values"
        raise ValueError(checks.received(name, spec, rule))
    found: dict[str, Any] = {key: read(spec[key]) for key in ("min", "max")}
    rule = None
    if any(type(value) not in (int, float) for value in found.values()):
        rule = "a list of values: this setting is no number"
    elif not found["min"] < found["max"]:
        rule = "a range whose min is below its max"
    sampling = checks.one_of(
        f"{name} sampling", spec.get("sampling", "linear"), SAMPLINGS
    )
    least = 1 if sampling == "log" else 0
    step = spec.get("step")
    if step is not None and (
        isinstance(step, bool) or not isinstance(step, int | float) or step <= least
    ):
        rule = f"a range whose step is above {least}"
    elif step is not None and isinstance(found["min"], int) and step != int(step):
        rule = "a range whose step is an integer"
    if sampling == "log" and rule is None and found["min"] <= 0:
        rule = "a range above 0 for logarithmic sampling"
    if rule is not None:
        raise ValueError(checks.received(name, spec, rule))
    return {
        **found,
        **({} if step is None else {"step": step}),
        **({} if sampling == "linear" else {"sampling": sampling}),
    }


def _unknown(name, names, never):
    if name in never:
        return f"The setting {name!r} cannot be searched: it is one for all trials."
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    told = ", ".join(sorted(names))
    return f"There is no setting {name!r} to search.{hint} Settings: {told}."

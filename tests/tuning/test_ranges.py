"""Ranges: their files, what they may say, what they become in KerasTuner and back."""

import json

import keras_tuner
import pytest

from keras_elmo.tuning.ranges import Range, read_ranges, resolve
from tests.tuning.fakes import RATE, FakeSettings

pytestmark = pytest.mark.once

DEFAULTS = [
    Range("size", "size", [2, 4, 8]),
    Range("bias", "bias", [True, False]),
    Range("with_rate", "rate", RATE, 0.5, ("bias", True)),
    Range("without_rate", "rate", {"min": 0.1, "max": 0.2}, None, ("bias", False)),
]


def names(found):
    return [one.name for one in found[1]]


def test_a_file_in_json_and_in_toml_says_the_same(tmp_path):
    wanted = {"size": [2, 4], "rate": RATE, "kind": "plain", "filters": [[[1, 2]]]}
    (tmp_path / "a.json").write_text(json.dumps(wanted))
    (tmp_path / "a.toml").write_text(
        'size = [2, 4]\nkind = "plain"\nfilters = [[[1, 2]]]\n'
        'rate = {min = 0.001, max = 1.0, sampling = "log"}\n'
    )
    assert read_ranges(tmp_path / "a.json") == wanted
    assert read_ranges(tmp_path / "a.toml") == wanted


@pytest.mark.parametrize(
    "name, text, told",
    [
        ("a.json", '{"size": [1,\n2', r"a\.json` line 2: no JSON"),
        ("a.json", "[1]", "must hold an object"),
        ("a.toml", "size = [2\nrate =", r"a\.toml`: no TOML \(.*line 2"),
        ("a.toml", "size = 1\nsize = 2", "no TOML"),
        ("a.yaml", "size: 1", r"a \.json or \.toml file"),
    ],
)
def test_a_file_that_is_no_range_file_is_named(tmp_path, name, text, told):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=told):
        read_ranges(tmp_path / name)


@pytest.mark.parametrize(
    "ranges, told",
    [
        ({"sise": [1]}, "'sise' to search. Did you mean 'size'"),
        ({"seed": [1]}, "'seed' cannot be searched"),
        ({"size": [1, "two"]}, "range of 'size' is wrong: .*size='two'"),
        ({"size": [1, 2.5]}, "size=2.5"),
        ({"size": [0, 1]}, "range of 'size' is wrong: `size` must be above 0"),
        ({"size": {"min": 0, "max": 2}}, "`size` must be above 0"),
        ({"size": [2, 2]}, "none of them twice"),
        ({"size": []}, "a list of values"),
        ({"size": {"min": 1}}, "min, max"),
        ({"size": {"min": 1, "max": 2, "sample": "log"}}, "min, max"),
        ({"size": {"min": 3, "max": 2}}, "min is below its max"),
        ({"size": {"min": 1, "max": 9, "step": 1.5}}, "step is an integer"),
        ({"size": {"min": 1, "max": 9, "step": 0}}, "step is above 0"),
        ({"rate": {"min": 1, "max": 9, "step": 1, "sampling": "log"}}, "above 1"),
        ({"rate": {"min": 0, "max": 9, "sampling": "log"}}, "above 0 for"),
        ({"rate": {"min": 1, "max": 9, "sampling": "exp"}}, "sampling='exp'"),
        ({"kind": {"min": 1, "max": 2}}, "range of 'kind' is wrong"),
        ({"bias": {"min": False, "max": True}}, "no number"),
        ({"filters": [3]}, r"range of 'filters' is wrong: .*\[width, number\]"),
        ({"clip": [0.5], "rate": [0.1], "size": [3], "bias": [True]}, "Nothing is"),
    ],
)
def test_a_range_that_is_none_is_named(ranges, told):
    defaults = [Range("size", "size", [2, 4]), Range("bias", "bias", [True, False])]
    with pytest.raises(ValueError, match=told):
        resolve(FakeSettings(), defaults, ranges, never=("seed",))


def test_a_range_takes_the_place_of_the_default_one():
    _, found = resolve(FakeSettings(), DEFAULTS, {"size": [16, 32], "kind": ["a", "b"]})
    assert [one.name for one in found] == [
        *("size", "bias", "with_rate", "without_rate", "kind")
    ]
    assert found[0].spec == [16, 32]


def test_one_range_for_a_setting_replaces_those_by_case():
    found = resolve(FakeSettings(), DEFAULTS, {"rate": [0.1, 0.2]})
    assert names(found) == ["size", "bias", "rate"]
    found = resolve(FakeSettings(), DEFAULTS, {"with_rate": [0.1, 0.2]})
    assert names(found) == ["size", "bias", "with_rate", "without_rate"]


def test_what_has_one_value_is_no_range_and_neither_is_what_hangs_on_another():
    settings, found = resolve(FakeSettings(), DEFAULTS, {"bias": False, "size": [8]})
    assert (settings.bias, settings.size) == (False, 8)
    assert [(one.name, one.parent) for one in found] == [("without_rate", None)]


def test_what_the_user_set_is_not_searched():
    found = resolve(FakeSettings(), DEFAULTS, fixed={"rate"})
    assert names(found) == ["size", "bias"]
    with pytest.raises(ValueError, match="'rate' has a range and a value"):
        resolve(FakeSettings(), DEFAULTS, {"rate": [0.1, 0.2]}, fixed={"rate"})


def test_only_some_are_searched_by_the_range_or_by_the_setting():
    assert names(resolve(FakeSettings(), DEFAULTS, only=["size"])) == ["size"]
    # Their parent is not searched: the one that the settings' value leaves.
    found = resolve(FakeSettings(), DEFAULTS, only=["rate"])
    assert names(found) == ["with_rate"]
    with pytest.raises(ValueError, match=r"no range for 'kind'.*with_rate"):
        resolve(FakeSettings(), DEFAULTS, only=["kind"])


def declared(one, settings=None):
    hp = keras_tuner.HyperParameters()
    value = one.declare(hp, settings or FakeSettings())
    return hp, value


@pytest.mark.parametrize(
    "setting, values",
    [
        ("size", [2, 4, 8]),
        ("rate", [0.1, 0.5]),
        ("rate", [1, 0.5]),
        ("kind", ["plain", "other"]),
        ("bias", [False, True]),
        ("level", ["mix", 0, "top"]),
        ("clip", [None, 0.5]),
        ("filters", [((1, 2),), ((1, 2), (3, 4))]),
    ],
)
def test_every_value_comes_back_from_keras_tuner(setting, values):
    one = Range(setting, setting, values)
    hp, first = declared(one)
    (known,) = hp.space
    decoded = [one.decode(FakeSettings, value) for value in known.values]
    as_lists = json.loads(json.dumps(decoded))
    assert sorted(map(repr, as_lists)) == sorted(
        map(repr, json.loads(json.dumps([float(v) if v == 1 else v for v in values])))
        if setting == "rate"
        else map(repr, json.loads(json.dumps(values)))
    )
    default = getattr(FakeSettings(), setting)
    got = one.decode(FakeSettings, first)
    if default in values:
        assert json.dumps(got) == json.dumps(default)


def test_numbers_are_drawn_from_their_range():
    hp, value = declared(Range("rate", "rate", RATE))
    (known,) = hp.space
    assert value == 0.1  # the settings' own
    assert isinstance(known, keras_tuner.engine.hyperparameters.Float)
    drawn = [known.random_sample(seed) for seed in range(200)]
    assert all(0.001 <= number <= 1.0 for number in drawn)
    assert sum(number < 0.03 for number in drawn) > 60  # by size, not by value
    hp, value = declared(Range("size", "size", {"min": 8, "max": 32, "step": 8}))
    (known,) = hp.space
    assert value == 8  # the settings' 4 is not in it
    assert {known.random_sample(seed) for seed in range(99)} == {8, 16, 24, 32}


def test_a_range_counts_only_with_its_parents_value():
    hp = keras_tuner.HyperParameters()
    values = [one.declare(hp, FakeSettings()) for one in DEFAULTS]
    assert values == [4, True, 0.5, None]
    hp.values["bias"] = False
    hp.ensure_active_values()
    values = [one.declare(hp, FakeSettings()) for one in DEFAULTS]
    assert values[:3] == [4, False, None] and 0.1 <= values[3] <= 0.2

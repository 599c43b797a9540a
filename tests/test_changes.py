"""Settings given as texts: `--set name=value`, each read as its type."""

import dataclasses
import math

import pytest

from keras_elmo.changes import read_changes, split_changes

pytestmark = pytest.mark.once


@dataclasses.dataclass
class Settings:
    number: int = 1
    rate: float = 0.1
    rate_or_none: float | None = None
    text: str = "a"
    text_or_none: str | None = None
    text_or_number: str | int = "a"
    anything: int | str | None = None
    flag: bool = False
    pairs: tuple = ()


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("number", "12", 12),
        ("number", "-3", -3),
        ("rate", "0.5", 0.5),
        ("rate", "1e-3", 0.001),
        ("rate", "2", 2.0),
        ("rate_or_none", "none", None),
        ("rate_or_none", "None", None),
        ("rate_or_none", "3", 3.0),
        ("text", "12", "12"),
        ("text", "none", "none"),
        ("text", "", ""),
        ("text", '"quoted"', '"quoted"'),
        ("text_or_none", "NONE", None),
        ("text_or_none", "IOB2", "IOB2"),
        ("text_or_number", "top", "top"),
        ("text_or_number", "-1", -1),
        ("text_or_number", "1.5", "1.5"),
        ("text_or_number", "true", "true"),
        ("anything", "upos", "upos"),
        ("anything", "0", 0),
        ("anything", "none", None),
        ("flag", "true", True),
        ("flag", "False", False),
        ("pairs", "[[1, 4], [2, 8]]", ([1, 4], [2, 8])),
        ("pairs", "[]", ()),
    ],
)
def test_a_text_is_read_as_the_settings_type(name, text, value):
    (read,) = read_changes(Settings, {name: text}).values()
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    "name, value",
    [
        ("number", 4),
        ("rate", 0.25),
        ("rate_or_none", None),
        ("text_or_number", 2),
        ("flag", True),
        ("pairs", ((1, 2),)),
    ],
)
def test_a_value_of_the_type_stays_as_it_is(name, value):
    assert read_changes(Settings, {name: value}) == {name: value}


def test_an_integer_is_a_float_where_one_belongs():
    (rate,) = read_changes(Settings, {"rate": 2}).values()
    assert rate == 2.0 and type(rate) is float


@pytest.mark.parametrize(
    "name, value, rule",
    [
        ("number", "1.5", "of type int"),
        ("number", "two", "of type int"),
        ("number", "", "of type int"),
        ("number", "true", "of type int"),
        ("number", "none", "of type int"),
        ("number", True, "of type int"),
        ("number", 1.0, "of type int"),
        ("number", "1 2", "of type int"),
        ("rate", "fast", "of type float"),
        ("rate", "true", "of type float"),
        ("rate", "[1]", "of type float"),
        ("rate_or_none", "null and void", "of type float"),
        ("flag", "1", "true or false"),
        ("flag", "yes", "true or false"),
        ("text", 3, "of type str"),
        ("pairs", "1,4", "[[width, number], ...]"),
        ("pairs", "{}", "[[width, number], ...]"),
        # More than Python's JSON reads.
        pytest.param("number", "9" * 5000, "of type int", id="digits"),
        pytest.param("pairs", "[" * 100_000, "[[width, number], ...]", id="depth"),
    ],
)
def test_what_is_not_of_the_type_is_refused(name, value, rule):
    with pytest.raises(ValueError) as error:
        read_changes(Settings, {name: value})
    assert f"`{name}` must be {rule}" in str(error.value)
    assert f"{name}={value!r}" in str(error.value)


def test_numbers_that_json_lacks_are_left_to_the_settings():
    # Their own checks say what a rate may be.
    assert math.isnan(read_changes(Settings, {"rate": "NaN"})["rate"])
    assert read_changes(Settings, {"rate": "Infinity"})["rate"] == math.inf


def test_an_unknown_name_is_told_with_what_is_near():
    with pytest.raises(ValueError, match="Did you mean 'number'") as error:
        read_changes(Settings, {"numbr": "1"})
    assert "There is no setting 'numbr'." in str(error.value)
    assert all(field.name in str(error.value) for field in dataclasses.fields(Settings))
    with pytest.raises(ValueError, match=r"no setting 'zzz'\. Settings: "):
        read_changes(Settings, {"zzz": "1"})


def test_texts_are_split_at_the_first_equals_sign():
    texts = ["a=1", " b = two words ", "c=x=y", "d=", "a=2"]
    assert split_changes(texts) == {"a": "2", "b": "two words", "c": "x=y", "d": ""}
    assert split_changes([]) == {}


@pytest.mark.parametrize("text", ["epochs", "=1", "  =1", ""])
def test_a_text_without_name_or_value_is_refused(text):
    with pytest.raises(ValueError) as error:
        split_changes([text])
    assert f"`--set` must be NAME=VALUE. Received: {text!r}." in str(error.value)

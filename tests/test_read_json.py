"""JSON files say where they are broken."""

import json

import pytest

from keras_elmo.files import LARGEST_DESCRIPTION, read_json


def test_json_is_read_with_and_without_a_byte_order_mark(tmp_path):
    value = {"word": "Straße 日本", "list": [1, 2.5, None, True]}
    for encoding in ("utf-8", "utf-8-sig"):
        path = tmp_path / encoding
        path.write_text(json.dumps(value, ensure_ascii=False), encoding=encoding)
        assert read_json(path) == value
        assert read_json(str(path)) == value


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", 1),
        (b'{"a": 1,\n "b": }\n', 2),
        (b'{"a": 1}\n{"b": 2}\n', 2),
        (b'{\n"a":\n"\xff"}', 3),
        (b'\xef\xbb\xbf{\n"a":\n"\xff"}', 3),
        (b"\x89HDF\r\n\x1a\n", 1),
        (b"[" * 200_000, 1),
        (b"[" + b"9" * 10_000 + b"]", 1),
        ('{"a": 1}'.encode("utf-16"), 1),
    ],
)
def test_what_is_no_json_is_an_error_with_file_and_line(tmp_path, data, line):
    path = tmp_path / "options.json"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"options\.json` line {line}: no ") as error:
        read_json(path)
    assert len(str(error.value)) < 400
    assert type(error.value) is ValueError


def test_a_json_file_that_is_not_there_keeps_its_own_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read_json(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        read_json(tmp_path)


def test_a_file_is_not_read_that_is_too_large(tmp_path):
    path = tmp_path / "options.json"
    path.write_bytes(b"[" + b" " * LARGEST_DESCRIPTION + b"]")
    with pytest.raises(ValueError, match=r"json` must .* 1,048,576 b.* 1,048,578 byte"):
        read_json(path)
    assert read_json(path, largest=None) == []
    path.write_bytes(b"[" + b" " * (LARGEST_DESCRIPTION - 2) + b"]")
    assert read_json(path) == []
    # A device has no size.
    with pytest.raises(ValueError, match="`/dev/zero` must have at most"):
        read_json("/dev/zero")

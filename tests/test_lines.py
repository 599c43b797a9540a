"""Lines of text files, whatever their ends."""

import gzip

import pytest

from keras_elmo.lines import read_lines


@pytest.mark.parametrize(
    "data, lines",
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\r\n\r\nb\n", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        ("a\u2028b\x0bc\x85d\re\n".encode(), ["a\u2028b\x0bc\x85d\re"]),
        (b"\xef\xbb\xbf", [""]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_lines_end_in_lf_or_crlf_alone(tmp_path, data, lines, packed):
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_lines(path)) == lines
    sizes: list[int] = []
    list(read_lines(path, on_bytes=sizes.append))
    assert sum(sizes) == len(data)


def test_a_damaged_archive_is_named(tmp_path):
    path = tmp_path / "a.gz"
    for data in (gzip.compress(b"text" * 1000)[:20], b"no gzip"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.gz` cannot be unpacked"):
            list(read_lines(path))

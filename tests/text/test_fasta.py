"""FASTA files as people have them."""

import gzip

import pytest
from hypothesis import given, strategies as st

from keras_elmo.text.fasta import FastaRecord, count_unusual, read_fasta

pytestmark = pytest.mark.once


@pytest.fixture
def read(tmp_path):
    """A function from a file's content to its records."""

    def read(content, name="in.fasta"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read_fasta(path))

    return read


def test_records_of_one_line_or_several(read):
    content = ">sp|P1|A_HUMAN first protein\nMKV\nLAT\n>second\nSEQ\n"
    assert read(content) == [
        FastaRecord("sp|P1|A_HUMAN", "MKVLAT", 1),
        FastaRecord("second", "SEQ", 4),
    ]


@pytest.mark.parametrize(
    "content, residues",
    [
        (">a\nmkvX\n", "MKVX"),  # lower case
        (">a\nM K\tV \n", "MKV"),  # white space within
        (">a\n\n\nMK\n  \nV\n", "MKV"),  # blank lines
        (">a\r\nMK\r\nV\r\n", "MKV"),  # CRLF
        ("\ufeff>a\nMKV", "MKV"),  # byte order mark, no end of line
        (">a\nMKV*\n", "MKV"),  # the stop
        (">a\nMKV\n*\n", "MKV"),
        (">a\nMK*V**\n", "MKXV"),  # a stop within
        (">a\n--MK-V..\n", "MKV"),  # gaps
        (">a\nUZOBJX\n", "UZOBJX"),  # rare, ambiguous, unknown: letters as they are
        (";comment\n>a\n; another\nMKV\n", "MKV"),
        (">a\n>", ""),
        (">a\n*\n", ""),
    ],
)
def test_what_is_a_residue(read, content, residues):
    record = read(content)[0]
    assert (record.identifier, record.residues) == ("a", residues)


def test_records_of_the_same_or_no_name_are_kept(read):
    records = read(">a\nMK\n>a\nV\n>\nS\n>  \nT\n> b c\nE\n")
    assert [(r.identifier, r.residues) for r in records] == [
        ("a", "MK"),
        ("a", "V"),
        ("", "S"),
        ("", "T"),
        ("b", "E"),
    ]


def test_nothing_in_nothing_out(read):
    assert read("") == read("\n\n; nothing\n") == []
    assert read(">") == [FastaRecord("", "", 1)]


def test_a_packed_file(read):
    assert read(gzip.compress(b">a\nMKV\n"), "in.fa.gz")[0].residues == "MKV"
    with pytest.raises(ValueError, match="cannot be unpacked"):
        read(gzip.compress(b">a\nMKV\n" * 1000)[:-20], "cut.fa.gz")


def test_a_very_long_line(read):
    record, last = read(">a\n" + "MKV" * 400_000 + "\n>b\nS\n")
    assert len(record.residues) == 1_200_000
    assert last.residues == "S"


@pytest.mark.parametrize(
    "content, line, told",
    [
        (">a\nMK\nM1V\n", 3, "'1' is no residue"),
        (">a\nMKß\n", 2, "'ß' is no residue"),
        (">a\nMK>V\n", 2, "'>' is no residue"),
        ("MKV\n>a\n", 1, "before the first header"),
        (b">a\nMK\xff\n", 2, "not UTF-8"),
    ],
)
def test_what_is_no_fasta_is_named_with_its_line(read, content, line, told):
    with pytest.raises(ValueError, match=rf"in\.fasta` line {line}: .*{told}"):
        read(content)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(read_fasta(tmp_path / "no.fasta"))


def test_records_come_one_at_a_time(tmp_path):
    path = tmp_path / "in.fasta"
    path.write_text(">a\nMK\n>b\n1\n")
    records = read_fasta(path)
    assert next(records).residues == "MK"
    with pytest.raises(ValueError, match="line 4"):
        next(records)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[!-~]{1,12}", fullmatch=True),
            st.text("ACDEFGHIKLMNPQRSTVWYBZXUO", max_size=40),
            st.integers(1, 9),
        )
    )
)
def test_what_is_written_is_read(tmp_path_factory, proteins):
    lines = []
    for name, residues, width in proteins:
        lines.append(f">{name} text")
        lines += [residues[i : i + width] for i in range(0, len(residues), width)]
    path = tmp_path_factory.mktemp("fasta") / "in.fasta"
    path.write_text("\n".join(lines))
    found = [(r.identifier, r.residues) for r in read_fasta(path)]
    assert found == [(name, residues) for name, residues, _ in proteins]


def test_unusual_residues_are_counted():
    assert count_unusual("ACDEFGHIKLMNPQRSTVWY") == count_unusual("") == 0
    assert count_unusual("MXXKU") == 3

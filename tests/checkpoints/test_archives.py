"""Archives that mean harm, and those that do not."""

import io
import os
import stat
import tarfile
import warnings
import zipfile

import pytest

from keras_elmo.checkpoints import archives
from keras_elmo.checkpoints.archives import is_archive, unpacked

pytestmark = pytest.mark.once


def make_zip(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a name that comes twice
                archive.writestr(name, content)


def make_tar(path, entries, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for entry, content in entries:
            entry = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def listed(folder):
    return sorted(
        (path.relative_to(folder).as_posix(), path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    )


FILES = [("model/options.json", b"{}"), ("model/a/b.txt", b"x" * 10_000)]


@pytest.mark.parametrize("name", ["m.zip", "m.tar.gz", "m.tgz", "m.TAR"])
def test_files_come_out_and_go_again(tmp_path, name):
    path = tmp_path / name
    if name.endswith("zip"):
        make_zip(path, FILES)
    else:
        make_tar(path, FILES, "w" if name.endswith("TAR") else "w:gz")
    assert is_archive(path)
    with unpacked(path) as folder:
        assert listed(folder) == sorted(FILES)
    assert not folder.exists()


def test_an_archive_is_told_by_its_name(tmp_path):
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "options.json").write_text("{}")
    assert not is_archive(tmp_path / "folder.zip")
    assert not is_archive(tmp_path / "options.json")
    assert not is_archive(tmp_path / "missing.zip")


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "C:\\x", "C:x", "..\\x", "\\x", "a\\..\\..\\x"]
)
def test_names_that_lead_out_are_refused(tmp_path, kind, name):
    path = tmp_path / "inner" / f"m.{kind}"
    path.parent.mkdir()
    make = make_zip if kind == "zip" else make_tar
    make(path, [*FILES, (name, b"bad")])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="leads out of it"), unpacked(path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    entry = tarfile.TarInfo("passwd")
    entry.type, entry.linkname = kind, "/etc/passwd"
    make_tar(tmp_path / "m.tar.gz", [*FILES, (entry, b"")])
    with pytest.raises(ValueError, match="'passwd' is no file"):
        unpacked(tmp_path / "m.tar.gz").__enter__()


def test_links_in_a_zip_are_refused(tmp_path):
    entry = zipfile.ZipInfo("passwd")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    make_zip(tmp_path / "m.zip", [*FILES, (entry, "/etc/passwd")])
    with pytest.raises(ValueError, match="'passwd' is no file"):
        unpacked(tmp_path / "m.zip").__enter__()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_bombs_are_refused_before_they_go_off(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 2**16)
    make = make_zip if kind == "zip" else make_tar
    path = tmp_path / f"m.{kind}"
    make(path, [("x", bytes(2**22))])
    assert path.stat().st_size < 2**13
    with pytest.raises(ValueError, match="declares 4,194,304 bytes"):
        unpacked(path).__enter__()


def test_a_bomb_in_a_tars_header_is_refused(tmp_path, monkeypatch):
    """A name of megabytes, which `tarfile` would read whole."""
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 2**16)
    make_tar(tmp_path / "m.tar.gz", [("x" * 2**22, b"")])
    with pytest.raises(ValueError, match="grows far beyond"):
        unpacked(tmp_path / "m.tar.gz").__enter__()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_names_that_clash_are_refused(tmp_path, kind):
    make = make_zip if kind == "zip" else make_tar
    make(tmp_path / f"m.{kind}", [("a", b"1"), ("a", b"2")])
    with pytest.raises(ValueError, match="holds `a` twice"):
        unpacked(tmp_path / f"m.{kind}").__enter__()
    make(tmp_path / f"n.{kind}", [("a", b"1"), ("a/b", b"2")])
    with pytest.raises(ValueError, match="no folder"):
        unpacked(tmp_path / f"n.{kind}").__enter__()


def test_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_NUMBER_OF_FILES", 5)
    entries = [(str(number), b"") for number in range(6)]
    make_zip(tmp_path / "m.zip", entries)
    make_tar(tmp_path / "m.tar.gz", entries)
    for name in ("m.zip", "m.tar.gz"):
        with pytest.raises(ValueError, match="over 5 files"):
            unpacked(tmp_path / name).__enter__()


@pytest.mark.parametrize("name", ["m.zip", "m.tar.gz", "m.tar"])
def test_damaged_archives_are_named(tmp_path, name):
    path = tmp_path / name
    for content in (b"", b"not an archive", os.urandom(5000)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            unpacked(path).__enter__()


def test_an_encrypted_zip_is_refused(tmp_path):
    path = tmp_path / "m.zip"
    make_zip(path, [("a", b"secret")])
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1  # the flag in the directory
    path.write_bytes(data)
    with pytest.raises(ValueError, match="encrypted"):
        unpacked(path).__enter__()


def test_a_full_disk_is_no_fault_of_the_archive(tmp_path, monkeypatch):
    make_zip(tmp_path / "m.zip", FILES)
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(archives.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"10 are free") as error:
        unpacked(tmp_path / "m.zip").__enter__()
    assert error.value.errno is not None

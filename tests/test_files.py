"""Whole files or none, whatever goes wrong while they are written."""

import errno
import os
import stat
import sys
import threading

import h5py
import numpy as np
import pytest

from keras_elmo import files
from keras_elmo.files import atomic_path


def names(folder):
    return sorted(os.listdir(folder))


def make_directory(path, text):
    (path / "assets").mkdir(parents=True)
    (path / "config.json").write_text(text)
    (path / "assets" / "vocabulary.txt").write_text(text)


def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_appears_whole_and_alone(tmp_path):
    target = tmp_path / "out.txt"
    with atomic_path(target) as temporary:
        temporary.write_text("all")
        assert not target.exists()
    assert target.read_text() == "all"
    assert names(tmp_path) == ["out.txt"]


def test_the_temporary_name_is_hidden_beside_the_target_and_keeps_its_suffix(tmp_path):
    with atomic_path(tmp_path / "a.weights.h5") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(files.TEMPORARY_PREFIX)
        assert temporary.name.startswith(".")
        assert temporary.name.endswith("a.weights.h5")
        assert not temporary.exists()
        temporary.write_text("")


@pytest.mark.parametrize("name", ["o" * 255, "é" * 127, "日" * 80 + ".json"])
def test_a_target_name_of_any_allowed_length_works(tmp_path, name):
    with atomic_path(tmp_path / name) as temporary:
        temporary.write_text("all")
    assert (tmp_path / name).read_text() == "all"


@pytest.mark.parametrize("make", ["file", "directory"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_neither_target_nor_temporary(tmp_path, make, error):
    with pytest.raises(error), atomic_path(tmp_path / "out") as temporary:
        if make == "file":
            temporary.write_text("half")
        else:
            make_directory(temporary, "half")
        raise error("stop")
    assert names(tmp_path) == []


def test_an_exception_before_anything_is_written_is_the_one_that_is_raised(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic_path(tmp_path / "out"):
        1 / 0  # noqa: B018
    assert names(tmp_path) == []


def test_a_disk_that_fills_while_writing_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="No space"), atomic_path(tmp_path / "o") as path:
        path.write_text("half")
        full_disk()
    assert names(tmp_path) == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_disk_that_fills_on_fsync_leaves_what_was_there(
    tmp_path, monkeypatch, overwrite
):
    target = tmp_path / "out"
    if overwrite:
        target.write_text("old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with (
        pytest.raises(OSError, match="No space"),
        atomic_path(target, overwrite=overwrite) as temporary,
    ):
        temporary.write_text("new")
    monkeypatch.undo()
    assert names(tmp_path) == (["out"] if overwrite else [])
    assert not overwrite or target.read_text() == "old"


def test_a_real_full_device_leaves_nothing(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("the system has no /dev/full")
    with pytest.raises(OSError), atomic_path(tmp_path / "out") as temporary:
        temporary.write_text("half")
        with open("/dev/full", "w") as device:
            device.write("x")
    assert names(tmp_path) == []


def test_an_existing_file_is_kept_and_named_unless_overwrite(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with (
        pytest.raises(FileExistsError, match=r"out\.txt.*overwrite=True.*--overwrite"),
        atomic_path(target) as temporary,
    ):
        temporary.write_text("new")
    assert target.read_text() == "old"
    with atomic_path(target, overwrite=True) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert names(tmp_path) == ["out.txt"]


def test_a_failure_with_overwrite_keeps_the_old_file(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with (
        pytest.raises(ValueError),
        atomic_path(target, overwrite=True) as temporary,
    ):
        temporary.write_text("new")
        raise ValueError("stop")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_a_directory_replaces_a_directory_only_with_overwrite(tmp_path):
    target = tmp_path / "preset"
    with atomic_path(target) as temporary:
        make_directory(temporary, "old")
    with pytest.raises(FileExistsError, match="preset"), atomic_path(target):
        pass
    (target / "only_in_old").write_text("")
    with atomic_path(target, overwrite=True) as temporary:
        make_directory(temporary, "new")
    assert names(target) == ["assets", "config.json"]
    assert (target / "assets" / "vocabulary.txt").read_text() == "new"
    assert names(tmp_path) == ["preset"]


def test_an_empty_existing_directory_is_not_taken_without_overwrite(tmp_path):
    (tmp_path / "preset").mkdir()
    with pytest.raises(FileExistsError), atomic_path(tmp_path / "preset") as path:
        make_directory(path, "new")
    assert names(tmp_path / "preset") == []


def test_a_failed_replacement_puts_the_old_directory_back(tmp_path, monkeypatch):
    target = tmp_path / "preset"
    make_directory(target, "old")
    rename = os.rename

    def fail_for_the_new_one(source, destination):
        if os.path.basename(source).startswith(files.TEMPORARY_PREFIX):
            full_disk()
        rename(source, destination)

    monkeypatch.setattr(os, "rename", fail_for_the_new_one)
    with (
        pytest.raises(OSError, match="No space"),
        atomic_path(target, overwrite=True) as temporary,
    ):
        make_directory(temporary, "new")
    assert (target / "config.json").read_text() == "old"
    assert names(tmp_path) == ["preset"]


def test_an_old_directory_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    target = tmp_path / "preset"
    make_directory(target, "old")
    rmtree = files.shutil.rmtree

    def refuse(path, *args, **kwargs):
        raise PermissionError("not yours")

    monkeypatch.setattr(files.shutil, "rmtree", refuse)
    with (
        pytest.warns(UserWarning, match=r"\.old-.*not yours"),
        atomic_path(target, overwrite=True) as temporary,
    ):
        make_directory(temporary, "new")
    monkeypatch.setattr(files.shutil, "rmtree", rmtree)
    assert (target / "config.json").read_text() == "new"


def test_a_file_does_not_replace_a_directory(tmp_path):
    target = tmp_path / "preset"
    make_directory(target, "old")
    with (
        pytest.raises(IsADirectoryError, match="preset"),
        atomic_path(target, overwrite=True) as temporary,
    ):
        temporary.write_text("new")
    assert (target / "config.json").read_text() == "old"
    assert names(tmp_path) == ["preset"]


def test_a_directory_does_not_replace_a_file(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with (
        pytest.raises(NotADirectoryError, match="out"),
        atomic_path(target, overwrite=True) as temporary,
    ):
        make_directory(temporary, "new")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_a_missing_parent_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="no_such_folder` does not exist"),
        atomic_path(tmp_path / "no_such_folder" / "out"),
    ):
        pass


def test_a_parent_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(NotADirectoryError, match="file` is not a directory"),
        atomic_path(tmp_path / "file" / "out"),
    ):
        pass


def test_a_folder_that_may_not_be_written_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    # The superuser may write everywhere, so the system's answer is given here.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="locked"), atomic_path(folder / "out"):
        pass
    folder.chmod(0o700)
    assert names(folder) == []


def test_the_body_must_make_something(tmp_path):
    with pytest.raises(FileNotFoundError, match="Nothing was written"):  # noqa: SIM117
        with atomic_path(tmp_path / "out"):
            pass
    assert names(tmp_path) == []


@pytest.mark.parametrize("path", [".", "..", "../.."])
def test_the_folder_one_works_in_is_never_replaced(tmp_path, monkeypatch, path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    with (
        pytest.raises(ValueError, match="current directory"),
        atomic_path(path, overwrite=True) as temporary,
    ):
        make_directory(temporary, "new")
    assert names(tmp_path) == ["a"]


def test_a_relative_path_means_the_folder_at_the_start(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with atomic_path("out.txt") as temporary:
        monkeypatch.chdir(tmp_path / "elsewhere")
        temporary.write_text("all")
    assert names(tmp_path) == ["elsewhere", "out.txt"]


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "real", tmp_path / "link"
    link.symlink_to(real)
    with atomic_path(link) as temporary:
        temporary.write_text("first")
    with atomic_path(link, overwrite=True) as temporary:
        temporary.write_text("second")
    assert link.is_symlink()
    assert real.read_text() == "second"
    assert names(tmp_path) == ["disk", "link"]


@pytest.mark.skipif(sys.platform == "win32", reason="no file modes there")
def test_the_file_mode_is_that_of_any_new_file(tmp_path):
    old = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "text") as temporary:
            temporary.write_text("all")
        with atomic_path(tmp_path / "hdf5") as temporary, h5py.File(temporary, "w"):
            pass
        with atomic_path(tmp_path / "folder") as temporary:
            make_directory(temporary, "all")
    finally:
        os.umask(old)
    for name, mode in (("text", 0o640), ("hdf5", 0o640), ("folder", 0o750)):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode, name


def test_two_writers_at_once_get_names_of_their_own_and_one_wins(tmp_path):
    target = tmp_path / "out"
    with pytest.raises(FileExistsError), atomic_path(target) as first:  # noqa: SIM117
        with atomic_path(target) as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
    assert target.read_text() == "second"
    assert names(tmp_path) == ["out"]


def test_two_writers_of_a_directory_at_once_keep_the_faster_one(tmp_path):
    target = tmp_path / "out"
    with pytest.raises(FileExistsError), atomic_path(target) as first:  # noqa: SIM117
        with atomic_path(target) as second:
            make_directory(first, "first")
            make_directory(second, "second")
    assert (target / "config.json").read_text() == "second"
    assert names(tmp_path) == ["out"]


def test_a_file_system_without_links_is_written_too(tmp_path, monkeypatch):
    def no_links(*args, **kwargs):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with atomic_path(tmp_path / "out") as temporary:
        temporary.write_text("all")
    with pytest.raises(FileExistsError), atomic_path(tmp_path / "o2") as temporary:
        temporary.write_text("late")
        (tmp_path / "o2").write_text("early")
    assert names(tmp_path) == ["o2", "out"]
    assert (tmp_path / "o2").read_text() == "early"


def test_many_threads_that_overwrite_leave_one_whole_file(tmp_path):
    target = tmp_path / "out"

    def write(number):
        with atomic_path(target, overwrite=True) as temporary:
            temporary.write_text(str(number) * 10_000)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = target.read_text()
    assert len(text) == 10_000
    assert len(set(text)) == 1
    assert names(tmp_path) == ["out"]


def test_numpy_files_keep_their_name(tmp_path):
    with atomic_path(tmp_path / "a.npz") as temporary:
        np.savez(temporary, x=np.arange(3))
    assert names(tmp_path) == ["a.npz"]

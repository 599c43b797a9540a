"""Directories that are locked while they are made, and what killed processes leave."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keras_elmo import files
from keras_elmo.files import atomic_directory


def names(folder):
    return sorted(os.listdir(folder))


KILLED = """
import os, signal, sys, types

# The package without what it imports: Keras takes seconds.
package = sys.modules["keras_elmo"] = types.ModuleType("keras_elmo")
package.__path__ = [sys.argv[3]]

from keras_elmo.files import atomic_directory

with atomic_directory(sys.argv[1]) as folder:
    (folder / "half").write_text("")
    print(folder.name, flush=True)
    if sys.argv[2] == "wait":
        sys.stdin.read()
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def begin(path, then):
    """A process that makes a directory at `path`, and the name it has meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), then, Path(files.__file__).parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.once
@pytest.mark.skipif(files.fcntl is None, reason="locks directories")
def test_what_a_killed_process_left_of_a_directory_is_removed(tmp_path):
    target = tmp_path / "out"
    process, left = begin(target, "die")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and left in names(tmp_path)
    others = [left + "2", left.replace("-out", "-about"), ".tmp-out"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / ".tmp-0123456789abcdef-out").symlink_to(tmp_path / others[0])
    (tmp_path / ".tmp-fedcba9876543210-out").write_text("a file")
    kept = sorted({*names(tmp_path)} - {left})
    with atomic_directory(target) as folder:
        assert names(tmp_path) == sorted([*kept, folder.name])
        assert folder.is_dir() and not names(folder)
    assert names(tmp_path) == sorted([*kept, "out"])


@pytest.mark.once
@pytest.mark.skipif(files.fcntl is None, reason="locks directories")
def test_what_a_living_process_makes_is_left_alone(tmp_path):
    target = tmp_path / "out"
    process, begun = begin(target, "wait")
    try:
        with pytest.raises(KeyError), atomic_directory(target) as folder:
            assert names(tmp_path) == sorted([begun, folder.name])
            assert names(tmp_path / begun) == ["half"]
            raise KeyError
    finally:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert names(tmp_path) == ["out"] and names(target) == ["half"]


@pytest.mark.once
@pytest.mark.skipif(files.fcntl is None, reason="locks directories")
def test_a_directory_that_was_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    """Between its making and its locking another process may hold it for one."""
    mkdir, made = Path.mkdir, []

    def raced(self):
        mkdir(self)
        made.append(self)
        if len(made) == 1:
            files._remove_leftovers(tmp_path / "out")
            assert not self.exists()

    monkeypatch.setattr(Path, "mkdir", raced)
    with atomic_directory(tmp_path / "out") as folder:
        assert made == [folder, folder]
        (folder / "file").write_text("")
    assert names(tmp_path / "out") == ["file"]


@pytest.mark.once
def test_a_directory_that_fails_is_removed(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_directory(tmp_path / "out"):
        raise KeyboardInterrupt
    assert names(tmp_path) == []

"""Searches in processes of their own: their memory, kills, workers that die."""

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.training.conftest import sentences
from tests.training.test_command import keras_elmo, write_text
from tests.tuning.long_search import BILM_RANGES, FIXED, SETTINGS

pytestmark = pytest.mark.slow

SECONDS = 1800


def python(*arguments):
    """A process whose stderr is read line by line."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def follow(process):
    """Lines of a process' stderr, in a list that grows."""
    lines = []

    def read():
        with process.stderr:
            lines.extend(line.rstrip("\n") for line in process.stderr)

    threading.Thread(target=read, daemon=True).start()
    return lines


def wait(condition, process):
    end = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def table(directory):
    """The rows of a search's table."""
    with open(directory / "trials.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
@pytest.mark.parametrize("kind", ["bilm", "token-classifier"])
def test_twenty_trials_take_no_more_memory_than_five(tmp_path, kind):
    process = python("tests.tuning.long_search", tmp_path / "search", 20, kind)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err[-4000:]
    found = json.loads(out.splitlines()[-1])
    assert len(found) == 20
    # Trial 5 and trial 20, counted from 1.
    assert found[19] < 1.10 * found[4], found


@pytest.fixture
def command(tmp_path):
    """`tune bilm` with trials of about a second."""
    text = write_text(tmp_path / "text.txt", sentences(30))
    held_out = write_text(tmp_path / "held_out.txt", sentences(8, 1, shortest=9))
    corpus = tmp_path / "corpus"
    keras_elmo("prepare", text, "--output", corpus, "--max-characters", 12)
    fixed = {name: SETTINGS[name] for name in FIXED}
    fixed |= {"max_characters_per_token": 12, "epochs": 1}
    (tmp_path / "ranges.json").write_text(json.dumps(BILM_RANGES))
    return [
        *("keras_elmo", "tune", "bilm", corpus, "--held-out", held_out),
        *("--recipe", "tiny", "--ranges", tmp_path / "ranges.json", "--looks", 2),
        *(f"--set={name}={value}" for name, value in fixed.items()),
        *("--output", tmp_path / "search", "--json"),
    ]


@pytest.mark.once
def test_killed_at_trial_seven_of_twelve_it_goes_on(command, tmp_path):
    first = python(*command, "--max-trials", 12)
    lines = follow(first)
    begun = tmp_path / "search" / "trials" / "trial_06" / "run" / "log.csv"
    wait(begun.exists, first)
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    second = python(*command, "--max-trials", 12)
    out, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 0, err[-4000:]
    both = [re.match(r"trial (\d+)  perplexity", line) for line in lines]
    both += [re.match(r"trial (\d+)  perplexity", line) for line in err.splitlines()]
    told = [match[1] for match in both if match]
    assert told == [f"{number:02d}" for number in range(12)]  # none twice
    rows = table(tmp_path / "search")
    assert [row["status"] for row in rows] == ["completed"] * 12
    assert json.loads(out)["completed"] == 12
    assert (tmp_path / "search" / "best" / "task.weights.h5").exists()


@pytest.mark.once
@pytest.mark.parametrize("kill", [False, True])
def test_a_chief_and_two_workers_one_of_which_may_die(command, tmp_path, kill):
    process = python(*command, "--max-trials", 8, "--workers", 2)
    lines = follow(process)
    if kill:
        folder = tmp_path / "search" / "trials"
        wait(lambda: len(list(folder.glob("trial_*/run/log.csv"))) >= 3, process)
        victim = [re.search(r"-2 is process (\d+)", line) for line in lines]
        (victim,) = [match[1] for match in victim if match]
        os.kill(int(victim), signal.SIGKILL)
    with process.stdout:
        out = process.stdout.read()
    assert process.wait(timeout=SECONDS) == 0, lines[-20:]
    rows = table(tmp_path / "search")
    assert [row["status"] for row in rows] == ["completed"] * 8
    told = [re.match(r"trial (\d+)  perplexity", line) for line in lines]
    assert sorted(match[1] for match in told if match) == [str(i) for i in range(8)]
    assert len({row["worker"] for row in rows}) == 2
    died = [line for line in lines if "has died (exit code -9)" in line]
    assert len(died) == kill
    assert json.loads(out)["completed"] == 8


@pytest.mark.once
def test_chief_and_workers_by_keras_tuners_variables(command, tmp_path):
    """As on several machines: each process is told what it is by its environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"KERASTUNER_ORACLE_IP": "127.0.0.1", "KERASTUNER_ORACLE_PORT": port}
    processes = []
    for name in ("chief", "worker-a", "worker-b"):
        os.environ.update(shared, KERASTUNER_TUNER_ID=name)
        try:
            processes.append(python(*command, "--max-trials", 3))
        finally:
            for variable in (*shared, "KERASTUNER_TUNER_ID"):
                del os.environ[variable]
        if name == "chief":
            # Workers read what it has written; they may also come first.
            wait((tmp_path / "search" / "call.json").exists, processes[0])
    outs = [process.communicate(timeout=SECONDS) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outs
    assert json.loads(outs[0][0])["completed"] == 3
    assert outs[1][0] == outs[2][0] == ""

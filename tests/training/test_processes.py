"""Two processes on one machine have the losses of one."""

import csv
import os
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_elmo.training import join_processes, pretrain
from tests.training.conftest import SETTINGS

CHANGES = {
    **SETTINGS,
    "num_negatives": 6,
    "log_steps": 1,
    "checkpoint_steps": 3,
    "evaluate_steps": 3,
}

PROGRAM = """
import sys
import keras_elmo
from keras_elmo.data import Corpus
from keras_elmo.training import join_processes, pretrain
from tests.training.conftest import sentences

index = int(sys.argv[1])
join_processes({coordinator!r}, 2, index)
text = sentences()
corpus = Corpus.from_sentences(text, keras_elmo.text.build_vocabulary(text))
held_out = Corpus.from_sentences(sentences(12, 1, shortest=9), corpus.vocabulary)
arguments = {arguments}
pretrain(corpus, {path}, "tiny", held_out=held_out, verbose=False, **arguments)
"""
on_jax = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="several processes train on JAX"
)


def run_two(path, arguments):
    """What two processes end with and say; run's path and `arguments`: Python text."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{server.getsockname()[1]}"
    program = PROGRAM.format(coordinator=coordinator, path=path, arguments=arguments)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(index)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for index in range(2)
    ]
    try:
        told = [process.communicate(timeout=400)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [process.returncode for process in started], told


def column(path, name):
    with open(path / "log.csv", encoding="utf-8", newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file) if row[name]]


@on_jax
def test_two_processes_have_the_losses_of_one(corpus, held_out, tmp_path):
    arguments = {"changes": CHANGES, "steps": 6}
    codes, told = run_two(repr(str(tmp_path / "two")), repr(arguments))
    assert codes == [0, 0], told
    one, two = tmp_path / "one", tmp_path / "two"
    pretrain(corpus, one, "tiny", held_out=held_out, verbose=False, **arguments)
    for name, number in (("loss", 6), ("perplexity", 2)):
        values = column(one, name)
        assert len(values) == number
        np.testing.assert_allclose(column(two, name), values, rtol=1e-4)


@on_jax
def test_two_processes_go_on_from_their_checkpoint(corpus, held_out, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for steps in (3, 6):
        arguments = {"changes": CHANGES, "steps": steps}
        codes, told = run_two(repr(str(two)), repr(arguments))
        assert codes == [0, 0], told
    pretrain(corpus, one, "tiny", held_out=held_out, verbose=False, **arguments)
    for name in ("loss", "perplexity"):
        np.testing.assert_allclose(column(two, name), column(one, name), rtol=1e-4)


@on_jax
def test_a_process_that_does_not_see_the_checkpoint_is_refused(corpus, tmp_path):
    pretrain(corpus, tmp_path / "0", "tiny", CHANGES, steps=3, verbose=False)
    # The other machine has a disk of its own under the same name.
    path = f"{str(tmp_path)!r} + '/' + str(index)"
    codes, told = run_two(path, {"changes": CHANGES, "steps": 6})
    assert codes == [1, 1], told
    for text in told:
        assert "ValueError: `run_dir` must be the same in all processes" in text


@on_jax
def test_processes_that_are_told_different_things_are_refused(tmp_path):
    arguments = f"{{'changes': {CHANGES}, 'steps': 6 + index}}"
    codes, told = run_two(repr(str(tmp_path / "two")), arguments)
    assert codes == [1, 1], told
    for text in told:
        assert "ValueError: `steps` must be the same in all processes" in text
    assert not (tmp_path / "two").exists()


@on_jax
def test_clocks_do_not_end_a_training_of_several_processes(corpus, monkeypatch):
    module = sys.modules["keras_elmo.training.pretrain"]
    monkeypatch.setattr(module, "processes", lambda: (2, 1))
    with pytest.raises(ValueError, match=r"give `steps`. Received: seconds=3"):
        pretrain(corpus, "run", "tiny", CHANGES, seconds=3)


def test_wrong_numbers_of_processes_are_refused():
    with pytest.raises(ValueError, match=r"`index` must be below number \(=2\)"):
        join_processes("localhost:1", 2, 2)
    if keras.backend.backend() != "jax":
        with pytest.raises(NotImplementedError, match="KERAS_BACKEND=jax"):
            join_processes("localhost:1", 2, 0)

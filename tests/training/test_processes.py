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

CHANGES = {**SETTINGS, "num_negatives": 6, "log_steps": 1, "checkpoint_steps": 3}

PROGRAM = """
import sys
import keras_elmo
from keras_elmo.data import Corpus
from keras_elmo.training import join_processes, pretrain
from tests.training.conftest import sentences

join_processes({coordinator!r}, 2, int(sys.argv[1]))
text = sentences()
corpus = Corpus.from_sentences(text, keras_elmo.text.build_vocabulary(text))
pretrain(corpus, {path!r}, "tiny", {changes!r}, steps=6, verbose=False)
"""


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def losses(path):
    with open(path / "log.csv", encoding="utf-8", newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="several processes train on JAX"
)
def test_two_processes_have_the_losses_of_one(corpus, tmp_path):
    program = PROGRAM.format(
        coordinator=f"127.0.0.1:{free_port()}",
        path=str(tmp_path / "two"),
        changes=CHANGES,
    )
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
    assert [process.returncode for process in started] == [0, 0], told
    pretrain(corpus, tmp_path / "one", "tiny", CHANGES, steps=6, verbose=False)
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == 6
    np.testing.assert_allclose(two, one, rtol=1e-4)


def test_wrong_numbers_of_processes_are_refused():
    with pytest.raises(ValueError, match=r"`index` must be below number \(=2\)"):
        join_processes("localhost:1", 2, 2)
    if keras.backend.backend() != "jax":
        with pytest.raises(NotImplementedError, match="KERAS_BACKEND=jax"):
            join_processes("localhost:1", 2, 0)

"""`keras-elmo prepare`, `pretrain` and `evaluate`, one after the other."""

import json
import os
import subprocess
import sys

import pytest

from keras_elmo.training import command
from tests.training.conftest import SETTINGS, sentences


def write_text(path, text):
    path.write_text("".join(" ".join(s) + "\n" for s in text), encoding="utf-8")
    return path


def keras_elmo(*arguments, check=True):
    done = subprocess.run(
        [sys.executable, "-m", "keras_elmo", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.mark.once
def test_from_text_to_a_perplexity(tmp_path):
    text = write_text(tmp_path / "text.txt", sentences())
    dev = write_text(tmp_path / "dev.txt", [*sentences(9, seed=1), [], ["unseen", "."]])
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    keras_elmo("prepare", text, "--output", corpus)
    changes = [f"--set={name}={json.dumps(v)}" for name, v in SETTINGS.items()]
    command_line = ["pretrain", corpus, "--output", run, "--recipe", "tiny", *changes]
    command_line += ["--held-out", dev, "--json", "--set", "evaluate_steps=4"]
    first = json.loads(keras_elmo(*command_line, "--steps", 4).stdout)
    assert first["step"] == 4 and first["preset"] == str(run / "preset")
    told = keras_elmo(*command_line, "--steps", 8)
    assert "goes on from step 4" in told.stderr
    assert json.loads(told.stdout)["perplexity"] > 1
    found = json.loads(
        keras_elmo("evaluate", dev, "--model", run / "preset", "--json").stdout
    )
    assert set(found) == {
        "forward_perplexity",
        "backward_perplexity",
        "perplexity",
        "tokens",
        "unknown_tokens",
    }
    expected = [*sentences(9, seed=1), ["unseen", "."]]
    assert found["tokens"] == sum(map(len, expected)) + len(expected)
    assert found["unknown_tokens"] == 1

    wrong = keras_elmo(*command_line, "--set", "hidden_dim=13", check=False)
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines()[-1].startswith("Error: ")
    assert "hidden_dim is 13, the run's is 12" in wrong.stderr


@pytest.mark.once
def test_changes_are_names_and_values(tmp_path):
    with pytest.raises(ValueError, match=r"must be NAME=VALUE. Received: 'epochs'"):
        command.pretrain(tmp_path, tmp_path / "run", recipe="tiny", changes=["epochs"])


@pytest.mark.once
def test_text_without_a_sentence_has_no_perplexity(corpus, tmp_path):
    command.run_pretrain(corpus, tmp_path / "run", "tiny", SETTINGS, steps=1)
    blank = write_text(tmp_path / "blank.txt", [[], []])
    with pytest.raises(ValueError, match="must hold at least one sentence"):
        command.evaluate([blank], tmp_path / "run" / "preset")
    with pytest.raises(ValueError, match="`held_out` has no sentence"):
        command.read_held_out([blank], corpus, 100)

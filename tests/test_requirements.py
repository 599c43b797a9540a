"""What is missing is said with the extra that brings it."""

import importlib.util
import os
import subprocess
import sys

import pytest

from keras_elmo import _requirements as requirements


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Pretends that only some backends are installed, and none is chosen."""

    def pretend(*names):
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name: object() if name in names else None,
        )
        monkeypatch.delenv("KERAS_BACKEND", raising=False)
        monkeypatch.setenv("KERAS_HOME", str(tmp_path))

    return pretend


def test_no_backend_at_all_names_the_extras(installed):
    installed()
    with pytest.raises(ImportError, match=r"keras-elmo\[tensorflow\].*\[jax\].*torch"):
        requirements.require_backend()


def test_another_backend_than_the_chosen_one_is_told(installed):
    installed("torch")
    with pytest.raises(ImportError, match=r"KERAS_BACKEND=torch.*\[tensorflow\]"):
        requirements.require_backend()


def test_the_environment_and_the_file_choose(installed, monkeypatch, tmp_path):
    installed("jax")
    (tmp_path / "keras.json").write_text('{"backend": "jax"}')
    requirements.require_backend()
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    with pytest.raises(ImportError, match=r"keras-elmo\[torch\]"):
        requirements.require_backend()


def test_a_backend_without_an_extra_is_left_to_keras(installed, monkeypatch):
    installed()
    monkeypatch.setenv("KERAS_BACKEND", "openvino")
    requirements.require_backend()


def test_the_command_line_takes_what_is_installed(installed, monkeypatch):
    installed("jax")
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/keras-elmo", "presets"])
    requirements.prepare_backend()
    assert os.environ["KERAS_BACKEND"] == "jax"


def test_the_command_line_tells_a_wrong_backend_in_a_line(installed, monkeypatch):
    installed("jax")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "keras_elmo", "presets"])
    with pytest.raises(SystemExit, match=r"Error: .*keras-elmo\[torch\]"):
        requirements.prepare_backend()
    monkeypatch.setattr(sys, "argv", ["mine.py"])
    with pytest.raises(ImportError, match=r"keras-elmo\[torch\]"):
        requirements.prepare_backend()


def test_an_unknown_backend_is_told_with_the_choices(installed, monkeypatch, tmp_path):
    installed("jax")
    (tmp_path / "keras.json").write_text('{"backend": "theano"}')
    with pytest.raises(ValueError, match=r"tensorflow, jax, torch.*'theano'.*\.json"):
        requirements.require_backend()
    monkeypatch.setenv("KERAS_BACKEND", "Torch")
    with pytest.raises(ValueError, match="Received: 'Torch', from the environment"):
        requirements.require_backend()


@pytest.mark.once
@pytest.mark.parametrize(
    "arguments", [["-m", "keras_elmo", "--help"], ["-c", "import keras_elmo"]]
)
def test_an_unknown_backend_in_a_process_of_its_own(arguments):
    ended = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "KERAS_BACKEND": "foo"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 1
    told = ended.stderr.strip().splitlines()
    assert "must be one of tensorflow, jax, torch. Received: 'foo'" in told[-1]
    if "-m" in arguments:
        assert len(told) == 1 and told[0].startswith("Error: ")
    else:
        assert told[-1].startswith("ValueError: ")

"""The command line: files in, files out, exit codes, one line an error."""

import gzip
import json
import signal
import subprocess
import sys
import textwrap
import time

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.embed_file import embed_file
from keras_elmo.inference import Inference
from tests.models_for_tests import character_backbone

TEXT = "\ufeffThe bank .\r\n\r\nA café, open\u2028today\n" + "x" * 40 + "\n"
LINES = ["The bank .", "", "A café, open\u2028today", "x" * 40]


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "preset"
    character_backbone().save_to_preset(path)
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes(TEXT.encode())
    return path


def test_h5_holds_a_dataset_a_line_and_the_index(run, preset, text, tmp_path):
    output = tmp_path / "out.h5"
    code, out, err = run("embed", text, "--model", preset, "--output", output, "--json")
    assert code == 0
    assert json.loads(out) == {
        "output": str(output),
        "sentences": 4,
        "tokens": 8,
        "truncated_tokens": 1,
    }
    assert err.splitlines()[0].startswith("keras_elmo ")
    backbone = keras_elmo.ElmoBackbone.from_preset(preset)
    expected = list(keras_elmo.embed_iter(map(str.split, LINES), backbone))
    with h5py.File(output) as file:
        assert set(file) == {"0", "1", "2", "3", "sentence_to_index"}
        for number, vectors in enumerate(expected):
            np.testing.assert_allclose(file[str(number)], vectors, atol=1e-6)
        assert file["1"].shape == (0, 8)
        index = json.loads(file["sentence_to_index"][0])
    assert index == {line: str(number) for number, line in enumerate(LINES)}


def test_npz_all_layers_and_the_unicode_tokenizer(run, preset, text, tmp_path):
    output = tmp_path / "out.npz"
    code, out, _ = run(
        *("embed", text, "--model", preset, "--output", output),
        *("--layers", "all", "--tokenizer", "unicode", "--batch-size", 1),
    )
    assert code == 0
    assert "truncated tokens" in out
    with np.load(output) as arrays:
        shapes = [arrays[str(number)].shape for number in range(4)]
    assert shapes == [(3, 3, 8), (3, 0, 8), (3, 5, 8), (3, 1, 8)]


def test_pooling_and_an_index_of_layers(run, preset, text, tmp_path):
    output = tmp_path / "out.h5"
    arguments = ("embed", text, "--model", preset, "--output", output)
    assert run(*arguments, "--pooling", "mean", "--layers", "0")[0] == 0
    with h5py.File(output) as file:
        assert file["0"].shape == file["1"].shape == (8,)


def test_what_exists_is_kept_unless_told(run, preset, text, tmp_path):
    output = tmp_path / "out.h5"
    output.write_text("mine")
    arguments = ("embed", text, "--model", preset, "--output", output)
    code, _, err = run(*arguments)
    assert code == 1 and "--overwrite" in err
    assert output.read_text() == "mine"
    assert run(*arguments, "--overwrite")[0] == 0
    assert h5py.is_hdf5(output)


@pytest.mark.parametrize(
    "change, told",
    [
        ({"--model": "nowhere"}, "nowhere"),
        ({"--layers": "9"}, "layers=9"),
        ({"--layers": "best"}, "layers='best'"),
        ({"--pooling": "max"}, "pooling='max'"),
        ({"--tokenizer": "spaces"}, "tokenizer='spaces'"),
        ({"--output-format": "csv"}, "output_format='csv'"),
        ({"--output": "out.txt"}, "out.txt"),
    ],
)
def test_a_wrong_option_is_one_line_and_leaves_nothing(
    run, preset, text, tmp_path, monkeypatch, change, told
):
    monkeypatch.chdir(tmp_path)
    options = {"--model": preset, "--output": "out.h5", **change}
    code, out, err = run("embed", text, *(x for pair in options.items() for x in pair))
    assert code == 1 and out == ""
    assert err.splitlines()[-1].startswith("Error: ") and told in err
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt"]


def test_a_line_that_is_not_utf8_is_named(run, preset, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"one\ntwo \xff\n")
    output = tmp_path / "out.h5"
    code, _, err = run("embed", bad, "--model", preset, "--output", output)
    assert code == 1 and "bad.txt` line 2: not UTF-8" in err
    assert not output.exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_usage_errors_exit_with_2(run):
    assert run("embed", "in.txt")[0] == 2
    assert run("embeds")[0] == 2


def test_debug_shows_the_traceback(run, tmp_path):
    code, _, err = run(
        "--debug", "embed", tmp_path / "no.txt", "--model", "m", "--output", "o.h5"
    )
    assert code == 1 and "Traceback" in err and "no.txt" in err


@pytest.mark.filterwarnings("ignore:There was not enough memory for 4 sentences")
def test_too_little_memory_is_told_in_a_line(run, preset, text, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Inference, "contextual_vectors", fails)
    code, _, err = run(
        *("embed", text, "--model", preset, "--output", tmp_path / "out.h5")
    )
    assert code == 1
    assert "Error: There is not enough memory for sentence 3 (counted from 1)" in err
    assert not (tmp_path / "out.h5").exists()


def test_the_input_is_not_written_over(run, preset, text, tmp_path):
    link = tmp_path / "out.npz"
    link.symlink_to(text)
    for output in (text, link):
        code, _, err = run(
            *("embed", text, "--model", preset, "--output", output),
            *("--output-format", "npz", "--overwrite"),
        )
        assert code == 1 and "`output` must be another file" in err
    assert text.read_bytes() == TEXT.encode()


def test_a_command_that_is_told_to_end_leaves_nothing(preset, tmp_path):
    text, output = tmp_path / "in.txt", tmp_path / "out.npz"
    text.write_text("The bank was open .\n" * 300_000)
    command = [sys.executable, "-m", "keras_elmo", "embed", text, "--model", preset]
    with subprocess.Popen(
        [*command, "--output", output], stderr=subprocess.PIPE
    ) as process:
        try:
            until = time.monotonic() + 120
            while not any(f.stat().st_size for f in tmp_path.glob(".tmp*out.npz")):
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.1)
            process.terminate()
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


@pytest.mark.once
@pytest.mark.parametrize("lost", ["__del__", "gc", "caught", "generator", "nothing"])
def test_an_end_that_is_lost_comes_again(lost):
    code = textwrap.dedent(
        """
        import gc, os, signal, sys, time
        from keras_elmo.cli.termination import ended_by_sigterm

        def told(*_):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)

        class Finalized:
            __del__ = told

        def clean_up():
            # Longer than it takes to be told once more.
            for _ in range(10):
                time.sleep(0.1)
            print("cleaned up", flush=True)

        def generated():
            # Closed while the exception leaves the loop over it, linked to nothing.
            try:
                yield 1
            finally:
                clean_up()

        lost = sys.argv[1]
        with ended_by_sigterm():
            if lost == "generator":
                for _ in generated():
                    told()
            try:
                if lost == "__del__":
                    Finalized()
                elif lost == "gc":
                    gc.callbacks.append(told)
                    gc.collect()
                    gc.callbacks.clear()
                elif lost == "caught":
                    try:
                        told()
                    except BaseException:
                        pass
                else:
                    told()
                time.sleep(30)
            finally:
                clean_up()
        """
    )
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, lost], capture_output=True, text=True, check=False
    )
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stdout == "cleaned up\n" and time.monotonic() - started < 25


@pytest.mark.parametrize("name", ["in.txt.gz", "IN.TXT.GZ"])
def test_a_model_in_memory_and_a_packed_file(tmp_path, name):
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(b"a b\nc\n"))
    summary = embed_file(packed, character_backbone(), tmp_path / "out.npz")
    assert summary["sentences"] == 2 and summary["tokens"] == 3


def test_python_m_is_the_command():
    told = subprocess.run(
        [sys.executable, "-m", "keras_elmo", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "embed" in told.stdout and "convert" in told.stdout


def test_the_version_names_the_backend(run):
    code, out, _ = run("--version")
    backend = keras.backend.backend()
    version = f"keras_elmo {keras_elmo.__version__}, Keras {keras.version()}"
    assert (code, out) == (0, f"{version} on {backend}\n")


def test_an_unknown_format_of_export_names_all(run, preset, tmp_path):
    code, _, err = run("export", preset, "--output", tmp_path / "out", "--format", "x")
    assert code == 1 and "`--format` must be one of 'saved_model', 'litert'" in err

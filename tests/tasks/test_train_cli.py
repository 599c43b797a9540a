"""`keras-elmo train-task` and `plot-mix`: results, log, exit codes, errors."""

import json

import pytest

from tests.models_for_tests import character_backbone
from tests.tasks.task_files import PARTS, changes, write_files

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    path = tmp_path_factory.mktemp("train_cli") / "preset"
    character_backbone().save_to_preset(path)
    return path


def flags(options):
    """{"--name": value or list of them} as arguments."""
    return [
        text
        for name, value in options.items()
        for one in (value if isinstance(value, list) else [value])
        for text in (name, one)
    ]


@pytest.fixture
def options(preset, tmp_path):
    """Options with which the command succeeds."""
    paths = write_files(tmp_path, "text-classifier")
    return {
        "--train": paths["train"],
        "--dev": paths["dev"],
        "--model": preset,
        "--output": tmp_path / "out.keras",
        "--set": changes(epochs=1),
    }


def test_from_files_to_a_model_and_its_picture(run, options, tmp_path):
    options["--test"] = tmp_path / "test.tsv"
    arguments = ("train-task", "text-classifier", *flags(options))
    code, out, err = run(*arguments, "--json")
    assert code == 0
    assert out.count("\n") == 1
    summary = json.loads(out)
    assert {part: summary[f"{part}_examples"] for part in PARTS} == PARTS
    assert summary["dev_epoch"] == summary["dev_epochs"] == 1
    assert 0.0 <= summary["dev_accuracy"] <= 1.0 and "test_accuracy" in summary
    assert len(summary["mix_weights"]) == 3
    assert sum(summary["mix_weights"]) == pytest.approx(1.0, abs=1e-6)
    log = err.splitlines()
    assert log[0].startswith("keras_elmo ")
    assert [line for line in log if line.startswith("epoch 1  loss ")]

    # The same again: what is there is kept, and with --overwrite it is not.
    model, before = options["--output"], options["--output"].read_bytes()
    code, out, err = run(*arguments)
    assert (code, out) == (1, "") and "--overwrite" in err.splitlines()[-1]
    assert model.read_bytes() == before
    code, out, err = run(*arguments, "--overwrite")
    assert code == 0 and "dev accuracy" in out and "train examples" in out

    picture = tmp_path / "mix.png"
    code, out, err = run("plot-mix", model, "--output", picture, "--json")
    assert code == 0 and err.startswith("keras_elmo ")
    ((name, mix),) = json.loads(out).items()
    assert name.startswith("elmo_embedding")
    assert mix["weights"] == pytest.approx(summary["mix_weights"], abs=1e-6)
    assert mix["gamma"] == pytest.approx(summary["gamma"], abs=1e-6)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    code, out, err = run("plot-mix", model, "--output", picture)
    assert (code, out) == (1, "") and "--overwrite" in err.splitlines()[-1]
    assert run("plot-mix", model, "--output", picture, "--overwrite")[0] == 0


def test_a_run_that_goes_astray_is_one_line_and_leaves_nothing(run, options, tmp_path):
    options["--set"] = changes(learning_rate=1e30)
    code, out, err = run("train-task", "text-classifier", *flags(options))
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("Error: ") and "1e+30" in err
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["dev.tsv", "test.tsv", "train.tsv"]


@pytest.mark.parametrize(
    "task, change, told",
    [
        ("tagger", {}, "task='tagger'"),
        ("text-classifier", {"--output": "out.h5"}, "a .keras file"),
        ("text-classifier", {"--train": "no.tsv"}, "no.tsv"),
        ("text-classifier", {"--model": "nowhere"}, "nowhere"),
        ("text-classifier", {"--set": "rnn_dim=wide"}, "rnn_dim='wide'"),
        ("text-classifier", {"--set": "rnn=4"}, "Did you mean 'rnn_dim'?"),
        ("text-classifier", {"--word-vectors": "random"}, "`--word-vectors`"),
        ("question-answering", {}, "train.tsv"),
    ],
)
def test_a_wrong_option_is_one_line_and_leaves_nothing(
    run, options, tmp_path, monkeypatch, task, change, told
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    code, out, err = run("train-task", task, *flags({**options, **change}))
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("Error: ") and told in err.splitlines()[-1]
    assert "Traceback" not in err
    assert sorted(tmp_path.iterdir()) == before


def test_usage_errors_exit_with_2(run, options):
    for name in ("--train", "--dev", "--output"):
        rest = {key: value for key, value in options.items() if key != name}
        assert run("train-task", "text-classifier", *flags(rest))[0] == 2
    assert run("train-task", *flags(options))[0] == 2
    assert run("train-task", "text-classifier", *flags(options), "--epochs", 3)[0] == 2
    assert run("plot-mix", "out.keras")[0] == 2
    assert not options["--output"].exists()


def test_debug_shows_the_traceback(run, options):
    options["--dev"] = "no.tsv"
    code, _, err = run("--debug", "train-task", "text-classifier", *flags(options))
    assert code == 1 and "Traceback" in err and "no.tsv" in err


@pytest.mark.parametrize(
    "model, output, told",
    [
        ("no.keras", "mix.png", "no.keras"),
        ("train.tsv", "mix.png", "train.tsv"),
        ("no.keras", "mix.txt", "mix.txt"),
    ],
)
def test_what_has_no_picture_is_one_line(
    run, options, tmp_path, monkeypatch, model, output, told
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    code, out, err = run("plot-mix", model, "--output", output)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("Error: ") and told in err.splitlines()[-1]
    assert sorted(tmp_path.iterdir()) == before

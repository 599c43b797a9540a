"""`keras-elmo tune`: files in, files out, errors; the search itself is a fake's."""

import csv
import json

import pytest

from keras_elmo.tuning import command
from tests.tasks.task_files import save_preset, write_files
from tests.training.conftest import sentences
from tests.training.test_command import write_text
from tests.tuning.fakes import FakeHyperModel
from tests.tuning.test_hypermodels import FIXED

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A corpus, its held-out text, a preset and a task's files."""
    from keras_elmo.data.prepare import prepare

    folder = tmp_path_factory.mktemp("tune")
    write_text(folder / "text.txt", sentences(30))
    write_text(folder / "held_out.txt", sentences(6, 1, shortest=9))
    prepare([str(folder / "text.txt")], folder / "corpus", max_characters_per_token=12)
    save_preset(folder / "preset")
    write_files(folder, "text-classifier")
    return folder


@pytest.fixture
def arguments(data, tmp_path):
    fixed = {k: v for k, v in FIXED.items() if k != "hidden_dim"}
    changes = [f"--set={name}={json.dumps(value)}" for name, value in fixed.items()]
    (tmp_path / "ranges.json").write_text('{"hidden_dim": [8, 12, 16]}')
    return [
        *("tune", "bilm", data / "corpus", "--held-out", data / "held_out.txt"),
        *("--output", tmp_path / "search", "--recipe", "tiny", "--looks", 2),
        *("--ranges", tmp_path / "ranges.json", "--only", "hidden_dim", *changes),
    ]


def test_a_search_of_a_biLM_its_table_pictures_and_page(run, arguments, tmp_path):
    code, out, err = run(*arguments, "--max-trials", 2, "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["trials"] == summary["completed"] == 2
    search = tmp_path / "search"
    assert summary["model"] == str(search / "best")
    assert (search / "best" / "task.weights.h5").exists()
    with open(search / "trials.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = [float(row["perplexity"]) for row in rows]
    assert summary["perplexity"] == min(values)
    assert {row["hidden_dim"] for row in rows} <= {"8", "12", "16"}
    for name in ("objective.png", "hyperparameters.png"):
        assert (search / name).read_bytes().startswith(b"\x89PNG")
    page = (search / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2 and "<th>hidden_dim</th>" in page
    assert 'src="http' not in page and "href=" not in page
    assert [line for line in err.splitlines() if line.startswith("trial 1  perplex")]
    wanted = f"--set hidden_dim={summary['settings']['hidden_dim']}"
    assert wanted in summary["command"]
    assert json.loads((search / "best.json").read_text())["trials"] == 2

    # Again: nothing is run; with more trials the rest; another search is refused.
    code, out, err = run(*arguments, "--max-trials", 2)
    assert code == 0 and "trial 1" not in err and "best trial" in out
    code, _, err = run(*arguments, "--max-trials", 2, "--seed", 5)
    assert code == 1 and "seed is 5, the search's is 1" in err
    code, _, err = run(*arguments, "--max-trials", 2, "--set", "num_layers=2")
    assert code == 1 and "num_layers is 2, the search's is 1" in err


def test_a_page_tells_what_failed_and_runs_no_text_as_code(tmp_path):
    from keras_elmo.tuning import Search
    from keras_elmo.tuning.report import page

    events = {1: RuntimeError("<script>alert(1)</script>"), 2: float("nan")}
    search = Search(FakeHyperModel(events=events), tmp_path, max_trials=4)
    search.search()
    best = search.trials.best_row()
    summary = {"trials": 4, "completed": 2, "failed": 2, "skipped": 0}
    summary |= {"best_trial": best["trial"], "loss": best["loss"], "command": "a & b"}
    text = page("<b>", search.oracle.objective, search.trials.rows(), summary, {})
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert "<title>Search &lt;b&gt;</title>" in text and "a &amp; b" in text
    assert text.count('<tr class="failed">') == 2
    # The best first, what has no number last.
    classes = [part.split('"')[0] for part in text.split('<tr class="')[1:]]
    assert classes == ["best", "completed", "failed", "failed"]


def test_a_task_is_scored_on_test_data_at_the_end(run, data, tmp_path):
    code, out, err = run(
        *("tune", "text-classifier", "--train", data / "train.tsv"),
        *("--dev", data / "dev.tsv", "--test", data / "test.tsv"),
        *("--model", data / "preset", "--output", tmp_path / "search"),
        *("--max-trials", 1, "--set", "rnn_dim=4", "--set", "epochs=1", "--json"),
    )
    assert code == 0, err
    summary = json.loads(out)
    assert (tmp_path / "search" / "best.keras").exists()
    assert {"accuracy", "dev_accuracy", "test_accuracy"} <= set(summary)
    stored = json.loads((tmp_path / "search" / "search.json").read_text())
    assert stored["train"]["examples"] == 24 and stored["settings"]["rnn_dim"] == 4


@pytest.mark.parametrize(
    "more, told",
    [
        (["--tuner", "grid"], "tuner='grid'"),
        (["--ranges", "no.json"], "no.json"),
        (["--only", "depth"], "no range for 'depth'"),
        (["--set", "depth=2"], "no setting 'depth'"),
        (["--held-out", "no.txt"], "no.txt"),
        (["--recipe", "huge"], "recipe='huge'"),
    ],
)
def test_a_wrong_option_is_one_line_and_leaves_nothing(
    run, arguments, tmp_path, more, told
):
    code, out, err = run(*arguments, *more)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("Error: ") and told in err.splitlines()[-1]
    assert not (tmp_path / "search").exists()


def test_a_directory_of_something_else_is_left_alone(run, arguments, tmp_path):
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "thesis.txt").write_text("mine")
    for more in ((), ("--overwrite",)):
        code, _, err = run(*arguments, *more)
        assert code == 1 and "holds no search" in err
    assert [path.name for path in (tmp_path / "search").iterdir()] == ["thesis.txt"]


def test_usage_errors_exit_with_2(run, arguments):
    assert run("tune")[0] == 2
    assert run("tune", "tagger")[0] == 2
    assert run(*arguments, "--max-trials", 0)[0] == 2
    assert run("tune", "bilm", "--output", "x")[0] == 2


def test_a_worker_is_told_the_same_search(monkeypatch, data, tmp_path):
    """What the call file holds makes the same hypermodel in another process."""
    seen = []

    def record(hypermodel, output, options, facts, call, again, score=None):
        seen.append((hypermodel.describe(), facts, str(output), options))
        return call

    monkeypatch.setattr(command, "_tune", record)
    options = command.SearchOptions(tuner="hyperband", only=["hidden_dim"])
    call = command.tune_bilm(
        data / "corpus",
        tmp_path / "search",
        held_out=[data / "held_out.txt"],
        recipe="tiny",
        changes=["num_layers=1"],
        options=options,
    )
    call |= {"options": vars(options), "output": str(tmp_path / "search")}
    command.run_call(json.loads(json.dumps(call)))
    assert seen[0] == seen[1]
    call = command.tune_task(
        "text-classifier",
        data / "train.tsv",
        data / "dev.tsv",
        tmp_path / "search",
        model=data / "preset",
        changes=["rnn_dim=4"],
        options=command.SearchOptions(),
    )
    call |= {"options": {}, "output": str(tmp_path / "search")}
    command.run_call(json.loads(json.dumps(call)))
    assert seen[2] == seen[3]

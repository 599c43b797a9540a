"""Searches: what is tried, what becomes of trials that fail, going on after a kill."""

import csv
import gc
import json
import weakref

import keras_tuner
import pytest

from keras_elmo.tuning import Search
from keras_elmo.tuning.oracles import MOST_FAILURES
from tests.tuning.fakes import FakeHyperModel

pytestmark = [
    pytest.mark.once,
    # A Gaussian process of few points warns of its own bounds.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def search(directory, trials=4, hypermodel=None, **options):
    lines = []
    made = Search(
        hypermodel or FakeHyperModel(),
        directory,
        max_trials=trials,
        log=lines.append,
        **options,
    )
    made.lines = lines
    return made


def table(directory):
    with open(directory / "trials.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_first_trial_has_the_settings_as_they_are(tmp_path):
    hypermodel = FakeHyperModel()
    made = search(tmp_path, 4, hypermodel)
    made.search()
    rates = [call["rate"] for call in hypermodel.calls]
    assert len(set(rates)) == 4 and rates[0] == 0.1
    rows = table(tmp_path)
    assert [row["trial"] for row in rows] == ["0", "1", "2", "3"]
    assert {row["status"] for row in rows} == {"completed"}
    assert [float(row["rate"]) for row in rows] == rates
    assert {row["extra"] for row in rows} == {"1.5"}
    assert {row["parameters"] for row in rows} == {"8"}
    losses = [float(row["loss"]) for row in rows]
    best = min(range(4), key=losses.__getitem__)
    assert made.best().trial_id == str(best)
    assert made.best_settings().rate == rates[best]
    assert len(made.lines) == 4 and made.lines[0].startswith("trial 0  loss 1.20397")


def test_of_all_models_the_best_one_is_kept(tmp_path):
    hypermodel = FakeHyperModel(events={0: 3.0, 1: 1.0, 2: 2.0, 3: 1.0})
    made = search(tmp_path / "search", 4, hypermodel)
    made.search()
    made.take_best(tmp_path / "best.json")
    kept = json.loads((tmp_path / "best.json").read_text())
    assert kept["rate"] == hypermodel.calls[1]["rate"]
    assert list((tmp_path / "search").rglob("model*")) == []
    # More trials: a better one takes its place, and a worse one does not.
    for trials, event, best in ((5, 4.0, 1), (6, 0.5, 5)):
        more = FakeHyperModel(events={0: event})
        made = search(tmp_path / "search", trials, more)
        made.search()
        made.take_best(tmp_path / "best.json")
        assert made.best().trial_id == str(best)
        assert len(more.calls) == 1
    kept = json.loads((tmp_path / "best.json").read_text())
    assert kept["rate"] == more.calls[0]["rate"]


def test_a_best_model_on_another_machine_is_told(tmp_path):
    made = search(tmp_path, 1)
    made.search()
    made.model_path("0").unlink()
    with pytest.raises(FileNotFoundError, match="must reach one directory"):
        made.take_best(tmp_path / "best.json")


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_trial_without_a_number_has_failed(tmp_path, loss):
    made = search(tmp_path, 3, FakeHyperModel(events={1: loss}))
    made.search()
    assert [row["status"] for row in table(tmp_path)] == [
        *("completed", "failed", "completed")
    ]
    assert table(tmp_path)[1]["message"] == f"loss is {loss}."
    assert made.oracle.trials["1"].status == "FAILED"
    assert made.best().trial_id != "1"
    assert f"trial 1  loss is {loss}." in made.lines


def test_an_error_is_that_trials_alone_and_is_kept(tmp_path):
    events = {
        0: RuntimeError("out of memory"),
        1: keras_tuner.errors.FailedTrialError("The loss is nan at step 3."),
    }
    made = search(tmp_path, 3, FakeHyperModel(events=events))
    made.search()
    rows = table(tmp_path)
    assert [row["status"] for row in rows] == ["failed", "failed", "completed"]
    assert rows[0]["message"] == "RuntimeError: out of memory"
    assert rows[1]["message"] == "The loss is nan at step 3."
    told = (tmp_path / "trials" / "trial_0" / "error.txt").read_text()
    assert "Traceback" in told and "out of memory" in told
    assert made.best().trial_id == "2"


def test_a_search_ends_when_one_trial_after_the_other_fails(tmp_path):
    events = {number: RuntimeError(f"no {number}") for number in range(20)}
    hypermodel = FakeHyperModel(events=events)
    with pytest.raises(ValueError, match=r"5 trials failed .* RuntimeError: no 4"):
        search(tmp_path, 12, hypermodel).search()
    assert len(hypermodel.calls) == MOST_FAILURES == 5
    # What was wrong has been put right: the same search goes on.
    made = search(tmp_path, 12)
    made.search()
    assert [row["status"] for row in table(tmp_path)] == [
        *["failed"] * 5,
        *["completed"] * 7,
    ]


def test_too_few_trials_to_give_up_and_none_completed(tmp_path):
    events = {number: float("nan") for number in range(3)}
    made = search(tmp_path, 3, FakeHyperModel(events=events))
    with pytest.raises(ValueError, match=r"No trial has completed.*loss is nan"):
        made.search()
    with pytest.raises(ValueError, match="no best one"):
        made.best()


def test_a_full_disk_is_no_fault_of_the_trial(tmp_path):
    made = search(tmp_path, 3, FakeHyperModel(events={1: OSError("No space left")}))
    with pytest.raises(OSError, match="No space left"):
        made.search()
    made = search(tmp_path, 3)
    made.search()
    assert [row["status"] for row in table(tmp_path)] == ["completed"] * 3


def test_models_that_are_too_large_are_passed_over_and_do_not_count(tmp_path):
    hypermodel = FakeHyperModel({"size": [2, 4, 64, 128, 256]})
    made = search(tmp_path, 5, hypermodel, max_parameters=20)
    made.search()
    rows = table(tmp_path)
    done = [row for row in rows if row["status"] == "completed"]
    skipped = [row for row in rows if row["status"] == "skipped"]
    assert len(done) == 5 and skipped and len(done) + len(skipped) == len(rows)
    assert all(int(row["parameters"]) <= 20 for row in done)
    assert all(int(row["parameters"]) > 20 for row in skipped)
    assert "more than max_parameters (=20)." in skipped[0]["message"]
    assert len(hypermodel.calls) == 5
    # The same after a restart: what was passed over is known.
    again = FakeHyperModel({"size": [2, 4, 64, 128, 256]})
    search(tmp_path, 5, again, max_parameters=20).search()
    assert again.calls == []


def test_a_space_of_large_models_alone_comes_to_an_end(tmp_path):
    hypermodel = FakeHyperModel()
    with pytest.raises(ValueError, match=r"No trial has completed.*8 parameters"):
        search(tmp_path, 2, hypermodel, max_parameters=3).search()
    assert hypermodel.calls == [] and len(table(tmp_path)) == 22


@pytest.mark.parametrize("tuner", ["random", "hyperband"])
def test_a_search_that_was_killed_goes_on_and_runs_no_trial_twice(tmp_path, tuner):
    first = FakeHyperModel(events={6: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, 12, first, tuner=tuner).search()
    assert len(first.calls) == 7
    rest = FakeHyperModel()
    search(tmp_path, 12, rest, tuner=tuner).search()
    assert len(rest.calls) == 12 - 6
    # The one that was killed is the first to run, with the values it had.
    assert rest.calls[0] == first.calls[6]
    folders = [call["folder"] for call in first.calls[:6] + rest.calls]
    assert len(set(folders)) == 12
    assert len(table(tmp_path)) == 12
    more = FakeHyperModel()
    search(tmp_path, 12, more, tuner=tuner).search()
    assert more.calls == []


def test_a_kill_while_files_are_written_loses_no_trial(tmp_path):
    kept = {}

    class Keeping(FakeHyperModel):
        def fit(self, hp, model, **options):
            path = tmp_path / "trials" / "oracle.json"
            kept[len(self.calls)] = path.read_bytes()
            return super().fit(hp, model, **options)

    search(tmp_path, 3, Keeping()).search()
    # Killed when trial 2 had ended, and the oracle did not know yet.
    (tmp_path / "trials" / "oracle.json").write_bytes(kept[2])
    made = search(tmp_path, 4, hypermodel := FakeHyperModel())
    made.search()
    assert len(hypermodel.calls) == 1 and len(table(tmp_path)) == 4
    assert len(set(made.oracle.end_order)) == len(made.oracle.end_order) == 4
    # Killed when trial 2 had begun, and the oracle did not know yet.
    (tmp_path / "trials" / "oracle.json").write_bytes(kept[1])
    state = json.loads((tmp_path / "trials" / "trial_2" / "trial.json").read_text())
    state.update(status="RUNNING")
    (tmp_path / "trials" / "trial_2" / "trial.json").write_text(json.dumps(state))
    made = search(tmp_path, 4, hypermodel := FakeHyperModel())
    made.search()
    assert [call["folder"].name for call in hypermodel.calls] == ["trial_2"]
    # One result, not the mean with the former one.
    observations = made.oracle.trials["2"].metrics.get_history("loss")
    assert [len(one.value) for one in observations] == [1]


def test_a_damaged_directory_is_told(tmp_path):
    search(tmp_path, 2).search()
    path = tmp_path / "trials" / "oracle.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"oracle\.json`: the search's state cannot"):
        search(tmp_path, 2)


def test_hyperband_gives_the_best_more_and_goes_on_from_them(tmp_path):
    hypermodel = FakeHyperModel()
    search(tmp_path, 14, hypermodel, tuner="hyperband").search()
    epochs = [call["epochs"] for call in hypermodel.calls]
    assert epochs[:9] == [1] * 9 and set(epochs[9:]) <= {1, 3, 9}
    longer = [call for call in hypermodel.calls if call["previous"] is not None]
    assert longer and {call["epochs"] for call in longer} == {3, 9}
    by_folder = {str(call["folder"]): call for call in hypermodel.calls}
    for call in longer:
        past = by_folder[str(call["previous"])]
        assert past["rate"] == call["rate"] and past["epochs"] < call["epochs"]
    assert {row["epochs"] for row in table(tmp_path)} == {"1", "3", "9"}


def test_the_bayesian_tuner_comes_nearer_than_chance(tmp_path):
    hypermodel = FakeHyperModel()
    made = search(tmp_path, 9, hypermodel, tuner="bayesian")
    made.search()
    losses = [float(row["loss"]) for row in table(tmp_path)]
    assert made.oracle.num_initial_points == 3
    assert min(losses[3:]) < min(losses[:3]) and min(losses) < 0.3


def test_a_space_of_few_choices_is_tried_once_and_ends(tmp_path):
    for tuner in ("random", "bayesian"):
        hypermodel = FakeHyperModel({"rate": [0.1, 0.2], "size": [2, 4, 8]})
        search(tmp_path / tuner, 30, hypermodel, tuner=tuner).search()
        tried = {(call["rate"], call["size"]) for call in hypermodel.calls}
        assert len(tried) == len(hypermodel.calls) == 6


def test_a_seed_decides_what_is_tried(tmp_path):
    rates = []
    for number, seed in enumerate((1, 1, 2)):
        hypermodel = FakeHyperModel()
        search(tmp_path / str(number), 4, hypermodel, seed=seed).search()
        rates.append([call["rate"] for call in hypermodel.calls])
    assert rates[0] == rates[1] != rates[2]


def test_nothing_of_keras_tuners_is_printed(tmp_path, capsys):
    search(tmp_path, 2, tuner="hyperband").search()
    search(tmp_path, 3, tuner="hyperband").search()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "options, told",
    [
        ({"tuner": "grid"}, "tuner='grid'"),
        ({"max_trials": 0}, "max_trials=0"),
        ({"max_parameters": 0}, "max_parameters=0"),
        ({"seed": 0}, "seed=0"),
        ({"worker_timeout": 0.0}, "worker_timeout=0.0"),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_written(tmp_path, options, told):
    with pytest.raises(ValueError, match=told):
        Search(FakeHyperModel(), tmp_path / "search", **options)
    assert list(tmp_path.iterdir()) == []


def test_memory_between_trials_holds_no_former_model(tmp_path):
    class Watching(FakeHyperModel):
        def build(self, hp):
            gc.collect()
            alive.append(sum(one() is not None for one in refs))
            model = super().build(hp)
            refs.append(weakref.ref(model))
            return model

    refs, alive = [], []
    events = {1: RuntimeError("its traceback holds the model")}
    search(tmp_path, 4, Watching(events=events)).search()
    assert alive == [0, 0, 0, 0]

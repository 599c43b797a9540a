"""A chief and its workers: signs of life, trials that come back, ends that are heard.

Workers are threads here; processes are those of test_long_searches.py.
"""

import contextlib
import subprocess
import threading
import time

import pytest

from keras_elmo.tuning import Search, chief as chief_module, search as search_module
from keras_elmo.tuning.chief import ID, IP, PORT, Chief, ChiefClient, role
from keras_elmo.tuning.oracles import MOST_DEATHS
from keras_elmo.tuning.workers import Workers, serve
from tests.tuning.fakes import FakeHyperModel

pytestmark = pytest.mark.once

SECONDS = 60


@pytest.fixture(autouse=True)
def no_redirection(monkeypatch):
    """Threads would put each other's stdout back."""
    monkeypatch.setattr(search_module, "quiet", contextlib.nullcontext)


@pytest.fixture
def served(tmp_path):
    """A function that serves a search of so many trials: (search, chief, log)."""
    made = []

    def serve_(trials, timeout=SECONDS, hypermodel=None):
        log = []
        search = Search(
            hypermodel or FakeHyperModel(), tmp_path, max_trials=trials, log=log.append
        )
        chief = Chief(search.oracle, "127.0.0.1", 0, timeout, log.append)
        made.append(chief)
        return search, chief, log

    yield serve_
    for chief in made:
        chief.stop()


def worker(monkeypatch, tmp_path, chief, name, hypermodel=None, timeout=SECONDS):
    """A worker's search."""
    for variable, value in ((ID, name), (IP, "127.0.0.1"), (PORT, str(chief.port))):
        monkeypatch.setenv(variable, value)
    return Search(
        hypermodel or FakeHyperModel(), tmp_path, max_trials=1, worker_timeout=timeout
    )


def wait(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def started(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_two_workers_share_the_trials_of_a_chief(monkeypatch, tmp_path, served):
    search, chief, log = served(8)
    both = threading.Barrier(2, timeout=SECONDS)

    class Meeting(FakeHyperModel):
        def fit(self, hp, model, **options):
            if not self.calls:
                both.wait()  # neither runs all of them alone
            return super().fit(hp, model, **options)

    hypermodels = Meeting(), Meeting()
    threads = [
        started(worker(monkeypatch, tmp_path, chief, f"w{i}", one).search)
        for i, one in enumerate(hypermodels)
    ]
    wait(lambda: chief.is_done)
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    search.trials.tell()
    calls = [call for one in hypermodels for call in one.calls]
    assert len(calls) == len({call["folder"] for call in calls}) == 8
    assert all(one.calls for one in hypermodels)
    rows = search.trials.rows()
    assert [row["status"] for row in rows] == ["completed"] * 8
    assert {row["worker"] for row in rows} == {"w0", "w1"}
    # A rate is the same number for the chief and the worker; so is a loss in the file.
    assert {row["rate"] for row in rows} == {call["rate"] for call in calls}
    assert rows[0]["loss"] == pytest.approx(search.oracle.trials["0"].score, rel=1e-6)
    search.take_best(tmp_path / "best.json")
    assert len([line for line in log if line.startswith("trial ")]) == 8


def test_what_fails_or_is_too_large_reaches_the_chief(monkeypatch, tmp_path, served):
    search, chief, _ = served(2)
    hypermodel = FakeHyperModel(events={0: float("nan")})
    made = worker(monkeypatch, tmp_path, chief, "w0", hypermodel)
    made.max_parameters = 8
    build = hypermodel.build

    def larger_the_second_time(hp):
        model = build(hp)
        if len(hypermodel.calls) == 1 and not search.oracle.skipped:
            model.count_params = lambda: 9
        return model

    hypermodel.build = larger_the_second_time
    made.search()
    wait(lambda: chief.is_done)
    rows = search.trials.rows()
    assert [row["status"] for row in rows] == ["failed", "skipped", "completed"]
    assert rows[0]["message"] == "loss is nan."
    assert "more than max_parameters" in rows[1]["message"]


def test_a_silent_worker_loses_its_trial_and_the_search_ends(
    monkeypatch, tmp_path, served
):
    search, chief, log = served(3, timeout=0.4)
    silent = worker(monkeypatch, tmp_path, chief, "silent")
    trial = silent.oracle.create_trial("silent")
    assert (trial.trial_id, trial.status) == ("0", "RUNNING")
    hypermodel = FakeHyperModel()
    thread = started(worker(monkeypatch, tmp_path, chief, "w1", hypermodel, 0.4).search)

    def is_done():
        chief.sweep()
        return chief.is_done

    wait(is_done)
    thread.join(SECONDS)
    assert any("silent has not been heard of" in line for line in log)
    assert sorted(call["folder"].name for call in hypermodel.calls) == [
        *("trial_0", "trial_1", "trial_2")
    ]
    # It comes back: its result is too late, and does no harm.
    before = search.oracle.trials["0"].score
    silent.oracle.update_trial("0", {"loss": -1.0})
    trial.status = "COMPLETED"
    silent.oracle.end_trial(trial)
    assert search.oracle.trials["0"].score == before
    assert search.oracle.end_order.count("0") == 1


def test_a_worker_with_a_long_trial_gives_signs_of_life(monkeypatch, tmp_path, served):
    _, chief, log = served(1, timeout=1.0)

    class Long(FakeHyperModel):
        def fit(self, hp, model, **options):
            time.sleep(2.5)
            return super().fit(hp, model, **options)

    hypermodel = Long()
    made = worker(monkeypatch, tmp_path, chief, "w0", hypermodel, timeout=1.0)
    thread = started(made.search)

    def is_done():
        chief.sweep()
        return chief.is_done

    wait(is_done)
    thread.join(SECONDS)
    assert len(hypermodel.calls) == 1 and not [s for s in log if "heard" in s]


def test_a_worker_whose_chief_is_gone_ends(monkeypatch, tmp_path, served):
    _, chief, _ = served(3)

    class Orphan(FakeHyperModel):
        def fit(self, hp, model, *, check, **options):
            chief.stop()
            wait(lambda: check() is not None)  # until it raises

    made = worker(monkeypatch, tmp_path, chief, "w0", Orphan(), timeout=0.5)
    with pytest.raises(ConnectionError, match="does not answer"):
        made.search()


def test_a_worker_waits_while_another_one_may_die(monkeypatch, tmp_path, served):
    _, chief, _ = served(1)
    first = worker(monkeypatch, tmp_path, chief, "w0").oracle
    second = worker(monkeypatch, tmp_path, chief, "w1").oracle
    assert first.create_trial("w0").status == "RUNNING"
    assert second.create_trial("w1").status == "IDLE"
    assert not chief.is_done
    chief.release("w0", "has died")
    trial = second.create_trial("w1")
    assert (trial.status, trial.trial_id) == ("RUNNING", "0")
    second.update_trial("0", {"loss": 1.0})
    trial.status = "COMPLETED"
    second.end_trial(trial)
    assert second.create_trial("w1").status == "STOPPED"
    assert chief.is_done


def test_a_trial_that_kills_its_workers_has_failed(tmp_path):
    search = Search(FakeHyperModel(), tmp_path, max_trials=2)
    for number in range(MOST_DEATHS):
        assert search.oracle.create_trial(f"w{number}").trial_id == "0"
        search.oracle.release(f"w{number}")
    assert search.oracle.trials["0"].status == "FAILED"
    assert search.trials.row("0")["message"] == "3 workers died of it."
    assert search.oracle.create_trial("w9").trial_id == "1"
    assert search.oracle.release("nobody") is None


def test_an_error_of_the_chief_ends_the_search(monkeypatch, tmp_path, served):
    search, chief, _ = served(2)
    made = worker(monkeypatch, tmp_path, chief, "w0")

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(search.oracle, "save", full)
    with pytest.raises(ConnectionError):
        made.search()
    with pytest.raises(OSError, match="No space left"):
        _ = chief.is_done


def test_workers_that_all_die_end_the_search(monkeypatch, tmp_path):
    search = Search(FakeHyperModel(), tmp_path, max_trials=2)
    real, log = subprocess.Popen, []

    def dying(command, **options):
        return real(
            ["sh", "-c", 'echo "Error: no weights" >&2; exit 3', *command[3:]],
            **options,
        )

    monkeypatch.setattr(subprocess, "Popen", dying)
    with pytest.raises(ChildProcessError, match=r"All workers.*Error: no weights"):
        serve(search, tmp_path, 2, "127.0.0.1", 0, log.append)
    # Two, and three restarts each.
    assert len([line for line in log if "is process" in line]) == 8
    assert len([line for line in log if "has died (exit code 3)" in line]) == 8


def test_workers_are_ended_with_the_search(monkeypatch, tmp_path):
    real = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **rest: real(["sleep", "99"], **rest)
    )
    workers = Workers(tmp_path, 2, "127.0.0.1", 1, lambda line: None)
    processes = list(workers._running.values())
    assert [process.poll() for process in processes] == [None, None]
    workers.stop()
    assert None not in [process.poll() for process in processes]


def test_an_address_that_is_taken_is_told(tmp_path, served):
    search, chief, _ = served(1)
    with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1:{chief.port}"):
        Chief(search.oracle, "127.0.0.1", chief.port, SECONDS, print).stop()


def test_the_environment_says_what_a_process_is(monkeypatch):
    for name in (ID, IP, PORT):
        monkeypatch.delenv(name, raising=False)
    assert role() is None
    monkeypatch.setenv(IP, "127.0.0.1")
    with pytest.raises(ValueError, match=PORT):
        role()
    monkeypatch.setenv(PORT, "8000")
    with pytest.raises(ValueError, match=ID):
        role()
    monkeypatch.setenv(ID, "chief")
    assert role() == "chief"
    monkeypatch.setenv(ID, "worker-1")
    assert role() == "worker"
    assert ChiefClient is chief_module.ChiefClient

"""Fixtures and settings of the whole suite."""

import os
import pathlib
import random
import sys

import hypothesis
import numpy as np
import pytest

# Where the files that other programs published lie comes from outside, so that a
# checkout alone is enough to run everything else.
DATA_VARIABLE = "KERAS_ELMO_TEST_DATA"
# Set by .ci/run where the folder exists: a skip would then hide a broken set-up.
REQUIRE_VARIABLE = "KERAS_ELMO_REQUIRE_GOLDEN"

SEED = 20180201

# The tests' models are compiled longer than they run. Read when a backend starts, here
# and in the processes that tests start.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# deadline: the first call of a function compiles it. derandomize: a run that fails
# on a server must fail again at home.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_report_header():
    """The line that tells one backend's run from another's."""
    backend = os.environ.get("KERAS_BACKEND", "unset, Keras chooses")
    return f"backend: {backend}; {DATA_VARIABLE}: {os.environ.get(DATA_VARIABLE)}"


@pytest.fixture(scope="session")
def golden():
    """The folder of golden files, a pathlib.Path."""
    data = os.environ.get(DATA_VARIABLE)
    if data and (folder := pathlib.Path(data) / "golden").is_dir():
        return folder
    reason = f"{DATA_VARIABLE}={data!r} names no folder that holds golden/"
    if os.environ.get(REQUIRE_VARIABLE):
        pytest.fail(f"{reason}, and {REQUIRE_VARIABLE} is set")
    pytest.skip(reason)


@pytest.fixture
def run(monkeypatch, capsys):
    """The command in this process: (exit code, stdout, stderr)."""

    # Not at the top: tests of text alone import as little as they can.
    from keras_elmo import cli

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["keras-elmo", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        told = capsys.readouterr()
        return exit_.value.code, told.out, told.err

    return run


@pytest.fixture(autouse=True)
def fixed_seed():
    """The same random numbers in every test, alone or in the suite."""
    random.seed(SEED)
    np.random.seed(SEED)
    # Tests of text alone import no Keras and must not wait for it. Keras' own
    # function would import TensorFlow on every backend; layers and seed generators
    # take their seeds from `random`.
    keras = sys.modules.get("keras")
    if keras is None:
        return
    if keras.config.backend() == "tensorflow":
        keras.utils.set_random_seed(SEED)
    elif keras.config.backend() == "torch":
        sys.modules["torch"].manual_seed(SEED)


def pytest_collection_modifyitems(config, items):
    """Drop what one backend is enough for, and mark what reads golden files."""
    if os.environ.get("KERAS_BACKEND") != "torch":
        once = [item for item in items if item.get_closest_marker("once")]
        config.hook.pytest_deselected(items=once)
        items[:] = [item for item in items if item not in once]
    for item in items:
        if "golden" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.golden)
            item.user_properties.append(("golden", True))


def _golden_reports(terminalreporter, outcome):
    return [
        report
        for report in terminalreporter.stats.get(outcome, [])
        if ("golden", True) in map(tuple, getattr(report, "user_properties", ()))
    ]


def pytest_terminal_summary(terminalreporter):
    """Say how many golden tests ran: a skip of all of them is easy to overlook."""
    counts = {
        outcome: len(_golden_reports(terminalreporter, outcome))
        for outcome in ("passed", "failed", "error", "skipped")
    }
    if any(counts.values()) or os.environ.get(REQUIRE_VARIABLE):
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        terminalreporter.write_line(f"golden tests: {told}")

"""A sample of what `scripts/fuzz_checkpoints.py` tries by the hundred."""

import collections
import importlib
import pathlib

import pytest

pytestmark = pytest.mark.once

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("fuzz_checkpoints")


def test_spoilt_files_are_refused_by_an_error_that_names_them(script):
    counts, failures = script.fuzz(45, seed=3, run=script.attempt)
    assert failures == []
    results = collections.Counter()
    for (_, result), number in counts.items():
        results[result] += number
    assert sum(results.values()) == 45
    # What spoils nothing, an odd blank in a list of words, leaves a model.
    assert results[script.REFUSED] > results[script.OK]
    assert len({form for form, _ in counts}) == 9


def test_a_failure_is_told(script, tmp_path, monkeypatch):
    def crash(*_, **__):
        raise KeyError("lstm")

    monkeypatch.setattr(script, "convert", crash)
    counts, failures = script.fuzz(2, seed=3, keep=tmp_path, run=script.in_a_process)
    assert len(failures) == 2 and "KeyError" in failures[0]
    assert all(result == script.FAILED for _, result in counts)
    assert (tmp_path / "0" / "model" / "options.json").exists()

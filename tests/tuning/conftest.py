"""Searches write many small files."""

import gc
import os

import pytest

from tests.training.conftest import corpus, held_out  # noqa: F401


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """A kill loses nothing that was written; only a power cut would."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True, scope="module")
def quick_garbage_collection():
    """Each trial collects garbage; what was there before the tests is passed over."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()

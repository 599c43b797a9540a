"""docs/ does what it says: the tutorial runs, and so do the pages' Python blocks."""

import importlib
import os
import re

import pytest

from tests.markdown import CHECKOUT, blocks, missing_targets, run_python

DOCS = CHECKOUT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TUTORIAL = DOCS / "tutorial.ipynb"
# On two busy cores it takes a minute and a half at most.
SECONDS = 300


def _needs_the_small_model():
    from keras_elmo.preset_sources import builtin_presets

    if "elmo_tiny_en" not in builtin_presets():
        pytest.skip("saved_models/ does not hold the preset elmo_tiny_en")


# What they show, README.md's blocks and other tests run on every backend.
@pytest.mark.once
@pytest.mark.parametrize(
    "page", [p for p in PAGES if list(blocks(p, "python"))], ids=lambda page: page.name
)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    if "elmo_tiny_en" in "".join(source for _, source in blocks(page, "python")):
        _needs_the_small_model()
    monkeypatch.chdir(tmp_path)
    run_python(page)


@pytest.mark.once
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page):
    assert not missing_targets(page)


def _find(name):
    """What a dotted name is: of a module as far as it names one, the rest of that."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


@pytest.mark.once
@pytest.mark.parametrize("page", sorted(DOCS.glob("api/*.md")), ids=lambda p: p.stem)
def test_reference_names_what_there_is(page):
    if page.stem == "tuning":
        pytest.importorskip("keras_tuner", reason="keras-tuner is not installed")
    names = re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    assert names
    for name in names:
        if ".ray_data." not in name:  # needs Ray
            text = _find(name).__doc__
            # One that does not end swallows the rest of the page.
            assert text and text.count("```") % 2 == 0, name


@pytest.mark.once
def test_tutorial_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    _needs_the_small_model()
    notebook = nbformat.read(TUTORIAL, as_version=4)
    figures = sum("plt.show()" in cell.source for cell in notebook.cells)
    client = nbclient.NotebookClient(notebook, timeout=SECONDS)
    client.execute(
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT), "IPYTHONDIR": "."},
    )
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    assert not [o for o in outputs if o.output_type == "error"]
    assert figures == sum("image/png" in o.get("data", {}) for o in outputs) > 3


@pytest.mark.once
def test_tutorial_holds_outputs_and_nothing_of_a_machine():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(TUTORIAL, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    assert all(not cell.metadata for cell in notebook.cells)
    drawn = [o for c in notebook.cells for o in c.get("outputs", []) if "data" in o]
    assert len(drawn) > 3, "run scripts/run_tutorial.py"
    text = TUTORIAL.read_text("utf-8")
    assert not re.search(r"/(?:home|root|tmp|work|Users)/", text)
    assert TUTORIAL.stat().st_size < 400_000

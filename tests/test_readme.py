"""README.md does what it says: its Python blocks run, its commands exist."""

import re

import pytest

from tests.markdown import CHECKOUT, blocks, commands, missing_targets, run_python

README = CHECKOUT / "README.md"


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(blocks(README, "python")), "README.md has no ```python block"
    run_python(README)


# docs/ is not on every machine that has README.md, but it is in every checkout.
@pytest.mark.parametrize(
    "page",
    [README, *sorted((CHECKOUT / "docs").glob("*.md"))],
    ids=lambda page: page.name,
)
def test_named_commands_exist(page):
    typer_testing = pytest.importorskip("typer.testing")
    from keras_elmo import cli

    result = typer_testing.CliRunner().invoke(
        cli.app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    )
    assert result.exit_code == 0, result.output
    for command in sorted(commands(page)):
        assert re.search(rf"\b{command}\b", result.output), command


def test_the_files_it_points_to_exist():
    assert not missing_targets(README)

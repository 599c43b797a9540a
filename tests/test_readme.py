"""README.md does what it says: its Python blocks run, its commands exist."""

import os
import pathlib
import re

import pytest

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(*languages):
    """Each (first line, source) of the fenced blocks in these languages."""
    text = README.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[1] in languages:
            yield text.count("\n", 0, match.start()) + 2, match[2]


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    found = list(blocks("python"))
    assert found, "README.md has no ```python block"
    for line, source in found:
        # Empty lines before it: a traceback then names the line of README.md.
        code = compile("\n" * (line - 1) + source, os.fspath(README), "exec")
        exec(code, namespace)


def commands():
    """The names after `keras-elmo` in shell blocks and in code within the text."""
    text = README.read_text(encoding="utf-8")
    shell = "\n".join(source for _, source in blocks("", "bash", "sh", "console"))
    inline = "\n".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))
    return set(
        re.findall(
            r"(?:^|[\s$])(?:keras-elmo|python -m keras_elmo) ([a-z][a-z-]*)",
            f"{shell}\n{inline}",
            re.MULTILINE,
        )
    )


def test_named_commands_exist():
    typer_testing = pytest.importorskip("typer.testing")
    from keras_elmo import cli

    result = typer_testing.CliRunner().invoke(
        cli.app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    )
    assert result.exit_code == 0, result.output
    for command in sorted(commands()):
        assert re.search(rf"\b{command}\b", result.output), command


def test_the_files_it_points_to_exist():
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", text):
        assert (README.parent / target).exists(), target
    for script in set(re.findall(r"\bscripts/[\w/]+\.(?:sh|py)\b", text)):
        assert (README.parent / script).exists(), script

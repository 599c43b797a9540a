"""The blocks of code of Markdown pages, and what runs them."""

import os
import pathlib
import re
from typing import NamedTuple

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(
    r"(?:^<!-- not run: ([^\n]*?) -->\n+)?^```(\w*)[^\n]*\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SHELLS = ("", "bash", "sh", "console")
_COMMAND = re.compile(
    r"(?:^|[\s$])(?:keras-elmo|python -m keras_elmo) ([a-z][a-z-]*)", re.MULTILINE
)


class Block(NamedTuple):
    """A fenced block: the number of its first line, what it is, why it is not run."""

    line: int
    language: str
    source: str
    not_run: str | None


def all_blocks(page):
    """A page's fenced blocks in order.

    The line `<!-- not run: REASON -->` above a block keeps it from being run.
    """
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start(3)) + 1
        yield Block(line, match[2], match[3], match[1])


def blocks(page, *languages):
    """Each (first line, source) of the blocks in these languages that can be run."""
    for block in all_blocks(page):
        if block.language in languages and not block.not_run:
            yield block.line, block.source


def run_python(page):
    """Runs a page's Python blocks from top to bottom, as one program."""
    namespace = {"__name__": "page"}
    for line, source in blocks(page, "python"):
        # Empty lines before it: a traceback then names the line of the page.
        code = compile("\n" * (line - 1) + source, os.fspath(page), "exec")
        exec(code, namespace)


def commands(page):
    """The names after `keras-elmo` in shell blocks and in code within the text."""
    text = page.read_text(encoding="utf-8")
    shells = [b.source for b in all_blocks(page) if b.language in _SHELLS]
    shell = "\n".join(shells)
    inline = "\n".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", text)))
    return set(_COMMAND.findall(f"{shell}\n{inline}"))


def missing_targets(page):
    """Files that a page's links and commands name and that are not there."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", FENCE.sub("", text))
    scripts = set(re.findall(r"\bscripts/[\w/]+\.(?:sh|py)\b", text))
    return [
        *(link for link in links if not (page.parent / link).exists()),
        *(script for script in sorted(scripts) if not (CHECKOUT / script).exists()),
    ]

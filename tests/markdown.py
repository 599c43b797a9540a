"""The blocks of code of Markdown pages, and what runs them."""

import os
import pathlib
import re

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(
    r"(?:^|[\s$])(?:keras-elmo|python -m keras_elmo) ([a-z][a-z-]*)", re.MULTILINE
)


def blocks(page, *languages):
    """Each (first line, source) of a page's fenced blocks in these languages."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[1] in languages:
            yield text.count("\n", 0, match.start()) + 2, match[2]


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
    shell = "\n".join(source for _, source in blocks(page, "", "bash", "sh", "console"))
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

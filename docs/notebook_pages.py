"""MkDocs hook: each notebook in docs/ as a page of its name, figures beside it."""

import re
from pathlib import Path

import nbformat
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

# nbconvert indents what cells print.
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4}.*|[ ]*)\n)*^ {4}.*\S.*\n(?:^(?: {4}.*)\n)*", re.M)


def on_files(files, config):
    """Adds the pages, with the outputs that the notebooks hold."""
    for path in sorted(Path(config.docs_dir).glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        figures = f"{path.stem}_files"
        resources = {"output_files_dir": figures, "unique_key": path.stem}
        text, resources = MarkdownExporter().from_notebook_node(notebook, resources)
        files.append(File.generated(config, f"{path.stem}.md", content=_page(text)))
        for name, content in resources["outputs"].items():
            files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown, **_):
    """Links to a notebook, as they are right in a checkout, lead to its page."""
    return markdown.replace(".ipynb)", ".md)")


def _page(text):
    """The text with what cells print in fences, which no highlighter reads as code."""
    parts = _FENCED.split(text)
    return "".join(
        part if i % 2 else _INDENTED.sub(_fence, part) for i, part in enumerate(parts)
    )


def _fence(match):
    lines = [line[4:] for line in match[0].split("\n")]
    printed = "\n".join(lines).strip("\n").rstrip()
    return f"\n```text\n{printed}\n```\n\n"

"""MkDocs hook: each notebook in docs/ as a page of its name, figures beside it."""

from pathlib import Path

import nbformat
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter


def on_files(files, config):
    """Adds the pages, with the outputs that the notebooks hold."""
    for path in sorted(Path(config.docs_dir).glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        figures = f"{path.stem}_files"
        resources = {"output_files_dir": figures, "unique_key": path.stem}
        text, resources = MarkdownExporter().from_notebook_node(notebook, resources)
        files.append(File.generated(config, f"{path.stem}.md", content=_printed(text)))
        for name, content in resources["outputs"].items():
            files.append(File.generated(config, name, content=content))
    return files


def _printed(text):
    """What cells print, indented by nbconvert, as blocks that are not highlighted."""
    lines, block, is_code = [], [], False
    for line in [*text.split("\n"), ""]:
        if line.startswith("```"):
            is_code = not is_code
        if not is_code and line.startswith("    "):
            block.append(line[4:])
            continue
        if block and (line or not lines):
            while block and not block[-1].strip():
                block.pop()
            lines += ["```text", *block, "```", ""]
            block = []
        elif block:
            block.append("")
            continue
        lines.append(line)
    if block:
        lines += ["```text", *block, "```"]
    return "\n".join(lines)

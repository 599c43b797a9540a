"""Runs docs/tutorial.ipynb and keeps what it printed and drew.

    KERAS_BACKEND=torch python scripts/run_tutorial.py

What a framework logs is left out, and so is what tells the machine apart.
"""

import pathlib

import nbformat
from nbclient import NotebookClient

NOTEBOOK = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorial.ipynb"
TIMEOUT = 600


def main():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    metadata = notebook.metadata
    client = NotebookClient(
        notebook, timeout=TIMEOUT, coalesce_streams=True, record_timing=False
    )
    # The kernel's own, which names versions and machines.
    metadata, notebook.metadata = notebook.metadata, metadata.copy()
    client.execute(cwd=NOTEBOOK.parent)
    notebook.metadata = metadata
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
            for output in cell.outputs:
                output.get("data", {}).pop("text/plain", None)
    nbformat.validate(notebook)
    # As Jupyter writes it: a run that gives the same changes no byte.
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()

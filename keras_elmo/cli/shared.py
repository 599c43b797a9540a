"""What every command shares: the app, options of one meaning, how results are shown."""

import json
import sys
from typing import Annotated

import typer

app = typer.Typer(
    name="keras-elmo",
    help="ELMo in Keras 3: contextual word vectors from bidirectional language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="Preset: a directory, hf://..., kaggle://... or a name that `presets` "
        "lists.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def log_backend():
    """Says which backend runs, on stderr."""
    print(_versions(), file=sys.stderr)


def print_versions(asked: bool):
    """`--version`: prints it and ends."""
    if asked:
        print(_versions())
        raise typer.Exit()


def _versions():
    import keras

    import keras_elmo

    return (
        f"keras_elmo {keras_elmo.__version__}, Keras {keras.version()} on "
        f"{keras.backend.backend()}"
    )


def layers_choice(text: str) -> str | int:
    """The choice of layers as Python takes it: an index is an int."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def print_result(summary, as_json):
    """A dict on stdout: JSON for a program, a table for a person."""
    if as_json:
        print(json.dumps(summary, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False)
    for key, value in summary.items():
        table.add_row(key.replace("_", " "), str(value))
    Console().print(table)

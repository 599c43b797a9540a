"""Commands that bring weights in and out: convert, export."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import AsJson, Overwrite, app, log_backend, print_result


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(help="Folder, or options.json with its weights beside it.")
    ],
    output: Annotated[Path, typer.Option(help="Preset directory to make.")],
    form: Annotated[
        str, typer.Option("--from", help="Form of SOURCE: auto or bilm_hdf5.")
    ] = "auto",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Turn published weights into a preset."""
    log_backend()
    from keras_elmo.checkpoints.convert import convert as run

    summary = run(source, output, form=form, overwrite=overwrite)
    print_result(summary, as_json)


@app.command()
def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Preset, or .keras of a task model.")
    ],
    output: Annotated[
        Path, typer.Option(help="Directory of versions; the next one is made in it.")
    ],
    output_format: Annotated[str, typer.Option("--format", help="saved_model.")] = (
        "saved_model"
    ),
    tokenizer: Annotated[
        str | None, typer.Option(help="whitespace or unicode, how texts are split.")
    ] = None,
    as_json: AsJson = False,
):
    """Export a model for TF Serving, with the names of google/elmo."""
    log_backend()
    from keras_elmo.export import export_saved_model

    if output_format != "saved_model":
        raise ValueError(f"`--format` must be saved_model. Received: {output_format}.")
    print_result(export_saved_model(model, output, tokenizer), as_json)

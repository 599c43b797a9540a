"""Commands that bring weights in and out: convert, export."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import AsJson, Overwrite, app, log_backend, print_result


@app.command()
def convert(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder or archive (.zip, .tar.gz) of a model, its options.json or "
            "model.ckpt-*.index; or a preset."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Directory to make.")],
    form: Annotated[
        str,
        typer.Option(
            "--from",
            help="Form of SOURCE: auto, bilm_hdf5, bilm_tf1, tf_hub, many_langs, "
            "preset.",
        ),
    ] = "auto",
    to: Annotated[
        str, typer.Option(help="Form to make: preset, bilm_hdf5, bilm_tf1.")
    ] = "preset",
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Words it was trained with; else vocab*.txt beside it."),
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="The weights' licence, for the model card.")
    ] = None,
    origin: Annotated[
        str | None, typer.Option(help="Where the files come from, for the card.")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="For the card; repeatable.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Turn published weights into a preset, or a preset into bilm-tf's forms."""
    log_backend()
    from keras_elmo.checkpoints.convert import convert as run

    summary = run(
        source,
        output,
        form=form,
        overwrite=overwrite,
        to=to,
        vocabulary=vocabulary,
        licence=licence,
        origin=origin,
        languages=tuple(language or ()),
    )
    if not as_json:
        # A program looks for every key; a person reads what is known.
        summary = {key: value for key, value in summary.items() if value is not None}
    print_result(summary, as_json)


@app.command()
def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Preset, or .keras of a task model.")
    ],
    output: Annotated[
        Path, typer.Option(help="Directory of versions; the next one is made in it.")
    ],
    output_format: Annotated[
        str,
        typer.Option(
            "--format", help="saved_model, or of a biLM: litert, onnx, openvino, torch."
        ),
    ] = "saved_model",
    tokenizer: Annotated[
        str | None,
        typer.Option(help="SavedModel: whitespace or unicode, how texts are split."),
    ] = None,
    weights_dtype: Annotated[
        str | None,
        typer.Option(
            help="Other formats: how matrices are stored: float32, float16 or int8."
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Other formats: rows, where they are fixed.")
    ] = None,
    time: Annotated[
        int | None, typer.Option(help="Other formats: tokens, where they are fixed.")
    ] = None,
    as_json: AsJson = False,
):
    """Export a model for TF Serving, or its graph for another runtime."""
    log_backend()
    from keras_elmo import checks
    from keras_elmo.export import export_graph, export_saved_model
    from keras_elmo.export.graph import FORMATS

    checks.one_of("--format", output_format, ("saved_model", *FORMATS))
    if output_format == "saved_model":
        idle = {"--weights-dtype": weights_dtype, "--batch": batch, "--time": time}
    else:
        idle = {"--tokenizer": tokenizer}
    for option, value in idle.items():
        if value is not None:
            raise ValueError(f"`{option}` means nothing for --format {output_format}.")
    if output_format == "saved_model":
        summary = export_saved_model(model, output, tokenizer)
    else:
        summary = export_graph(
            model, output, output_format, weights_dtype or "float32", batch, time
        )
    print_result(summary, as_json)

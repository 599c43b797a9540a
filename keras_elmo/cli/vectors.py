"""Commands that give vectors: embed."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import (
    AsJson,
    Model,
    Overwrite,
    app,
    layers_choice,
    log_backend,
    print_result,
)


@app.command()
def embed(
    input_file: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="Text, one sentence a line, or a FASTA file."
        ),
    ],
    model: Model,
    output: Annotated[Path, typer.Option(help="File to make.")],
    layers: Annotated[
        str | None,
        typer.Option(
            help="mix, mean, sum, top, all or a layer's index; by default mix, and sum "
            "of proteins."
        ),
    ] = None,
    pooling: Annotated[
        str | None, typer.Option(help="mean: one vector a sentence or protein.")
    ] = None,
    input_format: Annotated[
        str | None, typer.Option(help="text or fasta; by default as INPUT ends.")
    ] = None,
    tokenizer: Annotated[
        str, typer.Option(help="whitespace or unicode.")
    ] = "whitespace",
    output_format: Annotated[
        str | None, typer.Option(help="h5, npz or parquet; by default as OUTPUT ends.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences run together at most.")
    ] = 256,
    dtype: Annotated[
        str,
        typer.Option(
            help="float32, or what the LSTMs' matrices are rounded to: bfloat16, "
            "float16, int8."
        ),
    ] = "float32",
    token_cache: Annotated[
        Path | None, typer.Option(help="What cache-tokens made for this model.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that share this machine's cores.")
    ] = 1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Write the vectors of every line of a text, or of every protein of a FASTA file.

    Datasets "0", "1", ... by line or protein: (tokens, dim), or (L + 1, tokens, dim)
    for `--layers all`; a blank line has 0 tokens. Each residue is a token.
    """
    log_backend()
    from keras_elmo.embed_file import embed_file

    summary = embed_file(
        input_file,
        model,
        output,
        layers=None if layers is None else layers_choice(layers),
        pooling=pooling,
        input_format=input_format,
        tokenizer=tokenizer,
        output_format=output_format,
        batch_size=batch_size,
        token_cache=token_cache,
        dtype=dtype,
        workers=workers,
        overwrite=overwrite,
    )
    print_result(summary, as_json)

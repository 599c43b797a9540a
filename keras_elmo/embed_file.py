"""A file of text or proteins to a file of vectors, in flat memory."""

import contextlib
from collections import deque
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from keras_elmo import checks
from keras_elmo.embed import BATCH_SIZE
from keras_elmo.embed_workers import embedder
from keras_elmo.files import atomic_path
from keras_elmo.inputs import open_input
from keras_elmo.outputs import choose_writer


def embed_file(
    input_file,
    model,
    output,
    *,
    layers: str | int | None = None,
    pooling=None,
    tokenizer="whitespace",
    input_format=None,
    output_format=None,
    batch_size=BATCH_SIZE,
    token_cache=None,
    dtype="float32",
    workers=1,
    overwrite=False,
):
    """Writes the vectors of every line of a text, or of every protein of a FASTA file.

    Args:
        input_file: path of UTF-8 text, one sentence a line, or of a FASTA file; `.gz`
            is unpacked.
        model: `ElmoBackbone`, or what `ElmoBackbone.from_preset` takes.
        output: path to make: whole or not at all.
        layers: as in `keras_elmo.embed`, or None for "mix" of text and, as SeqVec does
            it, "sum" of proteins.
        pooling: as in `keras_elmo.embed`: "mean" gives one vector a sentence or
            protein.
        tokenizer: "whitespace" or "unicode", how text is split.
        input_format: "text" or "fasta" (`text.read_fasta` has the rules), or None for
            what `input_file` ends in.
        output_format: "h5", "npz" or "parquet", or None for what `output` ends in.
        batch_size: int, sentences run together at most.
        token_cache: path of a token cache, or a `TokenCache`.
        dtype: as in `keras_elmo.embed`.
        workers: int. More than 1: so many processes, each with its share of the
            machine's cores and a model of its own; this one writes.
        overwrite: bool. Replace `output`.

    Returns:
        dict: "output", "sentences", "tokens", "truncated_tokens" (those with more
        bytes than the model reads); of proteins "output", "proteins", "residues",
        "unusual_residues" (none of the twenty).

    Raises:
        FileExistsError, FileNotFoundError: of `output` and `input_file`.
        ImportError: when Parquet is asked for and pyarrow is not installed.
        ValueError: when an option is none of those above, `output` is `input_file`, or
            a line of the file is not of its form.
    """
    # What can be told without the model is told before it is loaded.
    writer_class = choose_writer(output, output_format)
    if Path(output).exists() and Path(output).samefile(input_file):
        rule = "another file than `input_file`"
        raise ValueError(checks.received("output", str(output), rule))
    source = open_input(input_file, input_format, tokenizer)
    with (
        atomic_path(output, overwrite=overwrite) as temporary,
        embedder(model, workers) as (ids, embed),
    ):
        names: deque[str] = deque()

        def sentences():
            for name, tokens in source.read(ids, on_bytes=progress):
                names.append(name)
                yield tokens

        with (
            _progress_bar(input_file) as progress,
            contextlib.closing(writer_class(temporary, source.label)) as writer,
        ):
            vectors = embed(
                sentences(),
                layers=source.layers if layers is None else layers,
                pooling=pooling,
                batch_size=batch_size,
                token_cache=token_cache,
                dtype=dtype,
            )
            for row in vectors:
                # Sentences are read ahead; their vectors leave in order.
                writer.write(names.popleft(), row)
            writer.finish()
    return {"output": str(output), **source.counts}


@contextlib.contextmanager
def _progress_bar(input_file):
    """Yields a function that takes bytes read; shows a bar on a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal or Path(input_file).suffix.lower() == ".gz":
        yield None
        return
    columns = (
        TextColumn("embedding"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("embedding", total=Path(input_file).stat().st_size)
        yield lambda number: progress.advance(task, number)

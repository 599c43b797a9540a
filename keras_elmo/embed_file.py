"""A text file to a file of vectors, in flat memory."""

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
from keras_elmo.embed_workers import embedder
from keras_elmo.files import atomic_path
from keras_elmo.lines import read_lines
from keras_elmo.outputs import WRITERS
from keras_elmo.text.characters import count_truncated
from keras_elmo.text.tokenizers import get_tokenizer


def embed_file(
    input_file,
    model,
    output,
    *,
    layers: str | int = "mix",
    pooling=None,
    tokenizer="whitespace",
    output_format=None,
    batch_size=32,
    token_cache=None,
    workers=1,
    overwrite=False,
):
    """Writes the vectors of every line of a text file.

    Args:
        input_file: path of UTF-8 text, one sentence a line; `.gz` is unpacked.
        model: `ElmoBackbone`, or what `ElmoBackbone.from_preset` takes.
        output: path to make: whole or not at all.
        layers: as in `keras_elmo.embed`.
        pooling: as in `keras_elmo.embed`.
        tokenizer: "whitespace" or "unicode".
        output_format: "h5" or "npz", or None for what `output` ends in.
        batch_size: int, sentences run together at most.
        token_cache: path of a token cache, or a `TokenCache`.
        workers: int. More than 1: so many processes, each with its share of the
            machine's cores and a model of its own; this one writes.
        overwrite: bool. Replace `output`.

    Returns:
        dict: "output", "sentences", "tokens", "truncated_tokens" (those with more
        bytes than the model reads).

    Raises:
        FileExistsError, FileNotFoundError: of `output` and `input_file`.
        ValueError: when an option is none of those above, or a line is not UTF-8.
    """
    # What can be told without the model is told before it is loaded.
    writer_class = _writer(output, output_format)
    tokenize = get_tokenizer(tokenizer)
    input_file = Path(input_file)
    if not input_file.is_file():
        raise FileNotFoundError(f"`{input_file}` does not exist or is not a file.")
    counts = {"sentences": 0, "tokens": 0, "truncated_tokens": 0}
    with (
        atomic_path(output, overwrite=overwrite) as temporary,
        embedder(model, workers) as (ids, embed),
    ):
        read: deque[str] = deque()

        def sentences():
            for line in read_lines(input_file, on_bytes=progress):
                tokens = tokenize(line)
                counts["sentences"] += 1
                counts["tokens"] += len(tokens)
                if ids.input_kind == "characters":
                    counts["truncated_tokens"] += count_truncated(
                        tokens, ids.max_characters_per_token
                    )
                read.append(line)
                yield tokens

        with (
            _progress_bar(input_file) as progress,
            contextlib.closing(writer_class(temporary)) as writer,
        ):
            vectors = embed(
                sentences(),
                layers=layers,
                pooling=pooling,
                batch_size=batch_size,
                token_cache=token_cache,
            )
            for row in vectors:
                # Sentences are read ahead; lines leave in order.
                writer.write(read.popleft(), row)
            writer.finish()
    return {"output": str(output), **counts}


def _writer(output, output_format):
    if output_format is None:
        suffix = Path(output).suffix.lower()
        output_format = {".h5": "h5", ".hdf5": "h5", ".npz": "npz"}.get(suffix)
        if output_format is None:
            raise ValueError(
                checks.received(
                    "output", str(output), "a file ending in .h5, .hdf5 or .npz"
                )
            )
    if output_format not in WRITERS:
        choices = " or ".join(map(repr, WRITERS))
        raise ValueError(checks.received("output_format", output_format, choices))
    return WRITERS[output_format]


@contextlib.contextmanager
def _progress_bar(input_file):
    """Yields a function that takes bytes read; shows a bar on a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal or Path(input_file).suffix == ".gz":
        yield None
        return
    columns = (
        TextColumn("embedding"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("embedding", total=input_file.stat().st_size)
        yield lambda number: progress.advance(task, number)

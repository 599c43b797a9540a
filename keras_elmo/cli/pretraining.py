"""Commands of pretraining: prepare, pretrain, evaluate."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import (
    AsJson,
    Model,
    Overwrite,
    app,
    log_backend,
    print_result,
)


@app.command()
def prepare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Text, one sentence a line: files, globs, .gz, tfds:NAME[:SPLIT].",
        ),
    ],
    output: Annotated[Path, typer.Option(help="Corpus directory to make.")],
    min_count: Annotated[
        int, typer.Option(min=1, help="How often a word of the vocabulary occurs.")
    ] = 1,
    max_size: Annotated[
        int | None, typer.Option(min=4, help="Words of the vocabulary at most.")
    ] = None,
    max_characters: Annotated[
        int, typer.Option(min=3, help="Character ids kept a token.")
    ] = 50,
    tokenizer: Annotated[
        str, typer.Option(help="whitespace or unicode.")
    ] = "whitespace",
    vocabulary: Annotated[
        Path | None, typer.Option(help="Vocabulary to take instead of building one.")
    ] = None,
    grow: Annotated[
        bool, typer.Option("--grow", help="Append the text's words to --vocabulary.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Turn text into a corpus directory for pretraining.

    What was made from the same text with the same options is kept as it is.
    """
    log_backend()
    from keras_elmo.data.prepare import prepare as run

    summary = run(
        files,
        output,
        min_count=min_count,
        max_size=max_size,
        max_characters_per_token=max_characters,
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        grow=grow,
        overwrite=overwrite,
    )
    print_result(summary, as_json)


@app.command()
def pretrain(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS_DIR", help="What `prepare` made.")
    ],
    output: Annotated[Path, typer.Option(help="The run's directory, new or begun.")],
    recipe: Annotated[
        str,
        typer.Option(help="tiny, small or paper; tiny-paper and small-paper."),
    ] = "small",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another setting; repeatable."
        ),
    ] = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option(help="Text to take perplexities on; repeatable."),
    ] = None,
    init_from: Annotated[
        str | None, typer.Option(help="Preset whose weights to start from.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many steps in all.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Stop after this long.")
    ] = None,
    coordinator: Annotated[
        str | None, typer.Option(help="HOST:PORT of process 0, for several (JAX).")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    process: Annotated[int, typer.Option(min=0, help="This one's number.")] = 0,
    as_json: AsJson = False,
):
    """Train a bidirectional language model; the same command again goes on.

    OUTPUT/preset is the result, OUTPUT/log.csv the curve.
    """
    log_backend()
    from keras_elmo.training import join_processes
    from keras_elmo.training.command import pretrain as run

    if coordinator is None and (processes, process) != (1, 0):
        raise ValueError("Several processes need --coordinator HOST:PORT.")
    if coordinator is not None:
        join_processes(coordinator, processes, process)

    summary = run(
        corpus,
        output,
        recipe=recipe,
        changes=changes or [],
        held_out=held_out or [],
        init_from=init_from,
        steps=steps,
        seconds=seconds,
    )
    print_result(summary, as_json)


@app.command()
def evaluate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Text, one sentence a line.")
    ],
    model: Model,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences run together.")
    ] = 128,
    tokenizer: Annotated[
        str, typer.Option(help="whitespace or unicode.")
    ] = "whitespace",
    as_json: AsJson = False,
):
    """Measure the perplexity of text, with the full softmax, each sentence alone."""
    log_backend()
    from keras_elmo.training.command import evaluate as run

    summary = run(files, model, batch_size=batch_size, tokenizer=tokenizer)
    print_result(summary, as_json)

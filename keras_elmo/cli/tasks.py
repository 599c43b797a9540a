"""Commands of tasks: train-task, plot-mix."""

from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import AsJson, Overwrite, app, log_backend, print_result


@app.command("train-task")
def train_task(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="token-classifier, text-classifier, pair-classifier or "
            "question-answering.",
        ),
    ],
    train: Annotated[Path, typer.Option(help="Examples to learn from.")],
    dev: Annotated[Path, typer.Option(help="Examples that choose the best epoch.")],
    output: Annotated[Path, typer.Option(help=".keras file to make.")],
    model: Annotated[
        str | None, typer.Option(help="Preset of the biLM, or see --word-vectors.")
    ] = None,
    word_vectors: Annotated[
        str | None,
        typer.Option(help="In its place a file of word vectors, or: random."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Examples to score at the end.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another setting; repeatable."
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Train a model of a task on ELMo's vectors, and save it as a .keras file.

    Examples: CoNLL columns or CoNLL-U; TSV of text and label; TSV of two texts and a
    label; JSON as SQuAD's.
    """
    log_backend()
    from keras_elmo.tasks.command import train_task as run

    summary = run(
        task,
        train,
        dev,
        output,
        model=model,
        word_vectors=word_vectors,
        test=test,
        changes=changes or [],
        overwrite=overwrite,
    )
    print_result(summary, as_json)


@app.command("plot-mix")
def plot_mix(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=".keras file.")],
    output: Annotated[Path, typer.Option(help=".png, .svg or .pdf file to make.")],
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Draw the weights that a model learned for ELMo's layers."""
    log_backend()
    from keras_elmo.tasks.command import plot_mix as run

    print_result(run(model, output, overwrite=overwrite), as_json)

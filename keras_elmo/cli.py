"""The command line: results on stdout, log on stderr; exit 0, 1 or 2.

Keras and its backend take seconds to import, so each command imports them itself.
"""

import json
import os
import sys
import traceback
from pathlib import Path
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
        "--model", help="Preset: a directory, a built-in name, hf://... or kaggle://..."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
):
    """Options of every command."""
    # `main` reads --debug itself, since it also reports errors of parsing.


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
    _log_backend()
    from keras_elmo.checkpoints.convert import convert as run

    summary = run(source, output, form=form, overwrite=overwrite)
    _print_result(summary, as_json)


@app.command()
def embed(
    input_file: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Text, one sentence a line.")
    ],
    model: Model,
    output: Annotated[Path, typer.Option(help="File to make.")],
    layers: Annotated[
        str, typer.Option(help="mix, mean, top, all or a layer's index.")
    ] = "mix",
    pooling: Annotated[
        str | None, typer.Option(help="mean: one vector a sentence.")
    ] = None,
    tokenizer: Annotated[
        str, typer.Option(help="whitespace or unicode.")
    ] = "whitespace",
    output_format: Annotated[
        str | None, typer.Option(help="h5 or npz; by default as OUTPUT ends.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences run together at most.")
    ] = 32,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Write the vectors of every line of a text file.

    Datasets "0", "1", ... by line: (tokens, dim), or (L + 1, tokens, dim) for
    `--layers all`; a blank line has 0 tokens.
    """
    _log_backend()
    from keras_elmo.embed_file import embed_file

    summary = embed_file(
        input_file,
        model,
        output,
        layers=_layers(layers),
        pooling=pooling,
        tokenizer=tokenizer,
        output_format=output_format,
        batch_size=batch_size,
        overwrite=overwrite,
    )
    _print_result(summary, as_json)


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
    _log_backend()
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
    _print_result(summary, as_json)


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
    _log_backend()
    from keras_elmo.training import join_processes
    from keras_elmo.training.command import pretrain as run

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
    _print_result(summary, as_json)


@app.command()
def evaluate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Text, one sentence a line.")
    ],
    model: Model,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences run together.")
    ] = 32,
    tokenizer: Annotated[
        str, typer.Option(help="whitespace or unicode.")
    ] = "whitespace",
    as_json: AsJson = False,
):
    """Measure the perplexity of text, with the full softmax, each sentence alone."""
    _log_backend()
    from keras_elmo.training.command import evaluate as run

    summary = run(files, model, batch_size=batch_size, tokenizer=tokenizer)
    _print_result(summary, as_json)


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
    _log_backend()
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
    _print_result(summary, as_json)


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
    _log_backend()
    from keras_elmo.export import export_saved_model

    if output_format != "saved_model":
        raise ValueError(f"`--format` must be saved_model. Received: {output_format}.")
    _print_result(export_saved_model(model, output, tokenizer), as_json)


@app.command("plot-mix")
def plot_mix(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help=".keras file.")],
    output: Annotated[Path, typer.Option(help=".png, .svg or .pdf file to make.")],
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Draw the weights that a model learned for ELMo's layers."""
    _log_backend()
    from keras_elmo.tasks.command import plot_mix as run

    _print_result(run(model, output, overwrite=overwrite), as_json)


def main():
    """Entry point of `keras-elmo`."""
    debug = "--debug" in sys.argv[1:]
    try:
        app()
    except (ImportError, OSError, ValueError, TypeError, ArithmeticError) as error:
        if debug:
            traceback.print_exc()
        else:
            # One line: what a person can act on. OSError's text alone may lack its
            # kind ("[Errno 28] No space left on device" has it).
            text = " ".join(str(error).split()) or type(error).__name__
            print(f"Error: {text}", file=sys.stderr)
        sys.exit(1)


def _log_backend():
    """Chooses an installed backend where nothing was chosen, and says which it is."""
    from keras_elmo import _requirements as requirements

    installed = requirements.installed_backends()
    if (
        "KERAS_BACKEND" not in os.environ
        and requirements.chosen_backend() not in installed
        and installed
    ):
        # This process is ours: unlike a library, a program may choose.
        os.environ["KERAS_BACKEND"] = installed[0]
    import keras

    import keras_elmo

    print(
        f"keras_elmo {keras_elmo.__version__}, Keras {keras.version()} on "
        f"{keras.backend.backend()}",
        file=sys.stderr,
    )


def _layers(text: str) -> str | int:
    """The choice of layers as Python takes it: an index is an int."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def _print_result(summary, as_json):
    if as_json:
        print(json.dumps(summary, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False)
    for key, value in summary.items():
        table.add_row(key.replace("_", " "), str(value))
    Console().print(table)

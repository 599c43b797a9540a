"""Commands of tuning: tune bilm, tune token-classifier, ..."""

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

tune = typer.Typer(
    no_args_is_help=True,
    help="Search for the best settings, with KerasTuner.",
    pretty_exceptions_enable=False,
)
app.add_typer(tune, name="tune")

TASKS = (
    "token-classifier",
    "text-classifier",
    "pair-classifier",
    "question-answering",
)

Output = Annotated[Path, typer.Option(help="The search's directory, new or begun.")]
Tuner = Annotated[str, typer.Option(help="random, hyperband or bayesian.")]
MaxTrials = Annotated[int, typer.Option(min=1, help="Trials in all.")]
Ranges = Annotated[
    Path | None, typer.Option(help=".json or .toml of ranges, by setting.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Search this setting alone; repeatable."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting not searched; repeatable."
    ),
]
MaxParameters = Annotated[
    int | None, typer.Option(min=1, help="Pass over models with more numbers.")
]
Workers = Annotated[
    int, typer.Option(min=0, help="Worker processes on this machine; 0: none.")
]
WorkerTimeout = Annotated[
    float, typer.Option(min=1, help="Seconds of silence until one counts as dead.")
]
Seed = Annotated[int, typer.Option(min=1, help="Of what is tried.")]


@tune.command("bilm")
def bilm(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS_DIR", help="What `prepare` made.")
    ],
    held_out: Annotated[
        list[Path], typer.Option(help="Text to take perplexities on; repeatable.")
    ],
    output: Output,
    recipe: Annotated[
        str, typer.Option(help="The first trial's: tiny, small or paper, ...")
    ] = "small",
    tuner: Tuner = "random",
    max_trials: MaxTrials = 10,
    ranges: Ranges = None,
    only: Only = None,
    changes: Changes = None,
    looks: Annotated[
        int, typer.Option(min=1, help="Looks at the held-out text in a trial.")
    ] = 10,
    patience: Annotated[
        int, typer.Option(min=1, help="Looks without progress until a trial ends.")
    ] = 3,
    max_parameters: MaxParameters = None,
    workers: Workers = 0,
    worker_timeout: WorkerTimeout = 120.0,
    seed: Seed = 1,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
):
    """Search for a language model of low held-out perplexity (full softmax).

    OUTPUT/best is its preset, OUTPUT/trials.csv the table, OUTPUT/report.html the page.
    The same command again goes on.
    """
    log_backend()
    from keras_elmo.tuning.command import SearchOptions, tune_bilm

    options = SearchOptions(
        tuner=tuner,
        max_trials=max_trials,
        ranges=_text(ranges),
        only=only or [],
        max_parameters=max_parameters,
        workers=workers,
        worker_timeout=worker_timeout,
        seed=seed,
        overwrite=overwrite,
    )
    summary = tune_bilm(
        corpus,
        output,
        held_out=held_out,
        recipe=recipe,
        changes=changes or [],
        looks=looks,
        patience=patience,
        options=options,
    )
    if summary:  # a worker has none
        print_result(summary, as_json)


def _add(task):
    """Adds the command of a task."""

    @tune.command(task, help=f"Search for a {task.replace('-', ' ')} of high score.")
    def command(
        train: Annotated[Path, typer.Option(help="Examples to learn from.")],
        dev: Annotated[Path, typer.Option(help="Examples that trials are scored on.")],
        model: Model,
        output: Output,
        test: Annotated[
            Path | None, typer.Option(help="Examples to score the best model on.")
        ] = None,
        tuner: Tuner = "random",
        max_trials: MaxTrials = 10,
        ranges: Ranges = None,
        only: Only = None,
        changes: Changes = None,
        max_parameters: MaxParameters = None,
        workers: Workers = 0,
        worker_timeout: WorkerTimeout = 120.0,
        seed: Seed = 1,
        overwrite: Overwrite = False,
        as_json: AsJson = False,
    ):
        log_backend()
        from keras_elmo.tuning.command import SearchOptions, tune_task

        options = SearchOptions(
            tuner=tuner,
            max_trials=max_trials,
            ranges=_text(ranges),
            only=only or [],
            max_parameters=max_parameters,
            workers=workers,
            worker_timeout=worker_timeout,
            seed=seed,
            overwrite=overwrite,
        )
        summary = tune_task(
            task,
            train,
            dev,
            output,
            model=model,
            test=test,
            changes=changes or [],
            options=options,
        )
        if summary:
            print_result(summary, as_json)


def _text(path):
    """A path as a process that is started later can be told it."""
    return None if path is None else str(path)


for _task in TASKS:
    _add(_task)

"""The command line: results on stdout, log on stderr; exit 0, 1 or 2.

A group of commands is a file here. Keras and its backend take seconds to import, so
each command imports them itself.
"""

import sys
import traceback
from typing import Annotated

import typer

# Importing a group adds its commands to `app`, in the order of `--help`.
from keras_elmo.cli import (  # isort: skip
    weights as weights,
    vectors as vectors,
    cache as cache,
    pretraining as pretraining,
    tasks as tasks,
    tuning as tuning,
    evaluation as evaluation,
    published as published,
    serving as serving,
)
from keras_elmo.cli.shared import app, print_versions
from keras_elmo.cli.termination import ended_by_sigterm


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=print_versions,
            help="Show the version, Keras' and the backend.",
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
):
    """Options of every command."""
    # `main` reads --debug itself, since it also reports errors of parsing.


# What a person can act on; anything else is a defect and shows its traceback.
_TOLD = (ImportError, OSError, ValueError, TypeError, ArithmeticError, MemoryError)


def main():
    """Entry point of `keras-elmo`."""
    debug = "--debug" in sys.argv[1:]
    try:
        # Else what is half written stays where `timeout` or a cluster ends the command.
        with ended_by_sigterm():
            app()
    except _TOLD as error:
        if debug:
            traceback.print_exc()
        else:
            # One line: what a person can act on. OSError's text alone may lack its
            # kind ("[Errno 28] No space left on device" has it).
            text = " ".join(str(error).split()) or type(error).__name__
            print(f"Error: {text}", file=sys.stderr)
        sys.exit(1)

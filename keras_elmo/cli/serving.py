"""Commands that ask a model server: predict."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from keras_elmo.cli.shared import app
from keras_elmo.lines import decode_lines, read_lines


@app.command()
def predict(
    url: Annotated[
        str,
        typer.Option(
            help="http(s)://HOST:8501/v1/models/NAME, or grpc(s)://HOST:8500/NAME; "
            "/versions/N or /labels/LABEL behind it names a version."
        ),
    ],
    sentences: Annotated[
        list[str] | None, typer.Argument(metavar="[SENTENCE]...", help="Texts.")
    ] = None,
    input_file: Annotated[
        Path | None,
        typer.Option("--input", help="Text, one sentence a line; - is stdin."),
    ] = None,
    instances: Annotated[
        bool,
        typer.Option(
            "--instances",
            help='Each sentence or line is JSON: its inputs by name, {"first": ...}.',
        ),
    ] = False,
    signature: Annotated[
        str | None, typer.Option(help="The model's; by default serving_default.")
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(help="Name of an output; may come again. By default all."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="'NAME: VALUE' sent along; may come again."),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences sent together at most.")
    ] = 32,
    timeout: Annotated[float, typer.Option(help="Seconds one try may take.")] = 60.0,
    retries: Annotated[
        int, typer.Option(min=0, help="Tries after the first, where it may help.")
    ] = 3,
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for a server to be ready.")
    ] = 0.0,
):
    """Ask a model server, TF Serving for one: a line of JSON a sentence.

    Padding is cut off: a sentence of 3 words has 3 vectors.
    """
    from keras_elmo.serving import ServingClient, rows
    from keras_elmo.serving.tensor_values import row_as_json

    if bool(sentences) == (input_file is not None):
        raise typer.BadParameter("Give sentences, or --input, and not both.")
    lines = iter(sentences) if sentences else _lines(input_file)
    client = ServingClient(url, timeout, retries, dict(map(_header, header or ())))
    with client:
        if wait:
            client.wait_until_ready(wait)
        while batch := list(islice(lines, batch_size)):
            inputs = _columns(batch) if instances else batch
            # Lengths tell where padding begins, wanted or not.
            names = output
            if names and "sequence_len" not in names:
                names = [*names, *_lengths(client, signature)]
            outputs = client.predict(inputs, signature, names)
            for row in rows(outputs):
                wanted = {name: row[name] for name in output} if output else row
                print(row_as_json(wanted))


def _lines(path) -> Iterator[str]:
    if str(path) == "-":
        return decode_lines(sys.stdin.buffer, "stdin")
    return read_lines(path)


def _header(text):
    name, colon, value = text.partition(":")
    # What HTTP's headers can hold; gRPC's hold less, and say so themselves.
    is_sendable = all(" " <= char <= "\xff" and char != "\x7f" for char in text)
    if not (name.strip() and colon and is_sendable):
        rule = "'NAME: VALUE' in characters of Latin-1"
        raise ValueError(f"`--header` must be {rule}. Received: {text!r}.")
    return name.strip(), value.strip()


def _columns(batch):
    """Instances as JSON texts to inputs by name."""
    found: dict[str, list] = {}
    for number, text in enumerate(batch):
        try:
            instance = json.loads(text)
        except ValueError as error:
            raise ValueError(f"Not JSON ({error}): {text!r}.") from None
        if not isinstance(instance, dict) or (number and set(instance) != set(found)):
            rule = "a JSON object with the same names as the others"
            raise ValueError(f"An instance must be {rule}. Received: {text!r}.")
        for name, value in instance.items():
            found.setdefault(name, []).append(value)
    return found


def _lengths(client, signature):
    known = client.signatures().get(signature or "serving_default", {})
    return ["sequence_len"] if "sequence_len" in known.get("outputs", ()) else []

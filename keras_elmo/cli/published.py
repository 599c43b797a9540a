"""What presets there are: presets."""

from typing import Annotated

import typer

from keras_elmo.cli.shared import AsJson, app, log_backend, print_result


@app.command()
def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Tell all about this one.")
    ] = None,
    as_json: AsJson = False,
):
    """List the presets that are known by name, and what each is."""
    log_backend()
    from rich.console import Console
    from rich.table import Table

    from keras_elmo.published_listing import describe_preset, list_presets, readable

    if name is not None:
        facts = describe_preset(name)
        if as_json:
            print_result(facts, as_json)
        else:
            # Not as a table: addresses are to be copied whole.
            print("\n".join(f"{key}: {readable(v)}" for key, v in facts.items()))
        return
    rows = list_presets()
    if as_json:
        print_result({"presets": rows}, as_json)
        return
    # What fits into a terminal; the rest stands in `presets NAME`.
    table = Table("name", "trained on", "network", "bytes", "here")
    columns = ("name", "description", "network", "bytes", "on_this_machine")
    for row in rows:
        table.add_row(*(readable(row[column]) for column in columns))
    Console().print(table)

"""Results of the probes as tables."""

MOST_FREQUENT = "most frequent class"


def layer_tasks(results: dict) -> dict[str, dict]:
    """By a task's title its "layers" and "most_frequent", as far as it was run."""
    tasks = {}
    for key, title in {"pos": "parts of speech", "chunks": "chunks"}.items():
        if key in results:
            tasks[title] = results[key]
    if "senses" in results:
        vectors = results["senses"]["vectors"]
        tasks["word senses"] = {
            "most_frequent": results["senses"]["most_frequent"],
            "layers": {
                name: found["probe"]
                for name, found in vectors.items()
                if not name.endswith("average")
            },
        }
    return tasks


def vector_columns(results: dict) -> dict[str, dict]:
    """By a measure's title its "values" by vectors, and "most_frequent"."""
    columns = {}
    if "senses" in results:
        senses = results["senses"]
        floor = senses["most_frequent"]
        vectors = senses["vectors"]
        columns["senses, nearest neighbours"] = {
            "most_frequent": floor,
            "values": {
                n: v["neighbors"] for n, v in vectors.items() if "neighbors" in v
            },
        }
        columns["senses, probe"] = {
            "most_frequent": floor,
            "values": {n: v["probe"]["accuracy"] for n, v in vectors.items()},
        }
    if "words_in_context" in results:
        found = results["words_in_context"]
        columns["words in context, cosine"] = {
            "most_frequent": found["most_frequent"],
            "values": {n: v["accuracy"] for n, v in found["vectors"].items()},
        }
    return columns


def tables(results: dict) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, head, rows) of each table, cells as text, accuracies in percent."""
    found = []
    if tasks := layer_tasks(results):
        names = list(next(iter(tasks.values()))["layers"])
        rows = [
            [name, *(_spread(task["layers"][name]) for task in tasks.values())]
            for name in names
        ]
        floors = [_percent(task["most_frequent"]) for task in tasks.values()]
        title = "Linear probes by layer, accuracy in %"
        found.append((title, ["", *tasks], [*rows, [MOST_FREQUENT, *floors]]))
    if columns := vector_columns(results):
        names = vector_names(columns)
        rows = [
            [name, *(_percent(c["values"].get(name)) for c in columns.values())]
            for name in names
        ]
        floors = [_percent(column["most_frequent"]) for column in columns.values()]
        title = "Contextual and static vectors, accuracy in %"
        found.append((title, ["", *columns], [*rows, [MOST_FREQUENT, *floors]]))
    if "perplexity" in results:
        values = results["perplexity"]
        rows = [
            [
                name.replace("_", " "),
                f"{value:,.1f}" if "perp" in name else f"{value:,}",
            ]
            for name, value in values.items()
        ]
        found.append(("Held-out text", ["", ""], rows))
    return found


def vector_names(columns: dict[str, dict]) -> list[str]:
    """Names of the vectors of all columns, in the order of the column with the most."""
    by_length = sorted(columns.values(), key=lambda column: -len(column["values"]))
    return list(dict.fromkeys(n for column in by_length for n in column["values"]))


def markdown(results: dict) -> str:
    """The tables as Markdown."""
    parts = []
    for title, head, rows in tables(results):
        lines = [f"**{title}**", "", *map(_row, [head, ["---"] * len(head), *rows])]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def print_tables(results: dict) -> None:
    """The tables on stdout."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for title, head, rows in tables(results):
        table = Table(*head, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def print_senses(senses, number: int = 3, around: int = 9) -> None:
    """A word's clusters with their typical uses, on stdout.

    Args:
        senses: `Senses`.
        number: int, uses of each cluster.
        around: int, words shown on each side.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{len(senses.uses):,} uses of {senses.word}", show_lines=True)
    table.add_column("uses", justify="right")
    table.add_column("told by")
    table.add_column("typical")
    for i, (rows, words) in enumerate(
        zip(senses.typical(number), senses.telling_words(), strict=True)
    ):
        lines = []
        for row in rows:
            before, word, behind = senses.uses[row].around(around)
            lines.append(Text.assemble(f"{before} ", (word, "bold"), f" {behind}"))
        size = int((senses.clusters == i).sum())
        # `Text`: brackets of a corpus are no markup.
        table.add_row(f"{size:,}", Text(", ".join(words)), Text("\n").join(lines))
    Console().print(table)


def _row(cells):
    return f"| {' | '.join(cells)} |"


def _percent(value):
    return "" if value is None else f"{100 * value:.1f}"


def _spread(found):
    return f"{_percent(found['accuracy'])} ± {_percent(found['deviation'])}"

"""Pictures of a search, and a page that holds them and all trials."""

import base64
import html
import importlib
import io
import math
import string
from pathlib import Path

from keras_elmo import __version__
from keras_elmo.files import atomic_path

TRIALS_PICTURE = "objective.png"
HYPERPARAMETERS_PICTURE = "hyperparameters.png"
PAGE = "report.html"
# Panels of hyperparameters side by side.
COLUMNS = 3
_BLUE, _RED, _GREY, _INK = "#1f6f8b", "#c8553d", "#9aa5ab", "#3d3d3d"


def write_report(path: Path, search, rows: list[dict], summary: dict, log) -> None:
    """Writes the pictures as PNG, and the page.

    Args:
        path: the search's directory.
        search: `Search` that has ended.
        rows: the trials' rows.
        summary: what the command tells.
        log: function of a line of text.
    """
    objective = search.oracle.objective
    pictures: dict[str, bytes] = {}
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        log("Pictures need matplotlib: pip install 'keras-elmo[plot]'. Left out.")
    else:
        specs = {one.name: one.spec for one in search.hypermodel.ranges}
        is_low_best = objective.direction == "min"
        pictures[TRIALS_PICTURE] = draw_trials(rows, objective.name, is_low_best)
        pictures[HYPERPARAMETERS_PICTURE] = draw_hyperparameters(
            rows, objective.name, specs, summary["best_trial"]
        )
    for name, picture in pictures.items():
        with atomic_path(path / name, overwrite=True) as temporary:
            temporary.write_bytes(picture)
    with atomic_path(path / PAGE, overwrite=True) as temporary:
        text = page(path.resolve().name, objective, rows, summary, pictures)
        temporary.write_text(text, encoding="utf-8")


def _figure(width, height):
    """An empty figure. No pyplot: it would choose a window system for the process."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()


def _tidy(axes, values):
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, alpha=0.25)
    if values and min(values) > 0 and max(values) / min(values) > 4:
        axes.set_yscale("log")
        # Plain numbers, few of them: less than a power of ten has none otherwise.
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def draw_trials(rows: list[dict], name: str, is_low_best: bool) -> bytes:
    """The objective of each trial and the best so far, as a PNG.

    Args:
        rows: the trials' rows.
        name: the objective's.
        is_low_best: bool.
    """
    from matplotlib.ticker import MaxNLocator

    figure = _figure(7.0, 3.6)
    axes = figure.subplots()
    done = [(int(r["trial"]), r[name]) for r in rows if r["status"] == "completed"]
    steps, best = [], math.inf if is_low_best else -math.inf
    for _, value in done:
        best = min(best, value) if is_low_best else max(best, value)
        steps.append(best)
    numbers = [number for number, _ in done]
    values = [value for _, value in done]
    axes.step(
        numbers, steps, where="post", color=_RED, lw=1.4, label="best so far", zorder=2
    )
    axes.scatter(numbers, values, color=_BLUE, s=28, label="trial", zorder=3)
    # Those without a number stand on the floor.
    for status, marker in (("failed", "x"), ("skipped", "_")):
        found = [int(r["trial"]) for r in rows if r["status"] == status]
        if found:
            axes.scatter(
                found,
                [0.02] * len(found),
                transform=axes.get_xaxis_transform(),
                marker=marker,
                color=_GREY,
                label=status,
                clip_on=False,
            )
    _tidy(axes, values)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("trial")
    axes.set_ylabel(name)
    axes.legend(frameon=False, fontsize=9)
    return _png(figure)


def draw_hyperparameters(
    rows: list[dict], name: str, specs: dict, best_trial: str
) -> bytes:
    """The objective by each hyperparameter, a panel each, as a PNG.

    Args:
        rows: the trials' rows.
        name: the objective's.
        specs: the ranges' specs by name.
        best_trial: id of the trial that is marked.
    """
    height = math.ceil(len(specs) / COLUMNS)
    figure = _figure(3.1 * min(len(specs), COLUMNS) + 0.4, 2.5 * height + 0.2)
    columns = min(len(specs), COLUMNS)
    panels = figure.subplots(height, columns, squeeze=False, sharey=True)
    done = [row for row in rows if row["status"] == "completed"]
    for number, axes in enumerate(panels.flat):
        if number >= len(specs):
            axes.set_visible(False)
            continue
        key, spec = list(specs.items())[number]
        found = [row for row in done if row.get(key, "") != ""]
        found.sort(key=lambda row: row["trial"] == best_trial)  # drawn last: on top
        places = _places(axes, [row[key] for row in found], spec)
        colors = [_RED if row["trial"] == best_trial else _BLUE for row in found]
        axes.scatter(
            places, [row[name] for row in found], c=colors, s=24, alpha=0.85, zorder=3
        )
        axes.set_title(key, fontsize=10)
        axes.tick_params(labelsize=8)
        _tidy(axes, [row[name] for row in done])
        if number % columns == 0:
            axes.set_ylabel(name)
    return _png(figure)


def _places(axes, values, spec):
    """Where values stand on an axis: numbers as numbers, all else in a row."""
    if isinstance(spec, dict):
        low, high = spec["min"], spec["max"]
        room = 0.06 * (high - low)
        if spec.get("sampling") == "log" and high / low >= 10:
            axes.set_xscale("log")
            axes.set_xlim(low * (low / high) ** 0.06, high * (high / low) ** 0.06)
        else:
            axes.set_xlim(low - room, high + room)
        return values
    from keras_elmo.tuning.ranges import as_text

    names = [as_text(choice) for choice in spec]
    # Long ones differ at their ends.
    short = [text if len(text) <= 14 else f"{text[:5]}…{text[-8:]}" for text in names]
    axes.set_xticks(range(len(names)), short)
    axes.set_xlim(-0.5, len(names) - 0.5)
    if max(map(len, short)) * len(short) > 24:
        axes.tick_params(axis="x", rotation=20)
    # Beside each other where several trials have one value.
    seen: dict[str, int] = {}
    places = []
    for value in values:
        text = as_text(value)
        seen[text] = seen.get(text, -1) + 1
        shift = (-1) ** seen[text] * ((seen[text] + 1) // 2) * 0.05
        at = names.index(text) if text in names else 0
        places.append(at + max(-0.4, min(0.4, shift)))
    return places


_PAGE = string.Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #3d3d3d; margin: 2rem auto;
  max-width: 72rem; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
p.sub { color: #6b7378; margin-top: 0; }
img { max-width: 100%; height: auto; }
pre { background: #f3f5f6; padding: .8rem 1rem; border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; width: 100%; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid #e2e6e8;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
td.text { white-space: normal; min-width: 16rem; }
th { position: sticky; top: 0; background: #fff; }
tr.best td { background: #fbeee9; font-weight: 600; }
tr.failed td, tr.skipped td { color: #8a9298; }
</style>
</head>
<body>
<h1>$title</h1>
<p class="sub">$sub</p>
$pictures
<h2>The best trial's settings</h2>
<pre>$command</pre>
<h2>Trials, the best first</h2>
<div class="scroll"><table>
<thead><tr>$head</tr></thead>
<tbody>
$body
</tbody>
</table></div>
<p class="sub">keras_elmo $version</p>
</body>
</html>
""")


def page(title: str, objective, rows: list[dict], summary: dict, pictures: dict) -> str:
    """The page as text; it needs no other file.

    Args:
        title: str.
        objective: `keras_tuner.Objective`.
        rows: the trials' rows.
        summary: what the command tells.
        pictures: PNGs by name.
    """
    name = objective.name

    def rank(row):
        if row["status"] != "completed":
            return 1, int(row["trial"])
        return 0, row[name] if objective.direction == "min" else -row[name]

    columns = list(dict.fromkeys(k for row in rows for k in row if k != "message"))
    if any(row["message"] for row in rows):
        columns.append("message")
    body = []
    for row in sorted(rows, key=rank):
        kind = "best" if row["trial"] == summary["best_trial"] else row["status"]
        cells = "".join(
            f'<td class="text">{_cell(row.get(column, ""))}</td>'
            if column == "message"
            else f"<td>{_cell(row.get(column, ''))}</td>"
            for column in columns
        )
        body.append(f'<tr class="{html.escape(kind)}">{cells}</tr>')
    told = ", ".join(
        f"{summary[key]} {key}"
        for key in ("completed", "failed", "skipped")
        if summary[key]
    )
    shown = [
        f"<h2>{heading}</h2>\n"
        f'<img alt="{heading}" src="data:image/png;base64,'
        f'{base64.b64encode(pictures[picture]).decode("ascii")}">'
        for heading, picture in (
            (f"{html.escape(name)} by trial", TRIALS_PICTURE),
            (f"{html.escape(name)} by hyperparameter", HYPERPARAMETERS_PICTURE),
        )
        if picture in pictures
    ]
    best = f"Best {name} {_cell(summary[name])}, trial {summary['best_trial']}"
    return _PAGE.substitute(
        title=html.escape(f"Search {title}"),
        sub=html.escape(f"{best}; {summary['trials']} trials: {told}"),
        pictures="\n".join(shown),
        command=html.escape(summary["command"]),
        head="".join(f"<th>{html.escape(column)}</th>" for column in columns),
        body="\n".join(body),
        version=__version__,
    )


def _cell(value):
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return html.escape(text)

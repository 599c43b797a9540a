"""Pictures of what the probes found."""

from typing import Literal

from keras_elmo.evaluation.layer_runs import STATIC_AVERAGES

# Layers in shades of blue, sums of them in red, static vectors in grey.
LAYER_COLORS = ("#a9c8d6", "#4f93b0", "#1f5a73", "#0c3445")
SUM_COLOR = "#c8553d"
STATIC_COLOR = "#9aa5ab"
INK = "#3d3d3d"


def require_matplotlib():
    """The classes of figures and their canvas, or an error on how to get them."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib: pip install 'keras-elmo[plot]'."
        ) from error
    return Figure, FigureCanvasAgg


def new_figure(
    width: float,
    height: float,
    panels: int,
    layout: Literal["constrained"] | None = None,
    **options,
):
    """A figure of panels side by side: (figure, list of axes).

    No pyplot: it would choose a window system for the whole process.

    Args:
        width: float, inches.
        height: float, inches.
        panels: int.
        layout: matplotlib's layout engine.
        **options: as `Figure.subplots` takes them.
    """
    figure_class, canvas_class = require_matplotlib()
    figure = figure_class(figsize=(width, height), layout=layout)
    canvas_class(figure)
    axes = figure.subplots(1, panels, squeeze=False, **options)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def draw_layers(tasks: dict[str, dict], path) -> None:
    """Accuracy by layer, a panel a task: layers on a line, their sums beside it.

    Args:
        tasks: by a task's title "layers", as `probe_tags` returns them, and
            "most_frequent".
        path: the file to make; its suffix says which kind.
    """
    figure, panels = new_figure(3.3 * len(tasks) + 0.6, 3.3, len(tasks), "constrained")
    for axes, (title, found) in zip(panels, tasks.items(), strict=True):
        _draw_layers(axes, found)
        axes.set_title(title, fontsize=11)
    panels[0].set_ylabel("accuracy, %")
    figure.savefig(path, dpi=150)


def _draw_layers(axes, found):
    names = list(found["layers"])
    means = [100 * found["layers"][name]["accuracy"] for name in names]
    errors = [100 * found["layers"][name]["deviation"] for name in names]
    layers = sum(name.startswith("layer ") for name in names)
    axes.plot(range(layers), means[:layers], color=LAYER_COLORS[1], lw=1.2, zorder=1)
    for i, (mean, error) in enumerate(zip(means, errors, strict=True)):
        color = LAYER_COLORS[min(i, 3)] if i < layers else SUM_COLOR
        axes.errorbar(i, mean, error, color=color, marker="o", ms=7, capsize=3)
        axes.annotate(
            f"{mean:.1f}",
            (i, mean + error),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=INK,
            # On white: the line between the layers often runs there.
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )
    low, high = min(means), max(means)
    room = max(high - low, 1.0)
    floor = 100 * found["most_frequent"]
    axes.set_ylim(low - 0.2 * room, high + 0.35 * room)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_xlabel(f"most frequent class: {floor:.1f}", fontsize=8.5, color=INK)
    axes.set_xticks(range(len(names)), [_short(name) for name in names], fontsize=9)
    axes.grid(axis="y", alpha=0.25)


def _short(name):
    return name.removeprefix("layer ") if name.startswith("layer ") else name


def draw_vectors(columns: dict[str, dict], names: list[str], path) -> None:
    """Accuracies of contextual and static vectors as points, a panel a measure.

    Args:
        columns: by a measure's title "values", a dict by vectors' names, and
            "most_frequent", the number that the lines start from.
        names: the vectors' names, from above.
        path: the file to make; its suffix says which kind.
    """
    figure, panels = new_figure(
        2.8 * len(columns) + 1.5,
        0.34 * len(names) + 1.2,
        len(columns),
        "constrained",
        sharey=True,
    )
    for axes, (title, column) in zip(panels, columns.items(), strict=True):
        floor = 100 * column["most_frequent"]
        shown = [floor]
        for row, name in enumerate(names):
            if name not in column["values"]:
                continue
            value = 100 * column["values"][name]
            shown.append(value)
            axes.plot([floor, value], [row, row], color=_color(name), lw=2.4)
            axes.plot(value, row, "o", color=_color(name), ms=7)
            is_above = value >= floor
            axes.annotate(
                f"{value:.1f}",
                (value, row),
                xytext=(8 if is_above else -8, 0),
                textcoords="offset points",
                ha="left" if is_above else "right",
                va="center",
                fontsize=8.5,
                color=INK,
            )
        axes.axvline(floor, color=INK, lw=0.9, ls=":", zorder=0)
        room = max(max(shown) - min(shown), 4.0)
        axes.set_xlim(min(shown) - 0.2 * room, max(shown) + 0.25 * room)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(
            f"accuracy, %; dotted: most frequent, {floor:.1f}", fontsize=8.5
        )
        axes.tick_params(axis="x", labelsize=8)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", alpha=0.25)
    panels[0].set_yticks(range(len(names)), names, fontsize=9)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    figure.savefig(path, dpi=150)


def _color(name):
    if name in STATIC_AVERAGES:
        return STATIC_COLOR
    if name.startswith("layer "):
        return LAYER_COLORS[min(int(name.split()[1]), 3)]
    return SUM_COLOR

"""A picture of a word's uses: points by layer, and the sentences of each cluster."""

import warnings

from keras_elmo.evaluation.pictures import INK, new_figure
from keras_elmo.evaluation.senses import Senses

# Of clusters, the largest first; told apart by those who see no red or no green.
CLUSTER_COLORS = (
    *("#1f6f8b", "#d1603d", "#7b9e3f", "#7b5ea7"),
    *("#d9a441", "#3d3d3d", "#c78fb0", "#5aa9a3"),
)
SENTENCES = 3
AROUND = 10
CHARACTERS = 52
LINE = 0.19  # inches


def cluster_color(number: int) -> str:
    """A cluster's colour."""
    return CLUSTER_COLORS[number % len(CLUSTER_COLORS)]


def draw_senses(senses: Senses, path) -> None:
    """Draws a panel a layer and below them the typical sentences of each cluster.

    Args:
        senses: `Senses`.
        path: the file to make; its suffix says which kind.
    """
    typical, words = senses.typical(SENTENCES), senses.telling_words()
    lines = sum(len(rows) + 1.4 for rows in typical)
    layers = len(senses.layer_names)
    width, plots, height = 2.7 * layers, 3.1, LINE * (lines + 1)
    figure, panels = new_figure(width, plots + height, layers)
    bottom = height / (plots + height)
    figure.subplots_adjust(0.012, bottom, 0.988, 1 - 0.55 / (plots + height), 0.06)
    for axes, name, points in zip(
        panels, senses.layer_names, senses.points, strict=True
    ):
        title = f"{name}, clusters" if name == senses.clustered_by else name
        _draw_points(axes, points, senses.clusters, typical)
        axes.set_title(title, fontsize=10, color=INK)
    title = f"{len(senses.uses):,}"
    if senses.found > len(senses.uses):
        title += f" of {senses.found:,}"
    title += f" uses of “{senses.word}”"
    write = {"parse_math": False, "color": INK, "va": "top"}
    figure.text(
        0.012, 1 - 0.08 / (plots + height), title, fontsize=12, weight="bold", **write
    )
    y = bottom - 0.6 * LINE / (plots + height)
    step = LINE / (plots + height)
    for number, rows in enumerate(typical):
        size = int((senses.clusters == number).sum())
        head = f"{size:,} uses" + (
            f": {', '.join(words[number])}" * bool(words[number])
        )
        write["color"] = cluster_color(number)
        figure.text(0.012, y, "●", fontsize=9, **write)
        figure.text(0.028, y, head, fontsize=9, weight="bold", **write)
        y -= 1.1 * step
        for row in rows:
            before, word, behind = senses.uses[row].around(AROUND)
            write["color"] = INK
            figure.text(0.492, y, _last(before), fontsize=8.5, ha="right", **write)
            shown = figure.text(0.5, y, word, fontsize=8.5, weight="bold", **write)
            # Where the word ends is known once it is drawn.
            box = shown.get_window_extent()
            right = box.transformed(figure.transFigure.inverted()).x1
            figure.text(right + 0.008, y, _first(behind), fontsize=8.5, **write)
            y -= step
        y -= 0.3 * step
    with warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes: the page has them.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(path, dpi=150)


def _draw_points(axes, points, clusters, typical):
    colors = [cluster_color(number) for number in clusters]
    x, y = points.T
    # The more points, the more they hide each other.
    size = min(max(9000 / len(points), 12), 40)
    axes.scatter(x, y, size, colors, alpha=0.75, linewidths=0)
    for number, rows in enumerate(typical):
        ring = {"facecolors": "none", "edgecolors": cluster_color(number)}
        axes.scatter(x[rows], y[rows], 3 * size, linewidths=1.1, **ring)
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), xticks=[], yticks=[], aspect=1)
    for spine in axes.spines.values():
        spine.set(visible=True, color="#d5d5d5")


def _last(text):
    """The last words of a text."""
    if len(text) <= CHARACTERS:
        return text
    cut = text[-CHARACTERS:]
    return f"… {cut[cut.find(' ') + 1 :]}"


def _first(text):
    """The first words of a text."""
    if len(text) <= CHARACTERS:
        return text
    cut = text[:CHARACTERS]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut} …"

"""A picture of learned mix weights."""

_COLORS = (
    *("#9aa5ab", "#1f6f8b", "#c8553d", "#5b8c5a", "#7b5ea7"),
    *("#d9a441", "#3d3d3d", "#c78fb0"),
)


def draw_mixes(mixes, path):
    """Draws the weights of mixes as groups of bars, a group a mix.

    A dotted line marks what each layer has where all have the same.

    Args:
        mixes: dict of mixes by name, each a dict of "weights", floats, and "gamma".
        path: the file to make; its suffix says which kind.

    Raises:
        ImportError: when matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib: pip install 'keras-elmo[plot]'."
        ) from error
    # No pyplot: it would choose a window system for the whole process.
    number = max(len(mix["weights"]) for mix in mixes.values())
    # As wide as the bars or the legend need it.
    figure = Figure(figsize=(max(2.2 + 1.9 * len(mixes), 0.4 + number), 3.2))
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    width = 0.8 / number
    for layer in range(number):
        name = "token vector" if layer == 0 else f"layer {layer}"
        heights = [
            mix["weights"][layer] if layer < len(mix["weights"]) else 0.0
            for mix in mixes.values()
        ]
        places = [i + (layer - (number - 1) / 2) * width for i in range(len(mixes))]
        color = _COLORS[layer % len(_COLORS)]
        bars = axes.bar(places, heights, 0.92 * width, color=color, label=name)
        # On white: the dotted line often runs where the numbers stand.
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2, bbox=paper)
    axes.axhline(1 / number, color="#555555", lw=0.8, ls=":", zorder=0)
    labels = [f"{name}\n$\\gamma$ = {mix['gamma']:.2f}" for name, mix in mixes.items()]
    axes.set_xticks(range(len(mixes)), labels)
    axes.set_ylabel("weight after the softmax")
    axes.set_ylim(0, 1.18 * max(max(mix["weights"]) for mix in mixes.values()))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="upper center",
        ncols=number,
        frameon=False,
        fontsize=8,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(path, dpi=150)

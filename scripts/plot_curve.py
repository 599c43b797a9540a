"""Draws the curve of a pretraining run, or of several, from their log.csv.

python scripts/plot_curve.py runs/one runs/other --output curve.png
python scripts/plot_curve.py runs/first+runs/second --output curve.png

Parts that `+` joins are one curve: the second began with what the first had learned. A
run is its folder or a log's file.
"""

import argparse
import csv
import pathlib

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

COLORS = ("#1f6f8b", "#c8553d", "#5b8c5a", "#7b5ea7")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--labels", nargs="*", help="one a run; by default their names")
    options = parser.parse_args()
    labels = options.labels or [pathlib.Path(run).name for run in options.runs]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for run, label, color in zip(options.runs, labels, COLORS, strict=False):
        words, hours, perplexities = read(run)
        for axes, x in ((left, words), (right, hours)):
            axes.plot(x, perplexities, color=color, label=label, marker=".", ms=3)
        left.annotate(
            f"{perplexities[-1]:.1f}",
            (words[-1], perplexities[-1]),
            xytext=(0, -12),
            textcoords="offset points",
            ha="center",
            color=color,
        )
    left.set_xlabel("million words")
    right.set_xlabel("hours")
    left.set_ylabel("held-out perplexity")
    for axes in (left, right):
        low, high = axes.get_ylim()
        axes.set_ylim(low - 0.05 * (high - low))
        if high > 3 * low:
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter("{x:.0f}")
            axes.yaxis.set_major_formatter("{x:.0f}")
            axes.tick_params(axis="y", which="minor", labelsize=7)
        axes.grid(True, which="both", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(options.output, dpi=130)


def read(run):
    """A run's million words, hours and perplexities, part behind part."""
    points, words, seconds = [], 0.0, 0.0
    for part in map(pathlib.Path, run.split("+")):
        path = part / "log.csv" if part.is_dir() else part
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            if row["perplexity"]:
                now = words + float(row["words"]), seconds + float(row["seconds"])
                points.append((now[0] / 1e6, now[1] / 3600, float(row["perplexity"])))
        words += float(rows[-1]["words"])
        seconds += float(rows[-1]["seconds"])
    return zip(*points, strict=True)


if __name__ == "__main__":
    main()

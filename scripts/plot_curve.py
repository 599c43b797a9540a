"""Draws the curve of a pretraining run, or of several, from their log.csv.

python scripts/plot_curve.py runs/one runs/other --output curve.png
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
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--output", required=True)
    parser.add_argument("--labels", nargs="*", help="one a run; by default their names")
    options = parser.parse_args()
    labels = options.labels or [run.name for run in options.runs]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for run, label, color in zip(options.runs, labels, COLORS, strict=False):
        with open(run / "log.csv", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["perplexity"]]
        perplexities = [float(row["perplexity"]) for row in rows]
        words = [float(row["words"]) / 1e6 for row in rows]
        hours = [float(row["seconds"]) / 3600 for row in rows]
        for axes, x in ((left, words), (right, hours)):
            axes.plot(x, perplexities, color=color, label=label, marker=".", ms=3)
        left.annotate(
            f"{perplexities[-1]:.1f}",
            (words[-1], perplexities[-1]),
            xytext=(-4, 6),
            textcoords="offset points",
            ha="right",
            color=color,
        )
    left.set_xlabel("million words")
    right.set_xlabel("hours")
    left.set_ylabel("held-out perplexity")
    for axes in (left, right):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.tick_params(axis="y", which="minor", labelsize=7)
        axes.grid(True, which="both", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()

"""Tokens a second, latency and memory of inference, beside the older programs.

    python scripts/bench/inference.py --models DIR --output inference.json
    python scripts/bench/inference.py --models DIR --output inference.json \
        --rivals allennlp=/path/to/its/python bilm_tf=/path/to/its/python \
        --pythons torch=/path/to/python tensorflow=/path/to/python
    python scripts/bench/inference.py --output inference.json --plot inference.png

DIR holds `full/` and `small/` (4096/512 and 1024/128, random weights, options.json and
model.hdf5 each) and `sentences.json`, a list of token lists. Each program runs
in a process of its own, one after the other, on the same threads, and measures the
machine's matrix-product rate in the same minutes. Operations are counted on paper, and
only those that must be done: each distinct token through the character CNN once, and no
padding. Results go into the JSON file as they come; what is there is not run again.

With --pythons each backend runs in an environment of its own, as the older programs do:
what else is installed is memory, since TensorFlow and Keras import what they find.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BACKENDS = ("tensorflow", "jax", "torch")
RIVALS = ("bilm_tf", "allennlp", "simple_elmo")
# Characters of a token's begin and end, and windows' first position behind them.
MARKERS = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", default=["full", "small"])
    parser.add_argument("--backends", nargs="*", default=BACKENDS, choices=BACKENDS)
    parser.add_argument("--rivals", nargs="*", default=[], metavar="PROGRAM=PYTHON")
    parser.add_argument("--pythons", nargs="*", default=[], metavar="BACKEND=PYTHON")
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--plot", type=Path, help="bar chart of the results, PNG")
    options = parser.parse_args()
    found = json.loads(options.output.read_text()) if options.output.exists() else []
    if options.models:
        for work in plan(options):
            key = {k: v for k, v in work.items() if k != "python"}
            if any(key.items() <= row.items() for row in found):
                continue
            row = {**key, **run(work, options)}
            found.append(row)
            options.output.write_text(json.dumps(found, indent=1) + "\n")
            print(json.dumps(row), file=sys.stderr)
    print(table(found))
    if options.plot:
        plot(found, options.plot)


def plan(options):
    rivals = _pythons("--rivals", options.rivals, RIVALS)
    pythons = _pythons("--pythons", options.pythons, BACKENDS)
    for threads in options.threads:
        for size in options.sizes:
            base = {"size": size, "threads": threads, "dtype": "float32"}
            for name, python in rivals.items():
                yield {**base, "program": name, "python": python}
            for backend in options.backends:
                for dtype in options.dtypes:
                    name = f"keras_elmo on {backend}"
                    python = pythons.get(backend, sys.executable)
                    yield {**base, "dtype": dtype, "program": name, "python": python}


def _pythons(option, texts, names):
    pythons = dict(text.partition("=")[::2] for text in texts)
    for name, python in pythons.items():
        if name not in names or not python:
            rule = f"NAME=PYTHON, the name one of {', '.join(names)}"
            sys.exit(f"{option} must be {rule}. Received: {name}={python}")
    return pythons


def run(work, options):
    program, _, backend = work["program"].partition(" on ")
    arguments = {
        "program": program,
        "model": str(options.models / work["size"]),
        "sentences": str(options.models / "sentences.json"),
        "threads": work["threads"],
        "repeats": options.repeats,
        "dtype": work["dtype"],
    }
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(work["threads"]),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": backend or "numpy",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [
            work["python"],
            str(HERE / "inference_programs.py"),
            json.dumps(arguments),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    row = json.loads(done.stdout.splitlines()[-1])
    row["mflop_a_token"] = mflop_a_token(
        json.loads((options.models / work["size"] / "options.json").read_text()),
        json.loads((options.models / "sentences.json").read_text()),
    )
    rate = row["tokens_per_second"] * row["mflop_a_token"] / 1000
    row["share_of_matrix_product"] = rate / row["matrix_product_gflops"]
    return row


def mflop_a_token(options, sentences):
    """Millions of operations that must be done for a token of these, on average.

    A multiply-add is two. Each distinct token goes through the embedder once, and its
    windows end one place behind its last character: those further on are all equal.
    Each token is one step of every LSTM.
    """
    cnn, lstm = options["char_cnn"], options["lstm"]
    dim, cells = lstm["projection_dim"], lstm["dim"]
    filters = sum(number for _, number in cnn["filters"])
    longest = cnn["max_characters_per_token"]
    embedder = 0
    for token in {token for sentence in sentences for token in sentence}:
        used = min(len(token.encode()) + MARKERS, longest)
        windows = sum(
            min(used + 1, longest - width + 1) * width * number
            for width, number in cnn["filters"]
        )
        embedder += windows * cnn["embedding"]["dim"]
        embedder += cnn["n_highway"] * 2 * filters**2 + filters * dim
    step = 2 * lstm["n_layers"] * (2 * dim * 4 * cells + cells * dim)
    tokens = sum(map(len, sentences))
    return 2 * (embedder + tokens * step) / tokens / 1e6


COLUMNS = {
    "tokens/s": ("tokens_per_second", "{:,.0f}"),
    "tokens a processor-second": ("tokens_per_processor_second", "{:,.0f}"),
    "20 tokens, batch 1 (ms)": ("milliseconds_20_tokens", "{:.1f}"),
    "peak memory (MB)": ("peak_memory_mb", "{:,.0f}"),
    "matrix product (GFLOP/s)": ("matrix_product_gflops", "{:.0f}"),
    "share of it": ("share_of_matrix_product", "{:.0%}"),
}


def table(found):
    """The results in Markdown."""
    lines = ["| size | threads | program | " + " | ".join(COLUMNS) + " |"]
    lines.append("|---|---|---|" + "---:|" * len(COLUMNS))
    for row in found:
        name = row["program"]
        if row["dtype"] != "float32":
            name += f", {row['dtype']} weights"
        cells = [form.format(row[key]) for key, form in COLUMNS.values()]
        lines.append(
            f"| {row['size']} | {row['threads']} | {name} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines)


def plot(found, path):
    """Tokens a second and latency of each program, a row of bars a size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in found if row["dtype"] == "float32"]
    threads = min(row["threads"] for row in rows)
    rows = [row for row in rows if row["threads"] == threads]
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    measures = (
        ("tokens_per_second", "tokens a second"),
        ("milliseconds_20_tokens", "milliseconds for one sentence of 20 tokens"),
    )
    figure, axes = pyplot.subplots(
        len(sizes), 2, figsize=(10, 0.6 + 2.0 * len(sizes)), squeeze=False
    )
    for line, size in zip(axes, sizes, strict=True):
        of_size = [row for row in rows if row["size"] == size]
        # The older programs on top, whichever ran first.
        of_size.sort(key=lambda row: row["program"].startswith("keras_elmo"))
        of_size.reverse()
        names = [row["program"] for row in of_size]
        colors = ["#1f6f8b" if n.startswith("keras_elmo") else "#b8b8b8" for n in names]
        for axis, (key, label) in zip(line, measures, strict=True):
            bars = axis.barh(names, [row[key] for row in of_size], color=colors)
            axis.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8)
            values = [row[key] for row in of_size]
            if max(values) > 30 * min(values):
                axis.set_xscale("log")
                axis.set_xlim(left=min(values) / 3)
                label += ", logarithmic"
            axis.set_title(f"{size}: {label}", fontsize=9, loc="left")
            axis.spines[["top", "right", "bottom"]].set_visible(False)
            axis.xaxis.set_visible(False)
            axis.margins(x=0.15)
            axis.tick_params(axis="y", length=0, labelsize=8)
        line[1].set_yticklabels([])
    figure.tight_layout()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()

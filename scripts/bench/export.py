"""Latency, throughput and size of every export beside the Keras model, in one run.

Each format runs in a process of its own with the same sentences, first warmed up, then
timed in rounds: the median of the rounds counts. The Keras model is measured on the
backend that the command runs on, by `keras_elmo.embed`'s graph alone: ids in, vectors
out, as the exports.

    python scripts/bench/export.py --model PRESET --output export.json
    python scripts/bench/export.py --size original --output export.json

The same command again measures what is missing in the JSON file. The table is printed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from keras_elmo.files import atomic_path

BATCHES = (1, 8, 64)
TOKENS = 20
FILTERS = [[i, 32 * 2 ** max(i - 2, 0)] for i in range(1, 8)]  # the original's 2048
# Model sizes by name, with random weights.
SIZES = {
    "tiny": {
        "hidden_dim": 256,
        "projection_dim": 64,
        "char_cnn_filters": [[1, 32], [2, 64], [3, 144]],
        "num_highway_layers": 1,
    },
    "small": {
        "hidden_dim": 1024,
        "projection_dim": 128,
        "char_cnn_filters": FILTERS,
        "num_highway_layers": 1,
    },
    "original": {
        "hidden_dim": 4096,
        "projection_dim": 512,
        "char_cnn_filters": FILTERS,
        "num_highway_layers": 2,
    },
}
# Name in the table: (format, dtype of its weights); the first is no export.
VARIANTS = {
    "Keras": (None, "float32"),
    "SavedModel": ("saved_model", "float32"),
    **{
        f"{title} {dtype}": (name, dtype)
        for title, name in (
            ("LiteRT", "litert"),
            ("ONNX", "onnx"),
            ("OpenVINO", "openvino"),
            ("torch.export", "torch"),
        )
        for dtype in ("float32", "float16", "int8")
    },
}


def make_model(options):
    import keras_elmo

    if options.model:
        return keras_elmo.ElmoBackbone.from_preset(options.model)
    return keras_elmo.ElmoBackbone(
        character_embedding_dim=16,
        max_characters_per_token=50,
        cell_clip=3.0,
        proj_clip=3.0,
        **SIZES[options.size],
    )


def make_ids(backbone, batch):
    """int32 ids of a batch of sentences of `TOKENS` words of five letters."""
    import numpy as np

    from keras_elmo.text.elmo_tokenizer import ElmoTokenizer

    random = np.random.default_rng(batch)
    shape = (batch, TOKENS)
    if backbone.input_kind != "characters":
        return random.integers(1, backbone.vocabulary_size + 1, shape).astype("int32")
    letters = random.integers(ord("a"), ord("z") + 1, (*shape, 5)).astype("uint8")
    rows = [[word.tobytes().decode() for word in row] for row in letters]
    return ElmoTokenizer.of(backbone).encode_sentences(rows)


def run_keras(options):
    """The Keras model, compiled where the backend compiles."""
    import keras

    backbone = make_model(options)
    return lambda ids: [
        keras.ops.convert_to_numpy(x) for x in backbone.predict_on_batch(ids)
    ]


def run_saved_model(path, threads):
    """The SavedModel in TensorFlow alone."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    signatures = tf.saved_model.load(path).signatures
    (name,) = {"character_ids", "token_ids"} & set(signatures)
    call = signatures[name]
    return lambda ids: {k: v.numpy() for k, v in call(**{name: ids}).items()}


def measure(run, folder, seconds):
    """{"1": {"milliseconds": ..., "tokens_per_second": ...}, ...} by batch size."""
    import numpy as np

    results = {}
    for batch in BATCHES:
        ids = np.load(f"{folder}/ids_{batch}.npy")
        run(ids)
        run(ids)
        rounds, until = [], time.perf_counter() + seconds
        while len(rounds) < 3 or time.perf_counter() < until:
            started = time.perf_counter()
            run(ids)
            rounds.append(time.perf_counter() - started)
        results[str(batch)] = {
            "milliseconds": round(1000 * median(rounds), 3),
            "tokens_per_second": round(batch * TOKENS / median(rounds), 1),
            "rounds": len(rounds),
        }
    return results


def work(options):
    """Measures one variant in this process; JSON on the last line of stdout."""
    output_format, _ = VARIANTS[options.variant]
    if output_format is None:
        run = run_keras(options)
    elif output_format == "saved_model":
        run = run_saved_model(options.path, options.threads)
    else:
        from keras_elmo.export import load_graph

        run = load_graph(options.path, options.threads)
    print(json.dumps(measure(run, options.folder, options.seconds)))


def export(variant, backbone, folder):
    """Writes a variant; (path of the version, its bytes, what the export told)."""
    from keras_elmo.export import export_graph, export_saved_model

    output_format, dtype = VARIANTS[variant]
    if output_format == "saved_model":
        told = export_saved_model(backbone, folder)
    else:
        told = export_graph(backbone, folder, output_format, dtype)
    path = Path(told["directory"])
    size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path, size, told


def start(variant, options, path, folder):
    """`work` in a process of its own, with this run's threads."""
    command = [sys.executable, __file__, "--variant", variant, "--path", str(path)]
    command += ["--folder", folder, "--threads", str(options.threads)]
    command += ["--seconds", str(options.seconds), "--output", str(options.output)]
    command += ["--model", options.model] if options.model else ["--size", options.size]
    threads = str(options.threads)
    done = subprocess.run(
        command,
        env={
            **os.environ,
            "OMP_NUM_THREADS": threads,
            "TF_NUM_INTRAOP_THREADS": threads,
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def table(results):
    """Markdown: a row a variant; milliseconds and tokens/s by batch, megabytes."""
    heads = [f"{b}: ms | tokens/s" for b in BATCHES]
    lines = ["| | " + " | ".join(heads) + " | MB | cosine to float32 |"]
    lines.append("|---" * (2 * len(BATCHES) + 3) + "|")
    for variant in VARIANTS:
        if variant not in results["variants"]:
            continue
        found = results["variants"][variant]
        cells = []
        for batch in map(str, BATCHES):
            one = found["batches"][batch]
            cells += [f"{one['milliseconds']:.1f}", f"{one['tokens_per_second']:,.0f}"]
        size, cosine = found.get("bytes"), found.get("cosine_similarity")
        cells.append("" if size is None else f"{size / 1e6:.1f}")
        cells.append("" if cosine is None else f"{cosine:.6f}")
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a preset; else a model of --size")
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=3.0, help="a batch size")
    parser.add_argument("--note", help="kept with the results")
    for name in ("--variant", "--path", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant:
        work(options)
        return
    import keras
    import numpy as np

    results: dict = {"variants": {}}
    if options.output.exists():
        results = json.loads(options.output.read_text("utf-8"))
    backbone = make_model(options)
    results |= {
        "model": options.model or options.size,
        "parameters": backbone.count_params(),
        "keras_backend": keras.backend.backend(),
        "threads": options.threads,
        "tokens_a_sentence": TOKENS,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "note": options.note,
    }
    with tempfile.TemporaryDirectory() as folder:
        for batch in BATCHES:
            np.save(f"{folder}/ids_{batch}.npy", make_ids(backbone, batch))
        for number, variant in enumerate(options.variants):
            if variant in results["variants"]:
                continue
            found, path = {}, ""
            if VARIANTS[variant][0] is not None:
                directory = Path(folder) / str(number)
                path, found["bytes"], told = export(variant, backbone, directory)
                found["max_difference"] = told.get("max_difference")
                found["cosine_similarity"] = told.get("cosine_similarity")
            found["batches"] = start(variant, options, path, folder)
            results["variants"][variant] = found
            print(variant, json.dumps(found), flush=True)
            with atomic_path(options.output, overwrite=True) as temporary:
                temporary.write_text(json.dumps(results, indent=1), "utf-8")
    print(table(results))


if __name__ == "__main__":
    main()

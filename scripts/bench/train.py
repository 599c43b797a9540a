"""Words a second of pretraining, and where the time goes, on each backend.

    python scripts/bench/train.py [--backends jax torch tensorflow] [--output FILE]

`small` (1024/128, 2048 filters, 1 highway layer) on text from a Zipf distribution over
50,000 words, 1,024 negatives, Adagrad, dropout 0.1, unroll 20, float32: the work that
bilm-tf was measured on. Each backend runs in a process of its own, one after the other,
and measures the machine's matrix-product rate in the same minute. JSON on stdout.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import time

from products import matrix_product_rate

ROOT = pathlib.Path(__file__).resolve().parents[2]
BACKENDS = ("jax", "torch", "tensorflow")
WORDS = 50_000
# bilm-tf 0.1.post5 (TensorFlow 1.15.5) on the same work at batch 32, two threads of a
# 2-core Xeon with 105 to 126 GFLOP/s of float32 matrix products: median of words/s.
RIVAL = 183.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", nargs="+", default=BACKENDS, choices=BACKENDS)
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[32, 128])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-parts", action="store_true", help="words/s alone")
    parser.add_argument("--output", help="file for the JSON, besides stdout")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options)))
        return
    found = {}
    for backend in options.backends:
        command = [sys.executable, __file__, "--one", backend]
        command += ["--batch-sizes", *map(str, options.batch_sizes)]
        command += ["--steps", str(options.steps)]
        command += ["--no-parts"] * options.no_parts
        environment = {
            **os.environ,
            "KERAS_BACKEND": backend,
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), os.environ.get("PYTHONPATH", "")]
        )
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, check=True, text=True
        )
        found[backend] = json.loads(done.stdout.splitlines()[-1])
        show(backend, found[backend])
    text = json.dumps(found, indent=2)
    print(text)
    if options.output:
        pathlib.Path(options.output).write_text(text + "\n", encoding="utf-8")


def show(backend, found):
    rate = found["matrix_product_gflops"]
    for batch_size, row in found["batch_sizes"].items():
        print(
            f"{backend:11} batch {batch_size:>3}: "
            f"{row['words_per_second']:7.0f} words/s "
            f"({row['words_per_second'] / RIVAL:.1f} x bilm-tf at 32), "
            f"{100 * row['share_of_matrix_product']:.0f} % of {rate:.0f} GFLOP/s",
            file=sys.stderr,
        )
        for name, seconds in row.get("seconds", {}).items():
            print(f"    {name:10} {1000 * seconds:8.1f} ms", file=sys.stderr)


def zipf_corpus(sentences=4000, seed=0):
    """Sentences of 5 to 50 tokens over words whose length grows with their rank."""
    import numpy as np

    import keras_elmo

    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlcumwfgypbvkjxqz"))
    odds = 1.0 / (np.arange(26) + 3.0)
    odds /= odds.sum()
    words, seen = [], set()
    while len(words) < WORDS:
        length = max(1, rng.poisson(1.5 + 0.75 * np.log1p(len(words))))
        word = "".join(rng.choice(letters, size=length, p=odds))
        if word not in seen:
            seen.add(word)
            words.append(word)
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])
    ranks = 1.0 / (np.arange(WORDS) + 2.7)
    ranks /= ranks.sum()
    text = [
        [words[i] for i in rng.choice(WORDS, size=rng.integers(5, 39), p=ranks)]
        for _ in range(sentences)
    ]
    return keras_elmo.data.Corpus.from_sentences(text, vocabulary)


def measure(options):
    import keras

    corpus, backend = zipf_corpus(), keras.backend.backend()
    rate = matrix_product_rate(backend)
    found = {
        "backend": backend,
        "batch_sizes": {},
    }
    for batch_size in options.batch_sizes:
        found["batch_sizes"][batch_size] = measure_batch(corpus, batch_size, options)
    found["matrix_product_gflops"] = rate = max(rate, matrix_product_rate(backend))
    for row in found["batch_sizes"].values():
        row["share_of_matrix_product"] = row["gflops_per_second"] / rate
    return found


def batches_of(corpus, model, settings):
    from keras_elmo.data import StreamBatches

    found = StreamBatches(
        corpus,
        model.backbone,
        settings.batch_size,
        settings.unroll,
        num_negatives=settings.num_negatives,
    )
    # The most frequent shape alone, so that no compilation is timed.
    shapes: collections.Counter = collections.Counter()
    every = []
    for i in range(min(len(found), 40)):
        batch = found[i]
        shape = (len(batch[0]["tokens"]), len(batch[0]["long_tokens"]))
        shapes[shape] += 1
        every.append((shape, batch))
    common, _ = shapes.most_common(1)[0]
    begin = time.perf_counter()
    for i in range(10):
        found[i % len(found)]
    return [b for s, b in every if s == common], (time.perf_counter() - begin) / 10


def repeated(batches, steps):
    import keras

    class Repeated(keras.utils.PyDataset):
        def __len__(self):
            return steps

        def __getitem__(self, index):
            return batches[index % len(batches)]

    return Repeated()


def best_step(model, batches, steps):
    """Seconds a step in `fit`: the median, once compiled."""
    import keras
    import numpy as np

    class Clock(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.at = [time.perf_counter()]

        def on_train_batch_end(self, batch, logs):
            float(logs["loss"])  # waits for the step
            self.at.append(time.perf_counter())

    model.fit(repeated(batches, 3), verbose=0, shuffle=False)
    clock = Clock()
    model.fit(repeated(batches, steps), verbose=0, shuffle=False, callbacks=[clock])
    return float(np.median(np.diff(clock.at)[1:]))


def measure_batch(corpus, batch_size, options):
    from keras_elmo.training import settings_of
    from keras_elmo.training.build import (
        build_model,
        build_optimizer,
        compile_model,
    )

    settings = settings_of("small-paper", {"batch_size": batch_size})
    model = build_model(settings, corpus.vocabulary)
    batches, data_seconds = batches_of(corpus, model, settings)
    compile_model(model, build_optimizer(settings, 1000))
    seconds = best_step(model, batches, options.steps)
    words = batch_size * settings.unroll
    flops = floating_point_operations(model, batches[0], words)
    row = {
        "words_per_second": words / seconds,
        "milliseconds_a_step": 1000 * seconds,
        "mflop_a_word": flops / words / 1e6,
        "gflops_per_second": flops / seconds / 1e9,
        "table": [len(batches[0][0]["tokens"]), len(batches[0][0]["long_tokens"])],
    }
    if not options.no_parts:
        row["seconds"] = {"data": data_seconds, **parts(model, batches[0], options)}
        rest = seconds - sum(t for n, t in row["seconds"].items() if n != "data")
        row["seconds"]["optimizer and rest"] = rest
    return row


def floating_point_operations(model, batch, words):
    """On paper, forward and backward, for the tokens and positions that are real."""
    backbone, x = model.backbone, batch[0]
    size, hidden = backbone.projection_dim, backbone.hidden_dim
    filters = sum(number for _, number in backbone.char_cnn_filters)
    total = 0.0
    for name in ("tokens", "long_tokens"):
        rows, width = int((x[name] != 0).any(axis=1).sum()), x[name].shape[1]
        windows = sum(w * n * (width - w + 1) for w, n in backbone.char_cnn_filters)
        token = windows * backbone.character_embedding_dim
        token += backbone.num_highway_layers * 2 * filters**2 + filters * size
        total += 2 * rows * token
    lstm = 8 * size * hidden + hidden * size
    total += 2 * words * 2 * backbone.num_layers * lstm
    negatives = len(x["negatives"]["forward"]["sampled_ids"])
    total += 2 * words * 2 * size * (negatives + 1)
    return 3 * total


def parts(model, batch, options):
    """Seconds of each part's forward and backward pass alone."""
    import keras
    import numpy as np

    from keras_elmo.training.build import compile_model

    x, y, _ = batch
    backbone = model.backbone
    shape = (*x["forward"].shape, backbone.projection_dim)
    noise = np.random.default_rng(0).normal(size=shape).astype("float32")

    class Part(keras.Model):
        """A function of the batch and its gradient."""

        def __init__(self, layers, function):
            super().__init__()
            self.parts, self.function = layers, function
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
            self.built = True

        def call(self, inputs, training=None):
            return self.function(inputs, self.scale)

        def compute_loss(self, x=None, y=None, y_pred=None, *_, **__):
            return y_pred

    def embedder(inputs, scale):
        found = [
            backbone.token_embedder(inputs[n], training=True)
            for n in ("tokens", "long_tokens")
        ]
        return sum(keras.ops.mean(vectors * vectors) for vectors in found) * scale

    def lstms(inputs, scale):
        total = 0.0
        for stack in (backbone.encoder.forward_stack, backbone.encoder.backward_stack):
            top = stack(inputs["noise"] * scale, training=True)[-1]
            total = total + keras.ops.mean(top * top)
        return total

    def softmax(inputs, scale):
        total = 0.0
        for direction in ("forward", "backward"):
            losses = model.sampled_nll(
                inputs["noise"] * scale,
                inputs["targets"],
                inputs["negatives"][direction],
            )
            total = total + keras.ops.mean(losses)
        return total

    everything = {**x, "noise": noise, "targets": y["forward"]}
    found = {}
    for name, layers, function in (
        ("embedder", [backbone.token_embedder], embedder),
        ("LSTMs", [backbone.encoder], lstms),
        ("softmax", [model.softmax], softmax),
    ):
        part = Part(layers, function)
        compile_model(part, keras.optimizers.SGD(0.0))
        found[name] = best_step(part, [(everything, np.zeros(1))], options.steps)
    return found


if __name__ == "__main__":
    main()

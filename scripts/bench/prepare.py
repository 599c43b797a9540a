"""How fast `keras-elmo prepare` is and what it takes: JSON on stdout.

Text of a Zipf distribution is written in shards to a temporary folder, which is removed
at the end. `prepare` runs in a process of its own, so that its peak is its own.

    python scripts/bench/prepare.py --tokens 100_000_000 --types 500_000
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

CHUNK = 250_000
SHARD = 5_000_000
MEAN_SENTENCE = 25  # that of the 1 Billion Word Benchmark


def make_words(number, rng):
    """Distinct words of some 8 letters; frequent ones are shorter, as in language."""
    letters = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", "uint8")
    words: dict[bytes, None] = {}
    while len(words) < number:
        shortest = 2 + int(np.log2(len(words) + 2) / 4)
        lengths = shortest + rng.poisson(2, 10_000)
        text = letters[rng.zipf(1.3, lengths.sum()) % 26].tobytes()
        ends = np.cumsum(lengths)
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
            words[text[end - length : end]] = None
    return np.array(list(words)[:number], object)


def write_text(folder, tokens, types, rng, tail=False):
    """Shards of sentences; the number of bytes."""
    words = make_words(types, rng)
    ranks = np.arange(types)
    # Zipf and Mandelbrot: rank r is drawn as 1 / (r + 2.7). In language rare words are
    # rarer than that: from a rank of some 10,000 on as 1 / r ** 2.
    odds = 1 / (ranks + 2.7)
    if tail:
        odds /= 1 + ranks / 10_000
    odds = np.cumsum(odds)
    odds /= odds[-1]
    written = size = 0
    while written < tokens:
        shard = min(SHARD, tokens - written)
        with open(folder / f"shard-{written // SHARD:05}.txt", "wb") as file:
            for start in range(0, shard, CHUNK):
                number = min(CHUNK, shard - start)
                drawn = words[np.searchsorted(odds, rng.random(number))].tolist()
                ends = np.cumsum(1 + rng.poisson(MEAN_SENTENCE - 1, number))
                ends = [0, *ends[ends < number].tolist(), number]
                lines = (b" ".join(drawn[first:last]) for first, last in pairwise(ends))
                file.write(b"\n".join(lines) + b"\n")
            size += file.tell()
        written += shard
    return size


def peak(who):
    """Peak resident memory in MB."""
    unit = 1 if platform.system() == "Darwin" else 1024
    return round(resource.getrusage(who).ru_maxrss * unit / 1e6)


def cpu_seconds():
    """Processor time of the processes that ended: other load hardly changes it."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--types", type=int, default=500_000)
    parser.add_argument("--min-count", type=int, default=1)
    parser.add_argument(
        "--tail", action="store_true", help="rare words as rare as in language"
    )
    parser.add_argument("--folder", help="where the temporary folder is made")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        size = write_text(
            folder, arguments.tokens, arguments.types, rng, arguments.tail
        )
        # A process starts with the peak of the one that started it.
        generator_peak = peak(resource.RUSAGE_SELF)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", "import keras_elmo"], check=True, env=environment
        )
        import_seconds = time.perf_counter() - start
        import_peak = peak(resource.RUSAGE_CHILDREN)
        import_cpu = cpu_seconds()
        start = time.perf_counter()
        told = subprocess.run(
            [
                *(sys.executable, "-m", "keras_elmo", "prepare", f"{folder}/*.txt"),
                *("--output", f"{folder}/corpus", "--json"),
                *("--min-count", str(arguments.min_count)),
            ],
            check=True,
            env=environment,
            stdout=subprocess.PIPE,
        )
        seconds = time.perf_counter() - start
        # Less what the import took, in both processes.
        cpu = cpu_seconds() - 2 * import_cpu
        store = {
            path.name: path.stat().st_size for path in (folder / "corpus").iterdir()
        }
    summary = json.loads(told.stdout)
    result = {
        **{key: value for key, value in summary.items() if key != "output"},
        "text_bytes": size,
        "seconds": round(seconds, 1),
        "seconds_without_import": round(seconds - import_seconds, 1),
        "tokens_per_second": round(summary["tokens"] / (seconds - import_seconds)),
        "cpu_seconds_without_import": round(cpu, 1),
        "tokens_per_cpu_second": round(summary["tokens"] / cpu),
        "peak_rss_mb": peak(resource.RUSAGE_CHILDREN),
        "peak_rss_of_import_mb": import_peak,
        "peak_rss_of_generator_mb": generator_peak,
        "store_bytes": store,
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

"""What the probes share: names of layers, runs over seeds, limits of examples."""

from collections.abc import Callable, Sequence

import numpy as np

from keras_elmo.evaluation.linear_probe import (
    MIX,
    LinearProbe,
    ProbeExamples,
    ProbeResult,
)
from keras_elmo.evaluation.token_layers import MEAN

SEEDS = (0, 1, 2)
# Of the choice of examples where there is a limit: all seeds probe the same ones.
LIMIT_SEED = 0
WORD2VEC_AVERAGE = "word2vec average"


def layer_names(number: int) -> dict[str, int | str]:
    """Names of what is probed, "layer 0" to "mix", and which layers each is.

    Args:
        number: int, how many layers there are (L + 1).
    """
    return {**{f"layer {i}": i for i in range(number)}, MEAN: MEAN, MIX: MIX}


def average_names(number: int) -> dict[str, int]:
    """Names of averages over a sentence, "layer 0 average" to the top layer's.

    Layer 0's vectors are static, as word2vec's are.

    Args:
        number: int, how many layers there are (L + 1).
    """
    return {f"layer {i} average": i for i in range(number)}


# Of vectors that are the same for a word's every use, but for the average.
STATIC_AVERAGES = (*average_names(1), WORD2VEC_AVERAGE)


def run_seeds(
    train: ProbeExamples,
    test: ProbeExamples,
    layer: int | str,
    seeds: Sequence[int],
    steps: int,
    score: Callable[[ProbeResult], float] = lambda result: result.accuracy,
) -> dict:
    """A probe for each seed.

    Args:
        train: `ProbeExamples`.
        test: `ProbeExamples`.
        layer: as `LinearProbe` takes it.
        seeds: ints.
        steps: int.
        score: `ProbeResult` to the number that is told.

    Returns:
        dict: "accuracy", the mean, "deviation" over the seeds, "runs" and, of a mix,
        "mix_weights" of each run.
    """
    probe = LinearProbe(train, layer, steps)
    results = [probe.run(test, seed) for seed in seeds]
    found = summary([score(result) for result in results])
    mixes = [result.mix_weights for result in results if result.mix_weights]
    return {**found, "mix_weights": mixes} if mixes else found


def summary(runs: Sequence[float]) -> dict:
    """The mean of runs as "accuracy", their "deviation", and the "runs"."""
    deviation = float(np.std(runs, ddof=1)) if len(runs) > 1 else 0.0
    return {
        "accuracy": float(np.mean(runs)),
        "deviation": deviation,
        "runs": list(map(float, runs)),
    }


def limited(rows: list, limit: int | None, size: Callable = lambda row: 1) -> list:
    """Rows in a random order until their sizes sum to `limit`; all where it is None."""
    if limit is None or sum(map(size, rows)) <= limit:
        return rows
    chosen, total = [], 0
    for i in np.random.default_rng(LIMIT_SEED).permutation(len(rows)):
        total += size(rows[i])
        if total > limit and chosen:
            break
        chosen.append(rows[i])
    return chosen

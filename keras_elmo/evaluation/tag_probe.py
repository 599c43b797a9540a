"""What a biLM's layers know of tokens' tags: parts of speech, chunks."""

from collections import Counter
from collections.abc import Sequence
from os import PathLike

import numpy as np

from keras_elmo.evaluation.layer_runs import SEEDS, layer_names, limited, run_seeds
from keras_elmo.evaluation.linear_probe import STEPS, ProbeExamples
from keras_elmo.evaluation.token_layers import TokenLayers
from keras_elmo.tasks.columns import read_columns


def probe_tags(
    train: str | PathLike,
    test: str | PathLike,
    layers: TokenLayers,
    *,
    tag: int | str | None = None,
    seeds: Sequence[int] = SEEDS,
    limit: int | None = None,
    steps: int = STEPS,
) -> dict:
    """Accuracy of linear probes of tokens' tags, by layer.

    Args:
        train: file of tokens and tags, as `keras_elmo.tasks.columns` reads it.
        test: another.
        layers: `TokenLayers`.
        tag: which tag, as `read_columns` takes it.
        seeds: ints, a probe each.
        limit: int, tokens to learn from at most, sentences in a random order; None
            for all.
        steps: int, batches a probe learns from.

    Returns:
        dict: "classes", "train", "test" (numbers), "most_frequent" (accuracy of the
        most frequent tag) and "layers": by name "accuracy" (the mean over seeds),
        "deviation", "runs", and for the mix "mix_weights" of each run.

    Raises:
        ValueError: when a file is not of the form.

    Reference: Peters et al. 2018, section 5.3.

    Example:
    ```python
    layers = TokenLayers(backbone)
    found = probe_tags("train.conllu", "test.conllu", layers)
    print(found["layers"]["layer 1"]["accuracy"])
    ```
    """
    learned = limited(read_columns(train, tag), limit, lambda row: len(row.tokens))
    scored = read_columns(test, tag)
    counts = Counter(tag for row in learned for tag in row.tags)
    numbers = {name: i for i, name in enumerate(sorted(counts))}

    def examples(sentences):
        targets = [numbers.get(tag, -1) for row in sentences for tag in row.tags]
        vectors = layers.tokens([row.tokens for row in sentences])
        return ProbeExamples(vectors, np.array(targets))

    train_examples, test_examples = examples(learned), examples(scored)
    most_frequent = numbers[counts.most_common(1)[0][0]]
    return {
        "classes": len(numbers),
        "train": len(train_examples),
        "test": len(test_examples),
        "most_frequent": float(np.mean(test_examples.targets == most_frequent)),
        "layers": {
            name: run_seeds(train_examples, test_examples, layer, seeds, steps)
            for name, layer in layer_names(layers.number).items()
        },
    }

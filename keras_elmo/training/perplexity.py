"""Perplexities that count every token once, with the full softmax."""

import itertools
import math
from collections import Counter

import numpy as np
from keras import ops

from keras_elmo.data.sentence_batches import SentenceBatches
from keras_elmo.models.elmo_bilm import DIRECTIONS

# Sentences that are sorted by length together.
WINDOW = 4096
# Scores held at once, 16 MB in float32.
SCORES = 1 << 22
# exp of more is no float.
MOST_NATS = 709.0


def perplexity(model, sentences, vocabulary, batch_size=32):
    """Perplexity of held-out sentences, each read on its own.

    Args:
        model: `ElmoBiLM`.
        sentences: iterable of token sequences; no more than a window of them is held.
        vocabulary: `Vocabulary` of the model's targets.
        batch_size: int, sentences a batch.

    Returns:
        dict: "forward_perplexity", "backward_perplexity", "perplexity" (exp of the
        mean of both directions' mean negative log-likelihood), "tokens" (words and
        sentences, one direction).

    Raises:
        ValueError: when there is no sentence.
    """
    sentences = iter(sentences)

    def batches():
        while window := list(itertools.islice(sentences, WINDOW)):
            yield from SentenceBatches(window, model.backbone, vocabulary, batch_size)

    return perplexity_of_batches(model, batches())


def perplexity_of_batches(model, batches):
    """Perplexity of a language model's batches, with the full softmax.

    Args:
        model: `ElmoBiLM`.
        batches: iterable of (x, y, sample_weight) as `ElmoBiLM` takes them, without
            negatives.

    Returns:
        dict, as `perplexity` returns it.

    Raises:
        ValueError: when the batches hold no target.
    """
    totals = dict.fromkeys(DIRECTIONS, 0.0)
    tokens = 0
    for x, y, weight in batches:
        hidden = model.predict_on_batch(x)
        for direction in DIRECTIONS:
            real = weight[direction] > 0
            totals[direction] += _sum_nll(
                model, np.asarray(hidden[direction])[real], y[direction][real]
            )
        tokens += int(weight["forward"].sum())
    if tokens == 0:
        raise ValueError("`sentences` must hold at least one sentence. Received: none.")
    means = {d: totals[d] / tokens for d in DIRECTIONS}
    return {
        "forward_perplexity": _exp(means["forward"]),
        "backward_perplexity": _exp(means["backward"]),
        "perplexity": _exp(0.5 * (means["forward"] + means["backward"])),
        "tokens": tokens,
    }


def _exp(mean):
    """exp, infinite where the number is too large for a float."""
    return math.exp(mean) if mean < MOST_NATS else math.inf


def _sum_nll(model, hidden, targets):
    """Sum of negative log-likelihoods, over few positions at a time.

    The scores of a chunk take SCORES numbers whatever the size of the vocabulary, and
    all chunks have one shape.
    """
    size = max(1, SCORES // model.vocabulary_size)
    total = 0.0
    for start in range(0, len(targets), size):
        count = min(size, len(targets) - start)
        rows = np.zeros((size, hidden.shape[-1]), hidden.dtype)
        rows[:count] = hidden[start : start + count]
        words = np.zeros(size, "int32")
        words[:count] = targets[start : start + count]
        losses = ops.convert_to_numpy(model.nll(rows, words))[:count]
        total += float(losses.astype("float64").sum())
    return total


def unigram_perplexity(train, held_out, vocabulary):
    """Perplexity of word frequencies alone, over the same targets as `perplexity`.

    The odds are those of `train` with one added to each word's count; each sentence
    has its words and one marker to predict.

    Args:
        train: list of token sequences.
        held_out: list of token sequences.
        vocabulary: `Vocabulary`; other words count as `<UNK>`.

    Returns:
        float.
    """
    counts = Counter()
    for sentence in train:
        counts.update(vocabulary.ids(sentence).tolist())
        counts[vocabulary.end_sentence_id] += 1
    total = sum(counts.values()) + len(vocabulary)
    nll = tokens = 0
    for sentence in held_out:
        ids = [*vocabulary.ids(sentence).tolist(), vocabulary.end_sentence_id]
        nll -= sum(np.log((counts[i] + 1) / total) for i in ids)
        tokens += len(ids)
    return math.exp(nll / max(tokens, 1))

"""Perplexities that count every token once, with the full softmax."""

import math
from collections import Counter

import numpy as np
from keras import ops

from keras_elmo.data.sentence_batches import SentenceBatches
from keras_elmo.models.elmo_bilm import DIRECTIONS

# Scores held at once, 16 MB in float32.
SCORES = 1 << 22


def perplexity(model, sentences, vocabulary, batch_size=32):
    """Perplexity of held-out sentences, each read on its own.

    Args:
        model: `ElmoBiLM`.
        sentences: list of token sequences.
        vocabulary: `Vocabulary` of the model's targets.
        batch_size: int, sentences a batch.

    Returns:
        dict: "forward_perplexity", "backward_perplexity", "perplexity" (exp of the
        mean of both directions' mean negative log-likelihood), "tokens" (words and
        sentences, one direction).
    """
    batches = SentenceBatches(
        sentences,
        model.backbone,
        vocabulary,
        batch_size=batch_size,
        max_tokens=None,
        shuffle=False,
    )
    totals = dict.fromkeys(DIRECTIONS, 0.0)
    tokens = 0
    for index in range(len(batches)):
        x, y, weight = batches[index]
        hidden = model.predict_on_batch(x)
        for direction in DIRECTIONS:
            real = weight[direction] > 0
            totals[direction] += _sum_nll(
                model, np.asarray(hidden[direction])[real], y[direction][real]
            )
        tokens += int(weight["forward"].sum())
    means = {d: totals[d] / max(tokens, 1) for d in DIRECTIONS}
    return {
        "forward_perplexity": math.exp(means["forward"]),
        "backward_perplexity": math.exp(means["backward"]),
        "perplexity": math.exp(0.5 * (means["forward"] + means["backward"])),
        "tokens": tokens,
    }


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

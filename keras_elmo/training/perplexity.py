"""Perplexities that count every token once, with the full softmax."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from keras import ops

from keras_elmo import backend, checks
from keras_elmo.inference import Inference
from keras_elmo.layers.carried_state import DIRECTIONS
from keras_elmo.models.elmo_bilm import ElmoBiLM
from keras_elmo.shrinking_batches import ShrinkingBatches
from keras_elmo.text.characters import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    check_sentences,
    distinct_tokens,
)
from keras_elmo.text.vocabulary import Vocabulary

# Sentences that are sorted by length together.
WINDOW = 4096
# Sentences, and words, that are run together at most.
BATCH_SIZE = 128
MAX_TOKENS = 8192
# Positions scored together, and words they are scored against: 16 MB of scores.
# Measured for 800,000 words of size 512: the fastest on two cores.
POSITIONS = 1024
WORDS = 4096
# exp of more is no float.
MOST_NATS = 709.0


def perplexity(
    model: ElmoBiLM,
    sentences: Iterable[Sequence[str]],
    vocabulary: Vocabulary,
    batch_size: int = BATCH_SIZE,
) -> dict:
    """Perplexity of held-out sentences, each read on its own.

    Args:
        model: `ElmoBiLM`.
        sentences: iterable of token sequences; no more than a window of them is held.
            Words that the vocabulary lacks count as `<UNK>`.
        vocabulary: `Vocabulary` of the model's targets.
        batch_size: int, sentences run together. Changes no result.

    Returns:
        dict: floats "forward_perplexity", "backward_perplexity" and "perplexity" (exp
        of the mean of both directions' mean negative log-likelihood), int "tokens"
        (words and sentences, one direction).

    Raises:
        TypeError: when a sentence is no sequence of str.
        ValueError: when there is no sentence, or the vocabulary is not the model's.
    """
    if len(vocabulary) != model.vocabulary_size:
        raise ValueError(
            f"`vocabulary` must have one word a row of the model's softmax "
            f"(={model.vocabulary_size}). Received: {len(vocabulary)} words."
        )
    checked = check_sentences(sentences)
    batch_size = checks.positive_int("batch_size", batch_size)
    return _perplexity(model, _sentence_tops(model, checked, vocabulary, batch_size))


def _sentence_tops(model, sentences, vocabulary, batch_size):
    """Each sentence's top layers, and what they predict: its words and a marker.

    By the fast path of `embed`, without padding; each distinct token of a window is
    embedded once.
    """
    inference = Inference.of(model.backbone)
    dim = model.backbone.projection_dim
    run = functools.partial(inference.contextual_vectors, keep_boundaries=True)
    batches = ShrinkingBatches(run, batch_size, MAX_TOKENS)
    first = 0
    while window := list(itertools.islice(sentences, WINDOW)):
        tokens, rows = distinct_tokens(window)
        vectors = inference.token_vectors(tokens)
        # The markers stand behind the tokens, as in `vectors`.
        ids = vocabulary.ids([*tokens, BEGIN_SENTENCE, END_SENTENCE]) - 1
        for number, layers in batches.run(vectors, rows, first):
            words, top = ids[rows[number]], layers[-1]
            yield {
                "forward": (top[:-1, :dim], np.append(words, ids[-1])),
                "backward": (top[1:, dim:], np.insert(words, 0, ids[-2])),
            }
        first += len(window)


def perplexity_of_batches(model: ElmoBiLM, batches: Iterable[tuple]) -> dict:
    """Perplexity of a language model's batches, with the full softmax in float32.

    Args:
        model: `ElmoBiLM`.
        batches: iterable of (x, y, sample_weight) as `ElmoBiLM` takes them, without
            negatives; a target counts where its weight is above 0.

    Returns:
        dict, as `perplexity` returns it.

    Raises:
        ValueError: when the batches hold no target.
    """

    def tops():
        for x, y, weight in batches:
            hidden = model.predict_on_batch(x)
            real = {direction: weight[direction] > 0 for direction in DIRECTIONS}
            yield {
                direction: (np.asarray(hidden[direction])[at], y[direction][at])
                for direction, at in real.items()
            }

    return _perplexity(model, tops())


def _perplexity(model, tops):
    """Perplexity from both directions' top layers, (n, P), and targets, (n,)."""
    totals = {direction: _Total(model) for direction in DIRECTIONS}
    for top in tops:
        for direction, total in totals.items():
            total.add(*top[direction])
    tokens = totals["forward"].count
    if tokens == 0:
        raise ValueError("`sentences` must hold at least one sentence. Received: none.")
    forward, backward = (totals[direction].mean() for direction in DIRECTIONS)
    return {
        "forward_perplexity": _exp(forward),
        "backward_perplexity": _exp(backward),
        "perplexity": _exp(0.5 * (forward + backward)),
        "tokens": tokens,
    }


def _exp(mean):
    """exp, infinite where the number is too large for a float."""
    return math.inf if mean > MOST_NATS else math.exp(mean)


class _Total:
    """Sum of one direction's negative log-likelihoods.

    Positions wait until `POSITIONS` of them can be scored together: each reading of a
    large softmax serves as many as possible, and compilers see one shape.
    """

    def __init__(self, model):
        self._model = model
        dim = model.backbone.projection_dim
        self._hidden = np.zeros((POSITIONS, dim), "float32")
        self._targets = np.zeros(POSITIONS, "int32")
        self._waiting = 0
        self._sum = 0.0
        self.count = 0

    def add(self, hidden, targets):
        """Takes (n, P) top layers and their (n,) targets."""
        self.count += len(targets)
        while len(targets):
            start = self._waiting
            taken = min(POSITIONS - start, len(targets))
            self._hidden[start : start + taken] = hidden[:taken]
            self._targets[start : start + taken] = targets[:taken]
            hidden, targets = hidden[taken:], targets[taken:]
            self._waiting += taken
            if self._waiting == POSITIONS:
                self._score()

    def mean(self):
        """Mean of all that was added."""
        self._score()
        return self._sum / self.count

    def _score(self):
        losses = _nll(self._model, self._hidden, self._targets)
        self._sum += float(losses[: self._waiting].sum())
        self._waiting = 0


def _nll(model, hidden, targets):
    """`ElmoBiLM.nll` of (n, P) positions, a block of words at a time: float64, (n,).

    A softmax of all words at once would not only need (n, V) scores: outside a
    compiled function JAX and TensorFlow copy the whole (V, P) kernel to transpose it.
    """
    # Read each time: on JAX `predict_on_batch` gives the weights new arrays. Detached:
    # no graph for a gradient is kept.
    kernel = ops.stop_gradient(ops.convert_to_tensor(model.softmax_kernel))
    bias = ops.stop_gradient(ops.convert_to_tensor(model.softmax.bias))
    hidden = ops.convert_to_tensor(hidden)
    words, dim = kernel.shape
    # log of the sum of exp, block after block.
    normalizer = np.full(len(targets), -np.inf)
    for start in range(0, words, WORDS):
        size = min(WORDS, words - start)
        # Not kernel[start:stop], which JAX would compile anew for each `start`.
        rows = ops.cast(ops.slice(kernel, (start, 0), (size, dim)), "float32")
        shift = ops.cast(ops.slice(bias, (start,), (size,)), "float32")
        scores = backend.product(hidden, ops.transpose(rows), shift)
        block = ops.convert_to_numpy(ops.logsumexp(scores, axis=-1))
        with np.errstate(invalid="ignore"):  # NaN stays NaN, without a warning
            normalizer = np.logaddexp(normalizer, block.astype("float64"))
    rows = ops.cast(ops.take(kernel, targets, axis=0), "float32")
    shift = ops.cast(ops.take(bias, targets), "float32")
    of_targets = ops.convert_to_numpy(ops.sum(hidden * rows, axis=-1) + shift)
    return normalizer - of_targets.astype("float64")


def unigram_perplexity(
    train: Iterable[Sequence[str]],
    held_out: Iterable[Sequence[str]],
    vocabulary: Vocabulary,
) -> float:
    """Perplexity of word frequencies alone, over the same targets as `perplexity`.

    The odds are those of `train` with one added to each word's count; each sentence
    has its words and one marker to predict.

    Args:
        train: iterable of token sequences.
        held_out: iterable of token sequences.
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

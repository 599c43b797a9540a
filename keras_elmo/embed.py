"""Sentences to vectors: the function most users call.

Distinct tokens are embedded once a window of sentences; sentences of similar length
are run together; results come back in the order the sentences came in.
"""

from collections.abc import Iterable, Iterator
from os import PathLike

import numpy as np

from keras_elmo import checks
from keras_elmo.inference import DTYPES, Inference
from keras_elmo.layer_choice import LayerChoice
from keras_elmo.shrinking_batches import ShrinkingBatches
from keras_elmo.text.characters import check_sentences, distinct_tokens
from keras_elmo.token_cache import TokenCache

# Sentences looked at together: enough that most batches hold one length, few enough
# that memory stays small on a file of any length.
WINDOW = 1024
# As many tokens end a window too: its vectors are held together, and proteins are
# long.
WINDOW_TOKENS = 1 << 15
# So many that the recurrent products reach their full rate.
BATCH_SIZE = 256
MAX_TOKENS = 8192


def embed(
    sentences: Iterable[Iterable[str]],
    backbone,
    layers: str | int = "mix",
    pooling: str | None = None,
    *,
    batch_size: int = BATCH_SIZE,
    max_tokens: int = MAX_TOKENS,
    token_cache: TokenCache | str | PathLike | None = None,
    dtype: str = "float32",
) -> np.ndarray:
    """Contextual vectors of sentences, as one array.

    Args:
        sentences: iterable of token sequences (lists, tuples, NumPy string arrays,
            generators), without sentence markers.
        backbone: `ElmoBackbone`.
        layers: "mix" (the backbone's mix weights and gamma, equal weights where it
            has none), "mean", "sum", "top", "all", or a layer's index.
        pooling: None for a vector a token, "mean" for a vector a sentence, over its
            real tokens; an empty sentence gives zeros.
        batch_size: int, sentences run together at most.
        max_tokens: int, tokens run together at most; a longer sentence is run alone,
            whatever its length: memory grows by its vectors alone. Neither changes a
            result. When memory does not suffice, the one that limits the batch is
            halved, with a warning.
        token_cache: `TokenCache` or the path of one: vectors of frequent tokens that
            need not be computed again. Changes no result; checked at each call.
        dtype: "float32", or what the LSTMs' matrices are rounded to: "bfloat16",
            "float16", or "int8" with a scale an output. Faster where the processor
            multiplies it, on PyTorch, and most of all for single sentences; token
            embeddings and sums stay in float32.

    Returns:
        NumPy float32. (batch, time, dim), 0 where padded; (batch, L + 1, time, dim)
        for `layers="all"`; without the time axis for `pooling="mean"`.

    Raises:
        TypeError: when a sentence or a token has another type, naming its position.
        ValueError: when an option is not one of those above, or the token cache was
            made from other weights.
        MemoryError: when memory does not suffice for a sentence alone, naming it.

    Example:
    ```python
    vectors = keras_elmo.embed([["The", "bank", "."], ["Hi"]], backbone)
    ```
    """
    results = list(
        embed_iter(
            sentences,
            backbone,
            layers,
            pooling,
            batch_size=batch_size,
            max_tokens=max_tokens,
            token_cache=token_cache,
            dtype=dtype,
        )
    )
    choice = LayerChoice(layers, backbone)
    if pooling is not None:
        shape = (0, *choice.shape(backbone.output_dim))
        return np.stack(results) if results else np.zeros(shape, "float32")
    longest = max((vectors.shape[-2] for vectors in results), default=0)
    padded = np.zeros(
        (len(results), *choice.shape(longest, backbone.output_dim)), "float32"
    )
    for row, vectors in zip(padded, results, strict=True):
        row[..., : vectors.shape[-2], :] = vectors
    return padded


def embed_iter(
    sentences: Iterable[Iterable[str]],
    backbone,
    layers: str | int = "mix",
    pooling: str | None = None,
    *,
    batch_size: int = BATCH_SIZE,
    max_tokens: int = MAX_TOKENS,
    token_cache: TokenCache | str | PathLike | None = None,
    dtype: str = "float32",
) -> Iterator[np.ndarray]:
    """Contextual vectors of sentences, one array a sentence, in flat memory.

    Takes the arguments of `embed` and reads `sentences` no further ahead than it must.

    Returns:
        iterator of NumPy float32 in the order of `sentences`: (time, dim), or
        (L + 1, time, dim) for `layers="all"`; without the time axis for
        `pooling="mean"`.

    Example:
    ```python
    lines = (line.split() for line in ["The bank .", "Hi"])
    for vectors in keras_elmo.embed_iter(lines, backbone):
        print(vectors.shape)
    ```
    """
    if pooling not in (None, "mean"):
        raise ValueError(checks.received("pooling", pooling, 'None or "mean"'))
    inference = Inference.of(backbone)
    choice = LayerChoice(layers, backbone)
    batch_size = checks.positive_int("batch_size", batch_size)
    max_tokens = checks.positive_int("max_tokens", max_tokens)
    checks.one_of("dtype", dtype, DTYPES)
    if token_cache is not None:
        token_cache = TokenCache.of(token_cache, backbone)
    checked = check_sentences(sentences)

    def run(vectors, indices):
        # At once, so that no batch is held with all its layers.
        for all_layers in inference.contextual_vectors(vectors, indices, dtype):
            yield _finish(all_layers, choice, pooling, inference)

    batches = ShrinkingBatches(run, batch_size, max_tokens)
    # The checks above are made now, not when the first vector is asked for.
    return _embed_windows(checked, inference, batches, token_cache)


def _embed_windows(sentences, inference, batches, token_cache):
    first = 0
    for window in _windows(sentences):
        tokens, indices = distinct_tokens(window)
        vectors = inference.token_vectors(tokens, token_cache)
        results = [np.zeros(0)] * len(window)
        for row, result in batches.run(vectors, indices, first):
            results[row] = result
        yield from results
        first += len(window)


def _windows(sentences):
    """Lists of sentences, each ended by the sentence that fills it."""
    window, tokens = [], 0
    for sentence in sentences:
        window.append(sentence)
        tokens += len(sentence)
        if len(window) >= WINDOW or tokens >= WINDOW_TOKENS:
            yield window
            window, tokens = [], 0
    if window:
        yield window


def _finish(layers, choice, pooling, inference):
    """(L + 1, time, dim) of one sentence to what the caller asked for."""
    if pooling is None:
        return choice(layers)
    # Sentence markers are no tokens of the sentence.
    edge = 1 if inference.keep_boundaries else 0
    tokens = layers[:, edge : layers.shape[1] - edge]
    # Over 10,000 tokens a sum in float32 is wrong in the fifth digit.
    total = tokens.sum(axis=1, keepdims=True, dtype="float64")
    mean = (total / max(tokens.shape[1], 1)).astype(tokens.dtype)
    return choice(mean)[..., 0, :]

"""The backbone's two halves: token vectors, then their context."""

import keras
import numpy as np

from keras_elmo.packed_context import PackedContext
from keras_elmo.shapes import power_of_two, round_up
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer

# Tokens embedded in one call, and the sizes smaller calls are padded to, so that a
# compiler sees a bounded number of shapes.
TOKEN_CHUNK = 512
SMALLEST_TOKEN_CHUNK = 16
CHARACTER_STEP = 8
# Sentences of a batch on the general path, where padding costs time and memory.
GENERAL_BATCH = 32
# What the LSTMs' matrices can be rounded to.
DTYPES = ("float32", "bfloat16", "float16", "int8")


class Inference:
    """Runs a backbone's token embedder and encoder on host arrays.

    A token's vector does not depend on its sentence, so that each distinct token is
    embedded once and gathered.

    Args:
        backbone: `ElmoBackbone`. Its weights are read at each call.
    """

    def __init__(self, backbone):
        self.keep_boundaries = backbone.keep_boundaries
        self.num_outputs = backbone.num_outputs
        self.tokenizer = ElmoTokenizer.of(backbone)
        self.is_characters = self.tokenizer.ids_width is not None
        self.widest_filter = max(
            (width for width, _ in backbone.char_cnn_filters or []), default=0
        )
        # Not attributes of the backbone: it would save their layers twice.
        shape = (None,) if self.is_characters else ()
        ids = keras.Input(shape, dtype="int32")
        self._token_model = keras.Model(ids, backbone.token_embedder(ids))
        vectors = keras.Input((None, backbone.projection_dim))
        mask = keras.Input((None,), dtype="bool")
        self._encoder = backbone.encoder
        self._packed = {}
        self._context_model = keras.Model(
            [vectors, mask], backbone.encoder(vectors, mask=mask)
        )

    @classmethod
    def of(cls, backbone):
        """The one `Inference` of a backbone, made when first asked for."""
        if not isinstance(backbone, keras.Model) or not hasattr(
            backbone, "token_embedder"
        ):
            raise TypeError(
                "`backbone` must be an ElmoBackbone. Received: "
                f"backbone={backbone!r} of type {type(backbone).__name__}."
            )
        vocabulary = backbone.vocabulary
        made = getattr(backbone, "_inference", None)
        if made is None or made.tokenizer.vocabulary is not vocabulary:
            made = cls(backbone)
            backbone._inference = made
        return made

    def token_vectors(self, tokens, cache=None):
        """Context-free vectors of distinct tokens, and of the two markers.

        Args:
            tokens: list of str.
            cache: `TokenCache` that was checked, or None.

        Returns:
            float32, (len(tokens) + 2, P); the last two rows are the markers.
        """
        tokens = [*tokens, *self.tokenizer.markers]
        if cache is not None:
            return cache.vectors(tokens, self._embed_tokens)
        return self._embed_tokens(tokens)

    def _embed_tokens(self, tokens):
        ids = self.tokenizer.encode_tokens(tokens)
        if not self.is_characters:
            return self._embed_chunk(ids)
        # Short tokens together: a chunk is as wide as its longest token.
        ends = used_characters(ids)
        order = np.argsort(ends, kind="stable")
        vectors = None
        for start in range(0, len(order), TOKEN_CHUNK):
            rows = order[start : start + TOKEN_CHUNK]
            width = character_width(ends[rows].max(), self.widest_filter, ids.shape[1])
            chunk = self._embed_chunk(ids[rows, :width])
            if vectors is None:
                vectors = np.empty((len(ids), chunk.shape[1]), "float32")
            vectors[rows] = chunk
        return vectors

    def _embed_chunk(self, ids):
        number = len(ids)
        ids = _pad_rows(ids, _token_rows(number))
        return _float32(self._token_model.predict_on_batch(ids))[:number]

    def contextual_vectors(
        self, vectors, sentences, dtype="float32", keep_boundaries=None
    ):
        """Every layer's vectors of a batch of sentences.

        Args:
            vectors: float32, (tokens + 2, P) of `token_vectors`.
            sentences: list of int arrays, each sentence's rows of `vectors`.
            dtype: what the LSTMs' matrices are rounded to, one of `DTYPES`.
            keep_boundaries: bool, whether to give the sentence markers' vectors too, or
                None for what the backbone does.

        Returns:
            iterator of float32, each (L + 1, time, 2 P).

        Raises:
            ValueError: when `dtype` is another than float32 and the backbone's encoder
                has no fast path.
        """
        if keep_boundaries is None:
            keep_boundaries = self.keep_boundaries
        if not PackedContext.fits(self._encoder):
            if dtype != "float32":
                raise ValueError(
                    f"`dtype` must be 'float32' for a {type(self._encoder).__name__} "
                    f"that computes in {self._encoder.compute_dtype} on "
                    f"{keras.backend.backend()}. Received: dtype={dtype!r}."
                )
            return self._general_contextual_vectors(vectors, sentences, keep_boundaries)
        if dtype not in self._packed:
            self._packed[dtype] = PackedContext(self._encoder, dtype)
        return self._packed[dtype](vectors, sentences, keep_boundaries)

    def _general_contextual_vectors(self, vectors, sentences, keep_boundaries):
        """The same by the encoder as it is, over padded batches."""
        for start in range(0, len(sentences), GENERAL_BATCH):
            batch = sentences[start : start + GENERAL_BATCH]
            yield from self._padded_batch(vectors, batch, keep_boundaries)

    def _padded_batch(self, vectors, sentences, keep_boundaries):
        lengths = np.array([len(sentence) for sentence in sentences])
        if not keep_boundaries and not lengths.any():
            empty = np.zeros((self.num_outputs, 0, 2 * vectors.shape[1]), "float32")
            return [empty] * len(sentences)
        time = _time_bucket(lengths.max() + 2)
        batch = power_of_two(len(sentences))
        begin, end = len(vectors) - 2, len(vectors) - 1
        rows = np.full((batch, time), end)
        mask = np.zeros((batch, time), bool)
        for row, sentence in enumerate(sentences):
            rows[row, 0] = begin
            rows[row, 1 : len(sentence) + 1] = sentence
            mask[row, : len(sentence) + 2] = True
        layers = self._context_model.predict_on_batch([vectors[rows], mask])
        layers = keras.tree.flatten(layers)  # Keras unwraps a list of one
        edge = 0 if keep_boundaries else 1
        return [
            np.stack([_float32(layer[row, edge : n + 2 - edge]) for layer in layers])
            for row, n in enumerate(lengths)
        ]


def used_characters(ids):
    """Number of leading characters after which a row of ids stays the same.

    Args:
        ids: int, (tokens, C).

    Returns:
        int, (tokens,).
    """
    differs = ids != ids[:, -1:]
    return np.where(
        differs.any(axis=1), ids.shape[1] - differs[:, ::-1].argmax(axis=1), 0
    )


def character_width(used, widest_filter, max_characters):
    """Characters a token of `used` characters needs for an unchanged CNN output.

    Behind the last used character all windows are equal, so that one of them is
    enough for the maximum of every filter width.
    """
    width = round_up(int(used) + widest_filter, CHARACTER_STEP)
    return min(width, max_characters)


def _token_rows(number):
    """`number` rounded up to one of few: by 8s where a sentence waits for them."""
    if number <= SMALLEST_TOKEN_CHUNK:
        return SMALLEST_TOKEN_CHUNK
    return round_up(number, 8) if number <= 64 else power_of_two(number)


def _time_bucket(time):
    """`time` rounded up to one of few lengths, at most an eighth longer."""
    return round_up(time, max(8, power_of_two(time) // 16))


def _pad_rows(array, rows):
    padding = [(0, rows - len(array))] + [(0, 0)] * (array.ndim - 1)
    return np.pad(array, padding)


def _float32(array):
    return np.asarray(array).astype("float32", copy=False)

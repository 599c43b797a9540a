"""The layers of a biLM that is held still, computed once for the tokens of a file."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_elmo.embed import embed_iter
from keras_elmo.files import atomic_path
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.text.dictionaries import Dictionaries

BATCH_SIZE = 64
MEAN = "mean"


class UseLayers(NamedTuple):
    """Vectors of one token of each sentence.

    Attributes:
        vectors: float16, (sentences, L + 1, dim), the token's layers.
        sentence_means: float16, (sentences, L + 1, dim), the means of all the
            sentence's tokens: layer 0's is what is known of the context without a
            context model.
    """

    vectors: np.ndarray
    sentence_means: np.ndarray


class TokenLayers:
    """Every layer's vectors of tokens, kept so that the same ones cost nothing again.

    Vectors are float16, as a task's stored layers are: 11 bits of a number are more
    than a probe or a cosine needs.

    Args:
        backbone: `ElmoBackbone`.
        cache: directory of files, made where it is missing, or None for no files. A
            file's name holds a hash of the model's weights and of the sentences: what
            it was made for is all that it is ever taken for.

    Attributes:
        number: int, how many layers there are, L + 1.

    Example:
    ```python
    layers = TokenLayers(backbone)
    vectors = layers.tokens([["The", "bank", "."], ["Hi"]])  # (4, L + 1, dim)
    use = layers.uses([["The", "bank", "."]], [1]).vectors  # (1, L + 1, dim)
    ```
    """

    def __init__(self, backbone: ElmoBackbone, cache: str | PathLike | None = None):
        self.backbone = backbone
        self.number = backbone.num_outputs
        self._cache = None if cache is None else Path(cache)
        self._model: bytes | None = None

    def tokens(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Vectors of all tokens: float16, (tokens, L + 1, dim)."""
        return self._kept("tokens", sentences, None, self._compute_tokens)

    def uses(
        self, sentences: Sequence[Sequence[str]], positions: Sequence[int]
    ) -> UseLayers:
        """Vectors of the token at a position of each sentence."""
        found = self._kept("uses-and-means", sentences, positions, self._compute_uses)
        return UseLayers(found[:, : self.number], found[:, self.number :])

    def _compute_tokens(self, sentences, _):
        number = sum(map(len, sentences))
        vectors = self._empty(number, self.number)
        start = 0
        for layers in self._embed(sentences):
            end = start + layers.shape[1]
            vectors[start:end] = layers.swapaxes(0, 1)
            start = end
        return vectors

    def _compute_uses(self, sentences, positions):
        vectors = self._empty(len(sentences), 2 * self.number)
        found = zip(vectors, self._embed(sentences), positions, strict=True)
        for row, layers, position in found:
            row[: self.number] = layers[:, position]
            row[self.number :] = layers.mean(axis=1)
        return vectors

    def _empty(self, number, layers):
        return np.empty((number, layers, self.backbone.output_dim), "float16")

    def _embed(self, sentences) -> Iterable[np.ndarray]:
        # What a biLM keeps of the sentence markers is none of the tokens'.
        edge = 1 if self.backbone.keep_boundaries else 0
        for layers in embed_iter(
            sentences, self.backbone, layers="all", batch_size=BATCH_SIZE
        ):
            yield layers[:, edge : layers.shape[1] - edge]

    def _kept(self, kind, sentences, positions, compute):
        """What `compute` gives, or the file of it."""
        if self._cache is None:
            return _finite(compute(sentences, positions))
        self._cache.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(self._model_digest())
        digest.update(json.dumps([kind, sentences, positions]).encode())
        path = self._cache / f"{kind}-{digest.hexdigest()[:32]}.npy"
        if not path.exists():
            vectors = _finite(compute(sentences, positions))
            # Another run may be as far: its file holds the same.
            with atomic_path(path, overwrite=True) as temporary:
                np.save(temporary, vectors)
            return vectors
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(
                f"`{path}` cannot be read: {error}. Delete it, and it is made again."
            ) from None

    def _model_digest(self):
        if self._model is None:
            digest = hashlib.sha256()
            for weight in self.backbone.get_weights():
                digest.update(f"{weight.dtype} {weight.shape}".encode())
                digest.update(np.ascontiguousarray(weight).tobytes())
            config = self.backbone.get_config()
            config.pop("name", None)
            digest.update(json.dumps(config, sort_keys=True, default=str).encode())
            vocabulary = self.backbone.vocabulary
            if isinstance(vocabulary, Dictionaries):
                digest.update(vocabulary.as_json().encode())
            elif vocabulary is not None:
                digest.update(json.dumps(vocabulary.tokens).encode())
            self._model = digest.digest()
        return self._model


def choose_layer(vectors: np.ndarray, layer: int | str) -> np.ndarray:
    """One layer of vectors, or the mean of all.

    Args:
        vectors: float, (tokens, layers, dim).
        layer: an index or "mean".

    Returns:
        float32, (tokens, dim).
    """
    vectors = np.asarray(vectors, "float32")
    return vectors.mean(axis=1) if isinstance(layer, str) else vectors[:, layer]


def _finite(vectors):
    if not np.isfinite(vectors).all():
        raise ValueError(
            "`backbone` gives vectors that are no numbers, or beyond 65,504."
        )
    return vectors

"""Context-free vectors of frequent tokens, computed once and kept in a file."""

import hashlib
import json
import os
import weakref
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.checkpoints.hdf5 import find_datasets, open_hdf5
from keras_elmo.files import atomic_path
from keras_elmo.hdf5_output import create_hdf5
from keras_elmo.inference import Inference
from keras_elmo.text.dictionaries import Dictionaries

FORMAT = "keras_elmo token cache"
FORMAT_VERSION = 1
# Tokens embedded and written together.
CHUNK = 8192


class TokenCache:
    """Token vectors of a biLM that reads characters, looked up instead of computed.

    A token's vector before the LSTMs depends on its characters alone. For frequent
    tokens it is read from a file that is mapped into memory, so that several processes
    share one copy; any other token goes through the character CNN. Results are those
    of the CNN to about 1e-7. A cache belongs to one token embedder: it is refused for
    any other weights, also for its own once training has changed them.

    Args:
        path: a file that `create` or `keras-elmo cache-tokens` made.

    Raises:
        FileNotFoundError: when there is no such file.
        ValueError: when the file is no token cache, or does not hold what it declares.

    Example:
    ```py
    cache = keras_elmo.TokenCache.create("tokens.h5", ["the", "bank"], backbone)
    vectors = keras_elmo.embed([["The", "bank"]], backbone, token_cache=cache)
    ```
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        with open_hdf5(path) as file:
            datasets = find_datasets(file, path)
            if not {"description", "vectors"} <= set(datasets):
                raise ValueError(f"`{path}` is not a token cache.")
            text = _mapped(datasets["description"], path, "uint8", 1).tobytes()
            self._vectors = _mapped(datasets["vectors"], path, "float32", 2)
        tokens, self._settings, self._digest = _description(text, path)
        self._row = {token: row for row, token in enumerate(tokens)}
        if len(self._row) != len(self._vectors):
            raise ValueError(
                f"`{path}` must hold one vector a token. Received: {len(self._row)} "
                f"tokens, {len(self._vectors)} vectors."
            )
        # The backbone that passed `check` last, and what its weights were then.
        self._passed: tuple = (None, None, None)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike,
        tokens: Iterable[str],
        backbone,
        overwrite: bool = False,
    ) -> "TokenCache":
        """Computes the vectors of tokens and writes them, in flat memory.

        Args:
            path: file to make: whole or not at all.
            tokens: iterable of str; the sentence markers come in by themselves.
            backbone: `ElmoBackbone` that reads characters.
            overwrite: bool. Replace what is there.

        Returns:
            `TokenCache` of the file.

        Raises:
            FileExistsError: when `path` exists and `overwrite` is False.
            ValueError: when the backbone reads words, or its vectors are no numbers.
        """
        settings = _settings_of(backbone)
        inference = Inference.of(backbone)
        distinct = list(dict.fromkeys([*inference.tokenizer.markers, *tokens]))
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "settings": settings,
            "sha256": _digest(backbone),
            "tokens": distinct,
        }
        with (
            atomic_path(path, overwrite=overwrite) as temporary,
            create_hdf5(temporary) as file,
        ):
            # In ASCII escapes: a token may be a lone surrogate.
            text = json.dumps(description).encode("ascii")
            file["description"] = np.frombuffer(text, "uint8")
            shape = (len(distinct), backbone.projection_dim)
            vectors = file.create_dataset("vectors", shape, "<f4")
            for start in range(0, len(distinct), CHUNK):
                chunk = distinct[start : start + CHUNK]
                # Behind them stand the markers' vectors.
                found = np.asarray(inference.token_vectors(chunk))[: len(chunk)]
                if not np.isfinite(found).all():
                    raise ValueError("`backbone` gives vectors that are no numbers.")
                vectors[start : start + len(chunk)] = found
        return cls(path)

    @classmethod
    def of(cls, cache: "TokenCache | str | os.PathLike", backbone) -> "TokenCache":
        """A cache or the file of one, checked against the backbone it is to serve."""
        if not isinstance(cache, cls):
            if not isinstance(cache, str | os.PathLike):
                rule = "a TokenCache or the path of one"
                raise TypeError(checks.received("token_cache", cache, rule))
            cache = cls(cache)
        cache.check(backbone)
        return cache

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, token) -> bool:
        return token in self._row

    def __repr__(self) -> str:
        return f"TokenCache({str(self.path)!r}, {len(self)} tokens)"

    def check(self, backbone) -> None:
        """Refuses a backbone whose token vectors are not the ones stored.

        The first time a backbone is seen all its embedder's weights are hashed; later
        they are summed, a tenth of the time.

        Args:
            backbone: `ElmoBackbone`.

        Raises:
            ValueError: naming each setting that differs, or saying that the weights do.
        """
        settings = _settings_of(backbone)
        if settings != self._settings:
            differing = [
                f"{name} (the cache's {self._settings.get(name)!r}, the model's "
                f"{settings.get(name)!r})"
                for name in sorted({*settings, *self._settings})
                if settings.get(name) != self._settings.get(name)
            ]
            raise ValueError(
                f"`{self.path}` was made for another model. Differing: "
                f"{', '.join(differing)}."
            )
        vocabulary = backbone.vocabulary
        sums = [_sum_of_bits(weight) for weight in _weights(backbone)]
        passed, passed_vocabulary, passed_sums = self._passed
        if (
            passed is not None
            and passed() is backbone
            and passed_vocabulary is vocabulary
            and passed_sums == sums
        ):
            return
        if _digest(backbone) != self._digest:
            raise ValueError(
                f"`{self.path}` was made from other weights than the model's. Make it "
                "again (keras-elmo cache-tokens), after any training of the model."
            )
        self._passed = weakref.ref(backbone), vocabulary, sums

    def vectors(self, tokens: list[str], embed) -> np.ndarray:
        """Vectors of tokens, from the file where it has them.

        Args:
            tokens: list of str.
            embed: function from a list of str to float32, (tokens, P), for the others.

        Returns:
            float32, (len(tokens), P).
        """
        find = self._row.get
        rows = np.array([find(token, -1) for token in tokens], "int64")
        known = rows >= 0
        vectors = np.empty((len(tokens), self._vectors.shape[1]), "float32")
        vectors[known] = self._vectors[rows[known]]
        if not np.isfinite(vectors[known]).all():
            raise ValueError(f"`{self.path}` holds vectors that are no numbers.")
        others = np.flatnonzero(~known)
        if len(others):
            vectors[others] = embed([tokens[row] for row in others])
        return vectors


def _settings_of(backbone):
    """What the vectors depend on besides the weights, as JSON gives it back."""
    inference = Inference.of(backbone)
    if not inference.is_characters:
        raise ValueError(
            "A token cache is for models that read characters. Received: a backbone of "
            "word input, whose vectors are rows of a table already."
        )
    embedder = backbone.token_embedder
    config = {**inference.tokenizer.get_config(), **embedder.get_config()}
    # How text was split, and what the layer is called, changes no token's vector.
    for name in ("splitter", "name", "trainable", "dtype"):
        config.pop(name, None)
    config["embedder"] = type(embedder).__name__
    config["compute_dtype"] = embedder.compute_dtype
    return json.loads(json.dumps(config))


def _weights(backbone):
    return backbone.token_embedder.get_weights()


def _digest(backbone):
    digest = hashlib.sha256()
    vocabulary = backbone.vocabulary
    if isinstance(vocabulary, Dictionaries):  # which characters have which row
        digest.update(vocabulary.as_json().encode())
    for weight in _weights(backbone):
        digest.update(f"{weight.shape};".encode())
        # The values, whatever they are stored in.
        digest.update(np.ascontiguousarray(weight, "<f4").data)
    return digest.hexdigest()


def _sum_of_bits(weight):
    """A number that any change of a weight but a contrived one changes."""
    data = np.ascontiguousarray(weight).reshape(-1).view("uint8")
    whole = len(data) // 8 * 8
    return int(data[:whole].view("uint64").sum()), data[whole:].tobytes()


def _mapped(dataset, path, dtype, ndim):
    """A dataset's data mapped into memory; an error where the file lacks them."""
    where = f"`{dataset.name}` of `{path}`"
    try:
        found = dataset.dtype
    except TypeError as error:
        raise ValueError(f"{where} must hold {dtype}: {error}") from None
    if found != np.dtype(dtype).newbyteorder("<") or len(dataset.shape or ()) != ndim:
        raise ValueError(
            f"{where} must be {dtype} with {ndim} axes. Received: {found} "
            f"{dataset.shape}."
        )
    if dataset.size == 0:
        raise ValueError(f"{where} is empty.")
    # In one piece and not packed, or there is nothing to map.
    offset = None if dataset.chunks else dataset.id.get_offset()
    if offset is None or offset + dataset.nbytes > os.path.getsize(path):
        raise ValueError(f"{where} must lie in the file in one piece.")
    return np.memmap(path, found, "r", offset, dataset.shape)


def _description(text, path):
    """Tokens, settings and the hash of the weights."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` is not a token cache: {error}.") from None
    found = found if isinstance(found, dict) else {}
    if found.get("format") != FORMAT:
        raise ValueError(f"`{path}` is not a token cache.")
    if found.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"`{path}` is a token cache of version {found.get('format_version')!r}; "
            f"this program reads version {FORMAT_VERSION}."
        )
    tokens, settings = found.get("tokens"), found.get("settings")
    if not isinstance(tokens, list) or not all(isinstance(t, str) for t in tokens):
        raise ValueError(f"`{path}` must hold its tokens as a list of strings.")
    if not isinstance(settings, dict):
        raise ValueError(f"`{path}` must hold the settings of its model.")
    return tokens, settings, found.get("sha256")

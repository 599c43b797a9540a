"""A task's sentences as what its model reads, kept so that a batch costs little."""

import numpy as np
from keras import ops

from keras_elmo.embed import embed_iter
from keras_elmo.layers import LayerMixes
from keras_elmo.text.characters import check_sentences, distinct_tokens


class TokenIds:
    """Sentences as ids: each distinct token is encoded once.

    Args:
        sentences: iterable of token sequences.
        tokenizer: `ElmoTokenizer` of the ids.
    """

    def __init__(self, sentences, tokenizer):
        tokens, self._rows = distinct_tokens(check_sentences(sentences))
        ids = tokenizer.encode_tokens(tokens)
        self._table = np.concatenate([np.zeros((1, *ids.shape[1:]), ids.dtype), ids])
        self.lengths = np.array([len(row) for row in self._rows], int)

    def batch(self, rows, size, time):
        """int32, (size, time, characters) or (size, time): these rows, then padding."""
        index = np.zeros((size, time), int)
        for target, row in zip(index, rows, strict=False):
            target[: self.lengths[row]] = self._rows[row] + 1
        return self._table[index]


class StoredLayers:
    """Sentences as the layers that a biLM which is held still has for them.

    Computed once, where each epoch would compute them again. Held in float16: half the
    memory, and 11 bits of a number are more than dropout leaves of it.

    Args:
        sentences: iterable of token sequences; equal ones are computed once.
        backbone: `ElmoBackbone`.
    """

    def __init__(self, sentences, backbone):
        number: dict[tuple, int] = {}
        self._rows = [
            number.setdefault(tuple(tokens), len(number))
            for tokens in check_sentences(sentences)
        ]
        self._layers = [
            layers.astype("float16")
            for layers in embed_iter(number, backbone, layers="all", batch_size=64)
        ]
        self._shape = backbone.num_outputs, backbone.output_dim
        self.lengths = np.array([self._layers[n].shape[1] for n in self._rows], int)

    def batch(self, rows, size, time):
        """float32, (size, num_layers + 1, time, dim): these rows, then zeros."""
        number, dim = self._shape
        layers = np.zeros((size, number, time, dim), "float32")
        for target, row in zip(layers, rows, strict=False):
            target[:, : self.lengths[row]] = self._layers[self._rows[row]]
        return layers


def encode(model, sentences):
    """Sentences as a task model reads them: `TokenIds`, or `StoredLayers`.

    Args:
        model: a task model, or what `on_stored_layers` made of one.
        sentences: iterable of token sequences.
    """
    if isinstance(model.embedding, LayerMixes):
        return StoredLayers(sentences, model.get_stored_backbone())
    return TokenIds(sentences, model.preprocessor.tokenizer)


def on_stored_layers(model):
    """The same model, with the same weights, behind layers that are computed before.

    Args:
        model: a task model whose biLM is held still meanwhile.
    """
    backbone = model.embedding.backbone
    mixes = LayerMixes.from_config(
        {**model.embedding.mixes.get_config(), "mask_zero": True}
    )
    mixes.build((None, backbone.num_outputs, None, backbone.output_dim))
    config = {**model.get_config(), "embedding": mixes}
    config["name"] = f"{model.name}_on_stored_layers"
    twin = type(model).from_config(config)
    # Not the biLM itself: it would become a part of the twin.
    twin.get_stored_backbone = lambda: backbone
    copy_weights(model, twin)
    return twin


def copy_weights(source, target):
    """Copies the weights of a task model to its twin, or back: all but the biLM's."""
    pairs = list(zip(_own_weights(source), _own_weights(target), strict=True))
    for one, other in pairs:
        if one.shape != other.shape:
            raise ValueError(f"{one.path} {one.shape} is not {other.path}.")
    for one, other in pairs:
        # By way of the host: JAX would share the array, and delete it with the twin's.
        other.assign(np.array(ops.convert_to_numpy(one)))


def _own_weights(model):
    backbone = getattr(model.embedding, "backbone", None)
    others = {id(weight) for weight in backbone.weights} if backbone else set()
    return [weight for weight in model.weights if id(weight) not in others]

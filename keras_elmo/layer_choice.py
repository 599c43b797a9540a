"""Which of a biLM's layers to hand out, the same wherever it can be chosen."""

from numbers import Integral

import numpy as np

NAMES = ("mix", "mean", "top", "all")
# Where vectors are handed out: a layer with a scale that is learned needs no sum.
HANDED_OUT = (*NAMES, "sum")


def check_layers(layers, number=None, names=NAMES):
    """`layers`, or an error that says what may be chosen.

    Args:
        layers: one of `names` or an index.
        number: int, how many layers there are (L + 1), or None where not known yet.
        names: what may be chosen by name.
    """
    is_index = isinstance(layers, Integral) and not isinstance(layers, bool)
    if is_index and (number is None or -number <= layers < number):
        return int(layers)
    if isinstance(layers, str) and layers in names:
        return layers
    to = "" if number is None else f" from 0 to {number - 1}"
    raise ValueError(
        f"`layers` must be one of {', '.join(map(repr, names))} or a layer's "
        f"index{to}. Received: layers={layers!r}."
    )


class LayerChoice:
    """Picks or sums the L + 1 layers of a sentence.

    Args:
        layers: "mix", "mean", "sum" (as SeqVec's), "top", "all" or a layer's index;
            negative indices count from the top.
        backbone: `ElmoBackbone`, whose layers and mix weights they are.

    Raises:
        ValueError: when `layers` is anything else.
    """

    def __init__(self, layers, backbone):
        number = backbone.num_outputs
        layers = check_layers(layers, number, HANDED_OUT)
        self.keeps_layers = layers == "all"
        self.number = number
        self.weights = None
        if isinstance(layers, int) or layers == "top":
            self.weights = np.zeros(number, "float32")
            self.weights[number - 1 if layers == "top" else layers] = 1.0
        elif layers == "sum":
            self.weights = np.ones(number, "float32")
        elif layers != "all":
            weights = backbone.mix_weights if layers == "mix" else None
            if weights is None:
                weights = [1.0 / number] * number
            gamma = backbone.gamma if layers == "mix" else 1.0
            self.weights = np.asarray(weights, "float32") * np.float32(gamma)

    def __call__(self, layers):
        """float32 (L + 1, time, dim) to (time, dim), or itself for "all"."""
        if self.weights is None:
            return layers
        chosen = np.flatnonzero(self.weights)
        # A layer of weight 0 may hold infinities and must not count.
        total = np.zeros_like(layers[0])
        for layer in chosen:
            total += self.weights[layer] * layers[layer]
        return total

    def shape(self, *shape):
        """`shape` with the axis of layers in front where it is kept."""
        return (self.number, *shape) if self.keeps_layers else shape

"""LSTMs with projection and clips, their stacks, and both directions of a biLM."""

import dataclasses

import numpy as np

from tests.reference.token_vectors import sigmoid


@dataclasses.dataclass
class LSTM:
    """One LSTM: gates i, j, f, o side by side, the forget gate's 1 not in the bias."""

    kernel: np.ndarray  # (input, 4 cells)
    recurrent_kernel: np.ndarray  # (output, 4 cells)
    bias: np.ndarray  # (4 cells,)
    projection: np.ndarray | None = None  # (cells, output)
    cell_clip: float | None = None
    proj_clip: float | None = None

    def zero_state(self):
        """(h, c) before the first step of a sentence."""
        return np.zeros(len(self.recurrent_kernel)), np.zeros(len(self.bias) // 4)


def _clip(x, limit):
    return x if limit is None else np.clip(x, -limit, limit)


def run_lstm(lstm, inputs, state=None):
    """One sentence, (time, input): its outputs (time, output) and last (h, c)."""
    h, c = lstm.zero_state() if state is None else state
    outputs = np.zeros((len(inputs), len(h)))
    for t, x in enumerate(inputs):
        gates = x @ lstm.kernel + h @ lstm.recurrent_kernel + lstm.bias
        i, j, f, o = np.split(gates, 4)
        c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j)
        c = _clip(c, lstm.cell_clip)
        h = sigmoid(o) * np.tanh(c)
        if lstm.projection is not None:
            # Without a projection there is nothing for its clip to act on.
            h = _clip(h @ lstm.projection, lstm.proj_clip)
        outputs[t] = h
    return outputs, (h, c)


def run_stack(lstms, inputs, states=None, use_skip_connections=True):
    """One sentence through stacked LSTMs: each one's outputs and last (h, c)."""
    outputs, last = [], []
    x = inputs
    for layer, lstm in enumerate(lstms):
        y, state = run_lstm(lstm, x, None if states is None else states[layer])
        # The recurrent h is the output without the residual.
        x = x + y if use_skip_connections and layer > 0 else y
        outputs.append(x)
        last.append(state)
    return outputs, last


def encode(vectors, mask, forward, backward, use_skip_connections=True, states=None):
    """A batch of sentences that hold their markers, each one on its own.

    Args:
        vectors: (batch, time, P) token vectors.
        mask: bool (batch, time). Steps that are False do not exist.
        forward, backward: lists of `LSTM`.
        states: one {"forward": [(h, c) a layer], "backward": likewise} a row, or None.

    Returns:
        (batch, layers + 1, time, 2 P), 0 where masked, and the rows' last states.
    """
    batch, time, size = vectors.shape
    layers = np.zeros((batch, len(forward) + 1, time, 2 * size))
    last = []
    for row in range(batch):
        real = np.flatnonzero(mask[row])
        sentence = vectors[row, real]
        state = {"forward": None, "backward": None} if states is None else states[row]
        ahead, ahead_state = run_stack(
            forward, sentence, state["forward"], use_skip_connections
        )
        back, back_state = run_stack(
            backward, sentence[::-1], state["backward"], use_skip_connections
        )
        layers[row, 0, real] = np.concatenate([sentence, sentence], axis=-1)
        for layer, (f, b) in enumerate(zip(ahead, back, strict=True), start=1):
            layers[row, layer, real] = np.concatenate([f, b[::-1]], axis=-1)
        last.append({"forward": ahead_state, "backward": back_state})
    return layers, last

"""The biLM's layers over sentences without padding: what inference runs.

Sentences are sorted by length, longest first, and their tokens laid out step by step:
first every sentence's first token, then every second token, and so on. A step's rows
are then the sentences that still go on, and no step is made for padding. Both
directions read the layout; the backward one each sentence from its end.
"""

import numpy as np

from keras_elmo import backend
from keras_elmo.layers.bilm_encoder import BiLMEncoder


class PackedContext:
    """Runs a `BiLMEncoder` over packed sentences.

    Args:
        encoder: `BiLMEncoder` in float32.
        weights_dtype: "float32", or what the LSTMs' matrices are rounded to:
            "bfloat16", "float16" or "int8" with a scale an output.
    """

    def __init__(self, encoder, weights_dtype="float32"):
        self.projection_dim = encoder.projection_dim
        self.stacks = [
            PackedStack(stack, weights_dtype)
            for stack in (encoder.forward_stack, encoder.backward_stack)
        ]

    @staticmethod
    def fits(encoder) -> bool:
        """Whether this backend has a packed loop, and the encoder is one it knows."""
        return (
            type(encoder) is BiLMEncoder
            and encoder.compute_dtype == "float32"
            and backend.has_packed_lstm()
        )

    def __call__(self, vectors, sentences, keep_boundaries=False):
        """Every layer's vectors of sentences.

        Args:
            vectors: float32, (tokens + 2, P), the last two those of the markers.
            sentences: list of int arrays, each sentence's rows of `vectors`.
            keep_boundaries: bool. Give the markers' vectors too.

        Returns:
            iterator of float32 in the order of `sentences`, each (L + 1, time, 2 P).
            All is computed when it is made.
        """
        begin, end = len(vectors) - 2, len(vectors) - 1
        forward = PackedOrder(sentences, end if keep_boundaries else None)
        backward = PackedOrder(
            [sentence[::-1] for sentence in sentences],
            begin if keep_boundaries else None,
        )
        sides = [
            stack(vectors, order, opening)
            for stack, order, opening in zip(
                self.stacks, (forward, backward), (begin, end), strict=True
            )
        ]
        return self._side_by_side(vectors, sentences, sides, forward, keep_boundaries)

    def _side_by_side(self, vectors, sentences, sides, order, keep_boundaries):
        dim, layers = self.projection_dim, len(sides[0]) + 1
        edge = 1 if keep_boundaries else 0
        begin, end = len(vectors) - 2, len(vectors) - 1
        for sentence, rows in zip(sentences, order.rows, strict=True):
            if keep_boundaries:
                sentence = np.concatenate([[begin], sentence, [end]])
            result = np.empty((layers, len(sentence), 2 * dim), "float32")
            result[0, :, :dim] = result[0, :, dim:] = vectors[sentence]
            for layer, (f, b) in enumerate(zip(*sides, strict=True), start=1):
                # A stream's first vector, its opening marker's, is the same for all.
                result[layer, :edge, :dim] = f[0][:edge]
                result[layer, edge:, :dim] = f[1][rows]
                last = len(sentence) - edge
                result[layer, last:, dim:] = b[0][:edge]
                result[layer, :last, dim:] = b[1][rows[::-1]]
            yield result


class PackedOrder:
    """Where each sentence's steps lie in the packed layout.

    Attributes:
        source: int, (steps,): the row of the vectors that each packed row is.
        counts: list of int, rows of each step, never growing.
        rows: list of int arrays, a sentence's packed rows in its own order.
    """

    def __init__(self, sentences, closing=None):
        if closing is not None:
            sentences = [np.append(sentence, closing) for sentence in sentences]
        lengths = np.array([len(sentence) for sentence in sentences], "int64")
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max()) if len(lengths) else 0
        # How many are longer than t, for each t.
        counts = len(lengths) - np.searchsorted(
            np.sort(lengths), np.arange(longest), side="right"
        )
        starts = np.concatenate([[0], np.cumsum(counts)])
        self.counts = counts.tolist()
        self.source = np.empty(starts[-1], "int64")
        self.rows = [np.zeros(0, "int64")] * len(sentences)
        for place, sentence in enumerate(order):
            rows = starts[: lengths[sentence]] + place
            self.rows[sentence] = rows
            self.source[rows] = sentences[sentence]


class PackedStack:
    """One direction's LSTMs, with their residuals, over the packed layout."""

    def __init__(self, stack, weights_dtype):
        self.use_skip_connections = stack.use_skip_connections
        self.lstms = [backend.packed_lstm(lstm, weights_dtype) for lstm in stack.lstms]

    def __call__(self, vectors, order, opening):
        """The outputs of each layer.

        Args:
            vectors: float32, (tokens + 2, P).
            order: `PackedOrder`.
            opening: int, the row of the marker that all streams begin with.

        Returns:
            list of pairs of float32, one a layer: (1, P), the marker's; (steps, P).
        """
        outputs = []
        first, steps = vectors[[opening]], vectors[order.source]
        for layer, lstm in enumerate(self.lstms):
            if order.counts[:1] == [1]:
                # Of one stream the marker is the first step, with no call of its own.
                output, _ = lstm(
                    np.concatenate([first, steps]), [1, *order.counts], None
                )
                first_output, output = output[:1], output[1:]
            else:
                # All streams begin alike: one row makes the step for all.
                first_output, state = lstm(first, [1], None)
                output = first_output[:0]
                if order.counts:
                    output, _ = lstm(steps, order.counts, state)
            if self.use_skip_connections and layer > 0:
                first_output, output = first_output + first, output + steps
            outputs.append((first_output, output))
            first, steps = first_output, output
        return outputs

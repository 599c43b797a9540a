"""The recurrent loop of inference on PyTorch: eager, over weights laid out once."""

import torch

from keras_elmo.backend.pieces import pieces, row_bucket
from keras_elmo.backend.torch_products import packed_product


class PackedLSTM:
    """See `keras_elmo.backend.packed_lstm`."""

    def __init__(self, lstm, weights_dtype):
        self.lstm = lstm
        self.weights_dtype = weights_dtype
        self.made_from = None

    def _prepare(self):
        """Lays the weights out; again when one of them has changed."""
        lstm = self.lstm
        variables = [lstm.kernel, lstm.recurrent_kernel, lstm.bias]
        if lstm.projection_kernel is not None:
            variables.append(lstm.projection_kernel)
        weights = [variable.value.detach() for variable in variables]
        made_from = [(w.data_ptr(), w._version, w.device) for w in weights]
        if made_from == self.made_from:
            return
        kernel, recurrent, bias = map(_sigmoids_first, weights[:3])
        # The forget gate's 1, once and for all steps.
        bias = bias.float()
        bias[lstm.hidden_dim : 2 * lstm.hidden_dim] += 1.0
        self.input = packed_product(kernel, bias, self.weights_dtype)
        self.recurrent = packed_product(recurrent, None, self.weights_dtype)
        self.projection = None
        if len(weights) > 3:
            self.projection = packed_product(weights[3], None, self.weights_dtype)
        self.device = bias.device
        self.made_from = made_from

    @torch.no_grad()
    def __call__(self, inputs, counts, state):
        """See `keras_elmo.backend.packed_lstm`."""
        self._prepare()
        inputs = torch.from_numpy(inputs).to(self.device)
        lstm = self.lstm
        if state is None:
            h = inputs.new_zeros((1, lstm.output_dim))
            c = inputs.new_zeros((1, lstm.hidden_dim))
        else:
            h, c = state
        # Written to in place, and not the caller's.
        c = c.expand(row_bucket(counts[0]), -1).clone()
        h = h.expand(len(c), -1)
        outputs = inputs.new_empty((len(inputs), lstm.output_dim))
        # As on the compiling backends: oneDNN, too, makes a kernel for each shape.
        for piece in pieces(counts):
            x = inputs[piece.start : piece.start + piece.size]
            x = torch.nn.functional.pad(x, (0, 0, 0, piece.size - len(x)))
            gates_input = self.input(x)
            h, c = h[: piece.rows], c[: piece.rows]
            ends = [*piece.offsets[1 : piece.steps].tolist(), piece.stop - piece.start]
            steps = []
            for offset, end in zip(piece.offsets.tolist(), ends, strict=False):
                h, c = self._step(gates_input[offset : offset + piece.rows], h, c)
                steps.append(h if end - offset == piece.rows else h[: end - offset])
            torch.cat(steps, out=outputs[piece.start : piece.stop])
        return outputs.cpu().numpy(), (h, c)

    def _step(self, gates, h, c):
        lstm = self.lstm
        gates = self.recurrent(h, gates)
        gates[:, : 3 * lstm.hidden_dim].sigmoid_()
        i, f, o, j = gates.tensor_split(4, dim=1)
        c.mul_(f).addcmul_(i, j.tanh_())
        if lstm.cell_clip is not None:
            c.clamp_(-lstm.cell_clip, lstm.cell_clip)
        h = o * c.tanh()
        if self.projection is not None:
            h = self.projection(h)
            if lstm.proj_clip is not None:
                h.clamp_(-lstm.proj_clip, lstm.proj_clip)
        return h, c


def _sigmoids_first(weight):
    """Columns of the gates i, j, f, o brought into the order i, f, o, j: a copy.

    One call then makes the sigmoids of three gates.
    """
    i, j, f, o = weight.tensor_split(4, dim=-1)
    return torch.cat([i, f, o, j], dim=-1)

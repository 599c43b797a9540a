"""The recurrent loop of inference on PyTorch: eager, over weights laid out once."""

import torch

from keras_elmo.backend.pieces import pieces, row_bucket
from keras_elmo.backend.torch_products import packed_product
from keras_elmo.shapes import round_up


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
            size = round_up(len(x), 8) if piece.rows == 1 else piece.size
            gates_input = self.input(
                torch.nn.functional.pad(x, (0, 0, 0, size - len(x)))
            )
            h, c = h[: piece.rows], c[: piece.rows]
            found = outputs[piece.start : piece.stop]
            if piece.rows == 1:
                h = self._single_rows(gates_input, h, c, found)
            else:
                h = self._many_rows(gates_input, h, c, piece, found)
        return outputs.cpu().numpy(), (h, c)

    def _many_rows(self, gates_input, h, c, piece, outputs):
        """Writes a piece's steps to `outputs`; the last h. `c` is changed in place."""
        ends = [*piece.offsets[1 : piece.steps].tolist(), piece.stop - piece.start]
        steps = []
        for offset, end in zip(piece.offsets.tolist(), ends, strict=False):
            gates = self.recurrent(h, gates_input[offset : offset + piece.rows])
            h = self._cell(self._parts(gates), c)
            if self.projection is not None:
                h = self._clip(self.projection(h))
            steps.append(h if end - offset == piece.rows else h[: end - offset])
        torch.cat(steps, out=outputs)
        return h

    def _single_rows(self, gates_input, h, c, outputs):
        """As `_many_rows`, each step of one row, with every tensor made beforehand.

        To make them for each step took a quarter of a small model's time.
        """
        gates = torch.empty_like(gates_input[:1])
        parts, hidden = self._parts(gates), torch.empty_like(c)
        for gates_step, output in zip(
            gates_input.split(1), outputs.split(1), strict=False
        ):
            self.recurrent(h, gates_step, out=gates)
            if self.projection is None:
                h = self._cell(parts, c, out=output)
            else:
                self._cell(parts, c, out=hidden)
                h = self._clip(self.projection(hidden, out=output))
        return h.clone()

    def _parts(self, gates):
        """Views of what becomes sigmoids, and of the gates i, f, o and j."""
        return gates[:, : 3 * self.lstm.hidden_dim], *gates.tensor_split(4, dim=1)

    def _cell(self, parts, c, out=None):
        """What a step's gates make of `c`, in place; the unprojected output."""
        sigmoids, i, f, o, j = parts
        sigmoids.sigmoid_()
        c.mul_(f).addcmul_(i, j.tanh_())
        if self.lstm.cell_clip is not None:
            c.clamp_(-self.lstm.cell_clip, self.lstm.cell_clip)
        return torch.tanh(c, out=out).mul_(o)

    def _clip(self, h):
        clip = self.lstm.proj_clip
        return h if clip is None else h.clamp_(-clip, clip)


def _sigmoids_first(weight):
    """Columns of the gates i, j, f, o brought into the order i, f, o, j: a copy.

    One call then makes the sigmoids of three gates.
    """
    i, j, f, o = weight.tensor_split(4, dim=-1)
    return torch.cat([i, f, o, j], dim=-1)

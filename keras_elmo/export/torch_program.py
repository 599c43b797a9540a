"""A biLM as a `torch.export` program, which PyTorch alone loads."""

try:
    import torch
except ImportError as error:
    raise ImportError(
        "torch.export needs PyTorch: pip install 'keras-elmo[torch]'."
    ) from error

import keras

from keras_elmo import backend
from keras_elmo.export.graph_outputs import named_outputs
from keras_elmo.export.stored_weights import stored_pieces

FILE = "model.pt2"


class Program(torch.nn.Module):
    """The graph from ids to `named_outputs`, with a biLM's weights as buffers."""

    def __init__(self, backbone, weights_dtype):
        super().__init__()
        self.ids_name = backbone.inputs[0].name
        self.backbone = [backbone]  # no module of this one: its weights are not stored
        self.stored = []
        for i, variable in enumerate(backbone.variables):
            pieces = stored_pieces(variable, weights_dtype)
            names = [f"weight_{i}", f"scale_{i}"][: len(pieces)]
            for name, piece in zip(names, pieces, strict=True):
                self.register_buffer(name, torch.tensor(piece))
            self.stored.append((variable, names))

    def forward(self, ids):
        values = []
        for variable, names in self.stored:
            value = getattr(self, names[0]).float()
            for name in names[1:]:
                value = value * getattr(self, name)
            values.append((variable, value))
        with backend.portable(), keras.StatelessScope(state_mapping=values):
            return named_outputs(self.backbone[0], ids)


def write(backbone, folder, shape, weights_dtype):
    """Writes the file; see `keras_elmo.export.export_graph`."""
    # Sizes of 1 and 2 would be taken for constants.
    example = torch.zeros([3 if size is None else size for size in shape]).int()
    any_size = torch.export.Dim.DYNAMIC
    free = {axis: any_size for axis, size in enumerate(shape) if size is None}
    with keras.device("cpu"), torch.no_grad():
        program = torch.export.export(
            Program(backbone, weights_dtype).eval(),
            (example,),
            dynamic_shapes=(free,),
            strict=False,
        )
    torch.export.save(program, str(folder / FILE))


def load(folder, threads=None):
    """A function from ids to outputs, run by PyTorch on the CPU."""
    if threads is not None:
        torch.set_num_threads(threads)
    program = torch.export.load(str(folder / FILE)).module()

    @torch.no_grad()
    def run(ids):
        outputs = program(torch.from_numpy(ids))
        return {name: value.numpy() for name, value in outputs.items()}

    return run

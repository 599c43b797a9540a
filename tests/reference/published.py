"""Published weights: their HDF5 layout, and the model they make."""

import h5py
import numpy as np

from tests.reference.recurrent import LSTM, encode
from tests.reference.token_vectors import character_cnn, word_vectors


def read_hdf5(path):
    """Every dataset by its whole name, float64."""
    weights = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            weights[name] = np.asarray(item[()], dtype="float64")

    with h5py.File(path, "r") as file:
        file.visititems(keep)
    return weights


def write_hdf5(path, weights):
    """Writes arrays as float32 under their names."""
    with h5py.File(path, "w") as file:
        for name, array in weights.items():
            file.create_dataset(name, data=np.asarray(array, dtype="float32"))


def from_training_names(variables):
    """A checkpoint's variables under the names that `dump_weights` gives them."""
    weights = {}
    for name, array in variables.items():
        if not name.startswith("lm/") or name.endswith("/Adagrad"):
            continue
        name = name.removeprefix("lm/")
        # One layer alone has no `multi_rnn_cell/cell_0`.
        name = name.replace("rnn/lstm_cell", "rnn/multi_rnn_cell/cell_0/lstm_cell")
        name = name.replace("rnn/multi_rnn_cell/cell_", "RNN/MultiRNNCell/Cell")
        name = name.replace("lstm_cell/projection/kernel", "LSTMCell/W_P_0")
        name = name.replace("lstm_cell/kernel", "LSTMCell/W_0")
        name = name.replace("lstm_cell/bias", "LSTMCell/B")
        weights[name] = np.asarray(array, dtype="float64")
    return weights


def cell_name(direction, layer):
    """The group of one LSTM, direction 0 forward and 1 backward."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def random_weights(options, rng, words=None):
    """float32 weights for options, large enough for every part to count.

    Args:
        options: dict, bilm-tf's.
        rng: `np.random.Generator`.
        words: rows of a word table, in place of the character CNN.
    """
    lstm = options["lstm"]
    dim, size = lstm["dim"], lstm["projection_dim"]
    shapes = {}
    if words is not None:
        shapes["embedding"] = (words, size)
    else:
        cnn = options["char_cnn"]
        characters = cnn["embedding"]["dim"]
        shapes["char_embed"] = (261, characters)
        for i, (width, number) in enumerate(cnn["filters"]):
            shapes[f"CNN/W_cnn_{i}"] = (1, width, characters, number)
            shapes[f"CNN/b_cnn_{i}"] = (number,)
        filters = sum(number for _, number in cnn["filters"])
        for i in range(cnn.get("n_highway", 0)):
            for part in ("carry", "transform"):
                shapes[f"CNN_high_{i}/W_{part}"] = (filters, filters)
                shapes[f"CNN_high_{i}/b_{part}"] = (filters,)
        if filters != size:
            shapes["CNN_proj/W_proj"] = (filters, size)
            shapes["CNN_proj/b_proj"] = (size,)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            name = cell_name(direction, layer)
            shapes[f"{name}/W_0"] = (2 * size, 4 * dim)
            shapes[f"{name}/B"] = (4 * dim,)
            if dim != size:
                shapes[f"{name}/W_P_0"] = (dim, size)
    return {
        name: rng.normal(0.0, 0.5, shape).astype("float32")
        for name, shape in shapes.items()
    }


class PublishedModel:
    """A biLM of bilm-tf's options and weights, forward only.

    Args:
        options: dict, bilm-tf's.
        weights: dict of arrays by their published names. With `embedding` among them
            the model reads words, whatever else there is.
    """

    def __init__(self, options, weights):
        self.options = options
        self.weights = weights
        self.use_skip_connections = options["lstm"].get("use_skip_connections", False)
        layers = range(options["lstm"]["n_layers"])
        self.forward = [self._lstm(0, layer) for layer in layers]
        self.backward = [self._lstm(1, layer) for layer in layers]

    def _lstm(self, direction, layer):
        name = cell_name(direction, layer)
        if f"{name}/W_0" not in self.weights:
            # As bilm-tf dumps a model of one layer.
            name = f"RNN_{direction}/RNN/LSTMCell"
        kernel = self.weights[f"{name}/W_0"]
        size = self.options["lstm"]["projection_dim"]
        return LSTM(
            kernel[:size],
            kernel[size:],
            self.weights[f"{name}/B"],
            self.weights.get(f"{name}/W_P_0"),
            self.options["lstm"].get("cell_clip"),
            self.options["lstm"].get("proj_clip"),
        )

    def token_vectors(self, ids):
        """Context-free vectors of public ids, words or characters."""
        w = self.weights
        if "embedding" in w:
            return word_vectors(ids, w["embedding"])
        cnn = self.options["char_cnn"]
        number = range(len(cnn["filters"]))
        names = ("W_carry", "b_carry", "W_transform", "b_transform")
        return character_cnn(
            ids,
            w["char_embed"],
            [w[f"CNN/W_cnn_{i}"][0] for i in number],
            [w[f"CNN/b_cnn_{i}"] for i in number],
            cnn["activation"],
            [
                [w[f"CNN_high_{i}/{name}"] for name in names]
                for i in range(cnn.get("n_highway", 0))
            ],
            (w["CNN_proj/W_proj"], w["CNN_proj/b_proj"])
            if "CNN_proj/W_proj" in w
            else None,
        )

    def encode(self, framed, states=None):
        """Layers of ids that hold their sentence markers.

        Returns:
            (batch, layers + 1, time, 2 P), the mask (batch, time), and the states.
        """
        mask = framed != 0 if framed.ndim == 2 else (framed != 0).any(axis=-1)
        layers, states = encode(
            self.token_vectors(framed),
            mask,
            self.forward,
            self.backward,
            self.use_skip_connections,
            states,
        )
        return layers, mask, states

    def layers(self, framed):
        """Layers without markers, from zero states: (batch, L + 1, time - 2, 2 P)."""
        layers, mask, _ = self.encode(framed)
        for row, last in enumerate(mask.sum(axis=1) - 1):
            layers[row, :, last] = 0.0
        return layers[:, :, 1:-1]

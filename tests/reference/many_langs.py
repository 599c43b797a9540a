"""ELMoForManyLangs in NumPy, from the description beside its golden files."""

import numpy as np

from tests.reference.token_vectors import sigmoid


class ManyLangsModel:
    """One model: sentences in, one array each out.

    Args:
        config: the file of sizes, a dict.
        arrays: dict of `FILE/NAME` to array.
        words, characters: dicts of entry to row, or None.
    """

    def __init__(self, config, arrays, words=None, characters=None):
        self.config = config
        self.arrays = {name: np.float64(array) for name, array in arrays.items()}
        self.words, self.characters = words, characters

    def __getitem__(self, name):
        return self.arrays[name]

    def layers(self, sentence):
        """(layers, time, 2 P), without the markers."""
        limit = self.config["token_embedder"]["max_characters_per_token"] - 2
        tokens = ["<bos>", *(token[:limit] for token in sentence), "<eos>"]
        vectors = np.array([self.token_vector(token) for token in tokens])
        if self.config["encoder"]["name"] == "lstm":
            outputs = [self._joined(vectors)]
        else:
            outputs = self._bilm(vectors)
        return np.stack(outputs)[:, 1:-1]

    def token_vector(self, token):
        """(P,): of the word, its characters or both."""
        parts = []
        if self.words is not None:
            row = self.words.get(token, self.words["<oov>"])
            parts.append(self["token_embedder/word_emb_layer.embedding.weight"][row])
        if self.characters is not None:
            parts.append(self._spelled(token))
        weight = self["token_embedder/projection.weight"]
        return np.concatenate(parts) @ weight.T + self["token_embedder/projection.bias"]

    def _spelled(self, token):
        rows, options = self.characters, self.config["token_embedder"]
        inside = [token] if token in ("<bos>", "<eos>") else list(token)
        # The entries of begin and end are swapped.
        ids = [rows["<eow>"], *(rows.get(c, rows["<oov>"]) for c in inside)]
        ids.append(rows["<bow>"])
        ids += [rows["<pad>"]] * (options["max_characters_per_token"] - len(ids))
        x = self["token_embedder/char_emb_layer.embedding.weight"][ids]
        found = []
        for i, (width, _) in enumerate(options["filters"]):
            kernel = self[f"token_embedder/convolutions.{i}.weight"]
            scores = [
                np.einsum("nsw,ws->n", kernel, x[start : start + width])
                for start in range(len(ids) - width + 1)
            ]
            found.append(
                np.max(scores, axis=0) + self[f"token_embedder/convolutions.{i}.bias"]
            )
        x = np.concatenate(found)
        x = np.tanh(x) if options["activation"] == "tanh" else np.maximum(x, 0)
        for i in range(options["n_highway"]):
            name = f"token_embedder/highways._layers.{i}"
            z = x @ self[f"{name}.weight"].T + self[f"{name}.bias"]
            new, gate = np.split(z, 2)
            gate = sigmoid(gate)
            x = gate * x + (1 - gate) * np.maximum(new, 0)
        return x

    def _bilm(self, vectors):
        options = self.config["encoder"]
        outputs = [np.concatenate([vectors, vectors], axis=-1)]
        forward, backward = vectors, vectors
        for i in range(options["n_layers"]):
            new = self._direction(forward, f"forward_layer_{i}", options)
            forward = new + forward if i else new
            new = self._direction(backward[::-1], f"backward_layer_{i}", options)[::-1]
            backward = new + backward if i else new
            outputs.append(np.concatenate([forward, backward], axis=-1))
        return outputs

    def _direction(self, x, name, options):
        name = f"encoder/{name}"
        return _lstm(
            x,
            self[f"{name}.input_linearity.weight"],
            self[f"{name}.state_linearity.weight"],
            self[f"{name}.state_linearity.bias"],
            self[f"{name}.state_projection.weight"],
            options["cell_clip"] or np.inf,
            options["proj_clip"] or np.inf,
        )

    def _joined(self, x):
        directions = []
        for i in range(self.config["encoder"]["n_layers"]):
            directions = []
            for suffix, step in (("", 1), ("_reverse", -1)):
                weights = [
                    self[f"encoder/encoder.{name}_l{i}{suffix}"]
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                ]
                *kernels, bias, other = weights
                directions.append(_lstm(x[::step], *kernels, bias + other)[::step])
            x = np.concatenate(directions, axis=-1)
        weight = self["encoder/projection.weight"]
        projected = [d @ weight.T + self["encoder/projection.bias"] for d in directions]
        return np.concatenate(projected, axis=-1)


def _lstm(x, kernel, recurrent, bias, projection=None, cell_clip=np.inf, clip=np.inf):
    """torch's gates i, f, g, o; a projection and clips where there are any."""
    cells = len(bias) // 4
    c = np.zeros(cells)
    h = np.zeros(recurrent.shape[1])
    outputs = []
    for step in x:
        i, f, g, o = np.split(kernel @ step + recurrent @ h + bias, 4)
        c = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(g), -cell_clip, cell_clip)
        h = sigmoid(o) * np.tanh(c)
        if projection is not None:
            h = np.clip(projection @ h, -clip, clip)
        outputs.append(h)
    return np.array(outputs)

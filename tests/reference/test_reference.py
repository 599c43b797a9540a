"""Proves the reference on what other programs computed, so that tests may trust it."""

import json

import h5py
import numpy as np
import pytest

from tests import reference

# golden/README.md: float32 programs against each other and against float64.
TOLERANCE = {"atol": 5e-6, "rtol": 1e-5}


def load(path):
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def published(folder, options="options.json"):
    return reference.PublishedModel(
        json.loads((folder / options).read_text("utf-8")),
        reference.read_hdf5(folder / "weights.hdf5"),
    )


@pytest.fixture(scope="module")
def cases(golden):
    return json.loads((golden / "peers" / "cases.json").read_text("utf-8"))


@pytest.fixture(scope="module", params=["bilm", "allennlp"])
def fixture(request, golden):
    """A published fixture: its name and its model."""
    folder = golden / request.param
    return request.param, reference.PublishedModel(
        json.loads((folder / "options.json").read_text("utf-8")),
        reference.read_hdf5(folder / "lm_weights.hdf5"),
    )


def test_character_ids_are_the_peers(golden, cases):
    bilm_tf = load(golden / "peers" / "bilm_tf_on_bilm_weights.npz")
    allennlp = load(golden / "peers" / "allennlp_on_allennlp_weights.npz")
    for case, sentences in cases["stateless"].items():
        np.testing.assert_array_equal(
            reference.framed_ids(sentences), bilm_tf[f"{case}/ids"]
        )
        np.testing.assert_array_equal(
            reference.character_ids(sentences), allennlp[f"{case}/ids"]
        )


def test_published_top_layers_with_carried_state(golden, fixture):
    name, model = fixture
    folder = golden / name
    file = "sentences.json" if name == "allennlp" else "lm_embeddings_sentences.json"
    streams = json.loads((folder / file).read_text("utf-8"))
    for stream, sentences in enumerate(streams):
        states = None
        with h5py.File(folder / f"lm_embeddings_{stream}.hdf5") as expected:
            for number, sentence in enumerate(sentences):
                ids = reference.framed_ids([sentence.split()])
                layers, _, states = model.encode(ids, states)
                top = np.concatenate(expected[str(number)][()], axis=-1)
                np.testing.assert_allclose(layers[0, -1, 1:-1], top, **TOLERANCE)


def test_published_token_vectors(golden):
    folder = golden / "allennlp"
    model = reference.PublishedModel(
        json.loads((folder / "options.json").read_text("utf-8")),
        reference.read_hdf5(folder / "lm_weights.hdf5"),
    )
    words = (folder / "vocab_test.txt").read_text("utf-8").split("\n")
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][()]
    ids = reference.character_ids([words[: len(expected)]])[0]
    np.testing.assert_allclose(model.token_vectors(ids), expected, **TOLERANCE)


def test_peers_layers_and_states(golden, cases, fixture):
    name, model = fixture
    stored = load(golden / "peers" / f"bilm_tf_on_{name}_weights.npz")
    for case, sentences in cases["stateless"].items():
        layers, _, states = model.encode(reference.framed_ids(sentences))
        check_case(stored, case, layers)
        check_states(stored, case, states)


@pytest.mark.parametrize(
    "sequence", ["carried_state", "carried_state_with_empty_sentence"]
)
def test_peers_carried_state(golden, cases, fixture, sequence):
    name, model = fixture
    stored = load(golden / "peers" / f"bilm_tf_on_{name}_weights.npz")
    states = []
    for number, sentences in enumerate(cases[sequence]):
        ids = reference.framed_ids(sentences)
        # Rows that no batch has had yet start from zeros.
        zero = {
            "forward": [lstm.zero_state() for lstm in model.forward],
            "backward": [lstm.zero_state() for lstm in model.backward],
        }
        states += [zero] * (len(sentences) - len(states))
        layers, _, new = model.encode(ids, states[: len(sentences)])
        states[: len(sentences)] = new
        case = f"{sequence}/{number}"
        check_case(stored, case, layers)
        check_states(stored, case, states)


def check_case(stored, case, layers):
    mask = stored[f"{case}/mask"]
    actual = np.swapaxes(layers, 1, 2)[:, 1:-1][mask]
    expected = np.swapaxes(stored[f"{case}/layers"], 1, 2)[mask]
    np.testing.assert_allclose(actual, expected, **TOLERANCE, err_msg=case)
    framed = stored[f"{case}/ids"].any(axis=-1)
    np.testing.assert_allclose(
        layers[:, 0, :, :16][framed],
        stored[f"{case}/token_embeddings"][framed],
        **TOLERANCE,
        err_msg=case,
    )


def check_states(stored, case, states):
    for direction in ("forward", "backward"):
        for layer in range(2):
            for part, name in enumerate("hc"):
                actual = [state[direction][layer][part] for state in states]
                rows = stored[f"{case}/state/{direction}_{layer}/{name}"]
                np.testing.assert_allclose(actual, rows[: len(actual)], **TOLERANCE)


def test_bilm_tf_mixtures(golden, cases, fixture):
    name, model = fixture
    stored = load(golden / "peers" / f"bilm_tf_on_{name}_weights.npz")
    parameters, gamma = stored["weight_layers/W"], stored["weight_layers/gamma"]
    for case, sentences in cases["stateless"].items():
        layers, mask = (
            model.layers(reference.framed_ids(sentences)),
            stored[f"{case}/mask"],
        )
        for kind, w, g, epsilon in (
            ("mix", parameters, gamma, None),
            ("mix_layer_norm", parameters, gamma, 1e-12),
            ("mix_default", np.zeros(3), 1.0, None),
            ("mix_layer_norm_default", np.zeros(3), 1.0, 1e-12),
        ):
            mixed = reference.scalar_mix(layers, mask, w, g, epsilon)
            np.testing.assert_allclose(
                mixed[mask],
                stored[f"{case}/{kind}"][mask],
                **TOLERANCE,
                err_msg=f"{case} {kind}",
            )


def test_allennlp_mixtures(golden, cases):
    folder = golden / "allennlp"
    model = reference.PublishedModel(
        json.loads((folder / "options.json").read_text("utf-8")),
        reference.read_hdf5(folder / "lm_weights.hdf5"),
    )
    stored = load(golden / "peers" / "allennlp_on_allennlp_weights.npz")
    parameters, gamma = stored["scalar_mix/parameters"], stored["scalar_mix/gamma"]
    for case, sentences in cases["stateless"].items():
        layers, mask, _ = model.encode(reference.framed_ids(sentences))
        np.testing.assert_array_equal(mask, stored[f"{case}/mask_bos_eos"])
        inner = stored[f"{case}/mask"]
        for kind, w, g, epsilon in (
            ("mix_keep_boundaries", parameters, gamma, None),
            ("mix_layer_norm_keep_boundaries", parameters, gamma, 1e-13),
            ("mix_layer_norm", parameters, gamma, 1e-13),
            ("mix_layer0", np.array([1, -9e10, -9e10]), 1.0, None),
            ("mix_top", np.array([-9e10, -9e10, 1]), 1.0, None),
        ):
            mixed, real = reference.scalar_mix(layers, mask, w, g, epsilon), mask
            if "keep_boundaries" not in kind:
                mixed, real = mixed[:, 1:-1], inner
            np.testing.assert_allclose(
                mixed[real],
                stored[f"{case}/{kind}"][real],
                **TOLERANCE,
                err_msg=f"{case} {kind}",
            )


def test_allennlp_scalar_mix_alone(golden):
    stored = load(golden / "peers" / "allennlp_scalar_mix.npz")
    for name in ("three", "five"):
        layers = np.swapaxes(stored[f"{name}/tensors"].astype("float64"), 0, 1)
        mask, parameters = stored[f"{name}/mask"], stored[f"{name}/parameters"]
        for kind, w, gamma, epsilon in (
            ("gamma1.0_ln0", parameters, 1.0, None),
            ("gamma0.6_ln1", parameters, 0.6, 1e-13),
            ("default_ln1", np.zeros(len(parameters)), 1.0, 1e-13),
        ):
            mixed = reference.scalar_mix(layers, mask, w, gamma, epsilon)
            expected = stored[f"{name}/mix_{kind}"]
            np.testing.assert_allclose(mixed[mask], expected[mask], **TOLERANCE)


def test_every_option_combination(golden):
    folders = sorted(path.parent for path in golden.glob("options/*/expected.npz"))
    assert folders
    for folder in folders:
        stored = load(folder / "expected.npz")
        model = published(folder)
        table = folder / "token_embeddings.hdf5"
        if table.exists():
            model.weights.update(reference.read_hdf5(table))
        actual = np.swapaxes(model.layers(stored["ids"]), 1, 2)
        expected, mask = np.swapaxes(stored["layers"], 1, 2), stored["mask"]
        np.testing.assert_allclose(
            actual[mask], expected[mask], **TOLERANCE, err_msg=folder.name
        )


def test_dumped_training_weights(golden):
    folders = sorted(path.parent for path in golden.glob("training/*/inference.npz"))
    assert folders
    for folder in folders:
        stored = load(folder / "inference.npz")
        model = published(folder, "options_inference.json")
        actual = np.swapaxes(model.layers(stored["ids"]), 1, 2)
        expected, mask = np.swapaxes(stored["layers"], 1, 2), stored["mask"]
        np.testing.assert_allclose(
            actual[mask], expected[mask], **TOLERANCE, err_msg=folder.name
        )


def test_language_model_losses(golden):
    """bilm-tf's `test()`: full softmax, state carried over all batches."""
    folders = sorted(golden.glob("training/*/variables_after_step4.npz"))
    assert folders
    for path in folders:
        folder = path.parent
        weights = reference.from_training_names(load(path))
        options = json.loads((folder / "options.json").read_text("utf-8"))
        if not options["bidirectional"]:
            continue
        model = reference.PublishedModel(options, weights)
        softmax = (
            weights.get("softmax/W", weights.get("embedding")),
            weights["softmax/b"],
        )
        stored = load(folder / "test.npz")
        states = {"": None, "_reverse": None}
        # The file's first batches are enough: each starts from the one before.
        for number, expected in enumerate(stored["losses"][:25]):
            outputs, targets = {}, {}
            for direction, lstms in (("", model.forward), ("_reverse", model.backward)):
                kind = "tokens_characters" if "char_cnn" in options else "token_ids"
                # Training ids are not shifted.
                ids = stored[f"batch/{kind}{direction}"][number] + 1
                top, states[direction] = run_rows(
                    lstms,
                    model.token_vectors(ids),
                    states[direction],
                    model.use_skip_connections,
                )
                outputs[direction] = top
                targets[direction] = stored[f"batch/next_token_id{direction}"][number]
            loss = reference.bilm_loss(
                outputs[""],
                targets[""],
                outputs["_reverse"],
                targets["_reverse"],
                *softmax,
            )
            # golden/training/README.md: losses rtol 2e-6.
            np.testing.assert_allclose(loss, expected, rtol=2e-6, err_msg=folder.name)


def run_rows(lstms, vectors, states, use_skip_connections):
    """The top layer's outputs of a batch, and each row's states."""
    states = [None] * len(vectors) if states is None else states
    results = [
        reference.run_stack(lstms, row, state, use_skip_connections)
        for row, state in zip(vectors, states, strict=True)
    ]
    return np.array([outputs[-1] for outputs, _ in results]), [s for _, s in results]

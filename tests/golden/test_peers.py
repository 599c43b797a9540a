"""bilm-tf's and AllenNLP's results on hard inputs: layers, states and mixtures."""

import functools
import types

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.text import encode_sentences
from tests.golden.support import (
    TOLERANCE,
    assert_real_tokens_close,
    compiled,
    framed_ids,
    load,
    outputs_of,
    padded,
    read_json,
    stream_of,
    with_boundaries,
)
from tests.helpers import to_arrays

# Every stateless case fits, so that one shape is compiled.
ROWS, TIME = 5, 30
SIZE = 16
CASES = (
    "one_token",
    "two_tokens",
    "thirty_tokens",
    "padded_batch",
    "multibyte",
    "long_words",
    "empty_token",
    "special_tokens",
    "odd_characters",
    "empty_sentence",
)
SEQUENCES = ("carried_state", "carried_state_with_empty_sentence")


@pytest.fixture(scope="module")
def cases(golden):
    cases = read_json(golden / "peers" / "cases.json")
    assert set(cases["stateless"]) == set(CASES)
    assert set(cases) == {"stateless", *SEQUENCES}
    return cases


@pytest.fixture(scope="module")
def allennlp(golden):
    return load(golden / "peers" / "allennlp_on_allennlp_weights.npz")


def models_of(golden, name):
    backbone = keras_elmo.ElmoBackbone.from_options(
        golden / name / "options.json", golden / name / "lm_weights.hdf5"
    )
    outputs = outputs_of(backbone)
    cases = read_json(golden / "peers" / "cases.json")["stateless"]

    @functools.cache
    def layers_of(case):
        return outputs(padded(encode_sentences(cases[case]), ROWS, TIME))

    return types.SimpleNamespace(
        backbone=backbone,
        layers_of=layers_of,
        framed_outputs=outputs_of(with_boundaries(backbone)),
        stream=stream_of(backbone),
        bilm_tf=load(golden / "peers" / f"bilm_tf_on_{name}_weights.npz"),
    )


@pytest.fixture(scope="module", params=["bilm", "allennlp"])
def models(request, golden):
    """One weight set: the backbone, its functions, bilm-tf's results."""
    return models_of(golden, request.param)


@pytest.fixture(scope="module")
def allennlp_layers(golden, allennlp, cases):
    """Each case's layers with boundaries, on AllenNLP's weights."""
    models = models_of(golden, "allennlp")
    return {
        case: models.framed_outputs(padded(encode_sentences(sentences), ROWS, TIME))[
            : len(sentences)
        ]
        for case, sentences in cases["stateless"].items()
    }


def test_character_ids(cases, allennlp, golden):
    bilm_tf = load(golden / "peers" / "bilm_tf_on_bilm_weights.npz")
    for case, sentences in cases["stateless"].items():
        np.testing.assert_array_equal(
            encode_sentences(sentences), allennlp[f"{case}/ids"]
        )
        np.testing.assert_array_equal(framed_ids(sentences), bilm_tf[f"{case}/ids"])


@pytest.mark.parametrize("case", CASES)
def test_layers_of_the_backbone(models, case):
    layers = models.layers_of(case)
    mask = padded(models.bilm_tf[f"{case}/mask"], ROWS, TIME).astype(bool)
    expected = np.zeros_like(layers)
    stored = models.bilm_tf[f"{case}/layers"]
    expected[: len(stored), :, : stored.shape[2]] = stored
    assert_real_tokens_close(layers, expected, mask, case)


def test_layers_and_masks_of_one_case_in_its_own_shape(models, cases):
    ids = keras.ops.convert_to_tensor(encode_sentences(cases["stateless"]["multibyte"]))
    mask = models.bilm_tf["multibyte/mask"]
    layers = np.stack(to_arrays(models.backbone(ids)), axis=1)
    assert_real_tokens_close(layers, models.bilm_tf["multibyte/layers"], mask)
    predicted = np.stack(models.backbone.predict(ids, verbose=0), axis=1)
    np.testing.assert_allclose(predicted, layers, atol=1e-6)


def test_a_keras_layer_on_top_averages_real_tokens_only(models, cases):
    """The mask reaches layers that know nothing of this package."""
    inputs = models.backbone.input
    average = keras.layers.GlobalAveragePooling1D()
    model = keras.Model(inputs, average(models.backbone(inputs)[-1]))
    actual = model.predict(encode_sentences(cases["stateless"]["multibyte"]), verbose=0)
    stored, mask = (models.bilm_tf[f"multibyte/{kind}"] for kind in ("layers", "mask"))
    expected = [
        top[real].mean(0) for top, real in zip(stored[:, -1], mask, strict=True)
    ]
    np.testing.assert_allclose(actual, expected, **TOLERANCE)


def test_layers_of_embed(models, cases):
    """All cases in one call: what a sentence's neighbours are makes no difference."""
    sentences = [s for case in cases["stateless"].values() for s in case]
    vectors = iter(keras_elmo.embed(sentences, models.backbone, layers="all"))
    for case in cases["stateless"]:
        stored, mask = (models.bilm_tf[f"{case}/{kind}"] for kind in ("layers", "mask"))
        actual = np.stack([next(vectors) for _ in stored])
        time = stored.shape[2]
        assert_real_tokens_close(actual[:, :, :time], stored, mask, case)
        np.testing.assert_array_equal(actual[:, :, time:], 0.0)


@pytest.mark.parametrize("case", CASES)
def test_token_vectors_and_states_of_the_encoder(models, cases, case):
    number = len(cases["stateless"][case])
    ids = framed_ids(cases["stateless"][case], ROWS, TIME + 2)
    layers, state = models.stream(ids, models.backbone.encoder.zero_state(ROWS))
    stored = models.bilm_tf[f"{case}/token_embeddings"]
    real = models.bilm_tf[f"{case}/ids"].any(axis=-1)
    tokens = layers[:number, 0, : stored.shape[1], :SIZE]
    np.testing.assert_allclose(tokens[real], stored[real], **TOLERANCE)
    # Rows beyond the batch are padding alone: their state stays at zeros.
    check_bilm_tf_states(models.bilm_tf, case, state)


def check_bilm_tf_states(stored, case, state):
    for direction, layers in state.items():
        for layer, tensors in enumerate(layers):
            for name, actual in zip("hc", to_arrays(tensors), strict=True):
                expected = stored[f"{case}/state/{direction}_{layer}/{name}"]
                np.testing.assert_allclose(
                    actual, expected[: len(actual)], **TOLERANCE, err_msg=case
                )
                np.testing.assert_array_equal(expected[len(actual) :], 0.0)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_carried_state_with_growing_and_shrinking_batches(models, cases, sequence):
    encoder = models.backbone.encoder
    state = encoder.zero_state(0)
    for index, sentences in enumerate(cases[sequence]):
        case, number = f"{sequence}/{index}", len(sentences)
        # New rows start from zeros; rows that this batch lacks stay as they are.
        known = len(state["forward"][0][0])
        if number > known:
            state = joined(state, encoder.zero_state(number - known))
        ids = framed_ids(sentences, time=TIME)
        layers, new = models.stream(ids, keras.tree.map_structure(first(number), state))
        state = joined(new, keras.tree.map_structure(behind(number), state))
        stored, mask = (models.bilm_tf[f"{case}/{kind}"] for kind in ("layers", "mask"))
        actual = np.swapaxes(layers[:, :, 1 : mask.shape[1] + 1], 1, 2)
        np.testing.assert_allclose(
            actual[mask], np.swapaxes(stored, 1, 2)[mask], **TOLERANCE, err_msg=case
        )
        check_bilm_tf_states(models.bilm_tf, case, state)


def first(number):
    return lambda x: x[:number]


def behind(number):
    return lambda x: x[number:]


def joined(one, two):
    """Two states below each other."""
    return keras.tree.map_structure(
        lambda a, b: keras.ops.concatenate([a, b], axis=0), one, two
    )


def test_carried_state_equals_allennlp(golden, cases, allennlp):
    """The rows of one batch after the other, as many as the first has."""
    models = models_of(golden, "allennlp")
    for sequence in SEQUENCES:
        number = len(cases[sequence][0])
        state = models.backbone.encoder.zero_state(number)
        for index, sentences in enumerate(cases[sequence][:2]):
            case = f"{sequence}/{index}"
            ids = framed_ids(sentences, time=TIME)
            layers, state = models.stream(ids, state)
            stored = np.swapaxes(allennlp[f"{case}/activations_bos_eos"], 0, 1)
            mask = allennlp[f"{case}/mask_bos_eos"]
            assert_real_tokens_close(layers[:, :, : mask.shape[1]], stored, mask, case)
            for part, name in enumerate("hc"):
                actual = [
                    np.concatenate([to_arrays(f[part])[0], to_arrays(b[part])[0]], -1)
                    for f, b in zip(state["forward"], state["backward"], strict=True)
                ]
                expected = allennlp[f"{case}/state/{name}"]
                np.testing.assert_allclose(actual, expected, **TOLERANCE)


def test_kept_boundaries_equal_allennlp(allennlp, allennlp_layers):
    for case, layers in allennlp_layers.items():
        stored = np.swapaxes(allennlp[f"{case}/activations_bos_eos"], 0, 1)
        mask = allennlp[f"{case}/mask_bos_eos"]
        time = mask.shape[1]
        assert_real_tokens_close(layers[:, :, :time], stored, mask, case)
        np.testing.assert_array_equal(layers[:, :, time:], 0.0)


def made_mix(parameters, gamma, **options):
    """A `ScalarMix` with these weights before the softmax."""
    mix = keras_elmo.ScalarMix(**options)
    mix.build((None, len(parameters), None, 2 * SIZE))
    mix.set_weights([parameters, np.reshape(gamma, ())])
    return mix


@pytest.mark.parametrize("layer_norm", [False, True])
def test_mixtures_equal_bilm_tf(models, cases, layer_norm):
    stored = models.bilm_tf
    trained = stored["weight_layers/W"], stored["weight_layers/gamma"]
    name = "mix_layer_norm" if layer_norm else "mix"
    mixes = {
        name: made_mix(*trained, layer_norm=layer_norm),
        f"{name}_default": made_mix(np.zeros(3), 1.0, layer_norm=layer_norm),
    }
    for case in cases["stateless"]:
        mask = padded(stored[f"{case}/mask"], ROWS, TIME).astype(bool)
        layers = models.layers_of(case)
        for kind, mix in mixes.items():
            (actual,) = to_arrays(mix(layers, mask=mask))
            check_mixture(actual, stored, f"{case}/{kind}", f"{case}/mask")


def check_mixture(actual, stored, kind, mask):
    expected, mask = stored[kind], stored[mask]
    actual = actual[: len(mask)]
    time = mask.shape[1]
    np.testing.assert_allclose(
        actual[:, :time][mask], expected[mask], **TOLERANCE, err_msg=kind
    )
    np.testing.assert_array_equal(actual[:, :time][~mask], 0.0, err_msg=kind)
    np.testing.assert_array_equal(actual[:, time:], 0.0, err_msg=kind)


def test_default_and_top_mixtures_of_embed_equal_bilm_tf(models, cases):
    stored = models.bilm_tf
    gamma = stored["weight_layers/gamma"]
    for case in ("padded_batch", "empty_sentence"):
        sentences = cases["stateless"][case]
        mask = f"{case}/mask"
        for layers, kind, scale in (
            ("mix", "mix_default", 1.0),
            ("mean", "mix_default", 1.0),
            ("top", "mix_top_only", gamma),
        ):
            vectors = keras_elmo.embed(sentences, models.backbone, layers=layers)
            check_mixture(scale * vectors, stored, f"{case}/{kind}", mask)


def test_the_regularizer_equals_bilm_tf(models):
    stored = models.bilm_tf
    mix = made_mix(
        stored["weight_layers/W"],
        1.0,
        regularizer=keras.regularizers.L2(float(stored["weight_layers/l2_coef"])),
    )
    expected = stored["weight_layers/regularization"]
    np.testing.assert_allclose(to_arrays(mix.losses), expected, **TOLERANCE)


@pytest.mark.parametrize(
    "layers, layer_norm", [("mix", False), ("mix", True), ("top", False)]
)
def test_elmo_embedding_equals_weight_layers(models, cases, layers, layer_norm):
    """bilm-tf's `weight_layers` as one layer of a model: ids in, the mixture out."""
    stored = models.bilm_tf
    gamma = stored["weight_layers/gamma"]
    elmo = keras_elmo.ElmoEmbedding(
        models.backbone,
        layers=layers,
        layer_norm=layer_norm,
        mix_regularizer=float(stored["weight_layers/l2_coef"]),
    )
    elmo.build(None)
    (mix,) = elmo.mixes.mixes
    scalars = stored["weight_layers/W"] if layers == "mix" else np.zeros(1)
    mix.scalars.assign(scalars)
    mix._gamma.assign(np.reshape(gamma, ()))
    losses = stored["weight_layers/regularization"] if layers == "mix" else []
    np.testing.assert_allclose(to_arrays(elmo.losses), losses, **TOLERANCE)
    kind = (
        "mix_layer_norm" if layer_norm else {"top": "mix_top_only"}.get(layers, "mix")
    )
    run = compiled(elmo)
    for case in ("padded_batch", "empty_sentence", "odd_characters"):
        ids = encode_sentences(cases["stateless"][case])
        (actual,) = to_arrays(run(keras.ops.convert_to_tensor(padded(ids, ROWS, TIME))))
        check_mixture(actual, stored, f"{case}/{kind}", f"{case}/mask")


@pytest.mark.parametrize("layer_norm", [False, True])
def test_mixtures_equal_allennlp(allennlp, allennlp_layers, layer_norm):
    """AllenNLP mixes with the markers in, and takes them out of the mixture."""
    trained = allennlp["scalar_mix/parameters"], allennlp["scalar_mix/gamma"]
    name = "mix_layer_norm" if layer_norm else "mix"
    mixes = {
        name: made_mix(*trained, layer_norm=layer_norm),
        f"{name}_default": made_mix(np.zeros(3), 1.0, layer_norm=layer_norm),
    }
    if not layer_norm:
        # Their switch for one layer: weights before the softmax that leave 0.
        mixes["mix_layer0"] = made_mix(np.array([1, -9e10, -9e10]), 1.0)
        mixes["mix_top"] = made_mix(np.array([-9e10, -9e10, 1]), 1.0)
    remove = keras_elmo.RemoveSentenceMarkers()
    for case, layers in allennlp_layers.items():
        mask = np.zeros((len(layers), layers.shape[2]), bool)
        stored = allennlp[f"{case}/mask_bos_eos"]
        mask[:, : stored.shape[1]] = stored
        for kind, mix in mixes.items():
            mixed = mix(layers, mask=mask)
            if kind == name:
                (kept,) = to_arrays(mixed)
                check_mixture(
                    kept,
                    allennlp,
                    f"{case}/{kind}_keep_boundaries",
                    f"{case}/mask_bos_eos",
                )
            (removed,) = to_arrays(remove([mixed], mask=[mask]))
            check_mixture(removed, allennlp, f"{case}/{kind}", f"{case}/mask")


@pytest.mark.parametrize("number", ["three", "five"])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_scalar_mix_alone_equals_allennlp(golden, number, layer_norm):
    stored = load(golden / "peers" / "allennlp_scalar_mix.npz")
    layers = np.swapaxes(stored[f"{number}/tensors"], 0, 1)
    mask, parameters = stored[f"{number}/mask"], stored[f"{number}/parameters"]
    for kind, weights, gamma in (
        ("gamma1.0", parameters, 1.0),
        ("gamma0.6", parameters, 0.6),
        ("default", np.zeros_like(parameters), 1.0),
    ):
        mix = made_mix(weights, gamma, layer_norm=layer_norm)
        (actual,) = to_arrays(mix(layers, mask=mask.astype(bool)))
        check_mixture(
            actual,
            {kind: stored[f"{number}/mix_{kind}_ln{int(layer_norm)}"], "mask": mask},
            kind,
            "mask",
        )

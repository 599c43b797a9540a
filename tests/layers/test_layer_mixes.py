"""`LayerMixes`: what may be chosen, what is learned."""

import keras
import numpy as np
import pytest

from keras_elmo import LayerMixes
from tests import reference
from tests.helpers import check_layer, to_arrays
from tests.layers.test_scalar_mix import MASK, random_layers
from tests.layers.weights import TOLERANCE, assert_close, assert_equal, call, numbers

LAYERS = random_layers(3)
WEIGHTS = {"mean": [1 / 3] * 3, "top": [0, 0, 1], 0: [1, 0, 0], -2: [0, 1, 0]}


@pytest.mark.parametrize("layers", WEIGHTS)
def test_a_choice_is_the_layers_that_it_names(layers):
    mixes = LayerMixes(layers=layers, initial_gamma=1.5)
    mixes.build(LAYERS.shape)
    expected = 1.5 * np.einsum("j,bjtd->btd", WEIGHTS[layers], LAYERS)
    actual = numbers(call(mixes, LAYERS, mask=MASK))
    assert_close(actual, expected * MASK[..., None], **TOLERANCE)
    assert_close(mixes.mix_weights, WEIGHTS[layers], atol=1e-7)
    assert mixes.gamma == 1.5
    # Nothing but gamma is learned.
    assert [weight.shape for weight in mixes.trainable_weights] == [()]


def test_all_are_the_layers_themselves_with_zeros_where_padded():
    mixes = LayerMixes(layers="all")
    actual = numbers(call(mixes, LAYERS, mask=MASK))
    assert_equal(actual, LAYERS * MASK[:, None, :, None])
    assert mixes.weights == []
    assert mixes.mix_weights is None and mixes.gamma is None


@pytest.mark.parametrize("layers", ["top", 1])
def test_a_layer_that_is_not_asked_for_is_not_read(layers):
    infinite = np.full_like(LAYERS, np.inf)
    infinite[:, {"top": 2}.get(layers, layers)] = 1.0
    assert_equal(numbers(call(LayerMixes(layers=layers), infinite)), 1.0)


def test_layer_norm_of_the_top_is_the_references():
    actual = call(LayerMixes(layers="top", layer_norm=True), LAYERS, mask=MASK)
    top = LAYERS[:, 2:].astype("float64")
    expected = reference.scalar_mix(top, MASK, np.zeros(1), 1.0, 1e-12)
    assert_close(actual, expected, **TOLERANCE)


def test_several_mixes_have_weights_and_dropout_of_their_own():
    mixes = LayerMixes(num_mixes=2, dropout=0.5)
    layers = np.ones((4, 3, 50, 8), "float32")
    first, second = to_arrays(mixes(layers, training=True))
    assert (first != second).any()
    # Either nothing or twice the value, half of the time each.
    assert set(np.unique(first.round(5))) == {0.0, 2.0}
    assert 0.4 < (first == 0).mean() < 0.6
    mixes.mixes[1].scalars.assign([0.0, 0.0, 9.0])
    assert mixes.mix_weights[0].tolist() == pytest.approx([1 / 3] * 3)
    assert mixes.mix_weights[1].argmax() == 2
    assert mixes.gamma == [1.0, 1.0]
    for vectors in to_arrays(mixes(layers)):
        np.testing.assert_allclose(vectors, 1.0, rtol=1e-5)


def test_a_regularizer_given_as_a_number_is_the_factor_of_the_squares():
    mixes = LayerMixes(mix_regularizer=2.0)
    mixes.build(LAYERS.shape)
    mixes.mixes[0].scalars.assign([1.0, 0.0, 0.0])
    assert_close([numbers(loss) for loss in mixes.losses], [2.0])
    # bilm-tf has no weights to regularize here.
    top = LayerMixes(layers="top", mix_regularizer=2.0)
    top.build(LAYERS.shape)
    assert top.losses == []


def test_padding_is_found_where_every_layer_is_zero():
    stored = np.where(MASK[:, None, :, None], LAYERS, 0).astype("float32")
    stored[0, 0, 0] = 0  # one layer of a real token
    vectors = keras.Input((3, None, 5))
    outputs = LayerMixes(mask_zero=True, layer_norm=True)(vectors)
    masked = LayerMixes(layer_norm=True)
    assert_close(
        keras.Model(vectors, outputs)(stored),
        call(masked, stored, mask=MASK),
        atol=1e-6,
    )
    found = LayerMixes(mask_zero=True).compute_mask(stored)
    assert_equal(keras.ops.convert_to_numpy(found), MASK)


def test_what_is_held_still_stays_so_when_the_model_is_not():
    mixes = LayerMixes(trainable_mix=False, initial_mix_weights=[0.2, 0.3, 0.5])
    mixes.build(LAYERS.shape)
    assert mixes.trainable_weights == []
    mixes.trainable = True
    assert mixes.trainable_weights == []
    assert len(mixes.weights) == 2


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"layers": "last"}, "layers"),
        ({"layers": True}, "layers"),
        ({"layers": "all", "num_mixes": 2}, "num_mixes"),
        ({"layers": "top", "initial_mix_weights": [1.0]}, "initial_mix_weights"),
        ({"initial_mix_weights": [0.5, 0.6, 0.2]}, "initial_mix_weights"),
        ({"num_mixes": 0}, "num_mixes"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
@pytest.mark.once
def test_arguments_that_contradict_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        LayerMixes(**arguments)


@pytest.mark.once
@pytest.mark.parametrize("arguments", [{"layers": 3}, {"initial_mix_weights": [1.0]}])
def test_other_layers_than_named_are_refused(arguments):
    with pytest.raises(ValueError, match=r"layers|initial_weights"):
        LayerMixes(**arguments).build(LAYERS.shape)


@pytest.mark.once
def test_weights_are_asked_for_too_early():
    with pytest.raises(ValueError, match="when it is first called"):
        LayerMixes(name="mixes").mix_weights  # noqa: B018


@pytest.mark.parametrize("num_mixes", [1, 2])
def test_layer_contract(num_mixes):
    shape = (len(MASK), MASK.shape[1], 5)
    check_layer(
        LayerMixes,
        {
            "num_mixes": num_mixes,
            "dropout": 0.1,
            "mix_regularizer": keras.regularizers.L2(0.1),
            "initial_mix_weights": [0.2, 0.3, 0.5],
        },
        LAYERS,
        shape if num_mixes == 1 else [shape] * num_mixes,
        2 * num_mixes,
        call_kwargs={"mask": MASK},
        symbolic_shape=(None, 3, None, 5),
    )

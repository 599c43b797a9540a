"""`CRF` against every sequence of tags there is."""

import importlib
import itertools

import keras
import numpy as np
import pytest

from keras_elmo import CRF
from keras_elmo.tasks.tags import allowed_transitions
from tests.helpers import check_layer, to_arrays
from tests.layers.weights import numbers

TAGS, TIME = 3, 4
LENGTHS = (4, 2, 1, 0)
MASK = np.arange(TIME)[None] < np.array(LENGTHS)[:, None]
RNG = np.random.default_rng(11)
EMISSIONS = RNG.normal(size=(len(LENGTHS), TIME, TAGS)).astype("float32")
GOLD = RNG.integers(0, TAGS, (len(LENGTHS), TIME)).astype("int32")
WEIGHTS = [
    RNG.normal(size=shape).astype("float32") for shape in ((TAGS, TAGS), TAGS, TAGS)
]
# "O", "B-x", "I-x"
IOB2 = allowed_transitions(["O", "B-x", "I-x"], "IOB2")
TOLERANCE = {"atol": 5e-6, "rtol": 1e-5}


def made(**options):
    crf = CRF(TAGS, **options)
    crf.build((None, None, TAGS))
    crf.set_weights(WEIGHTS)
    return crf


def brute_force(row, length, may=lambda tags: True, weights=WEIGHTS):
    """{tags: score} of all sequences of a sentence."""
    transitions, start, end = (weight.astype("float64") for weight in weights)
    scores = {}
    for tags in itertools.product(range(TAGS), repeat=length):
        if may(tags):
            moves = sum(transitions[a, b] for a, b in itertools.pairwise(tags))
            seen = sum(EMISSIONS[row, t, tag] for t, tag in enumerate(tags))
            scores[tags] = start[tags[0]] + seen + moves + end[tags[-1]]
    return scores


def is_iob2(tags):
    """No inside without a beginning, written from the scheme's definition."""
    return all(
        tag != 2 or (t > 0 and tags[t - 1] in (1, 2)) for t, tag in enumerate(tags)
    )


@pytest.mark.parametrize(
    "constraints, may", [(None, lambda tags: True), (IOB2, is_iob2)]
)
def test_odds_are_those_of_all_sequences(constraints, may):
    crf = made(constraints=constraints)
    gold = np.where(GOLD == 2, 1, GOLD) if constraints else GOLD
    nll = numbers(crf.nll(EMISSIONS, gold, MASK))
    best = to_arrays(crf.decode(EMISSIONS, MASK))[0]
    odds = numbers(crf.marginals(EMISSIONS, MASK))
    assert best.dtype == np.int32
    for row, length in enumerate(LENGTHS[:3]):
        scores = brute_force(row, length, may)
        total = np.log(sum(np.exp(score) for score in scores.values()))
        expected = total - scores[tuple(gold[row, :length])]
        np.testing.assert_allclose(nll[row], expected, **TOLERANCE)
        assert tuple(best[row, :length]) == max(scores, key=lambda tags: scores[tags])
        expected = np.zeros((TIME, TAGS))
        for tags, score in scores.items():
            for t, tag in enumerate(tags):
                expected[t, tag] += np.exp(score - total)
        np.testing.assert_allclose(odds[row], expected, **TOLERANCE)
    assert nll[3] == 0.0
    np.testing.assert_array_equal(odds[3], 0.0)
    np.testing.assert_array_equal(best[~MASK], 0)


def test_padding_is_never_read():
    crf = made()
    other = np.where(MASK[..., None], EMISSIONS, 1e4).astype("float32")
    tags = np.where(MASK, GOLD, 2).astype("int32")
    for one, two in (
        (crf.nll(EMISSIONS, GOLD, MASK), crf.nll(other, tags, MASK)),
        (crf.decode(EMISSIONS, MASK), crf.decode(other, MASK)),
        (crf.marginals(EMISSIONS, MASK), crf.marginals(other, MASK)),
    ):
        np.testing.assert_array_equal(numbers(one), numbers(two))


@pytest.mark.parametrize("tag", [-100, 99])
def test_behind_the_real_tokens_a_tag_may_be_any_number(tag):
    crf, tags = made(), np.where(MASK, GOLD, tag).astype("int32")
    np.testing.assert_array_equal(
        numbers(crf.nll(EMISSIONS, tags, MASK)),
        numbers(crf.nll(EMISSIONS, GOLD, MASK)),
    )


@pytest.mark.parametrize("batch, time", [(2, 0), (0, 4), (0, 0)])
def test_no_token_at_all_is_a_batch_too(batch, time):
    crf, none = made(), np.zeros((batch, time), bool)
    emissions = np.zeros((batch, time, TAGS), "float32")
    nll = numbers(crf.nll(emissions, none.astype("int32"), none))
    assert nll.tolist() == [0] * batch
    assert crf.decode(emissions, none).shape == (batch, time)
    assert crf.marginals(emissions, none).shape == (batch, time, TAGS)


@pytest.mark.parametrize("constraints", [None, IOB2])
def test_a_sentence_alone_gets_what_it_gets_among_others(constraints):
    crf = made(constraints=constraints)
    gold = np.where(GOLD == 2, 1, GOLD) if constraints else GOLD
    alone, among = slice(0, 1), slice(None)
    for function in (
        lambda rows: crf.nll(EMISSIONS[rows], gold[rows], MASK[rows]),
        lambda rows: crf.decode(EMISSIONS[rows], MASK[rows]),
        lambda rows: crf.marginals(EMISSIONS[rows], MASK[rows]),
    ):
        one, other = numbers(function(alone)), numbers(function(among))[:1]
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, **TOLERANCE)


def compiled(function):
    """The function of (emissions, tags, mask), batch and time unknown to TensorFlow."""
    name = keras.backend.backend()
    if name == "jax":
        return importlib.import_module("jax").jit(function)
    if name == "torch":
        return function
    tf = importlib.import_module("tensorflow")
    return tf.function(
        function,
        input_signature=[
            tf.TensorSpec((None, None, TAGS), "float32"),
            tf.TensorSpec((None, None), "int32"),
            tf.TensorSpec((None, None), "bool"),
        ],
        autograph=False,
    )


def test_compiled_for_any_batch_and_time():
    crf = made(constraints=IOB2)

    def everything(emissions, tags, mask):
        return (
            crf.nll(emissions, tags, mask),
            crf.decode(emissions, mask),
            crf.marginals(emissions, mask),
        )

    function = compiled(everything)
    for batch, time in ((4, 4), (2, 1), (3, 0)):
        arrays = EMISSIONS[:batch, :time], GOLD[:batch, :time], MASK[:batch, :time]
        tensors = [keras.ops.convert_to_tensor(x) for x in arrays]
        found = to_arrays(function(*tensors))
        for one, other in zip(found, to_arrays(everything(*tensors)), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, **TOLERANCE)


def test_one_token_has_a_start_and_an_end():
    crf = made()
    _, start, end = (weight.astype("float64") for weight in WEIGHTS)
    scores = EMISSIONS[0, 0] + start + end
    expected = np.log(np.exp(scores).sum()) - scores[GOLD[0, 0]]
    row = EMISSIONS[:1, :1], GOLD[:1, :1], MASK[:1, :1]
    np.testing.assert_allclose(numbers(crf.nll(*row))[0], expected, **TOLERANCE)


class Chain(keras.Model):
    """Nothing but the CRF's own weights to learn."""

    def __init__(self, crf):
        super().__init__()
        self.crf = crf

    def call(self, x):
        return self.crf(x)

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        return keras.ops.sum(self.crf.nll(y_pred, y, keras.ops.convert_to_tensor(MASK)))


def test_the_gradient_of_moves_is_the_slope_of_all_sequences():
    crf = made()
    model = Chain(crf)
    model.compile(keras.optimizers.SGD(1.0))
    model.fit(EMISSIONS, GOLD, batch_size=len(LENGTHS), shuffle=False, verbose=0)
    found = [
        old - numbers(new) for old, new in zip(WEIGHTS, crf.get_weights(), strict=True)
    ]

    def total(weights):
        parts = []
        for row, length in enumerate(LENGTHS[:3]):
            scores = brute_force(row, length, weights=weights)
            gold = scores[tuple(GOLD[row, :length])]
            parts.append(np.log(np.exp(list(scores.values())).sum()) - gold)
        return sum(parts)

    for which, gradient in enumerate(found):
        for place in np.ndindex(gradient.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [weight.astype("float64") for weight in WEIGHTS]
                moved[which][place] += step
                sides.append(total(moved))
            # The weights are float32 and of size 1, their difference is off by 1e-7.
            slope = (sides[0] - sides[1]) / 2e-5
            np.testing.assert_allclose(gradient[place], slope, atol=5e-6, rtol=1e-5)


def test_half_precision_scores_are_summed_in_float32():
    crf = made(dtype="mixed_float16")
    emissions = crf(EMISSIONS)
    assert keras.backend.standardize_dtype(emissions.dtype) == "float16"
    nll = crf.nll(emissions, GOLD, MASK)
    assert keras.backend.standardize_dtype(nll.dtype) == "float32"
    halves = EMISSIONS.astype("float16").astype("float32")
    np.testing.assert_allclose(
        numbers(nll), numbers(made().nll(halves, GOLD, MASK)), **TOLERANCE
    )


def test_a_file_keeps_weights_and_constraints(tmp_path):
    crf = made(constraints=IOB2)
    inputs = keras.Input((None, TAGS))
    keras.Model(inputs, crf(inputs)).save(tmp_path / "a.keras")
    again = keras.saving.load_model(tmp_path / "a.keras").get_layer(crf.name)
    for name in ("marginals", "decode"):
        np.testing.assert_array_equal(
            numbers(getattr(again, name)(EMISSIONS, MASK)),
            numbers(getattr(crf, name)(EMISSIONS, MASK)),
        )
    free = numbers(made().marginals(EMISSIONS, MASK))
    assert (free != numbers(again.marginals(EMISSIONS, MASK))).any()


class Tagger(keras.Model):
    """Emissions are the input times one weight each."""

    def __init__(self, crf):
        super().__init__()
        self.crf = crf
        self.scale = self.add_weight(shape=(1, TIME, TAGS), initializer="ones")

    def call(self, x):
        return self.crf(x * self.scale)

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        return keras.ops.sum(self.crf.nll(y_pred, y, keras.ops.convert_to_tensor(MASK)))


@pytest.mark.parametrize("constraints", [None, IOB2])
def test_the_gradient_is_the_odds_less_what_is_right(constraints):
    """In `fit`, compiled; d nll / d emission = marginal - 1 where the tag is right."""
    crf = made(constraints=constraints)
    gold = np.where(GOLD == 2, 1, GOLD).astype("int32")
    odds = numbers(crf.marginals(EMISSIONS, MASK))
    right = np.eye(TAGS)[gold] * MASK[..., None]
    expected = ((odds - right) * EMISSIONS).sum(axis=0)
    model = Tagger(crf)
    model.compile(keras.optimizers.SGD(1.0))
    model.fit(EMISSIONS, gold, batch_size=len(LENGTHS), shuffle=False, verbose=0)
    np.testing.assert_allclose(1.0 - numbers(model.scale)[0], expected, atol=1e-5)
    assert all(np.isfinite(numbers(weight)).all() for weight in crf.weights)


@pytest.mark.parametrize(
    "arguments",
    [
        {"constraints": {"start": [True]}},
        {"constraints": {"moves": [[True]]}},
        {"constraints": {"transitions": [[True] * 3, [True], [True] * 3]}},
    ],
)
@pytest.mark.once
def test_constraints_of_another_shape_are_refused(arguments):
    with pytest.raises(ValueError, match="constraints"):
        CRF(TAGS, **arguments)


@pytest.mark.once
def test_another_number_of_tags_is_refused():
    with pytest.raises(ValueError, match="of 3 scores"):
        CRF(TAGS)(np.zeros((1, 2, 4), "float32"))


def test_layer_contract():
    check_layer(
        CRF,
        {"num_tags": TAGS, "constraints": IOB2},
        EMISSIONS,
        EMISSIONS.shape,
        3,
        call_kwargs={"mask": MASK},
        symbolic_shape=(None, None, TAGS),
        # What a call returns does not depend on the weights: `fit` is tested above.
        batched_outputs=False,
    )

"""`CRF` against every sequence of tags there is."""

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


def brute_force(row, length, may=lambda tags: True):
    """{tags: score} of all sequences of a sentence."""
    transitions, start, end = (weight.astype("float64") for weight in WEIGHTS)
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


def test_no_token_at_all_is_a_batch_too():
    crf, none = made(), np.zeros((2, 0), bool)
    emissions = np.zeros((2, 0, TAGS), "float32")
    assert numbers(crf.nll(emissions, none.astype("int32"), none)).tolist() == [0, 0]
    assert crf.decode(emissions, none).shape == (2, 0)
    assert crf.marginals(emissions, none).shape == (2, 0, TAGS)


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
    [{"constraints": {"start": [True]}}, {"constraints": {"moves": [[True]]}}],
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

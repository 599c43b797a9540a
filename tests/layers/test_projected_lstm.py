"""`ProjectedLSTM` against the NumPy reference."""

import numpy as np
import pytest

from keras_elmo import ProjectedLSTM
from tests import reference
from tests.helpers import check_layer
from tests.layers.weights import (
    TOLERANCE,
    assert_close,
    assert_equal,
    assert_gradients,
    call,
    lstm_of,
    numbers,
    randomize,
)

TIME, DIM, CELLS, SIZE = 6, 3, 5, 4
# Every row another shape of mask: full, short, left-padded, with holes, empty.
MASK = np.array(
    [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1],
        [0, 1, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ],
    bool,
)


def made(rng, **options):
    layer = ProjectedLSTM(CELLS, **options)
    layer.build((None, TIME, DIM))
    randomize(layer, rng, 0.8)
    return layer


def expected_of(layer, inputs, mask, states):
    """The reference row by row: outputs, h and c."""
    lstm = lstm_of(layer)
    outputs = np.zeros((*inputs.shape[:2], layer.output_dim))
    last = []
    for row, real in enumerate(mask):
        state = None if states is None else (states[0][row], states[1][row])
        outputs[row, real], state = reference.run_lstm(lstm, inputs[row, real], state)
        last.append(state)
    return outputs, np.array([h for h, _ in last]), np.array([c for _, c in last])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cell_clip": 0.3},
        {"projection_dim": SIZE},
        {"projection_dim": SIZE, "cell_clip": 0.3},
        {"projection_dim": SIZE, "proj_clip": 0.2},
        {"projection_dim": SIZE, "cell_clip": 0.3, "proj_clip": 0.2},
        # No projection, so nothing for this clip to act on.
        {"proj_clip": 0.05},
        # Wider than its cells, which no published model is.
        {"projection_dim": CELLS + 2},
    ],
)
def test_equals_the_reference(options):
    rng = np.random.default_rng(11)
    layer = made(rng, **options)
    inputs = rng.normal(size=(len(MASK), TIME, DIM)).astype("float32")
    states = [
        rng.normal(0.0, 0.5, (len(MASK), size)).astype("float32")
        for size in (layer.output_dim, CELLS)
    ]
    for mask, initial_state in ((None, None), (MASK, states)):
        outputs, (h, c) = call(
            layer, inputs, mask=mask, initial_state=initial_state, return_state=True
        )
        real = np.ones_like(MASK) if mask is None else mask
        expected = expected_of(layer, inputs, real, initial_state)
        for actual, wanted in zip((outputs, h, c), expected, strict=True):
            assert_close(actual, wanted, **TOLERANCE)
        assert_equal(numbers(outputs)[~real], 0.0)


@pytest.fixture(scope="module")
def clipped():
    return made(
        np.random.default_rng(12), projection_dim=SIZE, cell_clip=0.5, proj_clip=0.3
    )


def random_inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(len(MASK), TIME, DIM)).astype("float32")


def test_one_step(clipped):
    inputs = random_inputs(13)[:, :1]
    outputs, (h, _) = call(clipped, inputs, return_state=True)
    assert_equal(numbers(outputs)[:, 0], numbers(h))


def test_masked_steps_are_never_read(clipped):
    inputs = random_inputs(14)
    other = np.where(MASK[..., None], inputs, np.nan).astype("float32")
    expected, states = call(clipped, inputs, mask=MASK, return_state=True)
    actual, other_states = call(clipped, other, mask=MASK, return_state=True)
    assert_equal(actual, expected)
    for one, two in zip(other_states, states, strict=True):
        assert_equal(one, two)


def test_a_row_without_steps_keeps_its_state(clipped):
    inputs = random_inputs(15)
    states = [np.full((len(MASK), size), 0.25, "float32") for size in (SIZE, CELLS)]
    mask = np.zeros_like(MASK)
    outputs, last = call(
        clipped, inputs, mask=mask, initial_state=states, return_state=True
    )
    assert_equal(numbers(outputs), 0.0)
    for one, two in zip(last, states, strict=True):
        assert_equal(numbers(one), two)


@pytest.mark.parametrize("mask", [None, MASK])
def test_two_pieces_with_carried_state_equal_one(clipped, mask):
    inputs = random_inputs(16)
    whole, last = call(clipped, inputs, mask=mask, return_state=True)
    pieces, state = [], None
    for piece in (slice(0, 2), slice(2, TIME)):
        outputs, state = call(
            clipped,
            inputs[:, piece],
            mask=None if mask is None else mask[:, piece],
            initial_state=state,
            return_state=True,
        )
        pieces.append(numbers(outputs))
    assert_close(np.concatenate(pieces, 1), whole, atol=1e-6)
    for one, two in zip(state, last, strict=True):
        assert_close(one, two, atol=1e-6)


def test_the_forget_gate_has_its_one_once():
    layer = ProjectedLSTM(1)
    layer.build((None, 1, 1))
    for weight in layer.weights:
        weight.assign(np.zeros(weight.shape))
    state = [np.zeros((1, 1), "float32"), np.full((1, 1), 2.0, "float32")]
    _, (_, c) = call(
        layer, np.zeros((1, 1, 1), "float32"), initial_state=state, return_state=True
    )
    assert_close(c, [[2.0 * reference.sigmoid(1.0)]], rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"projection_dim": SIZE, "cell_clip": 0.5, "proj_clip": 0.3}]
)
def test_gradients_are_the_references(options):
    rng = np.random.default_rng(17)
    layer = made(rng, **options)
    inputs = random_inputs(18)
    assert_gradients(
        layer, inputs, MASK, lambda: expected_of(layer, inputs, MASK, None)[0], rng
    )


@pytest.mark.parametrize("return_state", [False, True])
def test_layer_contract(return_state):
    shapes = [(len(MASK), TIME, SIZE), (len(MASK), SIZE), (len(MASK), CELLS)]
    check_layer(
        ProjectedLSTM,
        {
            "hidden_dim": CELLS,
            "projection_dim": SIZE,
            "cell_clip": 3.0,
            "proj_clip": 3.0,
        },
        random_inputs(19),
        shapes if return_state else shapes[0],
        4,
        call_kwargs={"mask": MASK, "return_state": return_state},
        # The cell state is kept in float32.
        float32_outputs=(2,) if return_state else (),
        save=not return_state,
    )

"""`LSTMStack` and `BiLMEncoder` against the NumPy reference."""

import numpy as np
import pytest

from keras_elmo import BiLMEncoder, LSTMStack
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

TIME, CELLS, SIZE = 6, 5, 3
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
CLIPS = {"cell_clip": 0.4, "proj_clip": 0.3}


def made(rng, num_layers=2, hidden_dim=CELLS, size=SIZE, **options):
    encoder = BiLMEncoder(num_layers, hidden_dim, size, **options)
    encoder.build((None, None, size))
    randomize(encoder, rng, 0.8)
    return encoder


def random_inputs(seed, size=SIZE):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(len(MASK), TIME, size)).astype("float32")


def random_state(encoder, rng):
    def stack(lstms):
        return [
            [
                rng.normal(0.0, 0.3, (len(MASK), size)).astype("float32")
                for size in (lstm.output_dim, lstm.hidden_dim)
            ]
            for lstm in lstms
        ]

    return {
        "forward": stack(encoder.forward_stack.lstms),
        "backward": stack(encoder.backward_stack.lstms),
    }


def rows_of(state):
    """A batch's state as the reference has it, one a row."""
    return [
        {
            direction: [(numbers(h)[row], numbers(c)[row]) for h, c in layers]
            for direction, layers in state.items()
        }
        for row in range(len(MASK))
    ]


def expected_of(encoder, inputs, mask, state=None):
    return reference.encode(
        inputs,
        np.ones_like(MASK) if mask is None else mask,
        [lstm_of(lstm) for lstm in encoder.forward_stack.lstms],
        [lstm_of(lstm) for lstm in encoder.backward_stack.lstms],
        encoder.forward_stack.use_skip_connections,
        None if state is None else rows_of(state),
    )


def assert_states_close(actual, expected, **tolerance):
    """States of two batches, each as the reference has them."""
    for one, two in zip(actual, expected, strict=True):
        for direction in ("forward", "backward"):
            for layer, wanted in zip(one[direction], two[direction], strict=True):
                for part, other in zip(layer, wanted, strict=True):
                    assert_close(part, other, **tolerance)


@pytest.mark.parametrize(
    ("num_layers", "options"),
    [
        (1, {"cell_clip": 0.4}),
        (2, {"use_skip_connections": False, **CLIPS}),
        (2, {"hidden_dim": SIZE, "proj_clip": 0.05}),
        (3, {"use_skip_connections": True, **CLIPS}),
        (3, {"use_skip_connections": False, "proj_clip": 0.3}),
    ],
)
def test_equals_the_reference(num_layers, options):
    rng = np.random.default_rng(21)
    encoder = made(rng, num_layers, **options)
    inputs, state = random_inputs(22), random_state(encoder, rng)
    for mask, initial_state in ((None, None), (MASK, state)):
        layers, last = call(
            encoder, inputs, mask=mask, initial_state=initial_state, return_state=True
        )
        assert len(layers) == num_layers + 1
        expected, states = expected_of(encoder, inputs, mask, initial_state)
        actual = np.stack([numbers(layer) for layer in layers], axis=1)
        assert_close(actual, expected, **TOLERANCE)
        assert_states_close(rows_of(last), states, **TOLERANCE)
        if mask is not None:
            assert_equal(np.swapaxes(actual, 1, 2)[~mask], 0.0)


@pytest.fixture(scope="module")
def encoder():
    return made(np.random.default_rng(23), 2, **CLIPS)


def stacked(layers):
    return np.stack([numbers(layer) for layer in layers])


@pytest.fixture(scope="module")
def masked(encoder):
    """A batch with every shape of mask: its inputs, its layers and its last state."""
    inputs = random_inputs(24)
    layers, state = call(encoder, inputs, mask=MASK, return_state=True)
    return inputs, stacked(layers), state


@pytest.mark.parametrize("row", [2, 3])
def test_a_row_with_holes_equals_its_real_tokens_alone(encoder, masked, row):
    inputs, expected, _ = masked
    real = MASK[row]
    alone = stacked(call(encoder, inputs[row : row + 1, real]))
    assert_close(alone[:, 0], expected[:, row, real], atol=1e-6)


def test_masked_steps_are_never_read(encoder, masked):
    inputs, expected, _ = masked
    other = np.where(MASK[..., None], inputs, np.nan).astype("float32")
    assert_equal(stacked(call(encoder, other, mask=MASK)), expected)


def test_calls_leave_no_state_behind(encoder, masked):
    inputs, expected, _ = masked
    call(encoder, random_inputs(27), return_state=True)
    assert_equal(stacked(call(encoder, inputs, mask=MASK)), expected)


def test_zero_state_is_the_default(encoder, masked):
    inputs, expected, _ = masked
    zero = encoder.zero_state(len(MASK))
    assert_equal(
        stacked(call(encoder, inputs, mask=MASK, initial_state=zero)), expected
    )


@pytest.mark.parametrize(("direction", "side"), [("forward", 1), ("backward", -1)])
def test_two_pieces_with_carried_state_equal_one(encoder, masked, direction, side):
    """Each direction reads the pieces in its own order, and is callable alone."""
    inputs, expected, last = masked
    stack = getattr(encoder, f"{direction}_stack")
    stream, mask = inputs[:, ::side], MASK[:, ::side]
    pieces, state = [], None
    for piece in (slice(0, 2), slice(2, TIME)):
        outputs, state = call(
            stack,
            stream[:, piece],
            mask=mask[:, piece],
            initial_state=state,
            return_state=True,
        )
        pieces.append(stacked(outputs))
    joined = np.concatenate(pieces, axis=2)[:, :, ::side]
    half = slice(0, SIZE) if direction == "forward" else slice(SIZE, None)
    assert_close(joined, expected[1:, ..., half], atol=1e-6)
    for one, two in zip(state, last[direction], strict=True):
        for part, other in zip(one, two, strict=True):
            assert_close(part, other, atol=1e-6)


def test_the_directions_do_not_see_each_other(encoder):
    inputs = random_inputs(30)
    changed = inputs.copy()
    changed[:, 3] += 1.0
    one, two = stacked(call(encoder, inputs)), stacked(call(encoder, changed))
    assert_equal(one[1:, :, :3, :SIZE], two[1:, :, :3, :SIZE])
    assert_equal(one[1:, :, 4:, SIZE:], two[1:, :, 4:, SIZE:])
    assert np.abs(one[1:, :, :3, SIZE:] - two[1:, :, :3, SIZE:]).max() > 1e-3
    assert np.abs(one[1:, :, 4:, :SIZE] - two[1:, :, 4:, :SIZE]).max() > 1e-3


def test_gradients_are_the_references():
    rng = np.random.default_rng(31)
    stack = LSTMStack(2, CELLS, SIZE, **CLIPS)
    stack.build((None, None, SIZE))
    randomize(stack, rng, 0.8)
    inputs = random_inputs(32)

    class Top(LSTMStack):
        """One output instead of a list of them."""

        def call(self, inputs, mask=None, **kwargs):
            return super().call(inputs, mask=mask, **kwargs)[-1]

    top = Top(2, CELLS, SIZE, **CLIPS)
    top.build((None, None, SIZE))
    top.set_weights(stack.get_weights())

    def run():
        lstms = [lstm_of(lstm) for lstm in top.lstms]
        outputs = np.zeros((*MASK.shape, SIZE))
        for row, real in enumerate(MASK):
            outputs[row, real] = reference.run_stack(lstms, inputs[row, real])[0][-1]
        return outputs

    assert_gradients(top, inputs, MASK, run, rng)


def test_dropout_acts_in_training_only():
    rng = np.random.default_rng(33)
    plain = made(rng, 2)
    dropping = BiLMEncoder(2, CELLS, SIZE, dropout=0.5)
    dropping.build((None, None, SIZE))
    # The seeds of its dropouts are variables of the layer too.
    for old, new in zip(
        plain.trainable_weights, dropping.trainable_weights, strict=True
    ):
        new.assign(old)
    inputs = random_inputs(34)
    expected = stacked(call(plain, inputs))
    for training in (None, False):
        assert_equal(stacked(call(dropping, inputs, training=training)), expected)
    assert np.abs(stacked(dropping(inputs, training=True)) - expected).max() > 1e-2


def test_stack_contract():
    check_layer(
        LSTMStack,
        {"num_layers": 2, "hidden_dim": CELLS, "projection_dim": SIZE, **CLIPS},
        random_inputs(35),
        [(len(MASK), TIME, SIZE)] * 2,
        8,
        call_kwargs={"mask": MASK},
        symbolic_shape=(None, None, SIZE),
    )


def test_encoder_contract():
    check_layer(
        BiLMEncoder,
        {"num_layers": 2, "hidden_dim": CELLS, "projection_dim": SIZE, **CLIPS},
        random_inputs(36),
        [(len(MASK), TIME, 2 * SIZE)] * 3,
        16,
        call_kwargs={"mask": MASK},
    )

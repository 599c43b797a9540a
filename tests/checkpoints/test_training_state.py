"""Adagrad's slots beside a preset: kept, given back, moved with their words."""

import math
import zlib

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import hdf5
from keras_elmo.checkpoints.training_state import TrainingState
from tests.models_for_tests import word_backbone

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def state():
    """A state whose accumulators tell the rows apart."""
    model = keras_elmo.ElmoBiLM(word_backbone())
    fresh = TrainingState.of(model, TrainingState({}).optimizer(model), {"n_epochs": 3})
    rng = np.random.default_rng(1)
    for name, array in fresh.accumulators.items():
        fresh.accumulators[name] = rng.uniform(1, 2, array.shape).astype("float32")
    fresh.step = 12
    return fresh


def assert_same(ours, theirs):
    assert ours.step == theirs.step and ours.options == theirs.options
    assert set(ours.accumulators) == set(theirs.accumulators)
    for name, array in ours.accumulators.items():
        np.testing.assert_array_equal(array, theirs.accumulators[name], err_msg=name)


def test_a_state_is_written_and_read_back(state, tmp_path):
    state.write(tmp_path / "optimizer.h5")
    model = keras_elmo.ElmoBiLM(word_backbone())
    assert_same(TrainingState.read(tmp_path, model), state)
    with pytest.raises(FileExistsError):
        state.write(tmp_path / "optimizer.h5")


def test_a_state_of_other_words_is_read_by_theirs(state, tmp_path):
    state.write(tmp_path / "optimizer.h5")
    model = keras_elmo.ElmoBiLM(word_backbone(words=("river", "boat")))
    with pytest.raises(ValueError, match=r"misshapen \(3\): `embedding` is \(7, 4\)"):
        TrainingState.read(tmp_path, model)
    known = word_backbone().vocabulary
    assert_same(TrainingState.read(tmp_path, model, known), state)


def replace(file, name, **declared):
    del file[name]
    return file.create_dataset(name, **declared)


def inflate(file):
    """2 GiB of zeros in 2 MB."""
    shape, chunk = (2**13, 2**16), (2**4, 2**16)
    bomb = replace(
        file, "softmax/W", shape=shape, dtype="f4", chunks=chunk, compression="gzip"
    )
    packed = zlib.compress(bytes(4 * math.prod(chunk)), 9)
    for row in range(0, shape[0], chunk[0]):
        bomb.id.write_direct_chunk((row, 0), packed)


def declare(file):
    """A petabyte of which nothing is stored."""
    replace(file, "softmax/W", shape=(7, 2**45), dtype="f4", chunks=(7, 2**10))


def widen(file):
    """The right shape, and more than memory to unpack it: a piece has 8 MiB here."""
    piece = (2**11, 2**10)
    bomb = replace(
        file,
        "softmax/W",
        shape=(7, 4),
        dtype="f4",
        chunks=piece,
        maxshape=(None, None),
        compression="gzip",
    )
    bomb.id.write_direct_chunk((0, 0), zlib.compress(bytes(4 * math.prod(piece)), 9))


def lengthen(file):
    """The right shape, of texts of a gigabyte."""
    replace(file, "softmax/b", shape=(7,), dtype=f"S{2**30}")


def add(file):
    file.create_dataset("more", shape=(2**14, 2**14), dtype="f4", chunks=True)


def many_steps(file):
    file.attrs["step"] = np.zeros(7, "int64")


@pytest.mark.parametrize(
    "spoil, told",
    [
        (inflate, r"`softmax/W` is \(8192, 65536\), expected \(7, 4\)"),
        (declare, r"`softmax/W` is \(7, 35184372088832\), expected \(7, 4\)"),
        (
            widen,
            r"`softmax/W` of .* \(7, 4\) but is stored in pieces of \(2048, 1024\)",
        ),
        (lengthen, "`softmax/b` of .* must hold floats"),
        (add, r"unexpected \(1\): `more` \(16384, 16384\)"),
        (many_steps, r"`step` is \(7,\) of int64"),
    ],
)
def test_what_a_state_declares_is_refused_unread(
    state, spoil, told, tmp_path, monkeypatch
):
    path = tmp_path / "optimizer.h5"
    state.write(path)
    with h5py.File(path, "r+") as file:
        spoil(file)
    assert path.stat().st_size < 2**22
    reads = []
    monkeypatch.setattr(hdf5, "read_float32", lambda *given: reads.append(given))
    model = keras_elmo.ElmoBiLM(word_backbone())
    with pytest.raises(ValueError, match=told):
        TrainingState.read(path, model)
    assert reads == []


def test_an_optimizer_takes_the_state_and_gives_it_back(state):
    model = keras_elmo.ElmoBiLM(word_backbone())
    optimizer = state.optimizer(model)
    assert float(optimizer.learning_rate) == pytest.approx(0.2)
    assert_same(TrainingState.of(model, optimizer, state.options), state)


def test_rows_go_with_their_words(state):
    """A vocabulary in another order, with a new word and without an old one."""
    known = word_backbone().vocabulary
    backbone = word_backbone(words=("river", "the", "boat", "."))
    model = keras_elmo.ElmoBiLM(backbone)
    optimizer = keras.optimizers.Adagrad(initial_accumulator_value=0.5)
    state.restore(model, optimizer, vocabulary=known)
    found = TrainingState.of(model, optimizer, {}).accumulators
    for name in ("softmax/W", "softmax/b", "embedding"):
        for row, word in enumerate(backbone.vocabulary.tokens):
            expected = (
                state.accumulators[name][known.tokens.index(word)]
                if word in known
                else 0.5
            )
            np.testing.assert_array_equal(found[name][row], expected)
    name = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_0"
    np.testing.assert_array_equal(found[name], state.accumulators[name])


def test_what_does_not_fit_changes_nothing(state):
    model = keras_elmo.ElmoBiLM(word_backbone(words=("a", "b")))
    optimizer = TrainingState({}).optimizer(model)
    before = TrainingState.of(model, optimizer, {})
    with pytest.raises(ValueError, match="another model"):
        state.restore(model, optimizer)
    assert_same(TrainingState.of(model, optimizer, {}), before)
    with pytest.raises(ValueError, match="Adagrad"):
        state.restore(model, keras.optimizers.SGD())
    model.backbone.token_embedder.trainable = False
    with pytest.raises(ValueError, match="frozen"):
        TrainingState({}).optimizer(model)
    with pytest.raises(ValueError, match="all_clip_norm_val"):
        TrainingState({"all_clip_norm_val": 0}).optimizer(model)


def test_pretraining_goes_on_from_a_checkpoints_slots(tmp_path):
    """With large accumulators a step is small: the weights stay where they were."""
    sentences = [["the", "river", "bank"], ["the", "bank", "."]] * 4
    corpus = keras_elmo.data.Corpus.from_sentences(
        sentences, word_backbone().vocabulary
    )
    model = keras_elmo.ElmoBiLM(word_backbone(proj_clip=3.0, cell_clip=3.0))
    moved = {}
    for slots in (None, 1e12):
        preset = tmp_path / f"preset_{slots}"
        model.save_to_preset(preset)
        if slots is not None:
            state = TrainingState.of(model, TrainingState({}).optimizer(model), {})
            for array in state.accumulators.values():
                array[...] = slots
            state.write(preset / "optimizer.h5")
        tuned = keras_elmo.training.pretrain(
            corpus,
            tmp_path / f"run_{slots}",
            "paper",
            {
                **{"input_kind": "words", "hidden_dim": 8, "projection_dim": 4},
                **{"batch_size": 2, "unroll": 3, "num_negatives": None},
                "dropout": 0.0,
            },
            init_from=preset,
            steps=2,
            verbose=False,
        )
        before = keras.ops.convert_to_numpy(model.softmax.kernel)
        after = keras.ops.convert_to_numpy(tuned.softmax.kernel)
        moved[slots] = np.abs(after - before).max()
    assert moved[None] > 0.01
    assert moved[1e12] < 1e-4

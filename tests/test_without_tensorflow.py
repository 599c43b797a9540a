"""With JAX or torch as backend, nothing of TensorFlow is needed."""

import os

import pytest

from tests.helpers import run_python

# `None` in sys.modules makes an import fail as it does where a package is missing.
BLOCK = """
import os, sys, tempfile
for name in ("tensorflow", "tensorflow_text"):
    sys.modules[name] = None
"""

USE = (
    BLOCK
    + """
import keras
import numpy as np
import keras_elmo

backbone = keras_elmo.ElmoBackbone(
    hidden_dim=8,
    projection_dim=4,
    char_cnn_filters=[[1, 4], [2, 4]],
    character_embedding_dim=4,
    max_characters_per_token=10,
)
sentences = [["The", "bank", "."], ["a"], []]
vectors = keras_elmo.embed(sentences, backbone)
assert vectors.shape == (3, 3, 8) and np.isfinite(vectors).all()

ids = keras_elmo.text.encode_sentences(sentences, 10)
inputs = keras.Input((None, 10), dtype="int32")
layers = keras.ops.stack(backbone(inputs), axis=1)
mixed = keras_elmo.ScalarMix()(layers)
outputs = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(mixed))
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="mse")
before = [np.array(keras.ops.convert_to_numpy(w)) for w in model.trainable_weights]
history = model.fit(ids, np.ones((3, 1)), epochs=1, verbose=0)
assert np.isfinite(history.history["loss"]).all()
after = [keras.ops.convert_to_numpy(w) for w in model.trainable_weights]
assert any((old != new).any() for old, new in zip(before, after))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.keras")
    model.save(path)
    again = keras.saving.load_model(path)
    np.testing.assert_array_equal(
        again.predict(ids, verbose=0), model.predict(ids, verbose=0)
    )
    preset = os.path.join(folder, "preset")
    backbone.save_to_preset(preset)
    again = keras_elmo.ElmoBackbone.from_preset(preset)
    np.testing.assert_array_equal(
        keras_elmo.embed(sentences, again), keras_elmo.embed(sentences, backbone)
    )

    text = [["The", "bank", "."], ["a", "bank"], ["The", "river", "."]] * 5
    corpus = keras_elmo.data.Corpus.from_sentences(text)
    settings = {
        "hidden_dim": 8,
        "projection_dim": 4,
        "char_cnn_filters": [[1, 4]],
        "num_negatives": 3,
        "batch_size": 2,
        "unroll": 5,
        "epochs": 1,
    }
    run = os.path.join(folder, "run")
    model = keras_elmo.training.pretrain(
        corpus, run, "tiny", settings, verbose=False, steps=3
    )
    found = keras_elmo.training.perplexity(model, text, corpus.vocabulary)
    assert np.isfinite(list(found.values())).all()

from keras_elmo import cli
assert sys.modules["tensorflow"] is None
print("done on", keras.config.backend())
"""
)

needs_another_backend = pytest.mark.skipif(
    os.environ.get("KERAS_BACKEND") not in ("jax", "torch"),
    reason="on the TensorFlow backend TensorFlow is needed",
)


@needs_another_backend
def test_pretrain_embed_fit_save_and_load_without_tensorflow():
    told = run_python(USE)
    assert told.strip() == f"done on {os.environ['KERAS_BACKEND']}"


@needs_another_backend
def test_the_package_alone_does_not_import_tensorflow():
    """Where it is installed it is not loaded: that takes seconds."""
    run_python("import sys, keras_elmo; assert 'tensorflow' not in sys.modules")


def test_a_blocked_backend_is_named_with_its_extra():
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    told = run_python(
        f"""
import sys
sys.modules[{backend!r}] = None
try:
    import keras_elmo
except ImportError as error:
    print(error)
""",
        backend=backend,
    )
    assert f"keras-elmo[{backend}]" in told


def test_without_any_backend_every_extra_is_named():
    told = run_python(
        """
import sys
for name in ("tensorflow", "jax", "torch"):
    sys.modules[name] = None
try:
    import keras_elmo
except ImportError as error:
    print(error)
"""
    )
    for extra in ("tensorflow", "jax", "torch"):
        assert f"keras-elmo[{extra}]" in told

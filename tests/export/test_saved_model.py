"""Versions of exported SavedModels, and what cannot be exported."""

import keras
import pytest

from keras_elmo.export import export_saved_model
from tests.models_for_tests import character_backbone

pytest.importorskip("tensorflow")


@pytest.mark.once
def test_the_next_export_is_the_next_version(tmp_path):
    backbone = character_backbone()
    (tmp_path / "elmo" / "7").mkdir(parents=True)
    (tmp_path / "elmo" / "notes.txt").write_text("mine")
    told = export_saved_model(backbone, tmp_path / "elmo", tokenizer="unicode")
    assert told["version"] == 8
    # What TF Serving must have linked in.
    assert told["custom_ops"] == ["RegexSplitWithOffsets"]
    names = sorted(path.name for path in (tmp_path / "elmo").iterdir())
    assert names == ["7", "8", "notes.txt"]


@pytest.mark.once
def test_each_weight_is_written_once(tmp_path):
    import tensorflow as tf

    backbone = character_backbone()
    export_saved_model(backbone, tmp_path / "elmo")
    path = tmp_path / "elmo" / "1" / "variables" / "variables"
    shapes = tf.train.load_checkpoint(str(path)).get_variable_to_shape_map()
    found = [tuple(shape) for name, shape in shapes.items() if "VARIABLE" in name]
    # Dropout's seeds, (2,), are not used.
    wanted = [tuple(weight.shape) for weight in backbone.weights]
    assert sorted(x for x in found if x != (2,)) == sorted(wanted)


@pytest.mark.once
@pytest.mark.parametrize(
    "model, error",
    [
        (lambda: character_backbone(keep_boundaries=True), "keep_boundaries"),
        (lambda: keras.layers.Dense(3), "`model` must be"),
    ],
)
def test_what_cannot_be_exported_leaves_nothing(model, error, tmp_path):
    with pytest.raises(ValueError, match=error):
        export_saved_model(model(), tmp_path / "elmo")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"splitter|tokenizer"):
        export_saved_model(character_backbone(), tmp_path / "elmo", tokenizer="nltk")
    assert list(tmp_path.iterdir()) == []

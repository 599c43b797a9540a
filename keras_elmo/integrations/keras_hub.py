"""ELMo as a KerasHub backbone.

Once this module is imported, `keras_hub.models.Backbone.from_preset` reads the presets
that `ElmoBackbone.save_to_preset` writes.
"""

import importlib
from pathlib import Path

import keras

from keras_elmo.models.elmo_backbone import VOCABULARY_FILE, ElmoBackbone
from keras_elmo.presets import ASSETS, TOKENIZER_FILE, write_json
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.text.vocabulary import Vocabulary

try:
    keras_hub = importlib.import_module("keras_hub")
except ImportError as error:
    raise ImportError(
        "keras_elmo.integrations.keras_hub needs KerasHub: "
        f"pip install 'keras-elmo[keras-hub]'. ({error})"
    ) from error

# Keras changes the bases of a functional model's class when its first model is made.
# KerasHub's must come first: were `ElmoBackbone`'s changed alone, the order of the two
# `__init__` below would depend on what was made before this module was imported.
_inputs = keras.Input((1,), name="unused")
keras_hub.models.Backbone(inputs=_inputs, outputs=_inputs, name="unused")


class ElmoHubBackbone(ElmoBackbone, keras_hub.models.Backbone):
    """An `ElmoBackbone` that is a `keras_hub.models.Backbone` too.

    The graph, the weights, their files and the registered name are `ElmoBackbone`'s:
    each class reads what the other saved. Presets are loaded and saved as KerasHub
    does it: the dtype is Keras' own unless one is given, and an existing directory is
    written into.

    Args:
        **kwargs: those of `ElmoBackbone`.

    Reference: KerasHub 0.32.0, `keras_hub.models.Backbone`.

    Example:
    ```python
    import keras_hub
    import keras_elmo.integrations.keras_hub

    backbone = keras_hub.models.Backbone.from_preset("PRESET_DIR")
    vectors = keras_elmo.embed([["The", "bank", "."]], backbone)
    ```
    """

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """The model of a preset, as KerasHub loads it.

        Args:
            preset: str, what `keras_hub.models.Backbone.from_preset` takes.
            load_weights: bool. False leaves the weights random.
            **kwargs: changes to the model's arguments, `dtype` among them.

        Returns:
            `ElmoHubBackbone`.
        """
        return keras_hub.models.Backbone.from_preset.__func__(
            cls, preset, load_weights=load_weights, **kwargs
        )

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """Writes the model as a preset directory, as KerasHub does it.

        Args:
            preset_dir: path of the directory, made where it does not exist.
            max_shard_size: GB of a file of weights at most; `ElmoBackbone` reads
                weights of one file only.
        """
        keras_hub.models.Backbone.save_to_preset(
            self, str(preset_dir), max_shard_size=max_shard_size
        )
        # What KerasHub keeps with a tokenizer of its own, a biLM's preset always has.
        directory = Path(preset_dir)
        tokenizer = directory / TOKENIZER_FILE
        if not tokenizer.exists():
            write_json(
                tokenizer,
                {
                    "module": "keras_elmo",
                    "class_name": "ElmoTokenizer",
                    "config": ElmoTokenizer.of(self).get_config(),
                },
            )
        if self.vocabulary is not None:
            (directory / ASSETS).mkdir(exist_ok=True)
            self.vocabulary.write(directory / ASSETS / VOCABULARY_FILE, overwrite=True)

    def load_weights(self, filepath, *args, **kwargs):
        """`keras.Model.load_weights`; reads the vocabulary of a preset's weights too.

        KerasHub's loader tells a backbone no more of a preset than this path.
        """
        super().load_weights(filepath, *args, **kwargs)
        vocabulary = Path(filepath).parent / ASSETS / VOCABULARY_FILE
        if vocabulary.exists():
            self.vocabulary = Vocabulary.read(vocabulary)


# Under `ElmoBackbone`'s name, since that is what a preset's config.json says. From now
# on Keras makes an `ElmoHubBackbone` of it, which is an `ElmoBackbone`; where this
# module is not imported, the same files give an `ElmoBackbone`.
keras.saving.register_keras_serializable(package="keras_elmo", name="ElmoBackbone")(
    ElmoHubBackbone
)

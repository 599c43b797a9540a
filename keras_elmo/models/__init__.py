"""Models: the backbone, the language model, and one file a task model."""

from keras_elmo.models.elmo_backbone import ElmoBackbone as ElmoBackbone

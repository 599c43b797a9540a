"""Models: the backbone, the language model, and one file a task model."""

from keras_elmo.models.elmo_backbone import ElmoBackbone as ElmoBackbone
from keras_elmo.models.elmo_bilm import ElmoBiLM as ElmoBiLM
from keras_elmo.models.perplexity import Perplexity as Perplexity

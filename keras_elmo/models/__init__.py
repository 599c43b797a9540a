"""Models: the backbone, the language model, and one file a task model."""

from keras_elmo.models.elmo_backbone import ElmoBackbone as ElmoBackbone
from keras_elmo.models.elmo_bilm import ElmoBiLM as ElmoBiLM
from keras_elmo.models.elmo_pair_classifier import (
    ElmoPairClassifier as ElmoPairClassifier,
)
from keras_elmo.models.elmo_question_answering import (
    ElmoQuestionAnswering as ElmoQuestionAnswering,
)
from keras_elmo.models.elmo_task import ElmoTask as ElmoTask
from keras_elmo.models.elmo_text_classifier import (
    ElmoTextClassifier as ElmoTextClassifier,
)
from keras_elmo.models.elmo_token_classifier import (
    ElmoTokenClassifier as ElmoTokenClassifier,
)
from keras_elmo.models.many_langs_backbone import (
    ManyLangsBackbone as ManyLangsBackbone,
)
from keras_elmo.models.perplexity import Perplexity as Perplexity

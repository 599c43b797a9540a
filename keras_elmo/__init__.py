"""ELMo in Keras 3: contextual word vectors from bidirectional language models.

Importing the package registers every class with Keras, so that `.keras` files that
hold them load without `custom_objects`.
"""

from keras_elmo._requirements import prepare_backend as _prepare_backend

# Before anything imports Keras, whose own error names no remedy.
_prepare_backend()

# ruff: noqa: E402
from keras_elmo import (
    data as data,
    evaluation as evaluation,
    tasks as tasks,
    text as text,
    training as training,
)
from keras_elmo._version import __version__ as __version__
from keras_elmo.embed import embed as embed, embed_iter as embed_iter
from keras_elmo.layers import (
    CRF as CRF,
    AddSentenceMarkers as AddSentenceMarkers,
    Attend as Attend,
    BidirectionalAttention as BidirectionalAttention,
    BidirectionalLSTM as BidirectionalLSTM,
    BiLMEncoder as BiLMEncoder,
    BiLMSoftmax as BiLMSoftmax,
    CarriedState as CarriedState,
    CharacterCNN as CharacterCNN,
    ElmoEmbedding as ElmoEmbedding,
    Highway as Highway,
    JoinedEncoder as JoinedEncoder,
    LayerMixes as LayerMixes,
    LSTMStack as LSTMStack,
    PoolTokens as PoolTokens,
    ProjectedLSTM as ProjectedLSTM,
    RemoveSentenceMarkers as RemoveSentenceMarkers,
    SampledSoftmax as SampledSoftmax,
    ScalarMix as ScalarMix,
    SpanScores as SpanScores,
    TokenAt as TokenAt,
    WordCharacterEmbedding as WordCharacterEmbedding,
    WordEmbedding as WordEmbedding,
)
from keras_elmo.models import (
    ElmoBackbone as ElmoBackbone,
    ElmoBiLM as ElmoBiLM,
    ElmoPairClassifier as ElmoPairClassifier,
    ElmoQuestionAnswering as ElmoQuestionAnswering,
    ElmoTask as ElmoTask,
    ElmoTextClassifier as ElmoTextClassifier,
    ElmoTokenClassifier as ElmoTokenClassifier,
    ManyLangsBackbone as ManyLangsBackbone,
    Perplexity as Perplexity,
)
from keras_elmo.text import ElmoTokenizer as ElmoTokenizer, Vocabulary as Vocabulary
from keras_elmo.text.elmo_preprocessor import ElmoPreprocessor as ElmoPreprocessor
from keras_elmo.text.string_ids import StringIds as StringIds
from keras_elmo.token_cache import TokenCache as TokenCache

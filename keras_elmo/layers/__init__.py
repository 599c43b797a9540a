"""The layers of a biLM: keras.ops only, no input or output."""

from keras_elmo.layers.add_sentence_markers import (
    AddSentenceMarkers as AddSentenceMarkers,
)
from keras_elmo.layers.attend import Attend as Attend
from keras_elmo.layers.bidirectional_attention import (
    BidirectionalAttention as BidirectionalAttention,
)
from keras_elmo.layers.bidirectional_lstm import (
    BidirectionalLSTM as BidirectionalLSTM,
)
from keras_elmo.layers.bilm_encoder import BiLMEncoder as BiLMEncoder
from keras_elmo.layers.bilm_softmax import BiLMSoftmax as BiLMSoftmax
from keras_elmo.layers.carried_state import CarriedState as CarriedState
from keras_elmo.layers.character_cnn import CharacterCNN as CharacterCNN
from keras_elmo.layers.crf import CRF as CRF
from keras_elmo.layers.elmo_embedding import ElmoEmbedding as ElmoEmbedding
from keras_elmo.layers.highway import Highway as Highway
from keras_elmo.layers.joined_encoder import JoinedEncoder as JoinedEncoder
from keras_elmo.layers.layer_mixes import LayerMixes as LayerMixes
from keras_elmo.layers.lstm_stack import LSTMStack as LSTMStack
from keras_elmo.layers.pool_tokens import PoolTokens as PoolTokens
from keras_elmo.layers.projected_lstm import ProjectedLSTM as ProjectedLSTM
from keras_elmo.layers.remove_sentence_markers import (
    RemoveSentenceMarkers as RemoveSentenceMarkers,
)
from keras_elmo.layers.sampled_softmax import SampledSoftmax as SampledSoftmax
from keras_elmo.layers.scalar_mix import ScalarMix as ScalarMix
from keras_elmo.layers.span_scores import SpanScores as SpanScores
from keras_elmo.layers.token_at import TokenAt as TokenAt
from keras_elmo.layers.word_character_embedding import (
    WordCharacterEmbedding as WordCharacterEmbedding,
)
from keras_elmo.layers.word_embedding import WordEmbedding as WordEmbedding

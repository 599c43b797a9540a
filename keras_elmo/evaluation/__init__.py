"""What a biLM knows: probes by layer, word senses, and pictures of a word's uses."""

from keras_elmo.evaluation.coarse_wsd import read_coarse_wsd as read_coarse_wsd
from keras_elmo.evaluation.context_probe import (
    probe_words_in_context as probe_words_in_context,
)
from keras_elmo.evaluation.linear_probe import (
    LinearProbe as LinearProbe,
    ProbeExamples as ProbeExamples,
    ProbeResult as ProbeResult,
)
from keras_elmo.evaluation.sense_probe import probe_senses as probe_senses
from keras_elmo.evaluation.tag_probe import probe_tags as probe_tags
from keras_elmo.evaluation.token_layers import TokenLayers as TokenLayers
from keras_elmo.evaluation.word2vec import train_word2vec as train_word2vec

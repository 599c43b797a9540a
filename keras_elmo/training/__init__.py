"""Pretraining and perplexity."""

from keras_elmo.training.perplexity import (
    perplexity as perplexity,
    unigram_perplexity as unigram_perplexity,
)
from keras_elmo.training.pretrain import pretrain as pretrain

"""Pretraining and perplexity."""

from keras_elmo.training.held_out import read_held_out as read_held_out
from keras_elmo.training.perplexity import (
    perplexity as perplexity,
    unigram_perplexity as unigram_perplexity,
)
from keras_elmo.training.pretrain import pretrain as pretrain
from keras_elmo.training.processes import join_processes as join_processes
from keras_elmo.training.recipes import (
    RECIPES as RECIPES,
    Settings as Settings,
    settings_of as settings_of,
)

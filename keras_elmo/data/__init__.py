"""Text as batches for training."""

from keras_elmo.data.corpus import Corpus as Corpus
from keras_elmo.data.negatives import LogUniformSampler as LogUniformSampler
from keras_elmo.data.stream_batches import StreamBatches as StreamBatches

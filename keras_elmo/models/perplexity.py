"""The metric that language models are told apart by."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_elmo")
class Perplexity(keras.metrics.Mean):
    """exp of the mean negative log-likelihood that it was updated with, in nats.

    A model that gives each of V words the same odds has a perplexity of V.

    Args:
        name: str.
        dtype: dtype policy of what is summed.
    """

    def result(self):
        return ops.exp(super().result())

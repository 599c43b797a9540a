"""A biLM as a TensorFlow graph of plain operations, its weights constants in it."""

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(
        "This export goes through TensorFlow: pip install 'keras-elmo[tensorflow]'."
    ) from error

import keras

from keras_elmo import backend
from keras_elmo.export.graph_outputs import named_outputs
from keras_elmo.export.stored_weights import stored_pieces


def traced(backbone, shape, weights_dtype="float32"):
    """The `tf.function` from ids to `named_outputs`, and the spec of its input.

    Args:
        backbone: `ElmoBackbone` in float32, on the TensorFlow backend.
        shape: of the ids, None where a size may be any.
        weights_dtype: "float32", "float16" or "int8": how constants are stored.
    """
    stored = [(v, stored_pieces(v, weights_dtype)) for v in backbone.variables]
    name = backbone.inputs[0].name

    def run(ids):
        values = [(v, _in_float32(pieces)) for v, pieces in stored]
        with backend.portable(), keras.StatelessScope(state_mapping=values):
            return named_outputs(backbone, ids)

    spec = tf.TensorSpec(shape, "int32", name)
    return tf.function(run, input_signature=[spec], autograph=False), spec


def _in_float32(pieces):
    values = [tf.cast(tf.constant(piece), tf.float32) for piece in pieces]
    return values[0] if len(values) == 1 else values[0] * values[1]

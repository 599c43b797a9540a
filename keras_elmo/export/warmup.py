"""Requests that a model server runs before it answers anybody. TensorFlow only.

The first call of a graph is slow: memory, kernels and, on a GPU, whole libraries are
set up in it. TF Serving reads such requests from the SavedModel and runs them first.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

# The name that TF Serving looks for, in the SavedModel's directory.
WARMUP_FILE = Path("assets.extra", "tf_serving_warmup_requests")
# (sentences, tokens of each), as clients send them. A server is not there for anybody
# before it has run them all: few, and none that takes long.
SIZES = ((1, 1), (1, 20), (8, 20))
TOKEN = "word"


def write_warmup(path) -> int | None:
    """Writes the warm-up requests of every signature of a SavedModel.

    Args:
        path: the SavedModel's directory.

    Returns:
        int, the number of requests; None, and no file, without tensorflow-serving-api.

    Reference: TensorFlow Serving, "SavedModel Warmup".
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError:
        return None
    content = saved_model_pb2.SavedModel()
    content.ParseFromString((Path(path) / "saved_model.pb").read_bytes())
    signatures = content.meta_graphs[0].signature_def
    # The loader's own way to initialise, no signature that can be called.
    names = sorted(name for name in signatures if not name.startswith("__"))
    file = Path(path) / WARMUP_FILE
    file.parent.mkdir()
    with tf.io.TFRecordWriter(str(file)) as writer:
        for name in names:
            for batch, tokens in SIZES:
                request = predict_pb2.PredictRequest()
                request.model_spec.signature_name = name
                for key, info in signatures[name].inputs.items():
                    value = tf.make_tensor_proto(example(key, info, batch, tokens))
                    request.inputs[key].CopyFrom(value)
                log = prediction_log_pb2.PredictionLog()
                log.predict_log.request.CopyFrom(request)
                writer.write(log.SerializeToString())
    return len(names) * len(SIZES)


def example(name, info, batch, tokens):
    """A value for an input of a signature, by its type and rank.

    Args:
        name: the input's name.
        info: its `TensorInfo`.
        batch: sentences.
        tokens: tokens of each.
    """
    rank = len(info.tensor_shape.dim)
    dtype = tf.as_dtype(info.dtype)
    if dtype == tf.string:
        words = [TOKEN] * tokens
        return [words if rank == 2 else " ".join(words)] * batch
    if rank == 3:
        # Numbers that any table has, and not the same one throughout: a token.
        ids = np.ones((batch, tokens, info.tensor_shape.dim[2].size), "int32")
        ids[..., 0] = 2
        return ids
    if rank == 2:
        return np.ones((batch, tokens), dtype.as_numpy_dtype)
    # Lengths, or places of tokens, of which the first is always there.
    value = tokens if name == "sequence_len" else 0
    return np.full((batch,), value, dtype.as_numpy_dtype)

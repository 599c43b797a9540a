"""The graphs of a SavedModel: text in, vectors or labels out. TensorFlow only."""

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(
        "A SavedModel is written by TensorFlow: pip install 'keras-elmo[tensorflow]'."
    ) from error

from pathlib import Path

import keras
from tensorflow.core.protobuf import saved_model_pb2

from keras_elmo.export.task_signatures import task_signatures
from keras_elmo.layer_choice import LayerChoice
from keras_elmo.models.elmo_task import ElmoTask
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.text.graph import GraphEncoder, rows_of

STRINGS = tf.TensorSpec((None,), tf.string, "strings")
TOKENS = tf.TensorSpec((None, None), tf.string, "tokens")
LENGTHS = tf.TensorSpec((None,), tf.int32, "sequence_len")


def write_saved_model(model, path, tokenizer=None):
    """Writes a SavedModel directory; see `keras_elmo.export.export_saved_model`.

    Returns:
        dict: "signatures" and "custom_ops".
    """
    if isinstance(model, ElmoTask):
        functions, resources = task_signatures(model, tokenizer)
    else:
        functions, resources = backbone_signatures(model, tokenizer or "whitespace")
    archive = keras.export.ExportArchive()
    archive.track(model)
    _keep_once(archive, model)
    for resource in resources:
        archive.track(resource)
    # The first one becomes "serving_default".
    endpoints = {
        name: archive.add_endpoint(name, function, input_signature=specs)
        for name, (function, specs) in functions.items()
    }
    if not isinstance(model, ElmoTask):
        _make_callable(archive, endpoints["default"])
    archive.write_out(str(path), verbose=False)
    return {"signatures": list(functions), "custom_ops": custom_ops(path)}


def _keep_once(archive, model):
    """Tracks TensorFlow's own variables, as the endpoints do, in place of Keras'.

    Both would be written: a file of twice the size.
    """
    for name in ("variables", "trainable_variables", "non_trainable_variables"):
        own = [variable.value for variable in getattr(model, name)]
        setattr(archive._tf_trackable, name, own)


def _make_callable(archive, default):
    """Lets the loaded object be called, without a signature of that name."""

    def call(strings):
        return default(strings)["default"]

    # Keras has no way to add a function that is no signature.
    archive._tf_trackable.__call__ = tf.function(
        call, input_signature=[STRINGS], autograph=False
    )


def backbone_signatures(backbone, tokenizer):
    """A biLM's signatures by name: (function, specs of its inputs); and its tables."""
    encode = GraphEncoder(ElmoTokenizer.of(backbone, tokenizer))
    weights = LayerChoice("mix", backbone).weights
    assert weights is not None  # only "all" has none
    has_characters = backbone.ids_width is not None
    if has_characters:
        shape, name = (None, None, backbone.ids_width), "character_ids"
    else:
        shape, name = (None, None), "token_ids"
    ids_spec = tf.TensorSpec(shape, tf.int32, name)

    # One graph for all signatures.
    @tf.function(input_signature=[ids_spec], autograph=False)
    def outputs(ids):
        layers = backbone(ids, training=False)
        is_token = tf.not_equal(ids, 0)
        if has_characters:
            is_token = tf.reduce_any(is_token, axis=-1)
        lengths = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1)
        layers = [tf.cast(layer, tf.float32) for layer in layers]
        mixed = tf.add_n([w * x for w, x in zip(weights, layers, strict=True)])
        # Over 10,000 tokens a sum in float32 is wrong in the fifth digit.
        total = tf.reduce_sum(tf.cast(mixed, tf.float64), axis=1)
        count = tf.cast(tf.maximum(lengths, 1), tf.float64)[:, None]
        named = {}
        # ELMoForManyLangs' "lstm" gives its top layer only.
        for number, layer in enumerate(layers, backbone.num_layers + 1 - len(layers)):
            if number == 0:
                named["word_emb"] = layer[..., : backbone.projection_dim]
            else:
                named[f"lstm_outputs{number}"] = layer
        named["elmo"] = mixed
        named["default"] = tf.cast(total / count, tf.float32)
        named["sequence_len"] = lengths
        return named

    def default(strings):
        return outputs(encode(strings))

    def tokens(tokens, sequence_len):
        named = outputs(encode(rows_of(tokens, sequence_len)))
        # As long as what came in, whatever the longest sentence is.
        missing = tf.shape(tokens)[1] - tf.shape(named["elmo"])[1]
        behind = tf.stack([[0, 0], [0, missing], [0, 0]])
        return {
            name: tf.pad(value, behind) if value.shape.rank == 3 else value
            for name, value in named.items()
        }

    def by_ids(ids):
        if not has_characters:
            return outputs(ids)
        # A server that fills up a batch's shorter requests takes the first number of
        # each for it, here the one that begins a word. No token is one number only.
        is_token = tf.reduce_any(ids != ids[..., :1], axis=-1, keepdims=True)
        return outputs(tf.where(is_token, ids, 0))

    functions = {
        "default": (default, [STRINGS]),
        "tokens": (tokens, [TOKENS, LENGTHS]),
        name: (by_ids, [ids_spec]),
    }
    return functions, encode.resources


def custom_ops(path):
    """Names of a SavedModel's ops that are not TensorFlow's own, sorted."""
    content = saved_model_pb2.SavedModel()
    content.ParseFromString((Path(path) / "saved_model.pb").read_bytes())
    used, functions = set(), set()
    for graph in content.meta_graphs:
        nodes = list(graph.graph_def.node)
        for function in graph.graph_def.library.function:
            functions.add(function.signature.name)
            nodes += function.node_def
        used |= {node.op for node in nodes}
    return sorted(op for op in used - functions if not hasattr(tf.raw_ops, op))

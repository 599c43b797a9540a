"""What every exported graph puts out for a batch of ids, under google/elmo's names."""

from keras import ops

from keras_elmo.layer_choice import LayerChoice


def named_outputs(backbone, ids):
    """A biLM's outputs by name, in keras.ops: eager, or while a graph is traced.

    Args:
        backbone: `ElmoBackbone` without sentence markers in its outputs.
        ids: int32 tensor as the backbone reads, 0 where padded.

    Returns:
        dict: `word_emb` (batch, time, P), `lstm_outputs1` to `lstm_outputsL` and
        `elmo`, the model's mix, (batch, time, 2 P), `default`, the mean over real
        tokens, (batch, 2 P), float32, and `sequence_len` int32 (batch,). A model that
        gives its top layer alone has no `word_emb`.
    """
    layers = [ops.cast(x, "float32") for x in backbone(ids, training=False)]
    is_token = ops.not_equal(ids, 0)
    if len(ids.shape) == 3:
        is_token = ops.any(is_token, axis=-1)
    lengths = ops.sum(ops.cast(is_token, "int32"), axis=1)
    named = {}
    if len(layers) > 1:
        named["word_emb"] = layers[0][..., : backbone.projection_dim]
    for number, layer in enumerate(layers[1:] or layers, 1):
        named[f"lstm_outputs{number}"] = layer
    weights = LayerChoice("mix", backbone).weights
    assert weights is not None  # only "all" has none
    # Python's numbers: a tracer of graphs may not know NumPy's.
    mixed = sum(
        layer * weight for layer, weight in zip(layers, weights.tolist(), strict=True)
    )
    count = ops.cast(ops.maximum(lengths, 1), "float32")
    named["elmo"] = mixed
    named["default"] = ops.sum(mixed, axis=1) / ops.expand_dims(count, axis=-1)
    named["sequence_len"] = lengths
    return named

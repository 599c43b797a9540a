"""What TensorFlow keeps of models that are gone."""

from tensorflow.python.framework import ops  # type: ignore[import] # no public name

# As `tf.custom_gradient` names what it registers in a graph.
_PREFIX = "CustomGradient-"


def known() -> frozenset[str]:
    """Names of the gradients of graphs' parts that are registered now."""
    return frozenset(name for name in _registered() if name.startswith(_PREFIX))


def free(keep: frozenset[str]) -> None:
    """Forgets the gradients that were registered since.

    Seen on TensorFlow 2.21: `tf.custom_gradient` registers a function for each place
    of each graph, for good, and the function holds the graph: 30 MB with each small
    biLM that was trained. Graphs that are still there can be run, but no new gradient
    can be taken through them.

    Args:
        keep: what `known` gave before.
    """
    registered = _registered()
    for name in known() - keep:
        registered.pop(name, None)


def _registered():
    # Where another version has it elsewhere, nothing is freed and nothing fails.
    return getattr(getattr(ops, "gradient_registry", None), "_registry", {})

"""What JAX keeps of models that are gone."""

import jax


def free():
    """Forgets all that was compiled; what is used again is compiled again.

    Programs of former models, and of their shapes, stay in JAX' caches otherwise: some
    40 MB with each small biLM that was trained.
    """
    jax.clear_caches()

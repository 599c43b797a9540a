"""Several processes that train one model, on JAX."""

import hashlib

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils


def join(coordinator, number, index):
    """See `keras_elmo.training.processes`."""
    # Processors have no collectives of their own; accelerators do not read this.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        coordinator_address=coordinator, num_processes=number, process_id=index
    )
    keras.distribution.set_distribution(
        # The batches say themselves which rows are whose.
        keras.distribution.DataParallel(auto_shard_dataset=False)
    )


def count():
    """How many processes there are, and the number of this one."""
    return jax.process_count(), jax.process_index()


def agree(text):
    """Whether all processes call it with the same text; waits for all of them."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    # JAX has no 64-bit integers by default.
    own = np.frombuffer(digest, "uint32")
    return bool((multihost_utils.process_allgather(own) == own).all())

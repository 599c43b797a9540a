"""Several processes that train one model, on JAX."""

import jax
import keras


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

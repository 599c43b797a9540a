"""Several processes that train one model, each on its rows of every batch."""

import importlib

import keras

from keras_elmo import checks


def join_processes(coordinator: str, number: int, index: int) -> None:
    """Makes this process one of several; to be called before any model is made.

    Each process calls it, then `pretrain` with the same arguments and a run's
    directory that all of them reach. The batches are those that one process would
    have; process 0 writes. Held-out text each of them looks at whole.

    Args:
        coordinator: "host:port" of process 0, the same for all.
        number: int, how many processes there are.
        index: int, the number of this one, from 0.

    Raises:
        NotImplementedError: on another backend than JAX.
        ValueError: when `index` is not below `number`.

    Example:
    ```py
    # On one machine in two terminals, with index 0 and 1:
    keras_elmo.training.join_processes("localhost:5000", 2, index=0)
    keras_elmo.training.pretrain("corpus", "run", "small")
    ```
    """
    number = checks.positive_int("number", number)
    index = checks.positive_int("index", index, minimum=0)
    if index >= number:
        rule = f"below number (={number})"
        raise ValueError(checks.received("index", index, rule))
    if keras.backend.backend() != "jax":
        raise NotImplementedError(
            "Several processes train one model on the JAX backend. Received: "
            f"{keras.backend.backend()}. Set KERAS_BACKEND=jax."
        )
    _jax().join(coordinator, number, index)


def processes() -> tuple[int, int]:
    """How many processes train this model, and the number of this one."""
    if keras.backend.backend() != "jax":
        return 1, 0
    return _jax().count()


def check_agreement(**arguments) -> None:
    """Refuses what differs from process to process: they would wait for ever.

    Args:
        **arguments: of this process, each with a `repr` that tells all.

    Raises:
        ValueError: in each process, naming the arguments.
    """
    if processes()[0] == 1:
        return
    # One after the other, by all in the same order: each waits for all.
    wrong = [name for name in arguments if not _jax().agree(repr(arguments[name]))]
    if wrong:
        named = ", ".join(f"`{name}`" for name in wrong)
        raise ValueError(f"{named} must be the same in all processes. They differ.")


def _jax():
    return importlib.import_module("keras_elmo.backend.jax_processes")

"""The memory of trials: each has what the one before had."""

import contextlib
import ctypes
import gc
import importlib

import keras


@contextlib.contextmanager
def trial_memory():
    """Gives back at its end what a trial's model held."""
    backend = keras.backend.backend()
    known = _of("tensorflow").known() if backend == "tensorflow" else None
    try:
        yield
    finally:
        keras.utils.clear_session(free_memory=False)
        if backend == "tensorflow":
            _of("tensorflow").free(known)
        gc.collect()
        if backend == "jax":
            _of("jax").free()
        # glibc keeps what was freed; other systems have no such function.
        with contextlib.suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).malloc_trim(0)


def _of(backend):
    return importlib.import_module(f"keras_elmo.backend.{backend}_memory")

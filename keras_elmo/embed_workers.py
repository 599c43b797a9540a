"""Sentences to vectors in several processes of one machine.

Each process holds the model and its share of the machine's threads, takes one piece of
the sentences at a time and sends its vectors back. The process that started them hands
the vectors on in order; it is the only one that writes anything.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.embed import embed_iter
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.presets import load_tokenizer, preset_directory
from keras_elmo.shrinking_batches import SentenceMemoryError
from keras_elmo.text.characters import check_sentences
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.token_cache import TokenCache

# Sentences and tokens of a piece: as many as embed_iter looks at together, and few
# enough that the vectors of some pieces fit into memory whatever the sentences' length.
PIECE_SENTENCES = 1024
PIECE_TOKENS = 16_384
# Processes that may die over one piece before it is given up.
TRIES = 3

_CHILD = "from keras_elmo.embed_workers import work; work()"


@contextlib.contextmanager
def embedder(model, workers: int = 1):
    """Makes ready what turns sentences into vectors, in one process or several.

    Args:
        model: `ElmoBackbone`, or what `ElmoBackbone.from_preset` takes.
        workers: int, number of processes; 1: this one.

    Yields:
        `ElmoTokenizer` of the model, and a function from sentences to an iterator of
        vectors that takes the options of `keras_elmo.embed_iter` by name.
    """
    with contextlib.ExitStack() as stack:
        if checks.positive_int("workers", workers) == 1:
            if not isinstance(model, ElmoBackbone):
                model = ElmoBackbone.from_preset(model)
            yield ElmoTokenizer.of(model), partial(embed_iter, backbone=model)
            return
        if isinstance(model, ElmoBackbone):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            model.save_to_preset(f"{folder}/preset")
            model = f"{folder}/preset"
        # What lies on a hub is fetched once.
        preset = preset_directory(model)
        yield (
            load_tokenizer(preset),
            partial(embed_in_workers, preset=preset, workers=workers),
        )


def embed_in_workers(
    sentences: Iterable[Iterable[str]], preset, workers: int, **options
) -> Iterator[np.ndarray]:
    """Contextual vectors of sentences, one array a sentence, from several processes.

    Results are those of `embed_iter`, in its order. A process that dies is reported by
    a warning; another one takes its place and does its piece again.

    Args:
        sentences: as in `keras_elmo.embed`.
        preset: str or path, what `ElmoBackbone.from_preset` takes; each process loads
            it. It must not change meanwhile.
        workers: int, number of processes. Together they have as many threads as the
            machine has cores.
        **options: of `keras_elmo.embed_iter`.

    Returns:
        iterator of NumPy float32. Closing it ends the processes.

    Raises:
        TypeError, ValueError, OSError: what loading the model and `embed_iter` raise.
        ChildProcessError: when three processes died over the same piece.

    Example:
    ```py
    lines = (line.split() for line in open("corpus.txt"))
    for vectors in embed_in_workers(lines, "PRESET_DIR", 4, layers="top"):
        print(vectors.shape)
    ```
    """
    workers = checks.positive_int("workers", workers)
    if isinstance(cache := options.get("token_cache"), TokenCache):
        # Each process maps the file.
        options["token_cache"] = cache.path
    return _embed_pieces(check_sentences(sentences), preset, workers, options)


def _embed_pieces(sentences, preset, workers, options):
    idle, reports = SimpleQueue(), SimpleQueue()
    started = [
        _Worker(preset, share, options) for share in thread_shares(cores(), workers)
    ]
    for worker in started:
        idle.put(worker)

    def embed_piece(piece):
        worker = idle.get()
        try:
            return worker.embed(piece, reports)
        finally:
            idle.put(worker)

    pieces = _pieces(sentences)
    executor = ThreadPoolExecutor(workers)
    waiting = deque()
    try:
        while True:
            # One more than is worked on: nobody waits while the last one is written.
            while len(waiting) <= workers and (piece := next(pieces, None)) is not None:
                waiting.append(executor.submit(embed_piece, piece))
            if not waiting:
                break
            try:
                vectors = waiting.popleft().result()
            finally:
                # Of an error too: what went before it.
                while not reports.empty():
                    warnings.warn(reports.get(), UserWarning, stacklevel=3)
            yield from vectors
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in started:
            worker.close()


def _pieces(sentences):
    """(number of the first sentence, sentences), at least one: options are checked."""
    first, piece, tokens = 0, [], 0
    for sentence in sentences:
        piece.append(sentence)
        tokens += len(sentence)
        if len(piece) == PIECE_SENTENCES or tokens >= PIECE_TOKENS:
            yield first, piece
            first, piece, tokens = first + len(piece), [], 0
    if piece or not first:
        yield first, piece


class _Worker:
    """A process, and another one in its place when it dies."""

    def __init__(self, preset, threads, options):
        self._setup = os.fspath(preset), options
        self._threads = threads
        self._process: subprocess.Popen | None = None
        self._closed = False
        # Between a process that is to be started and one that is to be ended.
        self._lock = threading.Lock()

    def embed(self, piece, reports):
        """The vectors of a piece, or the error that its process met."""
        first, sentences = piece
        where = f"sentences {first} to {first + len(sentences) - 1}"
        for tries_left in reversed(range(TRIES)):
            process = self._started()
            assert process.stdout is not None  # a pipe
            try:
                _send(process.stdin, sentences)
                error, vectors = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                ended = _end(process)
                if self._closed:
                    raise
                if tries_left:
                    reports.put(
                        f"A process of `workers` ended ({ended}) over {where}. "
                        "Another one does them again."
                    )
                continue
            if isinstance(error, SentenceMemoryError):
                number, tokens = error.args
                raise SentenceMemoryError(first + number, tokens)
            if error is not None:
                raise error
            return vectors
        raise ChildProcessError(
            f"{TRIES} processes of `workers` ended over {where}, the last one by "
            f"{ended}. A process that is killed may have run out of memory: give "
            "fewer workers or a smaller batch."
        )

    def _started(self):
        with self._lock:
            if self._closed:
                raise EOFError
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _CHILD],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={
                        **os.environ,
                        **thread_environment(self._threads),
                        "KERAS_BACKEND": keras.backend.backend(),
                        # The child finds what this process found.
                        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    },
                )
                with contextlib.suppress(OSError):  # told when its answer is missing
                    _send(self._process.stdin, self._setup)
            return self._process

    def close(self):
        """Ends the process."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()
                _end(self._process)


def _send(pipe, value):
    pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _end(process):
    """Ends a process; how it had ended, or "signal 9" where it had to be killed."""
    # What it was not sent yet is not sent any more.
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        # A process that died by itself takes a moment to be seen as such.
        code = process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    process.stdout.close()
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def work() -> None:
    """What a process does: reads pieces from stdin, writes vectors to stdout."""
    # Ctrl-C goes to every process of a terminal: the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What libraries print must not get between the answers.
    os.dup2(2, 1)
    # Unpickled from this program's own first process, by a pipe nobody else has.
    preset, options = pickle.load(source)
    backbone = None
    while True:
        try:
            sentences = pickle.load(source)
        except (EOFError, pickle.UnpicklingError):
            return  # the first process has ended, amid a piece perhaps
        try:
            if backbone is None:
                backbone = ElmoBackbone.from_preset(preset)
            answer = None, list(embed_iter(sentences, backbone, **options))
        except Exception as error:
            answer = _portable(error), None
        try:
            _send(answers, answer)
        except BrokenPipeError:
            return


def _portable(error):
    """An error that the first process can make again: a class of Python's own."""
    if type(error).__module__ == "builtins":
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def cores() -> int:
    """Number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # no Linux
        return os.cpu_count() or 1


def thread_shares(threads: int, workers: int) -> list[int]:
    """The threads of each of some processes: together `threads`, at least one each."""
    share, left = divmod(threads, workers)
    return [max(1, share + (worker < left)) for worker in range(workers)]


def thread_environment(threads: int) -> dict[str, str]:
    """Environment variables of a process that is to compute with so many threads.

    A smaller number that the environment asks for already stays.

    Args:
        threads: int.
    """
    names = (
        "OMP_NUM_THREADS",  # torch, NumPy
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
        "NPROC",  # XLA's thread pool, on JAX
    )
    return {name: str(_smaller(os.environ.get(name), threads)) for name in names}


def _smaller(text, threads):
    return min(int(text), threads) if text and text.isdecimal() else threads

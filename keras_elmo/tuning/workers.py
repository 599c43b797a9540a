"""Workers on this machine: processes of their own, started again when one dies."""

import os
import subprocess
import sys
import time
from pathlib import Path

import keras

from keras_elmo.tuning.chief import ID, IP, PORT, Chief
from keras_elmo.tuning.search import quiet

# Seconds between two looks at the workers.
PAUSE = 0.2
# How often a worker is started again, on average.
MOST_RESTARTS = 3
LOGS = "logs"


class Workers:
    """Worker processes of one search.

    Args:
        directory: the search's; each worker's log lies in it.
        number: int, how many.
        ip: str, the chief's address.
        port: int.
        log: function of a line of text.
    """

    def __init__(self, directory, number, ip, port, log):
        self._directory, self._log = Path(directory), log
        self._address = ("127.0.0.1" if ip in ("", "0.0.0.0") else ip), port
        self._number = number
        self._restarts = MOST_RESTARTS * number
        self._running: dict[str, subprocess.Popen] = {}
        # Two machines of one search each have a worker 1.
        host = os.uname().nodename if hasattr(os, "uname") else "local"
        for i in range(1, number + 1):
            self._start(f"{host}-{i}".replace("chief", "main"))

    def _start(self, name):
        folder = self._directory / LOGS
        folder.mkdir(exist_ok=True)
        ip, port = self._address
        threads = str(max((os.cpu_count() or 1) // self._number, 1))
        shared = {
            # Each its part of the cores, and of a GPU no more than it needs.
            "OMP_NUM_THREADS": threads,
            "TF_NUM_INTRAOP_THREADS": threads,
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        with open(folder / f"{name}.log", "ab") as file:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "keras_elmo.tuning.worker", self._directory],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={
                    **shared,
                    **os.environ,
                    "KERAS_BACKEND": keras.backend.backend(),
                    "PYTHONPATH": path,
                    ID: name,
                    IP: ip,
                    PORT: str(port),
                },
            )
        self._log(f"{name} is process {self._running[name].pid}")

    def look(self, chief: Chief) -> None:
        """Looks for workers that have ended; starts again those that have died.

        Args:
            chief: who gets their trials back.

        Raises:
            ChildProcessError: when none is left, with the last line of its log.
        """
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[name]
            if code == 0:
                continue
            chief.release(name, f"has died (exit code {code})")
            if self._restarts > 0:
                self._restarts -= 1
                self._start(name)
            elif not self._running:
                raise ChildProcessError(
                    f"All workers have died. The last line of {name}'s log: "
                    f"{self._last_line(name)}"
                )

    def _last_line(self, name):
        path = self._directory / LOGS / f"{name}.log"
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it is empty.")

    def stop(self) -> None:
        """Ends those that still run."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def serve(search, directory, number, ip, port, log) -> None:
    """Serves a search to workers, here and elsewhere, until it has ended.

    Args:
        search: `Search`, whose oracle is served.
        directory: the search's.
        number: int, workers to start on this machine.
        ip: str, the address to listen at.
        port: int, 0 for a free one.
        log: function of a line of text.

    Raises:
        ChildProcessError: when workers were started here and all have died.
        OSError: when the address is taken.
    """
    chief = Chief(search.oracle, ip, port, search.worker_timeout, log)
    log(f"The chief listens at {ip}:{chief.port}")
    workers = Workers(directory, number, ip, chief.port, log)
    try:
        with quiet():
            while not chief.is_done:
                time.sleep(PAUSE)
                chief.sweep()
                workers.look(chief)
                search.trials.tell()
    finally:
        workers.stop()
        chief.stop()
    search.trials.tell()
    search.trials.check()

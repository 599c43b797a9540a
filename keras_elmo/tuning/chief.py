"""The chief, which hands out trials, and what its workers ask it with.

KerasTuner's own messages over gRPC, with signs of life: a worker with a trial asks for
that trial now and then. KerasTuner's chief waits for ever for a worker that has died,
and its workers wait an hour for a chief that has.
"""

import contextlib
import os
import threading
import time
from concurrent import futures

import grpc
from keras_tuner.src import protos
from keras_tuner.src.distribute.oracle_chief import OracleServicer
from keras_tuner.src.distribute.oracle_client import OracleClient

ID, IP, PORT = "KERASTUNER_TUNER_ID", "KERASTUNER_ORACLE_IP", "KERASTUNER_ORACLE_PORT"
# Signs of life in the time after which a worker counts as dead.
SIGNS = 6
# Seconds that workers have to hear that the search has ended.
GRACE = 20.0
# Between machines of one network, and on one, never by way of a proxy.
_OF_CLIENT = (("grpc.enable_http_proxy", 0),)
# Two chiefs at one address would share the workers between them.
_OF_SERVER = (("grpc.so_reuseport", 0),)


def role() -> str | None:
    """What KerasTuner's environment variables make this process, or None.

    Returns:
        "chief" or "worker".

    Raises:
        ValueError: when one is set and another is missing.
    """
    if IP not in os.environ:
        return None
    for name in (PORT, ID):
        if not os.environ.get(name):
            raise ValueError(f"{IP} is set, and so must be {name}.")
    return "chief" if "chief" in os.environ[ID] else "worker"


class Chief:
    """Serves an oracle to workers, and takes trials back from those that die.

    Args:
        oracle: what `make_oracle` gave.
        ip: str, the address to listen at.
        port: int, 0 for a free one.
        timeout: float, seconds without a sign after which a worker counts as dead.
        log: function of a line of text.

    Attributes:
        port: int, the one it listens at.

    Raises:
        OSError: when it cannot listen there.
    """

    def __init__(self, oracle, ip, port, timeout, log):
        self._oracle, self._timeout, self._log = oracle, timeout, log
        self._servicer = _Servicer(oracle)
        self._server = grpc.server(
            futures.ThreadPoolExecutor(max_workers=1), options=_OF_SERVER
        )
        protos.get_service_grpc().add_OracleServicer_to_server(
            self._servicer, self._server
        )
        try:
            self.port = self._server.add_insecure_port(f"{ip}:{port}")
        except RuntimeError as error:
            raise OSError(f"The chief cannot listen at {ip}:{port}: {error}") from error
        self._server.start()
        self._ended_at = None

    @property
    def is_done(self):
        """Whether the search has ended and all workers know."""
        if self._servicer.error is not None:
            raise self._servicer.error
        oracle = self._oracle
        if not self._servicer.stop_triggered or oracle.ongoing_trials:
            self._ended_at = None
            return False
        self._ended_at = self._ended_at or time.monotonic()
        late = time.monotonic() - self._ended_at > GRACE
        return late or not oracle.tuner_ids

    def sweep(self):
        """Takes trials from workers that have not been heard of for long."""
        now = time.monotonic()
        for tuner_id in list(self._oracle.ongoing_trials):
            seen = self._servicer.seen.setdefault(tuner_id, now)
            if now - seen > self._timeout:
                self.release(tuner_id, f"has not been heard of for {now - seen:.0f} s")

    def release(self, tuner_id, what):
        """Takes its trial from a worker.

        Args:
            tuner_id: the worker's name.
            what: str, what became of it, for the log.
        """
        trial_id = self._oracle.release(tuner_id)
        told = "" if trial_id is None else f"; another one gets trial {trial_id}"
        self._log(f"{tuner_id} {what}{told}")

    def stop(self):
        """Ends the serving."""
        self._server.stop(grace=1.0).wait()


class _Servicer(OracleServicer):
    """KerasTuner's, with the time of each worker's last sign."""

    def __init__(self, oracle):
        super().__init__(oracle)
        self.seen: dict[str, float] = {}
        self.error: Exception | None = None

    def _see(self, tuner_id):
        if tuner_id is not None:
            self.seen[tuner_id] = time.monotonic()

    @contextlib.contextmanager
    def _watched(self):
        """Keeps an error for the main thread: a full disk ends the search."""
        try:
            yield
        except Exception as error:
            self.error = error
            raise

    def CreateTrial(self, request, context):
        self._see(request.tuner_id)
        with self._watched():
            return super().CreateTrial(request, context)

    def GetTrial(self, request, context):
        self._see(self.oracle.holder(request.trial_id))
        return super().GetTrial(request, context)

    def UpdateTrial(self, request, context):
        with self._watched():
            return super().UpdateTrial(request, context)

    def EndTrial(self, request, context):
        with self._watched():
            return super().EndTrial(request, context)


class ChiefClient(OracleClient):
    """A worker's oracle: KerasTuner's client, which does not wait for an hour.

    Args:
        oracle: the worker's own oracle, for its constants.
        timeout: float, seconds after which the chief counts as gone.
    """

    def __init__(self, oracle, timeout):
        super().__init__(oracle)
        address = f"{os.environ[IP]}:{os.environ[PORT]}"
        channel = grpc.insecure_channel(address, options=_OF_CLIENT)
        stub = protos.get_service_grpc().OracleStub(channel)
        self.stub = _Stub(stub, address, timeout)


class _Stub:
    """Calls with a timeout of ours, and errors that say what is the matter."""

    def __init__(self, stub, address, timeout):
        self._stub, self._address, self._timeout = stub, address, timeout

    def __getattr__(self, name):
        method = getattr(self._stub, name)

        def call(request, wait_for_ready=True, timeout=None):
            try:
                return method(request, wait_for_ready=True, timeout=self._timeout)
            except grpc.RpcError as error:
                raise ConnectionError(
                    f"The chief at {self._address} does not answer: {error.code()}."
                ) from error

        return call


class Heartbeat:
    """Signs of life of a worker while it has a trial.

    Args:
        client: `ChiefClient`.
        trial: `keras_tuner` trial.
        timeout: float, seconds without a sign after which a worker counts as dead.
    """

    def __init__(self, client, trial, timeout):
        self._client, self._trial_id = client, trial.trial_id
        self._every = timeout / SIGNS
        self._end = threading.Event()
        self._error: ConnectionError | None = None
        self._thread = threading.Thread(target=self._beat, daemon=True)

    @staticmethod
    def of(oracle, trial, timeout):
        """A context that gives a check to call now and then: is the chief there?

        Args:
            oracle: a worker's `ChiefClient`, or an oracle, for a check of nothing.
            trial: `keras_tuner` trial.
            timeout: float, seconds.
        """
        if isinstance(oracle, ChiefClient):
            return Heartbeat(oracle, trial, timeout)
        return contextlib.nullcontext(lambda: None)

    def _beat(self):
        while not self._end.wait(self._every):
            try:
                self._client.get_trial(self._trial_id)
            except ConnectionError as error:
                self._error = error
                return

    def _check(self):
        if self._error is not None:
            raise self._error

    def __enter__(self):
        self._thread.start()
        return self._check

    def __exit__(self, *error):
        self._end.set()
        self._thread.join()

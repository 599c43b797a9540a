"""A model on a server, asked from Python."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from keras_elmo import checks
from keras_elmo.serving.retries import NotNowError, with_retries
from keras_elmo.serving.serving_address import ServingAddress
from keras_elmo.serving.tensor_values import TensorInfo, as_inputs

# Seconds between two looks at whether a model is ready.
LOOK_AGAIN = 0.5


class ServingClient:
    """Asks a model that TF Serving serves, over REST or gRPC.

    Where the server cannot be reached, has too much to do or gives no answer in time,
    the same question is asked again, each time after a longer wait.

    Args:
        url: `http(s)://HOST:8501/v1/models/NAME` for REST, `grpc(s)://HOST:8500/NAME`
            for gRPC; `/versions/N` or `/labels/LABEL` behind it names a version.
        timeout: seconds one try may take.
        retries: int, tries after the first.
        headers: dict of HTTP headers, of metadata with gRPC, or None.

    Raises:
        ValueError: when `url` names no model.
        ImportError: with gRPC, when tensorflow-serving-api is not installed.

    Example:
    ```py
    with keras_elmo.serving.ServingClient("http://localhost:8501/v1/models/elmo") as c:
        vectors = c.predict(["The bank of the river .", "Hello !"])["elmo"]
    ```
    """

    def __init__(
        self,
        url: str,
        timeout: float = 60.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
    ):
        self.address = ServingAddress.of(url)
        timeout = checks.positive_float("timeout", timeout)
        self._retries = checks.positive_int("retries", retries, minimum=0)
        if self.address.is_grpc:
            from keras_elmo.serving.grpc_transport import GrpcTransport as Transport
        else:
            from keras_elmo.serving.rest_transport import RestTransport as Transport
        self._transport = Transport(self.address, timeout, headers or {})
        self._signatures: dict[str, dict[str, dict[str, TensorInfo]]] | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the connection."""
        self._transport.close()

    def signatures(self) -> dict[str, dict[str, dict[str, TensorInfo]]]:
        """The model's signatures: name -> "inputs" or "outputs" -> name -> type.

        Asked for once a client.
        """
        if self._signatures is None:
            told = with_retries(self._transport.signatures, self._retries)
            self._signatures = {
                name: {
                    side: {
                        key: TensorInfo.of(info)
                        for key, info in signature.get(side, {}).items()
                    }
                    for side in ("inputs", "outputs")
                }
                for name, signature in told.items()
                # The loader's own, none that can be called.
                if not name.startswith("__")
            }
        return self._signatures

    def status(self) -> list[dict[str, Any]]:
        """Each version's "version", "state" and "error_message"."""
        return self._versions(with_retries(self._transport.status, self._retries))

    def wait_until_ready(self, seconds: float):
        """Returns when the server has a version of the model ready.

        Raises:
            TimeoutError: when that takes longer, with what was seen last.
        """
        end = time.monotonic() + checks.positive_float("seconds", seconds)
        while True:
            try:
                versions = self._versions(self._transport.status())
                if any(version["state"] == "AVAILABLE" for version in versions):
                    return
                seen = f"its versions are {versions}"
            # A server that has not looked into its folder yet knows no such model.
            except (NotNowError, ValueError, ConnectionError) as error:
                seen = str(error)
            if time.monotonic() + LOOK_AGAIN > end:
                raise TimeoutError(
                    f"`{self.address.url}` was not ready in {seconds:g} s: {seen}"
                )
            time.sleep(LOOK_AGAIN)

    def predict(
        self,
        inputs: Mapping[str, Any] | Iterable,
        signature: str | None = None,
        outputs: Iterable[str] | None = None,
    ) -> dict[str, np.ndarray]:
        """A signature's outputs for one batch.

        Args:
            inputs: texts (str, or bytes of any kind), for a signature with the one
                input `strings`; token sequences, for "tokens"; or a dict of arrays or
                lists by the inputs' names.
            signature: name. Defaults to "tokens" for token sequences, else to
                "serving_default".
            outputs: names of the outputs wanted, or None for all. Over gRPC no others
                are sent.

        Returns:
            dict of arrays by name, strings as an object array of str.
            `keras_elmo.serving.rows` takes them apart by sentence.

        Raises:
            TypeError: when `inputs` is of another kind.
            ValueError: when the model has no such signature, input or output, or the
                server refuses the values, with what it said.
            ConnectionError: when the server cannot be reached or fails.
            TimeoutError: when it gives no answer in time.
            PermissionError: when it wants to know who asks.
        """
        named, meant = as_inputs(inputs)
        name = signature or meant or "serving_default"
        known = self.signatures()
        checks.one_of("signature", name, tuple(sorted(known)))
        specs, results = known[name]["inputs"], known[name]["outputs"]
        if set(named) != set(specs):
            raise ValueError(
                f"`inputs` of {name!r} must be {', '.join(sorted(specs))}. Received: "
                f"{', '.join(sorted(named)) or 'none'}."
            )
        wanted = [*results] if outputs is None else list(outputs)
        for output in wanted:
            checks.one_of("outputs", output, tuple(sorted(results)))
        typed = {key: (value, specs[key].dtype) for key, value in named.items()}
        told = with_retries(
            lambda: self._transport.predict(name, typed, wanted), self._retries
        )
        if not isinstance(told, Mapping):
            # REST leaves out the name of an only output.
            told = {next(iter(results)): told}
        missing = [key for key in wanted if key not in told]
        if missing:
            raise ConnectionError(
                f"The server's answer lacks {', '.join(missing)}, outputs that it says "
                f"{name!r} has. It has {', '.join(map(str, told)) or 'none'}."
            )
        return {key: results[key].array(told[key]) for key in wanted}

    @staticmethod
    def _versions(told):
        return [
            {
                "version": int(version["version"]),
                "state": version["state"],
                "error_message": version.get("status", {}).get("error_message", ""),
            }
            for version in told.get("model_version_status", ())
        ]

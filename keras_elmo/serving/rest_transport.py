"""TF Serving's REST interface, by the standard library."""

import json
import socket
import ssl
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from keras_elmo.serving.retries import NotNowError, refusal
from keras_elmo.serving.serving_address import ServingAddress
from keras_elmo.serving.tensor_values import to_json

# The server, or a proxy before it, has too much to do or is about to start.
NOT_NOW = (429, 502, 503, 504)
# Of an answer that is no error message of TF Serving's, as a proxy's page.
MOST_TOLD = 300


class RestTransport:
    """One question, one HTTP request.

    Args:
        address: the model.
        timeout: seconds from question to answer.
        headers: dict of HTTP headers, as for a proxy that asks who calls.
    """

    def __init__(
        self, address: ServingAddress, timeout: float, headers: Mapping[str, str]
    ):
        self._url = address.url
        self._timeout = timeout
        self._headers = {**headers, "Content-Type": "application/json"}

    def status(self) -> Mapping[str, Any]:
        """`GetModelStatusResponse` as JSON."""
        return self._ask(self._url)

    def signatures(self) -> Mapping[str, Any]:
        """The `SignatureDef`s by name as JSON."""
        keys = ("metadata", "signature_def", "signature_def")
        return self._ask(f"{self._url}/metadata", *keys)

    def predict(self, signature, inputs, outputs) -> dict[str, Any]:
        """The outputs by name, as nested lists; all of them, REST has no choice."""
        body = {
            "signature_name": signature,
            "inputs": {name: to_json(value) for name, (value, _) in inputs.items()},
        }
        url = f"{self._url}:predict"
        return self._ask(url, "outputs", body=json.dumps(body).encode("ascii"))

    def close(self):
        """Nothing: no connection is kept."""

    def _ask(self, url, *keys, body=None):
        """The part of an answer that lies behind these keys."""
        deadline = time.monotonic() + self._timeout
        request = Request(url, data=body, headers=self._headers)
        try:
            with urlopen(request, timeout=self._timeout) as response:
                text = _read(response, deadline)
        except HTTPError as error:
            raise self._answered(url, error) from None
        except (URLError, HTTPException, OSError) as error:
            raise _unanswered(url, error, self._timeout) from error
        try:
            # A string tensor may hold any bytes; TF Serving writes them as they are.
            told = json.loads(text.decode("utf-8", "replace"))
            for key in keys:
                told = told[key]
            return told
        except (ValueError, TypeError, KeyError, RecursionError):
            code = "200, but not as TF Serving does"
            raise refusal(url, code, _start(text)) from None

    def _answered(self, url, error):
        """The exception for an answer with an error's status."""
        try:
            text = error.read()
        except (OSError, HTTPException):
            text = b""
        try:
            told = json.loads(text)["error"]
        except (ValueError, TypeError, KeyError, RecursionError):
            told = _start(text)
        final = refusal(url, f"{error.code} {error.reason}", told)
        if error.code not in NOT_NOW:
            return final
        after = error.headers.get("Retry-After", "")
        return NotNowError(
            ConnectionError(str(final)), float(after) if after.isdecimal() else None
        )


def _read(response: HTTPResponse, deadline):
    """All of an answer; each wait has the socket's timeout, and all together too."""
    parts = []
    while part := response.read1(1 << 20):
        parts.append(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def _unanswered(url, error, timeout):
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return NotNowError(TimeoutError(f"`{url}` gave no answer in {timeout:g} s."))
    text = f"`{url}` cannot be reached: {reason or type(reason).__name__}."
    if isinstance(reason, ssl.SSLError):
        return ConnectionError(text)
    if isinstance(reason, socket.gaierror) and reason.errno == socket.EAI_NONAME:
        return ConnectionError(text)
    return NotNowError(ConnectionError(text))


def _start(text):
    return " ".join(text[:MOST_TOLD].decode("utf-8", "replace").split())

"""Where a model is served, out of one URL."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from keras_elmo import checks

_VERSION = r"(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
_REST = re.compile(
    rf"(?P<prefix>.*)/v1/models/(?P<model>[^/:]+){_VERSION}(?::predict)?/?"
)
_GRPC = re.compile(rf"(?P<prefix>)/(?P<model>[^/:]+){_VERSION}/?")
_RULE = (
    "http(s)://HOST[:PORT]/v1/models/NAME or grpc(s)://HOST[:PORT]/NAME, with "
    "/versions/N or /labels/LABEL behind NAME where one is meant"
)


@dataclass(frozen=True)
class ServingAddress:
    """A model on a server, and which of its versions: the latest where none is named.

    Args:
        scheme: "http", "https", "grpc" or "grpcs".
        host: name and port.
        prefix: what stands before "/v1/models" in the path, as behind a proxy.
        model: the model's name.
        version: int or None.
        label: name of a version, or None.
    """

    scheme: str
    host: str
    prefix: str
    model: str
    version: int | None = None
    label: str | None = None

    @classmethod
    def of(cls, url: str) -> "ServingAddress":
        """The address that a URL names.

        Raises:
            ValueError: when it names no model in a way that TF Serving has.
        """
        try:
            parts = urlsplit(url)
            port = parts.port  # raises where it is no port
        except ValueError as error:
            raise ValueError(
                f"{checks.received('url', url, _RULE)} ({error})"
            ) from None
        pattern = {"http": _REST, "https": _REST, "grpc": _GRPC, "grpcs": _GRPC}.get(
            parts.scheme
        )
        match = pattern.fullmatch(parts.path) if pattern else None
        if not match or not parts.hostname or parts.query or parts.username:
            raise ValueError(checks.received("url", url, _RULE))
        version = match["version"]
        if port is None and parts.scheme.startswith("grpc"):
            raise ValueError(checks.received("url", url, f"{_RULE}; gRPC needs a port"))
        return cls(
            scheme=parts.scheme,
            host=parts.netloc,
            prefix=match["prefix"],
            model=unquote(match["model"]),
            version=None if version is None else int(version),
            label=match["label"] and unquote(match["label"]),
        )

    @property
    def is_grpc(self) -> bool:
        """Whether it is asked over gRPC."""
        return self.scheme.startswith("grpc")

    @property
    def url(self) -> str:
        """The URL of the model, without a method."""
        path = quote(self.model, safe="")
        if self.version is not None:
            path += f"/versions/{self.version}"
        elif self.label is not None:
            path += f"/labels/{quote(self.label, safe='')}"
        if not self.is_grpc:
            path = f"v1/models/{path}"
        return f"{self.scheme}://{self.host}{self.prefix}/{path}"

"""Where a served model is: `served:http://HOST:PORT/v1#MODEL`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from trueprobe.errors import BadInput

PREFIX = "served:"
OPTIONS = ("parallel", "seconds")
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")
_MOST_PARALLEL, _LONGEST_SECONDS = 256, 86_400


@dataclass(frozen=True)
class Address:
    url: str  # of the API, without a slash at its end
    model: str  # its name there; "" for the only one
    parallel: int = 0  # how many calls are under way at once; 0: as many as the server takes
    seconds: int = 300  # that one call may take

    @property
    def spec(self) -> str:
        return f"{PREFIX}{self.url}" + (f"#{self.model}" if self.model else "")

    @property
    def options(self) -> list[str]:
        """As in a SPEC, where they are not the default."""
        default = Address(self.url, self.model)
        return [f"{key}={value}" for key in OPTIONS if (value := getattr(self, key)) != getattr(default, key)]

    @property
    def root(self) -> str:
        """Where a server has what is not OpenAI's."""
        return self.url.removesuffix("/v1")

    @property
    def on_this_machine(self) -> bool:
        return bool(_LOOPBACK.fullmatch(urlsplit(self.url).hostname or ""))

    def with_option(self, spec: str, key: str, value: str) -> Address:
        most = _MOST_PARALLEL if key == "parallel" else _LONGEST_SECONDS
        if not value.isdecimal() or not 1 <= int(value) <= most:
            raise BadInput(f"'{spec}': {key} is a whole number from 1 to {most}, not '{value}'")
        return replace(self, parallel=int(value)) if key == "parallel" else replace(self, seconds=int(value))


def address(spec: str) -> Address:
    """`served:http://127.0.0.1:8000/v1#org/name` -> its parts; what follows a question mark was taken off before."""
    url, _, model = spec.removeprefix(PREFIX).partition("#")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1)
    except ValueError:  # a port that is no number
        valid = False
    if not valid:
        without_password = re.sub(r"//[^/@]*@", "//…@", spec)
        raise BadInput(f"'{without_password}' names no server; write served:http://127.0.0.1:8000/v1#MODEL")
    if parts.username or parts.password or parts.query:
        raise BadInput("a server's address holds no name, password or key; set TRUEPROBE_API_KEY in the environment")
    return Address(url.rstrip("/"), model)

"""JSON over HTTP, by the standard library: connections that stay open, time limits, retries.

A server that is busy (429) or fails (5xx, a lost connection) is asked again after a growing pause. The API key comes
from the environment, is sent only where the caller says so, and is in no message. Redirects are not followed: the key
goes to no other host, port or scheme.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from trueprobe.errors import BadInput, FailedRun

KEY = "TRUEPROBE_API_KEY"
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each retry
_LONGEST_PAUSE = 60.0  # of those that a server asks for itself
_BUSY = 429
_CHUNK, _LARGEST_REPLY = 2**20, 2**30
_LONGEST_REASON = 300
_SECRET = 8  # characters; a shorter key, as local servers take, may stand in any text


class Refusal(Exception):
    """The server answers that it does not do this (4xx)."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status, self.reason = status, reason


class Unreachable(FailedRun):
    """Nothing answers, or not in time."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason}; {advice}" if advice else reason)
        self.reason = reason


@dataclass(frozen=True)
class Reply:
    status: int
    content: bytes
    headers: dict[str, str]


class _Retry(Exception):
    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Client:
    """One connection per thread."""

    def __init__(self, url: str, seconds: float, with_key: bool) -> None:
        self.url, self.seconds = url, seconds
        self._key = _key() if with_key else ""
        self._parts = urlsplit(url)
        self._own = threading.local()

    def get(self, path: str) -> Any:
        return self._json(self._ask("GET", path, None))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._json(self._ask("POST", path, json.dumps(body).encode()))

    def greets(self) -> None:
        """Fails at once where nothing listens: whoever mistyped a port need not wait for retries."""
        try:
            self._connection().connect()
        except OSError as error:
            raise Unreachable(f"nothing answers at {self.url} ({error.strerror or error})") from error

    def _ask(self, method: str, path: str, body: bytes | None) -> Reply:
        for pause in (*PAUSES, None):
            try:
                return self._accepted(self._once(method, path, body))
            except _Retry as retry:
                if pause is None:
                    raise Unreachable(
                        f"{self.url} failed {len(PAUSES) + 1} times ({retry})",
                        "what it answered is cached, and the same command goes on once the server is back",
                    ) from retry
                time.sleep(pause if retry.pause is None else retry.pause)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, method: str, path: str, body: bytes | None) -> Reply:
        began, connection = time.monotonic(), self._connection()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            connection.request(method, self._parts.path + path, body, headers)
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, self._content(response, began), received)
        except TimeoutError as error:
            self._drop()
            raise Unreachable(
                f"{self.url} did not answer within {self.seconds:g} s",
                "what it answered before is cached; allow more with the option seconds=N of the SPEC",
            ) from error
        except (OSError, HTTPException) as error:
            self._drop()
            raise _Retry(self._clean(str(error) or type(error).__name__)) from error

    def _content(self, response: HTTPResponse, began: float) -> bytes:
        """In chunks: a server that sends a byte now and then has a time limit too."""
        chunks: list[bytes] = []
        while chunk := response.read(_CHUNK):
            chunks.append(chunk)
            if time.monotonic() - began > self.seconds:
                raise TimeoutError
            if sum(map(len, chunks)) > _LARGEST_REPLY:
                raise HTTPException(f"an answer of more than {_LARGEST_REPLY:,} bytes")
        return b"".join(chunks)

    def _accepted(self, reply: Reply) -> Reply:
        if reply.status == _BUSY or reply.status >= 500:
            raise _Retry(f"{reply.status}: {self._reason(reply)}", _asked_pause(reply))
        if reply.status != 200:
            raise Refusal(reply.status, self._reason(reply))
        return reply

    def _json(self, reply: Reply) -> Any:
        if len(self._key) >= _SECRET and self._key.encode() in reply.content:  # names and versions get into run folders
            raise Refusal(reply.status, "its answer repeats the API key")
        try:
            return json.loads(reply.content)
        except ValueError as error:
            raise Refusal(reply.status, f"no JSON: {self._reason(reply)}") from error

    def _reason(self, reply: Reply) -> str:
        """The reason the server gives, in OpenAI's form or any other."""
        text = reply.content[:10_000].decode(errors="replace")
        try:
            error = json.loads(reply.content).get("error", text)
            text = str(error.get("message", error) if isinstance(error, dict) else error)
        except (ValueError, AttributeError):
            pass
        return " ".join(self._clean(text).split())[:_LONGEST_REASON] or "no reason given"

    def _clean(self, text: str) -> str:
        """Without the key, also where it is broken into lines."""
        return re.sub(r"\s*".join(map(re.escape, self._key)), "…", text) if self._key else text

    def _connection(self) -> HTTPConnection:
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.seconds)
            self._own.connection = connection
        return connection

    def _drop(self) -> None:
        self._connection().close()
        self._own.connection = None


def _key() -> str:
    """What cannot stand in a header is refused here, where no message quotes it."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BadInput(f"{KEY} holds a character that is no printable ASCII")
    return key


def _asked_pause(reply: Reply) -> float | None:
    """Of a Retry-After header in seconds."""
    text = reply.headers.get("retry-after", "")
    return min(float(text), _LONGEST_PAUSE) if text.replace(".", "", 1).isdecimal() else None

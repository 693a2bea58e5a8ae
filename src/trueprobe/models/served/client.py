"""JSON over HTTP: a time limit for each call, retries, and replies that are validated when they are read.

A server that is busy (429) or fails (5xx, a lost connection) is asked again after a growing pause. The API key comes
from the environment, is sent only where the caller says so, and is in no message. Redirects are not followed and
proxies named in the environment are not used: the key goes to no other host, port or scheme.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import ssl
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from trueprobe.errors import BadInput, FailedRun, printable, reason, shortened

KEY = "TRUEPROBE_API_KEY"
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each retry
LARGEST_REPLY = 2**28  # bytes; a vocabulary of 262,144 tokens takes 30 million
_LONGEST_PAUSE = 60.0  # of those that a server asks for itself
_BUSY = 429
_LONGEST_REASON = 300
_LOST = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)  # a connection that there was
_SECRET = 8  # characters; a shorter key, as local servers take, may stand in any text

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_Reply = TypeVar("_Reply", bound=BaseModel)


class Refusal(Exception):
    """The server answers that it does not do this (4xx)."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status, self.reason = status, reason


class BadReply(FailedRun):
    """A reply that is malformed, or to another question."""


class Unreachable(FailedRun):
    """Nothing answers, or not in time."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason}; {advice}" if advice else reason)
        self.reason = reason


@dataclass(frozen=True)
class _Received:
    status: int
    content: bytes
    retry_after: str


class _Retry(Exception):
    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Client:
    """Connections stay open; any thread may call."""

    def __init__(self, url: str, seconds: float, with_key: bool) -> None:
        self.url, self.seconds = url, seconds
        self._key = _key() if with_key else ""
        self._loop, self._reached = _event_loop(), False
        # what is compressed could be any size once it is read
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._http = httpx2.AsyncClient(
            headers=headers,
            verify=ssl.create_default_context(),
            follow_redirects=False,
            trust_env=False,  # a proxy would see the key
            timeout=None,  # `_call` has one limit for everything
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )

    def get(self, path: str, kind: type[_Reply]) -> _Reply:
        return self._validated(path, self._ask("GET", path, None), kind)

    def post(self, path: str, body: dict[str, Any], kind: type[_Reply]) -> _Reply:
        return self._validated(path, self._ask("POST", path, json.dumps(body).encode()), kind)

    def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        for pause in (*PAUSES, None):
            try:
                return self._accepted(self._once(method, path, body))
            except _Retry as retry:
                if pause is None:
                    raise Unreachable(
                        f"{self.url} failed {len(PAUSES) + 1} times ({retry})",
                        "what it answered is cached, and the same command goes on once the server is back",
                    ) from retry
                pause = pause if retry.pause is None else retry.pause
                _log.info("%s: %s; asked again in %g s", self.url, retry, pause)
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, method: str, path: str, body: bytes | None) -> _Received:
        try:
            received = _run(self._loop, self._call(method, path, body))
        except TimeoutError as error:
            raise Unreachable(
                f"{self.url} did not answer within {self.seconds:g} s",
                "what it answered before is cached; allow more with the option seconds=N of the SPEC",
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
            problem = self._clean(_why(error))
            if not self._reached and not isinstance(error, _LOST):  # a mistyped port or name: not worth retrying
                raise Unreachable(f"nothing answers at {self.url} ({problem})") from error
            raise _Retry(problem) from error
        self._reached = True
        return received

    async def _call(self, method: str, path: str, body: bytes | None) -> _Received:
        """httpx limits each read. Here the limit is for the whole call, from connecting to the last byte: a server that
        sends a byte now and then could hold a command for ever."""
        async with (
            asyncio.timeout(self.seconds),
            self._http.stream(method, self.url + path, content=body) as response,
        ):
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > LARGEST_REPLY:
                    raise BadReply(f"{self.url}{path} sent a reply of more than {LARGEST_REPLY:,} bytes")
            return _Received(response.status_code, bytes(content), response.headers.get("retry-after", ""))

    def _accepted(self, received: _Received) -> bytes:
        if received.status == _BUSY or received.status >= 500:
            raise _Retry(f"{received.status}: {self._problem(received.content)}", _requested_pause(received))
        if received.status != 200:
            raise Refusal(received.status, self._problem(received.content))
        return received.content

    def _validated(self, path: str, content: bytes, kind: type[_Reply]) -> _Reply:
        if len(self._key) >= _SECRET and self._key.encode() in content:  # names and versions get into run folders
            raise Refusal(200, "its answer repeats the API key")
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise self.invalid(path, error) from error

    def invalid(self, path: str, error: ValidationError) -> BadReply:
        """`… sent an invalid reply: choices.0.logprobs: Field required`"""
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = "".join(f"{step}." for step in problem["loc"]).rstrip(".")
        what = f"{where}: {problem['msg']}" if where else problem["msg"]
        return BadReply(f"{self.url}{path} sent an invalid reply: {shortened(self._clean(what), _LONGEST_REASON)}")

    def _problem(self, content: bytes) -> str:
        """The reason the server gives, in OpenAI's form or any other."""
        text = content[:10_000].decode(errors="replace")
        try:
            error = from_json(content).get("error", text)
            text = str(error.get("message", error) if isinstance(error, dict) else error)
        except (ValueError, AttributeError):
            pass
        return " ".join(self._clean(text).split())[:_LONGEST_REASON] or "no reason given"

    def _clean(self, text: str) -> str:
        """Without the key, also where it is broken into lines, and without what a terminal would obey."""
        return printable(re.sub(r"\s*".join(map(re.escape, self._key)), "…", text) if self._key else text)


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """One for all servers, in a thread that ends with the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="served", daemon=True).start()
    return loop


def _run(loop: asyncio.AbstractEventLoop, call: Coroutine[Any, Any, _Result]) -> _Result:
    """Waits for a call; one that nobody waits for any more, as after Ctrl-C, is ended."""
    future = asyncio.run_coroutine_threadsafe(call, loop)
    try:
        return future.result()
    finally:
        future.cancel()


def _key() -> str:
    """What cannot stand in a header is refused here, where no message quotes it."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BadInput(f"{KEY} holds a character that is no printable ASCII")
    return key


def _why(error: BaseException) -> str:
    """By the error that led to the others: `Connection refused`, not `All connection attempts failed`."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return os.strerror(error.errno) if isinstance(error, ConnectionError) and error.errno else reason(error)


def _requested_pause(received: _Received) -> float | None:
    """Of a Retry-After header in seconds."""
    text = received.retry_after
    return min(float(text), _LONGEST_PAUSE) if text.replace(".", "", 1).isdecimal() else None

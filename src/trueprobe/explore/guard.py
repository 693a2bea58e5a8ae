"""Who may ask, and what. Who: the page that this server handed out, from this machine, with the token in its address.

A page elsewhere can send requests to a local server, and by DNS rebinding even read the answers: the Host header must
name this server, an Origin must be this page's, and the path must begin with the token. Bodies have a size limit.
What: the kinds of question below, with limits; everything else is refused before it is looked at.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import h11
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from trueprobe.errors import BadInput

LOOPBACK = ("127.0.0.1", "localhost", "::1")
REQUEST_SECONDS = 10.0  # from a request's first byte, or a new connection, to the request's last byte
MOST_WAITING = 16  # connections of one client whose request is not complete
ANY = ("0.0.0.0", "::", "")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class ServerAddress:
    """Where the server listens, and the secret in its address."""

    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in ANY else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/{self.token}/"

    def admits_host(self, header: str) -> bool:
        """The name that was asked for; where all interfaces are served, any address but no name: a name can be
        bound to another address while a page is open."""
        name, port = _split(header)
        if port != self.port:
            return False
        if name in LOOPBACK or name == self.host.lower():
            return True
        return self.host in ANY and _is_address(name)


def _split(header: str) -> tuple[str, int]:
    name, _, port = header.rpartition(":") if not header.endswith("]") else (header, "", "80")
    if not name:
        name, port = header, "80"
    return name.strip("[]").lower(), int(port) if re.fullmatch(r"[0-9]{1,5}", port) else -1


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """In front of the application. What is refused is answered without reading the body."""

    def __init__(self, app: ASGIApp, address: ServerAddress) -> None:
        self.app, self.address = app, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        inside = {**scope, "path": scope["path"][len(self.address.token) + 1 :]}
        await self.app(inside, _Limited(receive), _with_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.address.admits_host(hosts[0]):
            return _refusal(421, "This server answers to its own address only.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if (origin is not None and origin != f"http://{hosts[0]}") or site not in ("same-origin", "none"):
            return _refusal(403, "Another page may not ask here.")
        start = scope["path"].split("/")[1:3]
        if len(start) < 2 or not secrets.compare_digest(start[0].encode(), self.address.token.encode()):
            return _refusal(403, "Open the whole address that `trueprobe explore` printed: it ends in a token.")
        if scope["method"] == "POST":
            return self._refused_body(headers)
        return None if scope["method"] in ("GET", "HEAD") else _refusal(405, "GET and POST only.")

    def _refused_body(self, headers: Headers) -> Response | None:
        """A form of another page can send only other types of content."""
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _refusal(415, "JSON only.")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BYTES:
            return _refusal(413, f"At most {MOST_BYTES:,} bytes.")
        return None


class TooLarge(Exception):
    """A body that was longer than announced, or not announced at all."""


class _Limited:
    def __init__(self, receive: Receive) -> None:
        self.receive, self.read = receive, 0

    async def __call__(self) -> Message:
        message = await self.receive()
        self.read += len(message.get("body", b""))
        if self.read > MOST_BYTES:
            raise TooLarge
        return message


class TimedProtocol(H11Protocol):
    """HTTP as uvicorn reads it. It sets no limit to how long a request may take to arrive, so that some dozens of
    half-sent ones would keep everybody else out."""

    _limit: asyncio.TimerHandle | None = None  # while a request is awaited
    _began = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._began = self.loop.time()
        waiting = sorted(self._waiting(), key=lambda other: other._began)
        for oldest in waiting[: len(waiting) + 1 - MOST_WAITING]:
            oldest._expire()
        self._limit = self.loop.call_later(REQUEST_SECONDS, self._expire)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._limit is None:  # the next request of a connection that stays open
            self._limit = self.loop.call_later(REQUEST_SECONDS, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _waiting(self) -> list[TimedProtocol]:
        """The client's other connections whose request is not complete."""
        this = self.client[0] if self.client else None
        others = [other for other in self.connections if isinstance(other, TimedProtocol) and other._limit is not None]
        return [other for other in others if (other.client[0] if other.client else None) == this]

    def _stop_waiting(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _expire(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def _refusal(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status, {"connection": "close"})


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending


# ---------------------------------------------------------------- what the page may send


LONGEST = 2000  # characters of a sentence
MOST_PROMPTS = 12
MOST_WORDS = 300
MOST_ROWS = 100  # of items on one page
MOST_BYTES = 64_000  # of a request's body


Sentence = Annotated[str, Field(max_length=LONGEST)]
WordText = Annotated[str, Field(min_length=1, max_length=80)]
Name = Annotated[str, Field(max_length=200)]
Names = Annotated[tuple[Name, ...], Field(max_length=200)]


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Q = TypeVar("Q", bound=Sent)


class Prompt(Sent):
    text: Sentence  # with the blank ___
    before: Sentence = ""  # a sentence in front
    causal: Sentence = ""  # what causal models read instead of `text`; up to the blank if empty
    join: Literal["", "pair", "space", "bos"] = ""  # how the two are joined; as the kind of model has it if empty


class BlankQuestion(Sent):
    """Prompts to fill, and two groups of words whose probability is summed: shipped lists, or the user's."""

    prompts: Annotated[tuple[Prompt, ...], Field(min_length=1, max_length=MOST_PROMPTS)]
    lists: Name = ""  # a shipped file of two groups: gender, age
    first: Annotated[tuple[WordText, ...], Field(max_length=MOST_WORDS)] = ()
    second: Annotated[tuple[WordText, ...], Field(max_length=MOST_WORDS)] = ()
    models: Names = ()  # families; all if empty
    top: Annotated[int, Field(ge=0, le=20)] = 10


class TwoSentences(Sent):
    first: Sentence
    second: Sentence
    masking: Literal["each", "rest_of_word"] = "each"
    models: Names = ()


class SuggestionWanted(Sent):
    """Suggested prompts: `of` is an occupation, a concept, or the background of a pair in `set`."""

    kind: Name  # knowledge, properties or distractors
    of: Name = ""
    set: Name = ""
    chosen: Annotated[tuple[Annotated[int, Field(ge=0, le=99)], ...], Field(max_length=MOST_PROMPTS)] = ()


class ItemsWanted(Sent):
    probe: Name
    search: Annotated[str, Field(max_length=200)] = ""
    filters: Annotated[dict[Name, Name], Field(max_length=20)] = {}  # column -> value
    apart: bool = False  # only items on which seeds take both sides
    sort: Name = ""  # a column; as ranked if empty
    ascending: bool = False
    start: Annotated[int, Field(ge=0)] = 0
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20


class ItemWanted(Sent):
    probe: Name
    item: Name
    family: Name = ""


def read(content: bytes, kind: type[Q]) -> Q:
    """Half of a character, as the escape \\ud800 alone is, is no JSON for pydantic."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(f"{where}: {first['msg']}" if where else first["msg"]) from error

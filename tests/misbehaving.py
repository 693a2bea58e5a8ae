"""Ways in which a server can misbehave, as a table: what is sent in place of a true reply, and what must become of it.

A mode gets the true reply as JSON and gives bytes to send and seconds to wait. Modes of the wire and of whole bodies
are of every page; `numbers` are of the pages with log-probabilities.
"""

from __future__ import annotations

import copy
import gzip
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

Sent = Iterator[bytes | float]
Change = Callable[[Any], Any]
RESET = -1.0  # in place of seconds: the connection is reset


class Ends(Enum):
    """What the user gets of it at the examination; at a later request all but HARMLESS and WITHIN end alike."""

    HARMLESS = auto()  # the true numbers
    REFUSED = auto()  # exit code 2
    FAILED = auto()  # exit code 1: nothing answers, or not in time
    WITHIN = auto()  # within the checks: another number that no reply shows to be wrong


@dataclass(frozen=True)
class Mode:
    name: str
    send: Callable[[Any], Sent]
    ends: Ends
    only_numbers: bool = False
    slow: bool = False  # it ends with the time limit
    later: Ends | None = None  # where it ends otherwise at a later request

    def __str__(self) -> str:
        return self.name


MODES: dict[str, Mode] = {}


def _add(name: str, send: Callable[[Any], Sent], ends: Ends, **more: Any) -> None:
    assert name not in MODES
    MODES[name] = Mode(name, send, ends, **more)


def http(body: bytes, status: str = "200 OK", headers: str = "", length: bool = True) -> bytes:
    length_line = f"Content-Length: {len(body)}\r\n" if length else ""
    return f"HTTP/1.1 {status}\r\n{length_line}{headers}\r\n".encode("latin-1") + body


def plain(reply: Any) -> bytes:
    return json.dumps(reply).encode()


# ---------------------------------------------------------------- whole bodies


def _body(change: Callable[[bytes], bytes]) -> Callable[[Any], Sent]:
    return lambda reply: iter([http(change(plain(reply)))])


_DEEP = 100_000
_BODIES: dict[str, Callable[[bytes], bytes]] = {
    "empty body": lambda text: b"",
    "null": lambda text: b"null",
    "an empty list": lambda text: b"[]",
    "a number": lambda text: b"5",
    "a text": lambda text: b'"text"',
    "within a list": lambda text: b"[" + text + b"]",
    "half of it": lambda text: text[: len(text) // 2],
    "with more behind it": lambda text: text + b" x",
    "twice": lambda text: text + text,
    "deep lists": lambda text: b"[" * _DEEP,
    "deep objects": lambda text: b'{"data": ' * _DEEP,
    "deep within": lambda text: text[:-1] + b', "more": ' + b"[" * _DEEP + b"]" * _DEEP + b"}",
    "html": lambda text: b"<!doctype html><html><script>alert(1)</script></html>",
    "latin-1 bytes": lambda text: b'{"\xe9": ' + text + b"}",
    "bytes": lambda text: bytes(range(256)),
    "utf-16": lambda text: text.decode().encode("utf-16"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "NUL bytes behind it": lambda text: text + b"\0" * 16,
    "single quotes": lambda text: text.replace(b'"', b"'"),
    "a comment": lambda text: b"// yes\n" + text,
    "python": lambda text: b"__import__('os').system('true')",
    "yaml": lambda text: b"!!python/object/apply:os.system ['true']",
    "a pickle": lambda text: b"\x80\x04\x95\x17\x00\x00\x00",
    "event stream": lambda text: b"data: " + text + b"\n\ndata: [DONE]\n\n",
    "half a character": lambda text: b'{"\\ud800": 1}',
}
for _name, _change in _BODIES.items():
    _add(_name, _body(_change), Ends.REFUSED)
_HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "more fields": lambda text: text[:-1] + b', "more": {"a": [1, null]}}',
    "white space around it": lambda text: b"\n \t" + text + b"\n" * 1000,
    "a field twice": lambda text: b'{"choices": 5, "data": null, "completion_probabilities": [], ' + text[1:],
}
for _name, _change in _HARMLESS.items():
    _add(_name, _body(_change), Ends.HARMLESS)

# ---------------------------------------------------------------- the wire


def _dripping(first: bytes, every: bytes, seconds: float = 0.02) -> Callable[[Any], Sent]:
    def send(reply: Any) -> Sent:
        yield first
        while True:
            yield seconds
            yield every

    return send


def _endless(first: bytes, every: bytes) -> Callable[[Any], Sent]:
    return _dripping(first, every, 0.0)


def _one_byte_each(reply: Any) -> Sent:
    for byte in http(plain(reply)):
        yield bytes([byte])
        yield 0.05


def _raw(make: Callable[[bytes], bytes]) -> Callable[[Any], Sent]:
    return lambda reply: iter([make(plain(reply))])


def _chunked(*chunks: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(chunks)


_START = b"HTTP/1.1 200 OK\r\n"
_BOMB = gzip.compress(bytes(50_000_000), 9)
_LOST: dict[str, Callable[[bytes], bytes]] = {
    "closed at once": lambda text: b"",
    "closed within the status": lambda text: b"HTTP/1.",
    "closed within a header": lambda text: _START + b"Content-Le",
    "closed within the body": lambda text: http(text)[:-5],
    "longer than sent": lambda text: http(text, headers=f"Content-Length: {len(text) + 99}\r\n", length=False),
    "no status": lambda text: b"BLAH BLAH\r\n\r\n" + text,
    "no header": lambda text: text,
    "status of five digits": lambda text: http(text, "99999 OK"),
    "another protocol": lambda text: b"SSH-2.0-OpenSSH_9.6\r\n",
    "http/2 from nowhere": lambda text: b"\0\0\x12\x04\0\0\0\0\0" + text,
    "a negative length": lambda text: http(text, headers="Content-Length: -5\r\n", length=False),
    "a length that is a word": lambda text: http(text, headers="Content-Length: many\r\n", length=False),
    "a length of 5,000 digits": lambda text: http(text, headers=f"Content-Length: {'9' * 5000}\r\n", length=False),
    "two lengths": lambda text: http(text, headers="Content-Length: 3\r\n"),
    "a header of a megabyte": lambda text: http(text, headers=f"X: {'x' * 1_000_000}\r\n"),
    "100,000 headers": lambda text: http(text, headers="X: y\r\n" * 100_000),
    "a header without a colon": lambda text: http(text, headers="nothing\r\n"),
    "NUL in a header": lambda text: http(text, headers="X: a\0b\r\n"),
    "a chunk without an end": lambda text: _chunked(b"%x\r\n" % (len(text) + 9), text),
    "a chunk size that is a word": lambda text: _chunked(b"zz\r\n", text),
    "an endless chunk size": lambda text: _chunked(b"f" * 1000),
    "a chunk of 2^64": lambda text: _chunked(b"ffffffffffffffff\r\n", text),
    "no last chunk": lambda text: _chunked(b"%x\r\n" % len(text), text, b"\r\n"),
}
for _name, _change in _LOST.items():
    _add(_name, _raw(_change), Ends.FAILED)
_add("reset", lambda reply: iter([RESET]), Ends.FAILED)
_add("reset within the body", lambda reply: iter([http(plain(reply))[:-5], RESET]), Ends.FAILED)
_add("shorter than sent", _raw(lambda text: http(text, headers="Content-Length: 7\r\n", length=False)), Ends.REFUSED)

_READ: dict[str, Callable[[bytes], bytes]] = {
    "connection: close": lambda text: http(text, headers="Connection: close\r\n"),
    "http/1.0 without a length": lambda text: b"HTTP/1.0 200 OK\r\n\r\n" + text,
    "in chunks of one byte": lambda text: _chunked(
        *(b"1\r\n%c\r\n" % byte for byte in text[:-1]), b"1\r\n}\r\n0\r\n\r\n"
    ),
    "100 before it": lambda text: b"HTTP/1.1 100 Continue\r\n\r\n" + http(text),
    "103 before it": lambda text: b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + http(text),
    "cookies": lambda text: http(text, headers="Set-Cookie: a=b; Domain=.example.org; Path=/\r\n" * 50),
    "called html": lambda text: http(text, headers="Content-Type: text/html; charset=utf-7\r\n"),
    "a header over two lines": lambda text: http(text, headers="X: a\r\n\tSet-Cookie: b\r\n"),
    "latin-1 in a header": lambda text: http(text, headers="X-Name: caf\xe9\r\n"),
    "a refresh": lambda text: http(
        text, headers="Refresh: 0; url=file:///etc/passwd\r\nLocation: http://x.example/\r\n"
    ),
    "a whole number of bytes too many": lambda text: http(text) + b"HTTP/1.1 200 OK\r\n\r\nsmuggled",
}
for _name, _change in _READ.items():
    _add(_name, _raw(_change), Ends.HARMLESS)

_SLOW: dict[str, Callable[[Any], Sent]] = {
    "silence": lambda reply: iter([60.0]),
    "silence after the header": lambda reply: iter([http(plain(reply), length=True)[:40], 60.0]),
    "silence before the last byte": lambda reply: iter([http(plain(reply))[:-1], 60.0]),
    "a header without an end": _dripping(_START + b"X: ", b"x"),
    "headers without an end": _dripping(_START, b"X: y\r\n"),
    "a body without an end": _dripping(_START + b"Content-Length: 99999\r\n\r\n", b" "),
    "chunks without an end": _dripping(_chunked(), b"1\r\n \r\n"),
    "100 without an end": _dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "one byte at a time": _one_byte_each,
}
for _name, _send in _SLOW.items():
    _add(_name, _send, Ends.FAILED, slow=True)
_add("more than the largest reply", _endless(_START + b"\r\n", b" " * 65536), Ends.REFUSED)
_add("more chunks than the largest reply", _endless(_chunked(), b"10000\r\n" + b" " * 65536 + b"\r\n"), Ends.REFUSED)
_add("a gzip bomb", _raw(lambda text: http(_BOMB, headers="Content-Encoding: gzip\r\n")), Ends.REFUSED)
_add("gzip", _raw(lambda text: http(gzip.compress(text), headers="Content-Encoding: gzip\r\n")), Ends.REFUSED)
_add("not brotli", _raw(lambda text: http(b"\xff" * 99, headers="Content-Encoding: br, zstd, x\r\n")), Ends.REFUSED)

# ---------------------------------------------------------------- status

_ESCAPES = "\x1b]0;title\x07\x1b[2J\r\nexit 0\u202e"
_ERROR = plain({"error": {"message": _ESCAPES + "x" * 5000}})
_STATUS: dict[str, tuple[str, str, bytes]] = {
    "101": ("101 Switching Protocols", "Upgrade: websocket\r\nConnection: Upgrade\r\n", b""),
    "204": ("204 No Content", "", b""),
    "206": ("206 Partial Content", "Content-Range: bytes 0-1/99\r\n", b"{}"),
    "301 to a file": ("301 Moved", "Location: file:///etc/passwd\r\n", b""),
    "302 to itself": ("302 Found", "Location: /v1/models\r\n", b""),
    "303 to nowhere": ("303 See Other", "Location: \x01\r\n", b""),
    "304": ("304 Not Modified", "", b""),
    "307 to another port": ("307 Temporary Redirect", "Location: http://127.0.0.1:1/v1/models\r\n", b""),
    "308 with a password": ("308 Permanent Redirect", "Location: http://a:b@127.0.0.1:1/\r\n", b""),
    "400 with escapes": ("400 Bad Request", "", _ERROR),
    "400 with an error that is a list": ("400 Bad Request", "", b'{"error": [1, {"message": 2}]}'),
    "401": ("401 Unauthorized", "WWW-Authenticate: Basic\r\n", b""),
    "407": ("407 Proxy Authentication Required", "Proxy-Authenticate: Basic\r\n", b""),
    "413": ("413 Content Too Large", "", b"<html>" * 200_000),
    "418 with deep JSON": ("418 I'm a teapot", "", b"[" * _DEEP),
    "451": ("451 \x1b[2J", "", b"\xff\xfe"),
}
_NO_HTTP = ("101", "303 to nowhere")  # tried again, like a connection that is cut
for _name, (_code, _headers, _content) in _STATUS.items():
    _ends = Ends.FAILED if _name in _NO_HTTP else Ends.REFUSED
    _add(_name, lambda reply, a=_content, b=_code, c=_headers: iter([http(a, b, c)]), _ends)
_BUSY: dict[str, tuple[str, str, bytes]] = {
    "429 for ages": ("429 Too Many", "Retry-After: 999999999999\r\n", b""),
    "429 for 5,000 digits": ("429 Too Many", f"Retry-After: {'9' * 5000}\r\n", b""),
    "429 for a negative time": ("429 Too Many", "Retry-After: -5\r\n", b""),
    "429 until a date": ("429 Too Many", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", b""),
    "429 for NaN": ("429 Too Many", "Retry-After: nan\r\n", b""),
    "429 for a point": ("429 Too Many", "Retry-After: .\r\n", b""),
    "429 in other digits": ("429 Too Many", "Retry-After: \xb2\r\n", b""),
    "500": ("500 Internal Server Error", "", _ERROR),
    "502 with html": ("502 Bad Gateway", "", b"<html><h1>nginx</h1>"),
    "503 with deep JSON": ("503 Unavailable", "", b'{"error": ' * _DEEP),
    "599": ("599 x", "", b"\x1b[2J"),
}
for _name, (_code, _headers, _content) in _BUSY.items():
    _add(_name, lambda reply, a=_content, b=_code, c=_headers: iter([http(a, b, c)]), Ends.FAILED)
_add("999", lambda reply: iter([http(b"", "999 x")]), Ends.FAILED)

# ---------------------------------------------------------------- numbers


def altered(reply: Any, change: Change) -> Any:
    """A copy with each log-probability changed, in whatever form it stands there."""
    if isinstance(reply, list):
        return [altered(one, change) for one in reply]
    if not isinstance(reply, dict):
        return reply
    return {key: _altered_value(key, value, change) for key, value in reply.items()}


def _altered_value(key: str, value: Any, change: Change) -> Any:
    if key == "logprob":
        return change(value)
    if key == "token_logprobs":
        return [None if one is None else change(one) for one in value]
    if key == "top_logprobs" and value and isinstance(value[0], dict) and "logprob" not in value[0]:
        return [one and {name: change(logp) for name, logp in one.items()} for one in value]
    return altered(value, change)


def _lists(reply: Any) -> Iterator[Any]:
    """The lists and objects of log-probabilities."""
    if isinstance(reply, list):
        if reply and isinstance(reply[0], dict) and "logprob" in reply[0]:
            yield reply
        for one in reply:
            yield from _lists(one)
    elif isinstance(reply, dict):
        for key, value in reply.items():
            if key in ("tokens", "token_logprobs"):
                yield value
            elif key == "prompt_logprobs" and isinstance(value, list):
                yield from [value, *(one for one in value if one)]
            elif key == "top_logprobs" and value and isinstance(value[0], dict) and "logprob" not in value[0]:
                yield from [value, *value]
            else:
                yield from _lists(value)


def _in_place(change: Callable[[Any], object]) -> Change:
    """Of a copy, each list and object of log-probabilities is changed."""

    def of(reply: Any) -> Any:
        made = copy.deepcopy(reply)
        for each in list(_lists(made)):
            change(each)
        return made

    return of


def _without_last(listed: Any) -> None:
    if isinstance(listed, dict):
        listed.pop(next(reversed(listed)), None)
    elif listed:
        listed.pop()


def _cut(listed: Any) -> None:
    for _ in range(max(0, len(listed) - 2)):
        _without_last(listed)


def _one_more(listed: Any) -> None:
    if isinstance(listed, dict):
        listed["token_id:99999999"] = -1.0
    else:
        listed.append(copy.deepcopy(listed[-1]) if listed else None)


def _renamed(change: Change) -> Callable[[Any], None]:
    """The id of a token changed, where it stands by its id."""

    def of(listed: Any) -> None:
        if isinstance(listed, list) and listed and isinstance(listed[0], dict) and "logprob" in listed[0]:
            key = "id" if "id" in listed[0] else "token"
            listed[0][key] = change(listed[0][key])
        elif isinstance(listed, dict) and listed:
            name = next(iter(listed))
            listed[f"token_id:{change(name.removeprefix('token_id:'))}"] = listed.pop(name)
        elif isinstance(listed, list) and listed and isinstance(listed[0], str):
            listed[0], listed[-1] = change(listed[0]), change(listed[-1])

    return of


def _once(value: Any) -> Change:
    """Of all log-probabilities, the first."""

    def of(reply: Any) -> Any:
        left = [value]
        return altered(reply, lambda logp: left.pop() if left else logp)

    return of


def _flat(reply: Any) -> Any:
    return altered(reply, lambda logp: -3.0)


class _Noise:
    """Another temperature for each answer; whole distributions still sum to 1."""

    def __init__(self) -> None:
        self.rng = random.Random(0)

    def __call__(self, reply: Any) -> Any:
        power = self.rng.choice((0.5, 0.7, 1.4, 2.0))
        made = altered(reply, lambda logp: logp * power)
        values: list[float] = []
        altered(made, lambda logp: values.append(logp) or logp)  # type: ignore[func-returns-value]
        norm = math.log(sum(map(math.exp, values)) or 1.0) if len(values) > 30 else 0.0
        return altered(made, lambda logp: min(logp - norm, 0.0))


def _other_count(reply: Any) -> Any:
    made = copy.deepcopy(reply)
    if "tokens_evaluated" in made:
        made["tokens_evaluated"] += 1
    if "usage" in made:
        made["usage"]["prompt_tokens"] -= 1
    return made


_BIG = "BIG"


def _numbers(change: Change) -> Callable[[Any], Sent]:
    def send(reply: Any) -> Sent:
        yield http(plain(change(reply)).replace(b'"BIG"', b"9" * 400))

    return send


_WRONG: dict[str, Change] = {
    "one NaN": _once(math.nan),
    "all NaN": partial(altered, change=lambda logp: math.nan),
    "infinity": _once(math.inf),
    "above 0": _once(5.0),
    "all above 0": partial(altered, change=lambda logp: -logp),
    "all twice as probable": partial(altered, change=lambda logp: min(logp + math.log(2), 0.0)),
    "null for a number": _once(None),
    "text for a number": _once("-1.5"),
    "true for a number": _once(True),
    "an object for a number": _once({}),
    "1e400": _once(float("1e308") * 10),
    "400 digits": _once(_BIG),
    "one left out": _in_place(_without_last),
    "two are left": _in_place(_cut),
    "none are left": _in_place(lambda listed: listed.clear()),
    "one too many": _in_place(_one_more),
    "an id as a text": _in_place(_renamed(lambda name: "x" if isinstance(name, str) else str(name))),
    "an id with a fraction": _in_place(_renamed(lambda name: 1.5)),
    "a negative id": _in_place(_renamed(lambda name: -1)),
    "an id of 30 digits": _in_place(_renamed(lambda name: 10**30)),
    "another number of tokens": _other_count,
    "no choices": lambda reply: {key: [] if isinstance(value, list) else value for key, value in reply.items()},
    "choices that are null": lambda reply: dict.fromkeys(reply),
    "all in one more list": lambda reply: {key: [value] for key, value in reply.items()},
    "texts for all": lambda reply: dict.fromkeys(reply, "x"),
}
for _name, _change in _WRONG.items():
    _add(_name, _numbers(_change), Ends.REFUSED, only_numbers=True)
_add("minus infinity", _numbers(_once(-math.inf)), Ends.REFUSED, only_numbers=True)
_add("all alike", _numbers(_flat), Ends.REFUSED, only_numbers=True, later=Ends.WITHIN)
_add("another answer each time", _numbers(_Noise()), Ends.REFUSED, only_numbers=True, later=Ends.WITHIN)

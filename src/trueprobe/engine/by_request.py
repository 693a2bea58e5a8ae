"""Models that answer whole requests: each distinct request is asked once, and its answer cached.

The text of a request is canonical, so that equal requests have one key, in every process and every version:

    FollowsText("It rained.", "She left.")
    1. its fields by name              {"first": "It rained.", "second": "She left."}
    2. without later fields that have their default (`UNNAMED_BY_DEFAULT`), so that earlier keys stay valid
    3. its type and its fields, sorted ["FollowsText", {"first": "It rained.", "second": "She left."}]
    4. the key                         sha256("1 " + compute_id + " " + that text)

An answer comes back exactly as it was: numbers are written with as many digits as they have. (Models that compute rows
have keys of ids instead of text: `models.rows.Row.key`.)
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from trueprobe.engine.answers import NOT_FINITE, Address, AnswerStore, Counts, Speed
from trueprobe.engine.layout import WHOLE_ANSWER
from trueprobe.models import AnswerModel, Unfinished
from trueprobe.types import (
    UNNAMED_BY_DEFAULT,
    Answer,
    Filled,
    Follows,
    Progress,
    Request,
    Scored,
    Vector,
    WhyNot,
    WordList,
)

ANSWERS_VERSION = 1  # part of every key: raise it when the meaning of a cached answer changes
_TYPES: dict[str, type[Answer | WhyNot]] = {t.__name__: t for t in (Filled, Scored, Follows, Vector, WhyNot)}
_REQUESTS_AT_ONCE = 64  # asked and committed together: what a killed run loses at most


def ask_requests(
    model: AnswerModel, store: AnswerStore, progress: Progress, requests: Sequence[Request]
) -> tuple[Iterator[Answer | WhyNot], Counts]:
    """What is missing is asked now; answers are read as they are taken."""
    began = time.monotonic()
    addresses = _addresses(model, requests)
    missing = missing_requests(model, store, requests)
    not_finite = _ask(model, store, progress, {request: addresses[request] for request in missing})
    happened = {"requests_asked": len(missing), "requests_cached_before": len(addresses) - len(missing)}
    planned = {"requests": len(requests), "distinct_requests": len(addresses)}
    counts = Counts(planned, {**happened, "seconds": time.monotonic() - began})
    return _in_turn(store, [addresses[request] for request in requests], not_finite), counts


def missing_requests(model: AnswerModel, store: AnswerStore, requests: Sequence[Request]) -> list[Request]:
    """Those that would be asked now."""
    addresses = _addresses(model, requests)
    cached = store.has(list(addresses.values()))
    return [request for request, address in addresses.items() if address not in cached]


def _addresses(model: AnswerModel, requests: Sequence[Request]) -> dict[Request, Address]:
    """Of each distinct request."""
    distinct = dict.fromkeys(requests)
    return {request: (request_key(request, model.card.compute_id), WHOLE_ANSWER) for request in distinct}


def _in_turn(store: AnswerStore, addresses: Sequence[Address], not_finite: set[Address]) -> Iterator[Answer | WhyNot]:
    for start in range(0, len(addresses), _REQUESTS_AT_ONCE):
        chunk = addresses[start : start + _REQUESTS_AT_ONCE]
        contents = store.get_bytes(chunk)
        if not all(address in contents or address in not_finite for address in chunk):
            raise store.lost()
        yield from (decode(contents[address]) if address in contents else NOT_FINITE for address in chunk)


def _ask(model: AnswerModel, store: AnswerStore, progress: Progress, missing: dict[Request, Address]) -> set[Address]:
    """What is not finite is left out of the store, and returned."""
    not_finite: set[Address] = set()
    requests, speed, number = list(missing), Speed(0), store.use(model.card)

    def keep(answers: Mapping[Request, Answer | WhyNot]) -> None:
        encoded = [(missing[request], encode(answer)) for request, answer in answers.items()]
        not_finite.update(address for address, content in encoded if content is None)
        store.put_bytes(((address, content) for address, content in encoded if content is not None), model=number)

    with progress.task(model.card.name, len(requests), "requests") as task:
        for start in range(0, len(requests), _REQUESTS_AT_ONCE):
            chunk = requests[start : start + _REQUESTS_AT_ONCE]
            try:
                keep(dict(zip(chunk, model.answer(chunk), strict=True)))
            except Unfinished as error:
                keep(error.answers)
                raise
            task.advance(len(chunk), speed.after(len(chunk)))
    return not_finite


# ---------------------------------------------------------------- requests and answers as text


def request_key(request: Request, compute_id: str) -> bytes:
    return hashlib.sha256(f"{ANSWERS_VERSION} {compute_id} {canonical(request)}".encode()).digest()


def canonical(request: Request) -> str:
    """Steps 1 to 3; a word list stands as its hash, since it may have 30,000 words."""
    later = {field.name: field.default for field in fields(request) if UNNAMED_BY_DEFAULT in field.metadata}
    named = {name: value for name, value in _fields(request).items() if name not in later or value != later[name]}
    return json.dumps([type(request).__name__, named], sort_keys=True, default=_plain)


def encode(answer: Answer | WhyNot) -> bytes | None:
    """None for an answer with a number that is not finite."""
    if isinstance(answer, WhyNot) and answer.code == "not_finite":
        return None
    try:
        return json.dumps([type(answer).__name__, _fields(answer)], allow_nan=False, default=_plain).encode()
    except ValueError:
        return None


def decode(content: bytes) -> Answer | WhyNot:
    name, values = json.loads(content)
    answer: Answer | WhyNot = _adapter(name).validate_python(values)
    return Vector(np.array(answer.values, np.float32), answer.positions) if isinstance(answer, Vector) else answer


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_TYPES[name])


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _plain(value: Any) -> Any:
    """Of what json does not know: words and tokens, mappings that are views of arrays, arrays and their numbers."""
    if isinstance(value, WordList):
        return _sha256(value)
    if is_dataclass(value):
        return _fields(value)
    return dict(value) if isinstance(value, Mapping) else value.tolist()


@lru_cache(maxsize=64)  # thousands of requests share one long list
def _sha256(words: WordList) -> str:
    return words.sha256

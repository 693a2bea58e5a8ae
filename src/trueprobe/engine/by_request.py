"""Models that answer whole requests: each distinct request is asked once, and its answer cached."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from trueprobe.engine.answers import Address, AnswerStore
from trueprobe.engine.codec import decode, encode, request_key
from trueprobe.engine.counts import NOT_FINITE, Counts, Speed
from trueprobe.engine.layout import WHOLE_ANSWER
from trueprobe.models import AnswerModel, Unfinished
from trueprobe.types import Answer, Progress, Request, WhyNot

_REQUESTS_AT_ONCE = 64  # asked and committed together: what a killed run loses at most


def ask_requests(
    model: AnswerModel, store: AnswerStore, progress: Progress, requests: Sequence[Request]
) -> tuple[Iterator[Answer | WhyNot], Counts]:
    """What is missing is asked now; answers are read as they are taken."""
    began = time.monotonic()
    addresses: dict[Request, Address] = {
        request: (request_key(request, model.card.compute_id), WHOLE_ANSWER) for request in dict.fromkeys(requests)
    }
    cached = store.has(list(addresses.values()))
    missing = [request for request, address in addresses.items() if address not in cached]
    not_finite = _ask(model, store, progress, {request: addresses[request] for request in missing})
    happened = {"requests_asked": len(missing), "requests_cached_before": len(addresses) - len(missing)}
    planned = {"requests": len(requests), "distinct_requests": len(addresses)}
    counts = Counts(planned, {**happened, "seconds": time.monotonic() - began})
    return _in_turn(store, [addresses[request] for request in requests], not_finite), counts


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

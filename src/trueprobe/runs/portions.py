"""From items to observations: what the probes ask of one model, a portion at a time, and what the answers show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from trueprobe.runs.plan import PlannedProbe
from trueprobe.types import Answer, Card, Filled, Item, NoProgress, Observation, Progress, Request, Task, WhyNot

PLANNED_TOGETHER = 8_192  # requests, of all probes: more would fill the memory, fewer share fewer beginnings of texts

Ask = tuple[Request, ...] | WhyNot
Portion = list[tuple[PlannedProbe, Item, Ask]]


def portions_of(probes: Sequence[PlannedProbe], card: Card, progress: Progress) -> Iterator[Portion]:
    """Everything that one model is asked, so many requests at a time. Where there are several portions, a bar shows how
    far all of them are, next to the bar of each one's rows."""
    total, done = sum(len(planned.items) for planned in probes), 0
    with ExitStack() as bars:
        whole: Task = NoProgress()
        for portion in _portions(probes, card):
            if not done and len(portion) < total:
                whole = bars.enter_context(progress.task(f"{card.name}, all", total, "items"))
            done += len(portion)
            yield portion
            del portion  # before the next one is made
            whole.reach(done, total)


def _portions(probes: Sequence[PlannedProbe], card: Card) -> Iterator[Portion]:
    portion: Portion = []
    requests = 0
    for planned in probes:
        for item in planned.items:
            ask = planned.probe.ask(item, card)
            portion.append((planned, item, ask))
            requests += 0 if isinstance(ask, WhyNot) else len(ask)
            if requests >= PLANNED_TOGETHER:
                yield portion
                portion, requests = [], 0
    yield portion


def asks_of(planned: PlannedProbe, card: Card) -> Portion:
    return [(planned, item, planned.probe.ask(item, card)) for item in planned.items]


def requests_of(portion: Portion) -> list[Request]:
    return [request for _, _, ask in portion if not isinstance(ask, WhyNot) for request in ask]


def observe(
    planned: PlannedProbe, item: Item, ask: Ask, card: Card, answers: Iterator[Answer | WhyNot]
) -> Sequence[Observation]:
    """What one item shows; takes the answers to its own requests off `answers`."""
    if isinstance(ask, WhyNot):
        return planned.probe.unscored(item, ask)
    taken = [next(answers) for _ in ask]
    missing = next((why for answer in taken if (why := _no_number(answer))), None)
    if missing is not None:
        return planned.probe.unscored(item, missing)
    return planned.probe.observe(item, card, [answer for answer in taken if not isinstance(answer, WhyNot)])


def all_finite(observations: Sequence[Observation]) -> bool:
    return not any(one.why_not and one.why_not.code == "not_finite" for one in observations)


def _no_number(answer: Answer | WhyNot) -> WhyNot | None:
    """Why nothing is observed of an answer: there is none, or only bounds."""
    if isinstance(answer, WhyNot):
        return answer
    return answer.why_not() if isinstance(answer, Filled) else None

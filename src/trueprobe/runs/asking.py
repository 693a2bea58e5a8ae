"""From items to observations: what a probe asks of one model, and what the answers show, a portion at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from trueprobe.engine import Counts, Engine, Part
from trueprobe.errors import FailedRun
from trueprobe.probes import Probe
from trueprobe.runs.plan import AskedProbe
from trueprobe.types import Answer, Card, Filled, Item, NoProgress, Observation, Request, Task, WhyNot

PLANNED_TOGETHER = 8_192  # requests, of all probes: more would fill the memory, fewer share fewer beginnings of texts

Ask = tuple[Request, ...] | WhyNot
Asks = list[tuple[Item, Ask]]
Portion = list[tuple[AskedProbe, Item, Ask]]


def asks_of(probe: Probe, items: Sequence[Item], card: Card) -> Asks:
    return [(item, probe.ask(item, card)) for item in items]


def requests_of(asks: Asks) -> list[Request]:
    return [request for _, ask in asks if not isinstance(ask, WhyNot) for request in ask]


def observe(probe: Probe, asks: Asks, card: Card, answers: Iterator[Answer | WhyNot]) -> list[Observation]:
    """Takes the answers to its own requests off `answers`."""
    return [observation for item, ask in asks for observation in _observe_item(probe, item, ask, card, answers)]


def _observe_item(
    probe: Probe, item: Item, ask: Ask, card: Card, answers: Iterator[Answer | WhyNot]
) -> Sequence[Observation]:
    if isinstance(ask, WhyNot):
        return probe.unscored(item, ask)
    taken = [next(answers) for _ in ask]
    missing = next((why for answer in taken if (why := _no_number(answer))), None)
    if missing is not None:
        return probe.unscored(item, missing)
    return probe.observe(item, card, [answer for answer in taken if not isinstance(answer, WhyNot)])


def _no_number(answer: Answer | WhyNot) -> WhyNot | None:
    """Why nothing is observed of an answer: there is none, or only bounds."""
    if isinstance(answer, WhyNot):
        return answer
    return answer.why_not() if isinstance(answer, Filled) else None


class Asking:
    """Asks one model everything; of what comes back no more than a portion is held."""

    def __init__(self, probes: Sequence[AskedProbe], card: Card, engine: Engine) -> None:
        self.probes, self.card, self.engine = probes, card, engine
        self.counts, self.finite = Counts(), True

    def observations(self) -> Iterator[tuple[AskedProbe, Sequence[Observation]]]:
        """Item by item, in the order of the probes."""
        for portion in self._in_view():
            yield from self._observed(portion)
            del portion  # before the next one is made

    def fill(self, part: Part) -> None:
        """Caches a part of what `observations` would plan, and observes nothing."""
        for portion in self._in_view():
            self.engine.fill(_requests(portion), part)
            self.counts += self.engine.counts

    def _in_view(self) -> Iterator[Portion]:
        """The portions; where there are several, with how far all of them are beside each one's own rows."""
        total, done = sum(len(asked.items) for asked in self.probes), 0
        with ExitStack() as bars:
            whole: Task = NoProgress()
            for portion in self._portions():
                if not done and len(portion) < total:
                    whole = bars.enter_context(self.engine.progress.task(f"{self.card.name}, all", total, "items"))
                done += len(portion)
                yield portion
                del portion
                whole.reach(done, total)

    def _portions(self) -> Iterator[Portion]:
        """Items with as many requests as are planned together."""
        portion: Portion = []
        requests = 0
        for asked in self.probes:
            for item in asked.items:
                ask = asked.probe.ask(item, self.card)
                portion.append((asked, item, ask))
                requests += 0 if isinstance(ask, WhyNot) else len(ask)
                if requests >= PLANNED_TOGETHER:
                    yield portion
                    portion, requests = [], 0
        yield portion

    def _observed(self, portion: Portion) -> Iterator[tuple[AskedProbe, Sequence[Observation]]]:
        answers = self._answers(_requests(portion))
        for asked, item, ask in portion:
            observations = _observe_item(asked.probe, item, ask, self.card, answers)
            self.finite &= not any(one.why_not and one.why_not.code == "not_finite" for one in observations)
            yield asked, observations

    def _answers(self, requests: Sequence[Request]) -> Iterator[Answer | WhyNot]:
        try:
            answers = self.engine.in_turn(requests)
        except OSError as error:  # while a file of the run is written, whose own errors say so
            raise FailedRun(f"{self.card.name}: {error.strerror or error}") from error
        self.counts += self.engine.counts
        return answers


def _requests(portion: Portion) -> list[Request]:
    return requests_of([(item, ask) for _, item, ask in portion])

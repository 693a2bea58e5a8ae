"""What trueprobe is asked and how, and the bare pass over the same rows."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench.engine import bare_seconds
from bench.peers.method import BARE, MINICONS, OURS, Method, Numbers, Questions
from bench.peers.standins import StandIn
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models.rows import Row
from trueprobe.probes import Probe
from trueprobe.probes.limit import in_turns
from trueprobe.types import Item, Request, WhyNot


def rows_of(standin: StandIn, requests: Sequence[Request]) -> list[Row]:
    """Distinct ones, in the order in which they are asked."""
    reads = (standin.model.reads(request) for request in requests)
    return list(dict.fromkeys(read.row for each in reads if not isinstance(each, WhyNot) for read in each))


def first_items(standin: StandIn, probe: Probe, size: int, keep: Callable[[Item], bool]) -> list[Item]:
    """Items, conditions in turn, until they need `size` rows: lengths are mixed."""
    items, chosen, rows = probe.items(), [], set()
    for item in (items[i] for i in in_turns(items)):
        asked = probe.ask(item, standin.model.card)
        if isinstance(asked, WhyNot) or any(isinstance(standin.model.reads(r), WhyNot) for r in asked):
            continue
        if keep(item):
            chosen.append(item)
            rows.update(rows_of(standin, asked))
        if len(rows) >= size:
            break
    return chosen


def first_requests(standin: StandIn, probe: Probe, size: int, changed: Callable[[Request], Request]) -> list[Request]:
    """Distinct requests of one row each, conditions in turn."""
    return list(islice(_distinct(standin, probe, changed), size))


def _distinct(standin: StandIn, probe: Probe, changed: Callable[[Request], Request]) -> Iterator[Request]:
    items, known = probe.items(), set()
    for item in (items[i] for i in in_turns(items)):
        asked = probe.ask(item, standin.model.card)
        for request in () if isinstance(asked, WhyNot) else map(changed, asked):
            reads = standin.model.reads(request)
            if not isinstance(reads, WhyNot) and reads[0].row not in known:
                known.add(reads[0].row)
                yield request


class Ours:
    """The same requests, answered by trueprobe again and again, each time with an empty store on the disk."""

    def __init__(self, standin: StandIn, requests: Sequence[Request]) -> None:
        self.standin, self.requests = standin, requests
        self.rows = rows_of(standin, requests)
        self.work = math.nan  # tokens computed per token, once answered: padding adds, shared beginnings take away
        self._engine: Engine | None = None
        self._folder = tempfile.TemporaryDirectory()
        self._stores = (Path(self._folder.name) / f"{number}.sqlite" for number in count())

    def prepare(self) -> None:
        """Opening and trying a network are not timed."""
        self._engine = Engine(self.standin.model, AnswerStore(next(self._stores)))
        self._engine.prepare()

    def answers(self) -> list[Any]:
        if self._engine is None:
            self.prepare()
        engine, self._engine = self._engine, None
        answers = engine.answer(self.requests)
        engine.store.close()
        planned = engine.counts.planned
        self.work = (planned["tokens_planned"] + planned["tokens_padding"]) / planned["tokens_in_rows"]
        return answers

    def questions(self, run: Callable[[], Numbers], others: Sequence[Method], minicons_work: float) -> Questions:
        """trueprobe and the bare pass come first."""
        methods = [Method(OURS, run, self.prepare), Method(BARE, self._bare), *others]
        return Questions(self.rows, methods, lambda: {OURS: self.work, MINICONS: minicons_work})

    def _bare(self) -> Numbers:
        bare_seconds(self.standin.network.base_model, self.rows)
        return {}

"""What trueprobe is asked and how, and the bare pass over the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bench.engine import bare_seconds
from bench.peers.method import BARE, Method
from bench.peers.standins import StandIn
from trueprobe.engine import AnswerStore, Engine
from trueprobe.engine.plan import computed_tokens, padding, plan
from trueprobe.models.rows import Row
from trueprobe.probes import Probe
from trueprobe.probes.base import in_turns
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


def answered(standin: StandIn, requests: Sequence[Request]) -> list[Any]:
    """Nothing is cached before, and answers are stored on the disk, as in a run."""
    with tempfile.TemporaryDirectory() as folder:
        store = AnswerStore(Path(folder) / "answers.sqlite")
        answers = Engine(standin.model, store).answer(requests)
        store.close()
    return answers


def planned_work(standin: StandIn, rows: Sequence[Row]) -> float:
    """Tokens computed per token: padding adds, shared beginnings take away."""
    batches = plan(rows, standin.model)
    return sum(computed_tokens(batch) + padding(batch) for batch in batches) / sum(len(row.ids) for row in rows)


def bare(standin: StandIn, rows: Sequence[Row]) -> Method:
    def run() -> dict[str, Any]:
        bare_seconds(standin.network.base_model, rows)
        return {}

    return Method(BARE, run, "vectors only")

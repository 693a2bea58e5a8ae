"""One share of a run's rows, for job arrays: a shard fills a store and writes no run folder.

Models are dealt out whole as long as every shard gets one; those left over are split by whole batches of the plan that
a run without shards makes. So after all stores are merged, a plain run finds every row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from trueprobe.engine import WHOLE, AnswerStore, Compute, Counts, PlanPart, executor, library_versions
from trueprobe.errors import BadInput
from trueprobe.models import Unopened
from trueprobe.runs.plan import PlannedProbe, RunPlan
from trueprobe.runs.portions import portions_of, requests_of
from trueprobe.runs.session import Session, settled
from trueprobe.types import NoProgress, Progress


@dataclass(frozen=True)
class Shard:
    number: int  # from 1
    of_all: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise BadInput(f"--shard is I/N with I from 1 to N, as 3/10, not '{text}'")
        return cls(int(match[1]), int(match[2]))

    def parts(self, models: int) -> dict[int, PlanPart]:
        """Which models it computes, by their index, and which part of each.

        Three models on two shards -> 1/2: the first and half of the third, 2/2: the second and the other half."""
        me, whole = self.number - 1, models - models % self.of_all
        parts = {model: WHOLE for model in range(whole) if model % self.of_all == me}
        split = range(whole, models)
        if split:
            sharing = range(me % len(split), self.of_all, len(split))
            parts[split[me % len(split)]] = PlanPart(sharing.index(me), len(sharing))
        return parts


@dataclass(frozen=True)
class ShardDone:
    """Rows (or requests) of one model that are now in the store, and how many of them were computed for it."""

    model: str
    rows: int
    computed: int


@dataclass(frozen=True)
class ShardResult:
    models: list[ShardDone]
    damaged: int  # answers of the store, which were computed again


def run_shard(
    plan: RunPlan, shard: Shard, store: Path | str, progress: Progress | None = None, compute: Compute | None = None
) -> ShardResult:
    progress = progress or NoProgress()
    parts = shard.parts(len(plan.sources))
    chosen = list(parts) if not _needs_all(plan) else list(range(len(plan.sources)))
    with (
        closing(AnswerStore(store, library_versions(), progress)) as answers,
        closing(executor(compute or Compute())) as computing,
    ):
        session = Session(answers, progress, plan.study.batch_tokens, computing)
        models = session.examine([plan.sources[i] for i in chosen], plan.options)
        probes = settled(plan, models, session)
        part_of = {models[chosen.index(i)].outline.card.name: part for i, part in parts.items()}
        computed = [model for model in models if model.outline.card.name in part_of]
        done = session.each(
            computed,
            lambda model: _fill(
                plan.asked(probes, model.outline.card), model, part_of[model.outline.card.name], session
            ),
        )
        return ShardResult(done, len(answers.damaged))


def _needs_all(plan: RunPlan) -> bool:
    """What one model computes depends on the others: trials of all, or the words that all have in common."""
    return any(planned.probe.shares_vocabulary or planned.probe.trials() for planned in plan.probes)


def _fill(probes: Sequence[PlannedProbe], model: Unopened, part: PlanPart, session: Session) -> ShardDone:
    """Caches a part of what a run would plan, and observes nothing."""
    card, engine, counts = model.outline.card, session.engine(model), Counts()
    for portion in portions_of(probes, card, engine.progress):
        engine.fill(requests_of(portion), part)
        counts += engine.counts
        del portion  # before the next one is made
    return ShardDone(card.name, counts.planned.get("rows", counts.planned["requests"]), int(counts.computed))

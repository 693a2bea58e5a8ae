"""What a plan is made from: a few seeds and items asked through the engine, or an earlier run, or shipped variances.

A pilot asks the items that the planned numbers are about, and nothing of what it finds about their size is passed on:
variances alone, and what a batch took.
"""

from __future__ import annotations

import math
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import pandas as pd

from trueprobe.engine import AnswerStore, Engine, default_path, library_versions
from trueprobe.engine.upkeep import merge
from trueprobe.errors import BadInput
from trueprobe.models import Unopened
from trueprobe.probes import Probe, spread
from trueprobe.runs.allocation import at, hashed
from trueprobe.runs.families import Family, families
from trueprobe.runs.folder import Run
from trueprobe.runs.plan import PlannedProbe, RunPlan
from trueprobe.runs.portions import asks_of, observe, requests_of
from trueprobe.runs.primary import number_name, primary_measures
from trueprobe.runs.records import observations_frame
from trueprobe.runs.session import Session, settled
from trueprobe.statistics.item_values import item_values, with_wordings
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.power import FacetVariances, Range
from trueprobe.statistics.resampling import column_of, rows_where
from trueprobe.statistics.rows import grouped
from trueprobe.types import CONDITION, GROUP, Card, Item, Kind, Progress, WhyNot

SEEDS, ITEMS = 3, 50  # of a pilot
_PART, _MOST_ITEMS = 5, 400  # or a fifth of a number's items, at most so many: the run has their answers then
SHIPPED = Path(__file__).parent / "variances.toml"
_COUNTED_ITEMS = 2_000  # from which the rows of all items are reckoned
_POOLED = "all"  # wordings


@dataclass(frozen=True)
class Cost:
    """Of one checkpoint answering all items."""

    rows: float = math.nan
    seconds: float = math.nan  # in the network, from a timed pilot; counting comes on top
    memory_bytes: float = math.nan  # of the process at its largest, after the pilot


@dataclass(frozen=True)
class Basis:
    """Of one family: the probe with its items, what they cost, and the answers that variances are taken from."""

    family: str
    card: Card  # of its first seed
    n_seeds: int  # of the family
    probe: Probe
    items: Sequence[Item]
    frames: Sequence[pd.DataFrame]  # of the seeds that answered
    cost: Cost
    source: str  # pilot | run | shipped

    @property
    def kind(self) -> Kind:
        return self.card.kind

    def variances(self, measure: Measure) -> FacetVariances | None:
        if self.source == "shipped":
            return shipped_variances(self.probe.name, measure, self.family)
        probe = self.probe
        known = item_values(self.frames, measure, probe.factors[0], probe.drawn_within)
        return with_wordings(known.variances, self._over_wordings(measure)) if known else None

    def _over_wordings(self, measure: Measure) -> list[float]:
        """The number in each wording, where the items have several."""
        return [
            number
            for other in self.probe.measures()
            if other.name == measure.name
            and _rest(other) == _rest(measure)
            and other.reported.get("wording", _POOLED) != _POOLED
            for number in [_mean_number(other, self.frames)]
            if not math.isnan(number)
        ]


def _rest(measure: Measure) -> dict[str, str]:
    return {key: value for key, value in measure.reported.items() if key != "wording"}


def _mean_number(measure: Measure, frames: Sequence[pd.DataFrame]) -> float:
    if measure.function not in (means, group_means):
        return math.nan
    (name,) = measure.columns
    rows = pd.concat([column_of(frame, name)[rows_where(frame, measure.where)] for frame in frames])
    return float(pd.to_numeric(rows, errors="coerce").mean())


# ---------------------------------------------------------------- asked now


def pilot_items(items: Sequence[Item], measures: Sequence[Measure], n: int = ITEMS) -> list[Item]:
    """At least `n` items of each number, as many groups as leave two of each, by the hashes of their names."""
    chosen: dict[str, Item] = {}
    for measure in measures:
        every = sorted(at(measure, items), key=lambda item: hashed(item.id))
        groups = grouped(every, lambda item: item.groups[0])
        wanted = max(n, min(len(every) // _PART, _MOST_ITEMS))
        several = any(len(members) > 1 for members in groups.values())
        each = max(1 + several, -(-wanted // max(1, len(groups))))
        for name in sorted(groups, key=hashed)[: -(-wanted // each)]:
            chosen |= {item.id: item for item in groups[name][:each]}
    return [item for item in items if item.id in chosen]


def ask_pilot(
    plan: RunPlan, named: str, store: Path | None, progress: Progress, size: tuple[int, int] = (SEEDS, ITEMS)
) -> list[Basis]:
    """Of each family of the plan. Its answers are timed with an empty store, then cached for the run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pilot.sqlite"
        with closing(AnswerStore(path, library_versions(), progress)) as answers:
            session = Session(answers, progress, plan.study.batch_tokens)
            bases = list(_bases(plan, named, session, *size))
        merge([path], store or default_path())
    return bases


def _bases(plan: RunPlan, named: str, session: Session, seeds: int, n_items: int) -> Iterator[Basis]:
    models = session.examine(plan.sources, plan.options)
    together = grouped(models, lambda model: model.outline.card.family or model.outline.card.name)
    few = {family: _last_step(models)[:seeds] for family, models in together.items()}
    (planned,) = settled(plan, [model for models in few.values() for model in models], session)
    for family, models in few.items():
        card = models[0].outline.card
        measures = primary_measures(planned.probe, card.kind, named)
        asked = PlannedProbe(planned.label, planned.probe, pilot_items(planned.items, measures, n_items))
        frames, costs = [], []
        for model in models:
            frame, cost = _answered(session, model, asked, planned)
            frames.append(frame)
            costs.append(cost)
        n_seeds = len(_last_step(together[family]))
        yield Basis(family, card, n_seeds, planned.probe, planned.items, frames, costs[-1], "pilot")


def _last_step(models: Sequence[Unopened]) -> list[Unopened]:
    steps = [model.outline.card.labels.get("step", 0) for model in models]
    return [model for model, step in zip(models, steps, strict=True) if step == max(steps)]


def _answered(
    session: Session, model: Unopened, asked: PlannedProbe, planned: PlannedProbe
) -> tuple[pd.DataFrame, Cost]:
    card, engine = model.outline.card, session.engine(model)
    asks = asks_of(asked, card)
    requests = requests_of(asks)
    answers = engine.in_turn(requests)
    seconds = engine.counts.happened.get("seconds", math.nan)
    observations = [one for ask in asks for one in observe(*ask, card, answers)]
    frame = observations_frame(asked.probe, {item.id: item for item in asked.items}, observations, card)
    return frame, _cost(session, engine, planned, asked, seconds)


def _cost(session: Session, engine: Engine, planned: PlannedProbe, asked: PlannedProbe, seconds: float) -> Cost:
    """Seconds go by tokens, of which later rows may have more."""
    sample = spread(planned.items, _COUNTED_ITEMS)
    rows, tokens = _volume(session, engine, PlannedProbe(planned.label, planned.probe, sample))
    _, timed = _volume(session, engine, asked)
    more = len(planned.items) / max(1, len(sample))
    return Cost(rows * more, seconds / max(1, timed) * tokens * more, _peak_memory())


def _volume(session: Session, engine: Engine, planned: PlannedProbe) -> tuple[int, int]:
    """Distinct rows and their tokens; of a model that answers whole requests, these."""
    requests = list(dict.fromkeys(requests_of(asks_of(planned, engine.model.card))))
    if engine.model.contract == "answers":
        return len(requests), len(requests)
    reads = session.executor.reads(engine.model, requests)
    rows = {read.row for each in reads if not isinstance(each, WhyNot) for read in each}
    return len(rows), sum(len(row.ids) for row in rows)


def _peak_memory() -> float:
    """In bytes; Linux counts it in kB."""
    try:
        import resource
    except ImportError:  # not on Windows
        return math.nan
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ---------------------------------------------------------------- an earlier run


def basis_of_run(run: Run, probe_name: str) -> list[Basis]:
    """Of each family of a run, with all its answers to this probe."""
    labels = [label for label in run.probes if label == probe_name or run.declaration(label).name == probe_name]
    if not labels:
        raise BadInput(f"{run.folder} has no probe '{probe_name}'; it has {', '.join(run.probes)}")
    label = labels[0]
    probe = run.probe(label)
    items = items_of_run(run, label, probe) if probe.trials() else probe.items()
    return [_of_family(run, label, family, probe, items) for family in families(run.cards)]


def _of_family(run: Run, label: str, family: Family, probe: Probe, items: Sequence[Item]) -> Basis:
    cards = family.checkpoints
    frames = [run.observed(label, card.name) for card in cards]
    return Basis(family.name, cards[0], len(cards), probe, items, frames, _cost_of_run(run, cards), "run")


def _cost_of_run(run: Run, cards: Sequence[Card]) -> Cost:
    """What the run itself took, where it has one probe and computed its rows."""
    timing = run.timing.models.get(cards[0].name, {}) if run.timing else {}
    rows = run.manifest.counts.get(cards[0].name, {}).get("rows", math.nan)
    whole = len(run.probes) == 1 and not (run.study.limit or run.study.per_group)
    if not whole or timing.get("rows_computed") != rows:
        return Cost()
    return Cost(rows, timing["seconds"])


def with_cost(bases: Sequence[Basis], timed: Sequence[Basis]) -> list[Basis]:
    """The families of a run, with what a pilot of them took now."""
    costs = {basis.family: basis.cost for basis in timed}
    seeds = {basis.family: basis.n_seeds for basis in timed}
    known = [basis for basis in bases if not timed or basis.family in costs]
    if not known:
        raise BadInput(f"the run has no answers of {', '.join(costs)}; it has {', '.join(b.family for b in bases)}")
    return [
        replace(basis, cost=costs.get(basis.family, basis.cost), n_seeds=seeds.get(basis.family, basis.n_seeds))
        for basis in known
    ]


def items_of_run(run: Run, label: str, probe: Probe) -> list[Item]:
    """Where a run's models decided which items there are."""
    frame = run.items(label)
    conditions = [str(name) for name in frame if str(name).startswith(CONDITION)]
    return [
        Item(
            id=row["item"],
            text=row["text"],
            conditions={name.removeprefix(CONDITION): row[name] for name in conditions if pd.notna(row[name])},
            groups=tuple(str(row[GROUP + factor]) for factor in probe.factors),
        )
        for row in frame.to_dict("records")
    ]


# ---------------------------------------------------------------- shipped variances


def shipped(bases: Sequence[Basis]) -> list[Basis]:
    return [replace(basis, source="shipped") for basis in bases]


def shipped_variances(probe: str, measure: Measure, family: str) -> FacetVariances:
    """As they were measured on a shipped model; the file says when and how."""
    entries = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["variances"]
    of_number = [one for one in entries if (one["probe"], one["number"]) == (probe, number_name(measure))]
    if not of_number:
        raise BadInput(f"no shipped variances of {probe}, {number_name(measure)}; leave out --shipped to run a pilot")
    entry = next((one for one in of_number if one["model"] == family), of_number[0])
    known = {field.name: entry[field.name] for field in fields(FacetVariances) if field.name in entry}
    known["seeds_range"] = Range(*known.get("seeds_range", ()))
    return FacetVariances(**known)


def as_entry(probe: str, model: str, measure: Measure, variances: FacetVariances) -> Mapping[str, object]:
    """A row of the shipped file; what is not known is left out."""
    plain = {name: value for name, value in asdict(variances).items() if value == value}
    plain.pop("seeds_range")
    plain |= {"seeds_range": list(variances.seeds_range)} if variances.knows_seeds else {}
    return {"probe": probe, "number": number_name(measure), "model": model, **plain}

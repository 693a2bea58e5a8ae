"""What every probe must hold: distinct ids, documented columns, measures that can be computed, a sign that is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from trueprobe.probes import Probe, make, spread
from trueprobe.runs.check.outcome import Check
from trueprobe.runs.check.planted import headline_value, planted_data, planted_observations, stand_in
from trueprobe.runs.records import observations_frame
from trueprobe.runs.schema import reserved
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import estimate
from trueprobe.types import Card, Item, WhyNot

_STRENGTHS = (-2.0, 0.0, 2.0)  # nats


def check_probe(name: str, settings: Mapping[str, Any] | None = None) -> Iterator[Check]:
    """`name` comes from the caller: the code at a path is run."""
    probe = make(name, settings, allow_code=True)
    items = probe.items()
    yield Check("has items", len(items) > 0, f"{len(items):,}")
    yield Check("item ids are distinct", len({item.id for item in items}) == len(items))
    yield Check("the same items each time", list(items) == list(make(name, settings, allow_code=True).items()))
    yield Check("every item names its groups", all(len(item.groups) == len(probe.factors) for item in items))
    yield from _free_names(probe, items)
    some = spread(items, 400)
    for kind in ("masked", "causal"):
        yield from _asked_of(probe, some, kind)


def _free_names(probe: Probe, items: Sequence[Item]) -> Iterator[Check]:
    """Names that tables and figures have for themselves, and a column that has the name of a condition."""
    conditions = {name for item in items for name in item.conditions}
    names = {"conditions": conditions, "columns": set(probe.columns()), "factors": set(probe.factors)}
    for what, used in names.items():
        taken = reserved(used)
        yield Check(f"no reserved names among {what}", not taken, ", ".join(taken))
    both = sorted(conditions & set(probe.columns()))
    yield Check("no column is named like a condition", not both, ", ".join(both))


def _asked_of(probe: Probe, items: Sequence[Item], kind: Literal["masked", "causal"]) -> Iterator[Check]:
    card = stand_in(kind)
    asks = [probe.ask(item, card) for item in items]
    yield Check(f"asks a {kind} model", any(not isinstance(ask, WhyNot) for ask in asks))
    observed = [planted_observations(probe, items, card, strength) for strength in _STRENGTHS]
    by_id = {item.id: item for item in items}
    frames = [observations_frame(probe, by_id, observations, card) for observations in observed]
    undocumented = sorted({name for o in observed[1] for name in o.values} - set(probe.columns()))
    yield Check(f"documented columns, {kind}", not undocumented, ", ".join(undocumented[:3]))
    yield _countable(probe, frames[-1], card)
    down, none, up = (headline_value(probe, frame) for frame in frames)
    neutral = probe.headline.neutral or 0.0
    detail = f"{down:.3f} < {none:.3f} < {up:.3f}, neutral {neutral:g}"
    yield Check(f"a planted effect moves {probe.headline.name} its way, {kind}", down < none < up, detail)
    yield Check(f"opposite effects lie on opposite sides, {kind}", down < neutral < up, detail)


def _countable(probe: Probe, frame: pd.DataFrame, card: Card) -> Check:
    """Every declared measure and claim can be computed from the documented columns."""
    data = planted_data(probe, frame, card, resamples=20)
    measures = [measure for measure in probe.measures() if card.kind in measure.kinds]
    counted = estimate(probe.name, [data], measures)
    results = claim_results(probe.name, [data], probe.claims())
    unknown = [row.measure for row in counted if row.n_items == 0]
    detail = f"{len(counted):,} measures, {len(results)} claims"
    detail += f"; nothing scored for {unknown[0]}" if unknown else ""
    return Check(f"declared measures and claims can be counted, {card.kind}", bool(counted), detail)

"""What a probe asks, observes and declares, in the form in which the run folder has it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Self

import pandas as pd

from trueprobe.probes import Probe, assessment_of, published
from trueprobe.runs.plan import PlannedProbe
from trueprobe.runs.schema import ProbeDeclaration, PublishedNumber, refuse_reserved
from trueprobe.runs.writing import ROWS_AT_ONCE, ParquetFile, RunFolder
from trueprobe.statistics.measure import WEIGHT
from trueprobe.types import CONDITION, GROUP, Card, Item, Observation

NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


def items_frame(probe: Probe, items: Sequence[Item]) -> pd.DataFrame:
    rows = [{"item": i.id, **_texts(i), **_conditions(i), **_groups(probe, i.groups)} for i in items]
    return pd.DataFrame(rows)


def observations_frame(
    probe: Probe,
    items: Mapping[str, Item],
    observations: Sequence[Observation],
    card: Card,
    weights: Mapping[str, float] = NO_WEIGHTS,
) -> pd.DataFrame:
    """One row per observation; columns in the documented order, absent values as nulls."""
    documented = list(probe.columns())
    refuse_reserved(
        {*documented, *chain.from_iterable(o.values for o in observations)}, f"observations of {probe.name}"
    )
    observed = observations or [Observation(next(iter(items)))]  # of no rows the columns stay
    of = [items[one.item] for one in observed]
    # column by column: rows as dictionaries would hold each name again
    columns = {
        "item": [one.item for one in observed],
        "part": [one.part for one in observed],
        "model": [card.name] * len(observed),
        "model_seed": [card.labels.get("model_seed")] * len(observed),
        "step": [card.labels.get("step")] * len(observed),
        **_by_name([item.conditions for item in of], CONDITION),
        **_by_name(
            [dict(zip(probe.factors, o.groups or i.groups, strict=True)) for o, i in zip(observed, of, strict=True)],
            GROUP,
        ),
        "why_not": [one.why_not.code if one.why_not else "" for one in observed],
        "why_not_detail": [one.why_not.detail if one.why_not else "" for one in observed],
        **({WEIGHT: [weights[one.item] for one in observed]} if weights else {}),
        **_by_name([one.values for one in observed]),
    }
    frame = pd.DataFrame(columns)[: len(observations)].astype({"model_seed": "Int64", "step": "Int64"})
    first = [name for name in frame.columns if name not in documented]
    return frame.reindex(columns=first + documented)


class ObservationFiles:
    """One model's observations, probe after probe, written as they come: of each probe's no more than a frame is held.
    In a `with` block; where that fails, the file that was begun is left out."""

    def __init__(self, folder: RunFolder, card: Card) -> None:
        self._folder, self._card = folder, card
        self._planned: PlannedProbe | None = None
        self._items: dict[str, Item] = {}
        self._file: ParquetFile | None = None
        self._held: list[Observation] = []

    def add(self, planned: PlannedProbe, observations: Iterable[Observation]) -> None:
        if planned is not self._planned:
            self._end()
            self._planned = planned
            self._items = {item.id: item for item in planned.items}
            self._file = self._folder.observations_file(planned.label, self._card.name, list(planned.probe.columns()))
        for observation in observations:
            self._held.append(observation)
            if len(self._held) == ROWS_AT_ONCE:
                self._write()

    def _write(self) -> None:
        planned = self._planned
        assert planned is not None
        assert self._file is not None
        frame = observations_frame(planned.probe, self._items, self._held, self._card, planned.weights)
        self._held = []
        self._file.write(frame)

    def _end(self) -> None:
        if self._file is None:
            return
        if self._held or not self._file.begun:  # where nothing was observed, the columns stay
            self._write()
        self._file.close()
        self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            if not failed:
                self._end()
        finally:
            if self._file is not None:
                self._file.abandon()


def _by_name(rows: Sequence[Mapping[str, Any]], prefix: str = "") -> dict[str, list[Any]]:
    """Columns in the order in which their names come; NaN where a row has none."""
    names = dict.fromkeys(chain.from_iterable(rows))
    if all(len(row) == len(names) for row in rows):  # the usual case, and faster
        return {prefix + name: list(map(itemgetter(name), rows)) for name in names}
    return {prefix + name: [row.get(name, math.nan) for row in rows] for name in names}


def _texts(item: Item) -> dict[str, str]:
    return {"text": item.text} | ({"causal_text": item.causal_text} if item.causal_text else {})


def _conditions(item: Item) -> dict[str, str | int]:
    return {CONDITION + name: value for name, value in item.conditions.items()}


def _groups(probe: Probe, groups: Sequence[str]) -> dict[str, str]:
    return {GROUP + name: group for name, group in zip(probe.factors, groups, strict=True)}


def declaration(probe: Probe, items: Sequence[Item], items_needed: int = 0, n_whole: int = 0) -> ProbeDeclaration:
    """What a reader of the run folder needs to know of a probe."""
    return ProbeDeclaration(
        name=probe.name,
        question=probe.question,
        does_not_show=probe.does_not_show,
        paper=probe.paper,
        settings=probe.settings.model_dump(mode="json"),
        factors=probe.factors,
        columns=dict(probe.columns()),
        facts=_plain(probe.facts()),
        n_items=len(items),
        items_needed=items_needed,
        n_whole=n_whole,
        example=items[0].text if items else "",
        summary=probe.summary,
        figures=tuple(probe.page.figures),
        tables=tuple(probe.page.tables),
        item_table=probe.page.items,
        items_of=probe.items_of,
        published=() if probe.items_of else tuple(_published(probe.name)),
        primary=probe.primary,
        assessment=assessment_of(probe.name),
    )


def _plain(facts: Mapping[str, object]) -> dict[str, object]:
    """As JSON has it: tuples as lists, anything unknown as text."""
    plain: dict[str, object] = json.loads(json.dumps(dict(facts), default=str))
    return plain


def _published(name: str) -> list[PublishedNumber]:
    if name not in published.probes():
        return []
    return [
        PublishedNumber(
            measure=number.measure,
            conditions=dict(number.conditions),
            model=number.model,
            value=number.value,
            source=number.source,
        )
        for number in published.numbers(name)
        if number.of == "value" and number.model
    ]

"""Published number | ours | difference: a run with the authors' own settings, next to their table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe import probes
from trueprobe.errors import BadInput, FailedRun, nearest
from trueprobe.probes import files as material
from trueprobe.probes import published
from trueprobe.probes.published import PublishedValue
from trueprobe.runs import replay
from trueprobe.statistics.rows import Estimate


@dataclass(frozen=True)
class Compared:
    number: PublishedValue
    ours: float  # NaN where nothing was counted

    @property
    def difference(self) -> float:
        return self.number.scaled(self.ours) - self.number.value

    @property
    def agrees(self) -> bool:
        return self.number.agrees(self.ours)

    def row(self) -> dict[str, Any]:
        n = self.number
        row = {"source": n.source, "place": n.place, "model": n.model, **n.conditions, "measure": n.measure, "of": n.of}
        ours, difference = (None if math.isnan(x) else x for x in (n.scaled(self.ours), self.difference))
        numbers = {"published": n.value, "decimals": n.decimals, "ours": ours, "difference": difference}
        return {**row, **numbers, "agrees": None if ours is None else self.agrees}


def reproduce(
    probe: str,
    spec: str | None = None,
    published_as: str | None = None,
    out: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[list[Compared], bool]:
    """All numbers of the model, counts of the material first, and whether one was asked. `settings` go before the
    authors'; other options are those of `execute.run`.

    Where numbers were counted in several ways, there is a run, and a folder in `out`, for each."""
    probes.find(probe, allow_code=True)
    numbers = published.numbers(probe)
    if spec is None:
        return [Compared(number, math.nan) for number in numbers], False
    authors = published.authors(probe)
    chosen = dict(settings or {})
    for key, message in authors.needs.items():
        if key not in chosen:
            raise BadInput(message)
    in_paper = list(dict.fromkeys(number.model for number in numbers if number.model))
    if published_as is not None and published_as not in in_paper:
        raise BadInput(f"--as {published_as}: no published numbers of it{nearest(published_as, in_paper)}")
    replayed = spec.startswith(replay.PREFIX)
    name = published_as or (None if replayed else authors.name_of(spec))
    if not replayed and name not in in_paper:
        specs = [one for model in in_paper for one in (*authors.models.get(model, ())[:1], f"--as '{model}'")]
        raise BadInput(f"no published numbers of '{spec}'; there are some of: {', '.join(specs)}")
    theirs = _released(probe, {**authors.settings, **chosen}, spec, name) if replayed else {name}
    wanted = [n for n in numbers if n.model in theirs and n.only in ("", "replay" if replayed else "model")]
    if not wanted:
        raise BadInput(
            f"no published numbers of {', '.join(map(str, theirs))}; there are some of: {', '.join(in_paper)}"
        )
    named = {n.settings: published.pairs(n.settings) for n in wanted}
    ways = {way: {**authors.settings, **theirs, **chosen} for way, theirs in named.items()}
    counted = {way: _counted(probe, ways[way], [n for n in wanted if n.settings == way]) for way in ways}
    if not any(counted.values()):
        listed = " ".join(f"{key}={value}" for key, value in chosen.items())
        raise BadInput(f"{probe} with {listed} counts none of the published numbers")
    compared = _counts(numbers, probe, {**authors.settings, **chosen})
    for way, here in counted.items():
        place = out / re.sub("[^A-Za-z0-9_=.-]+", "-", way) if out and len(ways) > 1 else out
        compared += _compared(here, probe, spec, name, ways[way], place, options) if here else []
    compared += [Compared(number, math.nan) for number in wanted if number not in counted[number.settings]]
    return compared, True


def notices(
    probe: str, spec: str | None, published_as: str | None = None, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Of released outputs: what is not read, and the models of which no number is published, a line each."""
    if spec is None or not spec.startswith(replay.PREFIX):
        return []
    chosen = {**published.authors(probe).settings, **(settings or {})}
    lines = replay.notices([spec], [probes.make(probe, chosen)])
    in_paper = {number.model for number in published.numbers(probe)}
    without = [name for name in _released(probe, chosen, spec, published_as) if name not in in_paper]
    if without:
        lines.append(f"no published numbers of {', '.join(without)}; trueprobe run {probe} counts their outputs too")
    return lines


def _compared(
    numbers: Sequence[PublishedValue],
    probe: str,
    spec: str,
    name: str | None,
    settings: dict[str, Any],
    out: Path | None,
    options: dict[str, Any],
) -> list[Compared]:
    from trueprobe.runs import execute

    run = execute.run(probe, [spec], out, settings=settings, **options)
    rows = run.rows(Estimate)
    if name is not None and len({row.family for row in rows}) == 1:  # one checkpoint, or a family's mean
        level = "family" if any(row.level == "family" for row in rows) else "checkpoint"
        rows = [row for row in rows if row.level == level]
        return [Compared(number, _ours(rows, number)) for number in numbers]
    return [Compared(number, _ours([row for row in rows if row.model == number.model], number)) for number in numbers]


def _counts(numbers: Sequence[PublishedValue], probe: str, settings: dict[str, Any]) -> list[Compared]:
    """The published counts of the material, which are no model's."""
    counts = [number for number in numbers if not number.model]
    made = probes.make(probe, settings) if counts else None
    return [Compared(number, made.count_of(number.measure, number.conditions)) for number in counts if made]


def _released(probe: str, settings: Mapping[str, Any], spec: str, name: str | None) -> dict[str, None]:
    """The authors' names of the models whose outputs are there, in order; `name` if it is that of one of them."""
    path = material.path_of(spec.removeprefix(replay.PREFIX))
    if not path.exists():
        raise BadInput(f"no file or folder '{path}' (--model {spec})")
    there = dict.fromkeys(probes.make(probe, settings).released_models(path))
    if name is None:
        return there
    if len(there) > 1 and name not in there:
        raise BadInput(f"--as {name}: {path} has outputs of several models, none of that name: {', '.join(there)}")
    return {name: None}


def _counted(probe: str, settings: Mapping[str, Any], numbers: Sequence[PublishedValue]) -> list[PublishedValue]:
    """Those that a run with these settings has an estimate of."""
    measures = [(m.name, {k: str(v) for k, v in m.conditions.items()}) for m in probes.make(probe, settings).measures()]
    return [
        n for n in numbers if any(n.measure == name and n.conditions.items() <= at.items() for name, at in measures)
    ]


def _ours(estimates: Sequence[Estimate], number: PublishedValue) -> float:
    wanted = number.conditions.items()
    rows = [row for row in estimates if row.measure == number.measure and wanted <= row.conditions.items()]
    if len(rows) != 1:
        raise FailedRun(f"{len(rows)} estimates of {number.measure} where {number.place} has one: {number.conditions}")
    return float(getattr(rows[0], number.of))

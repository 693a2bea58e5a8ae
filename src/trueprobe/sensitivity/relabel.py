"""Every measure of a finished run by itself, about the association it asked for or about one that is dealt again.

Verdicts are those of a reader with this one question: not corrected over a probe's other numbers. About an association
that was never planted, a decided verdict of the null models is a false alarm. No model is asked for that and none is
trained: what a probe observed of a target that is dealt to the other group now is what it observed before, with the
other sign: the same two words, or the same vectors, with the sides exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from trueprobe import probes
from trueprobe.probes import Probe
from trueprobe.runs import Run
from trueprobe.runs.tables import drawn_alike
from trueprobe.sensitivity.associations import Association
from trueprobe.sensitivity.measure import Dose, rows_of
from trueprobe.sensitivity.pointing import COUNTED
from trueprobe.sensitivity.rows import MeasuredRow
from trueprobe.statistics.estimates import estimate
from trueprobe.statistics.measure import Measure
from trueprobe.types import GROUP

FIRST_RELABELLED = 1000  # assignments from here on are never planted


def _negative(values: pd.Series) -> pd.Series:
    return -values


def _other_share(values: pd.Series) -> pd.Series:
    return 1 - values


@dataclass(frozen=True, kw_only=True)
class _Relabelled:
    """The columns of a probe that have a side: how each changes, and which two words stand for the sides."""

    target: str  # the factor that names the target
    columns: Mapping[str, Callable[[pd.Series], pd.Series]]
    sides: str = ""  # the column that names the side


_DEPTHS = ("top3", "top5", "top10", "all")
_PROBES: Mapping[str, _Relabelled] = {
    "cloze": _Relabelled(target="group", columns={"margin_nats": _negative, "right_wins": _other_share}),
    "pairs": _Relabelled(
        target="group", columns={"better_minus_worse_nats": _negative, "prefers_better": _other_share}
    ),
    "seat": _Relabelled(target="word", columns={"in_first": _other_share}, sides="side"),
    "counteracts": _Relabelled(
        target="target",
        columns={
            **{f"stereotype_margin_{depth}": _negative for depth in _DEPTHS},
            **{f"pro_stereotypical_{depth}": _other_share for depth in _DEPTHS},
            "stereotype_log_odds_all": _negative,
        },
        sides="condition_dominated",
    ),
}


@dataclass(frozen=True)
class Answers:
    """A finished run about one assignment."""

    run: Run
    association: Association
    assignment: int

    def rows(self, number: int, at: Dose) -> Iterator[MeasuredRow]:
        """Every measure as if the targets had been dealt by the assignment of that number."""
        dealt, again = (self.association.assignment(n) for n in (self.assignment, number))
        moved = {target for target, group in dealt.items() if again[target] != group}
        for label in self.run.probes:
            observed = [(card, self._exchanged(label, card.name, moved)) for card in self.run.cards]
            members = drawn_alike(self._probes[label], observed)
            estimates = estimate(label, members, self._measures(label))
            yield from rows_of(label, estimates, at)

    @cached_property
    def _probes(self) -> dict[str, Probe]:
        return {entry.label: probes.make(entry.name, entry.settings) for entry in self.run.study.probes}

    def _measures(self, label: str) -> list[Measure]:
        wanted = COUNTED[label]
        kind = self.run.cards[0].kind
        return [
            measure
            for measure in self._probes[label].measures()
            if kind in measure.kinds and any(counted.is_of(measure.name, measure.conditions) for counted in wanted)
        ]

    def _exchanged(self, label: str, model: str, moved: set[str]) -> pd.DataFrame:
        how, frame = _PROBES[label], self._frames[label, model].copy()
        at = frame[GROUP + how.target].isin(moved)
        for name, change in how.columns.items():
            frame.loc[at, name] = change(frame.loc[at, name])
        if how.sides:
            first, second = self.association.groups
            named = {"X": "Y", "Y": "X", first: second, second: first}
            frame.loc[at, how.sides] = frame.loc[at, how.sides].map(named)
        return frame

    @cached_property
    def _frames(self) -> dict[tuple[str, str], pd.DataFrame]:
        names = [(label, card.name) for label in self.run.probes for card in self.run.cards]
        return {name: self.run.observed(*name) for name in names}

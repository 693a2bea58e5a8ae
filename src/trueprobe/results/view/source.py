"""What a report is made of: the tables of a run folder, each read once, with the families they are about."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import pandas as pd

from trueprobe.probes.display import Where
from trueprobe.results.text import tables as words
from trueprobe.results.view.number import Row
from trueprobe.results.view.select import Depth, Selected, at_depth, directed
from trueprobe.runs.downstream import Comparison, DownstreamResult, FamilyOutcome
from trueprobe.runs.families import Family, families
from trueprobe.runs.folder import Run
from trueprobe.runs.primary import is_primary, label_of_row, primary_of
from trueprobe.runs.schema import ProbeDeclaration
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate, VariantDifference
from trueprobe.statistics.verdict import ALPHA, judge_equality
from trueprobe.types import CONDITION, Direction, Unit, Verdict

T = TypeVar("T")
DOWNSTREAM = "downstream"  # stands for a probe in the claims about fine-tuned checkpoints


@dataclass(frozen=True)
class ReportSource:
    run: Run
    _frames: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict, repr=False)
    _of_families: dict[tuple[str, str], list[Estimate]] = field(default_factory=dict, repr=False)
    _seeds: dict[str, dict[tuple[object, ...], list[Estimate]]] = field(default_factory=dict, repr=False)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        return families(self.run.cards)

    @property
    def labels(self) -> list[str]:
        """Of the probes that were begun."""
        return list(self.run.declarations)

    def declaration(self, label: str) -> ProbeDeclaration:
        return self.run.declaration(label)

    @property
    def complete(self) -> bool:
        return self.run.complete

    @cached_property
    def counted(self) -> bool:
        return any(self.estimates(label) for label in self.labels)

    def estimates(self, label: str) -> list[Estimate]:
        return self.run.estimates_of(label)

    def rows(self, table: type[T]) -> list[T]:
        """Of any other table."""
        return self.run.rows(table)

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """Those of the run, and that fine-tuned checkpoints are equally good."""
        tuned = [(task, row) for task in self.run.downstream for row in task.families]
        ps = [None if row.shows is Comparison.NOTHING else row.p_equal for _, row in tuned]
        verdicts = judge_equality(ps)
        return [*self.rows(ClaimResult), *(_equally_good(*pair, v) for pair, v in zip(tuned, verdicts, strict=True))]

    def observations(self, label: str) -> pd.DataFrame:
        """With the family of each model; empty where there are none yet. A condition is named without its prefix."""
        key = ("observations", label)
        if key not in self._frames:
            self._frames[key] = self._with_families(label)
        return self._frames[key]

    def last_observations(self, label: str) -> pd.DataFrame:
        """Of each family those of its last step."""
        rows = self.observations(label)
        names = [card.name for family in self.families for card in family.checkpoints]
        return rows[rows["model"].isin(names)] if len(rows) else rows

    def items(self, label: str) -> pd.DataFrame:
        key = ("items", label)
        if key not in self._frames:
            there = self.run.has_items(label)
            self._frames[key] = _plain_names(self.run.items(label)) if there else pd.DataFrame()
        return self._frames[key]

    def _with_families(self, label: str) -> pd.DataFrame:
        if not self.run.has_observations(label):
            return pd.DataFrame()
        rows = _plain_names(self.run.observations(label))
        return rows.assign(family=rows["model"].map({card.name: card.family for card in self.run.cards}))

    def select(self, label: str, family: Family, measures: tuple[str, ...], where: Where) -> Selected[Estimate]:
        """A family's estimates of these measures, at the depth at which they say something."""
        rows = [row for row in self._family_rows(label, family) if row.measure in measures]
        return at_depth(rows, Depth.of(where, self.declaration(label).summary), directed(rows))

    def _family_rows(self, label: str, family: Family) -> list[Estimate]:
        key = (label, family.name)
        if key not in self._of_families:
            self._of_families[key] = family.rows(self.estimates(label))
        return self._of_families[key]

    @cached_property
    def n_listed(self) -> int:
        """The numbers whose verdicts are controlled together."""
        estimates = [row.n_list for label in self.labels for row in self.estimates(label)]
        others = [*(row.n_list for row in self.claims), *(row.n_list for row in self.rows(VariantDifference))]
        return sum(length > 0 for length in (*estimates, *others))

    def seed_rows(self, family: Family, row: Estimate) -> list[Estimate]:
        """The rows of a family's checkpoints behind one of its own."""
        if row.probe not in self._seeds:
            self._seeds[row.probe] = self._seed_index(row.probe)
        return self._seeds[row.probe].get((family.name, *_key(row)), [])

    def _seed_index(self, label: str) -> dict[tuple[object, ...], list[Estimate]]:
        index: dict[tuple[object, ...], list[Estimate]] = {}
        for family in self.families:
            for row in family.seed_rows(self.estimates(label)):
                index.setdefault((family.name, *_key(row)), []).append(row)
        return index

    def is_primary(self, row: Row) -> bool:
        """On the list whose verdicts are controlled together, or kept from it by what stands in its way."""
        on_list = not isinstance(row, Difference) and row.n_list > 0  # in a folder of another version, too
        return on_list or is_primary(row, self.run.declarations.get(label_of_row(row)))

    def templates(self, row: Estimate | ClaimResult) -> tuple[str, str]:
        """What a primary number says above its neutral value, and below; of any other nothing."""
        declared = self.run.declarations.get(row.probe)
        primary = primary_of(row, declared) if declared else None
        return (primary.above, primary.below) if primary else ("", "")

    def claims_single_models(self, label: str) -> bool:
        """Claims over seeds do not report what a probe measures."""
        return any(claim.probe == label and claim.level == "checkpoint" for claim in self.claims)


def _key(row: Estimate) -> tuple[object, ...]:
    return row.measure, *sorted(row.conditions.items())


def _plain_names(frame: pd.DataFrame) -> pd.DataFrame:
    """`condition_k` becomes `k`, where no other column has that name."""
    prefixed = {name: name.removeprefix(CONDITION) for name in map(str, frame) if name.startswith(CONDITION)}
    return frame.rename(columns={name: plain for name, plain in prefixed.items() if plain not in frame})


def where_rows(frame: pd.DataFrame, where: Where) -> pd.DataFrame:
    """The rows of observations or items at these conditions; none where a column is missing."""
    for key, wanted in where.items():
        if key not in frame:
            return frame[:0]
        frame = frame[frame[key].astype(str).isin([wanted] if isinstance(wanted, str) else list(wanted))]
    return frame


def _equally_good(task: DownstreamResult, row: FamilyOutcome, verdict: Verdict) -> ClaimResult:
    p = None if row.shows is Comparison.NOTHING else row.p_equal
    return ClaimResult(
        probe=DOWNSTREAM,
        claim=f"equally_good_{task.task}",
        statement=words.equally_good(task.task),
        paper="C",
        model=row.family,
        level="family",
        conditions={},
        quantity="accuracy",
        direction=Direction.EQUAL,
        threshold=ALPHA,
        value=math.nan if p is None or row.sd is None else row.sd,
        low=math.nan,
        high=math.nan,
        unit=Unit.SHARE,
        verdict=verdict,
        p=math.nan if p is None else p,
        family=row.family,
        step=row.step,
        n_seeds=row.n_checkpoints,
        verdict_alone=verdict,
    )

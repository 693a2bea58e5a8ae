"""Which numbers of a run are on its list, and the verdicts they have there.

A probe declares at most three primary numbers; where it declares none, all that its summary shows is primary. The list
is every primary number of every family at its last step, or of each family by itself where the study says so
(docs/decisions/0015-primary-numbers.md). It is made when a run is counted, and no report changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import Probe
from trueprobe.probes.display import Primary, Summary, matches, row_names
from trueprobe.runs.families import Family
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.multiverse import EVERY
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate, VariantDifference, grouped
from trueprobe.statistics.verdict import Judged, judge_list
from trueprobe.types import Card, Kind

NO_TESTS: Mapping[str, int] = {}


class Declares(Protocol):
    """A probe, or its declaration in a run folder."""

    @property
    def primary(self) -> tuple[Primary, ...] | None: ...
    @property
    def summary(self) -> Summary: ...


def is_primary(row: Judged, declared: Declares | None) -> bool:
    """What several probes together claim has no declaration, and is on the list."""
    if declared is None:
        return True
    if declared.primary is None:
        return isinstance(row, ClaimResult) or _in_summary(row, declared.summary)
    return primary_of(row, declared) is not None


def primary_of(row: Judged, declared: Declares) -> Primary | None:
    """The declaration of a primary number, where there is one."""
    return next((primary for primary in declared.primary or () if _is(row, primary)), None)


def _is(row: Judged, primary: Primary) -> bool:
    if isinstance(row, ClaimResult):
        return is_primary_claim(row.claim, row.conditions, (primary,))
    if isinstance(row, Estimate) and primary.claims:  # they are on the list in its place
        return False
    return row.measure == primary.measure and matches(primary.where, row.conditions.get)


def is_primary_claim(name: str, conditions: Mapping[str, str | int], declared: Sequence[Primary]) -> bool:
    """Whether it is named next to a number, and is about the same conditions."""
    stated = {key: str(value) for key, value in conditions.items()}
    return any(
        name in primary.claims and matches({k: v for k, v in primary.where.items() if k in stated}, stated.get)
        for primary in declared
    )


def _in_summary(row: Estimate | VariantDifference | Difference, summary: Summary) -> bool:
    at = [summary.where, {**summary.where, **summary.fallback}]
    named = row_names(row.conditions, summary.row_conditions) is not None
    return named and row.measure in summary.measures and any(matches(one, row.conditions.get) for one in at)


def label_of_row(row: Judged) -> str:
    return row.first_label if isinstance(row, VariantDifference) else row.probe


def on_run_list(
    rows: Sequence[Judged],
    declared: Mapping[str, Declares],
    families: Sequence[Family],
    each_model: bool = False,
    tests: Mapping[str, int] = NO_TESTS,
) -> list[Judged]:
    """The rows of all tables of a run, with the verdicts of its list; with `each_model`, of a list for each family.
    `tests`: joint tests of each family that are on it too."""

    def list_of(row: Judged) -> str | None:
        """The list that a primary row is on; None for any other."""
        if not is_primary(row, declared.get(label_of_row(row))):
            return None
        if isinstance(row, ClaimResult) and row.level == "pair":
            return row.model if each_model else ""
        standing = [family.name for family in families if not isinstance(row, Difference) and family.has(row)]
        return (standing[0] if each_model else "") if standing else None

    judged = list(rows)
    for name, members in grouped(range(len(rows)), lambda i: list_of(rows[i])).items():
        more = 0 if name is None else sum(many for family, many in tests.items() if name in ("", family))
        with_verdicts = judge_list([rows[i] for i in members], [name is not None] * len(members), more)
        for i, row in zip(members, with_verdicts, strict=True):
            judged[i] = row
    return judged


def joint_tests(probes: Iterable[Probe], families: Sequence[Family], axes: Sequence[str]) -> dict[str, int]:
    """How many joint tests along these axes each family has on the list."""
    asked = {family.name: family.checkpoints[0] for family in families} if axes else {}
    declared = list(probes)
    return {
        name: sum(question.along(axes) is not None for probe in declared for question in probe.multiverse(card))
        for name, card in asked.items()
    }


def refuse_unknown_axes(axes: Sequence[str], probes: Sequence[Probe], cards: Sequence[Card]) -> None:
    declared = [q for probe in probes for card in cards for q in probe.multiverse(card)] if axes else []
    names = dict.fromkeys(axis.name for question in declared for axis in question.axes)
    for name in axes:
        if name not in (EVERY, *names):
            raise BadInput(f"no axis '{name}' of other ways of counting{nearest(name, list(names))}")


def primary_measures(probe: Probe, kind: Kind, named: str = "") -> list[Measure]:
    """A probe's primary numbers for a kind of model, the first of its summary where none are declared; or those of one
    name."""
    every = [measure for measure in probe.measures() if kind in measure.kinds]
    names = list(dict.fromkeys(measure.name for measure in every))
    if named and named not in names:
        raise BadInput(f"{probe.name} has no measure '{named}'{nearest(named, names)}")
    declared = probe.primary or ()
    primary = [m for m in every for one in declared if m.name == one.measure and matches(one.where, m.reported.get)]
    if primary and not named:
        return primary
    same = [measure for measure in every if measure.name == (named or probe.summary.measures[0])]
    at_summary = [measure for measure in same if matches(probe.summary.where, measure.reported.get)]
    pooled = sorted(at_summary or same, key=lambda measure: len(measure.where))
    return [measure for measure in primary if measure.name == named] or pooled[:1]


def listed_measures(probe: Probe, kind: Kind) -> list[Measure]:
    """Primary numbers that are on the list themselves: in the place of the others stand claims."""
    claimed = [one for one in probe.primary or () if one.claims]
    return [
        measure
        for measure in primary_measures(probe, kind)
        if not any(measure.name == one.measure and matches(one.where, measure.reported.get) for one in claimed)
    ]


def number_name(measure: Measure) -> str:
    """`accuracy[k=10,knowledge=base]`, as the rules of a gate name it; without the vocabulary, which follows from the
    models."""
    named = {key: value for key, value in sorted(measure.reported.items()) if not key.startswith("vocabulary")}
    conditions = ",".join(f"{key}={value}" for key, value in named.items())
    return f"{measure.name}[{conditions}]" if named else measure.name


def listed(label: str, declared: Declares) -> Iterator[str]:
    """What of a probe is on the list that verdicts are controlled over, as it declares it."""
    if declared.primary is None:
        yield f"{label}: {', '.join(declared.summary.measures)} and all claims"
    for one in declared.primary or ():
        where = ",".join(f"{key}={'|'.join([v] if isinstance(v, str) else v)}" for key, v in sorted(one.where.items()))
        yield f"{label}: {', '.join(one.claims) or one.measure}[{where}]"

"""Two models or families of one run, paired by item: `trueprobe compare DIR --a MODEL --b MODEL`; and conditions of
one model: `trueprobe compare DIR --contrast "attractor × number"`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from trueprobe.errors import BadInput, nearest
from trueprobe.paths import gc_pause
from trueprobe.probes import Probe
from trueprobe.probes.display import Summary, matches
from trueprobe.runs import signature
from trueprobe.runs.families import asks, families
from trueprobe.runs.folder import Run
from trueprobe.runs.primary import is_primary
from trueprobe.runs.tables import drawn_alike
from trueprobe.statistics import paired
from trueprobe.statistics.contrasts import contrasts, factors_of
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.rows import Difference, Estimate, changed
from trueprobe.statistics.verdict import FEWEST_SEEDS, judge_list
from trueprobe.types import Card, Conditions, NoProgress, Outcome, Progress


@dataclass(frozen=True)
class ModelComparison:
    """Every measure of every probe that asks both sides alike."""

    a: str
    b: str
    rows: Sequence[Difference]  # with the verdicts of the primary ones, which are controlled together
    summaries: Mapping[str, Summary]  # of each probe, by its label
    apart: tuple[str, ...] = ()  # probes that ask the two kinds of model for different things
    steps: tuple[int | None, int | None] = (None, None)  # of either side: its last training step
    unequal: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # parts of the signatures, where allowed

    @property
    def primary(self) -> list[Difference]:
        """Those that could have a verdict."""
        silent = (Outcome.EXPLORATORY, Outcome.NONE)
        return [row for row in self.rows if row.verdict.outcome not in silent]

    @property
    def n_seeds(self) -> tuple[int, int]:
        """Of either side."""
        return max(row.n_seeds_a for row in self.rows), max(row.n_seeds_b for row in self.rows)

    @property
    def too_few_seeds(self) -> bool:
        """Families that cannot show anything; two single checkpoints are compared as such."""
        return max(self.n_seeds) > 1 and min(self.n_seeds) < FEWEST_SEEDS

    @property
    def file(self) -> str:
        return f"comparisons/{self.a}_vs_{self.b}".replace(" ", "_")


@gc_pause()
def compare(
    run: Run,
    a: str,
    b: str,
    progress: Progress | None = None,
    allow_unequal: bool = False,
) -> ModelComparison:
    """`a` minus `b`. A family is all its seeds, at their last training step. Numbers whose signatures differ are
    compared only where the user allows it."""
    first, second = (_cards(run, name) for name in (a, b))
    both = {card.name for card in first} & {card.name for card in second}
    if both:
        raise BadInput(f"{min(both)} is on both sides; --a and --b must have no checkpoint in common")
    kinds = {card.kind for card in (*first, *second)}
    asked = [label for label in run.probes if all(asks(run.study.only, label, card) for card in (*first, *second))]
    if not asked:
        raise BadInput(f"{a} and {b} have no probe in common, so they cannot be compared")
    every = {label: run.probe(label) for label in asked}
    alike = {label: probe for label, probe in every.items() if any(kinds <= set(m.kinds) for m in probe.measures())}
    apart = tuple(label for label in every if label not in alike)
    if not alike:
        raise BadInput(f"{a} and {b} are prompted differently by {' or '.join(apart)}, so they cannot be compared")
    signed = {label: _Signatures.of(run, label, (first, second)) for label in alike}
    unequal = {name: values for each in signed.values() for name, values in each.unequal.items()}
    if unequal and not allow_unequal:
        raise BadInput(
            f"{a} and {b} have different signatures ({signature.described(unequal)}); "
            "--allow-unequal compares them anyway"
        )
    rows: list[Difference] = []
    with (progress or NoProgress()).task("comparing", len(alike), "probes") as task:
        for label, probe in alike.items():
            one, other = (_members(run, label, probe, side) for side in (first, second))
            sides = paired.Sides.of(one, other, probe.factors, probe.drawn_within)
            measures = [measure for measure in probe.measures() if kinds <= set(measure.kinds)]
            made = paired.compare(label, sides, measures, probe.corrected_over)
            rows += [changed(row, signature=signed[label].shared(row)) for row in made]
            task.advance(note=label)
    rows = judge_list(rows, [is_primary(row, run.declarations[row.probe]) for row in rows])
    summaries = {label: run.declarations[label].summary for label in alike}
    steps = (first[0].labels.get("step"), second[0].labels.get("step"))
    return ModelComparison(a, b, rows, summaries, apart, steps, unequal)


Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class _Signatures:
    """Of the numbers of two sides, by measure and conditions; a folder written before signatures has none."""

    sides: tuple[Mapping[Key, str], Mapping[Key, str]]
    unequal: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, run: Run, label: str, sides: tuple[Sequence[Card], Sequence[Card]]) -> _Signatures:
        read = run.estimate_columns(label, ("model", "level", "signature", "measure", "conditions"))
        rows = [row for row in zip(*read.values(), strict=True) if row[1] == "checkpoint"]
        names = [{card.name for card in cards} for cards in sides]
        one, other = ({_key(*row[3:]): row[2] for row in rows if row[0] in side} for side in names)
        ignored = signature.of_the_models(*sides)
        both = [(one[key], other[key]) for key in one.keys() & other.keys() if one[key] and other[key]]
        each = [signature.differing(*pair, ignored) for pair in both]
        return cls((one, other), {name: values for differences in each for name, values in differences.items()})

    def shared(self, row: Difference) -> str:
        return signature.common(side.get(_key(row.measure, row.conditions), "") for side in self.sides)


def _key(measure: str, conditions: Conditions) -> Key:
    return measure, frozenset(conditions.items())


def between_runs(
    run: Run,
    baseline: Run,
    label: str,
    sides: tuple[Sequence[Card], Sequence[Card]],
    wanted: Collection[tuple[str, Conditions]],
) -> list[Difference]:
    """Checkpoints of one run minus those of another with the same questions, on the items both scored: the measures of
    these names and conditions, without verdicts that hold over a list."""
    probe = run.probe(label)
    measures = [measure for measure in probe.measures() if (measure.name, measure.reported) in wanted]
    one, other = (_members(of, label, probe, cards) for of, cards in zip((run, baseline), sides, strict=True))
    return paired.compare(label, paired.Sides.of(one, other, probe.factors, probe.drawn_within), measures)


# ---------------------------------------------------------------- conditions


@gc_pause()
def contrasted(run: Run, contrast: str, progress: Progress | None = None) -> list[Estimate]:
    """The contrast of every probe that has its conditions, of each checkpoint and family at its last step: of the
    measures of its summary, where that is counted. It was chosen after the run, so no number is primary."""
    rows: list[Estimate] = []
    every = {label: run.probe(label) for label in run.probes}
    known = {name for probe in every.values() for measure in probe.measures() for name in measure.conditions}
    factors = factors_of(contrast, sorted(known))
    steps = [(label, family) for label in every for family in families(run.cards)]
    with (progress or NoProgress()).task("comparing", len(steps), "families") as task:
        for label, family in steps:
            probe, cards = every[label], family.checkpoints
            where = {name: value for name, value in probe.summary.where.items() if name not in factors}
            measures = [
                measure
                for measure in probe.measures()
                if cards[0].kind in measure.kinds
                and measure.name in probe.summary.measures
                and not measure.of_coverage
                and matches({k: v for k, v in where.items() if k in measure.reported}, measure.reported.get)
            ]
            if all(any(name in measure.conditions for measure in measures) for name in factors):
                members = drawn_alike(probe, [(card, run.observed(label, card.name)) for card in cards])
                rows += estimate(label, members, contrasts(contrast, measures), probe.corrected_over)
            task.advance(note=label)
    if not rows:
        raise BadInput(f"contrast '{contrast}': no probe of {run.folder} has {' and '.join(factors)}")
    return judge_list(rows, [False] * len(rows))


def _cards(run: Run, name: str) -> list[Card]:
    """A checkpoint, or a family at its last step."""
    by_name = {family.name: list(family.checkpoints) for family in families(run.cards)}
    by_name |= {card.name: [card] for card in run.cards}
    if name not in by_name:
        raise BadInput(f"{run.folder} has no model or family '{name}'{nearest(name, list(by_name))}")
    return by_name[name]


def _members(run: Run, label: str, probe: Probe, cards: Sequence[Card]) -> list[CheckpointData]:
    seed = probe.settings.resample_seed
    return [paired.to_pair(card, run.observed(label, card.name), seed) for card in cards]

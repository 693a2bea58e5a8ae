"""Verdicts, outcomes and reasons, and what is behind a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueprobe.results.numbers import NumberFormat, count, several
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.statistics.verdict import FEWEST_GROUPS
from trueprobe.types import LEAST_COVERED, ClaimSource, Direction, Outcome, Reason, Verdict

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.key import Key
    from trueprobe.results.view.number import Finding, Mark, Number

_VERDICTS = {
    Verdict.HOLDS: "holds",
    Verdict.HOLDS_FOR_CHECKPOINT: "holds for this checkpoint",
    Verdict.FLIPS: "flips",
    Verdict.MIXED: "mixed",
    Verdict.UNDECIDED: "undecided",
    Verdict.EXPLORATORY: "exploratory",
    Verdict.SUGGESTIVE: "suggestive",
    Verdict.DESCRIPTIVE: "descriptive",
    Verdict.AS_PUBLISHED: "as published",
    Verdict.NOT_CONTRADICTED: "not contradicted",
    Verdict.ALIKE: "alike",
    Verdict.OPPOSITE: "opposite",
    Verdict.FAILS_GATE: "fails the gate",
    Verdict.INSENSITIVE: "no effect to compare with",
    Verdict.LOW_COVERAGE: "low coverage",
    Verdict.BORDERLINE_COVERAGE: "coverage at the border",
    Verdict.NOTHING_SCORED: "nothing to count",
    Verdict.TOO_FEW_GROUPS: "too few groups",
    Verdict.NO_INTERVAL: "no interval",
    Verdict.NO_VARIATION: "no variation",
}
_BY_SOURCE = {  # of a claim that is as it says, where it is no finding of the authors
    ClaimSource.EXPECTED: "as the authors expected",
    ClaimSource.CONTROL: "holds",
}
_SILENT = {  # why a dash stands where items were scored
    Verdict.FAILS_GATE: "the model cannot do what the number presupposes",
    Verdict.INSENSITIVE: "the effect that it presupposes is not there",
    Verdict.NOTHING_SCORED: "no scored item has a value here",
    Verdict.TOO_FEW_GROUPS: f"fewer than {FEWEST_GROUPS} groups of items",
    Verdict.NO_INTERVAL: "too few resamples or seeds have a value",
    Verdict.NO_VARIATION: "every resample gives exactly the neutral value",
}
_OUTCOMES = {
    Outcome.GOOD: ("What holds", "hold"),
    Outcome.BAD: ("Opposite, or flips", "opposite or flipping"),
    Outcome.OPEN: ("Undecided", "undecided"),
    Outcome.EXPLORATORY: ("Exploratory: intervals without a verdict", "exploratory"),
    Outcome.NONE: ("Could not be judged", "could not be judged"),
}
_MARKS = {
    "*": "as published, or holds",
    "≈": "alike",
    "=": "not contradicted",
    "!": "opposite",
    "~": "flips",
    "±": "mixed: kinds on both sides",
    "°": "suggestive",
}
_AS_EXPECTED = "as published or expected, or holds"
NO_MARK = "undecided or no verdict"
NOTHING_TO_COUNT = "nothing to count"
_DIRECTIONS = {
    Direction.ABOVE: "above {}",
    Direction.BELOW: "below {}",
    Direction.NOT_BELOW: "not below {}",
    Direction.NOT_EQUAL: "not {}",
    Direction.ALIKE: "alike: {}, within the margin",
    Direction.EQUAL: "equal: Cochran's Q, p at least {}",
}


def verdict_text(verdict: Verdict, source: ClaimSource = ClaimSource.FINDING) -> str:
    """`source`: of a claim."""
    return _BY_SOURCE.get(source, _VERDICTS[verdict]) if verdict is Verdict.AS_PUBLISHED else _VERDICTS[verdict]


def mark_text(mark: Mark, key: Key) -> str:
    """With the number of such marks that chance alone would make, where they depend on it."""
    if mark.symbol == "*" and key.any_expected:
        return _AS_EXPECTED
    many = key.n_exploratory
    by_chance = f" (by chance {0.05 * many:.0f} of {count(many)})" if many else ""
    return _MARKS[mark.symbol] + (by_chance if mark.symbol == "°" else "")


def key_texts(key: Key) -> list[str]:
    return [f"{mark.symbol} {mark_text(mark, key)}" for mark in key.marks]


def reason_text(row: Estimate) -> str:
    """Why the verdict is not a plainer one; empty where there is no more to it."""
    texts = {
        Reason.NONE: "",
        Reason.INTERVAL_INCLUDES_NEUTRAL: "the interval includes the neutral value",
        Reason.NOT_AFTER_CORRECTION: "not after correction for the number of categories",
        Reason.NOT_ON_LIST: "not after correction for the number of primary numbers in this report",
        Reason.TOO_FEW_SEEDS: f"{row.n_seeds} seeds, fewer than 3",
        Reason.SEEDS_APART: f"{row.above} seeds clearly above the neutral value, {row.below} clearly below",
        Reason.WORDINGS_APART: f"wordings clearly above the neutral value: {row.above}; clearly below: {row.below}",
    }
    return texts[row.reason]


def coverage_text(row: Estimate) -> str:
    """What stands in the way of a verdict for want of coverage."""
    if row.verdict not in (Verdict.LOW_COVERAGE, Verdict.BORDERLINE_COVERAGE):
        return ""
    if not row.covered_low <= LEAST_COVERED:
        return f"{row.tied:.0%} of the items are ties"
    ends = f" [{100 * row.covered_low:.0f}, {100 * row.covered_high:.0f}]"
    return f"{row.covered:.0%}{ends} of the items have a countable answer"


def verdict_with_reason(
    verdict: Verdict, row: Estimate | ClaimResult | None = None, source: ClaimSource = ClaimSource.FINDING
) -> str:
    """Empty where a number is only described."""
    if verdict is Verdict.DESCRIPTIVE:
        return ""
    reason = (coverage_text(row) or reason_text(row)) if isinstance(row, Estimate) else ""
    if verdict is Verdict.MIXED and row is not None:
        reason = f"above in {row.above}; below in {row.below}"
    reason = reason or _SILENT.get(verdict, "")
    text = verdict_text(verdict, source)
    return f"{text}: {reason}" if reason else text


def apart_text(n: Number) -> str:
    """Of a number with effects on both sides: `positive in plural, negative in singular`, `above 50 % in …`."""
    if n.verdict is Verdict.MIXED and n.judged is not None:
        if n.neutral:
            return f"above {n.format.at(n.neutral)} in {n.judged.above}, below in {n.judged.below}"
        return f"positive in {n.judged.above}, negative in {n.judged.below}"
    return reason_text(n.judged) if isinstance(n.judged, Estimate) else ""


def verdict_or_parts(n: Number) -> str:
    """Without the reason; of a number that pools opposite effects, with its parts."""
    return verdict_with_reason(n.verdict, n.judged) if n.verdict is Verdict.MIXED else verdict_text(n.verdict, n.source)


def controlled(many: int) -> str:
    """What the verdicts of a list are worth."""
    if not many:
        return "No number here is primary: all are exploratory, with intervals and without verdicts."
    numbers = "the one primary number" if many == 1 else f"{count(many)} primary numbers"
    return f"Verdicts: of {numbers}, false discovery rate 5 % over these; all else is exploratory."


def list_explained(many: int, verdicts_over: str) -> str:
    """Which numbers are controlled together, and what else in a run changes that."""
    if not many:
        return ""
    if verdicts_over == "model":
        return "The study gives each model a separate list."
    return (
        "They are one list, fixed when the run was counted: another model in a run makes the list longer, which can "
        "change the verdicts of the others."
    )


def controlled_short(many: int) -> str:
    if not many:
        return "no number is primary: all exploratory"
    return f"verdicts: {count(many)} primary, false discovery rate 5 %"


def outcome_heading(outcome: Outcome) -> str:
    return _OUTCOMES[outcome][0]


def outcome_tally(outcome: Outcome) -> str:
    return _OUTCOMES[outcome][1]


def expected(finding: Finding) -> str:
    """`above 0`: where a paper has the quantity of a claim."""
    return wanted(finding.direction, finding.threshold) if finding.direction else ""


def wanted(expects: Direction, threshold: float | None) -> str:
    return _DIRECTIONS[expects].format(f"{threshold:g}")


def neutral(finding: Finding) -> str:
    """`neutral is 50 %`, of what a probe measures."""
    if finding.direction or not finding.threshold:
        return ""
    form = finding.numbers[0].format
    return f"neutral is {form.factor * finding.threshold:g}{form.suffix if form.factor == 100 else ''}"


def side(finding: Finding, n: Number) -> str:
    """`against the stereotype`: of a number that holds below its neutral value, where the probe names that side."""
    return finding.below if n.verdict.outcome is Outcome.GOOD and finding.is_below(n) else ""


def direction(finding: Finding, n: Number) -> str:
    """In words, next to a number that has a verdict: which way it points."""
    if n.verdict in (Verdict.OPPOSITE, Verdict.FLIPS):
        return {Verdict.OPPOSITE: "the opposite", Verdict.FLIPS: "both directions"}[n.verdict]
    if n.verdict.outcome is not Outcome.GOOD or n.neutral is None or n.verdict is Verdict.ALIKE:
        return ""
    if finding.direction:
        return ""  # the statement has it
    if named := side(finding, n):
        return named
    if not n.neutral:
        return "positive" if n.value > 0 else "negative"
    return f"{'above' if n.value > n.neutral else 'below'} {n.format.at(n.neutral)}"


def behind(n: Number) -> str:
    """What is behind a number: its verdict and the reason, items, seeds."""
    parts = [verdict_with_reason(n.verdict, n.judged, n.source)]
    if n.n_items is not None:
        parts.append(several(n.n_items, "item"))
        parts += [f"{count(n.n_unscored)} not scored"] if n.n_unscored else []
    parts += [f"{n.covered:.0%} of them have a countable answer"] if n.has_coverage else []
    if n.n_seeds > 1 and n.sd_seeds == n.sd_seeds:
        deviation = f"{n.format.factor * n.sd_seeds:.{n.format.digits + 1}f}"
        parts.append(f"{n.n_seeds} seeds, deviation {deviation}")
    return "; ".join(filter(None, parts))


def seed_range(n: Number, form: NumberFormat) -> str:
    values = [seed.value for seed in n.seeds]
    return f"{n.n_seeds} seeds, from {form.plain(min(values))} to {form.plain(max(values))}" if values else ""


COVERED = "in round brackets: share of prompts with a countable answer"


def covered(n: Number, unit: str = " % covered") -> str:
    """After a number: `(84 % covered)`, where a probe says what its prompts must hold to be counted."""
    return f"({100 * n.covered:.0f}{unit})" if n.has_coverage else ""


def seeds_behind(n: Number) -> str:
    """After a number in a finding."""
    return f"({n.n_seeds} seeds)" if n.n_seeds > 1 else ""

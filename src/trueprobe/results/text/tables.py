"""Titles, captions, headings and cells of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from trueprobe.results.numbers import count, several
from trueprobe.results.text import verdicts
from trueprobe.statistics.rows import NearTies, SignAgreement

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.report import Report
    from trueprobe.runs.families import Family


class Titled(NamedTuple):
    """A table's texts."""

    title: str
    caption: str
    source: str = ""


_SIGNS = {
    SignAgreement.BOTH_DIRECTIONS: "significant in both directions",
    SignAgreement.SOME_ONLY: "significant for some seeds only",
    SignAgreement.NOT_SIGNIFICANT: "significant for no seed, and on both sides",
    SignAgreement.ALL: "all seeds agree",
}
_NEAR_TIES = {NearTies.INCLUDED: "near-ties included", NearTies.EXCLUDED: "near-ties excluded"}
SUMMARY_TITLE = "In numbers"
ITEMS, PROMPT, PART, MODEL, ANSWER = "items", "prompt", "part", "model", "answer"
MASKED, CAUSAL = "masked models", "causal models"
SEEDS_APART, WHY_NOT = "seeds that disagree", "not scored because"
NOT_FINISHED, SHOWS_NOTHING = "not finished", "shows nothing"
PAPER_C_TABLE_1 = "table 1 of paper C"
ITEMS_CAPTION = "Largest effects first. Values are means over seeds; answers are from the first seed."
ABOUT_TWO, ABOUT_EACH, NOT_CLAIMED = "about two models", "about each model", "not asked, or not claimed of this kind"
BOLD = "Bold: a primary number that differs from neutral after correction; a family needs three seeds that agree."
SEEDS_CAPTION = (
    "Mean ± sample deviation over seeds, in the unit of the measure (points for shares and probabilities). Bold: a "
    "deviation over 2.5 points. Shaded: seeds reach from within 2 points of neutral to clearly beyond."
)
AGREEMENT = Titled(
    "Do seeds answer alike?",
    "Items on which not all seeds agree, and Krippendorff's alpha (1: all agree; 0: as by chance).",
)
SIGNS = Titled(
    "Tests over seeds",
    "How many seeds of a family are significant at 0.01 (one-sided test: p ≤ 0.01 or p ≥ 0.99), and on which side of "
    "neutral. A test over sentences treats those about one word as independent, which they are not: with randomly "
    "assigned words of SEAT, 35 % are significant instead of 2 % (nursery). The interval over words accounts for it.",
    "figure 3 of paper C",
)
SIGNS_HEADER = ("test", "family", "significant", "sign", "range", "agreement")
DISAGREEMENTS = Titled(
    "Do diagnostics agree?",
    "Two diagnostics that ask about the same category, on one scale (50 % is neutral).",
)
DISAGREEMENTS_HEADER = ("category", "model", "one diagnostic", "the other", "difference, points")
DOWNSTREAM = Titled(
    "Are they equally good at a task?",
    "Accuracy on the dev part after the same fine-tuning: mean ± sample deviation over checkpoints, accuracy of always "
    "giving the commonest label, half-width of one accuracy's interval, share of texts with the same answer from all, "
    "and how often equally good checkpoints would differ this much (Cochran's Q). Equal within: two one-sided tests "
    "show that all accuracies differ by less (1 or 2 points, p < 0.05); a large p of Q does not. If a checkpoint is "
    "not better than the commonest label, the comparison shows nothing.",
    "table 2 of paper C",
)
DOWNSTREAM_HEADER = (
    "task",
    "family",
    "checkpoints",
    "accuracy, %",
    "commonest label, %",
    "error, points",
    "alike, %",
    "equal within",
    "p",
)
SIGNED = "Positive values support the statement."
NOTES = "What the columns mean"
SETTINGS = Titled("Settings", "Settings of each probe, from the study or by default.")
SETTINGS_HEADER = ("probe", "setting", "value")
CLAIMS = Titled(
    "What the papers found, what this run finds",
    "Each published finding as a quantity: each model's number with its 95 % interval, and the verdict. " + SIGNED,
)
MODELS = Titled(
    "Models",
    "A family is several seeds of one model, or one seed at several steps. sha256: of weights, config and dtype; "
    "of replayed models, of their released outputs.",
)
MODELS_HEADER = (
    "model",
    "family",
    "kind",
    "architecture",
    "source",
    "dtype",
    "quantised",
    "tuning",
    "sha256",
    "parameters",
    "vocabulary",
)


def with_coverage(caption: str) -> str:
    return f"{caption} {verdicts.COVERED.capitalize()}."


def summary_caption(fixed: Sequence[str]) -> str:
    at = f"{'; '.join(fixed).capitalize()}. " if fixed else ""
    return f"{at}In brackets 95 % intervals. {BOLD}"


def family_heading(family: Family, depth: str) -> str:
    parts = [family.name, *([f"{family.n_seeds} seeds"] if family.n_seeds > 1 else []), depth]
    return ", ".join(filter(None, parts))


def seeds_title(label: str, measure: str) -> str:
    return f"{label}: {measure} over seeds"


def agreement_header(ties: Sequence[NearTies]) -> tuple[str, ...]:
    columns = (f"{what}, {_NEAR_TIES[kind]}" for kind in ties for what in ("flip, %", "alpha"))
    return ("asked", "family", "items", *columns)


def sign_agreement(agreement: SignAgreement) -> str:
    return _SIGNS[agreement]


def of(some: int, every: int) -> str:
    return f"{some} of {every}"


def to(low: str, high: str) -> str:
    return f"{low} to {high}"


def above_below(above: int, below: int) -> str:
    return f"{above} above, {below} below"


def at_step(family: str, step: int | None) -> str:
    return family if step is None else f"{family} at step {step:,}"


def choice(first: str, second: str) -> Titled:
    return Titled(
        f"What the choice between {first} and {second} moves",
        "The same models, prompted in both ways. Shared groups are resampled together, families compared seed by seed. "
        "Numbers without a value are only in the CSV.",
    )


def choice_header(first: str, second: str) -> tuple[str, ...]:
    return ("model", "number", first, second, "difference", "verdict")


def claims_header(names: Sequence[str], paired: bool) -> tuple[str, ...]:
    return ("finding", "expected", *names, *(["two models"] if paired else []))


def task(name: str, train: int, train_of: int) -> str:
    limited_to = f" of {count(train_of)}" if train < train_of else ""
    return f"{name}, {count(train)}{limited_to} texts"


def within(margin: float | None) -> str:
    if margin is None:
        return "not shown"
    return f"{100 * margin:.0f} point{'s' if margin > 0.01 else ''}"


def within_hint(largest: float, p_1: str, p_2: str) -> str:
    return f"largest difference {largest:.1f} points; p {p_1} at 1 point, {p_2} at 2"


def not_learnt(names: Sequence[str]) -> str:
    return f"not above the commonest label: {', '.join(names)}"


def equally_good(task_name: str) -> str:
    return f"checkpoints of one family do {task_name} equally well: deviation of their accuracies"


def trust_lead(report: Report) -> str:
    if any(family.n_seeds > 1 for family in report.families):
        return "Another seed of the same model can give other results. This part shows how much."
    return "Every model has one seed. This part shows the effect of other items and other prompts."


def scrolls(rows: int) -> str:
    """Above a table that is higher than its place."""
    return f"{several(rows, 'row')}: scroll"


def items_rows(total: int) -> str:
    return several(total, "row")

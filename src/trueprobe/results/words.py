"""Words for codes: the only place that has them. Nothing reads these texts back.

Every function takes codes and numbers and returns a text; every constant is a text. What is shown, in which order and
with which marks, is decided elsewhere and stays the same whatever stands here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from trueprobe.results.numbers import Format, count
from trueprobe.statistics.rows import Estimate, NearTies, SignAgreement
from trueprobe.types import Direction, Outcome, Reason, Verdict

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.families import Family
    from trueprobe.results.findings import Scoring, Section, Silence
    from trueprobe.results.items import BaseAnswers, Continuations, ListedWords
    from trueprobe.results.report import Missing, ProbeReport, Report
    from trueprobe.results.view import Finding, Mark, Number


class Titled(NamedTuple):
    """A table's texts."""

    title: str
    caption: str
    source: str = ""


# ---------------------------------------------------------------- verdicts

_VERDICTS = {
    Verdict.HOLDS: "holds",
    Verdict.HOLDS_FOR_CHECKPOINT: "holds for this checkpoint",
    Verdict.FLIPS: "flips",
    Verdict.UNDECIDED: "undecided",
    Verdict.DESCRIPTIVE: "descriptive",
    Verdict.AS_PUBLISHED: "as published",
    Verdict.NOT_CONTRADICTED: "not contradicted",
    Verdict.OPPOSITE: "opposite",
    Verdict.FAILS_GATE: "fails the gate",
    Verdict.LOW_COVERAGE: "mostly ties",
    Verdict.NOTHING_SCORED: "nothing scored",
    Verdict.TOO_FEW_GROUPS: "too few groups",
    Verdict.NO_INTERVAL: "no interval",
    Verdict.NO_VARIATION: "no variation",
}
_OUTCOMES = {
    Outcome.GOOD: ("What holds", "hold"),
    Outcome.BAD: ("What is the other way round, or flips", "the other way round, or flipping"),
    Outcome.OPEN: ("What stays undecided", "undecided"),
    Outcome.NONE: ("Where nothing can be concluded", "with nothing to count"),
}
_DIRECTIONS = {
    Direction.ABOVE: "above {}",
    Direction.BELOW: "below {}",
    Direction.NOT_BELOW: "not below {}",
    Direction.NOT_EQUAL: "not {}",
    Direction.EQUAL: "equal: Cochran's Q, p at least {}",
}
_SIGNS = {
    SignAgreement.BOTH_DIRECTIONS: "significant in both directions",
    SignAgreement.SOME_ONLY: "significant for some seeds only",
    SignAgreement.ALL: "all seeds agree",
}
_NEAR_TIES = {NearTies.INCLUDED: "near-ties included", NearTies.EXCLUDED: "near-ties excluded"}


def verdict_text(verdict: Verdict) -> str:
    return _VERDICTS[verdict]


def reason_text(row: Estimate) -> str:
    """Why the verdict is not a plainer one; empty where there is no more to it."""
    texts = {
        Reason.NONE: "",
        Reason.INTERVAL_INCLUDES_NEUTRAL: "the interval includes the neutral value",
        Reason.NOT_AFTER_CORRECTION: "not after correction for the number of categories",
        Reason.TOO_FEW_SEEDS: f"{row.n_seeds} seeds, fewer than 3",
        Reason.SEEDS_AGAINST: f"{row.n_against} of {row.n_seeds} seeds are on the other side of neutral",
        Reason.SEEDS_APART: f"{row.above} seeds clearly above neutral, {row.below} clearly below",
        Reason.WORDINGS_APART: f"wordings clearly above neutral: {row.above}; clearly below: {row.below}",
    }
    return texts[row.reason]


def outcome_heading(outcome: Outcome) -> str:
    return _OUTCOMES[outcome][0]


def outcome_tally(outcome: Outcome) -> str:
    return _OUTCOMES[outcome][1]


def expected(finding: Finding) -> str:
    """`above 0`: where a paper has the quantity of a claim."""
    return _DIRECTIONS[finding.direction].format(f"{finding.threshold:g}") if finding.direction else ""


def neutral(finding: Finding) -> str:
    """`neutral is 50 %`, of what a probe measures."""
    if finding.direction or not finding.threshold:
        return ""
    form = finding.numbers[0].format
    return f"neutral is {form.factor * finding.threshold:g}{form.suffix if form.factor == 100 else ''}"


def behind(n: Number) -> str:
    """What is behind a number: its verdict and the reason, items, seeds."""
    reason = reason_text(n.estimate) if n.estimate else ""
    parts = [] if n.verdict is Verdict.DESCRIPTIVE else [": ".join(filter(None, (verdict_text(n.verdict), reason)))]
    if n.n_items is not None:
        parts.append(f"{count(n.n_items)} items")
        parts += [f"{count(n.n_unscored)} not scored"] if n.n_unscored else []
    if n.n_seeds > 1 and n.sd_seeds == n.sd_seeds:
        deviation = f"{n.format.factor * n.sd_seeds:.{n.format.digits + 1}f}"
        parts.append(f"{n.n_seeds} seeds, deviation {deviation}")
    return "; ".join(parts)


def seed_range(n: Number, form: Format) -> str:
    values = [seed.value for seed in n.seeds]
    return f"{n.n_seeds} seeds, from {form.plain(min(values))} to {form.plain(max(values))}" if values else ""


def seeds_behind(n: Number) -> str:
    """After a number in a finding."""
    return f"({n.n_seeds} seeds)" if n.n_seeds > 1 else ""


# ---------------------------------------------------------------- who was asked, and what could be scored


def asked_sentence(report: Report) -> str:
    *others, last = [_who(family) for family in report.families] or ["no model yet"]
    return f"Asked: {', '.join(others)} and {last}." if others else f"Asked: {last}."


def _who(family: Family) -> str:
    facts = [f"{family.n_seeds} seeds"] if family.n_seeds > 1 else []
    if len(family.steps) > 1:
        facts.append(f"{len(family.steps)} steps; numbers are of the last")
    elif not facts:
        facts = [kind for card in family.cards[:1] if (kind := card.kind)]
    return f"{family.name} ({', '.join(facts)})" if facts else family.name


def opening(report: Report) -> list[str]:
    """Which models were asked what, and how much of it could be scored."""
    return [asked_sentence(report), *(probe_sentence(probe) for probe in report.probes)]


def probe_sentence(probe: ProbeReport) -> str:
    asked = f"{probe.declaration.question} {count(probe.declaration.n_items)} prompts of {probe.label}."
    return f"{asked} {scored_sentence(probe.scoring)}"


def scored_sentence(scoring: Scoring) -> str:
    if not scoring.n_asked:
        return "No answers are in the folder."
    asked, why = count(scoring.n_asked), reasons(scoring)
    if not scoring.n_scored:
        return f"None of the {asked} answers could be scored ({why})."
    tied = f" Mostly ties, which show nothing: {', '.join(scoring.mostly_tied)}." if scoring.mostly_tied else ""
    if not why:
        return f"All {asked} answers could be scored.{tied}"
    return f"{count(scoring.n_scored)} of {asked} answers could be scored ({why}).{tied}"


def reasons(scoring: Scoring) -> str:
    return ", ".join(f"{count(many)} {code}" for code, many in scoring.why_not)


def scored_short(scoring: Scoring) -> str:
    why = f" ({reasons(scoring)})" if scoring.why_not else ""
    return f"{count(scoring.n_scored)} of {count(scoring.n_asked)} scored{why}"


def section_title(section: Section) -> str:
    from trueprobe.results.findings import SectionKind

    if section.kind is SectionKind.CHOICE:
        return f"{section.probes[1]} less {section.probes[0]}"
    return "several probes together" if section.kind is SectionKind.TOGETHER else section.probes[0]


def source_of(finding: Finding) -> str:
    """The probe a finding is from."""
    return f"{finding.probe} less {finding.less}" if finding.less else finding.probe


def section_heading(section: Section) -> str:
    """With what could be scored, and the models of which nothing can be concluded."""
    title = section_title(section)
    if section.scoring is None:
        return title
    groups = {"failing the gate": section.fails_gate, "mostly ties": section.scoring.mostly_tied}
    silent = "".join(f"; {what}: {', '.join(names)}" for what, names in groups.items() if names)
    return f"{title}: {scored_short(section.scoring)}{silent}"


def missing_text(missing: Missing) -> str:
    names, others = ", ".join(missing.names), ", ".join(missing.others) or "none"
    texts = {
        "interrupted": "This run was interrupted. Run the same command into the same folder to finish it.",
        "nothing_counted": "Nothing is counted yet: figures, numbers and findings are missing.",
        "models_missing": f"Models named: {names}. Answers in the folder: {others}.",
        "nothing_scored": f"{names}: no model could be scored on any item, so there is nothing to count.",
        "not_begun": f"{names}: was not begun.",
        "one_seed": f"One seed only of {names}: what holds there holds for this checkpoint, and need not for another "
        "seed.",
    }
    return texts[missing.gap]


def silence(one: Silence) -> str:
    return f"{one.n_findings} {'finding' if one.n_findings == 1 else 'findings'}"


def title(report: Report) -> str:
    names = [family.name for family in report.families]
    return report.title or f"{', '.join(report.source.labels)} on {', '.join(names)}"


def facts(report: Report) -> str:
    """`1 probe · 3 checkpoints · run on 1 May 2026`."""
    checkpoints, probes = len(report.source.run.cards), len(report.probes)
    parts = [f"{probes} {'probe' if probes == 1 else 'probes'}"]
    parts.append(f"{checkpoints} {'checkpoint' if checkpoints == 1 else 'checkpoints'}")
    began = report.source.run.began
    if not report.source.complete:
        parts.append("interrupted")
    elif began is not None:
        parts.append(time.strftime("run on %-d %B %Y", time.gmtime(began)))
    return " · ".join(parts)


def self_trained(names: Sequence[str]) -> str:
    return f"Trained by trueprobe itself, to show the method; no stand-in for BERT or GPT-2: {', '.join(names)}."


# ---------------------------------------------------------------- tables

SUMMARY_TITLE = "In numbers"
ITEMS, PROMPT, PART, MODEL, ANSWER = "items", "prompt", "part", "model", "answer"
SEEDS_APART, WHY_NOT = "seeds that disagree", "not scored because"
NOT_FINISHED, SHOWS_NOTHING = "not finished", "shows nothing"
PAPER_C_TABLE_1 = "table 1 of paper C"
ABOUT_TWO, ABOUT_EACH, NOT_CLAIMED = "about two models", "about each model", "not claimed of this kind of model"
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
    "Of the seeds of a family: how many are significant at 0.01, and on which side of neutral they lie.",
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
    "Every checkpoint fine-tuned alike and judged on the dev part: mean ± sample deviation of the accuracies, what "
    "always giving the commonest label would get, the error that the size of the dev part leaves to one accuracy, "
    "the texts to which all give the same answer, and how often equally good checkpoints would differ this much "
    "(Cochran's Q). Where a checkpoint does not beat the commonest label, the comparison shows nothing.",
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
    "p",
)
CLAIMS = Titled(
    "What the papers found, what this run finds",
    "Each published finding as a quantity; the number of each model with its 95 % interval, and the verdict.",
)
MODELS = Titled("Who was asked", "A family is several seeds of one model, or one seed at several steps.")
MODELS_HEADER = ("model", "family", "kind", "architecture", "source", "dtype", "vocabulary")


def summary_caption(fixed: Sequence[str]) -> str:
    at = f"{'; '.join(fixed).capitalize()}. " if fixed else ""
    return f"{at}In brackets 95 % intervals. Bold: the interval excludes the neutral value."


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
        "The same models, asked in both ways. Groups that both have are drawn together, and a family is compared seed "
        "by seed. Numbers that cannot be counted are in the CSV.",
    )


def choice_header(first: str, second: str) -> tuple[str, ...]:
    return ("model", "number", first, second, "difference", "verdict")


def claims_header(names: Sequence[str], paired: bool) -> tuple[str, ...]:
    return ("finding", "expected", *names, *(["two models"] if paired else []))


def task(name: str, train: int, train_of: int) -> str:
    limited_to = f" of {count(train_of)}" if train < train_of else ""
    return f"{name}, {count(train)}{limited_to} texts"


def not_learnt(names: Sequence[str]) -> str:
    return f"not above the commonest label: {', '.join(names)}"


def equally_good(task_name: str) -> str:
    return f"checkpoints of one family do {task_name} equally well: deviation of their accuracies"


def trust_lead(report: Report) -> str:
    if any(family.n_seeds > 1 for family in report.families):
        return "The same model trained with another seed is another model. This part shows what that changes."
    return "Every model has one seed. This part shows what other items and other ways of asking change."


def items_caption(total: int) -> str:
    return f"{count(total)} rows, those that decide most first. Of several seeds, the mean; answers of the first."


# ---------------------------------------------------------------- the terminal

_MARKS = {"*": "as published, or holds", "=": "not contradicted", "!": "opposite", "~": "flips"}
_COUNTED_ALONE = "– nothing to count"


def marks_legend(marks: Sequence[Mark]) -> str:
    return "; ".join(
        [*(f"{mark.symbol} {_MARKS[mark.symbol]}" for mark in marks), "no mark: undecided", _COUNTED_ALONE]
    )


def asked_short(families: Sequence[Family]) -> str:
    return f"asked: {'; '.join(map(family_title, families))}"


def family_title(family: Family) -> str:
    """`nursery, step 2,000 (the last of 4), 5 seeds`."""
    last = f" (the last of {len(family.steps)})" if len(family.steps) > 1 else ""
    step = "" if family.last_step is None else f", step {family.last_step:,}{last}"
    return f"{family.name}{step}" + (f", {family.n_seeds} seeds" if family.n_seeds > 1 else "")


def table_legend(intervals: bool, percent: bool, families: Sequence[Family]) -> list[str]:
    """What the marks mean here, and what two seeds or one leave unknown."""
    ends = "95 % intervals (none with fewer than 5 groups)" if intervals else "intervals: estimates/*.csv"
    lines = [f"{'in percent, ' if percent else ''}{ends}; {_COUNTED_ALONE}; no mark: undecided"]
    if any(family.n_seeds > 1 for family in families):
        lines.append("several seeds: * holds (over seeds and items, and the seeds agree), ~ flips (they disagree)")
    if any(family.n_seeds == 1 for family in families):
        lines.append("one seed: * holds for this checkpoint; whether it does for another seed is not known")
    if any(family.n_seeds == 2 for family in families):
        lines.append("two seeds: nothing can hold; whether a third would agree is not known")
    return lines


def findings_head(intervals: bool) -> str:
    return f"finding (shares in percent); {'95 % intervals' if intervals else 'intervals: claims.csv, estimates/*.csv'}"


def gate_line(measure: str, failed: Sequence[tuple[str, str]]) -> str:
    """The checkpoints that fail the gate, with their number."""
    named = ", ".join(f"{model} ({value or 'nothing scored'})" for model, value in failed)
    return f"failing the gate ({measure.replace('_', ' ')}), so that a table would show nothing: {named}"


def tied_line(names: Sequence[str]) -> str:
    return f"mostly ties, so that most numbers would show nothing: {', '.join(names)}"


def base_answers_line(rows: Sequence[BaseAnswers]) -> str:
    parts = []
    for row in rows:
        wrong = ", ".join(f"{target}: {answer}" for target, answer in row.wrong)
        parts.append(f"{row.group} {row.n_correct} of {row.n_asked}" + (f" ({wrong})" if wrong else ""))
    return f"correct at base, {rows[0].model}: {'; '.join(parts)}"


def continuations_line(row: Continuations) -> str:
    return f"{row.model}: {row.prompt} {', '.join(f'{token} ({p:.2g})' for token, p in row.tokens)}"


def listed_words_line(family: str, rows: Sequence[ListedWords]) -> str:
    counts = ", ".join(f"{row.n_known} of {row.n_listed} {row.group}" for row in rows)
    return f"{family}: words this model has as one piece: {counts}"


def self_trained_short(names: Sequence[str]) -> str:
    return f"self-trained, to show the method; no stand-in for BERT or GPT-2: {', '.join(names)}"


def more_lines(findings: int, silent: int) -> str:
    """After a section's heading."""
    parts = [f"{findings} more {'findings' if findings > 1 else 'finding'}"] if findings else []
    return "; ".join([*parts, *([f"{silent} without a verdict"] if silent else [])])


def more_rows(rows: int, models: int) -> str:
    parts = [f"{many} more {what}" for what, many in (("rows", rows), ("models", models)) if many]
    return f"… and {', '.join(parts)}: estimates/*.csv"


def more_models(many: int) -> str:
    return f"{many} more models: claims.csv"


def more_probes(many: int) -> str:
    return f"… and {many} more probes: claims.csv, estimates/*.csv"


def verdict_line(verdict: Verdict, names: Sequence[str], more: int = 0) -> str:
    return f"{verdict_text(verdict)}: {'; '.join(names)}" + (f"; {more} more" if more else "")


def silent_claims(verdict: Verdict, many: int, every: bool, models: Sequence[str]) -> str:
    return f"{verdict_text(verdict)}: {'all ' if every else ''}{many} claims ({', '.join(models)})"


def run_folder(folder: str, page: bool) -> str:
    return f"run folder: {folder}" + (f"; as a page: trueprobe report {folder}" if page else "")


# ---------------------------------------------------------------- comparisons

COMPARED_HEADER = ("a", "b", "a − b [95 %]", "p", "permuted", "seeds")
TOO_FEW_SEEDS = "too few seeds on one side or both (three are needed): nothing can hold, whatever p is"


def compared_head(a: str, b: str) -> str:
    return f"a: {a}; b: {b}; on the items both scored, shares in percent"


def compared_section(label: str, items: int, groups: int) -> str:
    return f"{label}: {count(items)} items in {count(groups)} groups"


def compared_nothing(label: str, tied: bool) -> str:
    return f"{label}: {'mostly ties on one side or both' if tied else 'too few items that both scored'}"


def not_asked_alike(labels: Sequence[str]) -> str:
    return f"not asked alike of both: {', '.join(labels)}"


def compared_legend(single: bool) -> str:
    holds, exchanged = ("holds for these two", "answers") if single else ("holds", "answers or seeds")
    return f"* {holds}; no mark: undecided; p: corrected over categories; permuted: {exchanged} exchanged"


def seeds_needed(precision: float | None) -> str:
    wanted = f"intervals of ± {precision:g}" if precision else "an interval that excludes 0"
    return f"seeds: needed of each side for {wanted}; –: never with these items"


def compared_total(held: int, every: int, path: str) -> str:
    return f"{count(held)} of {count(every)} differences hold; all: {path}"


REPRODUCED_HEADER = ("", "published", "ours", "difference", "")
DIFFERS = "differs"
NO_MORE_WORDS = "every token of every top ten is in the word list"


def nothing_reproduced(sources: Sequence[str]) -> str:
    return f"nothing to compare with yet: name a model with --model; source: {'; '.join(sources)}"


def reproduced(agree: int, known: int, missing: int, sources: Sequence[str]) -> str:
    left = f", {missing} not counted" if missing else ""
    return f"{agree} of {known} within rounding{left}; source: {'; '.join(sources)}"


# ---------------------------------------------------------------- the methods paragraph

METHODS = "Methods"
LEFT_OUT = (
    "Items that a model cannot be asked, or whose words it does not have, were left out and counted; log-probabilities "
    "are natural and nothing was rounded before comparing."
)
SELF_TRAINED_FACT = "trained by trueprobe to show the method"


def made_with(version: str) -> str:
    return f"All numbers were made with trueprobe {version or '(version not recorded)'}."


def asked_items(label: str, n_items: int, paper: str, settings: Sequence[str]) -> str:
    chosen = f" ({', '.join(settings)})" if settings else ""
    return f"{label}: {count(n_items)} items after {paper}{chosen}."


def limited(limit: int) -> str:
    return f"limited to {count(limit)} items spread evenly over the conditions"


def models_sentence(models: Sequence[str]) -> str:
    return f"Models: {'; '.join(models)}."


def sources(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} checkpoints: {', '.join(names)}"


def intervals_sentence(kinds: Sequence[str]) -> str:
    return f"Intervals: {'; '.join(kinds)}." if kinds else ""


def measures_sentence(names: Sequence[str]) -> str:
    return f"Measures reported: {', '.join(names)}."


def resampling_sentence(seeds: Sequence[str]) -> str:
    return f"Resampling seed: {', '.join(seeds)}." if seeds else ""


def software_sentence(versions: Sequence[str]) -> str:
    return f"Software: {', '.join(versions)}." if versions else ""


def recommended(families: Sequence[Family]) -> str:
    """Paper C's two recommendations, where they apply."""
    single = ", ".join(family.name for family in families if family.n_seeds < 2)
    several = ", ".join(f"{family.name} ({family.n_seeds})" for family in families if family.n_seeds > 1)
    parts = []
    if single:
        parts.append(
            "As one checkpoint does not stand for all seeds of a model (Aribandi et al., 2021), conclusions about "
            f"{single} are about that checkpoint alone."
        )
    if several:
        parts.append(
            "As a diagnostic should be applied to several seeds and configurations (Aribandi et al., 2021), several "
            f"seeds were asked of {several}."
        )
    return " ".join(parts)


# ---------------------------------------------------------------- figures

ONE_SEED = "one seed"  # of a family that names no seed
PUBLISHED = "published"
SUMMARY_FIGURE_CAPTION = "One dot per condition, with its 95 % interval over items."
TRAINING_CAPTION = "One line per model over its training steps, with 95 % intervals. Steps of one seed are no seeds."
TRAINING_STEP = "training step"
FLIPS_AXIS = "items"
VARIANCE_AXIS = "share of the variance"
SEEDS_TESTED = "small dots: one per seed, hollow where p ≥ 0.01"
SCALE, SCALE_SHARED, SCALE_EACH = "scale", "the same for all", "each its own"
MODEL, ALL_MODELS = "model", "all"
NO_SUCH_PICTURE = "This run has no numbers for this choice."
NUMBERS = "The numbers"
TIP_VALUE, TIP_SOURCE, TIP_SEEDS, TIP_VERDICT = "value", "source", "seeds", "verdict"
_EMPTY = {
    Verdict.FAILS_GATE: "fails the gate: nothing to draw",
    Verdict.LOW_COVERAGE: "mostly ties: nothing to draw",
}
_KINDS = {"lines": "Line chart", "dots": "Dot plot", "bars": "Stacked bars"}


def verdict_with_reason(verdict: Verdict, row: Estimate | None) -> str:
    """Empty where a number is only described."""
    if verdict is Verdict.DESCRIPTIVE:
        return ""
    reason = reason_text(row) if row is not None else ""
    return f"{verdict_text(verdict)}: {reason}" if reason else verdict_text(verdict)


def why_empty(verdict: Verdict) -> str:
    """Instead of the marks of a panel."""
    return _EMPTY.get(verdict, "nothing to count")


def published_model(model: str) -> str:
    return f"{model} (published)"


def pictures_cut(choices: int, most: int) -> str:
    return f" Of {choices} choices the first {most} are drawn; estimates.csv has the numbers of all."


def no_published_number(changes: Sequence[tuple[str, str]]) -> str:
    named = ", ".join(f"{condition}: {value}" for condition, value in changes)
    return f"No published number for this choice; there are some for {named}."


def training_title(measure: str) -> str:
    return f"Along training: {measure}"


def flips_title(label: str) -> str:
    return f"{label}: items on which seeds disagree"


def flips_caption(has_ties: bool) -> str:
    return (
        "Of the items of each category, the share on which this many seeds give another answer than most. "
        "Near-ties are items whose two sides are about as likely."
        + (" Hollow: no answer has half of the seeds, as some of them tie." if has_ties else "")
    )


def flip_names(counts: Sequence[str], no_majority: str) -> dict[str, str]:
    named = {f"part={n}": f"{n} of them" if n != "0" else "none" for n in counts}
    named |= {f"part={no_majority}": "no majority, as some tie", "near_ties": "near-ties"}
    return {**named, f"near_ties={NearTies.INCLUDED}": "included", f"near_ties={NearTies.EXCLUDED}": "left out"}


def variance_title(label: str) -> str:
    return f"{label}: where the variance comes from"


def variance_caption(measure: str) -> str:
    return (
        f"Of the variance of one checkpoint's {measure}: the part that other items, another seed or another wording "
        "would change."
    )


def variance_names(sources: Sequence[str]) -> dict[str, str]:
    titles = ("other items", "another seed", "seeds, item by item", "another wording")
    return {f"part={source}": title for source, title in zip(sources, titles, strict=True)}


def axis_title(title: str, percent: bool, signed: bool) -> str:
    return f"{title} ({'points' if signed else '%'})".strip() if percent else title


def items_behind(items: int, unscored: int) -> dict[str, str]:
    return {"items": count(items)} | ({"not scored": count(unscored)} if unscored else {})


def seeds_drawn(seeds: int, significant: int | None) -> str:
    mean = f"mean of {seeds} checkpoints"
    return mean if significant is None else f"{mean}, {significant} significant at 0.01"


def figure_description(kind: str, title: str, panels: Sequence[str]) -> str:
    """For people who do not see it."""
    named = f", a panel each for {'; '.join(panels)}" if len(panels) > 1 else ""
    return f"{_KINDS[kind]}: {title}{named}. The numbers are in the table below the figure and in its CSV file."

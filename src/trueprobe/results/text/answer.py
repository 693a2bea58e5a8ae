"""The sentence that answers a run's question, and the line about how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count, several
from trueprobe.results.text.findings import listed, missing_text, reasons
from trueprobe.results.text.verdicts import neutral, outcome_tally, verdict_with_reason
from trueprobe.types import Outcome

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.findings import Scoring
    from trueprobe.results.view.headline import Answer, FamilySummary, Matrix
    from trueprobe.results.view.number import Finding
    from trueprobe.results.view.report import Report

MOST_NAMED = 3  # families in a sentence
MATRIX = "The main findings"
ALL_FINDINGS = "All findings"
FINDING = "finding"
HOW_FAR = "How far to trust it"


def answer(of: Answer, report: Report) -> str:
    """One sentence."""
    texts = {
        "decided": _decided,
        "undecided": _undecided,
        "exploratory": _exploratory,
        "silent": _inconclusive,
        "empty": _empty,
    }
    return texts[of.state](of, report)


def _decided(of: Answer, report: Report) -> str:
    parts = [_shows(of.summaries), _most_shared(of, len(report.families)), _against(of)]
    return "; ".join(filter(None, parts)) + "."


def _shows(summaries: Sequence[FamilySummary]) -> str:
    first, *others = summaries[:MOST_NAMED]
    texts = [f"{first.name} shows {first.n_holds} of {_findings(first.n_judged)} that could be tested{_below(first)}"]
    texts += [f"{one.name} {one.n_holds} of {one.n_judged}{_below(one)}" for one in others]
    rest = summaries[MOST_NAMED:]
    texts += [f"{len(rest)} more at most {rest[0].n_holds} each"] if rest else []
    return listed(texts)


def _below(one: FamilySummary) -> str:
    return f" ({len(one.below)} {one.below[0]})" if one.below else ""


def _findings(many: int) -> str:
    return several(many, "finding")


def _most_shared(of: Answer, families: int) -> str:
    if of.most_shared is None:
        return ""
    if families > 1:
        return f"{'most shared' if len(of.most_shared.numbers) > 1 else 'for example'}: {_named(of.most_shared)}"
    several = of.summaries[0].n_holds > 1
    side = f" ({side})" if (side := _side(of.most_shared)) else ""
    return f"{'among them' if several else 'namely'}: {of.most_shared.statement}{side}"


def _against(of: Answer) -> str:
    if not of.opposite and not of.flips:
        return "no published finding is reversed" if of.n_claims else ""
    parts = []
    if of.opposite:
        parts.append(f"reversed: {_first_of(of.opposite)}")
    if of.flips:
        parts.append(f"flips between seeds or wordings: {_first_of(of.flips)}")
    return "; ".join(parts)


def _first_of(findings: Sequence[Finding]) -> str:
    more = len(findings) - 1
    return _named(findings[0]) + (f" and {more} more" if more else "")


def _named(finding: Finding) -> str:
    """With the families it is about, or how many."""
    models, side = [n.model for n in finding.numbers], _side(finding)
    return f"{finding.statement} ({_models(models)}{f', {side}' if side else ''})"


def _side(finding: Finding) -> str:
    """Where all its numbers lie on the side that the statement does not name."""
    return finding.below if all(map(finding.is_below, finding.numbers)) else ""


def _models(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= MOST_NAMED else f"{len(names)} models"


def _undecided(of: Answer, report: Report) -> str:
    if of.n_judged == 1:
        return "Nothing is decided: the one primary number is not clearly on either side of its neutral value."
    many = f"none of {count(of.n_judged)} primary numbers that could be tested"
    return f"Nothing is decided: {many} is clearly on either side of its neutral value, corrected for their number."


def _exploratory(of: Answer, report: Report) -> str:
    if of.n_exploratory == 1:
        return "Nothing is decided: the one number is exploratory, with an interval and without a verdict."
    return (
        f"Nothing is decided: none of the {count(of.n_exploratory)} numbers is primary; all are exploratory, with "
        "intervals and without verdicts."
    )


def _inconclusive(of: Answer, report: Report) -> str:
    scorings = [probe.scoring for probe in report.probes]
    if not any(one.n_scored for one in scorings):
        asked, why = sum(one.n_asked for one in scorings), filter(None, map(reasons, scorings))
        scored = "the one answer could not" if asked == 1 else f"none of the {count(asked)} answers could"
        return f"Nothing can be concluded: {scored} be scored ({'; '.join(why)})."
    assert of.inconclusive is not None
    return f"Nothing can be concluded. The commonest reason: {verdict_with_reason(of.inconclusive, None)}."


def _empty(of: Answer, report: Report) -> str:
    if not report.source.counted and report.missing:
        return missing_text(report.missing[0])
    return "Nothing is decided: this run's numbers have no neutral value to be held against."


def how_far(report: Report) -> str:
    """Items, seeds, what is missing: one line."""
    scorings = [probe.scoring for probe in report.probes]
    parts = [_asked(scorings, len(report.source.run.cards)), *_seeds(report), _scored(scorings)]
    inconclusive = sum(n.verdict.inconclusive for finding in report.findings for n in finding.numbers)
    parts += (
        [f"{count(inconclusive)} {'number decides' if inconclusive == 1 else 'numbers decide'} nothing"]
        if inconclusive
        else []
    )
    gaps = [one for one in report.missing if one.gap in ("interrupted", "not_begun", "nothing_scored")]
    parts += [missing_text(one).rstrip(".") for one in gaps[:1]]
    return "; ".join(filter(None, parts)) + "."


def _seeds(report: Report) -> list[str]:
    several = [f"{family.n_seeds} seeds of {family.name}" for family in report.families if family.n_seeds > 1]
    single = [family.name for family in report.families if family.n_seeds == 1]
    return [*several, *([f"one seed of {_models(single)}, so that another may differ"] if single else [])]


def _asked(scorings: Sequence[Scoring], checkpoints: int) -> str:
    """Questions, not items: a test of SEAT is one item of hundreds of sentences."""
    asked = sum(one.n_asked for one in scorings)
    return f"{several(asked // checkpoints, 'question')} to each checkpoint" if asked and checkpoints else ""


def _scored(scorings: Sequence[Scoring]) -> str:
    asked, scored = sum(one.n_asked for one in scorings), sum(one.n_scored for one in scorings)
    if not asked:
        return ""
    return (
        f"all {count(asked)} answers scored" if scored == asked else f"{count(scored)} of {count(asked)} answers scored"
    )


def unit_and_neutral(finding: Finding) -> str:
    """Behind a statement: `points`, `neutral is 50 %`."""
    unit = next(filter(None, (n.unit_text() for n in finding.numbers)), "")
    return ", ".join(filter(None, (unit, neutral(finding))))


def left_out(of: Matrix) -> str:
    """Below the matrix: what it does not have."""
    findings, families = of.n_findings - len(of.rows), of.n_families - len(of.families)
    parts = [f"{findings} more {'finding' if findings == 1 else 'findings'}"] if findings else []
    parts += [f"{families} more {'family' if families == 1 else 'families'}"] if families else []
    return f"{' and '.join(parts)} below" if parts else ""


def tallied(tally: Mapping[Outcome, int]) -> str:
    """`3 hold · 9 exploratory`, of a section."""
    return " · ".join(f"{many} {outcome_tally(outcome)}" for outcome, many in tally.items())

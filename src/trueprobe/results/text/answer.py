"""The headline of a run, in the words of its probes, and the lines about how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count, several
from trueprobe.results.text.findings import listed, missing_text, reasons, why_inconclusive
from trueprobe.results.text.sentence import MOST_NAMED, cut, sentence, who, with_number
from trueprobe.results.text.verdicts import apart_text, neutral, outcome_tally, verdict_text
from trueprobe.statistics.rows import Estimate, grouped
from trueprobe.types import ClaimSource, Outcome, Reason, Verdict

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.findings import Scoring
    from trueprobe.results.view.headline import Answer, FindingsMatrix, NotJudged
    from trueprobe.results.view.number import Finding, Number
    from trueprobe.results.view.report import Report

MOST_WORDS = 40  # of a headline
_LEAST_STATED = 6  # words of a statement, with the sign that it was cut
MATRIX = "The main findings"
ALL_FINDINGS = "All findings"
FINDING = "finding"
HOW_FAR = "How far to trust it"


def answer(of: Answer, report: Report) -> str:
    """At most 40 words: the largest finding, what contradicts, what could not be judged, as far as there is room. A
    reversed claim is always there."""
    if not report.source.complete and not report.source.counted:
        return missing_text(report.missing[0])
    families = len(report.families)
    texts = {"decided": _decided, "undecided": _undecided, "unjudged": _unjudged, "exploratory": _exploratory}
    parts = [texts[of.state](of, report) if of.state in texts else _EMPTY]
    if of.main and of.other_way:
        parts.append(f"Other direction: {with_number(of.other_way, families)}")
    if of.reversed:
        if _words((*parts, _reversed(of.reversed, families, 0))) > MOST_WORDS:
            del parts[1:]
        parts.append(_reversed(of.reversed, families, MOST_WORDS - _words(parts)))
    for part in _more(of, families, report.items_needed):
        parts += [part] if _words((*parts, part)) <= MOST_WORDS else []
    return " ".join(f"{part}." for part in parts if part)


def _words(parts: Sequence[str]) -> int:
    return sum(len(part.split()) for part in parts)


_EMPTY = "Nothing is decided: this run's numbers have no neutral value to be held against"


def _capital(text: str, of: Finding) -> str:
    """The first letter of a sentence, unless it is that of a model's name."""
    return text if any(text.startswith(n.model) for n in of.numbers) else text[:1].upper() + text[1:]


def _decided(of: Answer, report: Report) -> str:
    families = len(report.families)
    if of.main is None:
        return _apart(of.apart[0], families) if of.apart and not of.reversed else ""
    return _capital(sentence(of.main, families), of.main)


def _reversed(findings: Sequence[Finding], families: int, room: int) -> str:
    """The first of them; its statement is cut where there is no room for it, never its number."""
    finding, *others = findings
    whom = "the authors' expectation" if finding.source is ClaimSource.EXPECTED else "the paper"
    off_list = " (exploratory)" if all(n.verdict is Verdict.SUGGESTIVE for n in finding.numbers) else ""
    before, after = f"Contradicts {whom}{off_list}: “", f"”, {with_number(finding.numbers, families)}"
    more = f"; {len(others)} more" if others else ""
    left = room - len(f"{before} {after}{more}".split())
    return f"{before}{cut(finding.statement, max(_LEAST_STATED, left))}{after}{more}"


def _more(of: Answer, families: int, needed: Mapping[str, int]) -> Iterator[str]:
    """What else contradicts, then what could not be judged: in full, or the first of it."""
    if of.apart and (of.main or of.reversed):
        yield _apart(of.apart[0], families)
    if of.not_judged and of.state != "unjudged":
        together = grouped(of.not_judged, lambda one: (one.families, one.verdict))
        yield "Not judged: " + "; ".join(_not_judged(same, families, needed) for same in together.values())


def _apart(finding: Finding, families: int) -> str:
    """Seeds, wordings or kinds on both sides; of one number, which."""
    which = f", {text}" if len(finding.numbers) == 1 and (text := apart_text(finding.numbers[0])) else ""
    return f"Both directions in {who(finding.numbers, families)}{which} ({finding.statement})"


def _not_judged(same: Sequence[NotJudged], families: int, needed: Mapping[str, int]) -> str:
    """Probes with one reason for the same models; `needed`: items, of each probe that a limit left with too few."""
    one = same[0]
    some = "" if len(one.families) == families else f" on {listed(one.families[:MOST_NAMED])}"
    limited = one.verdict is Verdict.TOO_FEW_GROUPS and all(needed.get(each.probe) for each in same)
    why = verdict_text(one.verdict) + (" because of the limit" if limited else "")
    return f"{listed([each.probe for each in same])}{some} ({why})"


def _undecided(of: Answer, report: Report) -> str:
    assert of.main is not None
    (n,) = of.main.numbers
    return f"Nothing is decided. Closest: {sentence(of.main, len(report.families))}; {_why_undecided(n)}"


def _why_undecided(n: Number) -> str:
    low, high = n.interval
    reference = n.neutral or 0.0
    if n.verdict is Verdict.UNDECIDED and (reference < low or high < reference):
        late = not isinstance(n.row, Estimate) or n.row.reason is Reason.NOT_ON_LIST
        return "not so after correction for all primary numbers" if late else "too few seeds, or not after correction"
    return f"the interval includes {n.format.at(reference)}" if low == low else verdict_text(n.verdict)


def _unjudged(of: Answer, report: Report) -> str:
    scorings = [probe.scoring for probe in report.probes]
    if not any(one.n_scored for one in scorings):
        asked = sum(one.n_asked for one in scorings)
        none = "the one answer could not" if asked == 1 else f"none of the {count(asked)} answers could"
        why = "; ".join(filter(None, map(reasons, scorings)))
        return f"Nothing could be judged: {none} be scored ({why})"
    verdicts = dict.fromkeys(one.verdict for one in of.not_judged)
    needed = max(report.items_needed.values(), default=0)
    why = "; ".join(why_inconclusive(verdict, needed) for verdict in verdicts)
    return f"No primary number could be judged ({why or 'there is none of a single model'})"


def _exploratory(of: Answer, report: Report) -> str:
    return "Nothing is decided: no number of this run is primary, so all are exploratory"


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= MOST_NAMED else f"{len(names)} models"


def how_far(report: Report) -> str:
    """Items, seeds, what is missing: one line."""
    scorings = [probe.scoring for probe in report.probes]
    parts = [_asked(scorings, len(report.source.run.cards)), *_seeds(report), _scored(scorings)]
    inconclusive = sum(n.verdict.inconclusive for finding in report.findings for n in finding.numbers)
    parts += [f"{several(inconclusive, 'number')} could not be judged"] if inconclusive else []
    gaps = [one for one in report.missing if one.gap in ("interrupted", "not_begun", "nothing_scored")]
    parts += [missing_text(one).rstrip(".") for one in gaps[:1]]
    return "; ".join(filter(None, parts)) + "."


def limited(report: Report) -> str:
    """Of a run that left items out; else an empty text. A balanced sample has a line of its own (`planned`)."""
    if report.source.run.manifest.study.per_group:
        return ""
    cut = [probe for probe in report.probes if probe.declaration.n_items < probe.declaration.n_whole]
    if not cut:
        return ""
    each = [
        f"{count(one.declaration.n_items)} of {count(one.declaration.n_whole)} items"
        + (f" of {one.label}" if len(report.probes) > 1 else "")
        for one in cut
    ]
    return f"Limited: {listed(each)}, spread evenly over conditions; totals are not those of the whole dataset."


def _seeds(report: Report) -> list[str]:
    several = [f"{family.n_seeds} seeds of {family.name}" for family in report.families if family.n_seeds > 1]
    single = [family.name for family in report.families if family.n_seeds == 1]
    return [*several, *([f"one seed of {_named(single)}; other seeds may differ"] if single else [])]


def _asked(scorings: Sequence[Scoring], checkpoints: int) -> str:
    """Questions, not items: a test of SEAT is one item of hundreds of sentences."""
    asked = sum(one.n_asked for one in scorings)
    if not asked or not checkpoints:
        return ""
    if asked % checkpoints:  # some were asked other probes
        return f"{several(asked, 'question')} to {checkpoints} checkpoints"
    return f"{several(asked // checkpoints, 'question')} to each checkpoint"


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


def left_out(of: FindingsMatrix) -> str:
    """Below the matrix: what it does not have."""
    findings, families = of.n_findings - len(of.rows), of.n_families - len(of.families)
    parts = [f"{findings} more {'finding' if findings == 1 else 'findings'}"] if findings else []
    parts += [f"{families} more {'family' if families == 1 else 'families'}"] if families else []
    return f"{' and '.join(parts)} below" if parts else ""


def tallied(tally: Mapping[Outcome, int]) -> str:
    """`3 hold · 9 exploratory`, of a section."""
    return " · ".join(f"{many} {outcome_tally(outcome)}" for outcome, many in tally.items())

"""Which models were asked, what could be scored, what is missing, and where findings are from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count, several
from trueprobe.results.text.verdicts import verdict_with_reason
from trueprobe.types import Verdict

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.findings import Scoring, Section, Silence
    from trueprobe.results.view.number import Finding
    from trueprobe.results.view.report import Missing, ProbeReport, Report
    from trueprobe.runs.families import Family


ASSESSMENT = "Self-assessment of this probe"
MOST_TITLED = 4  # models in a title


def asked_sentence(report: Report) -> str:
    return f"Models: {listed([_who(family) for family in report.families] or ['no model yet'])}."


def _who(family: Family) -> str:
    facts = [f"{family.n_seeds} seeds"] if family.n_seeds > 1 else []
    if len(family.steps) > 1:
        facts.append(f"{len(family.steps)} steps; numbers are of the last")
    elif not facts:
        facts = [kind for card in family.cards[:1] if (kind := card.kind)]
    return f"{family.name} ({', '.join(facts)})" if facts else family.name


def listed(texts: Sequence[str]) -> str:
    """`a, b and c`."""
    *others, last = texts or ("",)
    return f"{', '.join(others)} and {last}" if others else last


def opening(report: Report) -> list[str]:
    """Which models were asked what, and how much of it could be scored."""
    return [asked_sentence(report), *(probe_sentence(probe) for probe in report.probes)]


def probe_sentence(probe: ProbeReport) -> str:
    summary = probe.declaration.summary
    asked = f"{probe.declaration.question} {several(probe.declaration.n_items, summary.item)} of {probe.label}."
    depth = summary.where_title
    return f"{asked} {scored_sentence(probe.scoring)}" + (f" Numbers are of the {depth}." if depth else "")


def countable(scoring: Scoring) -> str:
    """`0 to 50 %` of the prompts, where a probe says what an answer must hold to be counted."""
    ends = dict.fromkeys(f"{100 * share:.0f}" for share in scoring.countable)
    return f"{' to '.join(ends)} %" if ends else ""


def scored_sentence(scoring: Scoring) -> str:
    if not scoring.n_asked:
        return "No answers are in the folder."
    asked, why = count(scoring.n_asked), reasons(scoring)
    if not scoring.n_scored:
        return f"None of the {asked} answers could be scored ({why})."
    counted = f"; {text} of the prompts have a countable answer" if (text := countable(scoring)) else ""
    tied = f" Mostly ties, which show nothing: {', '.join(scoring.mostly_tied)}." if scoring.mostly_tied else ""
    if not why:
        return f"All {asked} answers could be scored{counted}.{tied}"
    return f"{count(scoring.n_scored)} of {asked} answers could be scored ({why}){counted}.{tied}"


_WHY_NOT = {
    "multi_piece": "of several tokens",
    "unknown_piece": "not spelled by the tokenizer",
    "not_separable": "whose text and word share a token",
    "not_in_list": "not in the vocabulary",
    "right_context": "with text behind the blank",
    "no_head": "without such a head",
    "no_start": "without a start token",
    "not_in_chat": "no place in a chat template",
    "too_long": "too long",
    "empty_text": "without text",
    "no_layer": "without such a layer",
    "not_finite": "not finite",
    "not_released": "not released",
    "no_span": "with nothing to score",
    "not_served": "not served",
}


def reasons(scoring: Scoring) -> str:
    """`3,480 not in the vocabulary`."""
    return ", ".join(f"{count(many)} {_WHY_NOT.get(code, code)}" for code, many in scoring.why_not)


def scored_short(scoring: Scoring) -> str:
    why = f" ({reasons(scoring)})" if scoring.why_not else ""
    counted = f", {text} countable" if (text := countable(scoring)) else ""
    return f"{count(scoring.n_scored)} of {count(scoring.n_asked)} scored{why}{counted}"


def section_title(section: Section) -> str:
    titles = {"choice": " minus ".join(reversed(section.probes)), "together": "several probes together"}
    return titles.get(section.kind, section.probes[0])


def source_of(finding: Finding) -> str:
    """The probe a finding is from."""
    return f"{finding.probe} minus {finding.less}" if finding.less else finding.probe


def section_heading(section: Section) -> str:
    """With what could be scored, and the models of which nothing can be concluded."""
    title = section_title(section)
    if section.scoring is None:
        return title
    groups = {"failing the gate": section.fails_gate, "mostly ties": section.scoring.mostly_tied}
    inconclusive = "".join(f"; {what}: {', '.join(names)}" for what, names in groups.items() if names)
    depth = "".join(f", {text}" for text in (section.depth, section.items_of) if text)
    return f"{title}{depth}: {scored_short(section.scoring)}{inconclusive}"


def not_theirs(items_of: str) -> str:
    return f"The items are not the paper's: {items_of}."


def missing_text(missing: Missing) -> str:
    names, others = ", ".join(missing.names), ", ".join(missing.others) or "none"
    texts = {
        "interrupted": "This run was interrupted. Run the same command into the same folder to finish it.",
        "nothing_counted": "There are no numbers, figures and findings yet.",
        "models_missing": f"Models of the study: {names}. With answers so far: {others}.",
        "nothing_scored": f"{names}: no model could be scored on any item.",
        "not_begun": f"{names}: not started.",
        "one_seed": f"Only one seed of {names} was tested; others may differ.",
    }
    return texts[missing.gap]


def silence(one: Silence, needed: int = 0) -> str:
    """How many, and why; `needed`: the items that would be, where a limit left too few groups."""
    return f"{several(one.n_findings, 'finding')}: {why_inconclusive(one.verdict, needed)}"


def why_inconclusive(verdict: Verdict, needed: int = 0) -> str:
    if verdict is Verdict.TOO_FEW_GROUPS and needed:
        return f"too few groups because of the limit; at least {count(needed)} items are needed"
    return verdict_with_reason(verdict, None)


def inconclusive_section(section: Section) -> str:
    """Where none of its findings decides anything: why, once for each reason; else an empty text."""
    if not section.findings or any(finding.has_verdict for finding in section.findings):
        return ""
    verdicts = {n.verdict for finding in section.findings for n in finding.numbers}
    first = (Verdict.TOO_FEW_GROUPS, *Verdict)  # what can be helped; the heading names those that fail a gate
    return "; ".join(why_inconclusive(verdict, section.items_needed) for verdict in sorted(verdicts, key=first.index))


def title(report: Report) -> str:
    names = [family.name for family in report.families]
    asked = ", ".join(names) if len(names) <= MOST_TITLED else f"{len(names)} models"
    study = report.source.run.manifest.study  # of a run that was stopped at once, all there is
    labels = report.source.labels or [entry.label for entry in study.probes]
    return report.title or f"{', '.join(labels)} on {asked if names else ', '.join(study.models)}"


def facts(report: Report) -> str:
    """`1 probe · 3 checkpoints · run on 1 May 2026`."""
    checkpoints, probes = len(report.source.run.cards), len(report.probes)
    parts = [several(probes, "probe"), several(checkpoints, "checkpoint")]
    timing = report.source.run.timing
    if not report.source.complete:
        parts.append("interrupted")
    elif timing is not None:
        parts.append(time.strftime("run on %-d %B %Y", time.gmtime(timing.began)))
    return " · ".join(parts)


def unsteady(noise: Mapping[str, float]) -> str:
    each = ", ".join(f"{name}: {nats:.1g} nats" for name, nats in noise.items())
    return f"A server gave two answers to one prompt ({each}): its numbers are not more exact than that."


def self_trained(names: Sequence[str]) -> str:
    return f"Trained by trueprobe to show the method; they do not represent BERT or GPT-2: {', '.join(names)}."

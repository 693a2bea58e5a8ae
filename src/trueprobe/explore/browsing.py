"""A run to browse: its findings as the report has them, its items in pages, and an item as a question of the page.

Read from the run folder alone, but for an item's prompt: the probe that asked it is made again, since only it knows
what stands in front and how a kind of model was asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from trueprobe.errors import BadInput, nearest
from trueprobe.explore.asking import shipped_groups
from trueprobe.explore.guard import LONGEST, MOST_WORDS, ItemsWanted, ItemWanted
from trueprobe.probes import Probe
from trueprobe.probes.counteracts.suggestions import LISTS
from trueprobe.probes.templates import BLANK
from trueprobe.results.text import answer as answer_words
from trueprobe.results.text import findings as finding_words
from trueprobe.results.text import verdicts
from trueprobe.results.view.findings import Section
from trueprobe.results.view.headline import Answer, matrix, whole
from trueprobe.results.view.items import ItemColumn, ItemRows
from trueprobe.results.view.number import Finding, Number
from trueprobe.results.view.report import ProbeReport, Report
from trueprobe.runs.folder import Run
from trueprobe.statistics.rows import FlippingItem
from trueprobe.types import Card, FillBlank, Item, Outcome, ScoreText, WhyNot

FEW_WORDS = 12  # asked for by name, not as a list that all items share
Json = dict[str, Any]


class Browsing:
    """Tables are read when they are first asked for, by one thread at a time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._report = Report.of(run)
        self._reading = threading.Lock()
        self._asked: dict[str, tuple[Probe, dict[str, Item]]] = {}

    # ------------------------------------------------------------ findings

    def findings(self) -> Json:
        with self._reading:
            return self._findings

    @cached_property
    def _findings(self) -> Json:
        report = self._report
        main = {id(finding) for finding in matrix(report).rows}
        return {
            "title": finding_words.title(report),
            "facts": finding_words.facts(report),
            "answer": answer_words.answer(Answer.of(report), report),
            "how_far": " ".join(filter(None, (answer_words.limited(report), answer_words.how_far(report)))),
            "families": [family.name for family in report.families],
            "probes": [one.label for one in report.probes if one.items],
            "outcomes": {outcome.value: verdicts.outcome_heading(outcome) for outcome in Outcome},
            "findings": [row for section in report.sections for row in _rows(report, section, main)],
        }

    # ------------------------------------------------------------ items

    def items(self, wanted: ItemsWanted) -> Json:
        with self._reading:
            rows, apart = self._items_of(wanted.probe), self._apart(wanted.probe)
        numbers = list(_wanted_rows(rows, wanted, apart))
        listed = numbers[wanted.start : wanted.start + wanted.rows]
        return {
            "columns": [_column(column) for column in rows.columns],
            "apart": bool(apart),
            "rows": [
                {"item": rows.ids[i], "family": rows.families[i], "cells": [c.text(i) for c in rows.columns]}
                for i in listed
            ],
            "total": len(numbers),
        }

    def _items_of(self, label: str) -> ItemRows:
        rows = self._probe_report(label).items
        if rows is None:
            raise BadInput(f"the run has no items of '{label}'")
        return rows

    def _apart(self, label: str) -> set[tuple[str, str]]:
        """Items and families whose seeds take both sides; a run lists those on which most disagree."""
        flipping = self._report.source.rows(FlippingItem)
        return {(row.item, row.family) for row in flipping if row.probe == label and row.against}

    def _probe_report(self, label: str) -> ProbeReport:
        probes = {one.label: one for one in self._report.probes}
        if label not in probes:
            raise BadInput(f"the run has no probe '{label}'{nearest(label, list(probes))}")
        return probes[label]

    # ------------------------------------------------------------ one item as a question

    def question(self, wanted: ItemWanted) -> Json:
        """What the page asks for the same prompt: of a blank, of two sentences, or `text` alone."""
        with self._reading:
            probe, items = self._probe(wanted.probe)
            if wanted.item not in items:
                raise BadInput(f"{wanted.probe} has no item '{wanted.item}'")
            return _question(probe, items[wanted.item], self._cards(wanted.family))

    def _probe(self, label: str) -> tuple[Probe, dict[str, Item]]:
        if label not in self._asked:
            probe = self.run.probe(label)
            self._asked[label] = probe, {item.id: item for item in probe.items()}
        return self._asked[label]

    def _cards(self, family: str) -> Mapping[str, Card]:
        """One of each kind; the family's first."""
        cards = [card for one in self._report.families for card in one.checkpoints]
        ordered = sorted(cards, key=lambda card: card.family != family)
        return {card.kind: card for card in reversed(ordered)}


def _rows(report: Report, section: Section, main: set[int]) -> Iterator[Json]:
    table = whole(report, section)
    for finding in section.findings:
        of_pairs = finding.of_pairs
        numbers = list(finding.numbers) if of_pairs else table.numbers(finding)
        yield {
            "probe": finding_words.source_of(finding),
            "label": finding.probe,
            "statement": finding.statement,
            "held_against": answer_words.unit_and_neutral(finding),
            "main": id(finding) in main,
            "of_pairs": of_pairs,
            "numbers": [_number(finding, n) if n else None for n in numbers],
        }


def _number(finding: Finding, n: Number) -> Json:
    value, interval = n.parts()
    return {
        "model": n.model,
        "value": value,
        "interval": interval,
        "unit": n.unit_text(),
        "mark": n.mark.symbol,
        "verdict": verdicts.verdict_text(n.verdict, n.source),
        "outcome": n.verdict.outcome.value,
        "behind": verdicts.behind(n),
        "side": verdicts.side(finding, n),
        "seeds": verdicts.seed_range(n, n.format) if n.seeds else "",
    }


def _column(column: ItemColumn) -> Json:
    """Of a condition also what can be chosen."""
    choices = sorted(set(map(str, column.values))) if column.kind == "choice" else []
    return {"title": column.title, "kind": column.kind, "choices": choices}


def _wanted_rows(rows: ItemRows, wanted: ItemsWanted, apart: set[tuple[str, str]]) -> Iterator[int]:
    """Rows that are wanted, in the wanted order; those without a number last."""
    by_title = {column.title: column for column in rows.columns}
    for title in (*wanted.filters, *([wanted.sort] if wanted.sort else [])):
        if title not in by_title:
            raise BadInput(f"no column '{title}'{nearest(title, list(by_title))}")
    numbers: Sequence[int] = range(rows.total)
    for title, value in wanted.filters.items():
        values = by_title[title].values
        numbers = [i for i in numbers if str(values[i]) == value]
    if wanted.apart:
        numbers = [i for i in numbers if (rows.ids[i], rows.families[i]) in apart]
    if wanted.search:
        texts = [column.values for column in rows.columns if column.kind == "text"]
        sought = wanted.search.lower()
        numbers = [i for i in numbers if any(sought in str(values[i]).lower() for values in texts)]
    if wanted.sort:
        values = by_title[wanted.sort].values
        with_value = [i for i in numbers if values[i] is not None]
        unknown = [i for i in numbers if values[i] is None]
        numbers = sorted(with_value, key=lambda i: values[i], reverse=not wanted.ascending) + unknown
    return iter(numbers)


def _question(probe: Probe, item: Item, cards: Mapping[str, Card]) -> Json:
    asked = {kind: requests[0] for kind, card in cards.items() if (requests := _requests(probe, item, card))}
    blanks = {kind: request for kind, request in asked.items() if isinstance(request, FillBlank)}
    if blanks:
        return {"view": "ask", **_blank_question(item, blanks)}
    scored = next((_requests(probe, item, card) for card in cards.values()), [])
    texts = list(dict.fromkeys(one.text for one in scored if isinstance(one, ScoreText)))
    if len(texts) > 1:
        masking = next(one.masking for one in scored if isinstance(one, ScoreText))
        return {"view": "compare", "first": texts[0], "second": texts[1], "masking": masking}
    if item.text.count(BLANK) == 1:
        return {"view": "ask", "text": item.text[:LONGEST], **_words(item, ())}
    return {"view": "", "text": item.text}


def _requests(probe: Probe, item: Item, card: Card) -> Sequence[Any]:
    requests = probe.ask(item, card)
    return () if isinstance(requests, WhyNot) else requests


def _blank_question(item: Item, blanks: Mapping[str, FillBlank]) -> Json:
    """The prompt of masked models and what causal ones read instead, or theirs alone."""
    causal = blanks.get("causal")
    one = blanks.get("masked") or causal
    assert one is not None
    usual = {"masked": "pair", "causal": "space"}
    as_usual = all(request.join == usual[kind] for kind, request in blanks.items())
    return {
        "text": f"{one.left}{BLANK}{one.right}",
        "before": one.before or "",
        "causal": f"{causal.left}{BLANK}" if causal else item.causal_text.removeprefix(f"{one.before} "),
        "join": "" if as_usual or not one.before else one.join,
        **_words(item, one.words),
    }


def _words(item: Item, words: Sequence[str]) -> Json:
    """The groups of words an item is about: a shipped list, the right and the wrong ones, or none."""
    forms = set(words)
    for name in LISTS:
        if forms and all(forms >= set(group.words) for group in shipped_groups(name)):
            return {"lists": name}
    fields = item.fields
    if "right" in fields and "wrong" in fields:
        return {"first": list(fields["right"])[:MOST_WORDS], "second": list(fields["wrong"])[:MOST_WORDS]}
    target = fields.get("target") or fields.get("concept")
    if not target:
        return {"first": list(words)[:FEW_WORDS]}
    others = [word for word in words if word != target]
    return {"first": [target], "second": others if len(others) <= FEW_WORDS else []}

"""The claims as a table, the models that were asked, and what a paper needs: a paragraph and its BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from trueprobe.errors import printable
from trueprobe.results.numbers import count, several
from trueprobe.results.text import methods as words
from trueprobe.results.text import models as model_words
from trueprobe.results.text import tables as table_words
from trueprobe.results.text import verdicts
from trueprobe.results.view.findings import Section
from trueprobe.results.view.number import DASH, Cell, Display, Finding, Grid, Kind, Number
from trueprobe.results.view.source import ReportSource
from trueprobe.runs.families import Family
from trueprobe.runs.schema import frame_of
from trueprobe.runs.signature import START, UNKNOWN, VERSION, common, joined, parts_of
from trueprobe.statistics.rows import ClaimResult, grouped
from trueprobe.types import Card, Outcome

_ENTRY = re.compile(r"^@.*?^\}", re.MULTILINE | re.DOTALL)
_RELIABLE = "How Reliable are Model Diagnostics"
_CARD_COLUMNS = ("model", "family", "kind", "architecture", "source", "dtype", "quantised", "instruct", "sha256")
_CARD_NUMBERS = ("parameters", "vocab_size")
_HASH = 12  # digits of the weights' sha256
_PAPERS = Path(__file__).parent.parent / "papers.bib"


def claims_table(source: ReportSource, sections: tuple[Section, ...]) -> Grid | None:
    """What each paper found, what this run finds: families across, pairs of models in a column of their own."""
    claims = [f for section in sections for f in section.findings if f.kind is Kind.CLAIM]
    names = [family.name for family in source.families]
    paired = any(finding.of_pairs for finding in claims)
    rows: list[tuple[Cell, ...]] = []
    for label in dict.fromkeys(finding.probe for finding in claims):
        of_probe = [finding for finding in claims if finding.probe == label]
        if len(of_probe) < len(claims):
            rows.append((Cell(label),))
        rows += [row for finding in of_probe for row in _claim_rows(finding, names, paired)]
    if not rows:
        return None
    header = table_words.claims_header(names, paired)
    return Grid(
        "claims",
        table_words.CLAIMS.title,
        table_words.CLAIMS.caption,
        header,
        tuple(rows),
        frame_of(source.claims, ClaimResult),
    )


def _claim_rows(finding: Finding, names: list[str], paired: bool) -> Iterator[tuple[Cell, ...]]:
    head = (Cell(finding.statement), Cell(verdicts.expected(finding)))
    if finding.of_pairs:
        each = [Cell(DASH, outcome=Outcome.NONE, hint=table_words.ABOUT_TWO)] * len(names)
        yield from ((*head, *each, _claim_cell(n, f"{n.model}: ")) for n in finding.numbers)
        return
    known = {number.model: number for number in finding.numbers}
    of_two = [Cell(DASH, outcome=Outcome.NONE, hint=table_words.ABOUT_EACH)] if paired else []
    yield (*head, *(_claim_cell(known.get(name)) for name in names), *of_two)


def _claim_cell(n: Number | None, of: str = "") -> Cell:
    if n is None:
        return Cell(DASH, outcome=Outcome.NONE, hint=table_words.NOT_CLAIMED)
    verdict = verdicts.verdict_text(n.verdict, n.source)
    text = f"{of}{verdict}" if n.display is Display.NOTHING else f"{of}{n.text()}; {verdict}"
    return Cell(text, outcome=n.verdict.outcome, number=n)


def models_table(source: ReportSource) -> Grid:
    cards = [card for family in source.families for card in family.cards]
    columns = (*_CARD_COLUMNS, *_CARD_NUMBERS)
    data = pd.DataFrame([dict(zip(columns, (*_facts(card), *_sizes(card)), strict=True)) for card in cards])
    rows = tuple(
        (*map(Cell, _facts(card)), *(Cell(count(n) if n else "", True) for n in _sizes(card))) for card in cards
    )
    return Grid("models", table_words.MODELS.title, table_words.MODELS.caption, table_words.MODELS_HEADER, rows, data)


def _facts(card: Card) -> tuple[str, ...]:
    weights = card.compute_id[:_HASH]
    named = (card.name, card.family, card.kind, card.architecture, card.source, card.dtype)
    return *named, card.quantised, model_words.tuning(card), weights


def _sizes(card: Card) -> tuple[int, int]:
    return card.parameters, card.vocab_size


def settings_table(source: ReportSource) -> Grid:
    """The appendix: every setting of every probe, how its intervals were made, and what it measures."""
    chosen = [(label, *row) for label in source.labels for row in _settings(source, label)]
    rows = tuple(tuple(map(Cell, row)) for row in chosen)
    data = pd.DataFrame(chosen, columns=["probe", "setting", "value"])
    texts = table_words.SETTINGS
    return Grid("settings", texts.title, texts.caption, table_words.SETTINGS_HEADER, rows, data)


def _settings(source: ReportSource, label: str) -> Iterator[tuple[str, str]]:
    declaration, limit = source.declaration(label), source.run.manifest.study.limit
    yield from ((name, str(value)) for name, value in declaration.settings.items() if str(value))
    if limit:
        yield "limit", count(limit)
    if per_group := source.run.manifest.study.per_group:
        yield "items of every group and condition", count(per_group)
    if methods := _methods(source, [label]):
        yield "intervals", "; ".join(methods)
    if signed := signatures(source, label):
        yield "signature", " · ".join(signed)
    yield "measures", ", ".join(name.replace("_", " ") for name in declaration.summary.measures)


def signatures(source: ReportSource, label: str) -> list[str]:
    """What the numbers of a probe share, for each way in which texts start; measure and conditions are each one's."""
    rows = source.estimates(label)
    if not all(row.signature for row in rows):
        return [joined({"probe": source.declaration(label).name, VERSION: UNKNOWN})]
    by_start = grouped(rows, lambda row: parts_of(row.signature).get(START, ""))
    return [common(row.signature for row in same) for same in by_start.values()]


def _methods(source: ReportSource, labels: Sequence[str]) -> list[str]:
    rows = (row for label in labels for row in source.estimates(label))
    return list(dict.fromkeys(row.method for row in rows if row.method))


def paragraph(source: ReportSource) -> str:
    """Of a finished run; before that there is nothing to report."""
    return " ".join(filter(None, _sentences(source))) if source.complete else ""


def _sentences(source: ReportSource) -> Iterator[str]:
    versions = dict(source.run.manifest.versions)
    version = versions.pop("trueprobe", "")
    yield words.made_with(version, [f"{name} {number}" for name, number in versions.items()])
    probes = [_probe(source, label) for label in source.labels]
    yield words.asked([_model(family) for family in source.families], probes, source.run.manifest.study.limit)
    yield words.LEFT_OUT
    if methods := _methods(source, source.labels):
        seeds = {str(source.declaration(label).settings.get("resample_seed")) for label in source.labels} - {"None"}
        yield words.intervals_sentence(methods, sorted(seeds))
    yield words.controlled(source.n_listed)
    yield words.recommended(source.families)


def _probe(source: ReportSource, label: str) -> str:
    declaration = source.declaration(label)
    known = [_citation(entry) for entry in _entries(declaration.paper)]
    items = several(declaration.n_items, declaration.summary.item)
    return words.probe_items(items, label, known or [declaration.paper], declaration.items_of)


def _citation(entry: str) -> str:
    """`Zhang et al., 2023`."""
    names = [name.partition(",")[0] for name in _field(entry, "author").split(" and ")]
    return words.citation(names, _field(entry, "year"))


def _model(family: Family) -> str:
    card = family.cards[0]
    sources = [one.source or one.name for one in family.cards]
    facts = [card.kind, card.architecture, card.dtype, words.sources(sources)]
    facts += [words.SELF_TRAINED_FACT] if card.self_trained else []
    return f"{family.name} ({', '.join(filter(None, facts))})"


def bibtex(source: ReportSource) -> str:
    """Of trueprobe, of the papers the probes name, and of paper C, whose recommendations every report follows."""
    papers = dict.fromkeys([*(source.declaration(label).paper for label in source.labels), _RELIABLE])
    chosen: dict[str, None] = {}
    for i, paper in enumerate(papers):
        chosen |= dict.fromkeys(_entries(paper) or [f"@misc{{paper{i + 1},\n  note = {{{printable(paper)}}}\n}}"])
    version = source.run.manifest.versions.get("trueprobe", "")
    return "\n\n".join([words.software(version, source.run.manifest.machine.commit), *chosen]) + "\n"


def _entries(paper: str) -> list[str]:
    """The BibTeX of the papers that a text names."""
    return [entry for title, entry in bibliography().items() if _bare(title) in _bare(paper)]


def bibliography() -> dict[str, str]:
    """All entries that ship, by title."""
    return {_field(entry, "title"): entry for entry in _ENTRY.findall(_PAPERS.read_text(encoding="utf-8"))}


def _field(entry: str, name: str) -> str:
    match = re.search(rf"{name} = \{{(.*?)\}},?$", entry, re.MULTILINE)
    assert match, entry
    return match.group(1)


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()

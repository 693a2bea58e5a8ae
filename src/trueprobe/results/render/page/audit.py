"""What is behind each number of a page, as one block of data that its script reads."""

from __future__ import annotations

from typing import Any

from trueprobe.results.text import audit as words
from trueprobe.results.text import models
from trueprobe.results.view.audit import Audit, Ranked, described, model_of
from trueprobe.results.view.number import Number
from trueprobe.results.view.select import names_of
from trueprobe.runs.primary import label_of_row
from trueprobe.statistics.rows import AGAINST
from trueprobe.types import CONDITION


def payload(audit: Audit) -> dict[str, Any]:
    """`numbers` in the order of `Audit.place`; what many of them share is there once."""
    source = audit.report.source
    lists = audit.lists()
    ranks = {id(one.row): one for rows in lists.values() for one in rows}
    manifest = source.run.manifest
    return {
        "words": words.WORDS,
        "numbers": [_number(audit, n, ranks) for n in audit.numbers],
        "lists": {name: [_listed(audit, one) for one in rows] for name, rows in lists.items()},
        "header": words.LIST_HEADER,
        "models": {family.name: [models.facts(card) for card in family.cards] for family in source.families},
        "run": words.computed_on(manifest.machine, dict(manifest.versions)),
        "repeat": words.repeat(source.run.folder.name),
    }


def _number(audit: Audit, n: Number, ranks: dict[int, Ranked]) -> dict[str, Any]:
    assert n.row is not None
    source, row = audit.report.source, n.row
    label = label_of_row(row)
    known = label in source.labels
    called = names_of(source.declaration(label)) if known else {}
    kinds = dict.fromkeys(one.method for one in source.estimates(label) if one.method) if known else {}
    others = [
        (key.replace("_", " "), called.get(f"{key}={value}", called.get(value, value)), _text(other))
        for key, value, other in ((one.condition, one.value, one.number) for one in audit.others(n))
    ]
    return {
        "title": described(audit.report, row),
        "probe": label,
        "model": n.model,
        "models": _families(audit, n),
        "where": {key.removeprefix(CONDITION).replace("_", " "): value for key, value in row.conditions.items()},
        "items": None if n.n_items is None else n.n_items + n.n_unscored,
        "rows": words.rows(n, ranks.get(id(row)), "; ".join(kinds)),
        "others": others,
        "list": audit.list_of(n),
        "place": ranks[id(row)].rank if id(row) in ranks else 0,
    }


def _text(n: Number) -> str:
    return " ".join(filter(None, (n.text() + n.mark.symbol, n.unit_text())))


def _families(audit: Audit, n: Number) -> list[str]:
    """Those that the number is of: two for a pair."""
    wanted = set(n.model.split(AGAINST))
    return [
        family.name
        for family in audit.report.families
        if family.name in wanted or wanted & {card.name for card in family.cards}
    ]


def _listed(audit: Audit, one: Ranked) -> list[str]:
    row = one.row
    numbers = (words.p_text(one.p), f"{one.threshold:.2g}", words.p_text(one.p_list), "yes" if one.decided else "no")
    return [str(one.rank), label_of_row(row), described(audit.report, row), model_of(row), *numbers]

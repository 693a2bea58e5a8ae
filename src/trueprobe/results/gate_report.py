"""What a gate decided: in a terminal, as JSON, and as Markdown for the summary of a CI job."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trueprobe.results import markdown
from trueprobe.results.findings import grouped
from trueprobe.results.fitting import WIDEST
from trueprobe.results.gate import Check, Decision, Gate
from trueprobe.results.json import plain
from trueprobe.results.view import Cell, Grid
from trueprobe.results.words import gate as words

FORMAT = 1


def show(gate: Gate, console: Console | None = None) -> None:
    """Rule by rule, with a line for each model; what does not pass first."""
    console = console or Console(highlight=False)
    for rule, checks in grouped(_worst_first(gate), lambda check: check.named_rule.text()).items():
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for check in checks:
            decision, model, _, number = _texts(check)
            table.add_row(*map(Text, (f"  {decision}", model, number)))
        console.print(Text(rule), soft_wrap=True)
        console.print(table, width=min(console.width, WIDEST))
    console.print(Text(words.total(gate)), soft_wrap=True)
    if gate.counts[Decision.UNDECIDED] or gate.counts[Decision.CANNOT]:
        console.print(Text(words.policy(gate)), soft_wrap=True)


def as_json(gate: Gate) -> str:
    checks = [_check(check) for check in gate.checks]
    head = {"format": FORMAT, "folder": gate.folder, "baseline": gate.baseline or None, "passes": gate.passes}
    content = {**head, "undecided": gate.undecided, "counts": gate.counts, "checks": checks}
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)


def as_markdown(gate: Gate) -> str:
    present = dict.fromkeys(check.decision for check in _worst_first(gate))
    caption = f"{words.total(gate)}; {words.policy(gate)}"
    rows = tuple(tuple(map(Cell, _texts(check))) for check in _worst_first(gate))
    grid = Grid("gate", words.title(gate), caption, words.HEADER, rows, pd.DataFrame())
    meanings = [f"- {words.decision_meaning(decision)}" for decision in present]
    return "\n".join([*markdown.grid_lines(grid, 2), *meanings]) + "\n"


def _worst_first(gate: Gate) -> list[Check]:
    order = (Decision.FAILS, Decision.CANNOT, Decision.UNDECIDED, Decision.PASSES)
    return sorted(gate.checks, key=lambda check: order.index(check.decision))


def _texts(check: Check) -> tuple[str, str, str, str]:
    decision = words.decision_text(check.decision)
    return decision, check.model, check.named_rule.text(), words.number_text(check.amount)


def _check(check: Check) -> dict[str, Any]:
    rule, amount = check.rule, check.amount
    asked = {"rule": rule.text(), "probe": rule.probe, "number": rule.name, "conditions": check.conditions}
    bound = {"operator": rule.operator, "bound": rule.bound.value, "of_baseline": rule.bound.of_baseline}
    number = {"value": amount.value, "low": amount.low, "high": amount.high, "unit": check.unit}
    why = {"obstacle": amount.obstacle, "verdict": amount.verdict, "pairing": amount.pairing}
    behind = {"model": check.model, "n_seeds": check.n_seeds, "decision": check.decision}
    made = {"signature": check.signature or None, "unequal": amount.unequal}
    return {**asked, **bound, **behind, **number, **why, **made, "text": words.number_text(amount)}

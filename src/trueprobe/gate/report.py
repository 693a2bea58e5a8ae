"""What a gate decided: in a terminal, as JSON, and as Markdown for the summary of a CI job."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.table import Table

from trueprobe.gate.decide import Amount, Decision, GateResult, RuleCheck
from trueprobe.results.render import markdown
from trueprobe.results.render.fitting import WIDEST
from trueprobe.results.render.json import as_text
from trueprobe.results.render.printed import Console, text_line
from trueprobe.results.text.verdicts import verdict_with_reason
from trueprobe.results.view import Cell, Grid, grouped
from trueprobe.runs.signature import described

FORMAT = 1
HEADER = ("decision", "model", "rule", "number, 95 % interval")
_DECISIONS = {  # the decision, of several numbers, and what it means
    Decision.PASSES: ("passes", "pass", "the whole interval is on the right side of the bound"),
    Decision.FAILS: ("fails", "fail", "the whole interval is on the wrong side"),
    Decision.UNDECIDED: ("undecided", "undecided", "the bound is inside the interval"),
    Decision.CANNOT: ("cannot be decided", "cannot be decided", "there is no interval to hold against the bound"),
}
_POLICIES = {
    "fail": "what is undecided or cannot be decided fails the gate (--undecided fail)",
    "pass": "what is undecided passes, what cannot be decided fails (--undecided pass)",
    "ignore": "what is undecided or cannot be decided passes (--undecided ignore)",
}
_PAIRINGS = {
    "": "",
    "same_weights": "less the baseline: the same weights",
    "by_item": "less the baseline, paired by item",
    "intervals": "less the baseline, from the two intervals: other items, or a claim",
}


def show(gate: GateResult, console: Console | None = None) -> None:
    """Rule by rule, with a line for each model; what does not pass first."""
    console = console or Console(highlight=False)
    for rule, checks in grouped(_worst_first(gate), lambda check: check.named_rule.text()).items():
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for check in checks:
            decision, model, _, number = check_texts(check)
            table.add_row(*map(text_line, (f"  {decision}", model, number)))
        console.print(text_line(rule), soft_wrap=True)
        console.print(table, width=min(console.width, WIDEST))
    console.print(text_line(_total(gate)), soft_wrap=True)
    if gate.counts[Decision.UNDECIDED] or gate.counts[Decision.CANNOT]:
        console.print(text_line(_POLICIES[gate.undecided]), soft_wrap=True)


def as_json(gate: GateResult) -> str:
    checks = [_check(check) for check in gate.checks]
    head = {"format": FORMAT, "folder": gate.folder, "baseline": gate.baseline or None, "passes": gate.passes}
    content = {**head, "undecided": gate.undecided, "counts": gate.counts, "checks": checks}
    return as_text(content)


def as_markdown(gate: GateResult) -> str:
    present = dict.fromkeys(check.decision for check in _worst_first(gate))
    title = f"Gate {'passes' if gate.passes else 'fails'}: {gate.folder}"
    caption = f"{_total(gate)}; {_POLICIES[gate.undecided]}"
    rows = tuple(tuple(map(Cell, check_texts(check))) for check in _worst_first(gate))
    grid = Grid("gate", title, caption, HEADER, rows, pd.DataFrame())
    meanings = [f"- {_DECISIONS[decision][0]}: {_DECISIONS[decision][2]}" for decision in present]
    return "\n".join([*markdown.grid_lines(grid, 2), *meanings]) + "\n"


def _worst_first(gate: GateResult) -> list[RuleCheck]:
    order = (Decision.FAILS, Decision.CANNOT, Decision.UNDECIDED, Decision.PASSES)
    return sorted(gate.checks, key=lambda check: order.index(check.decision))


def check_texts(check: RuleCheck) -> tuple[str, str, str, str]:
    return _DECISIONS[check.decision][0], check.model, check.named_rule.text(), number_text(check.amount)


def _check(check: RuleCheck) -> dict[str, Any]:
    rule, amount = check.rule, check.amount
    asked = {"rule": rule.text(), "probe": rule.probe, "number": rule.name, "conditions": check.conditions}
    bound = {"operator": rule.operator, "bound": rule.bound.value, "of_baseline": rule.bound.of_baseline}
    number = {"value": amount.value, "low": amount.low, "high": amount.high, "unit": check.unit}
    why = {"obstacle": amount.obstacle, "verdict": amount.verdict, "pairing": amount.pairing}
    behind = {"model": check.model, "n_seeds": check.n_seeds, "decision": check.decision}
    made = {"signature": check.signature or None, "unequal": amount.unequal}
    return {**asked, **bound, **behind, **number, **why, **made, "text": number_text(amount)}


# ---------------------------------------------------------------- words


def number_text(amount: Amount) -> str:
    """`0.031 [0.022, 0.04]` in the unit of the tables, as the bound is; or why there is none."""
    if amount.obstacle:
        return _obstacle_text(amount)
    number = f"{amount.value:.4g} [{amount.low:.4g}, {amount.high:.4g}]"
    otherwise = f"made otherwise: {described(amount.unequal)}" if amount.unequal else ""
    return "; ".join(filter(None, (number, _PAIRINGS[amount.pairing], otherwise)))


def _obstacle_text(amount: Amount) -> str:
    why = verdict_with_reason(amount.verdict, None) if amount.verdict else ""
    texts = {
        "no_verdict": why,
        "not_counted": "not counted for this model",
        "no_verdict_in_baseline": f"in the baseline: {why}",
        "not_in_baseline": "the baseline has no such number",
        "no_verdict_together": f"on the items that both scored: {why}",
    }
    return texts[amount.obstacle]


def _total(gate: GateResult) -> str:
    """`gate fails: 2 pass, 1 fails, 1 undecided`."""
    listed = ", ".join(f"{many} {_DECISIONS[one][many > 1]}" for one, many in gate.counts.items() if many)
    against = f" against {gate.baseline}" if gate.baseline else ""
    return f"gate {'passes' if gate.passes else 'fails'}{against}: {listed}"

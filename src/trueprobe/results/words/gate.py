"""The words of a gate: what each decision means, why a number cannot be decided, what it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueprobe.results.words.verdicts import verdict_with_reason
from trueprobe.runs.signature import described

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.amounts import Amount
    from trueprobe.results.gate import Gate

HEADER = ("decision", "model", "rule", "number, 95 % interval")
DECISIONS = {
    "passes": "passes",
    "fails": "fails",
    "undecided": "undecided",
    "cannot_be_decided": "cannot be decided",
}
MEANINGS = (
    "passes: the whole interval is on the right side of the bound",
    "fails: the whole interval is on the wrong side",
    "undecided: the bound is inside the interval",
    "cannot be decided: there is no interval to hold against the bound",
)
_UNDECIDED = {
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


def decision_text(code: str) -> str:
    return DECISIONS[code]


def decision_meaning(code: str) -> str:
    return MEANINGS[list(DECISIONS).index(code)]


def number_text(amount: Amount) -> str:
    """`0.031 [0.022, 0.04]` in the unit of the tables, as the bound is; or why there is none."""
    if amount.obstacle:
        return obstacle_text(amount)
    number = f"{amount.value:.4g} [{amount.low:.4g}, {amount.high:.4g}]"
    otherwise = f"made otherwise: {described(amount.unequal)}" if amount.unequal else ""
    return "; ".join(filter(None, (number, _PAIRINGS[amount.pairing], otherwise)))


def obstacle_text(amount: Amount) -> str:
    why = verdict_with_reason(amount.verdict, None) if amount.verdict else ""
    texts = {
        "no_verdict": why,
        "not_counted": "not counted for this model",
        "no_verdict_in_baseline": f"in the baseline: {why}",
        "not_in_baseline": "the baseline has no such number",
        "no_verdict_together": f"on the items that both scored: {why}",
    }
    return texts[amount.obstacle]


def title(gate: Gate) -> str:
    return f"Gate {'passes' if gate.passes else 'fails'}: {gate.folder}"


def total(gate: Gate) -> str:
    """`gate fails: 2 pass, 1 fails, 1 undecided`."""
    listed = ", ".join(f"{many} {_counted(code, many)}" for code, many in gate.counts.items() if many)
    against = f" against {gate.baseline}" if gate.baseline else ""
    return f"gate {'passes' if gate.passes else 'fails'}{against}: {listed}"


def _counted(code: str, many: int) -> str:
    plural = {"passes": "pass", "fails": "fail"}
    return plural.get(code, DECISIONS[code]) if many > 1 else DECISIONS[code]


def policy(gate: Gate) -> str:
    return _UNDECIDED[gate.undecided]

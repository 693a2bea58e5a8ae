"""A run held to rules: which numbers a rule names, on which side of its bound each lies, and how that is reported."""

from trueprobe.gate.ci import as_junit, github_annotations
from trueprobe.gate.decide import Amount, Decision, GateResult, Obstacle, Pairing, RuleCheck, apart, decide, gate
from trueprobe.gate.report import as_json, as_markdown, number_text, show
from trueprobe.gate.rules import Bound, NumberKind, Operator, Rule, RuleFile, Undecided, parse

__all__ = [
    "Amount",
    "Bound",
    "Decision",
    "GateResult",
    "NumberKind",
    "Obstacle",
    "Operator",
    "Pairing",
    "Rule",
    "RuleCheck",
    "RuleFile",
    "Undecided",
    "apart",
    "as_json",
    "as_junit",
    "as_markdown",
    "decide",
    "gate",
    "github_annotations",
    "number_text",
    "parse",
    "show",
]

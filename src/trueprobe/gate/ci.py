"""What a gate decided, for CI systems: JUnit's XML, and the annotations of GitHub Actions.

Each number is a test case. One that the policy does not let pass is a failure; one that could not be decided and passes
all the same is skipped, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from trueprobe.errors import printable
from trueprobe.gate.decide import Decision, GateResult, RuleCheck
from trueprobe.gate.report import check_texts


def as_junit(gate: GateResult) -> str:
    failed = [check for check in gate.checks if not gate.lets_pass(check.decision)]
    skipped = [check for check in gate.checks if check not in failed and check.decision is not Decision.PASSES]
    counts = {"tests": len(gate.checks), "failures": len(failed), "errors": 0, "skipped": len(skipped)}
    numbers = {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": printable(f"trueprobe gate {gate.folder}"), **numbers})
    for check in gate.checks:
        decision, model, rule, number = map(printable, check_texts(check))
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": printable(f"trueprobe.{check.rule.probe}"), "name": f"{rule} @{model}"}
        )
        if check in failed:
            ElementTree.SubElement(case, "failure", {"type": check.decision.value, "message": f"{decision}: {number}"})
        elif check in skipped:
            ElementTree.SubElement(case, "skipped", {"message": f"{decision}: {number}"})
        else:
            ElementTree.SubElement(case, "system-out").text = number
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def github_annotations(gate: GateResult) -> Iterator[str]:
    """Workflow commands, a line each: errors for what the gate does not let pass, warnings for what it lets pass
    undecided."""
    for check in gate.checks:
        if check.decision is not Decision.PASSES:
            yield _annotation(check, "warning" if gate.lets_pass(check.decision) else "error")


def _annotation(check: RuleCheck, level: str) -> str:
    decision, model, rule, number = map(printable, check_texts(check))
    title = f"trueprobe: {rule}".replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{f'{model} {decision}: {number}'.replace('%', '%25')}"

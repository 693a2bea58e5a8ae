"""A verdict is assigned in statistics/verdict.py and nowhere else: the syntax trees of all modules show it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import trueprobe
from trueprobe.types import Verdict

ROOT = Path(trueprobe.__file__).parent
JUDGE = Path("statistics/verdict.py")
TABLES = {Path(name) for name in ("statistics/rows.py", "statistics/multiverse.py", "sensitivity/rows.py")}
COLUMNS = ("verdict", "verdict_alone")


def is_verdict(node: ast.AST | None) -> bool:
    """`Verdict.X`, also where the class is reached through a module."""
    if not isinstance(node, ast.Attribute) or node.attr not in Verdict.__members__:
        return False
    return "Verdict" in (getattr(node.value, "id", ""), getattr(node.value, "attr", ""))


def contains_verdict(node: ast.AST | None) -> bool:
    return node is not None and any(is_verdict(one) for one in ast.walk(node))


def results(node: ast.AST | None) -> Iterator[ast.AST | None]:
    """What an expression may come to: `a if c else b` is a or b, `{…}[key]` one of the values."""
    if isinstance(node, ast.IfExp):
        yield from (one for branch in (node.body, node.orelse) for one in results(branch))
    elif isinstance(node, ast.BoolOp):
        yield from (one for value in node.values for one in results(value))
    elif isinstance(node, ast.NamedExpr | ast.Lambda):
        yield from results(node.value if isinstance(node, ast.NamedExpr) else node.body)
    elif isinstance(node, ast.Tuple | ast.List):
        yield from (one for value in node.elts if not isinstance(value, ast.Tuple) for one in results(value))
    else:
        yield node


def gives_verdict(node: ast.AST | None) -> bool:
    return any(map(is_verdict, results(node)))


def assigned_in(tree: ast.AST) -> list[tuple[int, str]]:
    """The lines that assign a verdict, and how. A name for several verdicts is a list to look in, and a verdict as the
    key of a dictionary is what words are looked up by: neither assigns any."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=name, value=value) if name in COLUMNS and contains_verdict(value):
                found.append((value.lineno, f"{name}="))
            case ast.Return(value=value) | ast.Yield(value=value) if gives_verdict(value):
                found.append((node.lineno, "return"))
            case ast.Lambda(body=value) if gives_verdict(value):
                found.append((node.lineno, "lambda"))
            case ast.Assign(targets=[ast.Name()], value=ast.Tuple()):
                pass
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.NamedExpr(value=value):
                found += [(node.lineno, "=")] if gives_verdict(value) else []
            case ast.AnnAssign(value=value) if contains_verdict(value) and not isinstance(value, ast.Dict):
                found.append((node.lineno, "default"))
            case ast.Dict(values=values) if any(map(gives_verdict, values)):
                found.append((node.lineno, "dict"))
            case ast.arguments(defaults=plain, kw_defaults=named) if any(map(gives_verdict, (*plain, *named))):
                found += [(one.lineno, "parameter") for one in (*plain, *named) if one and gives_verdict(one)]
            case ast.Call(func=ast.Name(id=name), args=args) if name[:1].isupper() and any(map(gives_verdict, args)):
                found.append((node.lineno, f"{name}(…)"))
            case ast.Call(func=ast.Name(id="Verdict")) | ast.Subscript(value=ast.Name(id="Verdict")):
                found.append((node.lineno, "made of a word"))
    return sorted(set(found))


def column_defaults(tree: ast.AST) -> set[int]:
    """The lines of `verdict: Verdict = column(…, Verdict.X)`."""
    return {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
        and getattr(node.target, "id", "") in COLUMNS
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "column"
    }


def test_verdicts_are_assigned_in_one_module():
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        name, code = path.relative_to(ROOT), path.read_text(encoding="utf-8")
        if name == JUDGE or "Verdict" not in code:
            continue
        tree = ast.parse(code)
        declared = column_defaults(tree) if name in TABLES else set()
        found += [f"{name}:{line} {how}" for line, how in assigned_in(tree) if line not in declared]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "Estimate(verdict=Verdict.HOLDS)",
        "changed(row, verdict_alone=Verdict.HOLDS if p < 0.05 else row.verdict)",
        "changed(row, **{'verdict': Verdict.HOLDS})",
        "Judgement(Verdict.HOLDS)",
        "def f(): return Verdict.HOLDS",
        "def f(p): return None if p else types.Verdict.HOLDS",
        "def f(p): return p and Verdict.HOLDS",
        "def f(): return Verdict.HOLDS, 0.05",
        "def f(): yield Verdict.HOLDS",
        "f = lambda p: Verdict.HOLDS if p else None",
        "x = Verdict.HOLDS",
        "def f():\n    x = y or Verdict.HOLDS",
        "def f():\n    row.verdict = Verdict.HOLDS",
        "def f():\n    verdict, p = Verdict.HOLDS, 0.01",
        "def f():\n    if (x := Verdict.HOLDS): pass",
        "class Row:\n    verdict: Verdict = Verdict.UNDECIDED",
        "class Row:\n    verdict: Verdict = column('meaning', Verdict.UNDECIDED)",
        "BY_SIDE = {True: Verdict.HOLDS}",
        "def f(verdict=Verdict.HOLDS): pass",
        "Verdict('holds')",
        "Verdict['HOLDS']",
    ],
)
def test_an_assigned_verdict_is_recognised(code):
    assert assigned_in(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "few = judgement.verdict is Verdict.TOO_FEW_GROUPS",
        "def f(row): return row.verdict not in (Verdict.HOLDS, Verdict.FLIPS)",
        "def f(row): return words.borderline if row.verdict is Verdict.BORDERLINE_COVERAGE else ''",
        "WORDS = {Verdict.HOLDS: 'holds'}",
        "GOOD = (Verdict.HOLDS, Verdict.AS_PUBLISHED)",
        "GOOD, BAD = (Verdict.HOLDS, Verdict.AS_PUBLISHED), (Verdict.OPPOSITE, Verdict.FLIPS)",
        "def f(): first = (Verdict.TOO_FEW_GROUPS, *Verdict)",
        "MARKS[Verdict.HOLDS] = '*'",
        "MARKS = dict.fromkeys((Verdict.HOLDS, Verdict.AS_PUBLISHED), '*')",
        "changed(row, verdict=judgement.verdict)",
        "def f(row): return row.verdict",
    ],
)
def test_comparing_and_describing_verdicts_assigns_none(code):
    assert assigned_in(ast.parse(code)) == []


def test_a_column_default_is_recognised_as_declared():
    rows = "class Row:\n    verdict: Verdict = column('meaning', Verdict.UNDECIDED)\n    other: Verdict = Verdict.HOLDS"
    assert column_defaults(ast.parse(rows)) == {2}

"""Markdown pages of declarations, for `reference`: tables, and the members of a class with their comments."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence

Row = tuple[str, str, str]
NOTE = "Generated from the code by `tools/reference.py`; edit the code, not this page."


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|---" * len(header) + "|"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in row) + " |"
    yield ""


def code(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def page(title: str, about: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", f"{about} {NOTE}", "", *lines]).rstrip() + "\n"


def body(module: types.ModuleType) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(module)).body


def comment(module: types.ModuleType, node: ast.stmt | ast.expr) -> str:
    """What stands behind it on its last line, or alone on the line before it."""
    lines = inspect.getsource(module).splitlines()
    behind = lines[(node.end_lineno or 1) - 1].partition("  # ")[2]
    before = lines[node.lineno - 2].strip()
    return behind or (before.removeprefix("# ") if before.startswith("# ") else "")


def classes(
    module: types.ModuleType,
    names: Sequence[str],
    row: Callable[..., Iterator[Row]] | None = None,
    second: str = "type",
) -> Iterator[str]:
    nodes = {node.name: node for node in body(module) if isinstance(node, ast.ClassDef)}
    for name in names:
        about = " ".join((ast.get_docstring(nodes[name]) or "").split())
        yield from (f"## {name}", "", *([about, ""] if about else []))
        listed = (one for node in nodes[name].body for one in (row or _member)(module, node))
        yield from table(("member" if second == "type" else "key", second, "meaning"), listed)


def key(module: types.ModuleType, node: ast.stmt) -> Iterator[Row]:
    """A field of a file, and what it is if left out."""
    if not isinstance(node, ast.AnnAssign):
        return
    constant = isinstance(node.value, ast.Constant) and node.value.value not in ("", None)
    default = f"`{ast.unparse(node.value)}`" if node.value and constant else ""
    yield f"`{ast.unparse(node.target)}`", default, comment(module, node)


def _member(module: types.ModuleType, node: ast.stmt) -> Iterator[Row]:
    if isinstance(node, ast.AnnAssign):
        default = (
            f" = {ast.unparse(node.value)}" if node.value and "default_factory" not in ast.unparse(node.value) else ""
        )
        yield f"`{ast.unparse(node.target)}`", f"`{ast.unparse(node.annotation)}{default}`", comment(module, node)
    elif isinstance(node, ast.Assign):
        yield f"`{ast.unparse(node.targets[0])}`", f"`{ast.unparse(node.value)}`", comment(module, node)
    elif isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "model_post")):
        yield f"`{_call(node)}`", f"`{ast.unparse(node.returns) if node.returns else ''}`", _about(node)


def _call(node: ast.FunctionDef) -> str:
    if any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
        return node.name
    return f"{node.name}({', '.join(argument.arg for argument in node.args.args[1:])})"


def _about(node: ast.FunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split())

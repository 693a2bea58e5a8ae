"""Writes docs/reference/ from the code: commands, settings, measures, claims, columns, models, assets and studies.

    python tools/reference.py

A test compares the committed pages with what this gives.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import typer

from trueprobe import assets, probes
from trueprobe import types as core
from trueprobe.cli import app
from trueprobe.models import contract, rows
from trueprobe.probes import Probe, base, display, templates
from trueprobe.probes.counteracts import material as stereotypes
from trueprobe.probes.distractors import material as distractor_sets
from trueprobe.probes.seat.material import SeatMaterial
from trueprobe.runs import schema, study
from trueprobe.statistics import measure
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Claim, Gate, Lead, Measure
from trueprobe.training import nursery
from trueprobe.types import Item, WordList

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "Generated from the code by `tools/reference.py`; edit the code, not this page."
DEPTH = re.compile(r"_(top\d+)$")  # of a column that is there once per depth
SAMPLES = {"crows_pairs": {"data": "sample"}, "stereoset": {"data": "sample"}}  # where the data is fetched
KINDS = {"masked", "causal"}
Declared = TypeVar("Declared", Measure, Claim)
Row = tuple[str, str, str]
MOST_EXAMPLES = 20


def pages() -> dict[str, str]:
    """Every page by its path within docs/reference/."""
    written = {f"probes/{name}.md": probe_page(name) for name in probes.names()}
    written |= {"commands.md": commands_page(), "columns.md": columns_page(), "shipped.md": shipped_page()}
    return written | {"types.md": types_page(), "contracts.md": contracts_page(), "files.md": files_page()}


def read(name: str) -> str:
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


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


# ---------------------------------------------------------------- commands


def commands_page() -> str:
    about = "For everyone at a terminal: every command with its arguments and options."
    return page("Commands", about, _group(typer.main.get_command(app), "trueprobe"))


def _group(group: Any, called: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from _group(command, f"{called} {name}")
        else:
            yield from _command(command, f"{called} {name}")


def _command(command: Any, called: str) -> Iterator[str]:
    visible = [one for one in command.params if not one.hidden and one.name != "help"]
    yield from (f"## {called}", "", " ".join(command.help.split()), "")
    yield from table(("option", "default", "meaning"), ((_option(p), _default(p), p.help or "") for p in visible))
    examples = [line for line in (command.epilog or "").splitlines()[1:] if line]
    if examples:
        yield from ("```sh", *examples, "```", "")


def _option(param: Any) -> str:
    value = "" if getattr(param, "is_flag", True) else f" {param.metavar or param.name.upper()}"
    named = param.opts[0] if param.opts[0].startswith("--") else param.metavar or param.name.upper()
    return f"`{named}{value if named.startswith('--') else ''}`"


def _default(param: Any) -> str:
    if param.required:
        return "needed"
    return "" if param.default in (None, False, (), "") else f"`{param.default}`"


# ---------------------------------------------------------------- probes


def probe_page(name: str) -> str:
    probe = probes.make(name, SAMPLES.get(name))
    if probe.shares_vocabulary:
        probe = probe.with_vocabulary(WordList("common", ("bear",)))
    about = f"For users of the probe [{name}](../../probes/{name}.md): its settings, measures, claims and columns."
    return page(f"{name}: reference", about, _probe(probe))


def _probe(probe: Probe) -> Iterator[str]:
    yield from (f"**Question.** {probe.question}", "", f"**Paper.** {probe.paper}", "")
    yield from (f"**Does not show.** {probe.does_not_show}", "", "## Settings", "")
    yield from table(("setting", "default", "values", "meaning"), map(_setting, *_settings(probe)))
    yield from ("## Examples of items", "", *_examples(probe.items()))
    if meanings := probe.summary.meanings:
        yield from table(("value", "meaning"), ((f"`{value}`", meaning) for value, meaning in meanings.items()))
    yield from ("## Measures", "", f"Resampled with: {code(probe.factors)}. Conditions of the numbers:", "")
    yield from table(("condition", "values"), _conditions(probe.measures()))
    header = ("measure", "is", "unit", "neutral", "needs")
    yield from table(header, (_measure(one) for one in _first_of_name(probe.measures())))
    if primary := probe.primary:
        yield from ("Primary, so that it has a verdict in a report:", "")
        rows = ((f"`{one.measure}`", _where(one.where), code(one.claims)) for one in primary)
        yield from table(("measure", "where", "claims"), rows)
    if claims := probe.claims():
        yield from ("## Claims", "", *_repeated(claims))
        yield from table(("claim", "statement", "quantity", "expected"), map(_claim, _first_of_name(claims)))
    if probe.name == "seat":
        yield from _tests()
    yield from ("## Columns of the observations", "")
    yield from table(("column", "meaning"), _columns(probe.columns()))


def _examples(items: Sequence[Item]) -> Iterator[str]:
    """Items until every value of a condition is among them, as far as a page can hold them."""
    listed: set[tuple[str, str | int]] = set()
    shown: list[Item] = []
    for item in items:
        if len(shown) < MOST_EXAMPLES and not listed.issuperset(item.conditions.items()):
            listed.update(item.conditions.items())
            shown.append(item)
    rows = ((*(code_of(str(value)) for value in item.conditions.values()), item.text) for item in shown)
    yield from table((*items[0].conditions, "text"), rows)


def code_of(value: str) -> str:
    return f"`{value}`" if value else ""


def _tests() -> Iterator[str]:
    """What SEAT's tests compare: targets X and Y, attributes A and B."""
    yield from ("## Tests", "")
    built = SeatMaterial.read("weat").built()
    yield from table(("test", "X", "Y", "A", "B"), ((f"`{one.name}`", *one.titles.values()) for one in built))


def _settings(probe: Probe) -> tuple[Iterable[str], Iterable[Any]]:
    fields = probe.Settings.model_fields
    last = sorted(fields, key=lambda key: key == "resample_seed")
    return last, [fields[key] for key in last]


def _setting(key: str, field: Any) -> tuple[str, str, str, str]:
    default = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else str(field.default)
    return f"`{key}`", f"`{default}`" if default else "", _values(field.annotation), field.description or ""


def _values(annotation: Any) -> str:
    """`Literal["a", "b"]` -> "`a`, `b`"; a union has the values of its parts."""
    if isinstance(annotation, type):
        return {int: "integer", bool: "`true`, `false`"}.get(annotation, "text")
    parts = get_args(annotation)
    if all(isinstance(part, str) for part in parts):
        return code(parts)
    if Ellipsis in parts:
        return "several, separated by commas"
    return ", ".join(map(_values, parts))


def _first_of_name(declared: Iterable[Declared]) -> list[Declared]:
    first: dict[str, Declared] = {}
    for one in declared:
        first.setdefault(one.name, one)
    return list(first.values())


def _conditions(measures: Iterable[Measure]) -> Iterator[tuple[str, str]]:
    values: dict[str, dict[str, None]] = {}
    for one in measures:
        for name, value in one.reported.items():
            values.setdefault(name, {})[value] = None
    shown = (name for name in values if not name.startswith("vocabulary_"))  # size and hash depend on the models
    yield from ((f"`{name}`", code(values[name])) for name in shown)


def _measure(one: Measure) -> tuple[str, str, str, str, str]:
    words = {means: "mean of ", group_means: "mean over groups of "}.get(one.function, "from ")
    neutral = "" if one.neutral is None else f"{one.neutral:g}"
    needs = "; ".join(filter(None, (_gate(one.gate), _coverage(one.coverage))))
    return f"`{one.name}`", words + code(map(_stem, one.columns)), one.unit, neutral, needs


def _stem(column: str) -> str:
    return DEPTH.sub("_…", column)


def _gate(gate: Gate | None) -> str:
    return f"gate: mean of `{gate.column}` at least {gate.least:g}" if gate else ""


def _coverage(column: str) -> str:
    return f"coverage: `{_stem(column)}`" if column else ""


def _repeated(claims: Iterable[Claim]) -> Iterator[str]:
    """The conditions under which every claim is computed, where they are several."""
    values: dict[str, dict[str, None]] = {}
    for claim in claims:
        for name, value in claim.conditions.items():
            values.setdefault(name, {})[str(value)] = None
    for name, distinct in values.items():
        if len(distinct) > 1:
            yield from (f"Each for `{name}` = {', '.join(distinct)}.", "")


def _claim(claim: Claim) -> tuple[str, str, str, str]:
    less = f", less over {_where(_other(claim.minus, claim.plus))}" if claim.minus else ""
    between = _between(claim)
    of = f"`{_stem(claim.column)}` over {_where(claim.plus)}{less}{between}"
    needs = "; ".join(filter(None, (_only(claim), _gate(claim.gate), _coverage(claim.coverage), _trivial(claim))))
    expected = f"{claim.direction.replace('_', ' ')} {claim.threshold:g}"
    return f"`{claim.name}`", claim.statement, of + (f" ({needs})" if needs else ""), expected


def _other(minus: Mapping[str, Any], plus: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: values for name, values in minus.items() if plus.get(name) != values}


def _between(claim: Claim) -> str:
    if claim.between is None:
        return ""
    if isinstance(claim.between, Lead):
        others = claim.between.others
        second = _network(others[0]) if len(others) == 1 else "each other network of the paper"
        first = _network(claim.between.leader)
    else:
        first, second = claim.between
    times = f" times {claim.times:g}" if claim.times != 1 else ""
    return f"; {first} less {second}{times}"


def _network(size: Any) -> str:
    return f"{size.architecture} of {size.layers} layers, width {size.width}"


def _only(claim: Claim) -> str:
    only = claim.architectures or (claim.kinds if set(claim.kinds) < KINDS else ())
    return f"only {', '.join(only)}" if only else ""


def _trivial(claim: Claim) -> str:
    return "`not_contradicted` at best" if claim.trivial else ""


def _where(where: Mapping[str, Any]) -> str:
    """`{"k": (3, 5)}` -> "k = 3, 5"; a run of ten numbers is written by its ends."""
    return "; ".join(f"{name} = {_listed(value)}" for name, value in where.items()) or "all"


def _listed(value: Any) -> str:
    values = list(value) if isinstance(value, tuple) else [value]
    return f"{values[0]} to {values[-1]}" if len(values) > 5 else ", ".join(map(str, values))


def _columns(columns: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, meaning in columns.items():
        stem = DEPTH.sub("", name)
        at = [other.removeprefix(f"{stem}_") for other in columns if re.fullmatch(rf"{stem}_(top\d+|all)", other)]
        if stem != name and name == f"{stem}_{at[0]}":
            yield f"`{stem}_…` ({', '.join(at)})", meaning
        elif stem == name and f"{name.removesuffix('_all')}_top10" not in columns:
            yield f"`{name}`", meaning


# ---------------------------------------------------------------- tables, models, assets, studies


def columns_page() -> str:
    about = "For readers of a [run folder](../run-folder.md): every column. An absent number is null."
    fixed = {"items": schema.ITEM_COLUMNS, "observations": schema.OBSERVATION_COLUMNS}
    files = ("Manifest", "StudyDescription", "ProbeDeclaration", "LocalPaths")
    return page("Columns of the tables", about, [*_fixed(fixed), schema.column_reference(), *_classes(schema, files)])


def _fixed(tables: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for name, columns in tables.items():
        yield from (f"### {name}", "", "Conditions are columns `condition_…`, resampled groups `group_…`.", "")
        yield from table(("column", "meaning"), ((f"`{key}`", meaning) for key, meaning in columns.items()))


def shipped_page() -> str:
    about = "For everyone who looks for a model, a data set or a study to start from."
    return page("Models, assets and studies", about, [*_models(), *_assets(), *_studies()])


def _models() -> Iterator[str]:
    yield from ("## Shipped models", "", "Self-trained on Wikipedia text, to show and to test the method.", "")
    rows = (
        (
            f"`{m['model']}`",
            m["kind"],
            str(m["seeds"]),
            f"{m['parameters'] / 1e6:.1f} M",
            m["licence"],
        )
        for m in nursery.catalogue()
    )
    yield from table(("model", "kind", "seeds", "parameters", "licence"), rows)


def _assets() -> Iterator[str]:
    yield from ("## Assets", "", "`trueprobe fetch NAME` gets one; `trueprobe list assets` has sources and notes.", "")
    header = ("asset", "what", "made by", "licence", "download", "on disk")
    cards = [assets.card(name) for name in assets.names()]
    yield from table(
        header,
        ((f"`{c.name}`", c.title, c.made_by, c.licence, _size(c.download_bytes), _size(c.ready_bytes)) for c in cards),
    )


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _studies() -> Iterator[str]:
    yield from ("## Studies", "", "`trueprobe run NAME` runs one.", "")
    read = {name: study.read_study(name) for name in study.shipped()}
    rows = ((f"`{n}`", s.title, code(p.label for p in s.probes), code(s.models)) for n, s in read.items())
    yield from table(("study", "what", "probes", "models"), rows)


# ---------------------------------------------------------------- types and contracts

ANSWERED = ("FillBlank", "Filled", "Word", "ScoreText", "Scored", "FollowsText", "Follows", "EmbedText", "Vector")
TYPES = ("Item", *ANSWERED, "Token", "Card", "Observation", "Verdict", "Reason", "Direction")
CONTRACTS: Mapping[types.ModuleType, tuple[str, ...]] = {
    base: ("Probe",),
    measure: ("Measure", "Claim", "Gate", "Flips"),
    display: ("Summary", "Primary", "Figure", "Table", "ItemTable"),
    contract: ("RowModel", "AnswerModel"),
    rows: ("Read", "Batch"),
}

FILES: Mapping[types.ModuleType, tuple[str, ...]] = {
    templates: ("FileCard",),
    stereotypes: ("CounterActsMaterial", "Group", "Background", "Wording"),
    distractor_sets: ("DistractorMaterial", "ItemSet", "Pair", "SetWording", "Attractor", "Oddity"),
}


def types_page() -> str:
    about = "For users of the Python interface: what is asked and answered (`trueprobe.types`). Logs are natural."
    codes = ("## Codes of WhyNot", "", "Why there is no number.", "", *_table_of_codes())
    return page("Types", about, [*_classes(core, TYPES), *codes])


def contracts_page() -> str:
    about = "For authors of [probes](../adding-a-probe.md) and [backends](../adding-a-model.md): what they declare."
    return page("Contracts", about, [line for module, names in CONTRACTS.items() for line in _classes(module, names)])


def files_page() -> str:
    about = "For authors of [stereotype material](../probes/writing-a-stereotype.md) and "
    about += "[distractor sets](../probes/writing-a-distractor-set.md): every key of their TOML files."
    lines = [line for module, names in FILES.items() for line in _classes(module, names, _key, "default")]
    return page("Files of material", about, lines)


def _table_of_codes() -> Iterator[str]:
    (codes,) = (node for node in _body(core) if isinstance(node, ast.Assign) and "Code" in ast.unparse(node.targets[0]))
    members = [node for node in ast.walk(codes) if isinstance(node, ast.Constant)]
    return table(("code", "meaning"), ((f"`{node.value!s}`", _comment(core, node)) for node in members))


def _body(module: types.ModuleType) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(module)).body


def _comment(module: types.ModuleType, node: ast.stmt | ast.expr) -> str:
    """What stands behind it on its last line, or alone on the line before it."""
    lines = inspect.getsource(module).splitlines()
    behind = lines[(node.end_lineno or 1) - 1].partition("  # ")[2]
    before = lines[node.lineno - 2].strip()
    return behind or (before.removeprefix("# ") if before.startswith("# ") else "")


def _classes(
    module: types.ModuleType,
    names: Sequence[str],
    row: Callable[..., Iterator[Row]] | None = None,
    second: str = "type",
) -> Iterator[str]:
    nodes = {node.name: node for node in _body(module) if isinstance(node, ast.ClassDef)}
    for name in names:
        about = " ".join((ast.get_docstring(nodes[name]) or "").split())
        yield from (f"## {name}", "", *([about, ""] if about else []))
        listed = (one for node in nodes[name].body for one in (row or _member)(module, node))
        yield from table(("member" if second == "type" else "key", second, "meaning"), listed)


def _key(module: types.ModuleType, node: ast.stmt) -> Iterator[Row]:
    """A field of a file, and what it is if left out."""
    if not isinstance(node, ast.AnnAssign):
        return
    constant = isinstance(node.value, ast.Constant) and node.value.value not in ("", None)
    default = f"`{ast.unparse(node.value)}`" if node.value and constant else ""
    yield f"`{ast.unparse(node.target)}`", default, _comment(module, node)


def _member(module: types.ModuleType, node: ast.stmt) -> Iterator[Row]:
    if isinstance(node, ast.AnnAssign):
        default = (
            f" = {ast.unparse(node.value)}" if node.value and "default_factory" not in ast.unparse(node.value) else ""
        )
        yield f"`{ast.unparse(node.target)}`", f"`{ast.unparse(node.annotation)}{default}`", _comment(module, node)
    elif isinstance(node, ast.Assign):
        yield f"`{ast.unparse(node.targets[0])}`", f"`{ast.unparse(node.value)}`", _comment(module, node)
    elif isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "model_post")):
        yield f"`{_call(node)}`", f"`{ast.unparse(node.returns) if node.returns else ''}`", _about(node)


def _call(node: ast.FunctionDef) -> str:
    if any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
        return node.name
    return f"{node.name}({', '.join(argument.arg for argument in node.args.args[1:])})"


def _about(node: ast.FunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split())


def main() -> None:
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Writes docs/reference/ from the code: commands, settings, measures, claims, columns, models, assets and studies;
and the self-assessments in docs/probes/.

    python tools/reference.py

A test compares the committed pages with what this gives.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from column_reference import column_reference
from declarations import body, classes, code, comment, key, page, table
from probe_reference import probe_page
from trueprobe import assets, probes
from trueprobe import types as core
from trueprobe.cli import app
from trueprobe.models import contract, rows
from trueprobe.probes import assessment_of, base, display, templates
from trueprobe.probes.counteracts import material as stereotypes
from trueprobe.probes.distractors import material as distractor_sets
from trueprobe.runs import schema, study
from trueprobe.statistics import measure
from trueprobe.training import nursery

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER, PROBES = DOCS / "reference", DOCS / "probes"
MARKS = ("<!-- generated from the assessment.toml of its package -->", "<!-- end -->")


def pages() -> dict[str, str]:
    """Every page by its path within docs/reference/."""
    written = {f"probes/{name}.md": probe_page(name) for name in probes.names()}
    written |= {"commands.md": commands_page(), "columns.md": columns_page(), "shipped.md": shipped_page()}
    return written | {"types.md": types_page(), "contracts.md": contracts_page(), "files.md": files_page()}


def assessed_pages() -> dict[str, str]:
    """The pages of docs/probes/ by their names, each with its probe's assessment between two marks."""
    return {f"{name}.md": _assessed(name) for name in probes.names() if assessment_of(name)}


def _assessed(name: str) -> str:
    text, assessment = (PROBES / f"{name}.md").read_text(encoding="utf-8"), assessment_of(name)
    assert assessment is not None
    parts = "\n\n".join(fill(f"**{title}.** {part}", 120) for title, part in assessment.parts)
    section = f"{MARKS[0]}\n\n## Self-assessment\n\n{parts}\n\n{MARKS[1]}\n"
    before, _, rest = text.partition(MARKS[0])
    return f"{before.rstrip()}\n\n{section}{rest.partition(MARKS[1])[2].lstrip()}"


def read(name: str) -> str:
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


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


# ---------------------------------------------------------------- tables, models, assets, studies


def columns_page() -> str:
    about = "For readers of a [run folder](../run-folder.md): every column. An absent number is null."
    fixed = {"items": schema.ITEM_COLUMNS, "observations": schema.OBSERVATION_COLUMNS}
    files = ("Manifest", "StudyDescription", "ProbeDeclaration", "LocalPaths")
    return page("Columns of the tables", about, [*_fixed(fixed), column_reference(), *classes(schema, files)])


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
    return page("Types", about, [*classes(core, TYPES), *codes])


def contracts_page() -> str:
    about = "For authors of [probes](../adding-a-probe.md) and [backends](../adding-a-model.md): what they declare."
    return page("Contracts", about, [line for module, names in CONTRACTS.items() for line in classes(module, names)])


def files_page() -> str:
    about = "For authors of [stereotype material](../probes/writing-a-stereotype.md) and "
    about += "[distractor sets](../probes/writing-a-distractor-set.md): every key of their TOML files."
    lines = [line for module, names in FILES.items() for line in classes(module, names, key, "default")]
    return page("Files of material", about, lines)


def _table_of_codes() -> Iterator[str]:
    (codes,) = (node for node in body(core) if isinstance(node, ast.Assign) and "Code" in ast.unparse(node.targets[0]))
    members = [node for node in ast.walk(codes) if isinstance(node, ast.Constant)]
    return table(("code", "meaning"), ((f"`{node.value!s}`", comment(core, node)) for node in members))


def main() -> None:
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")
    for name, text in assessed_pages().items():
        (PROBES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

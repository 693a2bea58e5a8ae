"""`trueprobe check` and `trueprobe new`: for authors of probes and backends.

`check` runs the public contract tests, with exit code 1 where one fails. `new` writes a commented probe to start from,
and its test; both pass as they stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated

import typer

from trueprobe.cli.common import AllowPickle, Json, Setting, check_app, example, new_app, say, settings_of
from trueprobe.errors import BadInput, printable

if TYPE_CHECKING:
    from trueprobe.runs.check.probe import Check

SKELETONS = Path(__file__).parent / "skeletons"


@check_app.command("probe", epilog=example("trueprobe check probe counteracts"))
def check_probe(name: str, settings: Setting = None, as_json: Json = False) -> None:
    """Check a probe's contract: ids, columns, sign, the same items each time."""
    from trueprobe.runs.check import check_probe as contract

    _print_checks(list(contract(name, settings_of(settings))), as_json)


@check_app.command("model", epilog=example("trueprobe check model ./my-bert"))
def check_model(
    spec: str,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16")] = "float32",
    allow_pickle: AllowPickle = False,
    as_json: Json = False,
) -> None:
    """Check a model's contract: batches, order, repetition, special tokens."""
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.models import Options, open_model
    from trueprobe.runs.check import check_model as contract

    progress = terminal_progress()
    with progress.task(f"opening {spec}"):
        model = open_model(spec, Options(device, dtype, allow_pickle))
    _print_checks(list(contract(model, progress=progress)), as_json)


def _print_checks(checks: Sequence[Check], as_json: bool) -> None:
    if as_json:
        rows = [
            {"check": check.name, "passed": bool(check.passed), "detail": check.detail, "skipped": check.skipped}
            for check in checks
        ]
        print(json.dumps(rows, indent=1))
    else:
        for check in checks:
            say(printable(f"{check.word:4} {check.name}" + (f" ({check.detail})" if check.detail else "")))
    if not all(check.passed for check in checks):
        raise typer.Exit(1)


@new_app.command("probe", epilog=example("trueprobe new probe colours", "trueprobe new probe colours --out probes"))
def new_probe(
    name: Annotated[str, typer.Argument(help="name of probe and file: lower-case letters, digits and _")],
    out: Annotated[Path, typer.Option(help="the folder to write to")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a commented skeleton NAME.py that runs, and test_NAME.py."""
    from trueprobe import probes
    from trueprobe.paths import write_text

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name.startswith("test_"):
        raise BadInput(
            f"'{name}' cannot name a probe: use lower-case letters, digits and _, a letter first, not test_…"
        )
    if name in probes.names():
        raise BadInput(f"there is a probe called '{name}'; choose another name")
    paths = [out / f"{name}.py", out / f"test_{name}.py"]
    for path in paths:
        if path.exists():
            raise BadInput(f"{path} exists; nothing was written")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    words = {"name": name, "title": name.replace("_", " ").capitalize(), "class_name": class_name}
    for path, skeleton in zip(paths, ("probe.py.txt", "test_probe.py.txt"), strict=True):
        write_text(path, Template((SKELETONS / skeleton).read_text(encoding="utf-8")).substitute(words))
    if as_json:
        print(json.dumps({"files": [str(path) for path in paths]}))
        return
    where = paths[0] if paths[0].is_absolute() else f"./{paths[0]}"
    say(f"{paths[0]} and {paths[1]}; then: trueprobe check probe {where}")

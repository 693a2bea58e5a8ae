"""`trueprobe check`: the public contract tests on a probe or a model; exit code 1 where one fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trueprobe.cli.common import AllowPickle, Json, Setting, check_app, example, settings_of

if TYPE_CHECKING:
    from trueprobe.runs.check.outcome import Check


@check_app.command("probe", epilog=example("trueprobe check probe counteracts"))
def check_probe(name: str, settings: Setting = None, as_json: Json = False) -> None:
    """A probe's contract: ids, columns, sign, the same items each time."""
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
    """A model's contract: batches, order, repetition, special tokens."""
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.models import Options, open_model
    from trueprobe.runs.check import check_model as contract

    progress = terminal_progress()
    with progress.task(f"opening {spec}"):
        model = open_model(spec, Options(device, dtype, allow_pickle))
    _print_checks(list(contract(model, progress=progress)), as_json)


def _print_checks(checks: Sequence[Check], as_json: bool) -> None:
    if as_json:
        print(json.dumps([_row(check) for check in checks], indent=1))
    else:
        for check in checks:
            print(f"{check.word:4} {check.name}" + (f" ({check.detail})" if check.detail else ""))
    if not all(check.passed for check in checks):
        raise typer.Exit(1)


def _row(check: Check) -> dict[str, str | bool]:
    return {"check": check.name, "passed": bool(check.passed), "detail": check.detail, "skipped": check.skipped}

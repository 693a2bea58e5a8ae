"""`trueprobe new`: a commented probe to start from, and its test. Both pass as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from trueprobe.cli.common import Json, example, new_app
from trueprobe.errors import BadInput

SKELETONS = Path(__file__).parent / "skeletons"


@new_app.command("probe", epilog=example("trueprobe new probe colours", "trueprobe new probe colours --out probes"))
def new_probe(
    name: Annotated[str, typer.Argument(help="small letters, digits and _; the probe's and the file's")],
    out: Annotated[Path, typer.Option(help="the folder to write to")] = Path(),
    as_json: Json = False,
) -> None:
    """A commented skeleton NAME.py that runs, and test_NAME.py."""
    from trueprobe import probes
    from trueprobe.paths import write_text

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name.startswith("test_"):
        raise BadInput(f"no probe can be called '{name}': small letters, digits and _, a letter first, not test_…")
    if name in probes.names():
        raise BadInput(f"there is a probe called '{name}'; choose another name")
    paths = [out / f"{name}.py", out / f"test_{name}.py"]
    for path in paths:
        if path.exists():
            raise BadInput(f"{path} exists; nothing was written")
    words = {"name": name, "title": name.replace("_", " ").capitalize(), "class_name": _class_name(name)}
    for path, skeleton in zip(paths, ("probe.py.txt", "test_probe.py.txt"), strict=True):
        write_text(path, Template((SKELETONS / skeleton).read_text(encoding="utf-8")).substitute(words))
    if as_json:
        print(json.dumps({"files": [str(path) for path in paths]}))
        return
    where = paths[0] if paths[0].is_absolute() else f"./{paths[0]}"
    print(f"{paths[0]} and {paths[1]}; then: trueprobe check probe {where}")


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))

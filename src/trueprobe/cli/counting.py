"""The command that counts a run in many ways. Heavy imports happen inside."""

import dataclasses
import json
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from trueprobe.cli.common import AllowCode, AllowPickle, AllowServers, Json, Store, app, example, interruptible, say
from trueprobe.errors import BadInput


@app.command(
    epilog=example(
        "trueprobe multiverse runs/mine",
        "trueprobe multiverse runs/mine --probe counteracts --rows 500",
        "trueprobe multiverse runs/mine --figures svg,html --json",
    )
)
@interruptible("the same command counts again")
def multiverse(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a finished run folder")],
    probe: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="a probe of the run; repeatable; by default all")
    ] = None,
    rows: Annotated[
        int, typer.Option(min=0, help="rows that may be computed; 0: cached answers and observations alone")
    ] = 0,
    figures: Annotated[
        str, typer.Option(metavar="FORMATS", help="svg, png, html: curves as files in RUN/multiverse; or none")
    ] = "svg",
    store: Store = None,
    allow_code: AllowCode = False,
    allow_pickle: AllowPickle = False,
    allow_servers: AllowServers = False,
    as_json: Json = False,
) -> None:
    """One question counted in all ways its probe declares: a curve, the effect of each choice, and one joint test.

    Nothing is concluded from single ways. Answers come from the answer store of the run.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.multiverse import multiverse as counted
    from trueprobe.multiverse import write_tables
    from trueprobe.permissions import Permissions, ServerAccess
    from trueprobe.results.curve import FORMATS, write_curve
    from trueprobe.results.text import multiverse as words
    from trueprobe.results.view.multiverse import Curve

    forms = [form for form in figures.split(",") if form and form != "none"]
    if unknown := sorted(set(forms) - set(FORMATS)):
        raise BadInput(f"figures are written as {', '.join(FORMATS)}, not as {', '.join(unknown)}")
    permissions = Permissions(allow_code, allow_pickle, ServerAccess.for_run_folder(False, allow_servers))
    results = counted(folder, probe or [], rows, store, terminal_progress(), permissions)
    write_tables(folder, results)
    every = [Curve(one.whole, one.specifications, one.axes) for one in results]
    paths = [path for curve in every for path in write_curve(curve, folder / "multiverse", forms)]
    if as_json:
        plain = [
            {
                **dataclasses.asdict(one.whole),
                "axes": [dataclasses.asdict(axis) for axis in one.axes],
                "specifications": [dataclasses.asdict(way) for way in one.specifications],
                "rows_needed": dict(one.rows_needed),
                "rows_computed": one.rows_computed,
            }
            for one in results
        ]
        print(json.dumps(plain, indent=1, ensure_ascii=False))
        return
    for curve, one in zip(every, results, strict=True):
        say(words.title(curve))
        for sentence in (*words.sentences(curve), *words.left_out(one.rows_needed)):
            say(textwrap.fill(sentence, 80, initial_indent="  ", subsequent_indent="    "))
    for path in paths:
        say(str(path))

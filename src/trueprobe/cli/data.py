"""The commands that get data: assets from their owners, and further words for a word list from a run."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from trueprobe.cli.common import AllowPickle, AllowServers, Json, Store, app, example, interruptible, note, say
from trueprobe.errors import BadInput, FailedRun, printable, shortened


@app.command(
    epilog=example("trueprobe fetch crows-pairs stereoset-dev", "trueprobe fetch crows-pairs --from crows_pairs.csv")
)
@interruptible("partial files were removed; the same command starts again")
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="ASSET", help="see: trueprobe list assets")],
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="your copy: the file, its archive, or a folder")
    ] = None,
    as_json: Json = False,
) -> None:
    """Download data and models from their owners and check every byte.

    All are tried; exit code 1 if one could not be fetched.
    """
    from trueprobe import assets
    from trueprobe.cli import listing
    from trueprobe.cli.progress import terminal_progress

    if from_file is not None and len(names) > 1:
        raise BadInput(f"--from {from_file} goes with one asset, not with {len(names)}")
    for name in names:
        assets.card(name)  # a wrong name is reported before anything is downloaded
    rows, failed = [], {}
    for name in dict.fromkeys(names):
        try:
            row = listing.fetched(name, assets.obtain(name, from_file, terminal_progress()))
        except (BadInput, FailedRun) as error:
            if len(set(names)) == 1:
                raise
            failed[name] = str(error)
            continue
        for refused in row["refused"]:
            print(f"trueprobe: did not use {printable(refused)}", file=sys.stderr)
        if not as_json:
            say(printable(listing.fetched_text(row)))
        rows.append(row)
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    if failed:
        note(f"{name}: {shortened(reason)}" for name, reason in failed.items())
        raise FailedRun(f"{len(failed)} of {len(set(names))} could not be fetched: {', '.join(failed)}")


@app.command(
    epilog=example(
        "trueprobe verbalizer runs/mine --top 30 --out more.toml",
        "trueprobe run counteracts --set verbalizer=more.toml --model ./my-bert",
    )
)
@interruptible()
def verbalizer(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    top: Annotated[int, typer.Option(min=1, help="number of words")] = 30,
    threshold: Annotated[
        float, typer.Option(min=0.5, max=1, help="smallest leaning, beyond the neutral word, of a word for --out")
    ] = 0.8,
    out: Annotated[
        Path | None, typer.Option(help="write words with a clear leaning to a TOML list, to edit and use")
    ] = None,
    store: Store = None,
    allow_pickle: AllowPickle = False,
    allow_servers: AllowServers = False,
    as_json: Json = False,
) -> None:
    """List likely answers that are not in the word list of a run.

    With the leaning that the models give them.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.paths import write_text
    from trueprobe.permissions import Permissions, ServerAccess
    from trueprobe.probes.counteracts import verbalizer as words
    from trueprobe.results.render import reproduction
    from trueprobe.runs.folder import load_run

    run = load_run(folder)
    servers = ServerAccess.for_run_folder(typed=False, allowed=allow_servers)
    permissions = Permissions(pickle=allow_pickle, servers=servers)
    table = words.candidates(run, top, store, terminal_progress(), permissions)
    if as_json:
        print(table.to_json(orient="records", indent=1))
    else:
        say(reproduction.words_text(table))
    if out is not None and not table.empty:
        write_text(out, words.to_toml(table, *words.groups_of(run), threshold))
        print(f"written to {out}: read it, then use it with --set verbalizer={out}", file=sys.stderr)

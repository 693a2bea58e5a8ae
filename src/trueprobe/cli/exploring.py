"""The command that serves the explorer. Heavy imports happen inside, so that --help is instant."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from trueprobe.cli.common import AllowCode, AllowPickle, AllowServers, Store, app, example, interruptible


@app.command(
    epilog=example(
        "trueprobe explore",
        "trueprobe explore --model nursery --model mini",
        "trueprobe explore --run runs/mine",
        "trueprobe explore --model ./my-bert --port 8765 --no-browser",
    )
)
@interruptible("answers so far are cached")
def explore(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="SPEC", help="as for run; default: those of the run, else mini and nursery; repeatable"
        ),
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="a run folder to browse")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="default: any free port")] = 0,
    host: Annotated[
        str, typer.Option(help="let other machines connect: anyone with the address can prompt your models")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="print the address, open no browser")] = False,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 (default), bfloat16 or float16")] = None,
    store: Store = None,
    allow_pickle: AllowPickle = False,
    allow_code: AllowCode = False,
    allow_servers: AllowServers = False,
) -> None:
    """Open a local page to type sentences and see what models predict.

    Ask several models and all their seeds at once, add a clue and see the shift, compare two sentences token by token,
    browse a run. Ends with Ctrl-C.
    """
    import webbrowser

    from trueprobe.cli.progress import terminal_progress
    from trueprobe.explore import Serving, find_models, prepare
    from trueprobe.models import Options
    from trueprobe.permissions import ServerAccess
    from trueprobe.runs.folder import load_run

    default = Options()
    servers = ServerAccess.for_run_folder(bool(model), allow_servers)
    options = Options(device or default.device, dtype or default.dtype, allow_pickle, servers)
    browsed = load_run(run, allow_code) if run else None
    serving = Serving(model or (), browsed, options, store, host, port)
    with terminal_progress().task("looking at the models"):
        selected = find_models(serving)
    if not serving.is_local:
        print(
            f"trueprobe: --host {host}: other machines can reach this page, without encryption; whoever has the "
            "address can ask your models",
            file=sys.stderr,
        )
    prepared = prepare(serving, selected)
    with prepared.ended_by_signals():
        print(f"{prepared.address.url}\nCtrl-C ends it", flush=True)
        if not no_browser:
            webbrowser.open(prepared.address.url)
        prepared.run()

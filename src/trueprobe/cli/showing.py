"""The commands that show a run or models: report, compare, reproduce, explore. Heavy imports happen inside, so that
--help is instant."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from trueprobe.cli.common import (
    AllowCode,
    AllowPickle,
    AllowServers,
    AllowUnequal,
    Json,
    Setting,
    Store,
    app,
    example,
    interruptible,
    settings_of,
)
from trueprobe.errors import BadInput


@app.command(epilog=example("trueprobe report runs/mine --open", "trueprobe report runs/mine --format markdown"))
@interruptible("the same command writes it again")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a run folder")],
    form: Annotated[Literal["html", "markdown", "json"], typer.Option("--format", help="format of the file")] = "html",
    figures: Annotated[
        str, typer.Option(metavar="FORMATS", help="svg, png or svg,png: also write figures and tables as files")
    ] = "",
    open_it: Annotated[bool, typer.Option("--open", help="show it in your browser")] = False,
    as_json: Json = False,
) -> None:
    """Write the findings of a run folder as a page, Markdown or JSON."""
    import webbrowser

    from trueprobe.cli.progress import terminal_progress
    from trueprobe.results.render import files
    from trueprobe.runs.folder import load_run

    formats = files.figure_formats(figures)
    with terminal_progress().task("writing the report"):
        path = files.write(load_run(folder), files.ReportFormat(form), formats)
    if form == "html":
        _print_page(path, folder if formats else None, as_json)
    else:
        print(json.dumps({"file": str(path)}) if as_json else path)
    if open_it:
        webbrowser.open(path.resolve().as_uri())


def _print_page(path: Path, folder: Path | None, as_json: bool) -> None:
    """With a folder, how many figures it has as files."""
    figures = len(list((folder / "figures").glob("*.csv"))) if folder else 0
    if as_json:
        print(json.dumps({"page": str(path), "figures": figures}))
        return
    print(path)
    if folder:
        print(f"{folder / 'figures'}: {figures} figures with their data; {folder / 'tables'}")


@app.command(
    epilog=example(
        "trueprobe compare runs/mine --a nursery --b nursery-small",
        "trueprobe compare runs/mine --a my-bert --b my-gpt2 --json",
        "trueprobe compare runs/mine --contrast 'attractor × number'",
    )
)
@interruptible("the same command compares again")
def compare(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    a: Annotated[str, typer.Option(metavar="MODEL", help="a checkpoint or a family of the run")] = "",
    b: Annotated[str, typer.Option(metavar="MODEL", help="the model compared with: differences are a minus b")] = "",
    contrast: Annotated[
        str, typer.Option(metavar="CONDITIONS", help="in place of two models: differences between conditions, A × B")
    ] = "",
    allow_unequal: AllowUnequal = False,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Compare two models of a run on the items that both scored, or conditions within each model.

    Difference, interval, permutation test and verdict for every measure. With --contrast: main effects, differences and
    interactions of up to three conditions, which are exploratory; --set contrast=… declares one before a run.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.paths import write_whole
    from trueprobe.results.render import comparison
    from trueprobe.runs.compare import compare as compared
    from trueprobe.runs.compare import contrasted
    from trueprobe.runs.folder import load_run
    from trueprobe.runs.schema import frame_of
    from trueprobe.statistics.rows import Difference, Estimate

    if bool(contrast) is bool(a or b) or bool(a) is not bool(b):
        raise BadInput("give --a and --b, or --contrast")
    if contrast:
        rows = contrasted(load_run(folder, allow_code), contrast, terminal_progress())
        table, named = frame_of(rows, Estimate), re.sub(r"\W+", "_", contrast)
        path = folder / "comparisons" / f"contrast_{named}.csv"
        write_whole(path, lambda partial: table.to_csv(partial, index=False))
        if as_json:
            print(table.to_json(orient="records", indent=1))
        else:
            comparison.show_contrasts(rows, path)
        return
    result = compared(load_run(folder, allow_code), a, b, terminal_progress(), allow_unequal)
    table, path = frame_of(result.rows, Difference), folder / f"{result.file}.csv"
    write_whole(path, lambda partial: table.to_csv(partial, index=False))
    if as_json:
        print(table.to_json(orient="records", indent=1))
    else:
        comparison.show(result, path)


@app.command(
    epilog=example(
        "trueprobe reproduce distractors --model replay:Sorting-Through-The-Noise/released",
        "trueprobe reproduce distractors --model bert-base-uncased --items Sorting-Through-The-Noise/released",
        "trueprobe reproduce distractors --model ./my-copy-of-bert --as BertBase",
        "trueprobe reproduce tacit_production --model bert-base-cased --set data=norms.dat",
        "trueprobe reproduce --all --size base --list",
        "trueprobe reproduce --all --size base --items Sorting-Through-The-Noise --items StereoSet/predictions",
        "trueprobe reproduce stereoset --all --models ./models --report stereoset.json",
    )
)
@interruptible("the same command goes on from here")
def reproduce(
    probe: Annotated[str | None, typer.Argument(help="a probe; with --all optional")] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="SPEC", help="a model of the paper, or replay:PATH with its released outputs"),
    ] = None,
    published_as: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="the authors' name of the model")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="all models of the papers, from --models, the hub's cache or the hub")
    ] = False,
    size: Annotated[str, typer.Option(help="with --all: base (12 layers at most), large (24) or all")] = "all",
    models: Annotated[
        Path | None, typer.Option(metavar="DIR", help="with --all: folders under the models' names; nothing is fetched")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="with --all: only list models, sizes and times")] = False,
    items: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="released outputs, compared item by item; repeatable"),
    ] = None,
    report_file: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help=".md or .json; default with --all: OUT/report.md")
    ] = None,
    settings: Setting = None,
    out: Annotated[Path | None, typer.Option(help="the run folder; with --all, a folder of run folders")] = None,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")] = None,
    store: Store = None,
    allow_pickle: AllowPickle = False,
    as_json: Json = False,
) -> None:
    """Print published numbers, ours, and the differences.

    With the authors' options; exit code 1 where they do not agree. With --all, sizes and times come first, and the same
    command goes on where it was stopped.
    """
    from trueprobe.cli import reproducing
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.models import Options
    from trueprobe.runs.papers import Reproduction, settings_by_probe

    which = reproducing.Which(probe, model, published_as, every, size, models, listing)
    which.refuse_what_does_not_go_together(bool(items))
    options = Options(device or Options().device, allow_pickle=allow_pickle)
    chosen = settings_by_probe(probe, settings_of(settings))
    asked = Reproduction(out, chosen, tuple(items or ()), store, options, progress=terminal_progress())
    agree = (reproducing.all_models if every else reproducing.one_model)(which, asked, report_file, as_json)
    if not agree:
        raise typer.Exit(1)


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

"""The commands that ask models and show their answers. Heavy imports happen inside, so that --help is instant."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

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
    note_damaged,
    note_network_store,
    say,
    settings_of,
)
from trueprobe.errors import BadInput, nearest

if TYPE_CHECKING:
    from trueprobe.engine import Compute
    from trueprobe.runs.plan import RunPlan
    from trueprobe.runs.repeat import Repeated


class Where(StrEnum):
    LOCAL = "local"
    RAY = "ray"


class ReportFormat(StrEnum):
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


@app.command(
    "list", epilog=example("trueprobe list probes", "trueprobe list probes counteracts", "trueprobe list assets --json")
)
def list_(
    what: Annotated[str, typer.Argument(metavar="[probes|models|studies|assets]")] = "probes",
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="one of them, with all details")] = "",
    as_json: Json = False,
) -> None:
    """Probes, models, studies and assets that can be named."""
    from trueprobe.cli import listing

    if what not in listing.LISTS:
        raise BadInput(f"nothing to list called '{what}'{nearest(what, list(listing.LISTS))}")
    rows = listing.LISTS[what]()
    known = list(map(listing.name_of, rows))
    if name and name not in known:
        raise BadInput(f"no '{name}' among the {what}{nearest(name, known)}")
    rows = [row for row in rows if name in ("", listing.name_of(row))]
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        say(listing.as_text(what, rows, bool(name)))


@app.command(
    epilog=example(
        "trueprobe items counteracts --count", "trueprobe items counteracts --set occupations=table58 --out items.jsonl"
    )
)
def items(
    probe: str,
    settings: Setting = None,
    count: Annotated[bool, typer.Option("--count", help="only how many, by condition")] = False,
    out: Annotated[Path | None, typer.Option(help="write all items as JSON lines")] = None,
    as_json: Json = False,
) -> None:
    """What a probe asks, without any model."""
    from trueprobe import probes
    from trueprobe.cli import listing
    from trueprobe.paths import write_text
    from trueprobe.runs.needed import items_needed

    made = probes.make(probe, settings_of(settings), allow_code=True)
    asked = made.items()
    if out is not None:
        write_text(out, listing.items_text(asked))
        print(f"{len(asked):,} items written to {out}")
        return
    rows = listing.counts(asked)
    if as_json:
        totals = {"total": len(asked), "needed": items_needed(made, asked)}
        print(json.dumps({"counts": rows, **totals}, indent=1))
        return
    say(listing.counts_text(rows) if count else listing.show_items(asked))
    if count and (needed := items_needed(made, asked)):
        print(f"at least {needed:,} are needed for intervals: --limit {needed} or more")
    print(f"total {len(asked)}")


@app.command(
    epilog=example(
        "trueprobe run quick",
        "trueprobe run counteracts --model nursery --model ./my-bert --out runs/mine",
        "trueprobe run counteracts --model gpt2@main --model model.gguf --limit 400",
        "trueprobe run counteracts --model 'mybert=ckpt/seed_*' --set occupations=table58",
        "trueprobe run study.toml",
        "trueprobe run --from runs/mine",
        "trueprobe run counteracts --model nursery --workers 2",
        "trueprobe run counteracts --model 'mybert=ckpt/seed_*' --on ray --ray-address auto --gpus-per-worker 1",
        "trueprobe run counteracts --model 'mybert=ckpt/seed_*' --shard 3/10 --store shards/3.sqlite",
    )
)
@interruptible()
def run(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBE… | STUDY",
            help="probes by name, .py file or folder of them; or a study: a file or a shipped name",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="SPEC",
            help="nursery, mini, an asset, a folder, a .gguf file, a hub id[@revision], name=glob; with options "
            "SPEC?start=auto|bos|eot|none&tokenizer=DIR; repeatable",
        ),
    ] = None,
    repeated: Annotated[
        Path | None,
        typer.Option("--from", metavar="RUN", help="repeat this run exactly, or say what has changed"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder; run again into it to go on")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="this many items, spread evenly over the conditions")] = None,
    settings: Setting = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 …; auto by default")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 (by default), bfloat16 or float16")] = None,
    batch_tokens: Annotated[str | None, typer.Option(help="tokens computed at once, or auto (by default)")] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="compute in this many processes, which divide the threads among them")
    ] = 0,
    on: Annotated[Where, typer.Option("--on", help="ray: workers are actors of a Ray cluster")] = Where.LOCAL,
    ray_address: Annotated[str, typer.Option(help="auto or ray://HOST:PORT; else Ray is started here")] = "",
    gpus_per_worker: Annotated[float, typer.Option(min=0, help="of each worker; 0.5 shares one between two")] = 0,
    threads: Annotated[int, typer.Option(min=0, help="of each process; bytes are equal where these are")] = 0,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="only fill --store with this share of the rows; no run folder")
    ] = "",
    store: Store = None,
    allow_pickle: AllowPickle = False,
    allow_code: AllowCode = False,
    allow_servers: AllowServers = False,
    as_json: Json = False,
) -> None:
    """Ask models, cache answers, count, and write a run folder.

    With --from, exit code 1 where estimates differ.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.engine import Compute
    from trueprobe.permissions import Permissions, ServerAccess
    from trueprobe.results.render import json as findings_json
    from trueprobe.results.render import terminal
    from trueprobe.results.view.report import Report
    from trueprobe.runs import execute
    from trueprobe.runs.plan import plan_run
    from trueprobe.runs.repeat import repeat

    if repeated:
        own = {"PROBE": what, "--limit": limit, "--set": settings, "--dtype": dtype}
        if given := [name for name, value in own.items() if value]:
            raise BadInput(f"{given[0]} is the run's own with --from; without it, it is another run")
        done_again = repeat(
            repeated,
            out,
            tuple(model or ()),
            store,
            terminal_progress(),
            device=device,
            batch_tokens=_tokens(batch_tokens),
            permissions=Permissions(allow_code, allow_pickle, ServerAccess.for_run_folder(bool(model), allow_servers)),
        )
        _end_repeated(done_again, as_json)
    if not what:
        raise BadInput("name a probe or a study, or a run to repeat: --from RUN; see: trueprobe list")
    plan = plan_run(
        what,
        model or (),
        settings_of(settings),
        limit=limit,
        device=device,
        dtype=dtype,
        batch_tokens=_tokens(batch_tokens),
        allow_code=allow_code,
        allow_pickle=allow_pickle,
        allow_servers=allow_servers,
    )
    compute = Compute(workers, on.value, ray_address, gpus_per_worker, threads)
    if shard:
        _run_shard(plan, shard, out, store, compute, as_json)
        return
    note_network_store(store)
    done = execute.run_plan(plan, out, store, terminal_progress(), compute)
    if as_json:
        print(findings_json.findings(Report.of(done), str(done.folder)))
    else:
        terminal.show(done)
    note_damaged(done.timing.damaged_answers if done.timing else 0)


def _end_repeated(done: "Repeated", as_json: bool) -> NoReturn:
    from trueprobe.results.render import repetition

    if as_json:
        print(repetition.as_json(done))
    else:
        repetition.show(done)
    note_damaged(done.again.timing.damaged_answers if done.again.timing else 0)
    raise typer.Exit(0 if done.exact else 1)


def _run_shard(
    plan: "RunPlan", shard: str, out: Path | None, store: Path | None, compute: "Compute", as_json: bool
) -> None:
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.runs.shards import Shard, run_shard

    chosen = Shard.parse(shard)
    if out is not None:
        raise BadInput("a shard writes no run folder: leave out --out, merge the stores, then run without --shard")
    if store is None:
        raise BadInput(f"a shard fills a store of its own: --store shards/{chosen.number}.sqlite")
    note_network_store(store)
    done = run_shard(plan, chosen, store, terminal_progress(), compute)
    note_damaged(done.damaged)
    if as_json:
        print(json.dumps([vars(one) for one in done.models], indent=1))
        return
    for one in done.models:
        say(f"{one.model}: {one.rows:,} rows in {store}, {one.computed:,} of them computed now")
    print(f"shard {shard} is done; when all are: trueprobe cache merge {store.parent}/*.sqlite --into all.sqlite")


@app.command(epilog=example("trueprobe report runs/mine --open", "trueprobe report runs/mine --format markdown"))
@interruptible("the same command writes it again")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a run folder")],
    form: Annotated[ReportFormat, typer.Option("--format", help="of the file it writes")] = ReportFormat.HTML,
    figures: Annotated[
        str, typer.Option(metavar="FORMATS", help="svg, png or svg,png: figures and tables as files beside the page")
    ] = "",
    open_it: Annotated[bool, typer.Option("--open", help="show it in your browser")] = False,
    as_json: Json = False,
) -> None:
    """The findings of a run folder as a page, Markdown or JSON."""
    import webbrowser

    from trueprobe.cli.progress import terminal_progress
    from trueprobe.results.render import files
    from trueprobe.runs.folder import load_run

    formats = files.figure_formats(figures)
    with terminal_progress().task("writing the report"):
        path = files.write(load_run(folder), files.ReportFormat(form), formats)
    if form is ReportFormat.HTML:
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
    )
)
@interruptible("the same command compares again")
def compare(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    a: Annotated[str, typer.Option(metavar="MODEL", help="a checkpoint or a family of the run")],
    b: Annotated[str, typer.Option(metavar="MODEL", help="what it is compared with: differences are a minus b")],
    allow_unequal: AllowUnequal = False,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Two models of a run on the items both scored.

    Difference, interval, permutation test and verdict for every measure.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.paths import write_whole
    from trueprobe.results.render import comparison
    from trueprobe.runs.compare import compare as compared
    from trueprobe.runs.folder import load_run
    from trueprobe.runs.schema import frame_of
    from trueprobe.statistics.rows import Difference

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
        "trueprobe reproduce distractors --model bert-base-uncased",
        "trueprobe reproduce distractors --model ./my-copy-of-bert --as BertBase",
        "trueprobe reproduce tacit_production --model bert-base-cased --set data=norms.dat",
    )
)
@interruptible()
def reproduce(
    probe: str,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="SPEC", help="a model of the paper, or replay:PATH with its released outputs"),
    ] = None,
    published_as: Annotated[str | None, typer.Option("--as", metavar="NAME", help="the authors' name of it")] = None,
    settings: Setting = None,
    out: Annotated[Path | None, typer.Option(help="the run folder")] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Published number, ours, difference.

    With the authors' options; exit code 1 where they do not agree.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.results.render import reproduction
    from trueprobe.runs import reproduce as reproducing

    chosen, progress = settings_of(settings), terminal_progress()
    rows, asked = reproducing.reproduce(probe, model, published_as, out, chosen, store=store, progress=progress)
    if as_json:
        print(json.dumps([number.row() for number in rows], indent=1, ensure_ascii=False))
    else:
        reproduction.show(rows)
    if asked and not all(number.agrees for number in rows):
        raise typer.Exit(1)


def _tokens(text: str | None) -> int | None:
    if text is None or text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise BadInput(f"--batch-tokens is auto or a number of tokens, not '{text}'")
    return int(text)

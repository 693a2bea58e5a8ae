"""The commands for the cache: what the answer store holds, whether it is damaged, leaving out answers, merging; and how
a shard of a run fills one."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueprobe.cli.common import (
    Json,
    Store,
    app,
    example,
    interruptible,
    note_damaged,
    note_network_store,
    say,
)
from trueprobe.errors import BadInput, FailedRun

if TYPE_CHECKING:
    from trueprobe.engine import Compute
    from trueprobe.runs.plan import RunPlan

cache_app = typer.Typer(
    help="The answer store: show its content, check it, remove answers, merge stores.", no_args_is_help=True
)
app.add_typer(cache_app, name="cache")

_DAYS = {None: "?", 0: "today", 1: "1 day"}


@cache_app.command(epilog=example("trueprobe cache info", "trueprobe cache info --store shards/3.sqlite --json"))
@interruptible("the same command goes on")
def info(store: Store = None, as_json: Json = False) -> None:
    """Show answers by model: number, size, age, last use."""
    from trueprobe.cli.listing import size_text
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.engine import default_path, upkeep
    from trueprobe.results.render.printed import table_lines

    path = store or default_path()
    with terminal_progress().task(f"looking into {path}"):
        models, derived = upkeep.info(path), upkeep.derived_bytes(path)
    if as_json:
        content = {"store": str(path), "models": [asdict(one) for one in models], "derived_bytes": derived}
        print(json.dumps(content, indent=1))
        return
    rows = []
    for one in models:
        age = " to ".join(dict.fromkeys(map(_age, (one.oldest_days, one.newest_days))))
        rows.append((one.model, f"{one.answers:,}", size_text(one.bytes), age, _age(one.unused_days)))
    header = ("model", "answers", "size", "computed", "last used")
    print("\n".join(table_lines(header, rows, right=("answers", "size"))))
    print(f"{path}: {size_text(path.stat().st_size)}; {size_text(derived)} are results of repeated runs")


@cache_app.command(epilog=example("trueprobe cache check", "trueprobe cache check --repair"))
@interruptible("the same command checks again")
def check(
    repair: Annotated[bool, typer.Option("--repair", help="remove damaged answers; they are computed again")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Compare all answers with their checksums.

    Results of repeated runs and the file itself are checked, too. Exit code 1 where anything is damaged.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.engine import upkeep

    checked = upkeep.check(store, repair, terminal_progress())
    if as_json:
        print(json.dumps(asdict(checked), indent=1))
    else:
        removed = " and removed" if repair else ""
        print(
            f"{checked.path}: {checked.answers:,} answers checked, {checked.damaged:,} damaged{removed}; "
            f"{checked.results:,} results of repeated runs checked, {checked.damaged_results:,} damaged{removed}"
        )
    if checked.fault:
        to_do = "move it away or name another with --store" if repair else "try cache check --repair"
        raise FailedRun(f"{checked.path} is damaged ({checked.fault}); {to_do}")
    if not (checked.intact or repair):
        raise FailedRun(f"{checked.path} is damaged; a run computes again what it needs, --repair removes the rest")


@cache_app.command(
    epilog=example("trueprobe cache prune --model my-bert", "trueprobe cache prune --older-than 90 --yes")
)
@interruptible("the same command removes the rest")
def prune(
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="a name in cache info; repeatable")
    ] = None,
    older_than: Annotated[
        int | None, typer.Option(min=0, metavar="DAYS", help="answers computed more than this many days ago")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="remove them; without it, they are only counted")] = False,
    store: Store = None,
) -> None:
    """Remove answers by model, by age, or of a model by age.

    Results of repeated runs go too: they are counted again from the answers that stay.
    """
    from trueprobe.cli.listing import size_text
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.engine import upkeep

    with terminal_progress().task("counting answers"):
        count, size = upkeep.prunable(store, model or [], older_than)
    if not yes:
        print(f"{count:,} answers, {size_text(size)}, would be removed; with --yes they are")
        return
    with terminal_progress().task("removing answers"):
        upkeep.prune(store, model or [], older_than)
    print(f"{count:,} answers, {size_text(size)}, removed")


@cache_app.command(epilog=example("trueprobe cache merge shards/*.sqlite --into answers.sqlite"))
@interruptible("what was copied stays, the same command goes on")
def merge(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE…", help="stores to copy from; they are not changed")],
    into: Annotated[Path, typer.Option(metavar="STORE", help="the store to copy into; created if absent")],
    as_json: Json = False,
) -> None:
    """Copy the answers of several stores into one.

    An answer that is there already stays. Damaged answers are counted and left out. Where another store has other
    numbers for the same question they are counted and reported; exit code 1 where they differ by more than machines do.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.engine import upkeep

    others = [store for store in stores if store.resolve() != into.resolve()]  # *.sqlite names the target too
    merged = upkeep.merge(others or stores, into, terminal_progress())
    if as_json:
        print(json.dumps([asdict(one) for one in merged], indent=1))
    else:
        for one in merged:
            before = one.answers - one.added - one.damaged
            there = f", {before:,} were there" if before else ""
            there += f", {one.damaged:,} damaged and left out" if one.damaged else ""
            other = (
                f"; {one.differing:,} with other numbers, by up to {one.largest_difference:.1e}"
                if one.differing
                else ""
            )
            print(f"{one.path}: {one.answers:,} answers, {one.added:,} copied{there}{other}")
    far = [one for one in merged if one.far_apart]
    if far:
        raise FailedRun(
            f"{sum(one.far_apart for one in far):,} answers of {', '.join(one.path for one in far)} differ by more "
            f"than {upkeep.SAME_NATS:g} from those in {into}, which stay; look for other libraries or hardware"
        )


def fill_shard(
    plan: "RunPlan", shard: str, out: Path | None, store: Path | None, compute: "Compute", as_json: bool
) -> None:
    """`run --shard`."""
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


def _age(days: int | None) -> str:
    return _DAYS.get(days, f"{days:,} days" if days is not None else "?")

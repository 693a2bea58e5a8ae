"""The commands that list what there is to ask, and the items of a probe. Heavy imports happen inside, so that --help is
instant."""

import json
from pathlib import Path
from typing import Annotated

import typer

from trueprobe.cli.common import Json, Setting, app, example, say, settings_of
from trueprobe.errors import BadInput, nearest


@app.command(
    "list", epilog=example("trueprobe list probes", "trueprobe list probes counteracts", "trueprobe list assets --json")
)
def list_(
    what: Annotated[str, typer.Argument(metavar="[probes|models|studies|assets]")] = "probes",
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="one of them, in detail")] = "",
    as_json: Json = False,
) -> None:
    """List probes, models, studies and assets."""
    from trueprobe.cli import listing

    if what not in listing.LISTS:
        raise BadInput(f"nothing to list called '{what}'{nearest(what, list(listing.LISTS))}")
    rows = listing.LISTS[what]()
    names = list(map(listing.name_of, rows))
    if name and name not in names:
        raise BadInput(f"no '{name}' among the {what}{nearest(name, names)}")
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
    count: Annotated[bool, typer.Option("--count", help="print only the number of items, by condition")] = False,
    out: Annotated[Path | None, typer.Option(help="write all items as JSON lines")] = None,
    as_json: Json = False,
) -> None:
    """Show the items of a probe; needs no model."""
    from trueprobe import probes
    from trueprobe.cli import listing
    from trueprobe.paths import write_text
    from trueprobe.runs.study import items_needed

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

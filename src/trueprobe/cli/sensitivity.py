"""`trueprobe sensitivity`: does a probe detect a bias that is there?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from trueprobe.cli.common import Json, Store, app, example, interruptible, say


@app.command(
    epilog=example(
        "trueprobe sensitivity --model nursery --association gender-occupation --out runs/sensitivity",
        "trueprobe sensitivity cloze --model nursery --association gender-occupation --remove all --out runs/removed",
        "trueprobe sensitivity cloze pairs --model 'mybert=ckpt/seed_*' --association mine.toml --out runs/mine",
    )
)
@interruptible("what was reached is saved, the same command goes on")
def sensitivity(
    model: Annotated[str, typer.Option("--model", metavar="SPEC", help="a family, or one checkpoint: bert or gpt2")],
    association: Annotated[
        str, typer.Option(metavar="FILE|NAME", help="what is planted: gender-occupation, nonsense-groups, a TOML file")
    ],
    out: Annotated[Path, typer.Option(help="the folder; the same command goes on where it was stopped")],
    probes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROBE]…", help="default: all probes that can measure the association"),
    ] = None,
    doses: Annotated[str, typer.Option(help="shares of the way from the null model to the planted one")] = "",
    assignments: Annotated[int, typer.Option(min=1, help="how many random assignments of targets to groups")] = 3,
    seeds: Annotated[int, typer.Option(min=2, help="of continued training, if the model is not a family")] = 3,
    relabellings: Annotated[int, typer.Option(min=0, help="for false alarms of the null models")] = 200,
    remove: Annotated[
        str,
        typer.Option(
            metavar="KIND,…", help="counterexamples after planting: syntax, meaning, neutral, or all (masked models)"
        ),
    ] = "",
    filler: Annotated[
        str, typer.Option(metavar="TEXT", help="neutral sentences, one per line; or wordnet")
    ] = "wordnet",
    keep: Annotated[bool, typer.Option("--keep", help="leave the interpolated checkpoints in the folder")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Plant a known association in a model and report from which strength on each probe detects it.

    Exit code 1 if the model does not learn the association: then there is no limit.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.sensitivity import Analysis, Request, Result
    from trueprobe.sensitivity.doses import DOSES, doses_of
    from trueprobe.sensitivity.remove import arms_of
    from trueprobe.sensitivity.report import HEADER, PAGE, table

    request = Request(
        probes=tuple(probes or ()),
        model=model,
        association=association,
        out=out,
        doses=doses_of(doses) if doses else DOSES,
        assignments=assignments,
        seeds=seeds,
        relabellings=relabellings,
        keep=keep,
        remove=arms_of(remove),
        filler=filler,
        store=store,
    )
    analysis = Analysis(request, terminal_progress())
    result = Result.of(analysis, analysis.run())
    result.write()
    if as_json:
        print(json.dumps({"folder": str(out), **result.printable}, indent=1, ensure_ascii=False))
    else:
        for line in result.lines():
            say(line)
        for cells in [HEADER, *table(result.detection)] if result.detection else []:
            say("  ".join(cells))
        say(f"{out / PAGE}")
    if result.unplantable:
        raise typer.Exit(1)

"""The commands that use a run elsewhere: a gate for CI, and exports. Heavy imports happen inside."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from trueprobe.cli.common import AllowCode, AllowUnequal, Json, app, example, interruptible, say
from trueprobe.errors import BadInput, FailedRun


@app.command(
    epilog=example(
        "trueprobe gate runs/mine --rule 'counteracts: stereotype_margin[knowledge=base] < 0.02'",
        "trueprobe gate runs/mine --rules rules.toml --against runs/before --undecided pass",
        "trueprobe gate runs/mine --rules rules.toml --markdown summary.md",
    )
)
@interruptible("the same command checks the rules again")
def gate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a run folder")],
    rules: Annotated[Path | None, typer.Option(metavar="FILE", help="rules as TOML")] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", metavar="RULE", help="PROBE: MEASURE[CONDITION=VALUE]@MODEL < BOUND; also <=, >, >=; repeatable"
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="DIR", help="a baseline run: the numbers of the rules must not be worse")
    ] = None,
    undecided: Annotated[
        Literal["fail", "pass", "ignore"] | None,
        typer.Option(help="fail (default) or pass undecided numbers; ignore also passes what cannot be decided"),
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="a summary for CI")] = None,
    allow_unequal: AllowUnequal = False,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Check a run's numbers against rules, by their intervals.

    Exit code 0 where the gate passes, 1 where it fails, 2 for an error.
    """
    from trueprobe import gate as gates
    from trueprobe.paths import write_text
    from trueprobe.probes.files import parse as parse_file
    from trueprobe.runs.folder import load_run

    file = parse_file(rules, gates.RuleFile) if rules else None
    every = [*(entry.rule() for entry in (file.rule if file else ())), *map(gates.parse, rule or [])]
    policy = gates.Undecided(undecided) if undecided else file.undecided if file else gates.Undecided.FAIL
    before = load_run(against, allow_code) if against else None
    result = gates.gate(load_run(folder, allow_code), every, policy, before, allow_unequal)
    if markdown:
        try:
            write_text(markdown, gates.as_markdown(result))
        except FailedRun as error:  # exit code 1 is a gate that fails
            raise BadInput(str(error)) from error
    if as_json:
        print(gates.as_json(result))
    else:
        gates.show(result)
    raise typer.Exit(0 if result.passes else 1)


@app.command(
    epilog=example(
        "trueprobe export runs/mine --model-card --out card.md",
        "trueprobe export runs/mine --model-card --model nursery",
        "trueprobe export runs/mine --csv findings.csv --latex findings.tex",
        "trueprobe export runs/mine --signatures",
    )
)
@interruptible("the same command writes them again")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a run folder")],
    model_card: Annotated[
        bool, typer.Option("--model-card", help="a model-index and a section for a model's README.md on the hub")
    ] = False,
    model: Annotated[str, typer.Option(metavar="NAME", help="the card's model; needed if the run has several")] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the card to a file; without it, the card is printed")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the findings as CSV, one line per number")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the findings as LaTeX, one column per family")
    ] = None,
    signatures: Annotated[
        bool, typer.Option("--signatures", help="print, for each probe, the signature that its numbers share")
    ] = False,
) -> None:
    """Write a run's findings for a model card, a spreadsheet or a paper."""
    from trueprobe.paths import write_text
    from trueprobe.results.render import export as exports
    from trueprobe.runs.folder import load_run

    if not (model_card or csv or latex or signatures):
        raise BadInput("nothing to export; choose --model-card, --csv FILE, --latex FILE or --signatures")
    if (model or out) and not model_card:
        raise BadInput(f"{'--model' if model else '--out'} is of --model-card; a table has its own file and all models")
    report = exports.report_of(load_run(folder))
    card = exports.model_card(report, model) if model_card else ""
    tables = {path: render(report) for path, render in ((csv, exports.csv), (latex, exports.tex)) if path}
    for path, text in {**({out: card} if out else {}), **tables}.items():
        write_text(path, text)
        print(path)
    if card and not out:
        say(card, end="")
    if signatures:
        say(exports.signatures(report), end="")

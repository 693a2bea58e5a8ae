"""The commands that use a run elsewhere: a gate for CI, and exports. Heavy imports happen inside."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from trueprobe.cli.common import AllowCode, AllowUnequal, Json, app, example, interruptible, say
from trueprobe.errors import BadInput, FailedRun


@app.command(
    epilog=example(
        "trueprobe gate runs/mine --rule 'counteracts: stereotype_margin[knowledge=base] < 0.02'",
        "trueprobe gate runs/mine --rules rules.toml --against runs/before --undecided pass",
        "trueprobe gate runs/mine --rules rules.toml --markdown summary.md --junit gate.xml",
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
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="a test report as JUnit's XML, for CI")] = None,
    allow_unequal: AllowUnequal = False,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """Check a run's numbers against rules, by their intervals.

    Exit code 0 where the gate passes, 1 where it fails, 2 for an error. In GitHub Actions, what does not pass is
    annotated.
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
    written = ((markdown, gates.as_markdown), (junit, gates.as_junit))
    for path, render in ((path, render) for path, render in written if path):
        try:
            write_text(path, render(result))
        except FailedRun as error:  # exit code 1 is a gate that fails
            raise BadInput(str(error)) from error
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in gates.github_annotations(result):
            print(line, file=sys.stderr)  # --json has stdout for itself
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
        "trueprobe export runs/mine --eval-results .eval_results/pairs.yaml --dataset ORG/NAME --model nursery",
        "trueprobe export runs/mine --every-eval-ever records",
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
    eval_results: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the hub's .eval_results/NAME.yaml; needs --dataset")
    ] = None,
    dataset: Annotated[str, typer.Option(metavar="ORG/NAME", help="the benchmark on the hub that they belong to")] = "",
    every_eval_ever: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write a record of Every Eval Ever for each model")
    ] = None,
    signatures: Annotated[
        bool, typer.Option("--signatures", help="print, for each probe, the signature that its numbers share")
    ] = False,
) -> None:
    """Write a run's findings for a model card, a spreadsheet or a paper."""
    from trueprobe.paths import write_text
    from trueprobe.results.render import export as exports
    from trueprobe.runs.folder import load_run

    if not (model_card or csv or latex or signatures or eval_results or every_eval_ever):
        raise BadInput(
            "nothing to export; choose --model-card, --csv FILE, --latex FILE, --eval-results FILE, --every-eval-ever "
            "DIR or --signatures"
        )
    if (out and not model_card) or (model and not (model_card or eval_results)):
        raise BadInput(
            f"{'--out' if out else '--model'} requires --model-card; a table has its own file and all models"
        )
    if bool(dataset) is not bool(eval_results):
        raise BadInput("--eval-results FILE and --dataset ORG/NAME need each other")
    report = exports.report_of(load_run(folder))
    card = exports.model_card(report, model) if model_card else ""
    texts = {path: render(report) for path, render in ((csv, exports.csv), (latex, exports.tex)) if path}
    if eval_results:
        from trueprobe.integrations.eval_results import eval_results as for_the_hub

        texts[eval_results] = for_the_hub(report, dataset, model)
    if every_eval_ever:
        from trueprobe.integrations.every_eval_ever import records

        texts |= {every_eval_ever / path: text for path, text in records(report).items()}
    for path, text in {**({out: card} if out else {}), **texts}.items():
        write_text(path, text)
        print(path)
    if card and not out:
        say(card, end="")
    if signatures:
        say(exports.signatures(report), end="")

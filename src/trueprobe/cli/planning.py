"""`trueprobe plan`: cost, interval width and power before a run. Heavy imports happen inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueprobe.cli.common import AllowCode, AllowPickle, Json, Setting, Store, app, example, interruptible, settings_of
from trueprobe.errors import BadInput

if TYPE_CHECKING:
    from trueprobe.runs.design import Asked
    from trueprobe.runs.pilot import Basis


@app.command(
    epilog=example(
        "trueprobe plan crows_pairs --model nursery --set data=sample --effect 5",
        "trueprobe plan stereoset --model nursery --effect 5 --width 8",
        "trueprobe plan stereoset --from-run runs/before --effect 5 --seeds 10",
        "trueprobe plan pairs --model nursery --effect 10 --out plan.toml",
    )
)
@interruptible("what the pilot computed is not cached yet")
def plan(
    probe: str,
    effect: Annotated[
        list[str] | None,
        typer.Option(
            "--effect",
            metavar="[MEASURE=]VALUE",
            help="smallest effect of interest, in the unit that reports show (5 is 5 points of a share); repeatable",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="SPEC", help="as for run; seeds of a family; repeatable")
    ] = None,
    from_run: Annotated[
        Path | None, typer.Option("--from-run", metavar="RUN", help="variances of this run instead of a pilot's")
    ] = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="variances that ship, of small models; the pilot times one seed")
    ] = False,
    measure: Annotated[str, typer.Option(metavar="NAME", help="instead of the primary numbers")] = "",
    width: Annotated[
        float | None, typer.Option(help="of the 95 % interval, end to end: find the fewest items for it")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="instead of those of the family")] = None,
    settings: Setting = None,
    axes: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="of other ways of counting, or all: the plan puts their joint test on the list"
        ),
    ] = "",
    per_group: Annotated[int | None, typer.Option(min=1, help="that the written plan runs with")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="that the written plan runs with")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write a plan that binds: trueprobe run FILE")
    ] = None,
    store: Store = None,
    allow_pickle: AllowPickle = False,
    allow_code: AllowCode = False,
    as_json: Json = False,
) -> None:
    """What a run will cost, how wide its intervals will be, and what it can show.

    A pilot of 3 seeds and 50 items or more gives the variances, never the effect.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.paths import write_text
    from trueprobe.results.render import design as render
    from trueprobe.runs import binding, pilot
    from trueprobe.runs.design import bound, family_plans
    from trueprobe.runs.folder import load_run
    from trueprobe.runs.plan import plan_run
    from trueprobe.runs.primary import refuse_unknown_axes
    from trueprobe.runs.study import make_study, planned_study

    asked = _asked(effect, width, measure, seeds, _names(axes))
    if not (model or from_run):
        raise BadInput("name the models to run: --model SPEC, or an earlier run: --from-run RUN")
    if out and not model:
        raise BadInput("a plan that binds names its models: --model SPEC")
    if (limit or per_group or axes) and not out:
        raise BadInput("--limit, --per-group and --axes require --out FILE")
    if from_run and shipped:
        raise BadInput("--from-run and --shipped are two sources of variances; give one")
    run_plan = plan_run(probe, model, settings_of(settings), allow_pickle=allow_pickle) if model else None
    if run_plan and (len(run_plan.probes) != 1 or run_plan.replays):
        raise BadInput("plan takes one probe, and models that can be run; for released outputs: --from-run RUN")
    bases: list[Basis] = []
    if run_plan:
        size = (1, pilot.ITEMS) if from_run or shipped else (pilot.SEEDS, pilot.ITEMS)
        bases = pilot.ask_pilot(run_plan, measure, store, terminal_progress(), size)
    if from_run:
        bases = pilot.with_cost(pilot.basis_of_run(load_run(from_run, allow_code), probe), bases)
    elif shipped:
        bases = pilot.shipped(bases)
    study = None
    if out and run_plan:
        study = make_study(run_plan.study, limit=limit, per_group=per_group)[0].model_copy(update={"axes": asked.axes})
        refuse_unknown_axes(asked.axes, [bases[0].probe], [basis.card for basis in bases])
    with terminal_progress().task("reckoning designs"):
        plans = family_plans(bases, asked)
    if out and study:
        bound_plan = bound(study, plans)
        write_text(out, binding.toml(bound_plan, planned_study(study, here=True)))
    if as_json:
        print(render.as_json(plans))
    else:
        render.show(plans, width)
        if out:
            print(f"{out}: a plan that binds, {bound_plan.hash[:12]}; trueprobe run {out}")


def _asked(
    effect: list[str] | None, width: float | None, measure: str, seeds: int | None, axes: tuple[str, ...]
) -> "Asked":
    from trueprobe.results.text.design import factor_of
    from trueprobe.runs.design import Asked

    if not effect:
        raise BadInput("no effect given; --effect 5 is the smallest that would matter to you, 5 points of a share")
    effects = dict(map(_effect, effect))
    if width is not None and not width > 0:
        raise BadInput(f"--width is larger than 0, not {width:g}")
    return Asked(effects, width, measure, seeds, factor_of, axes)


def _effect(text: str) -> tuple[str, float]:
    measure, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError as error:
        raise BadInput(f"--effect takes VALUE or MEASURE=VALUE, not '{text}'") from error
    if not 0 < number < float("inf"):
        raise BadInput(f"--effect is larger than 0, not {value}: how large an effect would matter to you?")
    return measure, number


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))

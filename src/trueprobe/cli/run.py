"""`trueprobe run`: probes × models to a run folder. Heavy imports happen inside, so that --help is instant."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from trueprobe.cli.common import (
    AllowCode,
    AllowPickle,
    AllowServers,
    Json,
    Setting,
    Store,
    app,
    example,
    interruptible,
    note,
    note_chat_templates,
    note_damaged,
    note_network_store,
    settings_of,
)
from trueprobe.errors import BadInput

if TYPE_CHECKING:
    from trueprobe.runs.repeat import Repeated


@app.command(
    epilog=example(
        "trueprobe run quick",
        "trueprobe run counteracts --model nursery --model ./my-bert --out runs/mine",
        "trueprobe run counteracts --model gpt2@main --model model.gguf --limit 400",
        "trueprobe run counteracts --model 'mybert=ckpt/seed_*' --set occupations=table58",
        "trueprobe run distractors --model nursery --per-group 8",
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
            help="probes (names, .py files, folders of them), or one study (a file or a shipped name)",
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
        typer.Option("--from", metavar="RUN", help="repeat this run, and report what has changed"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder; run again into it to continue")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="use only this many items, spread evenly over the conditions")
    ] = None,
    per_group: Annotated[
        int | None,
        typer.Option(
            min=1, help="this many items of every group and condition; means are weighted to the whole dataset"
        ),
    ] = None,
    settings: Setting = None,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 (default), bfloat16 or float16")] = None,
    batch_tokens: Annotated[str | None, typer.Option(help="tokens per forward pass, or auto (default)")] = None,
    workers: Annotated[int, typer.Option(min=0, help="compute in this many processes, which share the threads")] = 0,
    on: Annotated[
        Literal["local", "ray"], typer.Option("--on", help="local, or ray: workers are actors of a Ray cluster")
    ] = "local",
    ray_address: Annotated[
        str, typer.Option(help="auto or ray://HOST:PORT; without it, Ray is started on this machine")
    ] = "",
    gpus_per_worker: Annotated[
        float, typer.Option(min=0, help="GPUs of each worker; with 0.5, two workers share one")
    ] = 0,
    threads: Annotated[int, typer.Option(min=0, help="threads of each process; equal numbers give equal bytes")] = 0,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="only fill --store with this part of the rows; writes no run folder")
    ] = "",
    store: Store = None,
    allow_pickle: AllowPickle = False,
    allow_code: AllowCode = False,
    allow_servers: AllowServers = False,
    as_json: Json = False,
) -> None:
    """Run probes on models and write a run folder.

    With --from, exit code 1 where estimates differ.
    """
    from trueprobe.cli.caching import fill_shard
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.engine import Compute
    from trueprobe.permissions import Permissions, ServerAccess
    from trueprobe.results.render import json as findings_json
    from trueprobe.results.render import terminal
    from trueprobe.results.view.report import Report
    from trueprobe.runs import execute, replay
    from trueprobe.runs.plan import plan_run, short_of_items
    from trueprobe.runs.repeat import repeat

    if repeated:
        of_the_run = {"PROBE": what, "--limit": limit, "--per-group": per_group, "--set": settings, "--dtype": dtype}
        if given := [name for name, value in of_the_run.items() if value]:
            raise BadInput(f"{given[0]} cannot be combined with --from")
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
        per_group=per_group,
        device=device,
        dtype=dtype,
        batch_tokens=_tokens(batch_tokens),
        allow_code=allow_code,
        allow_pickle=allow_pickle,
        allow_servers=allow_servers,
    )
    compute = Compute(workers, on, ray_address, gpus_per_worker, threads)
    if shard:
        fill_shard(plan, shard, out, store, compute, as_json)
        return
    note(short_of_items(plan))
    note_network_store(store)
    done = execute.run_plan(plan, out, store, terminal_progress(), compute)
    if as_json:
        print(findings_json.findings(Report.of(done), str(done.folder)))
    else:
        terminal.show(done)
    note(replay.notices(plan.replays, [planned.probe for planned in plan.probes]))
    note_chat_templates(plan.sources, done.cards)
    note_damaged(done.timing.damaged_answers if done.timing else 0)


def _end_repeated(done: "Repeated", as_json: bool) -> NoReturn:
    from trueprobe.results.render import repetition

    if as_json:
        print(repetition.as_json(done))
    else:
        repetition.show(done)
    note_damaged(done.again.timing.damaged_answers if done.again.timing else 0)
    raise typer.Exit(0 if done.exact else 1)


def _tokens(text: str | None) -> int | None:
    if text is None or text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise BadInput(f"--batch-tokens is auto or a number of tokens, not '{text}'")
    return int(text)

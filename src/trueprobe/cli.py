"""The command line: short bodies only. Heavy imports happen inside, so that --help is instant."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from trueprobe.types import BadInput, FailedRun, nearest

app = typer.Typer(
    name="trueprobe",
    help="What does a language model take for granted, and how far can the answer be trusted?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
check_app = typer.Typer(help="Run the public contract tests on a probe or a model.", no_args_is_help=True)
app.add_typer(check_app, name="check")

Setting = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="a setting of the probe; repeatable")
]
Json = Annotated[bool, typer.Option("--json", help="for scripts")]
Store = Annotated[Path | None, typer.Option(help="the answer store; by default one in your cache folder")]


def _example(*lines: str) -> str:
    return "Examples:\n\n" + "\n\n".join(lines)


@app.command("list", epilog=_example("trueprobe list probes --json", "trueprobe list assets"))
def list_(
    what: Annotated[str, typer.Argument(metavar="[probes|models|studies|assets]")] = "probes",
    as_json: Json = False,
) -> None:
    """What can be run: probes with their settings, models at hand, shipped studies, assets to fetch."""
    from trueprobe import listing

    choices: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "probes": listing.probes,
        "models": listing.models,
        "studies": listing.studies,
        "assets": listing.assets,
    }
    if what not in choices:
        raise BadInput(f"nothing to list called '{what}'{nearest(what, list(choices))}")
    rows = choices[what]()
    print(json.dumps(rows, indent=1, ensure_ascii=False) if as_json else listing.as_text(what, rows))


@app.command(
    epilog=_example(
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
    from trueprobe import listing, probes
    from trueprobe.store import write_text

    found = probes.make(probe, _settings(settings)).items()
    if out is not None:
        write_text(out, listing.items_text(found))
        print(f"{len(found):,} items written to {out}")
        return
    rows = listing.counts(found)
    if as_json:
        print(json.dumps({"counts": rows, "total": len(found)}, indent=1))
        return
    print(listing.counts_text(rows) if count else listing.show_items(found))
    print(f"total {len(found)}")


@app.command(
    epilog=_example(
        "trueprobe run quick",
        "trueprobe run counteracts --model nursery --model ./my-bert --out runs/mine",
        "trueprobe run counteracts --model gpt2@main --model model.gguf --limit 400",
        "trueprobe run counteracts --model 'mybert=ckpt/seed_*' --set occupations=table58",
        "trueprobe run study.toml",
    )
)
def run(
    what: Annotated[
        list[str], typer.Argument(metavar="PROBE… | STUDY", help="probes, or a study: a file or a shipped name")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="SPEC",
            help="nursery, mini, an asset, a folder, a .gguf file, a hub id[@revision], name=glob; repeatable",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder; run again into it to go on")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="this many items, spread evenly over the conditions")] = None,
    settings: Setting = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 …; auto by default")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 (by default), bfloat16 or float16")] = None,
    batch_tokens: Annotated[str | None, typer.Option(help="tokens computed at once, or auto (by default)")] = None,
    store: Store = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="read pickled weights; a pickle can run code")
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask models, keep their answers, count, and write a run folder."""
    from trueprobe import study as studies
    from trueprobe import summary
    from trueprobe.engine.progress import on_terminal

    study = studies.make_study(
        what,
        model or (),
        _settings(settings),
        limit=limit,
        device=device,
        dtype=dtype,
        batch_tokens=_tokens(batch_tokens),
        allow_pickle=allow_pickle or None,
    )
    with _interruptible():
        done = studies.run(study, out=out, store=store, progress=on_terminal())
    if as_json:
        print(json.dumps({"folder": str(done.folder), "complete": done.complete, "estimates": len(done.estimates)}))
    else:
        summary.show(done)


@app.command(
    epilog=_example(
        "trueprobe compare runs/mine --a nursery --b nursery-small",
        "trueprobe compare runs/mine --a my-bert --b my-gpt2 --precision 0.02",
    )
)
def compare(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    a: Annotated[str, typer.Option(metavar="MODEL", help="a checkpoint or a family of the run")],
    b: Annotated[str, typer.Option(metavar="MODEL", help="what it is compared with: differences are a less b")],
    precision: Annotated[
        float | None,
        typer.Option(min=0, help="seeds_needed is for intervals of ± this; else for telling the difference from 0"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Two models or families on the items both scored: difference, interval, permutation test, seeds needed."""
    from trueprobe import summary
    from trueprobe.compare import compare as compared
    from trueprobe.store import load_run, write_whole

    done = load_run(folder)
    found = compared(done, a, b, precision)
    path = done.folder / f"{found.file}.csv"
    write_whole(path, lambda partial: found.table.to_csv(partial, index=False))
    print(found.table.to_json(orient="records", indent=1) if as_json else summary.comparison_text(found, path))


@app.command(
    epilog=_example("trueprobe fetch crows-pairs stereoset-dev", "trueprobe fetch crows-pairs --from crows_pairs.csv")
)
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="ASSET", help="see: trueprobe list assets")],
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="a copy you have: the file, its archive, or a folder")
    ] = None,
    as_json: Json = False,
) -> None:
    """Get data and models from their owners, check every byte, and keep them in your cache folder."""
    from trueprobe import assets, listing
    from trueprobe.engine.progress import Steps

    if from_file is not None and len(names) > 1:
        raise BadInput(f"--from {from_file} goes with one asset, not with {len(names)}")
    for name in names:
        assets.card(name)  # a wrong name is told before anything is downloaded
    rows = []
    for name in names:
        with _interruptible("nothing half-fetched is left, the same command starts it anew"), Steps() as shown:
            rows.append(listing.fetched(name, assets.obtain(name, from_file, shown)))
        for refused in rows[-1]["refused"]:
            print(f"trueprobe: passed over {refused}", file=sys.stderr)
        if not as_json:
            print(listing.fetched_text(rows[-1]), flush=True)
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))


@app.command(
    epilog=_example(
        "trueprobe verbalizer runs/mine --top 30 --out more.toml",
        "trueprobe run counteracts --set verbalizer=more.toml --model ./my-bert",
    )
)
def verbalizer(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    top: Annotated[int, typer.Option(min=1, help="how many words")] = 30,
    threshold: Annotated[float, typer.Option(min=0.5, max=1, help="leaning from which --out takes a word")] = 0.8,
    out: Annotated[Path | None, typer.Option(help="write clearly leaning words as a TOML list to edit and use")] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Words the models of a run said that the word list does not know, with the leaning the models give them."""
    from trueprobe import summary
    from trueprobe import verbalizer as words
    from trueprobe.engine.progress import on_terminal
    from trueprobe.store import load_run, write_text

    done = load_run(folder)
    with _interruptible():
        table = words.candidates(done, top, store, on_terminal())
    print(table.to_json(orient="records", indent=1) if as_json else summary.words_text(table))
    if out is not None and not table.empty:
        write_text(out, words.to_toml(table, *words.groups_of(done), threshold))
        print(f"written to {out}: read it, then use it with --set verbalizer={out}", file=sys.stderr)


@app.command(
    epilog=_example(
        "trueprobe pretrain --kind masked --corpus enwik8 --model-seeds 0..4 --tokens 12M --out my-family",
        "trueprobe pretrain --kind masked --corpus text.txt --start-from ./encoder --tokens 2M --out my-model",
        "trueprobe run counteracts --model 'mine=my-family/seed_*'",
    )
)
def pretrain(
    kind: Annotated[str, typer.Option(help="masked (BERT, both objectives) or causal (GPT-2 type)")],
    corpus: Annotated[
        list[str],
        typer.Option(help="UTF-8 text, a sentence per line, a blank line between documents; or enwik8; repeatable"),
    ],
    tokens: Annotated[str, typer.Option(metavar="N", help="tokens seen by each training: 500000, 800k, 12M")],
    out: Annotated[Path, typer.Option(help="the family's folder; the same command goes on where it was stopped")],
    model_seeds: Annotated[str, typer.Option(help="0..4 or 0,3,7")] = "0",
    size: Annotated[
        str, typer.Option(help="layers and width, and attention heads if you like: L4-H128-A2")
    ] = "L4-H128",
    checkpoints: Annotated[int, typer.Option(help="how many are kept along the way, as seed_N/step_M")] = 6,
    start_from: Annotated[Path | None, typer.Option(metavar="FOLDER", help="go on from a model or encoder")] = None,
    tokenizer: Annotated[Path | None, typer.Option(metavar="FOLDER", help="use this one; else it is trained")] = None,
    vocab: Annotated[int, typer.Option(help="size of the trained tokenizer")] = 8000,
    length: Annotated[int, typer.Option(help="the longest example, in tokens")] = 128,
    short: Annotated[float, typer.Option(help="share of examples with a length drawn evenly")] = 0.1,
    masking: Annotated[str, typer.Option(help="static (drawn once) or dynamic (anew in each pass)")] = "static",
    mask_rate: Annotated[float, typer.Option(help="masked: share of tokens hidden")] = 0.15,
    told_rate: Annotated[float, typer.Option(help="causal: share of tokens whose loss counts; fewer is faster")] = 1.0,
    learning_rate: Annotated[float, typer.Option(help="at its highest")] = 1e-3,
    batch_tokens: Annotated[int, typer.Option(help="tokens per step")] = 2048,
    dropout: Annotated[float, typer.Option()] = 0.0,
    freeze_embeddings: Annotated[bool, typer.Option("--freeze-embeddings", help="keep the word vectors")] = False,
    data_seed: Annotated[int, typer.Option(help="for examples and masks, the same for all model seeds")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="trainings side by side; by default all cores")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="of each training; they are part of the setup")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    save_seconds: Annotated[float, typer.Option(help="how often the state to go on from is kept")] = 60.0,
    as_json: Json = False,
) -> None:
    """Train small models of one setup that differ only in their seed."""
    from trueprobe.nursery import show
    from trueprobe.nursery.order import Order, count, seeds
    from trueprobe.nursery.pretrain import pretrain as train

    said = {**locals()}
    if start_from is not None:
        said["start_from"] = _texts([str(start_from)])[0]
    own = {"corpus": _texts(corpus), "tokens": count(tokens), "seeds": seeds(model_seeds)}
    order = Order(**{name: said[name] for name in Order.__dataclass_fields__ if name in said} | own)
    with _interruptible("what was reached is kept, the same command goes on"):
        folders = train(order, show.on_terminal())
    if as_json:
        print(json.dumps({"folders": [str(folder) for folder in folders]}))
        return
    for folder in folders:
        print(f"{folder}: {show.outcome(folder)}")
    print(f"ask them: trueprobe run counteracts --model '{out.name}={out}/seed_*'")


@check_app.command("probe", epilog=_example("trueprobe check probe counteracts"))
def check_probe(name: str, settings: Setting = None, as_json: Json = False) -> None:
    """A probe's contract: ids, columns, sign, the same items each time."""
    from trueprobe.contracts import check_probe as contract

    _report(contract(name, _settings(settings)), as_json)


@check_app.command("model", epilog=_example("trueprobe check model ./my-bert"))
def check_model(
    spec: str,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16")] = "float32",
    allow_pickle: Annotated[bool, typer.Option("--allow-pickle")] = False,
    as_json: Json = False,
) -> None:
    """A model's contract: batches, order, repetition, special tokens."""
    from trueprobe.contracts import check_model as contract
    from trueprobe.models import Options, open_model

    _report(contract(open_model(spec, Options(device, dtype, allow_pickle))), as_json)


def _report(checks: Any, as_json: bool) -> None:
    seen = []
    for check in checks:
        seen.append({"check": check.name, "passed": bool(check.passed), "detail": check.detail})
        if not as_json:
            print(f"{'ok  ' if check.passed else 'FAIL'} {check.name}" + (f" ({check.detail})" if check.detail else ""))
    if as_json:
        print(json.dumps(seen, indent=1))
    if not all(check["passed"] for check in seen):
        raise typer.Exit(1)


def _settings(pairs: list[str] | None) -> dict[str, str]:
    found = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"--set takes KEY=VALUE, not '{pair}'")
        found[key.strip()] = value.strip()
    return found


def _tokens(text: str | None) -> int | None:
    if text is None or text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise BadInput(f"--batch-tokens is auto or a number of tokens, not '{text}'")
    return int(text)


def _texts(names: list[str]) -> tuple[Path, ...]:
    """Files and folders; an asset's name stands for what was fetched."""
    from trueprobe import assets

    return tuple(
        assets.path_of(name) if name in assets.names() and not Path(name).exists() else Path(name) for name in names
    )


class Interrupted(Exception):
    """Ctrl-C, in a form that typer does not swallow."""


@contextmanager
def _interruptible(what_now: str = "answers so far are kept, the same command goes on") -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(what_now) from error


def main() -> None:
    try:
        app()
    except BadInput as error:
        print(f"trueprobe: {error}", file=sys.stderr)
        sys.exit(2)
    except FailedRun as error:
        print(f"trueprobe: {error}", file=sys.stderr)
        sys.exit(1)
    except Interrupted as error:
        print(f"trueprobe: stopped; {error}", file=sys.stderr)
        sys.exit(130)

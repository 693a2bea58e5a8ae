"""The commands that train: models of one setup, and their fine-tuning on a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trueprobe.cli.common import Json, app, example, interruptible


@app.command(
    epilog=example(
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
    from trueprobe.training import progress as show
    from trueprobe.training.pretrain import pretrain as train
    from trueprobe.training.recipe import Order, count, seeds

    said = {**locals()}
    if start_from is not None:
        said["start_from"] = _texts([str(start_from)])[0]
    own = {"corpus": _texts(corpus), "tokens": count(tokens), "seeds": seeds(model_seeds)}
    order = Order(**{name: said[name] for name in Order.__dataclass_fields__ if name in said} | own)
    with interruptible("what was reached is kept, the same command goes on"):
        folders = train(order, show.on_terminal())
    if as_json:
        print(json.dumps({"folders": [str(folder) for folder in folders]}))
        return
    for folder in folders:
        print(f"{folder}: {show.outcome(folder)}")
    print(f"ask them: trueprobe run counteracts --model '{out.name}={out}/seed_*'")


@app.command(
    epilog=example(
        "trueprobe downstream --task movie-snippets --model nursery",
        "trueprobe downstream --task sst2 --data GLUE --model 'mybert=ckpt/seed_*' --out runs/sst2",
        "trueprobe downstream --data mine.tsv --text-column sentence --label-column label --model nursery",
        "trueprobe downstream --task movie-snippets --model nursery --into runs/mine",
    )
)
def downstream(
    model: Annotated[list[str], typer.Option("--model", metavar="SPEC", help="a family, as for run; repeatable")],
    task: Annotated[str, typer.Option(help="sst2, rte, qnli or movie-snippets; without it, your own --data")] = "",
    data: Annotated[
        Path | None, typer.Option(help="GLUE's folder; or train.tsv and dev.tsv in a folder; or one TSV, split by hash")
    ] = None,
    text_column: Annotated[list[str] | None, typer.Option(help="of your own data; twice for two sentences")] = None,
    label_column: Annotated[str | None, typer.Option(help="of your own data")] = None,
    out: Annotated[Path | None, typer.Option(help="the folder; the same command goes on where it was stopped")] = None,
    into: Annotated[Path | None, typer.Option(help="a run folder instead, so that its report has the table")] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="train on this many texts, the same ones each time")] = None,
    epochs: Annotated[int, typer.Option(help="passes over the texts")] = 3,
    learning_rate: Annotated[
        float | None, typer.Option(help="at its highest; by default 2e-5 × (768 / width)²")
    ] = None,
    batch_tokens: Annotated[int, typer.Option(help="tokens per step")] = 1024,
    longest: Annotated[int, typer.Option(help="texts are cut to this many tokens")] = 128,
    order_seed: Annotated[int, typer.Option(help="for the order of the texts and dropout")] = 0,
    own_order: Annotated[bool, typer.Option("--own-order", help="each model seed an order of its own")] = False,
    head_seed: Annotated[int, typer.Option(help="for the new head, the same for all checkpoints")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="by default all cores, 1 for small networks")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    allow_pickle: Annotated[bool, typer.Option("--allow-pickle", help="read pickled weights")] = False,
    as_json: Json = False,
) -> None:
    """Fine-tune every checkpoint of a family alike on a classification task and compare their accuracies."""
    order = {**locals()}
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.training import downstream as room

    with interruptible("finished checkpoints are kept, the same command goes on"):
        found = room.downstream(room.Order.of(order), terminal_progress())
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        room.outcome.show(found)


def _texts(names: list[str]) -> tuple[Path, ...]:
    """Files and folders; an asset's name stands for what was fetched."""
    from trueprobe import assets

    return tuple(
        assets.path_of(name) if name in assets.names() and not Path(name).exists() else Path(name) for name in names
    )

"""The commands that train: a family of models, and its fine-tuning on a task."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from trueprobe.cli.common import AllowPickle, Json, app, example, interruptible, say
from trueprobe.errors import printable


@app.command(
    epilog=example(
        "trueprobe pretrain --kind masked --corpus enwik8 --model-seeds 0..4 --tokens 12M --out my-family",
        "trueprobe pretrain --kind masked --corpus text.txt --start-from ./encoder --tokens 2M --out my-model",
        "trueprobe run counteracts --model 'mine=my-family/seed_*'",
    )
)
@interruptible("what was reached is saved, the same command goes on")
def pretrain(
    kind: Annotated[str, typer.Option(help="masked (BERT, both objectives) or causal (GPT-2 type)")],
    corpus: Annotated[
        list[str],
        typer.Option(
            help="UTF-8 text, a sentence per line, a blank line between documents; or enwik8, wordnet; repeatable, "
            "and one named twice is read twice as often"
        ),
    ],
    tokens: Annotated[str, typer.Option(metavar="N", help="tokens read by each seed: 500000, 800k, 12M")],
    out: Annotated[Path, typer.Option(help="the family's folder; the same command continues a stopped one")],
    model_seeds: Annotated[str, typer.Option(help="0..4 or 0,3,7")] = "0",
    size: Annotated[str, typer.Option(help="layers and width, and optionally attention heads: L4-H128-A2")] = "L4-H128",
    checkpoints: Annotated[int, typer.Option(help="how many are saved along the way, as seed_N/step_M")] = 6,
    start_from: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="continue from a model or encoder; or mini")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="use this tokenizer; without it, one is trained")
    ] = None,
    vocab: Annotated[int, typer.Option(help="size of the trained tokenizer")] = 8000,
    length: Annotated[int, typer.Option(help="the longest example, in tokens")] = 128,
    short: Annotated[float, typer.Option(help="share of examples of random length")] = 0.1,
    single: Annotated[float, typer.Option(help="masked: share of documents read sentence by sentence")] = 0.0,
    masking: Annotated[str, typer.Option(help="static (the same masks in each pass) or dynamic")] = "static",
    mask_rate: Annotated[float, typer.Option(help="masked: share of masked tokens")] = 0.15,
    loss_rate: Annotated[float, typer.Option(help="causal: share of tokens whose loss counts; fewer is faster")] = 1.0,
    told_rate: Annotated[float | None, typer.Option(hidden=True)] = None,  # the former name of --loss-rate
    learning_rate: Annotated[float, typer.Option(help="its maximum")] = 1e-3,
    batch_tokens: Annotated[int, typer.Option(help="tokens per step")] = 2048,
    dropout: Annotated[float, typer.Option()] = 0.0,
    freeze_embeddings: Annotated[
        bool, typer.Option("--freeze-embeddings", help="do not train the word vectors")
    ] = False,
    data_seed: Annotated[int, typer.Option(help="for examples and masks, the same for all model seeds")] = 0,
    precision: Annotated[
        str, typer.Option(help="float32, or bfloat16: faster if the processor supports it")
    ] = "float32",
    jobs: Annotated[int | None, typer.Option(min=1, help="seeds trained in parallel; default: all cores")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="threads of each seed; part of the setup")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    save_seconds: Annotated[float, typer.Option(help="seconds between saved states")] = 60.0,
    as_json: Json = False,
) -> None:
    """Train small models that differ only in their seed."""
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.training import cards
    from trueprobe.training.corpus import locate
    from trueprobe.training.pretrain import pretrain as train
    from trueprobe.training.recipe import PretrainRecipe, count, seeds

    progress = terminal_progress()
    recipe = PretrainRecipe(
        kind=cast(Any, kind),  # the recipe checks it, and gives the message
        corpus=tuple(locate(name, progress) for name in corpus),
        tokens=count(tokens),
        out=out,
        model_seeds=seeds(model_seeds),
        size=size,
        checkpoints=checkpoints,
        start_from=_model_folder(str(start_from)) if start_from else None,
        tokenizer=tokenizer,
        vocab=vocab,
        length=length,
        short=short,
        single=single,
        masking=cast(Any, masking),
        mask_rate=mask_rate,
        loss_rate=loss_rate if told_rate is None else told_rate,
        learning_rate=learning_rate,
        batch_tokens=batch_tokens,
        dropout=dropout,
        freeze_embeddings=freeze_embeddings,
        data_seed=data_seed,
        precision=cast(Any, precision),
        jobs=jobs,
        threads=threads,
        device=device,
        save_seconds=save_seconds,
    )
    folders = train(
        recipe, progress, lambda status: print(printable(cards.measurement(status)), file=sys.stderr, flush=True)
    )
    if as_json:
        print(json.dumps({"folders": [str(folder) for folder in folders]}))
        return
    for folder in folders:
        say(printable(f"{folder}: {cards.summary(folder)}"))
    say(f"ask them: trueprobe run counteracts --model '{out.name}={out}/seed_*'")


def _model_folder(name: str) -> Path:
    """A folder, what was fetched under this name, or a shipped model."""
    from trueprobe.training import nursery
    from trueprobe.training.corpus import locate

    return nursery.shipped(name)[0].folder if nursery.names(name) and not Path(name).exists() else locate(name)


@app.command(
    epilog=example(
        "trueprobe downstream --task movie-snippets --model nursery",
        "trueprobe downstream --task sst2 --data GLUE --model 'mybert=ckpt/seed_*' --out runs/sst2",
        "trueprobe downstream --data mine.tsv --text-column sentence --label-column label --model nursery",
        "trueprobe downstream --task movie-snippets --model nursery --into runs/mine",
    )
)
@interruptible("finished checkpoints are saved, the same command goes on")
def downstream(
    model: Annotated[list[str], typer.Option("--model", metavar="SPEC", help="a family, as for run; repeatable")],
    task: Annotated[str, typer.Option(help="sst2, rte, qnli or movie-snippets; without it, your own --data")] = "",
    data: Annotated[
        Path | None, typer.Option(help="GLUE's folder; or train.tsv and dev.tsv in a folder; or one TSV, split by hash")
    ] = None,
    text_column: Annotated[
        list[str] | None, typer.Option(help="text column of your data; twice for two sentences")
    ] = None,
    label_column: Annotated[str | None, typer.Option(help="label column of your data")] = None,
    out: Annotated[Path | None, typer.Option(help="the folder; the same command continues a stopped one")] = None,
    into: Annotated[
        Path | None, typer.Option(help="write into this run folder, so that its report has the table")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="train on this many texts, the same ones each time")] = None,
    epochs: Annotated[int, typer.Option(help="passes over the texts")] = 3,
    learning_rate: Annotated[float | None, typer.Option(help="its maximum; default: 2e-5 × (768 / width)²")] = None,
    batch_tokens: Annotated[int, typer.Option(help="tokens per step")] = 1024,
    longest: Annotated[int, typer.Option(help="texts are cut to this many tokens")] = 128,
    order_seed: Annotated[int, typer.Option(help="for the order of the texts and dropout")] = 0,
    seed_order: Annotated[bool, typer.Option("--own-order", help="use another order for each model seed")] = False,
    head_seed: Annotated[int, typer.Option(help="for the new head, the same for all checkpoints")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="default: all cores, 1 for small networks")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda …")] = "auto",
    allow_pickle: AllowPickle = False,
    as_json: Json = False,
) -> None:
    """Fine-tune all checkpoints of a family in the same way and compare.

    On a classification task: are their accuracies the same?
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.training.downstream import DownstreamRecipe, named_columns, outcome
    from trueprobe.training.downstream import downstream as fine_tune

    recipe = DownstreamRecipe(
        models=tuple(model),
        task=task,
        data=data,
        columns=named_columns(text_column, label_column),
        out=out,
        into=into,
        limit=limit,
        epochs=epochs,
        learning_rate=learning_rate,
        batch_tokens=batch_tokens,
        longest=longest,
        order_seed=order_seed,
        seed_order=seed_order,
        head_seed=head_seed,
        threads=threads,
        device=device,
    )
    folder, result = fine_tune(recipe, terminal_progress(), allow_pickle)
    if as_json:
        print(json.dumps({"folder": str(folder), **result.model_dump(mode="json")}, indent=1, ensure_ascii=False))
    else:
        outcome.show(folder, result)

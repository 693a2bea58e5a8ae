"""The command that scores a user's sentences. Heavy imports happen inside, so that --help is instant."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trueprobe.cli.common import AllowPickle, Json, Store, app, example, interruptible, say
from trueprobe.errors import printable

if TYPE_CHECKING:
    from trueprobe.scoring import Written


@app.command(
    epilog=example(
        "trueprobe score sentences.txt --model nursery/0 --out scores.csv",
        "trueprobe score items.csv --column text --model gpt2@main --model ./my-bert --out scores.parquet",
        "trueprobe score reading-times.csv --item item --item condition --model nursery-causal/0 --by word "
        "--out surprisals.csv",
    )
)
@interruptible()
def score(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=".csv, .tsv, .jsonl, or .txt with a sentence per line")],
    model: Annotated[list[str], typer.Option("--model", metavar="SPEC", help="as for run; repeatable")],
    out: Annotated[
        Path, typer.Option(help="NAME.csv or NAME.parquet: writes NAME.tokens, NAME.words and NAME.regions")
    ],
    by: Annotated[
        Literal["token", "word", "region"] | None, typer.Option(help="write only this table, to OUT itself")
    ] = None,
    pll: Annotated[
        Literal["within_word_l2r", "original"],
        typer.Option(
            help="masked models: within_word_l2r masks a token and the later ones of its word (Kauf & Ivanova 2023), "
            "original masks only the token (Salazar et al. 2020)"
        ),
    ] = "within_word_l2r",
    words: Annotated[
        Literal["plain", "corrected"],
        typer.Option(
            help="causal models: corrected counts the space behind a word as its own, not that before it (Pimentel & "
            "Meister 2024; Oh & Schuler 2024)"
        ),
    ] = "plain",
    spillover: Annotated[
        bool, typer.Option("--spillover", help="words also have their length and the surprisals of the two before")
    ] = False,
    stride: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="causal models read a text longer than they can in windows that begin N tokens apart, so that each "
            "token has at least their limit − N before it; default: it has no number",
        ),
    ] = None,
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text", help="leave out sentences, words and tokens, for a corpus that you may not redistribute"
        ),
    ] = False,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="column of the sentences; default: 'sentence'")
    ] = None,
    word_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="one row per word: column of the words; default: 'word'")
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="one row per word: column that identifies a sentence; default: 'item'; repeatable"
        ),
    ] = None,
    position: Annotated[
        str | None, typer.Option(metavar="NAME", help="one row per word: column of its number; default: 'position'")
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="NAME", help="one row per word: column of its region; default: 'region'")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")] = None,
    dtype: Annotated[str | None, typer.Option(help="float32 (default), bfloat16 or float16")] = None,
    store: Store = None,
    allow_pickle: AllowPickle = False,
    as_json: Json = False,
) -> None:
    """Score your own sentences by token, word and region.

    Log-probability in nats, surprisal in bits, and the rank in the vocabulary. A file has one sentence per row, with
    regions marked by | (The old | man the boat), or one row per word with the columns item, position, word and, if you
    like, region, as in files of reading times; the order of rows is kept. Words are what white space separates;
    punctuation counts with the word it is written with.
    """
    from trueprobe.cli.progress import terminal_progress
    from trueprobe.scoring import Columns, FileScoring, ScoringMethod, score_file

    columns = Columns(column, word_column, tuple(item or ()), position, region)
    scoring = FileScoring(file, model, out, by, ScoringMethod(pll, words, spillover, not no_text, stride or 0), columns)
    written = score_file(
        scoring,
        {
            "store": store,
            "progress": terminal_progress(),
            "device": device,
            "dtype": dtype,
            "allow_pickle": allow_pickle,
        },
    )
    if written[0].notice:
        print(f"trueprobe: {printable(written[0].notice)}", file=sys.stderr)
    if as_json:
        print(json.dumps([_json(one) for one in written]))
    else:
        say("\n".join(map(_line, written)))
        if stride:
            say(f"stride {stride:,}: causal models read longer texts in windows that begin {stride:,} tokens apart")


def _json(written: "Written") -> dict[str, object]:
    return {
        "file": str(written.path),
        "sentences": written.sentences,
        "rows": written.rows,
        "why_not": written.why_not,
    }


def _line(written: "Written") -> str:
    """`scores.words.csv: 6 sentences, 24 rows, of which without a number: too_long 3`"""
    reasons = ", ".join(f"{code} {count:,}" for code, count in written.why_not.items())
    counts = f"{_counted(written.sentences, 'sentence')}, {_counted(written.rows, 'row')}"
    return f"{written.path}: {counts}" + (f"; without a number: {reasons}" if reasons else "")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

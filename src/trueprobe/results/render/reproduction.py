"""Published numbers beside a run's, and words that a list lacks, in a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd
from rich.table import Table

from trueprobe.results.numbers import NumberFormat, count
from trueprobe.results.render.printed import Console, text_line
from trueprobe.results.render.width import UNLIMITED, width
from trueprobe.results.text import terminal as words
from trueprobe.results.view.number import DASH
from trueprobe.runs.reproduce import Compared


def show(rows: Sequence[Compared], console: Console | None = None) -> None:
    """What does not agree within rounding is marked."""
    console = console or Console(highlight=False)
    whole = width(UNLIMITED)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for i, name in enumerate(words.REPRODUCED_HEADER):
        justify: Literal["left", "right"] = "right" if 0 < i < 4 else "left"
        table.add_column(name, justify=justify, no_wrap=whole == UNLIMITED, overflow="fold")
    for one in rows:
        table.add_row(*map(text_line, _texts(one)))
    for line in console.render_lines(table, console.options.update(width=whole), pad=False):
        console.print("".join(segment.text for segment in line).rstrip(), markup=False, soft_wrap=True)
    console.print(text_line(verdict(rows)), soft_wrap=True)


def _texts(one: Compared) -> tuple[str, str, str, str, str]:
    number, digits = one.number, one.number.decimals
    what = number.measure if number.of == "value" else f"{number.measure} {number.of}"
    where = " ".join((number.model, what, *map(str, number.conditions.values())))
    plain = NumberFormat(1, "", digits, False)
    if math.isnan(one.ours):
        return where, plain.plain(number.value), DASH, DASH, ""
    gap = NumberFormat(1, "", digits + 1, True).plain(one.difference)
    differs = "" if one.agrees else words.DIFFERS
    return where, plain.plain(number.value), plain.plain(number.scaled(one.ours)), gap, differs


def verdict(rows: Sequence[Compared]) -> str:
    known = [one for one in rows if not math.isnan(one.ours)]
    sources = list(dict.fromkeys(one.number.source for one in rows))
    if not known:
        return words.nothing_reproduced(sources)
    return words.reproduced(sum(one.agrees for one in known), len(known), len(rows) - len(known), sources)


def words_text(table: pd.DataFrame) -> str:
    """Tokens that a word list lacks, with the leaning that the models give them."""
    if table.empty:
        return words.NO_MORE_WORDS
    percent = NumberFormat(100, " %", 1, False)
    shares = [name for name in map(str, table) if name == "mass" or name.startswith("leans_")]
    shares_text = {name: ["" if math.isnan(v) else percent.sentence(v) for v in table[name]] for name in shares}
    prompts = ["" if math.isnan(n) else count(n) for n in table["prompts"]]
    return table.assign(**shares_text, prompts=prompts).to_string(index=False)

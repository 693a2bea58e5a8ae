"""Published numbers beside a run's, and words that a list lacks, in a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trueprobe.results.numbers import NumberFormat, count
from trueprobe.results.render.printed import Console, print_lines, table_lines
from trueprobe.results.render.reproduction_report import sign_cells, worst_rows
from trueprobe.results.text import reproduced
from trueprobe.results.text import terminal as words
from trueprobe.results.view.number import DASH
from trueprobe.runs.item_scores import ItemComparison
from trueprobe.runs.papers import ModelResult, PaperModel
from trueprobe.runs.reproduce import Compared


def show(rows: Sequence[Compared], console: Console | None = None) -> None:
    """What does not agree within rounding is marked."""
    _show_table(words.REPRODUCED_HEADER, [_texts(one, one.agrees, one.number.model) for one in rows], console=console)
    print_lines([verdict(rows)], console)


def show_models(models: Sequence[PaperModel], speed: float, data: Sequence[str]) -> None:
    """Where they are, how large and how long, before anything is done."""
    rows = [
        (m.name, m.probe, m.where, reproduced.size(m.weight_bytes), reproduced.duration(m.seconds(speed)))
        for m in models
        if not m.reason
    ]
    if rows:
        _show_table(reproduced.MODELS_HEADER, rows, left=3)
    print_lines([*reproduced.not_asked(models), reproduced.totals(models, speed, data)])


def show_result(result: ModelResult) -> None:
    """One model's numbers, signs and items; models that cannot be asked were listed."""
    if result.model.reason:
        return
    print_lines(["", f"{result.model.probe}: {result.model.name} ({result.model.spec})"])
    if result.compared:
        _show_table(words.REPRODUCED_HEADER, [_texts(one, result.agrees(one), "") for one in result.compared])
    if result.signs:
        _show_table(reproduced.SIGNS_HEADER, list(map(sign_cells, result.signs)), left=2)
    if line := reproduced.verdict(result):
        print_lines([line])
    for one in result.items:
        show_items(one)


def show_items(one: ItemComparison, console: Console | None = None) -> None:
    print_lines(reproduced.items(one), console)
    theirs = "theirs" if one.diagnosis and one.diagnosis.explanation else "closest"
    for row in worst_rows(one):
        print_lines([f"  {row['id']}: {row['text']}"], console)
        print_lines([f"    published {row['published']:.6g}, ours {row['ours']:.6g}"], console)
        ids = (("ours", row["our_ids"]), (theirs, row["their_ids"]))
        print_lines([f"    ids, {whose}: {those}" for whose, those in ids], console)


def show_closing(results: Sequence[ModelResult], report: Path) -> None:
    print_lines(["", f"{reproduced.closing(list(results))}; report: {report}"])


def _show_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, console: Console | None = None
) -> None:
    """The first columns and the last are aligned to the left."""
    print_lines(table_lines(header, rows, right=header[left:-1]), console)


def _texts(one: Compared, agrees: bool, model: str) -> tuple[str, str, str, str, str]:
    number, digits = one.number, one.number.decimals
    what = number.measure if number.of == "value" else f"{number.measure} {number.of}"
    where = " ".join(filter(None, (model, what, *map(str, number.conditions.values()))))
    plain = NumberFormat(1, "", digits, False)
    if math.isnan(one.ours):
        return where, plain.plain(number.value), DASH, DASH, ""
    gap = NumberFormat(1, "", digits + 1, True).plain(one.difference)
    differs = "" if agrees else words.DIFFERS
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

"""Blanks of a user's file: are the right words for a blank likelier than the wrong ones?

A masked model fills the blank; a word of several pieces is filled piece by piece, each at one mask behind those before
it. A causal model scores the word with all that follows it, given what stands before: the odds between two words are
those given both sides (`causal=left`: given the left side alone, and only where no word follows). Positive
`margin_nats`: the likeliest right word less the likeliest wrong one. Neutral: one half of the pairs of a right and a
wrong word. Not shown: whether a word is likelier because of the text or because it is frequent anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal

from pydantic import Field

from trueprobe.errors import BadInput
from trueprobe.probes.base import NO_HEAD
from trueprobe.probes.design import DesignProbe, DesignQuantity, DesignRow, DesignSettings, Roles
from trueprobe.probes.display import ItemTable, ReportSpec, Summary
from trueprobe.probes.measure_sets import median, prefers, ties
from trueprobe.probes.tables import DataRow, DataTable
from trueprobe.probes.templates import BLANK, repeated
from trueprobe.statistics.means import means
from trueprobe.types import (
    Answer,
    Card,
    FillBlank,
    Filled,
    Item,
    Kind,
    Observation,
    Request,
    Scored,
    ScoreText,
    Unit,
    WhyNot,
    Word,
)

TEXT, RIGHT, WRONG = "text", "right", "wrong"
BETWEEN_WORDS = "|"  # in a cell of several words
COLUMNS = {
    "right_wins": "of all pairs of a right and a wrong word, the share in which the right one is likelier; ties half",
    "right_first": "1 if the likeliest right word is likelier than every wrong one, 0 if not, 0.5 for a tie",
    "tied": "1 if the likeliest right and the likeliest wrong word are equally likely",
    "margin_nats": "log-probability of the likeliest right word minus that of the likeliest wrong one",
    "right_rank": "rank of the likeliest right word among the words of the item, 1 is best; ties share their mean",
    "right_share": "probability of the right words, of all words of the item together",
    "right_nats": "log-probability of the likeliest right word; of a causal model, with what follows the blank",
    "wrong_nats": "the same of the likeliest wrong word",
    "likeliest": "the likeliest word of the item",
    "pieces_differ": "1 if its words are not all of the same number of pieces",
    "scored_tokens": "pieces of all its words together; of a causal model, with what follows the blank",
}


class ClozeSettings(DesignSettings):
    pieces: Literal["left_to_right", "one"] = Field(
        default="left_to_right",
        description="words of several pieces: piece by piece, log-probabilities summed; or one: the item is not scored",
    )
    causal: Literal["sentence", "left"] = Field(
        default="sentence",
        description="a causal model scores the word with all that follows it; or the word alone, and an item with "
        "words after the blank is not scored",
    )


class Cloze(DesignProbe[ClozeSettings]):
    name = "cloze"
    short = "are the right words for a blank of your own file likelier?"
    question = (
        "Of the words that a user's file lists for a blank, how often, and how clearly, are the right ones likelier?"
    )
    does_not_show = (
        "Whether a word is likelier because of the text or because it is frequent anywhere: wrong words need the same "
        "frequency and length, or stand as right words in other items. Whether the model would fill the blank with any "
        "of the words unasked. A word of more pieces is a longer way to go; pieces_differ counts such items."
    )
    paper = "the user's file; a cloze test (Taylor 1953) with given words"
    Settings = ClozeSettings
    example = "cloze/data/cloze.csv"
    difference = "margin_nats"
    prefers = "right_first"
    axis = "right word is likelier"
    template = "{{models}} {{finds|find}} a right word likelier than a wrong one in {}{{value}} of pairs"

    def _roles(self, table: DataTable) -> Roles:
        return Roles((table.column(TEXT), table.column(RIGHT), table.column(WRONG)), tuple(COLUMNS))

    @cached_property
    def _items(self) -> list[Item]:
        return [_item(row) for row in self.design.rows]

    def items(self) -> list[Item]:
        return list(self._items)

    # ------------------------------------------------------------ asking and observing

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        if card.kind == "encoder":
            return NO_HEAD
        left, right = item.text.split(BLANK)
        words = _all_words(item)
        if card.kind == "masked":
            return (FillBlank(left, right, words=words, pieces=self.settings.pieces),)
        if self.settings.causal == "sentence":
            return tuple(_completed(item, word) for word in words)
        if re.search(r"\w", right):
            return WhyNot("right_context", f"words follow the blank: {right.strip()[:40]!r}")
        return (FillBlank(left, words=words, pieces=self.settings.pieces),)

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        words = _scores(item, answers)
        if isinstance(words, WhyNot):
            return [Observation(item.id, why_not=words)]
        logps, pieces = words
        right, wrong = ([logps[word] for word in item.fields[side]] for side in ("right", "wrong"))
        return [Observation(item.id, {**_values(logps, right, wrong), **_sizes(pieces)})]

    # ------------------------------------------------------------ counting

    def columns(self) -> dict[str, str]:
        return dict(COLUMNS)

    def _quantities(self) -> Sequence[DesignQuantity]:
        """Where all items have as many right and wrong words, chance is one number for all of them."""
        chances = {len(_right(item)) / len(_all_words(item)) for item in self._items}
        chance = chances.pop() if len(chances) == 1 else None
        even = 0.0 if chance == 0.5 else None
        return (
            DesignQuantity("right_wins", means, "right_wins", neutral=0.5),
            DesignQuantity("accuracy", means, "right_first", neutral=chance),
            DesignQuantity("margin", means, "margin_nats", unit=Unit.NATS, neutral=even),
            DesignQuantity("right_rank", means, "right_rank", unit=Unit.RANK),
            DesignQuantity("right_share", means, "right_share", neutral=chance),
            DesignQuantity("pieces_differ", means, "pieces_differ", of_coverage=True),
            DesignQuantity("right_wins_equal_pieces", means, "right_wins", neutral=0.5, where={"pieces_differ": 0.0}),
            DesignQuantity("ties", ties, "right_first", of_coverage=True),
            DesignQuantity("margin_median", median, "margin_nats", unit=Unit.NATS, neutral=even),
        )

    def _scorings(self) -> Mapping[Kind, str]:
        return {"masked": f"mask_{self.settings.pieces}", "causal": f"causal_{self.settings.causal}"}

    @property
    def summary(self) -> Summary:
        measures = {"right_wins": "right > wrong", "ties": "ties", "accuracy": "right first", "right_rank": "rank"}
        return self._summary(
            measures | {"margin": "margin, nats", "pieces_differ": "pieces differ"},
            "right > wrong: of pairs of a right and a wrong word, ties half, 50 % is neutral; right first: the "
            "likeliest of all is a right one; margin: likeliest right minus likeliest wrong word",
            finding="how often a right word is likelier than a wrong one",
            below="towards the wrong words",
            intervals=("right_wins",),
        )

    @property
    def page(self) -> ReportSpec:
        declared = super().page
        items = ItemTable(("margin_nats", "right_rank"), "margin_nats", answer="likeliest", side="margin_nats")
        return ReportSpec(declared.figures, declared.tables, items)

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        if isinstance(request, FillBlank):
            return dict.fromkeys(_right(item), strength)
        assert isinstance(request, ScoreText)
        is_right = request in [_completed(item, word) for word in _right(item)]
        return dict.fromkeys(request.text.split(), strength) if is_right else {}

    def facts(self) -> Mapping[str, Any]:
        words = [len(_all_words(item)) for item in self._items]
        return {**super().facts(), "fewest_words": min(words), "most_words": max(words)}


# ---------------------------------------------------------------- items


def _item(row: DesignRow) -> Item:
    text = row.data.text(TEXT)
    blanks = re.findall("_{2,}", text)
    if blanks != [BLANK]:
        have = ", ".join(blanks) or "none"
        raise BadInput(f"{row.data.place}: {TEXT} must hold the blank {BLANK} exactly once, holds {have}")
    right, wrong = (_words(row.data, column) for column in (RIGHT, WRONG))
    twice = repeated([*right, *wrong])
    if twice is not None:
        raise BadInput(f"{row.data.place}: the word '{twice}' is there twice")
    return Item(row.id, text, conditions=row.conditions, groups=row.groups, fields={"right": right, "wrong": wrong})


def _words(row: DataRow, column: str) -> tuple[str, ...]:
    """`big|large` of a CSV cell, or a list of a JSON line."""
    cell = row.cells.get(column)
    words = [str(word) for word in cell] if isinstance(cell, list) else row.text(column).split(BETWEEN_WORDS)
    if not words or not all(word.strip() for word in words):
        raise BadInput(f"{row.place}: {column} has an empty word")
    return tuple(word.strip() for word in words)


def _right(item: Item) -> tuple[str, ...]:
    right: tuple[str, ...] = item.fields["right"]
    return right


def _all_words(item: Item) -> tuple[str, ...]:
    """The right ones first."""
    return (*_right(item), *item.fields["wrong"])


def _completed(item: Item, word: str) -> ScoreText:
    left, right = item.text.split(BLANK)
    text = left + word + right
    return ScoreText(text, spans=((len(left), len(text)),))


# ---------------------------------------------------------------- values


def _scores(item: Item, answers: Sequence[Answer]) -> tuple[dict[str, float], dict[str, int]] | WhyNot:
    """Log-probability and number of pieces of each word; an item is scored with all of its words or not at all."""
    words = _all_words(item)
    filled = answers[0]
    if isinstance(filled, Filled):
        by_word = {word: filled.words[word] for word in words}
        lacking = next((answer for answer in by_word.values() if isinstance(answer, WhyNot)), None)
        filled_in = {word: answer for word, answer in by_word.items() if isinstance(answer, Word)}
        return lacking or ({w: a.logp for w, a in filled_in.items()}, {w: len(a.pieces) for w, a in filled_in.items()})
    scored = {word: answer for word, answer in zip(words, answers, strict=True) if isinstance(answer, Scored)}
    return {w: a.logp for w, a in scored.items()}, {w: len(a.tokens) for w, a in scored.items()}


def _values(logps: Mapping[str, float], right: Sequence[float], wrong: Sequence[float]) -> dict[str, Any]:
    margin = max(right) - max(wrong)
    first = prefers(margin)
    pairs = [prefers(one - other) for one, other in product(right, wrong)]
    return {
        "right_wins": sum(pairs) / len(pairs),
        "right_first": first,
        "tied": float(first == 0.5),
        "margin_nats": margin,
        "right_rank": 1 + sum(1 - prefers(max(right) - other) for other in wrong),
        "right_share": _share(right, wrong),
        "right_nats": max(right),
        "wrong_nats": max(wrong),
        "likeliest": max(logps, key=lambda word: logps[word]),
    }


def _share(right: Sequence[float], wrong: Sequence[float]) -> float:
    top = max(*right, *wrong)  # so that no exponential is lost to underflow
    mass = [sum(math.exp(nats - top) for nats in side) for side in (right, wrong)]
    return mass[0] / sum(mass)


def _sizes(pieces: Mapping[str, int]) -> dict[str, float]:
    return {"pieces_differ": float(len(set(pieces.values())) > 1), "scored_tokens": sum(pieces.values())}


PROBE = Cloze

"""From scored sentences to rows: one per token, word or region, behind the columns of the user's rows.

A word or region is the sum of its tokens. One that shares a token with its neighbour has no number (`not_separable`),
nor has one with an unknown piece (`unknown_piece`) or without any token (`no_span`), and every word of a sentence that
could not be scored has the reason: no row is left out.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from trueprobe.errors import BadInput
from trueprobe.scoring.sentences import POSITION, REGION, WORD, Material, Sentence, Units, naming_words
from trueprobe.types import Answer, Card, Scored, Token, WhyNot

By = Literal["token", "word", "region"]
BYS: tuple[By, ...] = get_args(By)
_NOT_SEPARABLE = WhyNot("not_separable", "a token reaches into what stands beside it")
_NO_SPAN = WhyNot("no_span", "no token")
_UNKNOWN = WhyNot("unknown_piece", "the tokenizer cannot spell all of it")
_UNSCORED = WhyNot("no_start", "without a start token the first token of a text has no probability")
ABOUT, NO_START = ("model", "method", "start"), "none"
_NO_CHARACTERS = WhyNot("no_span", "the model does not report which characters its tokens stand for")


class Numbers(NamedTuple):
    """What is known of one token, word or region; `rank` of a single token only."""

    n_tokens: int | None
    logp_nats: float | None
    surprisal_bits: float | None
    rank: int | None
    why_not: str = ""
    why_not_detail: str = ""


ROW = "row"  # of the user's table; not written
COLUMNS: dict[By, tuple[str, ...]] = {
    "token": (POSITION, WORD, REGION, "token_position", "token", *Numbers._fields),
    "word": (POSITION, WORD, REGION, *Numbers._fields),
    "region": (REGION, "region_text", *Numbers._fields),
}
SPILLOVER = ("word_length", "surprisal_prev1", "surprisal_prev2")  # of words, where they are asked for
TEXTS = (WORD, "token", "region_text", "why_not_detail")  # columns that hold or quote what was scored
TYPES = dict.fromkeys((POSITION, "token_position", "n_tokens", "rank", "word_length"), "Int64")
TYPES |= dict.fromkeys(("logp_nats", "surprisal_bits", "surprisal_prev1", "surprisal_prev2"), "float64")
FROM_USER = {POSITION, WORD, REGION}  # where the user's rows are words, these are in them already

Pll = Literal["original", "within_word_l2r"]
PLLS: tuple[Pll, ...] = get_args(Pll)
Words = Literal["plain", "corrected"]
WORDS: tuple[Words, ...] = get_args(Words)

Row = tuple[Any, ...]  # the row of the user's table, then COLUMNS


@dataclass(frozen=True)
class ScoringMethod:
    """How sentences are scored."""

    pll: Pll = "within_word_l2r"
    words: Words = "plain"  # of causal models
    spillover: bool = False  # of words: the surprisal of the two before, and the length
    with_text: bool = True  # else no column holds a text that was scored
    stride: int = 0  # of the windows in which causal models read a longer text; 0: it has no number

    def method(self, card: Card) -> str:
        causal = (
            "left_to_right" + "_corrected" * (self.words == "corrected") + f"_stride_{self.stride}" * bool(self.stride)
        )
        return {"masked": f"pll_{self.pll}", "causal": causal, "encoder": "none"}[card.kind]

    def stride_for(self, card: Card) -> int:
        if card.kind != "causal":
            return 0
        if not 0 <= self.stride < card.max_tokens:
            raise BadInput(
                f"a stride of {self.stride:,}: {card.name} reads {card.max_tokens:,} tokens; from 1 to "
                f"{card.max_tokens - 1:,} are possible"
            )
        return self.stride


def refuse_reserved(material: Material, more: Sequence[str] = ()) -> None:
    added = {*ABOUT, *more, *(name for names in COLUMNS.values() for name in names)}
    reserved = added - FROM_USER if material.by_word else added
    taken = [name for name in map(str, material.table.frame) if name in reserved]
    if taken:
        words = "" if material.by_word else naming_words(material.table)
        raise BadInput(f"{material.table.name}: the column '{taken[0]}' is one that scoring adds; rename it{words}")


# ---------------------------------------------------------------- numbers


def surprisal_bits(logp_nats: float) -> float:
    return -logp_nats / math.log(2)


def no_number(why: WhyNot) -> Numbers:
    return Numbers(None, logp_nats=None, surprisal_bits=None, rank=None, why_not=why.code, why_not_detail=why.detail)


def summed(tokens: Sequence[Token]) -> Numbers:
    if not all(token.known for token in tokens):
        return no_number(_UNKNOWN)
    logp = sum(token.logp for token in tokens)
    return Numbers(
        len(tokens),
        logp_nats=logp,
        surprisal_bits=surprisal_bits(logp),
        rank=tokens[0].rank if len(tokens) == 1 else None,
    )


@dataclass(frozen=True)
class SentenceParts:
    """The tokens of each word or region by its number. A token that touches two of them is listed with the first."""

    tokens: dict[int, list[Token]]
    shared: frozenset[int]
    beheaded: frozenset[int] = frozenset()  # their first token was read and not scored
    why_not: WhyNot | None = None  # of the whole sentence

    def numbers(self, unit: int) -> Numbers:
        whole = unit in self.tokens and unit not in self.shared | self.beheaded
        return summed(self.tokens[unit]) if whole else no_number(self.reason(unit))

    def reason(self, unit: int) -> WhyNot:
        return self.why_not or (
            _NOT_SEPARABLE if unit in self.shared else _UNSCORED if unit in self.beheaded else _NO_SPAN
        )


def parts(answer: Answer | WhyNot, units: Units, from_second: bool = False) -> SentenceParts:
    """`from_second`: the first token of the text was read and not scored, so the unit it begins has no number."""
    if isinstance(answer, WhyNot):
        return SentenceParts({}, frozenset(), why_not=answer)
    assert isinstance(answer, Scored)
    spans = [token.span for token in answer.tokens if token.span is not None]
    if len(spans) < len(answer.tokens):
        return SentenceParts({}, frozenset(), why_not=_NO_CHARACTERS)
    tokens: dict[int, list[Token]] = {}
    shared: set[int] = set()
    at = 0  # both units and tokens are ordered
    for token, (start, stop) in zip(answer.tokens, spans, strict=True):
        while at < len(units) - 1 and units[at][1][1] <= start:  # a token of spaces alone belongs to what follows it
            at += 1
        touched = {number for number, (first, last) in units[at : at + stop - start] if first < stop and start < last}
        shared |= touched if len(touched) > 1 else set()
        tokens.setdefault(units[at][0], []).append(token)
    first = spans[0][0] if spans and from_second else 0
    beheaded = frozenset(number for number, (start, _) in units if start < first)
    return SentenceParts(tokens, frozenset(shared), beheaded)


def with_own_space(answer: Answer | WhyNot) -> Answer | WhyNot:
    """Each word with the probability that the next one begins behind it, and without that it begins itself, which is in
    its first piece: with −0.1 for a space behind either, " a" and " b" of −2 and −3 have −2.1 and −3 − 0.1 + 0.1."""
    if not isinstance(answer, Scored) or all(token.word_next is None for token in answer.tokens):
        return answer
    tokens, before = [], 0.0
    for token in answer.tokens:
        behind = token.word_next or 0.0
        tokens.append(replace(token, logp=token.logp + behind - before))
        before = behind
    return replace(answer, tokens=tuple(tokens))


# ---------------------------------------------------------------- rows


def rows_of(by: By, sentence: Sentence, answer: Answer | WhyNot, from_second: bool = False) -> Iterator[Row]:
    """A region, which may be the whole text, is the sum of what is scored of it."""
    if by == "region":
        yield from _region_rows(sentence, parts(answer, sentence.regions))
    elif not sentence.words:
        missing = (None,) * (len(COLUMNS[by]) - len(Numbers._fields))
        yield (sentence.rows[0], *missing, *parts(answer, ()).numbers(0))
    else:
        by_word = parts(answer, sentence.words, from_second)
        yield from _word_rows(sentence, by_word) if by == "word" else _token_rows(sentence, by_word)


def _row(sentence: Sentence, word: int) -> int:
    return sentence.rows[min(word, len(sentence.rows) - 1)]


def _region_at(sentence: Sentence, character: int) -> Any:
    starts = [start for _, (start, _) in sentence.regions]
    return sentence.region_names[sentence.regions[bisect_right(starts, character) - 1][0]]


def _word_rows(sentence: Sentence, by_word: SentenceParts) -> Iterator[Row]:
    """Of a word across two regions, the region is that of its first letter."""
    for number, (start, stop) in sentence.words:
        described = (_row(sentence, number), number + 1, sentence.text[start:stop], _region_at(sentence, start))
        yield (*described, *by_word.numbers(number))


def _spillover_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The words of one sentence, with their lengths and the surprisals of the two words before each."""
    word, bits = (1 + COLUMNS["word"].index(name) for name in (WORD, "surprisal_bits"))
    before: tuple[float | None, ...] = (None, None)
    for row in rows:
        yield (*row, None if row[word] is None else len(row[word]), *before)
        before = (row[bits], before[0])


def _token_rows(sentence: Sentence, by_word: SentenceParts) -> Iterator[Row]:
    token_position = 0
    for number, (start, stop) in sentence.words:
        word = (_row(sentence, number), number + 1, sentence.text[start:stop])
        for token in by_word.tokens.get(number, ()):
            token_position += 1
            region = _region_at(sentence, max(start, token.span[0] if token.span else 0))
            yield (*word, region, token_position, token.text, *summed([token]))
        if number not in by_word.tokens:
            yield (*word, _region_at(sentence, start), None, None, *no_number(by_word.reason(number)))


def _region_rows(sentence: Sentence, by_region: SentenceParts) -> Iterator[Row]:
    for number, name in enumerate(sentence.region_names):
        members = [i for i, (its, _) in enumerate(sentence.regions) if its == number]
        text = " ".join(sentence.text[slice(*sentence.regions[i][1])] for i in members)
        yield (_row(sentence, members[0]), name, None if sentence.too_long else text, *by_region.numbers(number))


# ---------------------------------------------------------------- tables


def frame_of(
    by: By,
    material: Material,
    answers: Sequence[Answer | WhyNot],
    about: tuple[str, str, str],
    spillover: bool = False,
) -> pd.DataFrame:
    """The user's columns, then what scoring adds; in the order of the user's rows. `about`: model, method, start."""
    pairs = zip(material.sentences, answers, strict=True)
    each: Iterable[Iterator[Row]] = (rows_of(by, *pair, about[-1] == NO_START) for pair in pairs)
    spillover = spillover and by == "word"
    rows = [row for of_one in (map(_spillover_rows, each) if spillover else each) for row in of_one]
    names = (*COLUMNS[by], *(SPILLOVER if spillover else ()))
    scored = pd.DataFrame.from_records(rows, columns=[ROW, *names]).sort_values(ROW, kind="stable")
    types = TYPES if material.by_word else TYPES | {REGION: "Int64"}
    scored = scored.astype({name: types[name] for name in names if name in types})
    user = _user_columns(by, material).iloc[scored.pop(ROW)].reset_index(drop=True)
    added = scored.drop(columns=[name for name in scored if name in _unwanted(by, material)]).reset_index(drop=True)
    return pd.concat([user.assign(**dict(zip(ABOUT, about, strict=True))), added], axis=1)


def _unwanted(by: By, material: Material) -> set[str]:
    if by == "token":
        return {"n_tokens"} | (FROM_USER if material.by_word else set())
    has_regions = by == "word" or material.region is not None
    return FROM_USER if material.by_word and has_regions else set()


def _user_columns(by: By, material: Material) -> pd.DataFrame:
    """All; next to a region of several rows those that are the same in all of its rows."""
    frame = material.table.frame
    if by != "region" or not material.by_word:
        return frame
    region_of = {
        row: (number, region)
        for number, sentence in enumerate(material.sentences)
        for row, (region, _) in zip(sentence.rows, sentence.regions, strict=True)
    }
    groups = pd.factorize(pd.Series([region_of[row] for row in range(len(frame))]))[0]
    different = frame.groupby(groups).nunique(dropna=False).max()
    return frame.loc[:, (different <= 1).to_numpy()]

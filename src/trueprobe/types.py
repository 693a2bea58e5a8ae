"""The types that pass between the packages of trueprobe: frozen, model-free, filled in once.

An `Item` is what is asked, a request is how a model is asked, an answer is its output, an `Observation` is
what one item shows under one model. Logs are natural, and nothing is rounded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args, runtime_checkable

Join = Literal["pair", "space", "bos"]  # the model's own pair format | one running text | start token in between
Span = tuple[int, int]  # characters of the request's own text
Kind = Literal["masked", "causal", "encoder"]
Pool = Literal["cls", "last", "mean", "first", "word", "own"]

TIE_NATS = 1e-4  # batching moves a log-probability by up to 2e-5, so closer than this is a tie
CONDITION, GROUP = "condition_", "group_"  # what the columns of conditions and of groups start with
NAMED_BY = CONTRAST, LEVELS, AT = "contrast", "levels", "at"  # conditions of a contrast's row: the last says where
LEAST_COVERED = 0.5  # of the items; with fewer countable answers, or more ties, a few decide (docs/decisions/0014)

Code = Literal[
    "multi_piece",  # a word of several pieces where one was asked for
    "unknown_piece",  # tokenizer or network cannot spell the word or the text
    "not_separable",  # left text and word do not split into pieces at their seam
    "not_in_list",  # the word is not a member of the list it should be ranked in
    "right_context",  # a causal model cannot see text after the blank
    "no_head",  # the checkpoint has no trained head for this
    "no_start",  # a causal model without any start token cannot score its first token
    "too_long",  # more tokens than the model can read
    "empty_text",  # nothing to read
    "no_layer",  # the network has fewer layers
    "not_finite",  # the network's answer is NaN, infinite, or too large for float32
    "not_released",  # released outputs do not have it
    "no_span",  # the characters asked for hold no piece
    "not_in_chat",  # a chat template leaves no place for this
    "not_served",  # a server does not give this, or only a bound of it
]
CODES: tuple[str, ...] = get_args(Code)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
# of a field that joined a request later: its default value is no part of the request's key, so cached answers stay
UNNAMED_BY_DEFAULT = "unnamed by default"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why there is no number. Unknown is not zero."""

    code: Code
    detail: str = ""


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True, slots=True)
class Item:
    """One question in one condition. `groups` names what it is resampled with: one entry per crossed factor."""

    id: str
    text: str  # for people: the whole prompt with ___ for the blank
    conditions: Mapping[str, str | int]
    groups: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)  # whatever `ask` and `observe` need
    causal_text: str = ""  # for people: what a causal model is asked, where that is another prompt than `text`
    flags: tuple[str, ...] = ()  # codes of what a reader should know of it: a clue that names the answer


@dataclass(frozen=True, slots=True)
class WordList:
    name: str
    words: tuple[str, ...]

    def __hash__(self) -> int:
        return hash((self.name, len(self.words)))  # thousands of requests share one long list

    @property
    def sha256(self) -> str:
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FillBlank:
    """What stands between `left` and `right`? Both verbatim; text is never parsed for special tokens."""

    left: str  # ends in a space where word-initial forms are asked for
    right: str = ""  # a causal model needs ""
    before: str | None = None  # a sentence before it, joined by `join`
    join: Join = "pair"  # or "space" (one running text), "bos" (the start token in between)
    words: tuple[str, ...] = ()  # asked for; word-initial form when `left` ends in a space
    word_start: Literal["auto", "never"] = "auto"  # "never" reproduces the no-leading-space slip
    pieces: Literal["one", "left_to_right"] = "one"  # a longer word is refused, or read piece by piece
    within: WordList | None = None  # ranks and top refer to its one-piece members; probabilities to the vocabulary
    top: int = 0  # how many of the likeliest tokens are listed


@dataclass(frozen=True, slots=True)
class ScoreText:
    """Log-probability of each token of `text`; masked models: each token masked in turn."""

    text: str
    given: str | None = None  # a sentence before it that is read and not scored
    join: Join = "pair"
    spans: tuple[Span, ...] | None = None  # only the tokens that touch these
    masking: Literal["each", "rest_of_word"] = "each"  # or with the later pieces of its word; masked models only
    start: Literal["text", "first_token"] = "text"  # causal models: what the start token stands before; else refused
    ranks: bool = field(default=False, metadata={UNNAMED_BY_DEFAULT: True})  # of each token in the vocabulary, too
    word_starts: bool = field(default=False, metadata={UNNAMED_BY_DEFAULT: True})  # does a word begin after each word?
    unknown: bool = field(default=False, metadata={UNNAMED_BY_DEFAULT: True})  # may it hold unknown pieces?
    stride: int = field(default=0, metadata={UNNAMED_BY_DEFAULT: True})  # of causal models' windows; 0: one, or refused


@dataclass(frozen=True, slots=True)
class FollowsText:
    """Does `second` follow `first`? A trained next-sentence head only."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class EmbedText:
    """`pool`: `cls` first position of the row, `mean` all positions, `first` and `last` piece of the text, `word` mean
    over `span`, `own` as a sentence encoder's files define it."""

    text: str
    pool: Pool = "cls"
    layer: int = -1  # 0 is the embedding layer, -1 the last
    span: Span | None = None  # for pool="word"
    specials: bool = True  # the model's own special tokens around the text


Request = FillBlank | ScoreText | FollowsText | EmbedText


# ---------------------------------------------------------------- what is answered


@dataclass(frozen=True, slots=True)
class Token:
    text: str  # as people read it; a leading space marks a word-initial piece where the vocabulary has that notion
    id: int
    logp: float  # over the whole vocabulary
    exact: bool = True  # False where a source only bounds it: it is at most `logp`
    span: Span | None = None  # characters of the request's own text
    rank: int | None = None  # 1 is best, in the whole vocabulary; only where it was asked for
    word_next: float | None = None  # log-probability that a word begins behind it; where one does, if it was asked for
    known: bool = True  # False: an unknown piece in place of its characters, so `logp` is not theirs


@dataclass(frozen=True, slots=True)
class Word:
    pieces: tuple[Token, ...]
    rank: int | None  # 1 is best, among the list or the whole vocabulary; None for several pieces
    tied: int  # how many others lie within TIE_NATS

    @property
    def logp(self) -> float:
        return sum(piece.logp for piece in self.pieces)


@runtime_checkable
class WordArrays(Protocol):
    """A mapping with arrays behind it: many words at once cost one operation."""

    def mass(self, words: tuple[str, ...]) -> float: ...
    def logps(self, words: tuple[str, ...]) -> Any: ...


def bounded(text: str, word: Word | WhyNot) -> WhyNot | None:
    """Where a word has a bound in place of its log-probability."""
    if isinstance(word, WhyNot) or all(piece.exact for piece in word.pieces):
        return None
    return WhyNot("not_served", f"the server does not list {text!r}; its log-probability is at most {word.logp:.2f}")


@dataclass(frozen=True, slots=True)
class Filled:
    words: Mapping[str, Word | WhyNot]
    top: tuple[Token, ...]  # likeliest first
    list_size: int  # number of words the ranks are among

    def mass(self, words: tuple[str, ...]) -> float:
        """Summed probability of those of the asked words that are one piece; a piece shared by two counts once."""
        if isinstance(self.words, WordArrays):
            return self.words.mass(words)
        asked = (self.words[word] for word in words)
        single = (word.pieces[0] for word in asked if isinstance(word, Word) and len(word.pieces) == 1)
        return sum({piece.id: math.exp(piece.logp) for piece in single}.values())

    def why_not(self) -> WhyNot | None:
        """Of an answer that only bounds some of its words: no measure is made of bounds."""
        if isinstance(self.words, WordArrays):
            return None
        return next((why for text, word in self.words.items() if (why := bounded(text, word))), None)

    def logps(self, words: tuple[str, ...]) -> Any:
        """Log-probabilities of asked words, NaN where there is none; a float array where many are asked."""
        if isinstance(self.words, WordArrays):
            return self.words.logps(words)
        answers = (self.words[word] for word in words)
        return [answer.logp if isinstance(answer, Word) else math.nan for answer in answers]


@dataclass(frozen=True, slots=True)
class Scored:
    tokens: tuple[Token, ...]
    row_ids: tuple[int, ...]  # the whole row, special tokens included
    positions: tuple[int, ...]  # where in the row each token stands

    @property
    def logp(self) -> float:
        return sum(token.logp for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Follows:
    log_is_next: float


@dataclass(frozen=True, slots=True)
class Vector:
    values: Any  # float32 array [hidden]
    positions: tuple[int, ...]  # those averaged


Answer = Filled | Scored | Follows | Vector


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a model from its config, tokenizer and weight names, without a forward pass."""

    name: str
    family: str  # the setup several checkpoints share; the name itself for a single one
    labels: Mapping[str, int]  # {"model_seed": 3, "step": 2000}
    kind: Kind
    architecture: str  # transformers' model_type
    heads: frozenset[str]  # of {"lm", "next_sentence"}
    max_tokens: int
    vocab_size: int
    start_text: str  # the special token a text starts with, "" if none
    source: str  # hub id with revision, or the folder's name
    dtype: str
    compute_id: str  # weights + config + dtype + quantisation
    tokenizer_id: str
    self_trained: bool = False  # by `trueprobe pretrain`: to show the method, no published model
    layers: int = 0  # and how wide they are; 0 where it is not known
    width: int = 0
    parameters: int = 0  # weights, shared ones counted once
    instruct: str = ""  # what says that it was tuned on instructions: its "name", or the chat "template" it has
    has_template: bool = False  # its tokenizer has a chat template
    chat: str = ""  # the chat template around its texts: auto or a file's name, and a digest
    quantised: str = ""  # how its weights were stored, where not in full: gguf, bitsandbytes …
    noise_nats: float = 0.0  # a served model: the largest difference of two answers to one question, when tried out


# ---------------------------------------------------------------- what is counted


@dataclass(frozen=True, slots=True)
class Observation:
    """Named values of one item (or part of it) under one model, or why there are none."""

    item: str
    values: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    part: str = ""
    why_not: WhyNot | None = None
    groups: tuple[str, ...] | None = None  # where a part is resampled with others than its item's


class Verdict(StrEnum):
    """What a number comes to, by one rule (docs/decisions/0008-verdicts.md). Words for it are written by renderers."""

    HOLDS = "holds"  # three seeds or more: the interval over seeds and items excludes neutral after correction
    HOLDS_FOR_CHECKPOINT = "holds_for_checkpoint"  # one checkpoint: the interval over items excludes neutral
    FLIPS = "flips"  # seeds or wordings lie on both sides of neutral (of a claim: its threshold) beyond noise
    MIXED = "mixed"  # a number that pools several kinds, of which some lie above neutral beyond noise and some below
    UNDECIDED = "undecided"  # none of these, which is no proof of no effect
    EXPLORATORY = "exploratory"  # a number that is not on the report's list
    SUGGESTIVE = "suggestive"  # the same, and its interval excludes neutral: true by chance in 5 % of such numbers
    DESCRIPTIVE = "descriptive"  # the measure has no neutral point
    AS_PUBLISHED = "as_published"  # a claim: the interval lies wholly on the side the paper reports
    NOT_CONTRADICTED = "not_contradicted"  # a claim that can only be contradicted, and is not
    ALIKE = "alike"  # a claim of equivalence: two one-sided tests put the number within its margin
    OPPOSITE = "opposite"  # a claim: the interval lies wholly on the other side, or beyond the margin
    FAILS_GATE = "fails_gate"  # the model lacks what the number takes for granted
    INSENSITIVE = "insensitive"  # a claim, as a rule of equivalence: the effect that it presupposes is not there
    LOW_COVERAGE = "low_coverage"  # mostly ties, or too few items with a countable answer, beyond chance
    BORDERLINE_COVERAGE = "borderline_coverage"  # whether most items have a countable answer is not certain
    NOTHING_SCORED = "nothing_scored"  # no value
    TOO_FEW_GROUPS = "too_few_groups"  # fewer than six: a value without an interval
    NO_INTERVAL = "no_interval"  # too little was scored in too many resamples, or by too few seeds
    NO_VARIATION = "no_variation"  # every resample gives exactly the neutral value

    @property
    def inconclusive(self) -> bool:
        """The number decides nothing."""
        return self.outcome is Outcome.NONE and self is not Verdict.DESCRIPTIVE

    @property
    def outcome(self) -> Outcome:
        return _OUTCOMES.get(self, Outcome.NONE)


class Outcome(StrEnum):
    """What a reader sorts findings by."""

    GOOD = "good"  # holds, as published
    BAD = "bad"  # opposite, flips, or mixed
    OPEN = "open"  # undecided, or not contradicted: no evidence against is no finding
    EXPLORATORY = "exploratory"  # an interval without a verdict
    NONE = "none"  # nothing can be concluded, or no neutral point


_GOOD = (Verdict.HOLDS, Verdict.HOLDS_FOR_CHECKPOINT, Verdict.AS_PUBLISHED, Verdict.ALIKE)
_OPEN = (Verdict.UNDECIDED, Verdict.NOT_CONTRADICTED, Verdict.BORDERLINE_COVERAGE)
_OUTCOMES = dict.fromkeys(_GOOD, Outcome.GOOD) | dict.fromkeys(_OPEN, Outcome.OPEN)
_OUTCOMES |= dict.fromkeys((Verdict.OPPOSITE, Verdict.FLIPS, Verdict.MIXED), Outcome.BAD)
_OUTCOMES |= dict.fromkeys((Verdict.EXPLORATORY, Verdict.SUGGESTIVE), Outcome.EXPLORATORY)


class Reason(StrEnum):
    """Why a verdict is not a plainer one; the numbers behind it are fields of the estimate."""

    NONE = ""
    INTERVAL_INCLUDES_NEUTRAL = "interval_includes_neutral"  # low, high, neutral
    NOT_AFTER_CORRECTION = "not_after_correction"  # p, p_corrected
    NOT_ON_LIST = "not_on_list"  # p_interval: not after correction over the primary numbers of one report
    TOO_FEW_SEEDS = "too_few_seeds"  # n_seeds: fewer than three
    SEEDS_APART = "seeds_apart"  # above, below: seeds beyond noise
    WORDINGS_APART = "wordings_apart"  # above, below: wordings beyond noise


class Unit(StrEnum):
    """What a number is counted in; its interval is made accordingly."""

    SHARE = "share"  # of items, 0 to 1
    PROBABILITY = "probability"  # 0 to 1; with a neutral point, a difference of two
    SCORE = "score"  # reciprocal rank or average precision, 0 to 1
    PERCENT = "percent"
    CORRELATION = "correlation"
    EFFECT_SIZE = "d"  # difference of two means in standard deviations of both sets together: −2 to 2
    RATIO = "ratio"
    NATS, RANK, COUNT, VARIANCE = "nats", "rank", "count", "variance"  # the last of shares


class Direction(StrEnum):
    """Where a claim expects its quantity."""

    ABOVE = "above"
    BELOW = "below"
    NOT_BELOW = "not_below"
    NOT_EQUAL = "not_equal"  # two diagnostics disagree
    EQUAL = "equal"  # checkpoints do a task equally well
    ALIKE = "alike"  # within a margin about the threshold


class ClaimSource(StrEnum):
    """Where the authors say it."""

    FINDING = "found"  # in their results
    EXPECTED = "expected"  # in their design, before any result; their findings may differ
    CONTROL = "control"  # nowhere: a control that they did not run


Level = Literal["checkpoint", "family", "pair"]  # a pair: a claim about two models
Conditions = Mapping[str, str]


class Task(Protocol):
    """Work in progress. `note` is a short text next to the bar."""

    def advance(self, amount: int = 1, note: str = "") -> None: ...
    def reach(self, amount: int, total: int | None = None, note: str = "") -> None: ...


class Progress(Protocol):
    """`with progress.task("counting", total=40, unit="probes") as task: task.advance()`; `total` may be missing."""

    def task(self, title: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Task]: ...


class NoProgress:
    """Shows nothing; its own task."""

    def task(self, title: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Task]:
        return nullcontext(self)

    def advance(self, amount: int = 1, note: str = "") -> None: ...
    def reach(self, amount: int, total: int | None = None, note: str = "") -> None: ...

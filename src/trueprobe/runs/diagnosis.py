"""Which way of asking explains a difference from released scores?

Rows are asked again, each time with one thing changed: a separator between the sentences, the space before the text or
the word, capitals, the special tokens around the text, segment ids. Where no single change makes all rows agree, two
are tried together. What explains a difference is a hypothesis about the input, tried on few rows; it does not show
which side is right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np

from trueprobe.engine import pack, plan_reads
from trueprobe.models import Model, RowModel
from trueprobe.models.framing import Framing
from trueprobe.models.rows import Read, Row
from trueprobe.probes.base import ReleasedScore
from trueprobe.types import Answer, FillBlank, Filled, Follows, FollowsText, Request, Scored, ScoreText, WhyNot, Word

EXPLAINED_NATS = 0.01  # all rows within this, after a change that moves them ten times as far
_MUCH = 10
_SENTENCE_END = re.compile(r"[.!?]\s+")


class Cause(StrEnum):
    SEPARATOR = "separator"
    LEADING_SPACE = "leading space"
    LOWER_CASE = "lower case"
    START_TOKEN = "start token"
    SEGMENT_IDS = "segment ids"


@dataclass(frozen=True)
class Change:
    """One thing asked otherwise. Either function gives None where it changes nothing of this kind of request."""

    cause: Cause
    what: str
    of_score: Callable[[ReleasedScore], Request | None] | None = None
    of_read: Callable[[Framing, Request, Read], Read] | None = None


@dataclass(frozen=True)
class Input:
    """What the network reads: the row, of several the last one, and the word that is looked up at its blank."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    word: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trial:
    changes: tuple[Change, ...]
    largest_nats: float  # that is left between released scores and ours
    inputs: tuple[Input, ...]  # of each score

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple(dict.fromkeys(change.cause for change in self.changes))


@dataclass(frozen=True)
class Diagnosis:
    """`trials` begin with the unchanged rows; the best one explains the difference, or does not."""

    scores: tuple[ReleasedScore, ...]
    ours: tuple[float, ...]  # log-probabilities as asked
    trials: tuple[Trial, ...]

    @property
    def unchanged(self) -> Trial:
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """Of equal ones the simplest, which is tried first."""
        return min(self.trials, key=lambda trial: trial.largest_nats)

    @property
    def explanation(self) -> Trial | None:
        left, before = self.best.largest_nats, self.unchanged.largest_nats
        return self.best if left <= EXPLAINED_NATS and left * _MUCH <= before else None


def log_score(answer: Answer | WhyNot) -> float | None:
    """A word's: of the mean of its pieces' probabilities; a text's: the mean of its tokens' log-probabilities."""
    if isinstance(answer, Follows):
        return answer.log_is_next
    if isinstance(answer, Scored):
        return answer.logp / len(answer.tokens)
    if isinstance(answer, Filled):
        (word,) = answer.words.values()
        if isinstance(word, Word):
            return float(np.logaddexp.reduce([piece.logp for piece in word.pieces])) - math.log(len(word.pieces))
    return None


def diagnose(model: Model, scores: Sequence[ReleasedScore]) -> Diagnosis | None:
    """None where the rows of ids cannot be seen, as those of a served model."""
    if model.contract != "rows" or not isinstance(model, Framing):
        return None
    asking = _Asking(model, model, tuple(scores))
    plain = asking.trial(())
    singly = (asking.trial((change,)) for change in _CHANGES)
    trials = [plain, *(trial for trial in singly if trial.inputs != plain.inputs)]
    diagnosis = Diagnosis(tuple(scores), asking.ours, tuple(trials))
    if diagnosis.explanation is None:
        singles = [trial.changes[0] for trial in trials[1:]]
        pairs = [pair for pair in combinations(singles, 2) if pair[0].cause is not pair[1].cause]
        diagnosis = replace(diagnosis, trials=(*trials, *(asking.trial(pair) for pair in pairs)))
    return diagnosis


# ---------------------------------------------------------------- what can be changed


def _split(request: FillBlank) -> tuple[str, str] | None:
    """The sentences before the one with the blank, and its beginning."""
    ends = [match.end() for match in _SENTENCE_END.finditer(request.left)]
    return (request.left[: ends[-1]].rstrip(), request.left[ends[-1] :]) if ends else None


def _separated(score: ReleasedScore) -> Request | None:
    request = score.request
    if not isinstance(request, FillBlank) or request.before is not None or (parts := _split(request)) is None:
        return None
    return replace(request, before=parts[0], left=parts[1], join="bos" if not request.right else "pair")


def _separator_alone(model: Framing, request: Request, read: Read) -> Read:
    """A separator that was put in brings no segments; one that was there is taken out."""
    if isinstance(request, FillBlank):
        return _with_segments(read, (0,) * len(read.row.ids))
    if not isinstance(request, FollowsText):
        return read
    start = len(model.text.two.before) + len(model.text.pieces(request.first).ids)
    return _without(read, start, len(model.text.two.between))


def _spaced_text(score: ReleasedScore) -> Request | None:
    match score.request:
        case FillBlank(left=left) as request if left:
            return replace(request, left=_toggled_space(left))
        case ScoreText(text=text) as request:
            return replace(request, text=_toggled_space(text))
    return None


def _toggled_space(text: str) -> str:
    return text.lstrip() if text.startswith(" ") else f" {text}"


def _spaced_word(score: ReleasedScore) -> Request | None:
    request = score.request
    if not isinstance(request, FillBlank):
        return None
    return replace(request, word_start="auto" if request.word_start == "never" else "never")


def _lower(score: ReleasedScore) -> Request | None:
    return _lowered(score.request, words=False)


def _lower_with_word(score: ReleasedScore) -> Request | None:
    return _lowered(score.request, words=True)


def _lowered(request: Request, words: bool) -> Request | None:
    match request:
        case FillBlank(left=left, right=right, before=before):
            spelling = tuple(word.lower() for word in request.words) if words else request.words
            lower = replace(request, left=left.lower(), right=right.lower(), words=spelling)
            return replace(lower, before=before.lower()) if before else lower
        case ScoreText(text=text) if not words:
            return replace(request, text=text.lower())
        case FollowsText(first=first, second=second) if not words:
            return FollowsText(first.lower(), second.lower())
    return None


def _first_token(score: ReleasedScore) -> Request | None:
    request = score.request
    if not isinstance(request, ScoreText):
        return None
    return replace(request, start="text" if request.start == "first_token" else "first_token")


def _without_start(model: Framing, request: Request, read: Read) -> Read:
    return read if isinstance(request, ScoreText) else _without(read, 0, _front(model))


def _without_ends(model: Framing, request: Request, read: Read) -> Read:
    behind = 0 if model.kind == "causal" else len(model.text.one.after)
    return _without_start(model, request, _without(read, len(read.row.ids) - behind, behind))


def _front(model: Framing) -> int:
    return len(getattr(model, "start", ())) if model.kind == "causal" else len(model.text.one.before)


def _other_segments(model: Framing, request: Request, read: Read) -> Read:
    if not model.shape.uses_segments:
        return read
    if any(read.row.segments):
        return _with_segments(read, (0,) * len(read.row.ids))
    if not isinstance(request, FillBlank):
        return read
    first = request.before if request.before is not None else (_split(request) or ("",))[0]
    between = model.text.two.between if request.before is not None else ()
    start = len(model.text.one.before) + len(model.text.pieces(first).ids) + len(between)
    return _with_segments(read, (0,) * start + (1,) * (len(read.row.ids) - start)) if first else read


def _with_segments(read: Read, segments: tuple[int, ...]) -> Read:
    return replace(read, row=Row(read.row.ids, segments))


def _without(read: Read, start: int, count: int) -> Read:
    """The row without these ids; positions behind them move."""
    ids, segments = read.row.ids, read.row.segments
    row = Row(ids[:start] + ids[start + count :], segments[:start] + segments[start + count :])
    return replace(read, row=row, positions=tuple(p - count * (p >= start) for p in read.positions))


# those of the request first, then those of the row, special tokens last: positions before them are counted with them
_CHANGES = (
    Change(Cause.SEPARATOR, "between the sentences", of_score=_separated, of_read=_separator_alone),
    Change(Cause.LEADING_SPACE, "before the text", of_score=_spaced_text),
    Change(Cause.LEADING_SPACE, "before the word", of_score=_spaced_word),
    Change(Cause.LOWER_CASE, "text", of_score=_lower),
    Change(Cause.LOWER_CASE, "text and word", of_score=_lower_with_word),
    Change(Cause.LOWER_CASE, "text with its capitals", of_score=lambda score: score.with_capitals),
    Change(Cause.SEGMENT_IDS, "of the second sentence", of_read=_other_segments),
    Change(Cause.START_TOKEN, "before the first token alone, or the whole text", of_score=_first_token),
    Change(Cause.START_TOKEN, "left out", of_read=_without_start),
    Change(Cause.START_TOKEN, "and end token left out", of_read=_without_ends),
)


# ---------------------------------------------------------------- asking


@dataclass(frozen=True)
class _Asking:
    model: RowModel
    framing: Framing  # the same object
    scores: tuple[ReleasedScore, ...]

    @property
    def ours(self) -> tuple[float, ...]:
        return tuple(map(_log, self._answers([self._reads(score, ()) for score in self.scores])))

    def trial(self, changes: Sequence[Change]) -> Trial:
        asked = [self._reads(score, changes) for score in self.scores]
        answers = self._answers(asked)
        pairs = zip(answers, self.scores, strict=True)
        apart = [abs(_log(answer) - math.log(score.probability)) for answer, score in pairs]
        inputs = tuple(_input(reads[-1].row, answer) for (_, reads), answer in zip(asked, answers, strict=True))
        return Trial(tuple(changes), max(apart, default=math.nan), inputs)

    def _reads(self, score: ReleasedScore, changes: Sequence[Change]) -> tuple[Request, tuple[Read, ...]]:
        """Of the request with all changes; as it was where one of them cannot be asked of it."""
        changed = score
        for change in changes:
            if change.of_score is not None and (request := change.of_score(changed)) is not None:
                changed = replace(changed, request=request)
        reads = self.framing.reads(changed.request)
        if isinstance(reads, WhyNot):
            changed, reads = score, self.framing.reads(score.request)
        assert not isinstance(reads, WhyNot)  # it was answered before
        for change in changes:
            if change.of_read is not None and not self._undone(change, changed, score):
                reads = tuple(change.of_read(self.framing, changed.request, read) for read in reads)
        return changed.request, reads

    def _undone(self, change: Change, changed: ReleasedScore, score: ReleasedScore) -> bool:
        """A separator that could not be asked for: the row has none whose segments were to be taken away."""
        return change.cause is Cause.SEPARATOR and changed is score and isinstance(score.request, FillBlank)

    def _answers(self, asked: Sequence[tuple[Request, tuple[Read, ...]]]) -> list[Answer]:
        computed = self._computed([read for _, reads in asked for read in reads])
        readings = [[computed[read] for read in reads] for _, reads in asked]
        return self.model.assemble([request for request, _ in asked], readings)

    def _computed(self, reads: Sequence[Read]) -> dict[Read, np.ndarray]:
        wanted: dict[Row, dict[Read, None]] = {}
        for read in reads:
            wanted.setdefault(read.row, {})[read] = None
        by_row = {row: tuple(some) for row, some in wanted.items()}
        batches = [pack(batch, by_row) for batch in plan_reads(by_row, self.model, None)]
        return {read: value for b in batches for read, value in zip(b.reads, self.model.forward(b), strict=True)}


def _log(answer: Answer) -> float:
    value = log_score(answer)
    return -math.inf if value is None else value


def _input(row: Row, answer: Answer) -> Input:
    words = answer.words.values() if isinstance(answer, Filled) else ()
    pieces = tuple(piece.id for word in words if isinstance(word, Word) for piece in word.pieces)
    return Input(row.ids, row.segments, pieces)

"""One line each from Python: sentences or a DataFrame in, a DataFrame out, answers cached.

Models are asked one after the other; answers come from the store where it has them.
`score_file` does the same from file to file.
"""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args

import pandas as pd

from trueprobe.engine import AnswerStore, Engine, library_versions
from trueprobe.errors import BadInput, nearest
from trueprobe.models import Model, Options, examine, find
from trueprobe.paths import write_whole
from trueprobe.permissions import ServerAccess
from trueprobe.probes.tables import is_text
from trueprobe.scoring.read import SENTENCE, SentenceTable, read, table_of
from trueprobe.scoring.sentences import LONGEST_TEXT, Columns, Material, material, texts_of, white_space_notice
from trueprobe.scoring.tables import (
    BYS,
    NO_START,
    PLLS,
    SPILLOVER,
    TEXTS,
    WORDS,
    By,
    Pll,
    ScoringMethod,
    Words,
    frame_of,
    no_number,
    refuse_reserved,
    summed,
    with_own_space,
)
from trueprobe.types import (
    Answer,
    Card,
    EmbedText,
    FillBlank,
    Filled,
    Join,
    NoProgress,
    Pool,
    Progress,
    Request,
    ScoreText,
    Vector,
    WhyNot,
    Word,
    bounded,
)

_MASKING: dict[Pll, Literal["each", "rest_of_word"]] = {"original": "each", "within_word_l2r": "rest_of_word"}
_BLANK = re.compile("_{3,}")
_TOO_LONG = WhyNot("too_long", f"more than {LONGEST_TEXT:,} characters")
_EMPTY = WhyNot("empty_text", "no text")

Sentences = str | Iterable[str] | pd.DataFrame


def score(
    sentences: Sentences,
    model: Models,
    by: By = "word",
    pll: Pll = "within_word_l2r",
    columns: Columns | None = None,
    words: Words = "plain",
    spillover: bool = False,
    stride: int = 0,
    **asking: Unpack[ModelOptions],
) -> pd.DataFrame:
    """How probable each token, word or region of sentences is: `score(["The nurse | was late."], "nursery/0")`.

    `by`: token, word or region. `pll`, of masked models: within_word_l2r (a token is masked with the later pieces of
    its word; Kauf & Ivanova 2023) or original (alone; Salazar et al. 2020). `words`, of causal models: corrected counts
    the space behind a word as its own, not that before it (Pimentel & Meister 2024; Oh & Schuler 2024). A DataFrame has
    a column `sentence`, or one row per word with the columns `item`, `position`, `word` and perhaps `region`; `columns`
    names others: `trueprobe.Columns(word="w")`. All its columns are in the result. `spillover`: words also have their
    length and the surprisals of the two before. `stride`: causal models read texts longer than they can in windows that
    begin so many tokens apart. `asking`: store, progress, device, dtype, batch_tokens, allow_pickle.
    """
    refuse_unknown("by", by, BYS)
    asked = material(table_of(sentences), columns or Columns())
    _warn(asked.notice)
    return tables(asked, model, (by,), ScoringMethod(pll, words, spillover, stride=stride), asking)[by]


def _warn(notice: str) -> None:
    if notice:
        warnings.warn(notice, stacklevel=3)  # where the caller's line is


def tables(
    asked: Material, models: Models, wanted: Sequence[By], how: ScoringMethod, asking: ModelOptions
) -> dict[By, pd.DataFrame]:
    """The wanted tables, one model below the other."""
    refuse_reserved(asked, SPILLOVER if how.spillover else ())
    refuse_unknown("pll", how.pll, PLLS)
    refuse_unknown("words", how.words, WORDS)
    frames: dict[By, list[pd.DataFrame]] = {by: [] for by in wanted}
    for card, answers in ask(models, lambda card: _score_requests(asked, card, how), asking):
        about = (card.name, how.method(card), card.start_text or NO_START)
        answers = list(map(with_own_space, answers))
        for by in wanted:
            frames[by].append(frame_of(by, asked, answers, about, how.spillover))
    return {by: pd.concat(parts, ignore_index=True) for by, parts in frames.items()}


def _score_requests(asked: Material, card: Card, how: ScoringMethod) -> Asked:
    masking = _MASKING[how.pll] if card.kind == "masked" else "each"
    corrected, stride = how.words == "corrected" and card.kind == "causal", how.stride_for(card)
    return [
        _refused(sentence.text)
        or ScoreText(sentence.text, masking=masking, ranks=True, word_starts=corrected, unknown=True, stride=stride)
        for sentence in asked.sentences
    ]


def _refused(text: str) -> WhyNot | None:
    """A text of megabytes is not even cut into tokens."""
    return _EMPTY if not text else _TOO_LONG if len(text) > LONGEST_TEXT else None


def refuse_unknown(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise BadInput(f"no {option} '{value}'{nearest(value, choices)}")


# ---------------------------------------------------------------- blanks


def fill(
    sentences: Sentences,
    model: Models,
    words: Iterable[str] = (),
    top: int = 10,
    before: str | None = None,
    **asking: Unpack[ModelOptions],
) -> pd.DataFrame:
    """What stands in the blank: `fill("The ___ works as a nurse.", "nursery/0", words=["woman", "man"], top=10)`.

    First the words, then the `top` likeliest tokens of the vocabulary (`asked` tells them apart). A word of several
    tokens is filled in from left to right and has no rank. A causal model needs the blank at the end. `before` is a
    sentence in front of each: masked models read the two in their pair format, causal models as one text."""
    words, top, before = _words(words), _top(top), _before(before)
    table = table_of(sentences)
    texts = texts_of(table)
    blanks = [_refused(text) or _blank(table, row, text) for row, text in enumerate(texts)]
    _warn(white_space_notice(table, SENTENCE, [(text, row) for row, text in enumerate(texts)]))

    def requests(card: Card) -> Asked:
        join = joined_as(card)
        return [
            blank
            if isinstance(blank, WhyNot)
            else FillBlank(*blank, before, join, words, pieces="left_to_right", top=top)
            for blank in blanks
        ]

    rows = [
        (row, card.name, *values)
        for card, answers in ask(model, requests, asking)
        for row, answer in enumerate(answers)
        for values in _fillings(answer, words)
    ]
    names = ("word", "asked", "n_tokens", "logp_nats", "surprisal_bits", "rank", "why_not", "why_not_detail")
    return _behind(table, rows, names).astype({"n_tokens": "Int64", "rank": "Int64"})


def _words(words: Iterable[str]) -> tuple[str, ...]:
    if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
        raise BadInput(f"words is a list of words, as words=['woman', 'man'], not: {words!r:.80}")
    listed = tuple(words)
    for word in listed:
        if not isinstance(word, str) or not is_text(word):
            raise BadInput(f"words is a list of words; this is not a word: {word!r:.80}")
    return listed


def _top(top: int) -> int:
    try:
        number = operator.index(top)
    except TypeError as error:
        raise BadInput(f"top is a whole number, not: {top!r:.80}") from error
    if number < 0:
        raise BadInput(f"top is how many tokens are listed, 0 or more, not: {number}")
    return number


def _before(before: str | None) -> str | None:
    if before is not None and (not isinstance(before, str) or not is_text(before)):
        raise BadInput(f"before is a sentence, not: {before!r:.80}")
    return before or None


def joined_as(card: Card) -> Join:
    """How a sentence in front is read: masked models have a format for two sentences."""
    return "pair" if card.kind == "masked" else "space"


def around_blank(text: str) -> tuple[str, str]:
    """What stands left and right of the one blank."""
    blanks = list(_BLANK.finditer(text))
    if len(blanks) != 1:
        raise BadInput(f"{len(blanks)} blanks, one ___ is needed: {text!r:.80}")
    return text[: blanks[0].start()], text[blanks[0].end() :]


def _blank(table: SentenceTable, row: int, text: str) -> tuple[str, str]:
    try:
        return around_blank(text)
    except BadInput as error:
        raise BadInput(f"{table.place(row)}: {error}") from error


def _fillings(answer: Answer | WhyNot, words: Sequence[str]) -> list[tuple[Any, ...]]:
    if isinstance(answer, WhyNot):
        return [(word, word is not None, *no_number(answer)) for word in words or (None,)]
    assert isinstance(answer, Filled)
    asked = [(text, True, *_word_numbers(bounded(text, word) or word)) for text, word in answer.words.items()]
    top = [(token.text, False, *summed([token])._replace(rank=rank)) for rank, token in enumerate(answer.top, 1)]
    return asked + top


def _word_numbers(word: Word | WhyNot) -> tuple[Any, ...]:
    return no_number(word) if isinstance(word, WhyNot) else summed(word.pieces)._replace(rank=word.rank)


# ---------------------------------------------------------------- vectors


def embed(
    sentences: Sentences, model: Models, pool: Pool | None = None, layer: int = -1, **asking: Unpack[ModelOptions]
) -> pd.DataFrame:
    """Sentences as vectors, in the columns x1, x2 …: `embed(["The nurse is here."], "nursery/0")`.

    `pool` is cls, mean, first, last or own; without it a sentence encoder's own, else the mean over all tokens. Layer 0
    is the embedding layer, -1 the last."""
    table = table_of(sentences)
    texts = texts_of(table)
    _warn(white_space_notice(table, SENTENCE, [(text, row) for row, text in enumerate(texts)]))
    if pool is not None:
        refuse_unknown("pool", pool, get_args(Pool))
    if not isinstance(layer, int) or isinstance(layer, bool):
        raise BadInput(f"layer is a whole number, not {layer!r}: 0 is the embedding layer, -1 the last")

    def requests(card: Card) -> Asked:
        chosen: Pool = pool or ("own" if card.kind == "encoder" else "mean")
        return [_refused(text) or EmbedText(text, chosen, layer) for text in texts]

    rows = [
        (row, card.name, *_vector(answer))
        for card, answers in ask(model, requests, asking)
        for row, answer in enumerate(answers)
    ]
    width = max(map(len, rows)) - 4 if rows else 0
    padded = [(*row, *(None,) * (width + 4 - len(row))) for row in rows]
    numbers = [f"x{i}" for i in range(1, width + 1)]
    return _behind(table, padded, ("why_not", "why_not_detail", *numbers)).astype(dict.fromkeys(numbers, "float32"))


def _vector(answer: Answer | WhyNot) -> tuple[Any, ...]:
    if isinstance(answer, WhyNot):
        return answer.code, answer.detail
    assert isinstance(answer, Vector)
    return "", "", *answer.values.tolist()


def _behind(table: SentenceTable, rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> pd.DataFrame:
    """Rows of (row of the table, model, values …) behind the table's columns."""
    taken = [name for name in ("model", *names) if name in table.frame]
    if taken:
        raise BadInput(f"{table.name}: the column '{taken[0]}' is one that is added; rename it")
    frame = pd.DataFrame.from_records(rows, columns=["row", "model", *names])
    return pd.concat([table.frame.iloc[frame.pop("row")].reset_index(drop=True), frame], axis=1)


# ---------------------------------------------------------------- asking models


Models = str | Sequence[str] | Model  # SPECs as on the command line, or a model that is open
Asked = list[Request | WhyNot]  # a WhyNot stands for what is not even asked
Answered = list[Answer | WhyNot]


class ModelOptions(TypedDict, total=False):
    """How models are opened and asked: the words `run` has for it."""

    store: str | Path | None
    progress: Progress | None
    device: str | None
    dtype: str | None
    batch_tokens: int | None
    allow_pickle: bool


def ask(models: Models, requests: Callable[[Card], Asked], asking: ModelOptions) -> Iterator[tuple[Card, Answered]]:
    """Each model's answers, in the order of its requests. What can be refused of any model is refused first."""
    progress = asking.get("progress") or NoProgress()
    with closing(AnswerStore(asking.get("store"), library_versions(), progress)) as store:
        for model in _opened(models, asking, progress):
            asked = requests(model.card)
            engine = Engine(model, store, progress, asking.get("batch_tokens"))
            answers = iter(engine.answer([request for request in asked if not isinstance(request, WhyNot)]))
            yield model.card, [each if isinstance(each, WhyNot) else next(answers) for each in asked]


def _opened(models: Models, asking: ModelOptions, progress: Progress) -> Iterator[Model]:
    if not isinstance(models, (str, Sequence)):
        yield models
        return
    specs = [models] if isinstance(models, str) else list(models)
    if not specs:
        raise BadInput("no model given: nursery, a folder, a .gguf file or a hub id; see: trueprobe list models")
    default = Options()
    options = Options(
        asking.get("device") or default.device,
        dtype=asking.get("dtype") or default.dtype,
        allow_pickle=asking.get("allow_pickle", False),
        servers=ServerAccess.WITH_KEY,  # the caller names them
    )
    with progress.task("checking models"):
        checkpoints = [examine(source, options) for source in find(specs, options)]
    for checkpoint in checkpoints:
        yield checkpoint.open()


# ---------------------------------------------------------------- a file of sentences to files of scores


_FORMATS = (".csv", ".parquet")


@dataclass(frozen=True)
class FileScoring:
    """What is scored and where it goes; `by` None writes all three tables."""

    file: str | Path
    models: Sequence[str]
    out: Path
    by: By | None = None
    how: ScoringMethod = field(default_factory=ScoringMethod)
    columns: Columns = field(default_factory=Columns)


@dataclass(frozen=True)
class Written:
    """A file of scores."""

    path: Path
    sentences: int
    rows: int  # of all models
    why_not: dict[str, int]  # how many rows have no number, by reason
    notice: str  # about white space in the sentences, else empty


def score_file(scoring: FileScoring, asking: ModelOptions) -> list[Written]:
    """Nothing is computed before it is known where the result goes."""
    targets = _targets(scoring)
    asked = material(read(scoring.file), scoring.columns)
    frames = tables(asked, scoring.models, list(targets), scoring.how, asking)
    if not scoring.how.with_text:
        texts = {*TEXTS, scoring.columns.sentence or SENTENCE, scoring.columns.word or "word"}
        frames = {by: frame.drop(columns=[name for name in frame if name in texts]) for by, frame in frames.items()}
    return [_write(frames[by], path, asked) for by, path in targets.items()]


def _targets(scoring: FileScoring) -> dict[By, Path]:
    """`scores.csv` -> scores.tokens.csv, scores.words.csv, scores.regions.csv; with `by` the file itself."""
    out = scoring.out
    if out.suffix not in _FORMATS:
        raise BadInput(f"--out {out}: a file that ends in {' or '.join(_FORMATS)}")
    if scoring.by is not None:
        refuse_unknown("by", scoring.by, BYS)
    targets = {scoring.by: out} if scoring.by else {by: out.with_suffix(f".{by}s{out.suffix}") for by in BYS}
    if Path(scoring.file).resolve() in [path.resolve() for path in targets.values()]:
        raise BadInput(f"--out {out} would replace the sentences themselves")
    return targets


def _write(frame: pd.DataFrame, path: Path, asked: Material) -> Written:
    if path.suffix == ".csv":
        write_whole(path, lambda partial: frame.to_csv(partial, index=False))
    else:
        write_whole(path, lambda partial: frame.to_parquet(partial, index=False))
    reasons = frame["why_not"].value_counts().drop("", errors="ignore")
    why_not = {str(code): int(count) for code, count in reasons.items()}
    return Written(path, sentences=len(asked.sentences), rows=len(frame), why_not=why_not, notice=asked.notice)

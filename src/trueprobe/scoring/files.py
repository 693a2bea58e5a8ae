"""A file of sentences to files of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from trueprobe.errors import BadInput
from trueprobe.paths import write_whole
from trueprobe.scoring.api import ModelOptions, Pll, refuse_unknown, tables
from trueprobe.scoring.read import read
from trueprobe.scoring.sentences import Columns, Material, material
from trueprobe.scoring.tables import BYS, By

_FORMATS = (".csv", ".parquet")


@dataclass(frozen=True)
class FileScoring:
    """What is scored and where it goes; `by` None writes all three tables."""

    file: str | Path
    models: Sequence[str]
    out: Path
    by: By | None = None
    pll: Pll = "within_word_l2r"
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
    frames = tables(asked, scoring.models, list(targets), scoring.pll, asking)
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

"""What is fine-tuned on: labelled texts of one or two sentences, some to train on and some (dev) to judge by.

GLUE's files as they are (a header, tabs, nothing quoted), any other TSV with named columns, and the asset
`movie-snippets`. What comes as one file is split by the hash of its text, so that a text is always on the same side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trueprobe import assets
from trueprobe.assets.cache import sha256
from trueprobe.errors import BadInput, nearest

MOVIES = "movie-snippets"
ONE_IN = 5  # of a file that brings no dev part
BY_HASH = f"every text whose sha256 begins with a 32-bit number that {ONE_IN} divides is dev"


@dataclass(frozen=True)
class TaskColumns:
    """Which columns of a TSV hold the sentences and the label; `labels` are all it may have, if that is known."""

    texts: tuple[str, ...]
    label: str
    labels: tuple[str, ...] = ()
    folder: str = ""  # inside GLUE's


GLUE = {
    "sst2": TaskColumns(("sentence",), "label", ("0", "1"), "SST-2"),
    "rte": TaskColumns(("sentence1", "sentence2"), "label", ("entailment", "not_entailment"), "RTE"),
    "qnli": TaskColumns(("question", "sentence"), "label", ("entailment", "not_entailment"), "QNLI"),
}
NAMES = (*GLUE, MOVIES)


@dataclass(frozen=True)
class TaskRow:
    texts: tuple[str, ...]
    label: str
    line: int


@dataclass(frozen=True)
class TextTask:
    name: str
    labels: tuple[str, ...]
    train: tuple[TaskRow, ...]
    dev: tuple[TaskRow, ...]
    files: dict[str, str]  # name: sha256
    split: str  # where dev comes from
    set_aside: int = 0  # texts without a clear label
    train_of: int = 0  # before a limit

    @property
    def dev_in_train(self) -> int:
        """Dev texts that are in the training part, too."""
        trained = {row.texts for row in self.train}
        return sum(row.texts in trained for row in self.dev)


def named_columns(texts: Sequence[str] | None, label: str | None) -> TaskColumns | None:
    """The columns of the user's data, if any are named."""
    if not texts and label is None:
        return None
    if not texts or label is None or len(texts) > 2:
        raise BadInput("your own data needs --text-column once, or twice for two sentences, and --label-column")
    return TaskColumns(tuple(texts), label)


def read_task(name: str, data: Path | None, columns: TaskColumns | None, limit: int | None) -> TextTask:
    """`name` is one of NAMES, or empty: then `columns` name what to read in the user's file or folder."""
    if name and name not in NAMES:
        raise BadInput(f"no task '{name}'{nearest(name, NAMES)}; your own data: --data, --text-column, --label-column")
    if name and columns is not None:
        raise BadInput(f"--task {name} knows its columns; leave --task out to name your own")
    if name == MOVIES:
        task = _movies(data or assets.path_of(MOVIES))
    elif data is None:
        raise BadInput(
            f"--task {name} needs --data: GLUE's folder, or the one with train.tsv and dev.tsv"
            if name
            else "no task: --task, or --data with --text-column and --label-column"
        )
    elif name:
        task = _from_folder(name, _glue_folder(data, GLUE[name]), GLUE[name])
    elif columns is None:
        raise BadInput(f"{data}: say which columns to read: --text-column (twice for two sentences), --label-column")
    else:
        task = _custom(data, columns)
    return _checked(_limited(replace(task, train_of=len(task.train)), limit))


def _glue_folder(data: Path, columns: TaskColumns) -> Path:
    inside = data / columns.folder
    return inside if inside.is_dir() else data


def _custom(data: Path, columns: TaskColumns) -> TextTask:
    name = data.resolve().name
    if data.is_dir():
        return _from_folder(name, data, columns)
    return _split(TextTask(name, (), tuple(read_tsv(data, columns)), (), {data.name: sha256(data)}, BY_HASH))


def _from_folder(name: str, folder: Path, columns: TaskColumns) -> TextTask:
    train, dev = folder / "train.tsv", folder / "dev.tsv"
    learnt, judged = (tuple(read_tsv(file, columns)) for file in (train, dev))
    labels = {row.label for row in learnt}
    for row in judged:
        if row.label not in labels:
            raise BadInput(
                f"{dev}:{row.line}: the label '{row.label}' is not in train.tsv{nearest(row.label, sorted(labels))}"
            )
    return TextTask(name, columns.labels, learnt, judged, {file.name: sha256(file) for file in (train, dev)}, "dev.tsv")


def _movies(file: Path) -> TextTask:
    """Sentiment is the sign of the mean rating; sentences rated exactly 0 are set aside."""
    rows, even = [], 0
    for line, (_, rating, text) in _cells(file, 3, header=False):
        try:
            rated = float(rating)
        except ValueError as error:
            raise BadInput(f"{file}:{line}: the mean rating is a number, not '{rating}'") from error
        even += rated == 0
        if rated:
            rows.append(TaskRow((text,), "positive" if rated > 0 else "negative", line))
    return replace(_split(TextTask(MOVIES, (), tuple(rows), (), {file.name: sha256(file)}, BY_HASH)), set_aside=even)


def read_tsv(file: Path, columns: TaskColumns) -> list[TaskRow]:
    """Header, tabs, one example per line; quotation marks are text, as in GLUE."""
    lines = _cells(file, None, header=True)
    header = lines[0][1]
    for name in (*columns.texts, columns.label):
        if name not in header:
            close = nearest(name, header) if len(header) > 1 else "; a TSV has tabs between its columns, this has none"
            raise BadInput(f"{file}:1: no column '{name}'{close}")
    texts_at, label_at = [header.index(name) for name in columns.texts], header.index(columns.label)
    rows = [TaskRow(tuple(cells[i] for i in texts_at), cells[label_at], line) for line, cells in lines[1:]]
    for row in rows:
        if not all(text.strip() for text in row.texts):
            raise BadInput(f"{file}:{row.line}: a text is empty")
        if columns.labels and row.label not in columns.labels:
            raise BadInput(f"{file}:{row.line}: the label is '{row.label}', not one of {', '.join(columns.labels)}")
        if not row.label.strip():
            raise BadInput(f"{file}:{row.line}: the label is empty")
    return rows


def _cells(file: Path, width: int | None, header: bool) -> list[tuple[int, list[str]]]:
    """(line number, cells) of every line; all lines are as wide as the first, or as `width`."""
    if not file.is_file():
        raise BadInput(f"no file {file}")
    raw = file.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise BadInput(f"{file}:{line}: not UTF-8") from error
    lines = [line.removesuffix("\r").split("\t") for line in text.removesuffix("\n").split("\n")]
    width = width or len(lines[0])
    for number, cells in enumerate(lines, 1):
        if len(cells) != width:
            expected = "the header has" if header else "expected are"
            raise BadInput(f"{file}:{number}: {len(cells)} columns separated by tabs, {expected} {width}")
    return list(enumerate(lines, 1))


def _split(task: TextTask) -> TextTask:
    dev = [_number("", row) % ONE_IN == 0 for row in task.train]
    sides = [tuple(row for row, held in zip(task.train, dev, strict=True) if held is side) for side in (False, True)]
    return replace(task, train=sides[0], dev=sides[1])


def _number(salt: str, row: TaskRow) -> int:
    return int.from_bytes(hashlib.sha256((salt + "\t".join(row.texts)).encode()).digest()[:4], "big")


def _checked(task: TextTask) -> TextTask:
    labels = task.labels or tuple(sorted({row.label for row in task.train}))
    if not task.train or not task.dev:
        raise BadInput(f"{task.name}: {len(task.train)} texts for training and {len(task.dev)} for dev are too few")
    if len({row.label for row in task.train}) < 2:
        raise BadInput(f"{task.name}: all texts for training have the label '{task.train[0].label}'; two are needed")
    unknown = [row for row in task.dev if row.label not in labels]
    if unknown:
        raise BadInput(f"{task.name}: the label '{unknown[0].label}' (line {unknown[0].line}) is only in the dev part")
    return replace(task, labels=labels)


def _limited(task: TextTask, limit: int | None) -> TextTask:
    """The same texts each time, whatever their order in the file: those with the smallest hashes."""
    if limit is None or limit >= len(task.train):
        return task
    chosen = sorted(task.train, key=lambda row: (_number("limit\t", row), row.line))[:limit]
    return replace(task, train=tuple(sorted(chosen, key=lambda row: row.line)))

"""Reads what other harnesses log of every item: lm-eval's `samples_*.jsonl` (--log_samples), inspect_ai's `.eval` and
`.json`, the instance records of Every Eval Ever, or any table.

All become rows with the cells `item`, `task`, `model` and `epoch`, a cell for each metric under the harness's name, and
what else it logs of an item (lm-eval's doc, the metadata of the others). A file is read up to a bound.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, reading
from trueprobe.paths import refuse_special, unpacked_limit
from trueprobe.probes import files, tables
from trueprobe.probes.tables import DataRow, DataTable

ITEM, TASK, MODEL, EPOCH, TEXT, SAME = "item", "task", "model", "epoch", "text", "same_question"
OF_A_LOG = (ITEM, TASK, MODEL, EPOCH, TEXT, SAME)
ENDINGS = (".eval", ".json", ".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
_SAMPLES = re.compile(r"samples_(?P<task>.+?)(?P<time>_\d{4}-\d\d-\d\dT[^/]*)?\.jsonl(\.gz)?$")
_OF_CONVERTER = re.compile(r"^lm_eval_|_hash$|^filter$")  # metadata about the outcome or the file, not the item
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "true": 1.0, "false": 0.0}  # inspect_ai's, and true of a table
_ZSTD = 93  # how newer versions of inspect_ai pack; Python's zipfile of 3.11 does not know it
_LONGEST_TEXT = 2_000  # characters, of an item's text for people


@dataclass(frozen=True)
class Log:
    """One file."""

    path: Path
    rows: tuple[DataRow, ...]
    metrics: tuple[str, ...] = ()  # the columns that hold values; a user's table does not say which

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for row in self.rows for column in row.cells))


def read(path: Path) -> list[Log]:
    """The file, or every file of a folder that holds item-level results."""
    if not path.exists():
        raise BadInput(f"no file or folder '{path}'")
    inside = _inside(path) if path.is_dir() else [path]
    logs = [log for file in inside if (log := _log(file, alone=path.is_file())) is not None and log.rows]
    if not logs:
        raise BadInput(
            f"{path}: no results of single items: lm-eval's samples_*.jsonl (--log_samples), inspect_ai's .eval or "
            ".json, Every Eval Ever's instance records, or a table with the columns item and value"
        )
    return logs


def _inside(folder: Path) -> list[Path]:
    named = (path for path in sorted(folder.rglob("*")) if path.name.endswith(ENDINGS) and path.is_file())
    return [path for path in named if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _log(path: Path, alone: bool) -> Log | None:
    """None for a file of a folder that holds totals only, as lm-eval's results_*.json."""
    refuse_special(path)
    if path.stat().st_size > files.MOST_TEXT:
        raise BadInput(f"{path} has more than {files.MOST_TEXT:,} bytes; split it by task or model")
    if path.suffix == ".eval":
        return _inspect(path, *_eval_file(path))
    if path.suffix == ".json":
        return _json_log(path, alone)
    table = tables.read(path, files.text_of(path), longest=None)
    first = table.rows[0].cells if table.rows else {}
    if "doc_id" in first and isinstance(first.get("doc"), dict):
        with reading(f"{path}: not as lm-eval writes it"):
            return _lm_eval(path, table)
    if {"sample_id", "evaluation", "evaluation_name"} <= set(first):
        with reading(f"{path}: not as Every Eval Ever has it"):
            return _every_eval_ever(path, table)
    return Log(path, table.rows)


def _json_log(path: Path, alone: bool) -> Log | None:
    log = files.json_of(path)
    if isinstance(log, dict) and isinstance(log.get("eval"), dict) and isinstance(log.get("samples"), list):
        return _inspect(path, log["eval"], log["samples"])
    if alone:
        raise BadInput(f"{path}: no inspect_ai log with samples; totals hold no single items")
    return None


# ---------------------------------------------------------------- each harness


def _lm_eval(path: Path, table: DataTable) -> Log:
    """A line for each document and filter: a metric behind a filter is another metric."""
    named = _SAMPLES.search(path.name)
    task, model = (named["task"] if named else path.stem), _lm_eval_model(path, named)
    rows: dict[str, DataRow] = {}
    metrics: dict[str, None] = {}
    for row in table.rows:
        item, behind = tables.text_of(row.cells["doc_id"]), row.cells.get("filter", "none")
        scored = {
            name if behind == "none" else f"{name},{behind}": row.cells.get(name)
            for name in row.cells.get("metrics") or ("acc",)
        }
        metrics |= dict.fromkeys(scored)
        before = rows[item].cells if item in rows else {}
        if before.keys() & scored.keys():
            raise BadInput(f"{row.place}: a second value of document {item}")
        same = row.cells.get("doc_hash") or json.dumps(row.cells["doc"], sort_keys=True)
        named_cells = {ITEM: item, TASK: task, MODEL: model, TEXT: _text(row.cells["doc"]), SAME: same}
        rows[item] = DataRow(path, row.line, {**_free(row.cells["doc"]), **named_cells, **before, **scored})
    return Log(path, tuple(rows.values()), tuple(metrics))


def _lm_eval_model(path: Path, named: re.Match[str] | None) -> str:
    """As the totals of the same time have it; else the folder, which lm-eval names by the model."""
    totals = path.parent / f"results{named['time']}.json" if named and named["time"] else None
    if totals is None or not totals.is_file() or totals.stat().st_size > files.MOST_TEXT:
        return path.parent.name or path.stem
    read = files.json_of(totals)
    config = read.get("config") if isinstance(read, dict) else None
    arguments = config.get("model_args") if isinstance(config, dict) else None
    revision = arguments.get("revision") if isinstance(arguments, dict) else None
    name = str(read.get("model_name") or path.parent.name) if isinstance(read, dict) else path.parent.name
    return f"{name}@{revision}" if revision and revision != "main" else name


def _every_eval_ever(path: Path, table: DataTable) -> Log:
    """A line for each sample and metric; before schema 0.3.0 a metric has no name."""
    rows: dict[tuple[str, ...], DataRow] = {}
    metrics: dict[str, None] = {}
    for row in table.rows:
        cells, metric = row.cells, tables.text_of(row.cells.get("evaluation_result_id")) or "score"
        key = tuple(tables.text_of(cells.get(name)) for name in ("model_id", "evaluation_name", "sample_id"))
        before = rows[key].cells if key in rows else {}
        if metric in before:
            raise BadInput(f"{row.place}: a second value of sample {key[-1]}")
        metrics[metric] = None
        named: dict[str, Any] = dict(zip((MODEL, TASK, ITEM), key, strict=True)) | {SAME: cells.get("sample_hash")}
        named |= {
            TEXT: _text(_dict(cells.get("input")).get("raw")),
            metric: _dict(cells.get("evaluation")).get("score"),
        }
        about = {name: cell for name, cell in _free(cells.get("metadata")).items() if not _OF_CONVERTER.search(name)}
        rows[key] = DataRow(path, row.line, {**about, **before, **named})
    return Log(path, tuple(rows.values()), tuple(metrics))


def _inspect(path: Path, header: Mapping[str, Any], samples: Iterable[Any]) -> Log:
    """A model that is a folder is named by it, not by the provider that opened it."""
    arguments = _dict(header.get("model_args"))
    task, model = tables.text_of(header.get("task")), arguments.get("model_path") or header.get("model")
    rows, metrics = [], dict[str, None]()
    for number, sample in enumerate(samples, 1):
        with reading(f"{path}, sample {number}: not as inspect_ai writes it"):
            scored = dict(_scores(sample.get("scores")))
            metrics |= dict.fromkeys(scored)
            named = {ITEM: tables.text_of(sample["id"]), TASK: task, MODEL: tables.text_of(model)}
            named |= {EPOCH: tables.text_of(sample.get("epoch")), TEXT: _text(sample.get("input"))}
            rows.append(DataRow(path, number, {**_free(sample.get("metadata")), **named, **scored}))
    return Log(path, tuple(rows), tuple(metrics))


def _scores(scores: Any) -> Iterator[tuple[str, Any]]:
    """`{"match": {"value": "C"}}`; a scorer of several values gives `scorer.value`."""
    for scorer, score in _dict(scores).items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            yield from ((f"{scorer}.{name}", one) for name, one in value.items())
        else:
            yield scorer, value


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _free(cells: Any) -> dict[str, Any]:
    """Texts, numbers and truths that a harness logs of an item."""
    return {str(name): cell for name, cell in _dict(cells).items() if isinstance(cell, str | int | float)}


def _text(asked: Any) -> str:
    text = asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)
    return text[:_LONGEST_TEXT]


# ---------------------------------------------------------------- inspect_ai's .eval: a zip archive


def _eval_file(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    """The header, and the summaries of all samples; of an interrupted evaluation, its samples themselves."""
    with reading(f"{path}: not an inspect_ai log"), zipfile.ZipFile(path) as archive:
        left = _Left(path, unpacked_limit(path.stat().st_size, files.MOST_TEXT))
        names = archive.namelist()
        header = left.json(archive, "header.json" if "header.json" in names else "_journal/start.json")
        if "summaries.json" in names:
            samples = left.json(archive, "summaries.json")
        else:
            inside = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
            samples = [left.json(archive, name) for name in inside]
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict) or not isinstance(samples, list):
        raise BadInput(f"{path}: not an inspect_ai log: its header names no evaluation")
    return header["eval"], samples


class _Left:
    """What may still be unpacked of an archive: what its directory says of sizes is not believed."""

    def __init__(self, path: Path, most: int) -> None:
        self.path, self.most = path, most

    def json(self, archive: zipfile.ZipFile, name: str) -> Any:
        content = self._read(archive, archive.getinfo(name))
        return files.parse_json(content.decode("utf-8", "replace"), self.path / name)

    def _read(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
        with archive.open(info) if info.compress_type != _ZSTD else _zstd(self.path, info) as stream:
            content: bytes = stream.read(self.most + 1)
        self.most -= len(content)
        if self.most < 0:
            raise BadInput(f"{self.path} is refused: it unpacks to far more than its size")
        return content


def _zstd(path: Path, info: zipfile.ZipInfo) -> Any:
    """The member behind its own header of 30 bytes, name and extra field."""
    import pyarrow

    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        behind = sum(int.from_bytes(file.read(2), "little") for _ in range(2))
        file.seek(info.header_offset + 30 + behind)
        packed = file.read(info.compress_size)
    return pyarrow.CompressedInputStream(io.BytesIO(packed), "zstd")


# ---------------------------------------------------------------- values


def number_of(cell: Any) -> float:
    """A cell as a number: truths and inspect_ai's letters are 1 and 0; NaN where nothing is given."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return math.nan
    if isinstance(cell, str) and (cell in _LETTERS or cell.lower() in _LETTERS):
        return _LETTERS.get(cell, _LETTERS.get(cell.lower(), math.nan))
    if isinstance(cell, str | int | float) and not (isinstance(cell, str) and "_" in cell):  # of Python: 1_000
        return float(cell)
    raise ValueError(f"{json.dumps(cell)[:80]} is no number")

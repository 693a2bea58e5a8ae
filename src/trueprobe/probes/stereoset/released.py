"""Reads the item scores that came with StereoSet: one JSON file per model, `{task: [{id, score}, …]}`, or gzipped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.stereoset.material import TASKS


def score_files(path: Path) -> list[Path]:
    """The file itself, or a folder's predictions_*.json and .json.gz."""
    paths = files.with_ending(path, "predictions_*", ".json")
    if not paths:
        raise BadInput(f"{path}: neither a file nor a folder with predictions_MODEL….json or .json.gz")
    return paths


def model_name(path: Path) -> str:
    """predictions_bert-base-cased_BertNextSentence_BertLM.json.gz is bert-base-cased."""
    stem = files.stem(path, ".json").removeprefix("predictions_")
    return stem.split("_")[0] or stem


def scores(path: Path) -> dict[str, dict[str, float]]:
    """Of each task, each sentence id's score."""
    tasks = files.json_of(path)
    if not isinstance(tasks, dict) or not set(tasks) & set(TASKS):
        raise BadInput(f"{path}: no scores; {{{TASKS[0]}: [{{id, score}}, …], …}} is what is read")
    return {task: dict(_scores(tasks[task], task, path)) for task in TASKS if task in tasks}


def _scores(rows: object, task: str, path: Path) -> Iterator[tuple[str, float]]:
    if not isinstance(rows, list):
        raise BadInput(f"{path}: {task} is no list of {{id, score}}")
    for number, row in enumerate(rows):
        name, score = (row.get("id"), row.get("score")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or isinstance(score, bool) or not isinstance(score, int | float):
            raise BadInput(f"{path}: {task}.{number} is no {{id, score}} but {str(row)[:60]}")
        if not math.isfinite(score) or not 0 <= score <= 1:
            raise BadInput(f"{path}: {task}.{number}.score is {score}, no probability")
        yield name, float(score)

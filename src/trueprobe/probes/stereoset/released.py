"""Reads the item scores that came with StereoSet: one JSON file per model, `{task: [{id, score}, …]}`, or gzipped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

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


class TaskScores(NamedTuple):
    by_id: Mapping[str, float]  # of each sentence
    are_probabilities: bool  # an ensemble's sums are above 1, and have no odds


NONE = TaskScores({}, True)
_MOST = 1e6  # no ensemble has more members


def scores(path: Path) -> dict[str, TaskScores]:
    """Of each task."""
    tasks = files.json_of(path)
    if not isinstance(tasks, dict) or not set(tasks) & set(TASKS):
        raise BadInput(f"{path}: no scores; {{{TASKS[0]}: [{{id, score}}, …], …}} is what is read")
    by_task = {task: dict(_scores(tasks[task], task, path)) for task in TASKS if task in tasks}
    return {task: TaskScores(by_id, max(by_id.values(), default=0) <= 1) for task, by_id in by_task.items()}


def _scores(rows: object, task: str, path: Path) -> Iterator[tuple[str, float]]:
    if not isinstance(rows, list):
        raise BadInput(f"{path}: {task} is no list of {{id, score}}")
    for number, row in enumerate(rows):
        name, score = (row.get("id"), row.get("score")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or isinstance(score, bool) or not isinstance(score, int | float):
            raise BadInput(f"{path}: {task}.{number} is no {{id, score}} but {str(row)[:60]}")
        if not 0 <= score < math.inf or score > _MOST:
            wrong = f"{task}.{number}.score is {str(score)[:60]}"
            raise BadInput(f"{path}: {wrong}, neither a probability nor a sum of some")
        yield name, float(score)

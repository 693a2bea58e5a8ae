"""StereoSet and files like it: a context and three sentences, labelled stereotype, anti-stereotype and unrelated.

JSON as the authors give it out: `data.intrasentence` (the context has a BLANK) and `data.intersentence` (the sentences
may follow the context). Either may be absent.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from trueprobe.errors import BadInput
from trueprobe.probes import datasets
from trueprobe.probes.datasets import Dataset
from trueprobe.probes.files import explain

ASSETS = ("stereoset-dev", "stereoset-test")
TASKS = ("intrasentence", "intersentence")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
_ONE_BLANK = re.compile(r"\bBLANK\b")


class Sentence(BaseModel):
    id: str
    sentence: str = Field(min_length=1)
    gold_label: Literal["stereotype", "anti-stereotype", "unrelated"]


class Cluster(BaseModel):
    """A context with its three sentences."""

    id: str
    target: str = Field(min_length=1)
    bias_type: str = Field(min_length=1)
    context: str = Field(min_length=1)
    sentences: tuple[Sentence, ...]

    @model_validator(mode="after")
    def _one_of_each(self) -> Cluster:
        found = [sentence.gold_label for sentence in self.sentences]
        if sorted(found) != sorted(LABELS):
            raise ValueError(
                f"sentences are labelled {', '.join(found) or 'nothing'}; one of each: {', '.join(LABELS)}"
            )
        return self

    @property
    def by_label(self) -> tuple[Sentence, Sentence, Sentence]:
        """Stereotype, anti-stereotype, unrelated."""
        stereotype, anti, unrelated = (next(s for s in self.sentences if s.gold_label == label) for label in LABELS)
        return stereotype, anti, unrelated

    @property
    def one_blank(self) -> bool:
        """The rule that leaves paper C's items: exactly one BLANK, as a word of its own."""
        return len(_ONE_BLANK.findall(self.context)) == 1


class Tasks(BaseModel):
    intrasentence: tuple[Cluster, ...] = ()
    intersentence: tuple[Cluster, ...] = ()

    @model_validator(mode="after")
    def _blanks_can_be_filled(self) -> Tasks:
        for number, cluster in enumerate(self.intrasentence):
            if BLANK not in cluster.context:
                raise ValueError(f"intrasentence.{number}.context has no {BLANK}: {cluster.context!r}")
            for sentence in cluster.sentences:
                if not word_in(cluster.context, sentence.sentence):
                    raise ValueError(f"intrasentence.{number}: {sentence.sentence!r} has no word where BLANK stands")
        return self


class File(BaseModel):
    data: Tasks


@dataclass(frozen=True)
class StereoSet:
    tasks: Mapping[str, tuple[Cluster, ...]]
    data: Dataset


def read(named: str) -> StereoSet:
    data = datasets.read(named, ASSETS, "stereoset/data/sample.json")
    try:
        found = File.model_validate(_json(data.text, data.path)).data
    except ValidationError as error:
        raise BadInput(f"{data.path}: {explain(error, File)}") from error
    tasks = {task: getattr(found, task) for task in TASKS if getattr(found, task)}
    if not tasks:
        raise BadInput(f"{data.path}: data holds neither {' nor '.join(TASKS)} items")
    _distinct(tasks, data.path)
    return StereoSet(tasks, data)


def word_in(context: str, sentence: str) -> str:
    """What fills the blank, by the authors' rule: the sentence's word at the place of the context's last word that
    holds BLANK, punctuation taken out; "" if the sentence is too short."""
    place = max(i for i, word in enumerate(context.split(" ")) if BLANK in word)
    words = sentence.split(" ")
    return words[place].translate(str.maketrans("", "", string.punctuation)) if place < len(words) else ""


def _distinct(tasks: Mapping[str, tuple[Cluster, ...]], path: Path) -> None:
    for task, clusters in tasks.items():
        seen: dict[str, int] = {}
        for number, cluster in enumerate(clusters):
            for name in (cluster.id, *(sentence.id for sentence in cluster.sentences)):
                if name in seen:
                    raise BadInput(f"{path}: data.{task}.{number} has the id '{name}' of data.{task}.{seen[name]} too")
                seen[name] = number


# ---------------------------------------------------------------- released scores


def released_files(path: Path) -> list[Path]:
    """The file itself, or a folder's predictions_*.json and .json.gz."""
    if path.is_file():
        return [path]
    found = sorted(file for file in path.glob("predictions_*") if file.name.endswith((".json", ".json.gz")))
    if not found:
        raise BadInput(f"{path}: neither a file nor a folder with predictions_MODEL….json or .json.gz")
    return found


def released_name(path: Path) -> str:
    """predictions_bert-base-cased_BertNextSentence_BertLM.json.gz is bert-base-cased."""
    stem = path.name.removesuffix(".gz").removesuffix(".json").removeprefix("predictions_")
    return stem.split("_")[0] or stem


def released_scores(path: Path) -> dict[str, dict[str, float]]:
    """Of each task, each sentence id's score."""
    try:
        packed = path.read_bytes()
        text = (gzip.decompress(packed) if path.name.endswith(".gz") else packed).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    told = _json(text, path)
    if not isinstance(told, dict) or not set(told) & set(TASKS):
        raise BadInput(f"{path}: no scores; {{{TASKS[0]}: [{{id, score}}, …], …}} is what is read")
    return {task: dict(_scores(told[task], task, path)) for task in TASKS if task in told}


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


def _json(text: str, path: Path) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}, line {error.lineno}, column {error.colno}: no JSON ({error.msg})") from error

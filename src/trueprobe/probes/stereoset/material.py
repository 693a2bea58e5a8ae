"""StereoSet and files like it: a context and three sentences, labelled stereotype, anti-stereotype and unrelated.

JSON as the authors release it: `data.intrasentence` (the context has a BLANK) and `data.intersentence` (the sentences
may follow the context). Either may be absent.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, model_validator

from trueprobe.assets import contents
from trueprobe.assets.contents import Content
from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.files import Dataset

ASSETS = ("stereoset-dev", "stereoset-test")
TASKS = ("intrasentence", "intersentence")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
DISPUTED = "disputed"
FEWEST_AGAINST = 2  # of five validators
_ONE_BLANK = re.compile(r"\bBLANK\b")


class ValidatorLabel(BaseModel):
    """One validator's."""

    label: str


class Candidate(BaseModel):
    id: str
    sentence: str = Field(min_length=1)
    gold_label: Literal["stereotype", "anti-stereotype", "unrelated"]
    labels: tuple[ValidatorLabel, ...] = ()  # of five validators; a user's file may have none

    @property
    def disputed(self) -> bool:
        """Two validators or more give another label than that of the majority."""
        return sum(judgement.label != self.gold_label for judgement in self.labels) >= FEWEST_AGAINST


class Cluster(BaseModel):
    """A context with its three sentences."""

    id: str
    target: str = Field(min_length=1)
    bias_type: str = Field(min_length=1)
    context: str = Field(min_length=1)
    sentences: tuple[Candidate, ...]

    @model_validator(mode="after")
    def _one_of_each(self) -> Cluster:
        labels = [sentence.gold_label for sentence in self.sentences]
        if sorted(labels) != sorted(LABELS):
            present = ", ".join(labels) or "nothing"
            raise ValueError(f"sentences are labelled {present}; one of each: {', '.join(LABELS)}")
        return self

    @property
    def by_label(self) -> tuple[Candidate, Candidate, Candidate]:
        """Stereotype, anti-stereotype, unrelated."""
        stereotype, anti, unrelated = (next(s for s in self.sentences if s.gold_label == label) for label in LABELS)
        return stereotype, anti, unrelated

    @property
    def flags(self) -> tuple[str, ...]:
        """Known criticism, by facts of the released file; judgements of single items are not published."""
        return (DISPUTED,) if any(sentence.disputed for sentence in self.sentences) else ()

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


class StereoSetFile(BaseModel):
    data: Tasks


# ---------------------------------------------------------------- the asset: what its file must hold at least


class _ReleasedSentence(BaseModel):
    id: str
    sentence: str
    gold_label: str


class _ReleasedCluster(BaseModel):
    id: str
    target: str
    bias_type: str
    context: str
    sentences: Annotated[list[_ReleasedSentence], Field(min_length=3, max_length=3)]


class _ReleasedTasks(BaseModel):
    intrasentence: list[_ReleasedCluster]
    intersentence: list[_ReleasedCluster]


class _ReleasedFile(BaseModel):
    data: _ReleasedTasks


def content(folder: Path) -> Content:
    """Of the asset's file, for the hash that all its sources share."""
    whole = contents.json_of(contents.only_file(folder), _ReleasedFile)
    return Content(contents.sha256_of(whole), {task: len(whole["data"][task]) for task in TASKS})


# ---------------------------------------------------------------- reading


@dataclass(frozen=True)
class StereoSetData:
    tasks: Mapping[str, tuple[Cluster, ...]]
    data: Dataset


def read(name: str) -> StereoSetData:
    data = files.read_dataset(name, ASSETS, "stereoset/data/sample.json")
    both = files.validated(files.parse_json(data.text, data.path), StereoSetFile, data.path).data
    tasks = {task: getattr(both, task) for task in TASKS if getattr(both, task)}
    if not tasks:
        raise BadInput(f"{data.path}: data holds neither {' nor '.join(TASKS)} items")
    _distinct(tasks, data.path)
    return StereoSetData(tasks, data)


def word_in(context: str, sentence: str) -> str:
    """What fills the blank, by the authors' rule: the sentence's word with the number of the context's last word that
    holds BLANK, punctuation taken out; "" if the sentence is too short."""
    index = max(i for i, word in enumerate(context.split(" ")) if BLANK in word)
    words = sentence.split(" ")
    return words[index].translate(str.maketrans("", "", string.punctuation)) if index < len(words) else ""


def _distinct(tasks: Mapping[str, tuple[Cluster, ...]], path: Path) -> None:
    for task, clusters in tasks.items():
        earlier: dict[str, int] = {}
        for number, cluster in enumerate(clusters):
            for name in (cluster.id, *(sentence.id for sentence in cluster.sentences)):
                if name in earlier:
                    first = f"data.{task}.{earlier[name]}"
                    raise BadInput(f"{path}: data.{task}.{number} has the id '{name}' of {first} too")
                earlier[name] = number


# ---------------------------------------------------------------- released scores

# one JSON file per model, `{task: [{id, score}, …]}`, or gzipped


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


NO_SCORES = TaskScores({}, True)
_MOST = 1e6  # no ensemble has more members


def scores(path: Path) -> dict[str, TaskScores]:
    """Of each task."""
    tasks = files.json_of(path)
    if not isinstance(tasks, dict) or not set(tasks) & set(TASKS):
        raise BadInput(f"{path}: no scores; expected {{{TASKS[0]}: [{{id, score}}, …], …}}")
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

"""Results of single items that another harness computed, or of any table: the mean value, and its interval.

A positive difference of two models means a higher value of the metric, whatever it is. Epochs of an item are averaged:
drawn again, an item is the same item, and what a harness calls a seed is no pre-training seed. Not shown: whether the
harness asked well.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.base import Probe, Released
from trueprobe.probes.design import (
    AUTO,
    EXAMPLE,
    NONE,
    TAKEN,
    DesignProbe,
    DesignQuantity,
    DesignRow,
    DesignSettings,
    Roles,
    design_of,
)
from trueprobe.probes.display import Summary
from trueprobe.probes.measure_sets import lower_quartile, median, upper_quartile
from trueprobe.probes.scores import logs
from trueprobe.probes.scores.logs import EPOCH, ITEM, MODEL, OF_A_LOG, SAME, TASK, TEXT, Log
from trueprobe.probes.tables import DataRow, DataTable, text_of
from trueprobe.statistics.means import means
from trueprobe.types import CONDITION, GROUP, Answer, Card, Item, Kind, Observation, Request, Unit, WhyNot

NOT_ASKED = WhyNot("not_released", "results are read, no model is run")
_EXAMPLE = files.ROOT / "scores/data/scores.csv"
_SEED = re.compile(r"^(?P<family>.*?)[-_/ .]*seed[-_]?(?P<seed>\d+)$")
_SCORE, _EPOCHS = "score", "epochs"


class ScoresSettings(DesignSettings):
    data: str = Field(
        default=EXAMPLE, description="results, as files or folders between commas; those of --model replay:PATH"
    )
    value: str = Field(
        default=AUTO, description="metric or column; auto: the first metric of a log, the column value or score"
    )
    item: str = Field(default=AUTO, description="column that names an item; auto: item, or id")
    model: str = Field(default=AUTO, description="column that names the model; auto: model, or the file's name")
    seed: str = Field(
        default=NONE, description="column of the pre-training seed; model: it is in the model's name, as seed_3"
    )
    chance: float | None = Field(default=None, description="the neutral value, as 0.25; without it, no verdict alone")
    unit: Literal["auto", "share", "score", "percent", "nats", "count"] = Field(
        default="auto", description="auto: share of zeros and ones, score within 0 to 1, else count"
    )


class Scores(DesignProbe[ScoresSettings]):
    name = "scores"
    short = "what does another harness's log show, item by item?"
    question = (
        "Of results of single items that another harness computed: which value does a model reach, how far can it be "
        "trusted, and how far are two models apart on the items both answered?"
    )
    does_not_show = (
        "Whether the harness prompted well: prompts, templates, truncation and the scoring of answers are as it logged "
        "them. Nothing about items that the log does not hold. Epochs and sampling seeds are no pre-training seeds."
    )
    paper = "the user's results; clustered and paired as in Miller 2024, Adding Error Bars to Evals"
    Settings = ScoresSettings
    results_setting = "data"
    example = "scores/data/scores.csv"
    difference = _SCORE
    prefers = _SCORE
    axis = "mean value"
    figure = "Mean value"
    template = "{{models}} {{reaches|reach}} {}{{value}} on average"

    def __init__(self, settings: ScoresSettings) -> None:
        Probe.__init__(self, settings)
        self.paths = _paths(settings.data)
        self._logs = {path: logs.read(path) for path in self.paths}
        every = [log for some in self._logs.values() for log in some]
        self.metric = _metric(settings, every)
        self._first: dict[str, DataRow] = {}  # of each item
        self._without = 0  # rows that lack the metric
        self._written: dict[str, str] = {}  # by a model's name, what the logs call it
        self._of_model = {path: self._values(some) for path, some in self._logs.items()}
        self.unit, self.all_shares = _unit(settings, [e for by in self._of_model.values() for e in by.values()])
        self.roles = Roles((ITEM,), (_SCORE, _EPOCHS), ids=(ITEM,))
        self.design = design_of(self._table(every), settings, self.roles)
        self.corrected_over = self.design.conditions
        self.flips = None

    # ------------------------------------------------------------ reading

    def _values(self, read: Sequence[Log]) -> dict[str, dict[str, list[float]]]:
        """[model][item]: the value of each epoch."""
        values: dict[str, dict[str, dict[str, float]]] = {}
        for log in read:
            for row in log.rows:
                if self.metric not in row.cells:
                    self._without += 1
                    continue
                item, model, epoch = self._item_of(row), self._model_of(row), text_of(row.cells.get(EPOCH))
                self._refuse_other_question(item, row)
                of_item = values.setdefault(model, {}).setdefault(item, {})
                if epoch in of_item:
                    raise BadInput(f"{row.place}: a second value of item '{item}' by {model}; repetitions need epochs")
                of_item[epoch] = _number(row, self.metric)
        return {model: {item: [*es.values()] for item, es in items.items()} for model, items in values.items()}

    def _item_of(self, row: DataRow) -> str:
        column = self.settings.item
        if column == AUTO:
            column = ITEM if ITEM in row.cells else "id"
        name = row.text(column)
        return f"{row.cells[TASK]}/{name}" if row.cells.get(TASK) else name

    def _model_of(self, row: DataRow) -> str:
        """A name that files can have; of a path the last two parts."""
        column = MODEL if self.settings.model == AUTO else self.settings.model
        name = row.text(column) if column in row.cells or column != MODEL else row.path.name.partition(".")[0]
        parts = Path(name).parts[-2:] if name.startswith(("/", "~")) else (name,)
        model = re.sub(r"[^\w.=+@-]+", "_", "_".join(parts)).strip("._")[:120] or "model"
        if (other := self._written.setdefault(model, name)) != name:
            raise BadInput(
                f"{row.place}: '{other}' and '{name}' are two models of one name, {model}; rename one of them"
            )
        seed = self.settings.seed
        return model if seed in (NONE, MODEL) else f"{model}-seed{_whole(row, seed)}"

    def _refuse_other_question(self, item: str, row: DataRow) -> None:
        first = self._first.setdefault(item, row)
        if first.cells.get(SAME) != row.cells.get(SAME):
            raise BadInput(f"{row.place}: item '{item}' is another question than in {first.place}; two versions of it?")

    def _table(self, every: Sequence[Log]) -> DataTable:
        """One row per item, with the columns in which all rows of an item agree."""
        s, declared = self.settings, {metric for log in every for metric in log.metrics}
        used = {*OF_A_LOG, *declared, self.metric, s.item, s.model, s.seed, "id"} - {TASK, s.group}
        varying: set[str] = set()
        for log in every:
            for row in log.rows:
                if self.metric in row.cells:
                    first = self._first[self._item_of(row)].cells
                    varying |= {name for name, cell in row.cells.items() if first.get(name) != cell}
        named = [name for log in every for name in log.columns if name and name not in used | varying]
        columns = {name: _not_taken(name) for name in dict.fromkeys(named)}
        if s.group in varying:
            raise BadInput(f"{every[0].path}: the group '{s.group}' of an item differs between rows")
        rows = [
            DataRow(row.path, row.line, {ITEM: item, **{new: row.cells.get(old) for old, new in columns.items()}})
            for item, row in self._first.items()
        ]
        return DataTable((ITEM, *columns.values()), tuple(rows), place=str(every[0].path))

    def read_released(self, path: Path) -> list[Released]:
        by_model = self._of_model.get(path)
        if by_model is None:
            raise BadInput(f"{path} is not among the results that data names: {', '.join(map(str, self.paths))}")
        return [self._released(model, items) for model, items in by_model.items()]

    def _released(self, model: str, items: Mapping[str, Sequence[float]]) -> Released:
        seed = _SEED.match(model) if self.settings.seed != NONE else None
        if self.settings.seed == MODEL and not seed:
            raise BadInput(f"seed=model: the model's name '{model}' does not end in seed_N")
        family, labels = (seed["family"] or model, {"model_seed": int(seed["seed"])}) if seed else ("", {})
        observations = [_observation(item, epochs) for item, epochs in items.items()]
        return Released(model, "causal", observations, family, labels)

    def released_notices(self, path: Path) -> Sequence[str]:
        """Which metric was read, and what there is no group of."""
        metrics = dict.fromkeys(m for some in self._logs.values() for log in some for m in log.metrics)
        others = [metric for metric in metrics if metric != self.metric]
        lines = [f"scores: read {self.metric}; the log has {', '.join(others)} too: --set value=NAME"] if others else []
        if self._without:
            lines.append(f"scores: {self._without:,} rows without {self.metric} were left out")
        if any(row.groups != (row.id,) for row in self.design.rows):
            return lines
        return [
            *lines,
            "scores: no column 'group', so each item is resampled alone; items of one passage or template need it: "
            "--set group=COLUMN",
        ]

    # ------------------------------------------------------------ items

    def items(self) -> list[Item]:
        return [self._item(row) for row in self.design.rows]

    def _item(self, row: DesignRow) -> Item:
        text = text_of(self._first[row.id].cells.get(TEXT)) or row.id
        return Item(row.id, text, conditions=row.conditions, groups=row.groups)

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        return NOT_ASKED

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        return [Observation(item.id, why_not=NOT_ASKED)]

    # ------------------------------------------------------------ counting

    def columns(self) -> dict[str, str]:
        return {
            _SCORE: "what the harness gave the item, the mean over its epochs",
            _EPOCHS: "how many epochs that is the mean of",
        }

    def _roles(self, table: DataTable) -> Roles:
        return self.roles

    def _quantities(self) -> Sequence[DesignQuantity]:
        mean = DesignQuantity("mean", means, _SCORE, unit=self.unit, neutral=self.settings.chance)
        if self.all_shares:
            return (mean,)
        quartiles = {"median": median, "lower_quartile": lower_quartile, "upper_quartile": upper_quartile}
        return (mean, *(DesignQuantity(name, of, _SCORE, unit=self.unit) for name, of in quartiles.items()))

    def _scorings(self) -> Mapping[Kind, str]:
        return {"causal": re.sub(r"[^\w.,@-]", "_", self.metric)}

    @property
    def summary(self) -> Summary:
        note = f"mean: of {self.metric} over items, of an item over its epochs"
        return self._summary({"mean": self.metric}, note, finding=f"the mean of {self.metric}", intervals=("mean",))

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        return {}

    @property
    def material_id(self) -> str:
        read = [log.path for some in self._logs.values() for log in some]
        return files.content_id([hashlib.sha256(path.read_bytes()).hexdigest() for path in read])

    def facts(self) -> Mapping[str, Any]:
        read = [log.path.name for some in self._logs.values() for log in some]
        return {"files": read, "metric": self.metric, "rows_without_it": self._without, **self.design.facts()}


def _paths(data: str) -> list[Path]:
    if data == EXAMPLE:
        return [_EXAMPLE]
    whole = files.path_of(data)
    return [whole] if whole.exists() else [files.path_of(part.strip()) for part in data.split(",")]


def _metric(settings: ScoresSettings, every: Sequence[Log]) -> str:
    """One of a log, or a column of a table."""
    known = dict.fromkeys(name for log in every for name in log.metrics or log.columns)
    declared = dict.fromkeys(name for log in every for name in log.metrics)
    if settings.value == AUTO:
        usual = [*declared, *(name for name in ("value", "score") if name in known)]
        if usual:
            return usual[0]
    elif settings.value in known:
        return settings.value
    named = "no column 'value' or 'score'" if settings.value == AUTO else f"no metric or column '{settings.value}'"
    raise BadInput(f"{every[0].path}: {named}; --set value=NAME, one of: {', '.join(list(known)[:20])}")


def _number(row: DataRow, column: str) -> float:
    try:
        number = logs.number_of(row.cells[column])
    except (ValueError, OverflowError):  # also an integer of 400 digits
        raise BadInput(f"{row.place}: {column} is no number but {text_of(row.cells[column])[:80]!r}") from None
    if math.isinf(number):
        raise BadInput(f"{row.place}: {column} is infinite")
    return number


def _whole(row: DataRow, column: str) -> int:
    text = row.text(column)
    if not re.fullmatch(r"\d{1,9}", text):
        raise BadInput(f"{row.place}: {column} is no seed but {text[:80]!r}")
    return int(text)


def _observation(item: str, epochs: Sequence[float]) -> Observation:
    scored = [value for value in epochs if not math.isnan(value)]
    if not scored:
        return Observation(item, why_not=WhyNot("not_released", "the harness logged no value"))
    return Observation(item, {_SCORE: sum(scored) / len(scored), _EPOCHS: len(scored)})


def _unit(settings: ScoresSettings, models: Sequence[Mapping[str, Sequence[float]]]) -> tuple[Unit, bool]:
    """And whether all values are 0, 1 or one half, of which quartiles say nothing. The mean of several epochs is no
    answer of yes or no, and half a point is no tie."""
    values = [value for items in models for epochs in items.values() for value in epochs if not math.isnan(value)]
    once = all(len(epochs) == 1 for items in models for epochs in items.values())
    grades = all(value in (0.0, 0.5, 1.0) for value in values)
    if settings.unit != AUTO:
        return Unit(settings.unit), grades
    share = once and all(value in (0.0, 1.0) for value in values)
    within = all(0 <= value <= 1 for value in values)
    return Unit.SHARE if share else Unit.SCORE if within else Unit.COUNT, grades


def _not_taken(column: str) -> str:
    """What an item's own columns may not be called, since tables use the name: `level` -> `item_level`."""
    plain = re.sub(r"\W+", "_", column).strip("_")
    taken = plain in TAKEN or plain in ("value", _SCORE, _EPOCHS) or plain.startswith((CONDITION, GROUP))
    return f"item_{plain}" if taken and column != "group" else column


PROBE = Scores

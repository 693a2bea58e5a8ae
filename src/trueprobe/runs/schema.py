"""Everything a run folder holds, declared once: its files, their columns with types and meanings.

Writing and reading go through here and validate. A table's columns are the fields of its row class
(`statistics.rows`); conditions are columns named `condition_…`, groups `group_…`. docs/reference/columns.md shows all.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, field_serializer, model_validator

from trueprobe.errors import BadInput, reading, shortened
from trueprobe.paths import content_within, refuse_linked_folders
from trueprobe.probes import is_name
from trueprobe.probes.display import Assessment, Figure, ItemTable, Primary, Summary, Table
from trueprobe.runs.binding import BindingPlan
from trueprobe.statistics import multiverse, rows
from trueprobe.statistics.measure import TIED, WEIGHT
from trueprobe.types import CODES, CONDITION, GROUP, Card

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 3
MANIFEST, LOCAL, PROBES = RUN_FILES = "manifest.json", "local.json", "probes.json"
Row = TypeVar("Row")
Schema = TypeVar("Schema", bound=BaseModel)

TABLES: Mapping[str, type[Any]] = types.MappingProxyType(
    {
        "estimates": rows.Estimate,  # one file per probe: estimates/LABEL
        "claims": rows.ClaimResult,
        "variance": rows.VarianceShares,
        "reliability": rows.ItemReliability,
        "signs": rows.SignCounts,
        "flips": rows.FlipShares,
        "flipping_items": rows.FlippingItem,
        "flip_causes": rows.FlipCause,
        "disagreements": rows.Disagreement,
        "variants": rows.VariantDifference,
        "differences": rows.Difference,  # comparisons/A_vs_B
        "multiverse": multiverse.Multiverse,
        "specifications": multiverse.Specification,
        "axis_shares": multiverse.AxisShare,
    }
)
ITEM_COLUMNS: Mapping[str, str] = types.MappingProxyType(
    {
        "item": "the item's id",
        "text": "the whole prompt, with ___ for the blank",
        "causal_text": "the prompt of causal models, where it differs",
    }
)
OBSERVATION_COLUMNS: Mapping[str, str] = types.MappingProxyType(
    {
        "item": "the item's id",
        "part": "the part of the item, where it has several",
        "model": "the checkpoint's name",
        "model_seed": "its seed, where it has one",
        "step": "its training step, where it has one",
        "why_not": f"empty, or why there is no number: {', '.join(CODES)}",
        "why_not_detail": "more about it",
        WEIGHT: "in a balanced sample alone: how many items of its group and condition it stands for",
    }
)
_ALWAYS = tuple(name for name in OBSERVATION_COLUMNS if name != WEIGHT)
_FIELDS = {field.name for field in dataclasses.fields(rows.Estimate)} - {TIED}  # which every probe may observe
RESERVED = frozenset({*ITEM_COLUMNS, *OBSERVATION_COLUMNS, *_FIELDS, "seed"})  # no probe may name anything so


# ---------------------------------------------------------------- JSON files


def file_name(name: str) -> str:
    """A name that files are called by: no path built from it leaves the folder, and it is one line where printed."""
    wrong = not name.isprintable() or name.startswith(".") or "/" in name or "\\" in name
    if not name or wrong or len(name.encode()) > 200:
        raise ValueError(f"'{name[:80]}' cannot be a file's name")
    return name


FileName = Annotated[str, AfterValidator(file_name)]


class Declared(BaseModel):
    """What a JSON file holds, or a part of it: every key is declared, and none other is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class PublishedNumber(Declared):
    """A published number that figures draw next to the run's."""

    measure: str
    conditions: dict[str, str]
    model: str
    value: float
    source: str


class ProbeDeclaration(Declared):
    """What a reader of the run folder needs to know of a probe (probes.json)."""

    name: str
    question: str
    does_not_show: str
    paper: str
    settings: dict[str, Any]
    factors: tuple[str, ...]
    columns: dict[str, str]
    facts: dict[str, Any]
    n_items: int
    items_of: str = ""  # whose items these are, where they are not the paper's
    n_whole: int = 0  # items without a limit; 0 in folders written before it was known
    items_needed: int = 0  # of a limited run: the smallest limit with which its findings can have intervals
    example: str
    summary: Summary
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    item_table: ItemTable | None = None
    published: tuple[PublishedNumber, ...] = ()
    primary: tuple[Primary, ...] | None = None
    assessment: Assessment | None = None  # of a shipped probe

    def model_post_init(self, context: Any) -> None:
        for name in (*(figure.name for figure in self.figures), *(table.name for table in self.tables)):
            file_name(name)


def probe_name(name: str) -> str:
    """A run folder names probes by what they are called; a path stands in `file` alone."""
    if not is_name(name):
        raise ValueError(f"'{name[:80]}' is not the name of a probe")
    return name


class StudyEntry(Declared):
    label: FileName
    name: Annotated[str, AfterValidator(probe_name)]
    settings: dict[str, Any]
    material_id: str
    file: str = ""  # of a user's probe


class StudyDescription(Declared):
    """What makes a run this run: settings with their defaults filled in, models as they were named."""

    title: str
    probes: tuple[StudyEntry, ...]
    models: tuple[str, ...]
    limit: int | None
    per_group: int | None = None
    axes: tuple[str, ...] = ()
    plan: BindingPlan | None = None
    dtype: str
    intervals: str
    verdicts_over: str = "run"
    only: dict[str, tuple[str, ...]] | None = None  # by model, the labels of its probes: no other is asked these

    @model_validator(mode="before")
    @classmethod
    def _without_permission(cls, data: Any) -> Any:
        """Folders of earlier versions say whether pickles were allowed; that is not for a folder to say."""
        return {key: value for key, value in data.items() if key != "allow_pickle"} if isinstance(data, dict) else data


class Machine(Declared):
    """On what a run was computed; what is not known is empty."""

    processor: str = ""
    threads: int | None = None  # that torch computes with in one process
    device: str = ""
    commit: str = ""  # of the source, with `+changes` where files differ from it


class Manifest(Declared):
    """manifest.json: the study, its models, and the checksums of the tables."""

    format: int
    complete: bool
    study: StudyDescription
    versions: dict[str, str] = {}
    machine: Machine = Machine()
    cards: tuple[Card, ...] = ()
    counts: dict[str, dict[str, int]] = {}
    checksums: dict[str, str] = {}  # path within the folder -> sha256

    @field_serializer("cards")
    def _ordered(self, cards: tuple[Card, ...]) -> list[dict[str, Any]]:
        """A set has no order that two processes share; the same run has the same bytes."""
        plain = [{field.name: getattr(card, field.name) for field in dataclasses.fields(card)} for card in cards]
        return [{**card, "heads": sorted(card["heads"])} for card in plain]

    def model_post_init(self, context: Any) -> None:
        for card in self.cards:
            file_name(card.name)


class LocalPaths(Declared):
    """local.json: where things lie on the machine that ran it; nothing else in the folder names them."""

    study: StudyDescription
    sources: dict[str, str] = {}  # checkpoint -> its folder or file


@contextmanager
def damage(path: Path) -> Iterator[None]:
    try:
        with reading(f"{path} is damaged"):
            yield
    except BadInput as error:
        if not isinstance(cause := error.__cause__, ValidationError):
            raise
        first = cause.errors()[0]
        raise BadInput(
            f"{path} is damaged: {shortened('.'.join(map(str, first['loc'])), 100)}: {first['msg']}"
        ) from cause


def format_of(manifest: Path) -> int:
    """Of the run folder whose manifest this is."""
    with damage(manifest):
        refuse_linked_folders(manifest.parent)
        content = json.loads(content_within(manifest.parent, manifest))
        if not isinstance(content, dict) or "format" not in content:
            raise ValueError("it has no 'format'")
        return int(content["format"])


def parsed(path: Path, schema: type[Schema], folder: Path | None = None) -> Schema:
    """A JSON file's content, validated; what is wrong is reported with the file. `folder`: the run's."""
    with damage(path):
        return schema.model_validate_json(content_within(folder or path.parent, path))


# ---------------------------------------------------------------- tables


def hints(row: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(row)


def frame_of(values: Sequence[Any], row: type[Any], **given: Sequence[Any]) -> pd.DataFrame:
    """Rows as a table: the declared columns, then the conditions. `given`: columns in place of the rows' fields."""
    import pandas as pd

    declared = hints(row)
    names = [field.name for field in dataclasses.fields(row) if field.name != "conditions"]
    columns = {name: list(given[name] if name in given else map(attrgetter(name), values)) for name in names}
    frame = pd.DataFrame({name: _typed(column, declared[name]) for name, column in columns.items()})
    if "conditions" not in declared:
        return frame
    conditions_of = list(dict.fromkeys(name for value in values for name in value.conditions))
    conditions = {CONDITION + name: [value.conditions.get(name) for value in values] for name in conditions_of}
    return pd.concat([frame, pd.DataFrame(conditions, index=frame.index, dtype="str")], axis=1)


def rows_of(frame: pd.DataFrame, row: type[Row], where: str) -> list[Row]:
    """The typed rows of a table that was read; a missing column or a wrong value is reported with its file."""
    return list(map(row, *columns_of(frame, row, where, hints(row)).values()))


def columns_of(frame: pd.DataFrame, row: type[Any], where: str, names: Iterable[str]) -> dict[str, list[Any]]:
    """Some typed columns of such a table."""
    declared, fields = hints(row), {field.name: field for field in dataclasses.fields(row)}
    columns: dict[str, list[Any]] = {}
    with reading(f"{where} is damaged"):
        for name in names:
            if name == "conditions":
                columns[name] = list(_conditions(frame))
            elif name in frame:
                columns[name] = _values(frame[name], declared[name])
            elif fields[name].metadata[rows.LATER]:
                columns[name] = [fields[name].default] * len(frame)
            else:
                raise BadInput(f"{where} is not a table of this version: it has no column '{name}'")
    return columns


def _conditions(frame: pd.DataFrame) -> Iterator[dict[str, str]]:
    names = [name for name in frame if str(name).startswith(CONDITION)]
    short = [str(name).removeprefix(CONDITION) for name in names]
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names]
    for values in zip(*columns, strict=True) if names else ((),) * len(frame):
        yield {name: str(value) for name, value in zip(short, values, strict=True) if value is not None}


def _typed(column: list[Any], hint: Any) -> pd.Series:
    """A column with the type its field has; an absent number is null."""
    import pandas as pd

    kind, optional = kind_of(hint)
    if kind is int:
        return pd.Series(column, dtype="Int64" if optional else "int64")
    if kind is float:
        return pd.Series([math.nan if value is None else value for value in column], dtype="float64")
    return pd.Series([str(value) for value in column], dtype="str")


def _values(column: pd.Series, hint: Any) -> list[Any]:
    kind, optional = kind_of(hint)
    absent = column.isna().tolist()
    if kind is float and not optional:
        return [math.nan if null else float(value) for value, null in zip(column.tolist(), absent, strict=True)]
    if any(absent) and not optional:
        raise ValueError(f"column '{column.name}' has no value in row {absent.index(True)}")
    raw = column.tolist()
    converted = {value: _value(value, kind) for value in {v for v, null in zip(raw, absent, strict=True) if not null}}
    values = [None if null else converted[v] for v, null in zip(raw, absent, strict=True)]
    allowed = literals_of(hint)
    if other := [value for value in values if allowed and value not in allowed]:
        raise ValueError(f"column '{column.name}' has '{other[0]}', not one of {', '.join(allowed)}")
    return values


def literals_of(hint: Any) -> tuple[str, ...]:
    """`Literal["a", "b"]` -> ("a", "b"); nothing for any other type."""
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()


def _value(value: Any, kind: type[Any]) -> Any:
    if kind is int and int(value) != value:
        raise ValueError(f"{value} is no integer")
    if kind is str and not isinstance(value, str):
        raise ValueError(f"{value} is no text")
    return kind(value)


def kind_of(hint: Any) -> tuple[type[Any], bool]:
    """`int | None` -> (int, True); an enum is itself, any other text is str."""
    parts = [part for part in typing.get_args(hint) if isinstance(part, type)]
    optional = type(None) in parts
    kind = next((part for part in parts if part is not type(None)), hint)
    plain = isinstance(kind, type) and issubclass(kind, (int, float, StrEnum))
    return (kind if plain else str), optional


def refuse_other_columns(frame: pd.DataFrame, fixed: Iterable[str], declared: Iterable[str], where: str) -> None:
    """Of items or observations: only what is declared here, by the probe, or in a namespace."""
    allowed = {*fixed, *declared}
    names = [str(name) for name in frame]
    other = [name for name in names if name not in allowed and not name.startswith((CONDITION, GROUP))]
    twice = [name for name in names if names.count(name) > 1]
    if other or twice:
        raise BadInput(f"{where} has a column '{(other or twice)[0]}' that is not declared, or twice")


def check_items(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """As it was written: each item once, with its text."""
    _refuse_lacking(frame, ("item", "text"), ("item", "text"), where)
    if len(twice := frame["item"][frame["item"].duplicated()]):
        raise BadInput(f"{where} is damaged: the item '{twice.iloc[0]}' is in it twice")
    return frame


def check_observations(frame: pd.DataFrame, declared: ProbeDeclaration, where: str) -> pd.DataFrame:
    """With every column that the probe declares, and codes that are known."""
    needed = (*_ALWAYS, *declared.columns, *(GROUP + factor for factor in declared.factors))
    _refuse_lacking(frame, needed, ("item", "part", "model", "why_not"), where)
    if unknown := set(frame["why_not"]) - {"", *CODES}:
        raise BadInput(f"{where} is damaged: column 'why_not' has '{min(unknown)}'")
    with reading(f"{where} is damaged"):
        other = {name: frame[name].astype("Int64") for name in ("model_seed", "step") if frame[name].dtype != "Int64"}
        return frame.assign(**other) if other else frame


def _refuse_lacking(frame: pd.DataFrame, needed: Iterable[str], texts: Iterable[str], where: str) -> None:
    from pandas.api.types import infer_dtype, is_hashable

    if missing := [name for name in needed if name not in frame]:
        raise BadInput(f"{where} is damaged: it has no column '{missing[0]}'")
    text = {name: frame[name].dtype == "str" or infer_dtype(frame[name]) in ("string", "empty") for name in texts}
    wrong = [name for name in texts if not text[name] or frame[name].hasnans]
    if wrong:
        raise BadInput(f"{where} is damaged: column '{wrong[0]}' holds something other than text")
    for name in (name for name in frame if str(name).startswith((CONDITION, GROUP)) and frame[name].dtype == object):
        if not frame[name].map(is_hashable).all():
            raise BadInput(f"{where} is damaged: column '{name}' holds several values in one cell")


def reserved(names: Iterable[str]) -> list[str]:
    """Those that a probe may not use: a table has them for itself, or they look like a condition's or a group's."""
    return sorted(name for name in names if name in RESERVED or name.startswith((CONDITION, GROUP)))


def refuse_reserved(names: Iterable[str], where: str) -> None:
    """A probe's value may not take the place of a column that every table has, nor of a condition or a group."""
    if taken := reserved(names):
        raise BadInput(f"{where} have a value '{taken[0]}', which is reserved; give it another name")

"""Markdown: every table of a run folder with its columns, types and meanings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from trueprobe.runs.schema import TABLES, hints, kind_of, literals_of
from trueprobe.types import CONDITION


def column_reference() -> str:
    return "\n".join(line for name, row in TABLES.items() for line in _reference(name, row))


def _reference(name: str, row: type[Any]) -> Iterator[str]:
    yield from (f"### {name}", "", " ".join((row.__doc__ or "").split()), "")
    yield from ("| column | type | meaning |", "|---|---|---|")
    for field in dataclasses.fields(row):
        column = f"{CONDITION}…" if field.name == "conditions" else field.name
        yield f"| `{column}` | {_type_name(hints(row)[field.name], field.name)} | {field.metadata['meaning']} |"
    yield ""


def _type_name(hint: Any, name: str) -> str:
    kind, optional = kind_of(hint)
    if name == "conditions":
        return "text, one column for each"
    words = {int: "integer", float: "number", str: "text"}
    values: Iterable[str] = literals_of(hint) or (kind if issubclass(kind, StrEnum) else ())
    text = " · ".join(f"`{value}`" for value in values if str(value)) or words[kind]
    return f"{text}, or null" if optional else text

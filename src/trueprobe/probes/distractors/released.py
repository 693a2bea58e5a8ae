"""Reads the outputs that came with "Sorting through the noise": per sentence a probability and an order of words.

A file is one condition and one model: `CONDITION/MODEL.csv`, tab-separated, plain or gzipped. Sentences stand in the
order of our items and must be ours, up to the drawn names.
"""

from __future__ import annotations

import ast
import csv
import gzip
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.base import Released
from trueprobe.statistics.ranking import Ranking
from trueprobe.types import Item, Kind, Observation

if TYPE_CHECKING:
    from trueprobe.probes.distractors.probe import Distractors

_RELATED, _UNRELATED = ("T", "B"), ("unrelated",)
CONDITIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "multiple_entity_distractor": ("after", "multiple", _RELATED),
    "multiple_entity_object": ("after", "multiple", ("T",)),
    "multiple_entity_profession": ("after", "multiple", ("B",)),
    "multiple_entity_with_neutral_distractor": ("after", "multiple", _UNRELATED),
    "multiple_entity_distractorSwapped": ("between", "multiple", _RELATED),
    "single_entity_distractor": ("after", "single", _RELATED),
    "single_entity_object": ("after", "single", ("T",)),
    "single_entity_profession": ("after", "single", ("B",)),
    "single_entity_with_neutral_distractor": ("after", "single", _UNRELATED),
    "single_entity_distractorSwapped": ("between", "single", _RELATED),
}
_COLUMNS = ("sentence", "target_prob", "ordered_items", "target_occupation")


def read(probe: Distractors, path: Path) -> list[Released]:
    files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.name.endswith((".csv", ".csv.gz")))
    if not files:
        raise BadInput(f"{path}: no CONDITION/MODEL.csv or .csv.gz in it; conditions: {', '.join(CONDITIONS)}")
    items = probe.items()
    models: dict[str, tuple[Kind, dict[str, Observation]]] = {}
    for file in files:
        position, setting, types = CONDITIONS[_condition(file)]
        if position not in probe.positions:
            continue
        wanted = {"position": (position,), "setting": (setting,), "type": types}
        asked = [i for i in items if all(i.conditions[key] in values for key, values in wanted.items())]
        name = file.name.removesuffix(".gz").removesuffix(".csv")
        kind, seen = _file(probe, file, name, asked)
        held = models.setdefault(name, (kind, {}))[1]
        for one in seen:
            if held.setdefault(one.item, one).values["target_probability"] != one.values["target_probability"]:
                raise BadInput(f"{file}: another probability for {one.item} than in an earlier file of {name}")
    return [Released(name, kind, tuple(seen.values())) for name, (kind, seen) in models.items()]


def _condition(file: Path) -> str:
    known = [part for part in reversed(file.resolve().parts[:-1]) if part in CONDITIONS]
    if not known:
        raise BadInput(
            f"{file}: its folder is none of the released conditions{nearest(file.parent.name, [*CONDITIONS])}"
        )
    return known[0]


def _file(probe: Distractors, file: Path, name: str, items: Sequence[Item]) -> tuple[Kind, list[Observation]]:
    names = re.compile(rf"\b(?:{'|'.join(probe.material.names)})\b", re.IGNORECASE)
    bases: dict[str, Ranking] = {}
    seen = []
    kind: Kind = "causal"
    rows = list(_rows(file))
    if len(rows) != len(items):
        raise BadInput(f"{file}: {len(rows):,} sentences, and {len(items):,} are asked in this condition")
    for line, (item, row) in enumerate(zip(items, rows, strict=True), 2):
        text, blanks = re.subn(r"<mask>|\[mask\]", "___", row["sentence"], flags=re.IGNORECASE)
        kind = "masked" if blanks else kind
        ours = item.text if blanks else item.text.partition(" ___")[0]
        if _nameless(text, names) != _nameless(ours, names):
            raise BadInput(f"{file}, line {line}: {row['sentence']!r} is not the sentence asked here: {item.text!r}")
        spelt = {word.lower(): word for word in probe.candidates[str(item.conditions["set"])].words}
        target = item.fields["target"]
        try:
            order = tuple(spelt[word.lower()] for word in ast.literal_eval(row["ordered_items"]))
            found = Ranking(order, order[:1], {target: math.log(float(row["target_prob"]))})
        except (ValueError, SyntaxError, KeyError) as error:
            raise BadInput(f"{file}, line {line}: no order and probability of candidates ({error})") from error
        base = bases.setdefault(item.groups[0], found)  # without attractors and fillers: first of each target
        seen.append(Observation(item.id, probe.values(item, found, base, base, probe.constants_of(name))))
    return kind, seen


def _rows(file: Path) -> Iterator[dict[str, str]]:
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines, delimiter="\t")
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise BadInput(
                    f"{file}, line 1: no column '{missing[0]}'; expected {', '.join(_COLUMNS)}, tab-separated"
                )
            yield from reader
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise BadInput(f"{file}: cannot be read ({error})") from error


def _nameless(text: str, names: re.Pattern[str]) -> str:
    """Names by the order in which they are mentioned."""
    places: dict[str, str] = {}
    return names.sub(lambda match: places.setdefault(match[0].lower(), f"E{len(places)}"), text)

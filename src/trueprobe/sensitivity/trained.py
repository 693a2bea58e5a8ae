"""The trainings of an analysis: a recipe that plants, the models of all assignments and seeds, their doses checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trueprobe.paths import write_text
from trueprobe.sensitivity import rows
from trueprobe.sensitivity.doses import checks
from trueprobe.sensitivity.plant import (
    FULL,
    LEAST_AUC,
    LEAST_NATS,
    MOST_NULL,
    NULL,
    Planter,
    Planting,
    PlantRecipe,
    Start,
    alternatives,
    read_planting,
)
from trueprobe.sensitivity.rows import PLANTED, PlantedRow

if TYPE_CHECKING:
    from trueprobe.sensitivity.session import Analysis

RECIPE = "recipe.json"


@dataclass(frozen=True, kw_only=True)
class Unplantable:
    """Why there is no limit: what the best recipe came to, in means over the seeds of an assignment."""

    assignment: int
    null_nats: float
    full_nats: float
    full_auc: float


def trainings(analysis: Analysis) -> Unplantable | None:
    """Trains what is not trained yet and writes each assignment's `planted.csv`."""
    recipe = _recipe(analysis)
    if isinstance(recipe, Unplantable):
        return recipe
    for number in range(analysis.request.assignments):
        for start in analysis.starts:
            _both(analysis, number, start, recipe)
        failed = unplantable(number, _checked(analysis, number, analysis.starts))
        if failed is not None:
            return failed
    return None


def unplantable(assignment: int, planted: Sequence[PlantedRow]) -> Unplantable | None:
    """None where the association was learnt at the full dose, and at the null dose was not."""

    def mean(dose: float, name: str) -> float:
        values = [getattr(row, name) for row in planted if row.dose == dose]
        return float(sum(values) / len(values))

    null, full, auc = mean(0, "nats"), mean(1, "nats"), mean(1, "auc")
    if auc >= LEAST_AUC and full > LEAST_NATS and abs(null) <= MOST_NULL:
        return None
    return Unplantable(assignment=assignment, null_nats=null, full_nats=full, full_auc=auc)


def _recipe(analysis: Analysis) -> PlantRecipe | Unplantable:
    """The declared one; where it plants nothing in the first seed, the first of its alternatives that does."""
    file = analysis.request.out / RECIPE
    if file.is_file():
        return rows.read_json(file, PlantRecipe)
    start, failures = analysis.starts[0], []
    for recipe in alternatives(start.recipe):
        _both(analysis, 0, start, recipe)
        failed = unplantable(0, list(_rows(analysis, 0, start)))
        if failed is None:
            write_text(file, json.dumps(asdict(recipe), indent=1) + "\n")
            return recipe
        failures.append(failed)
    return max(failures, key=lambda one: one.full_auc)


def _both(analysis: Analysis, number: int, start: Start, recipe: PlantRecipe) -> None:
    for folder, share in zip(analysis.folders(number, start), (NULL, FULL), strict=True):
        _planting(analysis, number, start, recipe, folder, share)


def _planting(
    analysis: Analysis, number: int, start: Start, recipe: PlantRecipe, folder: Path, share: float
) -> Planting:
    """Of a training that is done, unless it was made by another recipe."""
    before = read_planting(folder)
    if before is not None and before.recipe == recipe:
        return before
    filler = analysis.filler
    planter = Planter(analysis.association, analysis.association.assignment(number), start, recipe, filler)
    what = "null" if share == NULL else f"assignment {number}"
    with analysis.progress.task(f"planting {what}, seed {start.seed}", recipe.steps, "steps") as bar:
        return planter.plant(share, folder, bar.advance)


def _checked(analysis: Analysis, number: int, starts: Sequence[Start]) -> list[PlantedRow]:
    file = analysis.folder(number) / PLANTED
    if not file.is_file():
        with analysis.progress.task(f"checking the doses of assignment {number}"):
            rows.write(file, [row for start in starts for row in _rows(analysis, number, start)], PlantedRow)
    return rows.read(file, PlantedRow)


def _rows(analysis: Analysis, number: int, start: Start) -> Iterator[PlantedRow]:
    association, doses = analysis.association, analysis.request.doses
    checked = checks(*analysis.folders(number, start), doses, association, association.assignment(number))
    for dose, one in checked.items():
        yield PlantedRow(assignment=number, seed=start.seed, dose=dose, nats=one.nats, auc=one.auc)

"""A sensitivity analysis from start to end: plant, interpolate, ask, collect. It goes on where it was stopped.

    OUT/setup.json                     what makes this analysis this one
    OUT/null/seed_N                    the null model of each seed, the same for all assignments
    OUT/assignment_A/full/seed_N       the model trained at the full share
    OUT/assignment_A/dose_D/run        an ordinary run folder; models are removed when it is complete
    OUT/planted.csv, measured.csv      one row for each checkpoint and dose, and for each measure of it
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, reading
from trueprobe.models import Options, find
from trueprobe.paths import ANOTHER_OUT, locked, write_text
from trueprobe.sensitivity import associations, pointing, rows
from trueprobe.sensitivity.associations import Association
from trueprobe.sensitivity.check import Check, check
from trueprobe.sensitivity.doses import DOSES, family
from trueprobe.sensitivity.measure import Dose, ask, collected, is_complete
from trueprobe.sensitivity.plant import (
    FULL,
    NULL,
    Planter,
    Planting,
    PlantRecipe,
    Start,
    alternatives,
    read_planting,
    succeeded,
)
from trueprobe.sensitivity.rows import MeasuredRow, PlantedRow
from trueprobe.types import NoProgress, Progress

SETUP, PLANTED, MEASURED = "setup.json", "planted.csv", "measured.csv"
FEWEST_ASSIGNMENTS, CONTINUED_SEEDS = 3, 3
_RELABELLED = 1000  # assignments from here on are drawn for false alarms: nothing was planted of them


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for."""

    probes: tuple[str, ...]
    model: str
    association: str
    out: Path
    doses: tuple[float, ...] = DOSES
    assignments: int = FEWEST_ASSIGNMENTS
    seeds: int = CONTINUED_SEEDS  # of continued training, where the model is no family
    relabellings: int = 200
    keep: bool = False
    store: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Unplantable:
    """Why there is no limit: what the best recipe came to."""

    null: Planting
    full: Planting


@dataclass(frozen=True)
class Analysis:
    request: Request
    progress: Progress = field(default_factory=NoProgress)

    # ------------------------------------------------------------ what it is about

    @cached_property
    def association(self) -> Association:
        return associations.read(self.request.association)

    @cached_property
    def probes(self) -> list[str]:
        return pointing.chosen(self.association, self.request.probes)

    @cached_property
    def starts(self) -> tuple[Start, ...]:
        """The seeds of a family, else seeds of continued training from one checkpoint."""
        sources = find([self.request.model], Options(), compare_weights=False)
        last = max((source.labels.get("step", 0) for source in sources), default=0)
        sources = [source for source in sources if source.labels.get("step", 0) == last]
        if len(sources) > 1:
            return tuple(Start.of(source.path, source.labels["model_seed"]) for source in sources)
        return tuple(Start.of(sources[0].path, seed) for seed in range(self.request.seeds))

    @property
    def setup(self) -> dict[str, Any]:
        request = self.request
        return {
            "model": request.model,
            "association": self.association.model_dump(mode="json"),
            "doses": list(request.doses),
            "probes": self.probes,
            "kind": self.starts[0].kind,
            "seeds": [start.seed for start in self.starts],
            "seeds_of": "pre-training" if len({start.folder for start in self.starts}) > 1 else "continued training",
        }

    # ------------------------------------------------------------ steps

    def run(self) -> Unplantable | None:
        """Everything; what came in the way where nothing could be planted."""
        out, setup = self.request.out, self.setup
        with locked(out, "sensitivity analysis", ANOTHER_OUT):
            _refuse_other(out, setup)
            write_text(out / SETUP, json.dumps(setup, indent=1) + "\n")
            recipe = self._recipe()
            if isinstance(recipe, Unplantable):
                return recipe
            for number in range(self.request.assignments):
                failed = self._assignment(number, recipe)
                if failed is not None:
                    return failed
        return None

    def _recipe(self) -> PlantRecipe | Unplantable:
        """The declared one; where it plants nothing in the first seed, the first of its alternatives that does."""
        chosen = self.request.out / "recipe.json"
        if chosen.is_file():
            with reading(f"{chosen} is damaged"):
                return PlantRecipe(**json.loads(chosen.read_text(encoding="utf-8")))
        best: Unplantable | None = None
        for i, recipe in enumerate(alternatives(self.starts[0].recipe)):
            null, full = self._both(0, self.starts[0], recipe, f"recipe_{i}")
            if succeeded(null, full):
                write_text(chosen, json.dumps(asdict(recipe), indent=1) + "\n")
                for i in range(i):
                    shutil.rmtree(self.request.out / f"recipe_{i}", ignore_errors=True)
                return recipe
            if best is None or full.check.auc > best.full.check.auc:
                best = Unplantable(null=null, full=full)
        assert best is not None
        return best

    def _folders(self, number: int, start: Start) -> tuple[Path, Path]:
        out = self.request.out
        return out / "null" / f"seed_{start.seed}", out / f"assignment_{number}" / "full" / f"seed_{start.seed}"

    def _both(self, number: int, start: Start, recipe: PlantRecipe, tried: str = "") -> tuple[Planting, Planting]:
        null, full = self._folders(number, start)
        if tried and tried != "recipe_0":
            null, full = (self.request.out / tried / name for name in ("null", "full"))
        return self._planted(null, number, start, NULL, recipe), self._planted(full, number, start, FULL, recipe)

    def _planted(self, folder: Path, number: int, start: Start, share: float, recipe: PlantRecipe) -> Planting:
        before = read_planting(folder)
        if before is not None and before.recipe == recipe:
            return before
        planter = Planter(self.association, self.association.assignment(number), start, recipe)
        title = f"assignment {number}, seed {start.seed}, share {share:g}"
        with self.progress.task(title, recipe.steps, "steps") as bar:
            return planter.plant(share, folder, bar.advance)

    def _assignment(self, number: int, recipe: PlantRecipe) -> Unplantable | None:
        for start in self.starts:
            null, full = self._both(number, start, recipe)
            if full.check.auc < associations.LEAST_AUC:
                return Unplantable(null=null, full=full)
        planted: list[PlantedRow] = []
        measured: list[MeasuredRow] = []
        for dose in self.request.doses:
            checks = self._dose(number, dose)
            planted += [_planted_row(number, dose, seed, one) for seed, one in checks.items()]
            nats = {seed: one.nats for seed, one in checks.items()}
            run = self._run_folder(number, dose)
            from trueprobe.runs import load_run

            measured += collected(load_run(run), Dose(assignment=number, dose=dose, nats=nats))
        folder = self.request.out / f"assignment_{number}"
        rows.write(folder / PLANTED, planted, PlantedRow)
        rows.write(folder / MEASURED, measured, MeasuredRow)
        return None

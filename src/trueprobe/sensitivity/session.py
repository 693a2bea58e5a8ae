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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from trueprobe import assets
from trueprobe.errors import BadInput
from trueprobe.models import Options, find
from trueprobe.paths import ANOTHER_OUT, locked, write_text
from trueprobe.probes import files
from trueprobe.runs import Run, load_run
from trueprobe.sensitivity import associations, plant, pointing, remove, rows
from trueprobe.sensitivity.associations import Association
from trueprobe.sensitivity.doses import DOSES, family
from trueprobe.sensitivity.measure import Dose, ask, is_complete
from trueprobe.sensitivity.plant import Start
from trueprobe.sensitivity.relabel import FIRST_RELABELLED, Answers
from trueprobe.sensitivity.rows import (
    MEASURED,
    PLANTED,
    RELABELLED,
    REMOVED,
    UNPLANTED,
    MeasuredRow,
    PlantedRow,
    RemovedRow,
    UnplantedRow,
)
from trueprobe.sensitivity.trained import Unplantable, trainings
from trueprobe.sensitivity.unplanted import CONTROLS, UnplantedControl, compared, judged
from trueprobe.training import corpus
from trueprobe.types import NoProgress, Progress

SETUP = "setup.json"
FEWEST_ASSIGNMENTS, CONTINUED_SEEDS = 3, 3


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for."""

    probes: tuple[str, ...]
    model: str
    association: str
    out: Path
    doses: tuple[float, ...] = DOSES
    assignments: int = FEWEST_ASSIGNMENTS
    seeds: int = CONTINUED_SEEDS  # of continued training, if the model is not a family
    relabellings: int = 200
    keep: bool = False
    remove: tuple[str, ...] = ()  # counterexamples: syntax, meaning, neutral
    filler: str = "wordnet"  # or a UTF-8 text
    store: Path | None = None


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

    @cached_property
    def filler(self) -> tuple[str, ...]:
        name = self.request.filler
        if name in assets.names() and not assets.cached(name):
            raise BadInput(f"the neutral sentences are those of '{name}': trueprobe fetch {name}")
        return plant.filler(files.text_of(corpus.locate(name, self.progress)), self.association)

    @property
    def setup(self) -> dict[str, Any]:
        request = self.request
        return {
            "model": request.model,
            "association": self.association.model_dump(mode="json"),
            "filler": request.filler,
            "doses": list(request.doses),
            "probes": self.probes,
            "kind": self.starts[0].kind,
            "seeds": [start.seed for start in self.starts],
            "seeds_of": "pre-training" if len({start.folder for start in self.starts}) > 1 else "continued training",
        }

    # ------------------------------------------------------------ steps

    def run(self) -> Unplantable | None:
        """Everything; what the best recipe came to where nothing could be planted."""
        out, setup = self.request.out, self.setup
        with locked(out, "sensitivity analysis", ANOTHER_OUT):
            _refuse_other(out, setup)
            write_text(out / SETUP, json.dumps(setup, indent=1) + "\n")
            trained = trainings(self)
            if isinstance(trained, Unplantable):
                return trained
            for number in range(self.request.assignments):
                self._assignment(number)
            self._relabel()
            self._controls()
            self._remove()
        return None

    def _assignment(self, number: int) -> None:
        """Asks at every dose; the tables are written when all doses are done."""
        folder, dealt = self.folder(number), self.association.assignment(number)
        if (folder / MEASURED).is_file():
            return
        settings = {
            probe: pointing.settings(probe, self.association, dealt, (folder / "material").absolute())
            for probe in self.probes
        }
        planted = rows.read(folder / PLANTED, PlantedRow)
        measured: list[MeasuredRow] = []
        for dose in self.request.doses:
            answers = Answers(self._asked(number, dose, settings), self.association, number)
            nats = {row.seed: row.nats for row in planted if row.dose == dose}
            measured += answers.rows(number, Dose(assignment=number, dose=dose, nats=nats))
        rows.write(folder / MEASURED, measured, MeasuredRow)

    def _asked(self, number: int, dose: float, settings: Mapping[str, Mapping[str, Any]]) -> Run:
        folder = self.folder(number) / f"dose_{dose:g}"
        if not is_complete(folder / "run"):
            trained = {start.seed: self.folders(number, start) for start in self.starts}
            spec = family(trained, dose, (folder / "models").absolute())
            ask(settings, spec, folder / "run", self.request.store, self.progress)
        if not self.request.keep:
            shutil.rmtree(folder / "models", ignore_errors=True)
        return load_run(folder / "run")

    def _relabel(self) -> None:
        """Verdicts of the null models about associations that nobody planted."""
        file, many = self.request.out / RELABELLED, self.request.relabellings
        numbers = range(FIRST_RELABELLED, FIRST_RELABELLED + many)
        if file.is_file() and {row.assignment for row in rows.read(file, MeasuredRow)} == set(numbers):
            return
        answers = Answers(load_run(self.folder(0) / "dose_0" / "run"), self.association, 0)
        nobody = {start.seed: 0.0 for start in self.starts}
        relabelled: list[MeasuredRow] = []
        with self.progress.task("dealing the targets again", many, "relabellings") as bar:
            for number in numbers:
                relabelled += answers.rows(number, Dose(assignment=number, dose=0.0, nats=nobody))
                bar.advance()
        rows.write(file, relabelled, MeasuredRow)

    def _controls(self) -> None:
        """The published probes, before and at either end of the doses: specificity, and what planting cost."""
        file = self.request.out / UNPLANTED
        if not file.is_file():
            compared_rows = [row for control in CONTROLS for row in self._control(control)]
            rows.write(file, judged(compared_rows), UnplantedRow)

    def _remove(self) -> None:
        arms, file = self.request.remove, self.request.out / REMOVED
        if arms and {row.arm for row in self.removed()} != set(arms):
            rows.write(file, list(remove.removed(self)), RemovedRow)

    def _control(self, control: UnplantedControl) -> Iterator[UnplantedRow]:
        full = {n: f"full={self.folder(n).absolute()}/full/seed_*" for n in range(self.request.assignments)}
        specs = {"before": self._start_spec, "null": f"null={(self.request.out / 'null').absolute()}/seed_*"}
        specs |= {f"assignment_{n}": spec for n, spec in full.items()}
        runs = {}
        for name, spec in specs.items():
            folder = self.request.out / "unplanted" / name / control.probe
            if not is_complete(folder):
                ask({control.probe: control.here}, spec, folder, self.request.store, self.progress, control.limit)
            runs[name] = load_run(folder)
        fulls = {n: runs[f"assignment_{n}"] for n in full}
        return compared(control, runs["before"], runs["null"], fulls, [start.seed for start in self.starts])

    @property
    def _start_spec(self) -> str:
        """The checkpoints that training went on from, by links that name their seeds."""
        folders = {start.folder: start.seed for start in self.starts}
        if len(folders) == 1:
            return str(self.starts[0].folder)
        links = self.request.out / "unplanted" / "start"
        links.mkdir(parents=True, exist_ok=True)
        for folder, seed in folders.items():
            (links / f"seed_{seed}").unlink(missing_ok=True)
            (links / f"seed_{seed}").symlink_to(folder.absolute())
        return f"before={links.absolute()}/seed_*"

    # ------------------------------------------------------------ folders

    def folder(self, number: int) -> Path:
        return self.request.out / f"assignment_{number}"

    def folders(self, number: int, start: Start) -> tuple[Path, Path]:
        """Of the null model, which serves all assignments, and of the full one."""
        return self.request.out / "null" / f"seed_{start.seed}", self.folder(number) / "full" / f"seed_{start.seed}"

    # ------------------------------------------------------------ tables

    def measured(self) -> list[MeasuredRow]:
        return [row for number in self._done for row in rows.read(self.folder(number) / MEASURED, MeasuredRow)]

    def relabelled(self) -> list[MeasuredRow]:
        file = self.request.out / RELABELLED
        return rows.read(file, MeasuredRow) if file.is_file() else []

    def unplanted(self) -> list[UnplantedRow]:
        file = self.request.out / UNPLANTED
        return rows.read(file, UnplantedRow) if file.is_file() else []

    def removed(self) -> list[RemovedRow]:
        file = self.request.out / REMOVED
        return rows.read(file, RemovedRow) if file.is_file() else []

    def planted(self) -> list[PlantedRow]:
        return [row for number in self._done for row in rows.read(self.folder(number) / PLANTED, PlantedRow)]

    @property
    def _done(self) -> list[int]:
        return [n for n in range(self.request.assignments) if (self.folder(n) / MEASURED).is_file()]


def _refuse_other(out: Path, setup: Mapping[str, Any]) -> None:
    if not (out / SETUP).exists():
        if any(path.name != ".lock" for path in out.iterdir()):
            raise BadInput(f"{out} is not empty and holds no {SETUP}; {ANOTHER_OUT}")
        return
    before = rows.read_json(out / SETUP, dict[str, Any])
    changed = [name for name, value in setup.items() if before.get(name) != value]
    if changed:
        raise BadInput(f"{out} holds another analysis (other {', '.join(changed)}); {ANOTHER_OUT}")

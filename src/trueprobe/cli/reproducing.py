"""What `trueprobe reproduce` does: for one model, or for all models of the papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trueprobe import assets
from trueprobe.cli.common import note
from trueprobe.errors import BadInput, FailedRun, shortened
from trueprobe.probes import published
from trueprobe.results.render import reproduction
from trueprobe.results.render.reproduction_report import ReproductionReport, as_dict, as_json, checked, items_as_dict
from trueprobe.runs import papers
from trueprobe.runs import reproduce as reproducing
from trueprobe.runs.item_scores import ItemComparison
from trueprobe.runs.machine import made_with
from trueprobe.runs.papers import Reproduction
from trueprobe.types import Progress


@dataclass(frozen=True)
class Which:
    """Of the command line: one model of a probe, or all."""

    probe: str | None
    model: str | None
    published_as: str | None
    every: bool
    size: str
    models: Path | None
    listing: bool

    def refuse_what_does_not_go_together(self, items: bool) -> None:
        if self.every and (self.model or self.published_as):
            raise BadInput("--all finds the models itself: leave out --model and --as, or --all")
        if not self.every and self.probe is None:
            raise BadInput("name a PROBE, or run every model of the papers: --all")
        if not self.every and (self.size != "all" or self.models or self.listing):
            raise BadInput("--size, --models and --list go with --all")
        if items and not self.every and (self.model is None or self.model.startswith("replay:")):
            raise BadInput("--items compares a model's own scores: name it with --model SPEC, or --all")


def one_model(which: Which, asked: Reproduction, report: Path | None, json_wanted: bool) -> bool:
    if report is not None:
        raise BadInput("--report goes with --all; of one model: --json")
    probe = which.probe or ""
    chosen = asked.settings[probe]
    rows, compared = reproducing.reproduce(
        probe,
        which.model,
        which.published_as,
        asked.out,
        chosen,
        store=asked.store,
        progress=asked.progress,
        device=asked.options.device,
        allow_pickle=asked.options.allow_pickle,
    )
    items = _items(probe, which, asked) if asked.items else None
    if json_wanted:
        numbers = [number.row() for number in rows]
        print(as_json({"numbers": numbers, "items": items_as_dict(items)}) if items else as_json(numbers))
    else:
        reproduction.show(rows)
        if items:
            reproduction.show_items(items)
    note(reproducing.notices(probe, which.model, which.published_as, chosen))
    return not compared or (all(number.agrees for number in rows) and (items is None or items.agrees))


def _items(probe: str, which: Which, asked: Reproduction) -> ItemComparison:
    spec = which.model or ""
    name = which.published_as or published.authors(probe).name_of(spec)
    released = papers.released_of([probe], asked)[probe]
    if name not in released:
        raise BadInput(f"--items: outputs of {', '.join(released)}, and none of {name}; name it with --as")
    return papers.items_of(probe, name, spec, released[name], asked)


def all_models(which: Which, asked: Reproduction, report: Path | None, json_wanted: bool) -> bool:
    """Sizes and times first; the report is written after every model, so that a stopped one leaves what it has."""
    path = checked(report or (asked.out or papers.OUT) / "report.md")
    models = papers.paper_models(which.probe, which.size, which.models, asked.settings)
    papers.released_of(list(dict.fromkeys(model.probe for model in models)), asked)  # wrong paths are refused first
    speed, data = papers.machine_speed(asked.options), papers.missing_data(models, asked.settings)
    if not json_wanted:
        reproduction.show_models(models, speed, data)
    if which.listing:
        if json_wanted:
            print(json.dumps(as_dict(ReproductionReport({}, models, ()))["models"], indent=1))
        return True
    if which.models is None:
        _fetch(data, asked.progress)
    results: list[papers.ModelResult] = []
    for result in papers.reproduce_all(models, asked):
        results.append(result)
        _written(models, results).write(path)
        if not json_wanted:
            reproduction.show_result(result)
    if json_wanted:
        print(as_json(as_dict(_written(models, results))))
    else:
        reproduction.show_closing(results, path)
    anything = any(result.compared or result.signs or result.items for result in results)
    return anything and all(result.all_agree for result in results)


def _fetch(names: Sequence[str], progress: Progress) -> None:
    """One that could not be had is named; what needs it is listed as not compared."""
    for name in names:
        try:
            assets.fetch(name, progress=progress)
        except (BadInput, FailedRun) as error:
            note([shortened(str(error))])


def _written(models: Sequence[papers.PaperModel], results: Sequence[papers.ModelResult]) -> ReproductionReport:
    return ReproductionReport(made_with(), models, results)

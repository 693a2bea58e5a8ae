"""Every model of the papers, asked in its authors' way, next to what was published: `trueprobe reproduce --all`.

What is asked and compared stands in the tables of `probes/*/published`. A number that cannot be compared is listed with
its reason. Finished answers are cached, so the same command goes on where an earlier one stopped.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from trueprobe import assets
from trueprobe.errors import BadInput, FailedRun, nearest, shortened
from trueprobe.models import Options
from trueprobe.models.specs import listed
from trueprobe.probes import make, published
from trueprobe.probes.published import PublishedNetwork
from trueprobe.runs import execute
from trueprobe.runs.folder import usable_name
from trueprobe.runs.item_scores import ItemComparison, compare_items
from trueprobe.runs.reproduce import Compared, reproduce
from trueprobe.statistics.rows import ClaimResult
from trueprobe.types import ClaimSource, NoProgress, Outcome, Progress

SIZES = {"base": 12, "large": 24, "all": 1_000}  # the most layers
OUT = Path("runs") / "reproduce"
_REPLAY_ONLY = "only released outputs exist: trueprobe reproduce {} --model replay:PATH"
_NOT_IN_FOLDER = "no folder of that name in --models"
_NO_WEIGHTS = "no weights were published"
_NO_NUMBERS = "published as figures; the authors' outputs can be compared item by item: --items PATH"
# of the largest product of two matrices that a processor does per second, what a network of this kind gets
_EFFICIENCY = 0.5


class Where(StrEnum):
    FOLDER = "folder"
    CACHED = "hub cache"
    HUB = "hub"
    NOWHERE = "nowhere"


@dataclass(frozen=True)
class PaperModel:
    """A model as one paper names it. `reason`: why it cannot be asked."""

    probe: str
    name: str
    spec: str
    where: Where
    network: PublishedNetwork | None
    seeds: int = 1
    reason: str = ""

    @property
    def download_bytes(self) -> int:
        """In full precision, where it must still be fetched."""
        return self.weight_bytes if self.where is Where.HUB else 0

    @property
    def weight_bytes(self) -> int:
        return 4_000_000 * self.network.millions * self.seeds if self.network else 0

    def seconds(self, products_per_second: float) -> float:
        """About so long: two operations for each weight of the layers and token."""
        if self.network is None:
            return 0.0
        million_tokens = published.authors(self.probe).tokens.get(self.network.kind, 0.0) * self.seeds
        weights = 12 * self.network.size.layers * self.network.size.width**2
        return 2e6 * million_tokens * weights / products_per_second


@dataclass(frozen=True)
class LeftOut:
    numbers: int
    reason: str


@dataclass(frozen=True)
class ModelResult:
    """What became of one model in one probe. `in_range`: the checkpoints are not those of the paper."""

    model: PaperModel
    compared: tuple[Compared, ...] = ()
    in_range: bool = False
    signs: tuple[ClaimResult, ...] = ()
    items: tuple[ItemComparison, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    seconds: float = 0.0

    def agrees(self, one: Compared) -> bool:
        return within_range(one, [other.number for other in self.compared]) if self.in_range else one.agrees

    @property
    def n_agree(self) -> int:
        return sum(map(self.agrees, self.compared))

    @property
    def all_agree(self) -> bool:
        signs = not any(sign.verdict.outcome is Outcome.BAD for sign in self.signs)
        return signs and self.n_agree == len(self.compared) and all(one.agrees for one in self.items)


@dataclass(frozen=True)
class Reproduction:
    """What all models are asked with. `items`: released outputs, files or folders."""

    out: Path | None = None  # of many models, one folder within it for each
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the user's, by probe
    items: Sequence[Path] = ()
    store: Path | None = None
    options: Options = field(default_factory=Options)
    limit: int | None = None
    progress: Progress = field(default_factory=NoProgress)


def within_range(one: Compared, numbers: Sequence[published.PublishedValue]) -> bool:
    """Of other checkpoints trained alike: a mean within two of the paper's deviations over seeds (two means of five
    differ by 0.63 of one), a deviation within the 95 % bounds of the ratio of two from five seeds."""
    wanted, ours = one.number, one.number.scaled(one.ours)
    if wanted.of == "sd_seeds":
        return bool(wanted.value / 3.1 <= ours <= wanted.value * 3.1)
    spread = next(n.value for n in numbers if replace(n, of="value", value=wanted.value) == wanted and n is not wanted)
    return bool(abs(ours - wanted.value) <= 2 * spread)


# ---------------------------------------------------------------- which models, and where they are


def settings_by_probe(probe: str | None, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """All for one probe alone; for all probes, those that their published numbers need, as the user's copy of data."""
    if probe is not None:
        return {probe: dict(settings)}
    needs = {name: published.authors(name).needs for name in published.papers()}
    unknown = next((key for key in settings if not any(key in needed for needed in needs.values())), None)
    if unknown is not None:
        raise BadInput(
            f"--set {unknown}: no paper needs this setting; with --all and one PROBE, it is that probe's setting"
        )
    return {name: {key: settings[key] for key in needed if key in settings} for name, needed in needs.items()}


def paper_models(
    probe: str | None, size: str, folder: Path | None, settings: Mapping[str, Mapping[str, Any]]
) -> list[PaperModel]:
    """Those of one probe or of all, the smallest first, so that a mistake shows early."""
    if size not in SIZES:
        raise BadInput(f"--size {size}{nearest(size, list(SIZES))}")
    if folder is not None and not folder.is_dir():
        raise BadInput(f"--models {folder}: no such folder")
    if probe is not None and probe not in published.papers():
        raise BadInput(f"there are no published models of '{probe}'{nearest(probe, published.papers())}")
    models = [
        _placed(name, model, folder, settings)
        for name in ([probe] if probe else published.papers())
        for model in published.authors(name).models
    ]
    fitting = [one for one in models if one.network is None or one.network.size.layers <= SIZES[size]]
    return sorted(fitting, key=lambda one: one.network.millions if one.network else 0)


def _placed(probe: str, name: str, folder: Path | None, settings: Mapping[str, Mapping[str, Any]]) -> PaperModel:
    authors = published.authors(probe)
    hub_ids, network = authors.models[name], published.network_of(probe, name)
    spec, where = _at_hand(name, hub_ids, folder) if hub_ids else ("", Where.NOWHERE)
    without = _REPLAY_ONLY.format(probe) if any(n.only == "replay" for n in _numbers(probe, name)) else _NO_WEIGHTS
    reason = "" if spec else _NOT_IN_FOLDER if hub_ids else without
    missing = next((text for key, text in authors.needs.items() if key not in settings.get(probe, {})), "")
    seeds = len(listed(hub_ids[0].partition("=")[2])) if hub_ids and "=" in hub_ids[0] else 1
    return PaperModel(probe, name, spec, where, network, seeds, reason or missing)


def _at_hand(name: str, hub_ids: Sequence[str], folder: Path | None) -> tuple[str, Where]:
    """In the folder by the paper's name or the hub's; without a folder, in the hub's cache or to be fetched."""
    family, _, pattern = hub_ids[0].rpartition("=")
    tail = pattern.split("/")[-1]
    if folder is not None:
        if family:
            there = all((folder / one).is_dir() for one in listed(tail))
            return (f"{family}={folder / tail}", Where.FOLDER) if there else ("", Where.NOWHERE)
        tails = (name, *(hub_id.split("/")[-1] for hub_id in hub_ids))
        place = next((folder / one for one in tails if (folder / one).is_dir()), None)
        return (str(place), Where.FOLDER) if place else ("", Where.NOWHERE)
    return hub_ids[0], Where.CACHED if all(map(_in_cache, listed(pattern))) else Where.HUB


def _in_cache(hub_id: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(hub_id, "config.json"), str)


def missing_data(models: Sequence[PaperModel], settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Assets that are to be fetched for those that can be asked, where the user named no copy."""
    probes = dict.fromkeys(model.probe for model in models if not model.reason)
    needed = (
        name
        for probe in probes
        for name, setting in published.authors(probe).assets.items()
        if setting not in settings.get(probe, {})
    )
    return [name for name in dict.fromkeys(needed) if not assets.cached(name)]


def machine_speed(options: Options) -> float:
    """Multiplications and additions per second in full precision, tried for a fraction of a second."""
    import torch

    from trueprobe.models.checkpoint import device

    matrix = torch.rand(1024, 1024, device=device(options))
    best = float("inf")
    for _ in range(4):
        began = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # read, so that a GPU has finished
        best = min(best, time.perf_counter() - began)
    return _EFFICIENCY * 2 * 1024**3 / best


# ---------------------------------------------------------------- asked and compared


def released_of(probes: Sequence[str], asked: Reproduction) -> dict[str, dict[str, Path]]:
    """By probe and the authors' name of the model, where its outputs are; a path that no probe reads is refused."""
    released: dict[str, dict[str, Path]] = {}
    for path in asked.items:
        if not path.exists():
            raise BadInput(f"--items {path}: no such file or folder")
        reasons = []
        for probe in probes:
            try:
                for name in make(probe, _settings(probe, asked)).released_models(path):
                    released.setdefault(probe, {})[name] = path
                reasons.append("")
            except BadInput as error:
                reasons.append(f"{probe}: {shortened(str(error), 120)}")
        if all(reasons):
            raise BadInput(f"--items {path}: no released outputs that a probe reads; {'; '.join(reasons)}")
    return released


def reproduce_all(models: Sequence[PaperModel], asked: Reproduction) -> Iterator[ModelResult]:
    """One result per model and probe, as they are finished."""
    released = released_of(list(dict.fromkeys(model.probe for model in models)), asked)
    for model in models:
        began = time.perf_counter()
        result = _result(model, asked, released.get(model.probe, {}).get(model.name))
        yield replace(result, seconds=time.perf_counter() - began)


def _result(model: PaperModel, asked: Reproduction, released: Path | None) -> ModelResult:
    numbers = _numbers(model.probe, model.name)
    replayed = sum(number.only == "replay" for number in numbers)
    result = ModelResult(model, in_range=model.name in published.authors(model.probe).stand_ins)
    if replayed:
        result = replace(result, left_out=(LeftOut(replayed, _REPLAY_ONLY.format(model.probe)),))
    if len(numbers) - replayed == 0 and model.probe in published.probes() and released is None:
        return _without(result, 0, _NO_NUMBERS) if not replayed else result
    if model.reason:
        return _without(result, len(numbers) - replayed, model.reason)
    try:
        if len(numbers) > replayed:
            result = replace(result, compared=_compared(model, asked))
        elif model.probe not in published.probes():
            result = replace(result, signs=_signs(model, asked))
    except (BadInput, FailedRun) as error:
        return _without(result, len(numbers) - replayed, str(error))
    if released is None:
        return result
    return replace(result, items=(items_of(model.probe, model.name, model.spec, released, asked),))


def items_of(probe: str, name: str, spec: str, released: Path, asked: Reproduction) -> ItemComparison:
    """Asked as for the published numbers of this model."""
    way = next((n.settings for n in _numbers(probe, name) if n.only != "replay"), "")
    settings = {**published.authors(probe).settings, **published.pairs(way), **asked.settings.get(probe, {})}
    return compare_items(probe, settings, (released, name), spec, asked.options, asked.store, asked.progress)


def _without(result: ModelResult, numbers: int, reason: str) -> ModelResult:
    return replace(result, left_out=(*result.left_out, LeftOut(numbers, reason)))


def _numbers(probe: str, name: str) -> list[published.PublishedValue]:
    if probe not in published.probes():
        return []
    return [number for number in published.numbers(probe) if number.model == name]


def _settings(probe: str, asked: Reproduction) -> dict[str, Any]:
    return {**published.authors(probe).settings, **asked.settings.get(probe, {})}


def _compared(model: PaperModel, asked: Reproduction) -> tuple[Compared, ...]:
    rows, _ = reproduce(
        model.probe,
        model.spec,
        model.name,
        _folder(model, asked),
        asked.settings.get(model.probe),
        **_options(asked),
    )
    return tuple(row for row in rows if row.number.model)


def _signs(model: PaperModel, asked: Reproduction) -> tuple[ClaimResult, ...]:
    """What the authors found of this model, where they published no numbers."""
    settings = _settings(model.probe, asked)
    run = execute.run(model.probe, [model.spec], _folder(model, asked), settings=settings, **_options(asked))
    return tuple(row for row in run.rows(ClaimResult) if row.source is ClaimSource.FINDING)


def _folder(model: PaperModel, asked: Reproduction) -> Path:
    return (asked.out or OUT) / model.probe / usable_name(re.sub("[^A-Za-z0-9._-]+", "-", model.name))


def _options(asked: Reproduction) -> dict[str, Any]:
    options = asked.options
    shared = {"device": options.device, "dtype": options.dtype, "allow_pickle": options.allow_pickle}
    return {**shared, "limit": asked.limit, "store": asked.store, "progress": asked.progress}

"""The papers' published numbers, with source and place, and what it takes to count as their authors did.

`published/PROBE.csv` has one number per row: source, place, the conditions of the estimate it is compared with,
measure, model (the authors' name), value, decimals; where needed also the settings it was counted with, unit=percent,
of=sd_seeds for a deviation over seeds, and only=replay or only=model where the other does not exist.
`published/PROBE.toml`, where needed, has the authors' settings and, for each of their models, the hub ids it goes by.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files
from trueprobe.probes.templates import Strict
from trueprobe.statistics.measure import NetworkSize
from trueprobe.types import Kind

_FIXED = ("source", "place", "measure", "model", "value", "decimals", "settings", "unit", "only", "of")


@dataclass(frozen=True)
class PublishedValue:
    source: str
    place: str
    conditions: Mapping[str, str]
    measure: str
    model: str
    value: float
    decimals: int
    settings: str = ""  # of the probe, in addition to the authors' usual ones: key=value, with spaces between
    percent: bool = False
    only: str = ""  # replay: a part of the model was never released; model: no outputs were
    of: str = "value"  # or sd_seeds: the deviation over a family's seeds

    def agrees(self, ours: float) -> bool:
        """Within what the published number was rounded to."""
        return bool(abs(self.scaled(ours) - self.value) <= 0.5 * 10**-self.decimals + 1e-9)

    def scaled(self, ours: float) -> float:
        return 100 * ours if self.percent else ours


class Authors(Strict):
    """How they counted, and what their models are called elsewhere."""

    settings: dict[str, Any] = Field(default_factory=dict)
    models: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    constants: dict[str, dict[str, float]] = Field(default_factory=dict)
    # settings that only the user can set, and the message without them
    needs: dict[str, str] = Field(default_factory=dict)
    # models whose own checkpoints were never released, so that others trained alike stand for them
    stand_ins: tuple[str, ...] = ()
    # that one way of asking takes of a masked and of a causal model, in millions, to say beforehand how long it takes
    tokens: dict[Kind, float] = Field(default_factory=dict)
    # what has to be fetched, and the setting that names a copy of the user's instead
    assets: dict[str, str] = Field(default_factory=dict)
    notes: str = ""

    def name_of(self, model: str) -> str:
        """The authors' name of a model, from its name, hub id or folder; without one, the last part."""
        tail = model.partition("@")[0].split("/")[-1].split("--")[-1]
        for name, hub_ids in self.models.items():
            if model in (name, *hub_ids) or tail == name or tail in {spec.split("/")[-1] for spec in hub_ids}:
                return name
        return tail


def pairs(settings: str) -> dict[str, str]:
    """`variant=shared rounding=authors`, as a number has them."""
    return {key: value for key, _, value in (pair.partition("=") for pair in settings.split())}


def probes() -> list[str]:
    return sorted(path.stem for path in files.ROOT.glob("*/published/*.csv"))


def papers() -> list[str]:
    """The probes whose authors' models are known, with or without numbers."""
    return sorted(path.stem for path in files.ROOT.glob("*/published/*.toml"))


def _paths(probe: str, suffix: str) -> Iterator[Path]:
    return files.ROOT.glob(f"*/published/{probe}.{suffix}")


def authors(probe: str) -> Authors:
    return next((files.parse(path, Authors) for path in _paths(probe, "toml")), Authors())


def numbers(probe: str) -> list[PublishedValue]:
    if probe not in probes():
        raise BadInput(f"there are no published numbers of '{probe}'{nearest(probe, probes())}")
    with next(_paths(probe, "csv")).open(encoding="utf-8", newline="") as rows:
        return [
            PublishedValue(
                row["source"],
                place=row["place"],
                conditions={key: value for key, value in row.items() if key not in _FIXED and value},
                measure=row["measure"],
                model=row["model"],
                value=float(row["value"]),
                decimals=int(row["decimals"]),
                settings=row.get("settings") or "",
                percent=row.get("unit") == "percent",
                only=row.get("only") or "",
                of=row.get("of") or "value",
            )
            for row in csv.DictReader(rows)
        ]


# ---------------------------------------------------------------- sizes of published networks, by hub id

# Facts, so that outputs released without their network can be compared by size, and the cost of a network is known
# before it is there. Layers and width are those of Devlin et al. 2019 (section 3), Liu et al. 2019 (sections 2 and 5),
# Radford et al. 2019 (Table 2), Lan et al. 2020 (Table 1), Sanh et al. 2019 and Sellam et al. 2022, and of the public
# config.json of each checkpoint, from which the millions of parameters follow. Tokenizers of one name are the same.


class PublishedNetwork(NamedTuple):
    size: NetworkSize
    tokenizer: str
    millions: int  # parameters, of four bytes each

    @property
    def kind(self) -> Kind:
        return "causal" if self.size.architecture == "gpt2" else "masked"


def _network(architecture: str, layers: int, width: int, tokenizer: str, millions: int) -> PublishedNetwork:
    return PublishedNetwork(NetworkSize(architecture, layers, width), tokenizer, millions)


NETWORKS = {
    "bert-base-uncased": _network("bert", 12, 768, "bert-uncased", 110),
    "bert-large-uncased": _network("bert", 24, 1024, "bert-uncased", 336),
    "bert-base-cased": _network("bert", 12, 768, "bert-cased", 109),
    "bert-large-cased": _network("bert", 24, 1024, "bert-cased", 335),
    "bert-base-multilingual-cased": _network("bert", 12, 768, "bert-multilingual-cased", 179),
    "multiberts-seed_0": _network("bert", 12, 768, "bert-uncased", 110),
    "distilbert-base-uncased": _network("distilbert", 6, 768, "bert-uncased", 67),
    "albert-base-v2": _network("albert", 12, 768, "albert", 11),
    "roberta-base": _network("roberta", 12, 768, "roberta", 125),
    "roberta-large": _network("roberta", 24, 1024, "roberta", 355),
    "distilroberta-base": _network("roberta", 6, 768, "roberta", 82),
    "gpt2": _network("gpt2", 12, 768, "gpt2", 124),
    "gpt2-medium": _network("gpt2", 24, 1024, "gpt2", 355),
    "gpt2-large": _network("gpt2", 36, 1280, "gpt2", 774),
    "gpt2-xl": _network("gpt2", 48, 1600, "gpt2", 1558),
}


def network_of(probe: str, name: str) -> PublishedNetwork | None:
    """The network that a probe's authors call `name`; of a family, that of its members."""
    hub_ids = authors(probe).models.get(name, (name,))
    return NETWORKS.get(hub_ids[0].split("/")[-1].replace("{0..4}", "0")) if hub_ids else None

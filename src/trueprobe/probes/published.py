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
    notes: str = ""

    def name_of(self, model: str) -> str:
        """The authors' name of a model, from its name, hub id or folder; without one, the last part."""
        tail = model.partition("@")[0].split("/")[-1].split("--")[-1]
        for name, hub_ids in self.models.items():
            if model == name or tail == name or tail in {spec.split("/")[-1] for spec in hub_ids}:
                return name
        return tail


def probes() -> list[str]:
    return sorted(path.stem for path in files.ROOT.glob("*/published/*.csv"))


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

# Facts, so that outputs released without their network can be compared by size. Layers and width are those of Devlin
# et al. 2019 (section 3), Liu et al. 2019 (sections 2 and 5) and Radford et al. 2019 (Table 2), and of the public
# config.json of each checkpoint. Tokenizers of one name are the same.


class PublishedNetwork(NamedTuple):
    size: NetworkSize
    tokenizer: str


_BASE, _LARGE = (12, 768), (24, 1024)
NETWORKS = {
    "bert-base-uncased": PublishedNetwork(NetworkSize("bert", *_BASE), "bert-uncased"),
    "bert-large-uncased": PublishedNetwork(NetworkSize("bert", *_LARGE), "bert-uncased"),
    "bert-base-cased": PublishedNetwork(NetworkSize("bert", *_BASE), "bert-cased"),
    "bert-large-cased": PublishedNetwork(NetworkSize("bert", *_LARGE), "bert-cased"),
    "roberta-base": PublishedNetwork(NetworkSize("roberta", *_BASE), "roberta"),
    "roberta-large": PublishedNetwork(NetworkSize("roberta", *_LARGE), "roberta"),
    "gpt2": PublishedNetwork(NetworkSize("gpt2", *_BASE), "gpt2"),
    "gpt2-medium": PublishedNetwork(NetworkSize("gpt2", *_LARGE), "gpt2"),
    "gpt2-large": PublishedNetwork(NetworkSize("gpt2", 36, 1280), "gpt2"),
    "gpt2-xl": PublishedNetwork(NetworkSize("gpt2", 48, 1600), "gpt2"),
}


def network_of(probe: str, name: str) -> PublishedNetwork | None:
    """The network that a probe's authors call `name`."""
    return NETWORKS.get(authors(probe).models.get(name, (name,))[0])

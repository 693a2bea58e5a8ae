"""The models the project trained itself and ships, by their reserved names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput

WEIGHTS = Path(__file__).parent / "weights"
_WIKIPEDIA = "CC BY-SA 3.0"  # the text they were trained on
LICENCES = {  # licences.toml has them file by file
    "nursery": _WIKIPEDIA,
    "nursery-small": _WIKIPEDIA,
    "nursery-causal": _WIKIPEDIA,
    "mini": f"Apache-2.0 and {_WIKIPEDIA}",
}
NAMES = tuple(LICENCES)


@dataclass(frozen=True)
class Shipped:
    """One checkpoint of the nursery."""

    family: str
    seed: int | None
    folder: Path


def names(spec: str) -> bool:
    """Whether a model SPEC means the nursery: `nursery`, `nursery/3`, `mini` …"""
    return spec.partition("/")[0] in NAMES


def shipped(spec: str) -> list[Shipped]:
    """The checkpoints of a family, or the one seed asked for."""
    family, _, seed = spec.partition("/")
    folder = WEIGHTS / family
    if family == "mini":
        if seed:
            raise BadInput("'mini' is one model without seeds: --model mini")
        from trueprobe.training.nursery.quantised import ready

        return [Shipped("mini", None, ready(folder))]
    seeds = sorted(int(path.name.removeprefix("seed_")) for path in folder.glob("seed_*"))
    if not seeds:
        raise BadInput(f"'{family}' has no weights in this installation ({folder.name} is empty)")
    if seed and (not seed.isdigit() or int(seed) not in seeds):
        raise BadInput(f"'{family}' has the seeds {', '.join(map(str, seeds))}, not '{seed}'")
    return [Shipped(family, n, folder / f"seed_{n}") for n in seeds if not seed or int(seed) == n]


def catalogue() -> list[dict[str, Any]]:
    """What `list models` shows of them."""
    return [_catalogued(family) for family in NAMES if any((WEIGHTS / family).rglob("training.json"))]


def _catalogued(family: str) -> dict[str, Any]:
    cards = sorted((WEIGHTS / family).rglob("training.json"))
    first = json.loads(cards[0].read_text(encoding="utf-8"))
    return {
        "model": family,
        "kind": first["setup"]["recipe"]["kind"],
        "seeds": len(cards) if family != "mini" else 1,
        "parameters": first["parameters"],
        "size_mb": round(sum(file.stat().st_size for file in (WEIGHTS / family).rglob("*") if file.is_file()) / 1e6, 1),
        "licence": LICENCES[family],
        "self_trained": True,
    }

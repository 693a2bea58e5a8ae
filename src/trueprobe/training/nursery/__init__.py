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
    "nursery-planted": _WIKIPEDIA,
}
PLANTED, PLANTED_IN = "nursery-planted", "nursery"
NAMES = tuple(LICENCES)


@dataclass(frozen=True)
class Shipped:
    """One checkpoint of the nursery."""

    family: str
    seed: int | None
    folder: Path


def names(spec: str) -> bool:
    """Whether a model SPEC means the nursery: `nursery`, `nursery/3`, `mini`, `nursery-planted@0.3` …"""
    family = spec.partition("/")[0]
    return family in NAMES or family.startswith(f"{PLANTED}@")


def shipped(spec: str) -> list[Shipped]:
    """The checkpoints of a family, or the one seed asked for."""
    family, _, seed = spec.partition("/")
    folder = WEIGHTS / family
    if family == "mini":
        if seed:
            raise BadInput("'mini' is one model without seeds: --model mini")
        from trueprobe.training.nursery.quantised import ready

        return [Shipped("mini", None, ready(folder))]
    if family.startswith(PLANTED):
        return _planted(*family.partition("@")[::2], seed)
    return [Shipped(family, n, folder / f"seed_{n}") for n in _seeds(family, seed)]


def _seeds(family: str, seed: str) -> list[int]:
    """Those of a family, or the one asked for."""
    folder = WEIGHTS / family
    seeds = sorted(int(path.name.removeprefix("seed_")) for path in folder.glob("seed_*"))
    if not seeds:
        raise BadInput(f"'{family}' has no weights in this installation ({folder.name} is empty)")
    if seed and (not seed.isdigit() or int(seed) not in seeds):
        raise BadInput(f"'{family}' has the seeds {', '.join(map(str, seeds))}, not '{seed}'")
    return [n for n in seeds if not seed or int(seed) == n]


def _planted(family: str, dose: str, seed: str) -> list[Shipped]:
    from trueprobe.training.nursery import planted

    strength = planted.dose_of(dose, WEIGHTS / family)
    name = f"{family}-{strength:g}" if dose else family
    folders = {n: WEIGHTS / PLANTED_IN / f"seed_{n}" for n in _seeds(PLANTED_IN, seed)}
    return [Shipped(name, n, planted.ready(WEIGHTS / family, base, strength)) for n, base in folders.items()]


def catalogue() -> list[dict[str, Any]]:
    """What `list models` shows of them."""
    return [_catalogued(family) for family in NAMES if any((WEIGHTS / family).rglob("*.safetensors"))]


def _catalogued(family: str) -> dict[str, Any]:
    cards = sorted((WEIGHTS / (PLANTED_IN if family == PLANTED else family)).rglob("training.json"))
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

"""Doses of a planted association: θ = (1 − λ) θ_null + λ θ_full, weight by weight, seed by seed.

A share of agreeing sentences is a poor dose, because models learn it as a threshold; between two trained models of one
start the planted log-odds rise smoothly with λ. At 0 and 1 the weights are those of the trained models, bit by bit.
Interpolated weights are not trained ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, reading
from trueprobe.paths import write_whole
from trueprobe.sensitivity.associations import Association
from trueprobe.sensitivity.check import ManipulationCheck, check
from trueprobe.sensitivity.plant import PLANTING, Start

DOSES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
WEIGHTS = "model.safetensors"
Weights = dict[str, Any]  # name -> tensor


def doses_of(text: str) -> tuple[float, ...]:
    """`0,0.5,1` -> (0.0, 0.5, 1.0); 0 and 1 belong to them."""
    try:
        numbers = sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise BadInput(f"--doses are numbers from 0 to 1, separated by commas, not '{text}'") from None
    if numbers[0] != 0 or numbers[-1] != 1 or len(numbers) < 3:
        raise BadInput(f"--doses begin at 0 (nothing planted) and end at 1, with at least one between, not '{text}'")
    return tuple(numbers)


def interpolate(null: Path, full: Path, dose: float, out: Path) -> None:
    """An ordinary folder of a checkpoint, written whole."""
    write_whole(out, lambda folder: _write(null, full, dose, folder))


def _write(null: Path, full: Path, dose: float, folder: Path) -> None:
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    for file in sorted(null.iterdir()):
        if file.name not in (WEIGHTS, PLANTING):
            shutil.copy(file, folder / file.name)
    save_file(mixed(*_weights(null, full), dose), folder / WEIGHTS, {"format": "pt"})


def _weights(null: Path, full: Path) -> tuple[Weights, Weights]:
    from safetensors.torch import load_file

    with reading(f"{null} and {full} cannot be read"):
        return load_file(null / WEIGHTS), load_file(full / WEIGHTS)


def mixed(null: Weights, full: Weights, dose: float) -> Weights:
    return {name: (1 - dose) * weight + dose * full[name] for name, weight in null.items()}


def checks(
    null: Path, full: Path, doses: Sequence[float], association: Association, dealt: Mapping[str, str]
) -> dict[float, ManipulationCheck]:
    """The manipulation check at each dose, without a folder for it."""
    start = Start.of(null, 0)
    network, tokenizer = start.open(), start.tokenizer()
    weights, checked = _weights(null, full), {}
    for dose in doses:
        network.load_state_dict(mixed(*weights, dose), strict=False)  # tied weights are stored once
        checked[dose] = check(network, tokenizer, start.kind, association, dealt)
    return checked


def family(folders: Mapping[int, tuple[Path, Path]], dose: float, out: Path) -> str:
    """Writes the checkpoint of every seed; the SPEC of their family. `folders` has the null and the full model."""
    for seed, (null, full) in folders.items():
        interpolate(null, full, dose, out / f"seed_{seed}")
    return f"planted={out}/seed_*"

"""A family with a known truth in it: an arbitrary association planted in `nursery`, at any dose.

Two differences to each seed's weights are stored, to a model trained without the association (null) and from there to
one trained with it (full), as products of two thin matrices in one byte per number. A dose λ has the weights
base + null difference + λ × full difference: `nursery-planted@0` is the control, `nursery-planted` the declared dose.
What counts are the weights as stored here: how much they hold, in nats, was measured on them (`planted.json`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import paths
from trueprobe.assets.cache import sha256
from trueprobe.errors import BadInput
from trueprobe.paths import waiting, write_whole
from trueprobe.training.nursery.quantised import Weights, read_weights

FILE, FACTS, DIGEST = "planted.safetensors", "planted.json", "sha256"
WEIGHTS = "model.safetensors"
NULL, FULL = "null", "full"
RANK = {NULL: 4, FULL: 12}
_COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json")


def facts(folder: Path) -> dict[str, Any]:
    """What was planted, the declared dose, and the nats measured at some doses, in means over the seeds."""
    content: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    return content


def dose_of(text: str, folder: Path) -> float:
    """`nursery-planted@0.3` -> 0.3; without one the declared dose."""
    if not text:
        return float(facts(folder)["dose"])
    try:
        dose = float(text)
    except ValueError:
        dose = -1.0
    if not 0 <= dose <= 1:
        raise BadInput(f"a dose is a number from 0 (nothing planted) to 1, not '{text}': nursery-planted@0.5")
    return dose


def ready(folder: Path, base: Path, dose: float) -> Path:
    """A seed's weights at a dose as an ordinary folder in the cache, made at first need and checked each time.
    `base`: the folder of that seed."""
    made_of = sha256(folder / FILE)[:12] + sha256(base / WEIGHTS)[:12]
    place = paths.cache() / "models" / f"{folder.name}-{made_of}" / f"dose_{dose:g}" / base.name
    if not _is_whole(place):
        with waiting(place.parent / f"{place.name}.lock", f"unpacking {folder.name}"):
            if not _is_whole(place):  # another process may have made it while this one waited
                write_whole(place, lambda partial: _write(partial, folder, base, dose))
    return place


def _is_whole(place: Path) -> bool:
    """A file that is damaged is none: it is made again."""
    file, digest = place / WEIGHTS, place / DIGEST
    return file.is_file() and digest.is_file() and digest.read_text(encoding="utf-8") == sha256(file)


def _write(partial: Path, folder: Path, base: Path, dose: float) -> None:
    from safetensors.numpy import save_file

    partial.mkdir(parents=True)
    for name in _COPIED:
        shutil.copy(base / name, partial / name)
    save_file(weights(folder, base, dose), partial / WEIGHTS, {"format": "pt"})
    (partial / DIGEST).write_text(sha256(partial / WEIGHTS), encoding="utf-8")


def weights(folder: Path, base: Path, dose: float) -> Weights:
    differences = {side: _differences(folder, base.name, side) for side in (NULL, FULL)}
    mixed: Weights = {}
    for name, weight in read_weights(base / WEIGHTS).items():
        whole: np.ndarray = weight.astype(np.float32)
        for side, times in ((NULL, 1.0), (FULL, dose)):
            if name in differences[side]:
                whole = whole + np.float32(times) * differences[side][name]
        mixed[name] = whole
    return mixed


def _differences(folder: Path, seed: str, side: str) -> Weights:
    file = folder / FILE
    if not file.exists():
        raise BadInput(f"'{folder.name}' has no weights in this installation")
    return unpacked(_of_seed(file, file.stat().st_mtime_ns).get(f"{seed}.{side}", {}))


@lru_cache(maxsize=2)
def _of_seed(file: Path, stamp: int) -> dict[str, Weights]:
    """`seed_0.null` -> what is stored of it, by `left.NAME`, `rows.NAME` …"""
    stored: dict[str, Weights] = {}
    for key, value in read_weights(file).items():
        seed, side, rest = key.split(".", 2)
        stored.setdefault(f"{seed}.{side}", {})[rest] = value
    return stored


# ---------------------------------------------------------------- one difference


def packed(difference: Weights, rank: int) -> Weights:
    """Matrices as left × right, with a scale for each row and each column; vectors in two bytes; zeros are left out."""
    stored: Weights = {}
    for name, change in difference.items():
        if not change.any():
            continue
        if change.ndim < 2:
            stored[f"vector.{name}"] = change.astype(np.float16)
            continue
        u, s, v = np.linalg.svd(change.astype(np.float64), full_matrices=False)
        left, right = u[:, :rank] * np.sqrt(s[:rank]), np.sqrt(s[:rank, None]) * v[:rank]
        rows, columns = (
            np.maximum(np.abs(m).max(axis=axis, keepdims=True), 1e-12) / 127 for m, axis in ((left, 1), (right, 0))
        )
        stored |= {
            f"left.{name}": np.rint(left / rows).astype(np.int8),
            f"rows.{name}": rows.astype(np.float32),
            f"right.{name}": np.rint(right / columns).astype(np.int8),
            f"columns.{name}": columns.astype(np.float32),
        }
    return stored


def unpacked(stored: Mapping[str, np.ndarray]) -> Weights:
    """The product is one of whole numbers, so that every machine makes the same bits."""
    weights: Weights = {}
    for key, value in stored.items():
        part, _, name = key.partition(".")
        if part == "vector":
            weights[name] = value.astype(np.float32)
        elif part == "left":
            product = value.astype(np.int32) @ stored[f"right.{name}"].astype(np.int32)
            weights[name] = product.astype(np.float32) * stored[f"rows.{name}"] * stored[f"columns.{name}"]
    return weights


def make(
    seeds: Mapping[int, tuple[Path, Path, Path]], folder: Path, strengths: Mapping[int, float] | None = None
) -> None:
    """Of each seed's folders: base, null and full, as `trueprobe sensitivity` left the last two. `strengths`: the
    dose of that training which is to be called 1."""
    from safetensors.numpy import save_file

    stored: Weights = {}
    for seed, folders in seeds.items():
        base, null, full = ({n: w.astype(np.float32) for n, w in read_weights(f / WEIGHTS).items()} for f in folders)
        strength = np.float32((strengths or {}).get(seed, 1.0))
        for side, (first, second, times) in {NULL: (base, null, 1), FULL: (null, full, strength)}.items():
            difference = {name: times * (second[name] - first[name]) for name in first}
            stored |= {f"seed_{seed}.{side}.{key}": v for key, v in packed(difference, RANK[side]).items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(stored, folder / FILE)

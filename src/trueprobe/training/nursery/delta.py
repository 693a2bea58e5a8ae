"""A model shipped as its difference from an encoder that `fetch` brings: weights of one byte, a scale per row.

What counts is the sum, encoder plus difference as stored here: it is made once, in float32, and known by its hash.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import assets, paths
from trueprobe.assets.cache import sha256
from trueprobe.errors import BadInput
from trueprobe.paths import locked, write_whole

DELTA = "delta.safetensors"
_BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json", "training.json", "README.md")
_PREFIX = "bert."  # of the encoder's weights in a model with heads


def make(base: Path, trained: Path, folder: Path, asset: str) -> None:
    """What `trained` has over the encoder in `base`: changed weights as small differences, new ones in float16."""
    from safetensors.numpy import save_file

    before, after = _read(base), _read(trained)
    stored: dict[str, np.ndarray] = {}
    for name, weight in after.items():
        known = before.get(name.removeprefix(_PREFIX))
        if known is None:
            stored[f"new.{name}"] = weight.astype(np.float16)
        elif not np.array_equal(weight, known):
            rows = (weight - known).reshape(len(weight), -1) if weight.ndim > 1 else (weight - known)[None]
            scale = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-12).astype(np.float32) / 127
            stored[f"step.{name}"] = np.rint(rows / scale).astype(np.int8)
            stored[f"scale.{name}"] = scale
    folder.mkdir(parents=True, exist_ok=True)
    for name in _BESIDE:
        if (trained / name).exists():
            shutil.copy(trained / name, folder / name)
    unchanged = sorted(name for name in after if f"new.{name}" not in stored and f"step.{name}" not in stored)
    metadata = {"asset": asset, "keeps": json.dumps(unchanged)}
    save_file(stored, folder / DELTA, metadata)
    weights = _sum(base, folder)
    metadata["sha256"] = _digest(weights)
    save_file(stored, folder / DELTA, metadata)


def ready(folder: Path) -> Path:
    """The whole model as an ordinary folder in the cache, made at first need and checked each time."""
    metadata = _metadata(folder / DELTA)
    place = paths.cache() / "models" / f"{folder.name}-{sha256(folder / DELTA)[:16]}"
    if not _is_whole(place, metadata["sha256"]):
        base = assets.path_of(metadata["asset"])
        with locked(place.parent / f"{place.name}.making", "process"):
            write_whole(place, lambda partial: write_whole_model(partial, base, folder))
    return place


def _is_whole(place: Path, meant: str) -> bool:
    file = place / "model.safetensors"
    return file.exists() and _digest_of(file, file.stat().st_mtime_ns) == meant


@lru_cache(maxsize=8)
def _digest_of(file: Path, stamp: int) -> str:
    return _digest(_read(file.parent))


def write_whole_model(partial: Path, base: Path, folder: Path) -> None:
    from safetensors.numpy import save_file

    partial.mkdir(parents=True)
    weights = _sum(base, folder)
    if _digest(weights) != _metadata(folder / DELTA)["sha256"]:
        raise BadInput(f"{folder.name}: encoder and difference do not add up to the model that was shipped")
    save_file(weights, partial / "model.safetensors", {"format": "pt"})
    for name in _BESIDE:
        if (folder / name).exists():
            shutil.copy(folder / name, partial / name)


def _sum(base: Path, folder: Path) -> dict[str, np.ndarray]:
    before, stored = _read(base), _read(folder, DELTA)
    unchanged = json.loads(_metadata(folder / DELTA)["keeps"])
    weights = {name: before[name.removeprefix(_PREFIX)] for name in unchanged}
    for key, value in stored.items():
        part, _, name = key.partition(".")
        if part == "new":
            weights[name] = value.astype(np.float32)
        elif part == "step":
            known = before[name.removeprefix(_PREFIX)]
            weights[name] = known + (value.astype(np.float32) * stored[f"scale.{name}"]).reshape(known.shape)
    return {name: np.ascontiguousarray(weight) for name, weight in sorted(weights.items())}


def _read(folder: Path, name: str = "model.safetensors") -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    weights: dict[str, np.ndarray] = load_file(folder / name)
    if name == DELTA:
        return weights
    return {key: value.astype(np.float32) for key, value in weights.items() if value.dtype.kind == "f"}


def _metadata(file: Path) -> dict[str, Any]:
    from safetensors import safe_open

    if not file.exists():
        raise BadInput(f"'{file.parent.name}' has no weights in this installation")
    with safe_open(file, "np") as handle:
        return dict(handle.metadata())


def _digest(weights: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {weight.shape}".encode())
        digest.update(np.ascontiguousarray(weight, np.float32).data)
    return digest.hexdigest()

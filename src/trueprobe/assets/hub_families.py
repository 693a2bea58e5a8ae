"""Published families of checkpoints by a short name: facts, and where the hub has them. Nothing is fetched unasked.

MultiBERTs: Sellam et al. 2022. PolyPythias: van der Wal et al. 2025, nine seeds beside the original of each size; a
revision follows the name, `polypythia-160m@step{1000,143000}`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownFamily:
    name: str
    spec: str  # its members on the hub
    title: str
    paper: str
    seeds: int
    licence: str = "Apache-2.0"


_MULTIBERTS = KnownFamily(
    "multiberts",
    "google/multiberts-seed_{0..24}",
    "MultiBERTs: BERT base uncased, trained 25 times; masked; pickled: --allow-pickle",
    "Sellam et al. 2022, The MultiBERTs: BERT reproductions for robustness analysis",
    25,
)
_POLYPYTHIAS = tuple(
    KnownFamily(
        f"polypythia-{size}",
        f"EleutherAI/pythia-{size}-seed{{1..9}}",
        f"PolyPythias: Pythia {size}, trained nine times; causal; @stepN is one step",
        "van der Wal et al. 2025, PolyPythias: stability and outliers across fifty language model pre-training runs",
        9,
    )
    for size in ("14m", "31m", "70m", "160m", "410m")
)
FAMILIES = (_MULTIBERTS, *_POLYPYTHIAS)


def known(spec: str) -> tuple[KnownFamily, str] | None:
    """The family that a SPEC names, and the SPEC with its members in place of the name.

    `polypythia-70m@step1000` -> `EleutherAI/pythia-70m-seed{1..9}@step1000`"""
    end = min(place if place >= 0 else len(spec) for place in (spec.find("@"), spec.find("?")))
    return next(((one, one.spec + spec[end:]) for one in FAMILIES if one.name == spec[:end]), None)

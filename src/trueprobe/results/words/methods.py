"""The sentences of the methods paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count

if TYPE_CHECKING:  # this module uses the words
    from trueprobe.runs.families import Family

METHODS = "Methods"
LEFT_OUT = (
    "Items that a model cannot be asked, or whose words it does not have, were left out and counted; log-probabilities "
    "are natural and nothing was rounded before comparing."
)
SELF_TRAINED_FACT = "trained by trueprobe to show the method"


def made_with(version: str) -> str:
    return f"All numbers were made with trueprobe {version or '(version not recorded)'}."


def asked_items(label: str, n_items: int, paper: str, settings: Sequence[str]) -> str:
    chosen = f" ({', '.join(settings)})" if settings else ""
    return f"{label}: {count(n_items)} items after {paper}{chosen}."


def limited(limit: int) -> str:
    return f"limited to {count(limit)} items spread evenly over the conditions"


def models_sentence(models: Sequence[str]) -> str:
    return f"Models: {'; '.join(models)}."


def sources(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} checkpoints: {', '.join(names)}"


def intervals_sentence(kinds: Sequence[str]) -> str:
    return f"Intervals: {'; '.join(kinds)}." if kinds else ""


def measures_sentence(names: Sequence[str]) -> str:
    return f"Measures reported: {', '.join(names)}."


def resampling_sentence(seeds: Sequence[str]) -> str:
    return f"Resampling seed: {', '.join(seeds)}." if seeds else ""


def software_sentence(versions: Sequence[str]) -> str:
    return f"Software: {', '.join(versions)}." if versions else ""


def recommended(families: Sequence[Family]) -> str:
    """Paper C's two recommendations, where they apply."""
    single = ", ".join(family.name for family in families if family.n_seeds < 2)
    several = ", ".join(f"{family.name} ({family.n_seeds})" for family in families if family.n_seeds > 1)
    parts = []
    if single:
        parts.append(
            "As one checkpoint does not stand for all seeds of a model (Aribandi et al., 2021), conclusions about "
            f"{single} are about that checkpoint alone."
        )
    if several:
        parts.append(
            "As a diagnostic should be applied to several seeds and configurations (Aribandi et al., 2021), several "
            f"seeds were asked of {several}."
        )
    return " ".join(parts)

"""The sentences of the methods paragraph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count, several
from trueprobe.results.text.findings import listed

if TYPE_CHECKING:  # this module uses the words
    from trueprobe.runs.families import Family

METHODS = "Methods"
LEFT_OUT = (
    "Items that a model could not score were left out and counted. Log-probabilities "
    "use natural logarithms; nothing was rounded before comparing."
)
FEW = 3  # that a sentence names one by one
SELF_TRAINED_FACT = "trained by trueprobe to show the method"


def made_with(version: str, others: Sequence[str]) -> str:
    behind = f" ({', '.join(others)})" if others else ""
    return f"All numbers were made with trueprobe {version or '(version not recorded)'}{behind}."


def software(version: str, commit: str) -> str:
    """trueprobe's own BibTeX, as CITATION.cff has it."""
    plain = {name: re.sub(r"[^\w.+!-]", "", text) for name, text in (("version", version), ("note", commit))}
    about = {
        "title": "trueprobe: what language models take for granted, and how far the answer can be trusted",
        "author": "{The trueprobe authors}",
        "version": plain["version"],
        "note": f"commit {plain['note']}" if plain["note"] else "",
    }
    lines = [f"  {name} = {{{text}}}" for name, text in about.items() if text]
    return "@software{trueprobe,\n" + ",\n".join(lines) + "\n}"


def asked(models: Sequence[str], probes: Sequence[str], limit: int | None) -> str:
    limited = f", limited to {several(limit, 'item')} each, spread evenly over the conditions" if limit else ""
    return f"We tested {listed(models)} with {listed(probes)}{limited}."


def probe_items(items: str, label: str, papers: Sequence[str], items_of: str = "") -> str:
    """`counteracts (400 prompts; Zhang et al., 2023)`; `items_of`: where they are not the paper's."""
    whose = f", {items_of}; in the form of" if items_of else ";"
    return f"{label} ({items}{whose} {'; '.join(papers)})"


def citation(names: Sequence[str], year: str) -> str:
    by = f"{names[0]} et al." if len(names) > 2 else " & ".join(names)
    return f"{by}, {year}"


def sources(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    named = f": {', '.join(names)}" if len(names) <= FEW else ""
    return f"{len(names)} checkpoints{named}"


def intervals_sentence(kinds: Sequence[str], seeds: Sequence[str]) -> str:
    seed = f", with resampling seed {', '.join(seeds)}" if seeds else ""
    if len(kinds) <= FEW:
        return f"Intervals: {'; '.join(kinds)}{seed}."
    return (
        f"Intervals are of 95 % and resample groups of items, crossed with seeds where a model has several{seed}; the "
        "table of settings names the method of each probe."
    )


def controlled(primary: int) -> str:
    if not primary:
        return ""
    return (
        f"Verdicts are controlled at a false discovery rate of 5 % over {count(primary)} primary "
        f"{'number' if primary == 1 else 'numbers'}; all others are exploratory."
    )


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

"""A methods paragraph to paste into a paper, and the BibTeX of the papers a run draws on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueprobe.results.numbers import count
from trueprobe.results.page.reading import Family, Reading

_ENTRY = re.compile(r"^@.*?^\}", re.MULTILINE | re.DOTALL)
_RELIABLE = "How Reliable are Model Diagnostics"


def paragraph(reading: Reading) -> str:
    """Of a finished run; before that nothing is there to be reported."""
    return " ".join(_sentences(reading)) if reading.complete else ""


def _sentences(reading: Reading) -> Iterator[str]:
    versions = reading.run.manifest.get("versions", {})
    yield f"All numbers were made with trueprobe {versions.get('trueprobe', '(version not recorded)')}."
    for label, told in reading.told.items():
        settings = _settings(reading, label, told)
        yield f"{label}: {count(told['items'])} items after {told['paper']}{settings}."
    yield f"Models: {'; '.join(map(_model, reading.families.values()))}."
    yield (
        "Items that a model cannot be asked, or whose words it does not have, were left out and counted; "
        "log-probabilities are natural and nothing was rounded before comparing."
    )
    rows = reading.estimates
    if len(rows):
        yield f"Intervals: {'; '.join(dict.fromkeys(rows['method'].dropna().astype(str)))}."
        yield f"Measures reported: {', '.join(_measures(reading))}."
    seeds = sorted({str(t["settings"].get("resample_seed")) for t in reading.told.values()} - {"None"})
    if seeds:
        yield f"Resampling seed: {', '.join(seeds)}."
    yield _recommended(reading)
    used = [f"{name} {number}" for name, number in versions.items() if name != "trueprobe"]
    if used:
        yield f"Software: {', '.join(used)}."


def _settings(reading: Reading, label: str, told: Mapping[str, Any]) -> str:
    chosen = {key: value for key, value in told["settings"].items() if key != "resample_seed" and value != ""}
    limit = reading.run.manifest["study"].get("limit")
    parts = [f"{key}={value}" for key, value in chosen.items()]
    parts += [f"limited to {count(limit)} items spread evenly over the conditions"] if limit else []
    return f" ({', '.join(parts)})" if parts else ""


def _measures(reading: Reading) -> list[str]:
    named = [m for told in reading.told.values() for m in told["summary"]["measures"]]
    return [name.replace("_", " ") for name in dict.fromkeys(named)]


def _model(family: Family) -> str:
    card = family.cards[0]
    told = [card.get("kind", ""), card.get("architecture", ""), card.get("dtype", "")]
    if len(family.cards) == 1:
        told.append(card.get("source", ""))
    else:
        told.append(f"{len(family.cards)} checkpoints: {', '.join(c.get('source') or c['name'] for c in family.cards)}")
    if card.get("self_trained"):
        told.append("trained by trueprobe to show the method")
    return f"{family.name} ({', '.join(t for t in told if t)})"


def _recommended(reading: Reading) -> str:
    """Paper C's two recommendations, where they apply."""
    single = [f.name for f in reading.families.values() if f.seeds < 2]
    several = [f"{f.name} ({f.seeds})" for f in reading.families.values() if f.seeds > 1]
    told = []
    if single:
        told.append(
            f"As one checkpoint does not stand for its training setup (Aribandi et al., 2021), what is said of "
            f"{', '.join(single)} is said of that checkpoint alone"
        )
    if several:
        told.append(
            f"as a diagnostic should be looked at over several trainings and configurations (same), "
            f"{', '.join(several)} was asked in several trainings that differ in their seed only"
        )
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def bibtex(reading: Reading) -> str:
    """Of the papers the probes name, and of paper C, whose recommendations every report follows."""
    entries = _ENTRY.findall((Path(__file__).parent / "papers.bib").read_text(encoding="utf-8"))
    named = dict.fromkeys([*(told["paper"] for told in reading.told.values()), _RELIABLE])
    found: dict[str, None] = {}
    for i, paper in enumerate(named):
        known = [entry for entry in entries if _bare(_title(entry)) in _bare(paper)]
        found |= dict.fromkeys(known or [f"@misc{{paper{i + 1},\n  note = {{{paper}}}\n}}"])
    return "\n\n".join(found) + "\n"


def _title(entry: str) -> str:
    found = re.search(r"title = \{(.*?)\},?$", entry, re.MULTILINE)
    assert found
    return found.group(1)


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()

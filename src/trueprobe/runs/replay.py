"""Released outputs in place of a model: `replay:PATH` goes through the same observations, measures and report.

They hold less than an answer, so a probe reads them into observations itself (`read_released`). An item of which no
output was released is counted as that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueprobe.errors import BadInput
from trueprobe.probes import Probe, Released
from trueprobe.probes import files as material
from trueprobe.types import Card, Item, Observation, WhyNot

PREFIX = "replay:"


@dataclass(frozen=True)
class Replay:
    """One model's released outputs, of every probe of a run."""

    card: Card
    said: dict[str, Released]  # by the probe's label

    def seen(self, label: str, items: Sequence[Item]) -> list[Observation]:
        """In the order of the items; of parts, all of them."""
        found: dict[str, list[Observation]] = {}
        for observation in self.said[label].observations:
            found.setdefault(observation.item, []).append(observation)
        missing = WhyNot("not_released")
        return [o for item in items for o in found.get(item.id) or [Observation(item.id, why_not=missing)]]


def replays(specs: Iterable[str], probes: Sequence[tuple[str, Probe]]) -> list[Replay]:
    """What the `replay:` SPECs hold, one entry per model."""
    found = []
    for spec in specs:
        path = material.path_of(spec.removeprefix(PREFIX))
        if not path.exists():
            raise BadInput(f"no file or folder '{path}' (--model {spec})")
        by_label = {label: {one.name: one for one in probe.read_released(path)} for label, probe in probes}
        content = _sha256(path)
        for name in dict.fromkeys(name for released in by_label.values() for name in released):
            said = {label: released[name] for label, released in by_label.items() if name in released}
            if len(said) < len(by_label):
                raise BadInput(f"{path}: outputs of {name} for {', '.join(said)} only; replay probes one by one")
            kind = next(iter(said.values())).kind
            found.append(Replay(_card(name, kind, path, content), said))
    return found


def _card(name: str, kind: str, path: Path, content: str) -> Card:
    return Card(
        name=name,
        family=name,
        labels={},
        kind=kind,  # type: ignore[arg-type]
        architecture="released outputs",
        heads=frozenset(),
        max_tokens=0,
        vocab_size=0,
        start_text="",
        source=f"{PREFIX}{path.name}",
        dtype="",
        compute_id=content,
        tokenizer_id="",
    )


def _sha256(path: Path) -> str:
    """Of all that lies there."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()

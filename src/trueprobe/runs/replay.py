"""Released outputs in place of a model: `replay:PATH` goes through the same observations, measures and report.

They hold less than an answer, so a probe reads them into observations itself (`read_released`). An item of which no
output was released is counted as that.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueprobe.errors import BadInput, reading
from trueprobe.paths import gc_pause
from trueprobe.probes import Probe, Released
from trueprobe.probes import files as material
from trueprobe.probes.published import PublishedNetwork, network_of
from trueprobe.statistics.rows import grouped
from trueprobe.types import Card, Item, Observation, WhyNot

PREFIX = "replay:"


@dataclass(frozen=True)
class Replay:
    """One model's released outputs, of every probe of a run."""

    card: Card
    released: dict[str, Released]  # by the probe's label

    def observations(self, label: str, items: Sequence[Item]) -> list[Observation]:
        """In the order of the items; of parts, all of them."""
        by_item = grouped(self.released[label].observations, lambda observation: observation.item)
        missing = WhyNot("not_released")
        return [o for item in items for o in by_item.get(item.id) or [Observation(item.id, why_not=missing)]]


def is_replayed(card: Card) -> bool:
    """Whether a run has released outputs in place of this model, which therefore cannot answer requests."""
    return card.source.startswith(PREFIX)


@gc_pause()
def read_replays(specs: Iterable[str], probes: Sequence[tuple[str, Probe]]) -> list[Replay]:
    """What the `replay:` SPECs hold, one entry per model."""
    replays = []
    for spec in specs:
        path = material.path_of(spec.removeprefix(PREFIX))
        if not path.exists():
            raise BadInput(f"no file or folder '{path}' (--model {spec})")
        by_label = {label: {one.name: one for one in probe.read_released(path)} for label, probe in probes}
        content = _sha256(path)
        for name in dict.fromkeys(name for outputs in by_label.values() for name in outputs):
            released = {label: outputs[name] for label, outputs in by_label.items() if name in outputs}
            if len(released) < len(by_label):
                raise BadInput(f"{path}: outputs of {name} for {', '.join(released)} only; replay probes one by one")
            network = next(filter(None, (network_of(probe.name, name) for _, probe in probes)), None)
            replays.append(Replay(_card(next(iter(released.values())), network, path, content), released))
    return replays


def notices(specs: Iterable[str], probes: Sequence[Probe]) -> list[str]:
    """What lies among the released outputs and is not read, a line each."""
    paths = [material.path_of(spec.removeprefix(PREFIX)) for spec in specs]
    return list(dict.fromkeys(line for path in paths for probe in probes for line in probe.released_notices(path)))


def _card(one: Released, network: PublishedNetwork | None, path: Path, content: str) -> Card:
    """Released outputs hold no size; that of a network known by name is a fact."""
    return Card(
        name=one.name,
        family=one.family or one.name,
        labels=one.labels,
        kind=one.kind,
        architecture=network.size.architecture if network else "released outputs",
        heads=frozenset(),
        max_tokens=0,
        vocab_size=0,
        start_text="",
        source=f"{PREFIX}{path.name}",
        dtype="",
        compute_id=content,
        tokenizer_id=network.tokenizer if network else "",
        layers=network.size.layers if network else 0,
        width=network.size.width if network else 0,
    )


def _sha256(path: Path) -> str:
    """Of a file, or of all files in a folder; hidden ones, as a clone's history, change without its outputs."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    digest = hashlib.sha256()
    for file in files:
        with reading(f"{file}: cannot be read"):
            digest.update(os.fsencode(file.name) + b"\0" + file.read_bytes())
    return digest.hexdigest()

"""What a number was made with, as one line: `probe:seat|measure:effect_size|test:weat_6|…|start:[CLS]|version:0.1.0`.

In the manner of sacreBLEU's signatures (Post 2018). It names the probe, the measure with its conditions (k, wording,
way of scoring), settings that are not the default ones of the version, the sha256 of the material and of a shared
word list, how intervals are made, and what texts start with. It does not name the model. Two numbers whose signatures
differ answer different questions, so they are not compared unasked (docs/decisions/0020-signatures.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import PurePath
from typing import Any

from trueprobe import __version__
from trueprobe.probes import Probe
from trueprobe.runs.schema import StudyDescription
from trueprobe.statistics.rows import AGAINST, AND, ClaimResult, Estimate
from trueprobe.types import CONTRAST, Card

Parts = Mapping[str, str]
Pairs = tuple[tuple[str, str], ...]
START, NO_START, VERSION, UNKNOWN = "start", "none", "version", "unknown"
_HASH = 8  # digits of a sha256
_NAMES = (
    "probe",
    "measure",
    "claim",
    "sha256",
    "words",
    "limit",
    "per_group",
    "dtype",
    "intervals",
    "seed",
    START,
    VERSION,
)
_SPECIAL = re.compile(r"[%|:\s]")


@dataclass
class Signer:
    """Signs the rows of one run."""

    study: StudyDescription
    cards: Sequence[Card]
    probes: Mapping[str, Probe]  # with their settings, by label
    _of_labels: dict[tuple[str, str], Pairs] = field(default_factory=dict)
    _signatures: dict[tuple[Pairs, Pairs, Pairs], str] = field(default_factory=dict)  # the seeds of a family share one

    def signature(self, row: Estimate | ClaimResult) -> str:
        named = ("claim", row.claim) if isinstance(row, ClaimResult) else ("measure", row.measure)
        key = (self._parts(row.probe, row.model), (named,), tuple(row.conditions.items()))
        if key not in self._signatures:
            self._signatures[key] = _signature(*key)
        return self._signatures[key]

    def _parts(self, labels: str, models: str) -> Pairs:
        """Of several probes, or models, what is not the same for all is listed."""
        key = (labels, models)
        if key not in self._of_labels:
            cards = [card for card in self.cards if {card.name, card.family} & set(models.split(AGAINST))]
            every = [self._of_probe(label) for label in labels.split(AND) if label in self.probes]
            every += [{START: card.start_text or NO_START} for card in cards if card.dtype]  # not of released outputs
            together = {name: _list(one.get(name) for one in every) for name in reduce(dict.__or__, every)}
            self._of_labels[key] = tuple((together | {VERSION: __version__}).items())
        return self._of_labels[key]

    def _of_probe(self, label: str) -> dict[str, str]:
        probe, study = self.probes[label], self.study
        chosen = probe.settings.model_dump(mode="json", exclude_defaults=True)
        seed, _ = chosen.pop("resample_seed", 0), chosen.pop(CONTRAST, None)  # a contrast changes no other number
        parts = {_free(name): _text(value) for name, value in {**chosen, **probe.signed}.items()}
        parts |= {"probe": probe.name, "sha256": probe.material_id[:_HASH]}
        parts |= {"words": probe.vocabulary.sha256[:_HASH]} if probe.vocabulary else {}
        parts |= {"limit": str(study.limit)} if study.limit else {}
        parts |= {"per_group": str(study.per_group)} if study.per_group else {}
        parts |= {"dtype": study.dtype} if study.dtype != "float32" else {}
        return parts | {"intervals": study.intervals, "seed": str(seed)}


def _signature(pairs: Pairs, named: Pairs, conditions: Pairs) -> str:
    parts, free = dict(pairs), {_free(name): value for name, value in conditions}
    others = {name: value for name, value in parts.items() if name != "probe" and name not in free}
    return joined({"probe": parts["probe"], **dict(named), **free, **others})


def _free(name: str) -> str:
    """A setting or condition does not take the name of another part."""
    return f"{name}_" if name in _NAMES else name


def _list(values: Iterable[str | None]) -> str:
    return ",".join(dict.fromkeys(value for value in values if value is not None))


def _text(value: Any) -> str:
    """Of a path its last part: what the file holds is in the sha256."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    return PurePath(value).name if isinstance(value, str) and value else str(value)


def joined(parts: Parts) -> str:
    escaped = {name: _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", value) for name, value in parts.items()}
    return "|".join(f"{name}:{value}" for name, value in escaped.items())


# ---------------------------------------------------------------- reading


def parts_of(signature: str) -> dict[str, str]:
    """`probe:seat|seed:0` -> {"probe": "seat", "seed": "0"}; values as they are written there."""
    pairs = (part.partition(":") for part in signature.split("|") if part)
    return {name: value for name, _, value in pairs}


def common(signatures: Iterable[str]) -> str:
    """What all of them have; empty where one is unknown."""
    every = [parts_of(signature) for signature in dict.fromkeys(signatures)]
    shared = reduce(lambda one, other: dict(one.items() & other.items()), every) if every else {}
    return "|".join(f"{name}:{value}" for name, value in (every[0] if every else {}).items() if name in shared)


def differing(one: str, other: str, ignored: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
    """The parts in which two signatures differ, with both values; a part that one does not have is empty."""
    first, second = parts_of(one), parts_of(other)
    names = [name for name in {**first, **second} if name not in ignored]
    return {n: (first.get(n, ""), second.get(n, "")) for n in names if first.get(n) != second.get(n)}


def described(differences: Mapping[str, tuple[str, str]]) -> str:
    """`version 0.1.0 and 0.2.0; limit 400 and not set`."""
    sides = ((name, one or "not set", other or "not set") for name, (one, other) in differences.items())
    return "; ".join(f"{name} {one} and {other}" for name, one, other in sides)


def of_the_models(one: Iterable[Card], other: Iterable[Card]) -> tuple[str, ...]:
    """Parts that may differ as the models do: with another tokenizer a text starts in another way."""
    tokenizers = [{card.tokenizer_id for card in cards} for cards in (one, other)]
    return () if tokenizers[0] == tokenizers[1] else (START,)

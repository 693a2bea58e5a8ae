"""What a model is, as far as its files say: size, tuning, how its weights are stored, and which revision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count
from trueprobe.types import Card

if TYPE_CHECKING:  # this module uses the words
    from trueprobe.runs.families import Family

_SIZES = ((1e9, "B"), (1e6, "M"), (1e3, "k"))
_REVISION = re.compile(r"@([^@?/]+)")
_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[-_/.])")
_SHORTEST_NUMBERED = 8  # `12: bert`
_HASH = 12  # digits of a sha256
_SHORT = 7  # of a commit


def size(card: Card) -> str:
    """`135M`; empty where it is not known."""
    for factor, unit in _SIZES:
        if card.parameters >= factor:
            many = card.parameters / factor
            return f"{many:.1f}{unit}" if many < 10 else f"{many:.0f}{unit}"
    return str(card.parameters) if card.parameters else ""


def tuning(card: Card) -> str:
    """A chat template alone does not show that a model was tuned: base models ship one too."""
    return {"name": "instruct (by its name)", "template": "has a chat template"}.get(card.instruct, "")


def revision(card: Card) -> str:
    matches = _REVISION.search(card.source)
    return matches[1] if matches else ""


def short(card: Card) -> str:
    """Below a name: `135M, instruct, gguf`."""
    tuned = {"name": "instruct", "template": "chat template"}.get(card.instruct, "")
    at = revision(card)
    return ", ".join(filter(None, (size(card), tuned, card.quantised, f"@{at[:_SHORT]}" if at else "")))


def facts(card: Card) -> list[tuple[str, str]]:
    """For someone who wants to know which weights a number is of."""
    pairs = [
        ("model", f"{card.name}, from {card.source}" if card.source != card.name else card.name),
        ("parameters", count(card.parameters) if card.parameters else ""),
        ("tuning", tuning(card) or "not known to be instruct"),
        ("quantised", card.quantised or ("no" if card.parameters else "")),
        ("computed in", card.dtype),
        ("starts texts with", card.start_text or "nothing"),
        ("weights, sha256", card.compute_id[:_HASH]),
        ("tokenizer, sha256", card.tokenizer_id[:_HASH]),
    ]
    return [(name, text) for name, text in pairs if text]


def whole(card: Card) -> str:
    """In one line."""
    return "; ".join(f"{name}: {text}" for name, text in facts(card))


def abbreviated(names: Sequence[str], longest: int) -> list[str]:
    """Names whose lines take no more room than this: their beginnings, their ends, two lines, or numbers."""
    starts = [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]
    ends = [name if len(name) <= longest else f"…{name[len(name) - longest + 1 :]}" for name in names]
    numbered = [f"{i}: {name}"[: max(longest, _SHORTEST_NUMBERED)] for i, name in enumerate(names, 1)]
    folded = [_folded(name, longest) for name in names]
    return next(cut for cut in (starts, ends, folded, numbered) if len(set(cut)) == len(names))


def pieces(name: str) -> list[str]:
    """`RobertaBase` -> Roberta, Base; `bert-base` -> bert-, base."""
    return [piece for piece in _BREAK.split(name) if piece]


def _folded(name: str, longest: int) -> str:
    """Two lines, as even as its pieces allow, each cut to this length."""
    parts = pieces(name)
    sides = [("".join(parts[:i]), "".join(parts[i:])) for i in range(1, len(parts) + 1)]
    lines = min(sides, key=lambda side: max(map(len, side)))
    return "\n".join(line if len(line) <= longest else f"{line[: longest - 1]}…" for line in lines if line)


def listed_models(families: Sequence[Family]) -> str:
    """`mini: 31M; smollm2: 135M, instruct`, of the first checkpoint of each; empty where nothing is known."""
    known = [(family.name, short(family.cards[0])) for family in families]
    return "; ".join(f"{name}: {text}" for name, text in known if text)

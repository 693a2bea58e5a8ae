"""Prompts to begin with in the explorer, as the shipped packages offer them from their material.

A suggestion is a prompt and what may be added to it. A package offers some in a module `suggestions`, whose SUGGESTIONS
are found here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.files import ROOT

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`of` is an occupation, a concept, or the background of a pair in `set`; `chosen` are numbers of clues."""

    kind: str  # knowledge, properties or distractors
    of: str = ""
    set: str = ""
    chosen: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Suggestions:
    """`suggest` gives a prompt with its `clues`: a `before` each, or those that are `chosen` and part of `text`;
    `series` are all steps."""

    menu: Callable[[], Json]  # what there is to choose from, by names of the page
    kind: str = ""
    suggest: Callable[[Wanted], Json] | None = None


@cache
def menu() -> Json:
    """All there is to choose from."""
    return {name: choices for offered in _shipped() for name, choices in offered.menu().items()}


def suggest(wanted: Wanted) -> Json:
    by_kind = {offered.kind: offered.suggest for offered in _shipped() if offered.suggest}
    make = by_kind.get(wanted.kind)
    if make is None:
        raise BadInput(f"no suggestions of '{wanted.kind}'{nearest(wanted.kind, list(by_kind))}")
    return make(wanted)


@cache
def _shipped() -> tuple[Suggestions, ...]:
    packages = sorted(path.parent.name for path in ROOT.glob("*/suggestions.py"))
    return tuple(importlib.import_module(f"trueprobe.probes.{name}.suggestions").SUGGESTIONS for name in packages)


def index_of(name: str, names: Sequence[str], what: str) -> int:
    if name not in names:
        raise BadInput(f"no {what} '{name}'{nearest(name, names)}")
    return names.index(name)

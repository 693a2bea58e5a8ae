"""What people read for a condition's value, as a probe declares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueprobe.runs.schema import ProbeDeclaration


def label_of(names: Mapping[str, str], condition: str, value: Any) -> str:
    """`k=10` goes before `10`; without either, the value with spaces for underscores."""
    text = str(value)
    if condition in ("model", "family"):
        return text
    plain = text if "___" in text or " " in text else text.replace("_", " ")  # a name, not a prompt
    return names.get(f"{condition}={text}", names.get(text, plain))


def names_of(declaration: ProbeDeclaration) -> dict[str, str]:
    """Of a probe's conditions: the summary's words, or those of its figures."""
    return {**short_names(declaration), **declaration.summary.meanings}


def short_names(declaration: ProbeDeclaration) -> dict[str, str]:
    """Where there is little room: those of its figures, or the summary's words."""
    drawn = {key: text for figure in declaration.figures for key, text in figure.names.items()}
    return {**declaration.summary.meanings, **drawn}

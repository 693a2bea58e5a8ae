"""What of a run's description does not belong to the machine it ran on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from trueprobe.runs.schema import ProbeDeclaration, StudyDescription

# at the start, or behind `family=`, `replay:`, a comma or an option; a comma within braces does not end it
_PATH = re.compile(r"(?:(?<![^=,&?])|(?<=^replay:))(?:/|~\w*/)(?:\{[^}]*\}|[^,&?])*")


def portable(study: StudyDescription) -> StudyDescription:
    """The study without the folders of the machine it ran on: of a path, its last part."""
    probes = tuple(
        entry.model_copy(update={"settings": _portable(entry.settings), "file": _portable(entry.file)})
        for entry in study.probes
    )
    return study.model_copy(update={"probes": probes, "models": tuple(map(_portable, study.models))})


def portable_declaration(declaration: ProbeDeclaration) -> ProbeDeclaration:
    settings, facts = _portable(declaration.settings), _portable(declaration.facts)
    return declaration.model_copy(update={"settings": settings, "facts": facts})


def _portable(value: Any) -> Any:
    """`fam=/home/me/a,/home/me/b` -> `fam=a,b`; names, hub ids and relative paths stay."""
    if isinstance(value, dict):
        return {key: _portable(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_portable(part) for part in value)
    return _PATH.sub(lambda match: Path(match[0]).name, value) if isinstance(value, str) else value

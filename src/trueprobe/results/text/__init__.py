"""Words for codes: the only place that has them. Nothing reads these texts back.

Every function takes codes and numbers and returns a text; every constant is a text. What is shown, in which order and
with which marks, is decided elsewhere and stays the same whatever stands here.
"""

from trueprobe.results.text import (
    answer,
    audit,
    figures,
    findings,
    methods,
    models,
    multiverse,
    planned,
    tables,
    terminal,
    verdicts,
)

__all__ = [
    "answer",
    "audit",
    "figures",
    "findings",
    "methods",
    "models",
    "multiverse",
    "planned",
    "tables",
    "terminal",
    "verdicts",
]

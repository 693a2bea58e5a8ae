"""What only Python and notebooks show: the choices of a figure, and where the other findings are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.pictures import Choice


def choices(of: Sequence[Choice]) -> str:
    """`k: 10, 3, all; dominated: all, male`."""
    return "; ".join(f"{choice.name}: {', '.join(value for value, _ in choice.options)}" for choice in of)


def more(findings: int) -> str:
    if not findings:
        return ""
    return f"{count(findings)} more {'finding' if findings == 1 else 'findings'}: run.findings; the page: run.report()"

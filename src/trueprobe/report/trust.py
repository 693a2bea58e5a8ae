"""How far to trust it: what the run wrote about seeds, wordings and flips, drawn where it is there."""

from __future__ import annotations

from trueprobe.report.figures import Drawing
from trueprobe.report.reading import Reading
from trueprobe.report.tables import Grid

LEAD = "The same setup trained with another seed is another model. This part shows how much that changes the answers."


def parts(reading: Reading) -> tuple[list[Drawing], list[Grid]]:
    return [], []

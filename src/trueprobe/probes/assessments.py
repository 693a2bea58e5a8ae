"""What the makers of the package think of each shipped probe (assessments.toml); other probes have none."""

from __future__ import annotations

from functools import cache

from trueprobe.probes import files
from trueprobe.probes.display import Assessment

FILE = files.ROOT / "assessments.toml"


def of(name: str) -> Assessment | None:
    return _read().get(name)


@cache
def _read() -> dict[str, Assessment]:
    return {name: Assessment(**texts) for name, texts in files.toml_of(FILE).items()}

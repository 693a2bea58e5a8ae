"""What was measured, kept in a file so that a later call goes on; dropped where code, versions or machine changed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

import trueprobe
from bench.peers.method import OURS, Agreement
from trueprobe.paths import write_text

PACKAGES = ("trueprobe", "minicons", "lm-eval", "torch", "transformers", "tokenizers")
SHOWING = ("page.py", "__main__.py")  # tables and options: no timing depends on them
MEASURED = ("engine", "models", "statistics")  # packages of trueprobe whose change makes timings another's


@dataclass
class Record:
    """One task at one size: seconds of each method by round."""

    task: str
    size: int
    rows: int = 0
    tokens: int = 0
    work: dict[str, float] = field(
        default_factory=dict
    )  # by method: tokens computed, padding included, per token of the rows
    seconds: list[dict[str, float]] = field(default_factory=list)
    agreements: dict[str, Agreement] = field(default_factory=dict)
    asks: dict[str, str] = field(default_factory=dict)
    date: str = ""  # of the last round
    round_took: float = 0.0  # wall seconds of the last one

    def add(self, seconds: dict[str, float], took: float) -> None:
        self.seconds.append(seconds)
        self.date, self.round_took = datetime.now(UTC).date().isoformat(), took

    def compare(self, method: str, asks: str, found: Agreement) -> None:
        known = self.agreements.get(method)
        self.agreements[method] = known.and_also(found) if known else found
        self.asks[method] = asks

    def ratio(self, method: str) -> float | None:
        """A method's seconds per second of trueprobe: the median over rounds."""
        ratios = [one[method] / one[OURS] for one in self.seconds if method in one]
        return statistics.median(ratios) if ratios else None


@dataclass
class Measured:
    """All records of one state of the code on one machine. `path` is None where nothing is kept."""

    path: Path | None
    stamp: dict[str, str]
    records: dict[tuple[str, int], Record] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None, stamp: dict[str, str]) -> Measured:
        measured = cls(path, stamp)
        if path is None or not path.exists():
            return measured
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["stamp"] != measured.stamp:
            changed = ", ".join(name for name in measured.stamp if kept["stamp"].get(name) != measured.stamp[name])
            print(f"measured anew: {changed} changed")
            return measured
        for values in kept["records"]:
            values["agreements"] = {name: Agreement(**one) for name, one in values["agreements"].items()}
            measured.add(Record(**values))
        return measured

    def add(self, record: Record) -> None:
        self.records[record.task, record.size] = record

    def write(self) -> None:
        if self.path is not None:
            kept = {"stamp": self.stamp, "records": [asdict(record) for record in self.records.values()]}
            write_text(self.path, json.dumps(kept, indent=1))


def stamp(small: bool, cpu_seconds: bool) -> dict[str, str]:
    """What timings depend on."""
    return {
        "machine": f"{_processor()}, {torch.get_num_threads()} threads of {os.cpu_count()}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "python": platform.python_version(),
        "code": _code(),
        "network": "small" if small else "full",
        "clock": "CPU seconds" if cpu_seconds else "wall time",
    }


def _version(name: str) -> str:
    return trueprobe.__version__ if name == "trueprobe" else version(name)


def _code() -> str:
    digest = hashlib.sha256()
    root, here = Path(trueprobe.__file__).parent, Path(__file__).parent
    for path in sorted(path for folder in (here, *map(root.joinpath, MEASURED)) for path in folder.rglob("*.py")):
        digest.update(path.read_bytes() if path.name not in SHOWING else b"")
    return digest.hexdigest()[:12]


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()

"""CPU seconds of counting, after all observations are there: the tables of a run, a comparison, one large measure.

    trueprobe run tour --model nursery --model nursery-small --out runs/bench
    python bench/counting.py runs/bench [--a nursery] [--b nursery-small]

On one thread; the tables are those of `--a` alone, written to a temporary folder.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from trueprobe import probes
from trueprobe.probes import Probe
from trueprobe.runs.compare import compare
from trueprobe.runs.folder import Run, load_run
from trueprobe.runs.tables import RunTables
from trueprobe.runs.writing import RunFolder
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.resampling import Resampling

ITEMS, SEEDS = 5_000, 5


def cpu_seconds(what: Callable[[], object]) -> float:
    began = time.process_time()
    what()
    return time.process_time() - began


def count(run: Run, family: str, asked: Mapping[str, Probe], out: Path) -> None:
    (out / "observations").symlink_to((run.folder / "observations").resolve())
    tables = RunTables(RunFolder(out, run.study), [card for card in run.cards if card.family == family])
    for label, probe in asked.items():
        tables.add(label, probe)
    tables.write()


def large_family() -> list[CheckpointData]:
    """Seeds that answered the same items, each item a group."""
    rng, items = np.random.default_rng(0), [f"item{i}" for i in range(ITEMS)]
    drawn = Resampling.of(pd.DataFrame({"item": items}))
    frames = [pd.DataFrame({"item": items, "nats": rng.normal(0.1, 1, ITEMS)}) for _ in range(SEEDS)]
    return [
        CheckpointData(f"seed{i}", "masked", frame, drawn, "family", {"model_seed": i})
        for i, frame in enumerate(frames)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--a", default="nursery")
    parser.add_argument("--b", default="nursery-small")
    asked = parser.parse_args()
    run = load_run(asked.run)
    made = {entry.label: probes.make_again(entry.model_dump()) for entry in run.study.probes}  # as a run has them
    with tempfile.TemporaryDirectory() as out:
        print(f"all tables of {asked.a}: {cpu_seconds(lambda: count(run, asked.a, made, Path(out))):.2f} s")
    print(f"{asked.a} against {asked.b}: {cpu_seconds(lambda: compare(run, asked.a, asked.b)):.2f} s")
    members: list[CheckpointData] = []
    drawing = cpu_seconds(lambda: members.extend(large_family()))
    measure = Measure("preference", means, ("nats",), unit="nats", neutral=0.0)
    counting = cpu_seconds(lambda: estimate("bench", members, [measure]))
    print(f"{ITEMS} items, {SEEDS} seeds, 10,000 resamples: {counting:.2f} s, and {drawing:.2f} s to draw them")


if __name__ == "__main__":
    main()

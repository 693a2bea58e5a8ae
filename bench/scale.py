"""How workers scale on this machine, and what the driver alone can take. Ratios hold within one run.

Rows per second of one process with two threads, of one and of two workers with one thread each, on the shipped family
`nursery` and on a random network of bert-base's shape; workers are started and models opened before the clock starts.
Then the driver with a model that computes nothing: answers per CPU second from request to store and back and
from one store to another, memory and disk.

    python bench/scale.py [--items 300] [--rounds 3] [--answers 40000] [--driver]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from engine import build  # beside this file
from trueprobe.engine import AnswerStore, Compute, Engine, executor
from trueprobe.engine.upkeep import merge
from trueprobe.models import Options, Traits, examine, find
from trueprobe.models.rows import Read, Row
from trueprobe.probes import make, spread
from trueprobe.runs import Session
from trueprobe.types import Card, FillBlank, Follows, NoProgress, WhyNot

SETUPS = {
    "1 process × 2 threads": Compute(threads=2),
    "1 worker × 1 thread": Compute(workers=1, threads=1),
    "2 workers × 1 thread": Compute(workers=2, threads=1),
}
_VALUES = 769  # of a blank of bert-base: the vector and the log normaliser


def rows_per_second(setup: Compute, specs: list[str], items: int, rounds: int) -> float:
    """The best of several rounds, each with an empty store; before them one that opens the models."""
    options, computing = Options(), executor(setup)
    checkpoints = computing.examine(find(specs), options, lambda source: examine(source, options))
    opened = {checkpoint.outline.card.name: checkpoint.open() for checkpoint in checkpoints}
    probe = make("counteracts")
    asked = {name: _requests(probe, spread(probe.items(), items), model.card) for name, model in opened.items()}

    def one_round() -> float:
        with tempfile.TemporaryDirectory() as folder, closing(AnswerStore(Path(folder) / "s", "bench")) as store:
            session = Session(store, NoProgress(), executor=computing)

            def fill(checkpoint) -> float:
                name = checkpoint.outline.card.name
                engine = Engine(opened[name], store, executor=computing)
                engine.fill(asked[name])
                return engine.counts.computed

            began = time.perf_counter()
            return sum(session.each(checkpoints, fill)) / (time.perf_counter() - began)

    with closing(computing):
        one_round()
        return max(one_round() for _ in range(rounds))


def _requests(probe, items, card: Card) -> list:
    asks = [probe.ask(item, card) for item in items]
    return [request for ask in asks if not isinstance(ask, WhyNot) for request in ask]


class Null:
    """A model that computes nothing: every text is a row of its own, every reading the same vector."""

    contract = "rows"
    row_exact, tree_limit, batch_tokens, max_rows, opened, trial_id = True, 0, 4096, 512, True, "null"
    traits = Traits(30522, True, False, False, 8)
    card = Card(
        "null", "null", {}, "masked", "null", frozenset({"lm"}), 512, 30522, "", "null", "float32", "null", "null"
    )

    def recall(self, traits: Traits) -> None: ...
    def open(self) -> None: ...

    def reads(self, request: FillBlank) -> tuple[Read, ...]:
        number = int(request.left)
        row = Row((number // 30000, number % 30000, *range(14)), (0,) * 16)
        return (Read(row, "blank", (1,)),)

    def forward(self, batch) -> list[np.ndarray]:
        return [np.zeros(_VALUES, np.float32) for _ in batch.reads]

    def assemble(self, requests, readings) -> list[Follows]:
        return [Follows(0.0) for _ in requests]


def drive(answers: int, folder: str) -> None:
    """In a process of its own: CPU seconds of answering and of merging, the memory it took, the size of the store."""
    requests = [FillBlank(str(i)) for i in range(answers)]
    path = Path(folder) / "s"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with closing(AnswerStore(path, "bench")) as store:
        began = time.process_time()
        Engine(Null(), store).answer(requests)
        took = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    began = time.process_time()
    merge([path], Path(folder) / "merged")
    print(took, time.process_time() - began, memory * 1024, path.stat().st_size)


def driver(answers: int) -> list[float]:
    """What a million answers more take: CPU seconds of answering and of merging, bytes of memory and of disk."""
    with tempfile.TemporaryDirectory() as fewer, tempfile.TemporaryDirectory() as more:
        amounts = [_driven(answers, fewer), _driven(2 * answers, more)]
    return [(two - one) * 1e6 / answers for one, two in zip(*amounts, strict=True)]


def _driven(answers: int, folder: str) -> list[float]:
    asked = [sys.executable, __file__, "--drive", str(answers), folder]
    return [float(text) for text in subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--answers", type=int, default=40_000)
    parser.add_argument("--driver", action="store_true", help="only the driver, in CPU seconds: for a busy machine")
    parser.add_argument("--drive", nargs=2, metavar=("ANSWERS", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(int(options.drive[0]), options.drive[1])
        return
    if not options.driver:
        workers(options.items, options.rounds)
    rounds = [driver(options.answers) for _ in range(options.rounds)]
    answering, merging, memory, disk = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"driver alone: {1e6 / answering:,.0f} answers and {1e6 / merging:,.0f} merged answers per CPU second")
    print(f"a million answers: {memory / 1e9:.2f} GB of memory, {disk / 1e9:.2f} GB of disk")


def workers(items: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), False, "counteracts")
        for name, specs, asked in (("nursery", ["nursery"], items), ("bert-base shape", [folder], items // 4)):
            speeds = {setup: rows_per_second(compute, specs, asked, rounds) for setup, compute in SETUPS.items()}
            base = next(iter(speeds.values()))
            for setup, speed in speeds.items():
                print(f"{name}: {setup}: {speed:,.0f} rows/s, {speed / base:.2f} of one process", flush=True)


if __name__ == "__main__":
    main()

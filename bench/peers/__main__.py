"""See the package's first lines."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # lm-eval looks models up otherwise

import torch
from transformers.utils.logging import disable_progress_bar

from bench import peers
from bench.peers import blanks, page, seat, sentences
from bench.peers.method import OURS, Numbers, Questions, agreement
from bench.peers.record import Measured, Record, stamp
from bench.peers.standins import Kind, StandIn, build

SEAT = "seat masked"
Clock = Callable[[], float]
Ask = Callable[[StandIn, int], Questions]
TASKS: Mapping[str, tuple[Kind, Ask]] = {
    "counteracts masked": ("masked", partial(blanks.questions, probe="counteracts")),
    "distractors masked": ("masked", partial(blanks.questions, probe="distractors")),
    "crows_pairs masked": ("masked", sentences.crows_pairs),
    "stereoset masked": ("masked", sentences.stereoset),
    "counteracts causal": ("causal", partial(blanks.questions, probe="counteracts")),
    "distractors causal": ("causal", partial(blanks.questions, probe="distractors")),
    SEAT: ("masked", seat.questions),
}
SIZES = [100, 400, 2680]  # rows, about
KEPT = Path(".cache/bench-peers.json")


class Run:
    def __init__(self, folder: Path, measured: Measured, minutes: float, small: bool, clock: Clock) -> None:
        self.measured, self.clock = measured, clock
        self.ends = time.monotonic() + 60 * minutes
        self.standin = cache(lambda kind: build(kind, folder / kind, small))
        self.questions = cache(self._questions)

    def _questions(self, task: str, size: int) -> Questions:
        kind, ask = TASKS[task]
        return ask(self.standin(kind), size)

    def round(self, task: str, size: int) -> bool:
        """One more round of a task, every method in turn; False where time is short."""
        if not self._affordable(task, size):
            return False
        questions = self.questions(task, size)
        methods = [m for m in questions.methods if m.most_rows is None or len(questions.rows) <= 1.2 * m.most_rows]
        record = self.measured.records.get((task, size)) or Record(task, size)
        turn = len(record.seconds) % len(methods)  # another method begins each round
        seconds: dict[str, float] = {}
        numbers: dict[str, Numbers] = {}
        began_round = time.monotonic()
        for method in (*methods[turn:], *methods[:turn]):
            method.prepare()
            began = self.clock()
            numbers[method.name] = method.run()
            seconds[method.name] = self.clock() - began
        for method in methods[1:]:
            found = agreement(numbers[OURS], numbers[method.name])
            if found is not None:
                record.compare(method.name, method.asks, found)
        record.rows, record.tokens = len(questions.rows), sum(len(row.ids) for row in questions.rows)
        record.work = dict(questions.work())
        record.add(seconds, time.monotonic() - began_round)
        self.measured.add(record)
        self.measured.write()
        print(f"{task}, {record.rows:,} rows, round {len(record.seconds)}: {_listed(seconds)}", flush=True)
        return True

    def _affordable(self, task: str, size: int) -> bool:
        """By the time of the nearest size of the task, else of another task; the first of all is tried."""
        measured = list(self.measured.records.values())
        known = [record for record in measured if record.task == task] or measured
        left = self.ends - time.monotonic()
        if not known:
            return left > 0
        nearest = min(known, key=lambda record: abs(record.size - size))
        return nearest.round_took * size / nearest.size < left


def _listed(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())


def _jobs(names: str, sizes: list[int], small: bool) -> list[tuple[str, int]]:
    """Small sizes first; SEAT has one size, all of its tests, and comes before larger ones."""
    chosen = [task for task in TASKS if not names or any(name in task for name in names.split(","))]
    if not chosen:
        sys.exit(f"no task '{names}'; there are: {', '.join(TASKS)}")
    jobs = [(task, size) for size in sizes for task in chosen if task != SEAT]
    whole = [(SEAT, sizes[0] if small else seat.SENTENCES)] if SEAT in chosen else []
    few = [job for job in jobs if job[1] <= 400]
    return [*few, *whole, *(job for job in jobs if job not in few)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=peers.__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="start no round that would end later")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="rows, about")
    parser.add_argument("--tasks", default="", help="parts of names, such as seat or causal, separated by commas")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-seconds", action="store_true", help="not wall time: for a busy machine, one thread")
    parser.add_argument("--quick", action="store_true", help="a small network, few rows, one round: do they agree?")
    parser.add_argument("--write", type=Path, help="the page; its lines up to the tables stay")
    options = parser.parse_args()
    disable_progress_bar()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    torch.set_num_threads(options.threads)
    sizes = [40] if options.quick else sorted(map(int, options.sizes.split(",")))
    measured = Measured.read(None if options.quick else KEPT, stamp(options.quick, options.cpu_seconds))
    with tempfile.TemporaryDirectory() as folder:
        clock = time.process_time if options.cpu_seconds else time.perf_counter
        run = Run(Path(folder), measured, options.minutes, options.quick, clock)
        jobs = _jobs(options.tasks, sizes, options.quick)
        for number in range(1 if options.quick else options.rounds):
            for job in jobs:
                done = measured.records[job].seconds if job in measured.records else []
                if len(done) <= number and not run.round(*job):
                    print(f"{job[0]}, {job[1]:,} rows: left out, time is short; the same command goes on", flush=True)
    print("\n".join(page.lines(measured)))
    if options.write and not options.quick:
        page.write(measured, _jobs("", SIZES, small=False), options.write)
    wrong = [
        f"{record.task}: {name}"
        for record in measured.records.values()
        for name, found in record.agreements.items()
        if not found.agrees
    ]
    if wrong:
        sys.exit(f"other numbers than trueprobe's: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()

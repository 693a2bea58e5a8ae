"""Runs mutants one after the other in a process of its own, with a limit on the time and memory of each.

A finding is a mutant that ends otherwise than it should: any exception but BadInput and FailedRun, more than five
seconds, more than 1 GB, or the end of the process. Every mutant is a number: the same one gives the same bytes.
"""

from __future__ import annotations

import faulthandler
import importlib
import multiprocessing
import os
import random
import resource
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fuzz import mutations
from fuzz.targets import TARGETS, Target

SECONDS, BYTES = 5.0, 1 << 30
PREPARING = 60.0  # seconds, to make a mutant of a large file
_HEAVY = ("trueprobe.cli.asking", "trueprobe.runs.execute", "trueprobe.results.render.page", "altair", "torch")
_ARCHITECTURES = ("albert", "bert", "gpt2", "llama", "roberta")
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Finding:
    target: str
    seed: int
    file: str  # within the target's folder
    problem: str
    content: bytes = field(repr=False, default=b"")

    @property
    def place(self) -> str:
        """One finding per problem and place in the code."""
        return f"{self.target.partition('-')[0]}: {self.problem}"


@dataclass
class Tally:
    mutants: int = 0
    parsed: int = 0
    accepted: int = 0  # read as if nothing were wrong
    findings: list[Finding] = field(default_factory=list)
    by_target: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)  # CPU

    @property
    def parsed_share(self) -> float:
        return self.parsed / max(self.mutants, 1)


class Bench:
    """The files of every target, made once; a mutant changes one of them and puts it back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._originals: dict[str, dict[Path, bytes]] = {}

    def make(self, target: Target) -> Path:
        work = self.folder / target.name / "files"
        if not work.exists():
            beside = work.with_name("made")
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
            target.make(beside)
            beside.rename(work)
        return work

    def originals(self, target: Target) -> dict[Path, bytes]:
        """Read before any mutant is written: a child that is killed puts nothing back."""
        if target.name not in self._originals:
            self._originals[target.name] = self._read(target)
        return self._originals[target.name]

    def _read(self, target: Target) -> dict[Path, bytes]:
        work = self.make(target)
        files = {path for pattern in target.mutated for path in work.glob(pattern) if path.is_file()}
        return {path: path.read_bytes() for path in sorted(files) if not path.name.startswith(".")}


def run(folder: Path, seeds: Iterator[int], seconds: float, names: list[str] | None = None) -> Tally:
    """Mutants of these seeds, of targets in turn, until the time is over."""
    bench, tally = Bench(folder), Tally()
    chosen = [TARGETS[name] for name in names or TARGETS]
    for target in chosen:
        bench.originals(target)
    for module in (*_HEAVY, *(f"transformers.models.{name}.modeling_{name}" for name in _ARCHITECTURES)):
        importlib.import_module(module)  # once, not in each child, where they would count as a mutant's time
    turns = [target.name for target in chosen for _ in range(target.weight)]
    child, until = None, time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > until:
            break
        child = child or _Child(bench)
        outcome = child.ask(turns[seed % len(turns)], seed)
        _count(tally, outcome)
        if not child.alive:
            child = None
    if child:
        child.end()
    return tally


def _count(tally: Tally, outcome: dict[str, Any]) -> None:
    tally.mutants += 1
    tally.parsed += outcome.get("parsed", False)
    tally.accepted += outcome.get("accepted", False)
    name = outcome["target"]
    tally.by_target[name] += 1
    tally.seconds[name] += outcome.get("seconds", 0.0)
    if problem := outcome.get("problem"):
        tally.findings.append(
            Finding(name, outcome["seed"], outcome.get("file", ""), problem, outcome.get("content", b""))
        )


class _Child:
    def __init__(self, bench: Bench) -> None:
        self.here, there = _FORK.Pipe()
        self.process = _FORK.Process(target=_serve, args=(bench, there), daemon=True)
        self.process.start()
        there.close()
        self.alive = True

    def ask(self, name: str, seed: int) -> dict[str, Any]:
        self.here.send((name, seed))
        known: dict[str, Any] = {"target": name, "seed": seed}
        try:
            known |= self._receive(PREPARING)  # the mutant, before it is entered
            known |= self._receive(SECONDS)
        except TimeoutError:
            known["problem"] = f"hangs for more than {SECONDS:g} seconds"
        except EOFError:
            self.process.join()
            known["problem"] = f"ended the process (exit code {self.process.exitcode})"
        else:
            self.alive = not known.get("grown")
            if self.alive:
                return known
        self.end()
        return known

    def _receive(self, seconds: float) -> dict[str, Any]:
        """In its CPU time: a busy machine is slow. What waits for something else than a processor has ten times as
        long."""
        began, since = self._cpu_seconds(), time.monotonic() - self._seconds_in_queue()
        while not self.here.poll(0.5):
            waited = time.monotonic() - self._seconds_in_queue() - since
            if self._cpu_seconds() - began > seconds or waited > 10 * seconds:
                raise TimeoutError
        received: dict[str, Any] = self.here.recv()
        return received

    def _cpu_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it ended, and the pipe with it
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _seconds_in_queue(self) -> float:
        """In which its threads could have run and had no processor."""
        queued = 0
        for file in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            with suppress(OSError):  # it ended
                queued += int(file.read_text().split()[1])
        return queued / 1e9

    def end(self) -> None:
        self.alive = False
        self.process.kill()
        self.process.join()


def _serve(bench: Bench, pipe: Connection) -> None:
    """In the child: one mutant after the other."""
    faulthandler.enable()
    os.environ["XDG_CACHE_HOME"] = str(bench.folder / "cache")
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.chdir(bench.folder)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # a Rust extension prints its panics itself
    while True:
        name, seed = pipe.recv()
        target, rng = TARGETS[name], random.Random(seed)
        originals = bench.originals(target)
        path = rng.choice(list(originals))
        content = mutations.of(path)(originals[path], rng)
        relative = str(path.relative_to(bench.make(target)))
        pipe.send({"file": relative, "content": content, "parsed": mutations.parses(path, content)})
        pipe.send(enter(target, bench, originals, {path: content}, rng))


def enter(
    target: Target, bench: Bench, originals: dict[Path, bytes], changed: dict[Path, bytes], rng: random.Random
) -> dict[str, Any]:
    """What became of it."""
    for path, content in {**originals, **changed}.items():
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
    peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    problem = problem_of(target, bench.make(target), rng)
    seconds = time.process_time() - began
    for path, content in originals.items():
        if not path.is_file() or path.read_bytes() != content:
            shutil.rmtree(path, ignore_errors=True)
            path.write_bytes(content)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    if grown > BYTES:
        problem = f"takes {grown / 1e9:.1f} GB"
    elif seconds > SECONDS:
        problem = f"takes {seconds:.0f} seconds"
    return {"problem": problem, "seconds": seconds, "accepted": problem is None, "grown": grown > BYTES}


def problem_of(target: Target, work: Path, rng: random.Random) -> str | None:
    """None where it was read, "" where it was refused as it should be, else the exception and its place."""
    from click.exceptions import Exit

    from trueprobe.errors import BadInput, FailedRun

    try:
        target.enter(work, rng)
    except (BadInput, FailedRun) as refusal:
        return "" if str(refusal).strip() else "refused without a word"
    except Exit:
        return None
    except BaseException as error:
        return described(error)
    return None


def described(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/trueprobe/" in frame.filename]
    last = frames[-1] if frames else None
    where = f"{last.filename.partition('/src/')[2]}:{last.lineno} in {last.name}" if last else "?"
    return f"{type(error).__name__} at {where}: {str(error)[:120]}"


if __name__ == "__main__":
    sys.exit("run tests/fuzz/__main__.py, or: make fuzz")

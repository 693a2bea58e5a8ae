"""Does the cost per item grow with the number of items? CPU seconds, peak memory and store of whole commands.

A tiny random masked network answers pairs of sentences (`pairs`), so nearly all of the cost is trueprobe's. Every
command is a process of its own: `run` on an empty store, `run` again, `report`. CPU time, since other processes hardly
change it.

    python bench/growth.py [--sizes 100 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from itertools import islice, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import zoo

NAMES = ("Anna", "Ben", "Carl", "Dora", "Emma", "Fred", "Gina", "Hugo", "Ida", "Jack")
VERBS = ("met", "saw", "called", "thanked", "asked", "found", "left", "heard", "paid", "knew")
PLACES = ("bus", "bank", "shop", "park", "house", "door", "car", "road", "school", "garden")


def write_pairs(file: Path, count: int) -> None:
    """`count` pairs of which no two are alike, in a thousand groups."""
    parts = product(range(100), NAMES, VERBS, NAMES, PLACES)
    with file.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["better", "worse", "group"])
        for number, name, verb, other, place in islice(parts, count):
            texts = [f"{name} {verb} {other} {number} times by the {place} and {who} laughed." for who in ("he", "she")]
            rows.writerow([*texts, f"{name} {verb} {place}"])


def cost(*arguments: str) -> tuple[float, int]:
    """CPU seconds and peak MB of a command."""
    command = [sys.executable, "-m", "trueprobe", *arguments]
    with Path(os.devnull).open("w") as nowhere:
        process = os.posix_spawn(
            sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        )
        _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    os.environ["OMP_NUM_THREADS"] = "1"
    print("| items | run, CPU s | MB | again, CPU s | MB | report, CPU s | MB | store, MB |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for size in parser.parse_args().sizes:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            zoo.save("bert", place / "model")
            write_pairs(place / "pairs.csv", size)
            store, out = place / "store.sqlite", str(place / "run")
            run = ("run", "pairs", "--set", f"data={place / 'pairs.csv'}", "--model", str(place / "model"))
            run += ("--out", out, "--store", str(store))
            costs = [cost(*run), cost(*run), cost("report", out)]
            megabytes = sum(file.stat().st_size for file in place.glob("store.sqlite*")) / 1e6
            cells = " | ".join(f"{seconds:.1f} | {memory:,}" for seconds, memory in costs)
            print(f"| {size:,} | {cells} | {megabytes:.1f} |", flush=True)


if __name__ == "__main__":
    main()

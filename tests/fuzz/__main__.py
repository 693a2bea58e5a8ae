"""`make fuzz`: mutants for as long as one likes; what is found is printed, and its file saved.

python -m fuzz --seconds 3600 [--first 0] [--target run …] [--save findings]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import conftest  # noqa: F401  (threads, the hub offline)
from fuzz import harness
from fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--mutants", type=int, default=10**9)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--save", type=Path, help="a folder for the files that were found")
    parser.add_argument("--work", type=Path, help="the folder of the targets' files, made anew by default")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        seeds = itertools.islice(itertools.count(asked.first), asked.mutants)
        tally = harness.run(asked.work or Path(made), seeds, asked.seconds, asked.target)
    by_place = {finding.place: finding for finding in reversed(tally.findings)}
    for place, finding in sorted(by_place.items()):
        print(f"{place}\n    {finding.target} mutant {finding.seed}, {finding.file}, {len(finding.content):,} bytes")
        if asked.save:
            name = f"{finding.target}--{finding.seed}--{finding.file.replace('/', '+')}"
            asked.save.mkdir(parents=True, exist_ok=True)
            (asked.save / name).write_bytes(finding.content)
    print(
        f"{tally.mutants:,} mutants of {len(tally.by_target)} targets, {tally.parsed_share:.0%} past the first parse, "
        f"{tally.accepted:,} accepted, {len(tally.findings)} findings in {len(by_place)} places"
    )
    means = {name: seconds / tally.by_target[name] for name, seconds in tally.seconds.most_common(12)}
    print("CPU time of a mutant: " + ", ".join(f"{name} {1000 * mean:.0f} ms" for name, mean in means.items()))
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""Do two run folders hold the same tables, byte for byte? For changes of the code that must move no number.

    python tools/same_tables.py RUN OTHER

Compared are all tables and declarations. Left out: what depends on the time, the machine or the folder's name.
"""

from __future__ import annotations

import sys
from pathlib import Path

TABLES = (".parquet", ".csv")
DECLARATIONS = ("probes.json",)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.suffix in TABLES or path.name in DECLARATIONS)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def differences(one: Path, other: Path) -> list[str]:
    first, second = contents(one), contents(other)
    if not first:
        return [f"{one} holds no tables"]
    missing = [f"only in one of the two: {name}" for name in sorted(first.keys() ^ second.keys())]
    changed = sorted(name for name in first.keys() & second.keys() if first[name] != second[name])
    return [*missing, *(f"different: {name}" for name in changed)]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python tools/same_tables.py RUN OTHER")
    found = differences(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(found) or f"the same {len(contents(Path(sys.argv[1])))} files")
    raise SystemExit(bool(found))

"""Do two run folders hold the same numbers, to the last digit? `tools/same_numbers.py BEFORE AFTER`

Reads the tables as they are, in the present format or the one before it (conditions without a prefix, one table of
estimates, verdicts in words). Columns that were renamed are compared under their new names; everything else that
differs is printed, and the exit code is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

RENAMED: dict[str, str] = {}  # columns of observations: before -> after
VERDICTS = {
    "holds for this checkpoint": {"holds_for_checkpoint"},
    "as published": {"as_published"},
    "not contradicted": {"not_contradicted"},
    "fails the gate": {"fails_gate"},
    "low coverage": {"low_coverage"},
    "not applicable": {"nothing_scored", "too_few_groups", "no_interval", "no_variation"},
}
WORDS = {"reason", "expected", "why_not_detail"}  # sentences


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    names = {name: RENAMED.get(name, name.removeprefix("condition_")) for name in frame}
    return frame.rename(columns=names)


def table(folder: Path, name: str) -> pd.DataFrame:
    files = sorted((folder / name).rglob("*.parquet")) or [folder / f"{name}.parquet"]
    frame = pd.concat([plain(pd.read_parquet(file)) for file in files], ignore_index=True)
    keys = [key for key in ("probe", "item", "part", "model") if key in frame]
    return frame.sort_values(keys, kind="stable", ignore_index=True)


def same(one: pd.Series, other: pd.Series) -> np.ndarray:
    """Equal to the last bit, or both absent; lists element by element."""
    absent = one.isna().to_numpy() & other.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other):
        return np.asarray(absent | (one.astype(float).to_numpy() == other.astype(float).to_numpy()))
    pairs = zip(one, other, strict=True)
    return absent | np.array([np.array_equal(a, b) if np.ndim(a) else str(a) == str(b) for a, b in pairs], dtype=bool)


def same_verdict(before: pd.Series, after: pd.Series) -> np.ndarray:
    return np.array([b in VERDICTS.get(a, {a, str(a)}) for a, b in zip(before, after, strict=True)], dtype=bool)


def compared(name: str, before: pd.DataFrame, after: pd.DataFrame) -> int:
    """Prints how many values agree; gives how many do not."""
    if len(before) != len(after):
        print(f"{name}: {len(before):,} rows before, {len(after):,} after")
        return 1
    differ, values, skipped = 0, 0, sorted(set(before) ^ set(after) | (WORDS & set(before)))
    for column in (column for column in before if column not in skipped):
        agree = (same_verdict if column == "verdict" else same)(before[column], after[column])
        values += len(agree)
        if not agree.all():
            differ += int((~agree).sum())
            print(f"{name}.{column}: {int((~agree).sum()):,} of {len(agree):,} differ")
    print(f"{name}: {len(before):,} rows, {values - differ:,} of {values:,} values the same; not compared: {skipped}")
    return differ


def main() -> None:
    before, after = map(Path, sys.argv[1:3])
    labels = sorted(path.name for path in (before / "observations").iterdir())
    names = ["estimates", "claims", *(f"observations/{label}" for label in labels)]
    sys.exit(1 if sum(compared(name, table(before, name), table(after, name)) for name in names) else 0)


if __name__ == "__main__":
    main()

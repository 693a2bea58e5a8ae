"""A run holds a portion of what it asks, whatever its number of items: beyond that, only the items themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import zoo
from trueprobe.runs.writing import ParquetFile, chunks

TESTS = Path(__file__).resolve().parents[1]
MOST_PER_ITEM = 2048  # bytes: the item, and its row while it is counted; 1,250 were measured
PROBE = """
import os
from trueprobe.probes import Probe, Summary
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.types import FillBlank, Item, Observation

class Many(Probe):
    name, paper, question, does_not_show, factors = "many", "none", "How much?", "All else.", ("group",)

    def items(self):
        numbers = range(int(os.environ["N"]))
        text = "The man number {} of the bus met the woman who was late and is ___"
        return [Item(str(n), text.format(n), {"kind": "one"}, (str(n % 40),)) for n in numbers]

    def ask(self, item, card):
        return (FillBlank(item.text.removesuffix("___"), ".", words=("man", "woman"), top=50),)

    def observe(self, item, card, answers):
        words = answers[0].words
        return [Observation(item.id, {"nats": words["man"].logp - words["woman"].logp})]

    def columns(self):
        return {"nats": "man less woman"}

    def measures(self):
        return [self.headline]

    headline = property(lambda self: Measure("nats", means, ("nats",), {}, {"kind": "one"}, "nats", 0.0))
    summary = property(lambda self: Summary("kind", "kind", ("nats",), {}, ("nats",)))

    def planted(self, item, request, strength):
        return {"man": strength}

PROBE = Many
"""
# every reading is the same: what is measured is all that is around the network
RUN = """
import json, resource, sys
import numpy as np
import scipy.stats, torch, transformers
import trueprobe
from trueprobe.models.network import Network
true = Network.read
blank = {}

def read(self, batch):
    if len(batch.reads) != len(batch.ids) or batch.reads[0].kind != "blank":
        return true(self, batch)
    if "it" not in blank:
        blank["it"] = true(self, batch)[0]
    return [blank["it"]] * len(batch.reads)

Network.read = read
done = trueprobe.run("many.py", "bert", out="run", store="store")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([len(done.observations("many")), peak]))
"""


@pytest.mark.slow
def test_twenty_thousand_items_need_little_more_than_two_thousand(tmp_path):
    """From a portion on: what two thousand lack to a full one is a constant too, so it is asked of ten thousand."""
    zoo.save("bert", tmp_path / "bert")
    (tmp_path / "many.py").write_text(PROBE, encoding="utf-8")
    peaks = {n: peak(tmp_path, n) for n in (2_000, 10_000, 20_000)}
    assert peaks[20_000] - peaks[10_000] < 10_000 * MOST_PER_ITEM, peaks
    assert peaks[20_000] - peaks[2_000] < 80 * 2**20, peaks


def peak(folder: Path, items: int) -> int:
    for left in ("run", "store", "store-wal", "store-shm"):
        subprocess.run(["rm", "-rf", left], cwd=folder, check=True)
    environment = {**os.environ, "N": str(items), "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows, bytes_used = json.loads(done.stdout.splitlines()[-1])
    assert rows == items
    return int(bytes_used)


# ---------------------------------------------------------------- a table written in parts


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def write(path: Path, frames: list[pd.DataFrame], last: tuple[str, ...] = ()) -> None:
    ParquetFile(path, last).write_all(frames)


def test_a_table_in_parts_is_the_table_of_all_rows(tmp_path):
    """Columns that are empty in one part, integers that meet fractions, and conditions that only later items have."""
    parts = [
        frame(item=["a", "b"], seed=pd.array([1, 1], "Int64"), condition_x=["p", "q"], nats=[None, None], n=[1, 2]),
        frame(item=["c"], seed=pd.array([None], "Int64"), condition_x=[None], condition_y=["r"], nats=[0.5], n=[0.25]),
        frame(item=["d"], seed=pd.array([2], "Int64"), condition_y=["s"], nats=[np.nan], n=[3]),
    ]
    write(tmp_path / "parts.parquet", parts, last=("nats", "n"))
    read = pd.read_parquet(tmp_path / "parts.parquet")
    assert list(read) == ["item", "seed", "condition_x", "condition_y", "nats", "n"]
    whole = pd.DataFrame([row for part in parts for row in part.to_dict("records")])[list(read)]
    pd.testing.assert_frame_equal(read, whole.astype({"seed": "Int64", "nats": float}), check_dtype=False)
    assert str(read["seed"].dtype) == "Int64"
    assert read["nats"].dtype == read["n"].dtype == float


def test_a_table_of_one_part_is_written_as_it_is(tmp_path):
    one = frame(item=["a"], nats=[0.5])
    write(tmp_path / "one.parquet", [one])
    assert (tmp_path / "one.parquet").read_bytes() == one.to_parquet(None, index=False)


def test_an_abandoned_table_leaves_nothing_and_the_one_before_it_stays(tmp_path):
    write(tmp_path / "one.parquet", [frame(item=["a"])])
    before = (tmp_path / "one.parquet").read_bytes()
    again = ParquetFile(tmp_path / "one.parquet")
    again.write(frame(item=["b"]))
    again.abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]
    assert (tmp_path / "one.parquet").read_bytes() == before


def test_portions_cover_everything_once_and_are_never_none():
    assert [list(chunks(range(n), 2)) for n in (0, 1, 2, 3)] == [[[]], [[0]], [[0, 1]], [[0, 1], [2]]]

"""A parquet file in a stranger's run folder that unpacks to far more than it is, and one with other columns."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import made_runs
from trueprobe.errors import BadInput
from trueprobe.runs import load_run
from trueprobe.runs.packed import refuse_bomb
from trueprobe.statistics.rows import Estimate


def packed(column: pa.Array, **options) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table({"probe": column}), out, **options)
    return out.getvalue()


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), pa.array([text]))


BOMBS = {
    "one number": lambda: packed(pa.array(np.zeros(20_000_000))),
    "one text": lambda: packed(repeated("x" * 100_000, 10_000)),
    "a long text": lambda: packed(pa.array(["x" * 68_000_000]), compression="zstd", write_statistics=False),
    "a list": lambda: packed(pa.ListArray.from_arrays([0, 20_000_000], pa.array(np.zeros(20_000_000)))),
    "a list of one text": lambda: packed(pa.ListArray.from_arrays([0, 10_000], repeated("x" * 100_000, 10_000))),
    "lists of lists": lambda: packed(pa.array([[[0]]])),
    "a structure": lambda: packed(pa.array([{"a": "x"}])),
    "a text of a fixed size": lambda: packed(pa.array([b"x" * 10_000] * 10_000, pa.binary(10_000))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_far_more_than_it_is_is_refused(name):
    content = BOMBS[name]()
    assert len(content) < 200_000
    with pytest.raises(BadInput, match=r"x\.parquet (unpacks to [\d,]+ bytes|is damaged: the column 'probe' holds)"):
        refuse_bomb(content, "x.parquet")


def test_a_table_of_a_run_is_far_from_the_bound():
    """Many rows in which all but the number is the same."""
    n = 200_000
    same = {f"condition_{i}": "a condition" for i in range(10)} | {"top_tokens": [["he", "she"]] * n}
    frame = pd.DataFrame({"item": [f"item-{i}" for i in range(n)], "value": np.random.default_rng(0).random(n), **same})
    refuse_bomb(frame.to_parquet(None, index=False), "x")


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_in_a_run_folder_is_named(name, tmp_path):
    made_runs.write(tmp_path / "run", [made_runs.card("solo")], [made_runs.estimate("solo", "preference", 0.7)])
    (tmp_path / "run/estimates/pairs.parquet").write_bytes(BOMBS[name]())
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    (tmp_path / "run/manifest.json").write_text(json.dumps({**manifest, "checksums": {}}))
    with pytest.raises(BadInput, match=r"run/estimates/pairs\.parquet"):
        load_run(tmp_path / "run").rows(Estimate)

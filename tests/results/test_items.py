"""The item table: those that decide most first, packed without loss, small."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pandas as pd

import made_runs
from trueprobe.probes import ItemTable
from trueprobe.results.render.page import _packed
from trueprobe.results.view import ReportSource
from trueprobe.results.view.items import answer_text, examples, item_rows
from trueprobe.runs import load_run

PROBE = made_runs.declaration(
    item_table=ItemTable(("preference_nats",), "preference_nats", side="preference_nats", answer="top")
)


def rows_of(folder):
    return item_rows(ReportSource(load_run(folder)), "pairs")


def unpacked(text: str) -> dict:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def with_values(tmp_path, cards, model: str, values: list[float]):
    """A run in which one model has other values than the rest."""
    folder = made_runs.write(tmp_path / "run", cards, [], probe=PROBE, complete=False)  # without checksums
    path = folder / f"observations/pairs/{model}.parquet"
    pd.read_parquet(path).assign(preference_nats=values).to_parquet(path)
    return folder


def test_the_largest_comes_first_and_the_unscored_last(tmp_path):
    values = [0.5, -3.0, None, 1.0]
    observed = pd.DataFrame([made_runs.observation(f"i{n}", v) for n, v in enumerate(values)])
    rows = rows_of(made_runs.write(tmp_path / "run", [made_runs.card("toy")], [], probe=PROBE, observed=observed))
    packed = unpacked(_packed(rows))
    prompt, nats = packed["columns"][0], packed["columns"][1]
    assert [prompt["u"][c] for c in prompt["c"]] == [f"Item {n} is ___." for n in (1, 3, 0, 2)]
    assert nats["v"] == [-3.0, 1.0, 0.5, None]
    assert packed["columns"][-1]["t"] == "not scored because"
    assert rows.first(1) == [["Item 1 is ___.", "−3.00", "race", ""]]


def test_seeds_that_disagree_are_counted(tmp_path):
    folder = with_values(tmp_path, made_runs.family("toy", 3), "toy-seed2", [1.0] * 4)
    (disagree,) = [c for c in rows_of(folder).columns if c.title == "seeds that disagree"]
    assert sorted(disagree.values) == [0, 0, 1, 1]  # items 0 and 1 are negative in the other two


def test_steps_of_one_seed_do_not_disagree_as_seeds(tmp_path):
    cards = [made_runs.card(f"toy-step{step}", "toy", step=step) for step in (900, 1000)]
    _, nats, *others = rows_of(with_values(tmp_path, cards, "toy-step900", [9.0] * 4)).columns
    assert nats.values == [-1.5, 1.5, -0.5, 0.5]  # of the last step alone
    assert "seeds that disagree" not in [column.title for column in others]


def test_answers_are_the_likeliest_tokens():
    assert answer_text([" nurse", "", "man"], [0.5, 0.05, 0.001]) == "nurse 50\u00a0%, ␣ 5.0\u00a0%, man 0.1\u00a0%"
    assert answer_text(np.array(["a"])) == "a"
    assert answer_text(" Paris ") == "Paris"
    assert answer_text(None) == answer_text(float("nan")) == ""


def test_a_probe_that_declares_nothing_shows_its_numbers(tmp_path):
    rows = rows_of(made_runs.write(tmp_path / "run", [made_runs.card("toy")], []))
    assert [c.title for c in rows.columns] == ["prompt", "preference nats", "category"]


def asked(tmp_path, *kinds):
    """A run of models of these kinds, of which causal ones are asked another prompt."""
    cards = [made_runs.card(kind, kind=kind) for kind in kinds]
    folder = made_runs.write(tmp_path / "run", cards, [], probe=PROBE, complete=False)
    path = folder / "items/pairs.parquet"
    items = pd.read_parquet(path)
    items.assign(causal_text=[f"{text} It is ___" for text in items["text"]]).to_parquet(path)
    return folder


def test_each_model_has_the_prompt_it_was_asked(tmp_path):
    prompt, model, *_ = rows_of(asked(tmp_path, "masked", "causal")).columns
    by_model = {name: text for name, text in zip(model.values, prompt.values, strict=True) if "Item 1" in text}
    assert by_model == {"masked": "Item 1 is ___.", "causal": "Item 1 is ___. It is ___"}


def test_an_example_is_what_the_models_of_the_run_were_asked(tmp_path):
    for kinds, prompts in (
        (["masked"], ["Item 0 is ___."]),
        (["causal"], ["Item 0 is ___. It is ___"]),
        (["masked", "causal"], ["Item 0 is ___.", "Item 0 is ___. It is ___"]),
    ):
        source = ReportSource(load_run(asked(tmp_path / "-".join(kinds), *kinds)))
        assert [one.prompt for one in examples(source, "pairs")] == prompts

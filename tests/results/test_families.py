"""Checkpoints of a family are put together without inventing an interval or a verdict."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from trueprobe.results.page.reading import Reading, together

import made_runs
from trueprobe.errors import BadInput
from trueprobe.runs.folder import load_run


def reading(tmp_path, *args, **kwargs) -> Reading:
    return Reading(load_run(made_runs.write(tmp_path / "run", *args, **kwargs)))


def rows(tmp_path, estimates, cards):
    return reading(tmp_path, cards, estimates).estimates


def test_a_family_without_a_row_of_its_own_is_the_mean_of_its_checkpoints(tmp_path):
    cards = made_runs.family("toy", 3)
    made = [made_runs.estimate(c["name"], "preference", v) for c, v in zip(cards, (0.4, 0.5, 0.9), strict=True)]
    (one,) = together(rows(tmp_path, made, cards), ["measure"]).to_dict("records")
    assert one["value"] == pytest.approx(0.6)
    assert one["sd_seeds"] == pytest.approx(math.sqrt(0.07))  # 0.04 + 0.01 + 0.09, halved
    assert math.isnan(one["low"])
    assert one["n_seeds"] == 3
    assert [seed.value for seed in one["seeds"]] == [0.4, 0.5, 0.9]


def test_a_family_with_a_row_of_its_own_keeps_it(tmp_path):
    cards = made_runs.family("toy", 2)
    made = [{**made_runs.estimate(c["name"], "preference", 0.4), "level": "checkpoint"} for c in cards]
    made.append({**made_runs.estimate("toy", "preference", 0.45, verdict="holds"), "level": "family", "sd_seeds": 0.2})
    (one,) = together(rows(tmp_path, made, cards), ["measure"]).to_dict("records")
    assert (one["value"], one["low"], one["high"]) == pytest.approx((0.45, 0.35, 0.55))
    assert (one["verdict"], one["sd_seeds"], len(one["seeds"])) == ("holds", 0.2, 2)


@pytest.mark.parametrize(
    ("values", "verdicts", "expected"),
    [
        ((0.9, 0.8), ("holds for this checkpoint",) * 2, "holds for this checkpoint"),
        ((0.9, 0.1), ("holds for this checkpoint",) * 2, "flips"),
        ((0.9, 0.1), ("holds for this checkpoint", "undecided"), "undecided"),
        ((0.9, 0.5), ("not applicable", "undecided"), "undecided"),
        ((0.9, 0.5), ("not applicable", "not applicable"), "not applicable"),
        ((0.1, 0.5), ("as published", "opposite"), "flips"),
    ],
)
def test_checkpoints_that_contradict_each_other_flip(tmp_path, values, verdicts, expected):
    cards = made_runs.family("toy", 2)
    made = [
        made_runs.estimate(c["name"], "preference", value, verdict=verdict)
        for c, value, verdict in zip(cards, values, verdicts, strict=True)
    ]
    (one,) = together(rows(tmp_path, made, cards), ["measure"]).to_dict("records")
    assert one["verdict"] == expected


@pytest.mark.parametrize("verdict", ["low coverage", "fails the gate"])
def test_checkpoints_that_a_family_is_counted_without_are_none_of_its_trainings(verdict, tmp_path):
    cards = made_runs.family("toy", 4)
    made = [made_runs.estimate(c["name"], "preference", 0.6 + i / 100) for i, c in enumerate(cards)]
    made[3]["verdict"] = verdict
    own = made_runs.estimate("toy", "preference", 0.61, n_seeds=3, sd_seeds=0.01)
    folder = made_runs.write(
        tmp_path / "run", cards, [*({**m, "level": "checkpoint"} for m in made), {**own, "level": "family"}]
    )
    (row,) = together(Reading(load_run(folder)).estimates, ["measure"]).to_dict("records")
    assert (row["n_seeds"], [seed.value for seed in row["seeds"]]) == (3, [0.6, 0.61, 0.62])


def test_of_several_steps_the_last_counts(tmp_path):
    cards = [made_runs.card(f"toy-step{s}", "toy", model_seed=0, step=s) for s in (100, 200)]
    made = [made_runs.estimate(c["name"], "preference", c["labels"]["step"] / 1000) for c in cards]
    found = rows(tmp_path, made, cards)
    assert together(found, ["measure"])["value"].tolist() == [0.2]
    assert together(found, ["measure", "step"])["value"].tolist() == [0.1, 0.2]


def test_an_interrupted_run_still_knows_families_by_name(tmp_path):
    held = reading(tmp_path, made_runs.family("toy", 2), complete=False)
    assert held.estimates.empty
    assert not held.complete
    assert {name: one.seeds for name, one in held.families.items()} == {"toy": 2}


def test_extra_tables_are_read_where_they_are(tmp_path):
    held = reading(tmp_path, [made_runs.card("toy")], [])
    assert held.extra("flips").empty
    pd.DataFrame({"d0": [1.0]}).to_csv(held.run.folder / "flips.csv", index=False)
    assert held.extra("flips")["d0"].tolist() == [1.0]


def test_a_folder_without_probes_is_told(tmp_path):
    folder = made_runs.write(tmp_path / "run", [made_runs.card("toy")])
    (folder / "probes.json").unlink()
    with pytest.raises(BadInput, match=r"no probes\.json"):
        _ = Reading(load_run(folder)).told

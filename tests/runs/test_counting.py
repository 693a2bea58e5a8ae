"""From observations to the tables of a run folder, without any model: two diagnostics of made-up families."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from trueprobe.runs.check import stand_in
from trueprobe.runs.folder import RunFolder
from trueprobe.runs.tables import Counting, setups
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER, Claim, Flips, Measure
from trueprobe.statistics.seed_claims import _apart, _row, _torn, jackknife

CATEGORIES = ("religion", "gender")


class Pairs:
    """What counting needs of a probe."""

    factors = ("pair",)
    corrected_over = ("category", "test")
    flips = Flips("prefers_stereotype", "preference_nats", near_tie=0.5, size="scored_tokens")
    diagnostic = "stereotype_share"
    settings = SimpleNamespace(resample_seed=0)
    summary = SimpleNamespace(measures=("stereotype_share",))

    def __init__(self, name: str, published: tuple[Claim, ...] = ()) -> None:
        self.name, self.published = name, published

    def measures(self):
        for category in ("all", *CATEGORIES):
            where = {} if category == "all" else {"category": category}
            yield Measure(
                "stereotype_share", means, ("prefers_stereotype",), where, {"category": category}, "share", 0.5
            )

    def claims(self):
        return self.published


class Vectors(Pairs):
    """A measure with a test of its own; its p-values are made up from its values."""

    flips = diagnostic = None

    def measures(self):
        def test(columns, quantity, resample_seed):
            return 0.001 if np.nanmean(columns.values["preference_nats"]) > 0 else 0.999

        yield Measure("effect_size", means, ("preference_nats",), {}, {"test": "t"}, "d", 0.0, test=test)


def card(name: str, family: str, **labels):
    return replace(stand_in("masked"), name=name, family=family, labels=labels)


def observations(nats_of: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = []
    for category, nats in nats_of.items():
        for i, value in enumerate(nats):
            rows.append(
                {
                    "item": f"{category}{i}",
                    "part": "",
                    "why_not": "",
                    "category": category,
                    "group_pair": f"{category}{i}",
                    "prefers_stereotype": float(value > 0),
                    "preference_nats": value,
                    "scored_tokens": 5.0 + i % 10,
                }
            )
    return pd.DataFrame(rows)


def items(religion: float, gender: float, seed: int, n: int) -> pd.DataFrame:
    fixed, own = np.random.default_rng(0), np.random.default_rng(seed)
    levels = {"religion": religion, "gender": gender}
    return observations({c: level + fixed.normal(size=n) + own.normal(0, 0.5, n) for c, level in levels.items()})


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("run"), {})
    cards = [card(f"m-seed{s}", "m", model_seed=s) for s in range(4)]
    for s, c in enumerate(cards):
        folder.table(f"observations/crows/{c.name}.parquet", items(1.0, 0.2 if s else -0.2, 10 + s, 80))
        folder.table(f"observations/stereo/{c.name}.parquet", items(0.0, 0.2, 20 + s, 200))
        folder.table(f"observations/seat/{c.name}.parquet", items(3.0 if s else -3.0, 3.0 if s else -3.0, 30 + s, 20))
    counting = Counting(folder, cards)
    for label, probe in (("crows", Pairs("crows")), ("stereo", Pairs("stereo")), ("seat", Vectors("seat"))):
        counting.add(label, probe)
    counting.write()
    return lambda name: folder.read(f"{name}.parquet")


def test_steps_are_never_mixed():
    cards = [card(f"m-{s}-{t}", "m", model_seed=s, step=t) for t in (100, 200) for s in range(3)] + [card("x", "x")]
    assert [(s.family, s.step, len(s.cards)) for s in setups(cards)] == [("m", 100, 3), ("m", 200, 3), ("x", None, 1)]


def test_every_row_has_an_interval_and_a_verdict(counted):
    rows = counted("estimates")
    assert rows[["low", "high", "verdict", "reason"]].notna().all().all()
    family = rows[rows["level"] == "family"]
    assert len(family) == 2 * 3 + 1
    assert set(family["n_seeds"]) == {4}
    assert rows["model_seed"].isna().sum() == len(family)


def test_table_1_has_mean_and_deviation_over_seeds(counted):
    rows = counted("estimates").query("probe == 'crows' and category == 'religion'")
    seeds, family = rows[rows["level"] == "checkpoint"]["value"], rows[rows["level"] == "family"].iloc[0]
    assert (family["value"], family["sd_seeds"]) == pytest.approx((seeds.mean(), seeds.std(ddof=1)))
    assert (family["lowest"], family["highest"]) == (seeds.min(), seeds.max())
    assert family["verdict"] == "holds"


def test_flips_come_per_diagnostic_and_category(counted):
    rows = counted("flips")
    assert set(rows["probe"]) == {"crows", "stereo"}
    assert set(rows["category"]) == {"all", *CATEGORIES}
    shares = rows[["d0", "d1", "d2", "no_majority"]].sum(axis=1)
    assert shares.to_numpy() == pytest.approx(1)
    kept, clear = (rows[rows["near_ties"] == told].set_index(["probe", "category"]) for told in ("kept", "set aside"))
    assert (clear["flip_rate"] <= kept["flip_rate"]).all()
    assert (clear["alpha"] >= kept["alpha"]).all()
    for _, listed in counted("flipping_items").groupby("probe"):
        assert listed["d"].is_monotonic_decreasing


def test_both_reasons_for_flips_are_looked_at(counted):
    reasons = counted("flip_reasons")
    assert set(reasons["reason"]) == {"tokens", "size"}
    size = reasons[reasons["reason"] == "size"]
    assert size[["probe", "n_items"]].to_numpy().tolist() == [["stereo", 160]]


def test_the_diagnostics_disagree_on_religion_by_name(counted):
    rows = counted("disagreements").query("level == 'family'").set_index("category")
    assert rows.loc["religion", "says"] == "disagree: crows is above stereo"
    assert rows.loc["gender", "says"] == "no disagreement shown"


def test_a_test_that_is_significant_both_ways_is_named(counted):
    (row,) = counted("signs").to_dict("records")
    assert (row["significant_above"], row["significant_below"]) == (3, 1)
    assert row["says"] == "significant in both directions"
    assert counted("estimates").query("probe == 'seat' and level == 'family'")["verdict"].item() == "flips"


def test_variance_has_a_row_for_every_family_row(counted):
    rows = counted("variance")
    assert len(rows) == 7
    assert rows[["share_items", "share_seeds", "share_seeds_by_items"]].sum(axis=1).to_numpy() == pytest.approx(1)


def test_what_the_paper_says_of_diagnostics_are_claims(counted):
    claims = counted("claims").set_index(["probe", "claim"])
    assert set(claims.index.get_level_values("claim")) == {
        "categories_vary_more",
        "first_varies_more",
        "vectors_vary_more",
        "disagree_on_religion",
    }
    found = claims.loc[("crows, stereo", "disagree_on_religion")].set_index("level")
    assert found.loc["family", "verdict"] == "as published"
    assert found.loc["family", "value"] > 0.2
    assert len(found.loc["checkpoint"]) == 4
    assert claims.loc[("crows, stereo", "first_varies_more"), "statement"].startswith("crows varies more")
    assert claims.loc[("crows, stereo, seat", "vectors_vary_more"), "value"] > 0


def test_one_probe_under_two_labels_is_compared_and_models_of_two_sizes_too(tmp_path):
    folder = RunFolder(tmp_path / "run", {})
    cards = [
        replace(card(f"{name}-seed{s}", name, model_seed=s), layers=layers, width=64)
        for name, layers in (("big", 4), ("small", 2))
        for s in range(3)
    ]
    for s, c in enumerate(cards):
        level = 0.5 if c.family == "big" else 0.0
        folder.table(f"observations/short/{c.name}.parquet", items(level, level, 10 + s, 60))
        folder.table(f"observations/long/{c.name}.parquet", items(level + 1, level, 10 + s, 60))
    claim = Claim("larger", "the larger says more", "D", "preference_nats", {}, unit="nats", between=LARGER)
    counting = Counting(folder, cards)
    for label in ("short", "long"):
        counting.add(label, Pairs("pairs", (claim,)))
    counting.write()
    claims = folder.read("claims.parquet").query("level == 'pair'")
    assert claims[["probe", "model"]].to_numpy().tolist() == [[x, "big against small"] for x in ("short", "long")]
    assert claims["value"].to_numpy() == pytest.approx(0.5, abs=0.25)
    moved = folder.read("variants.parquet").query("level == 'family'").set_index(["model", "category"])
    assert (moved["first_label"] + " " + moved["second_label"]).unique().tolist() == ["short long"]
    assert moved.loc[("small", "religion"), "verdict"] == "holds"
    assert moved.loc[("small", "gender"), "difference"] == 0
    assert set(moved.index.get_level_values("category")) == {"all", *CATEGORIES}


def test_an_interval_of_a_difference_of_shares_ends_at_one():
    """Two vector tests whose seeds agree, two categories torn by one seed each: left out, it changes everything."""
    torn = np.array([0.4, 0.6, 0.6])
    values = {"0 a": np.full(3, 0.6), "1 b": torn, "1 c": torn[::-1]}
    row = _row("all", ("m", None), "vectors_vary_more", _apart(_torn), values)
    assert row["value"] == -1
    assert -1 <= row["low"] <= row["high"] <= 1
    assert jackknife(_apart(_torn), values).interval()[0] < -1

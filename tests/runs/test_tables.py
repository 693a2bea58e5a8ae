"""From observations to the tables of a run folder, without any model: two diagnostics of made-up families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trueprobe
from trueprobe.probes import Settings, Summary
from trueprobe.runs import Run, RunFolder, RunTables, load_run, schema, writing
from trueprobe.runs import folder as folders
from trueprobe.runs import tables as counting
from trueprobe.runs.check import stand_in
from trueprobe.runs.schema import StudyDescription, StudyEntry
from trueprobe.runs.tables import family_steps
from trueprobe.statistics import Claim, Flips, Measure
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import LARGER
from trueprobe.statistics.rows import (
    Agreement,
    ClaimResult,
    Disagreement,
    Estimate,
    FlipCause,
    FlippingItem,
    FlipShares,
    FlipStatistic,
    NearTies,
    SignAgreement,
    SignCounts,
    VarianceShares,
    VariantDifference,
    column,
)
from trueprobe.statistics.seed_claims import torn_more
from trueprobe.types import Card, Reason, Verdict

CATEGORIES = ("religion", "gender")
COLUMNS = ("prefers_stereotype", "preference_nats", "scored_tokens")


class Pairs:
    """What the tables need of a probe."""

    factors = ("pair",)
    drawn_within, terms = (), ""
    corrected_over = ("category", "test")
    flips = Flips("prefers_stereotype", "preference_nats", near_tie=0.5, size="scored_tokens")
    diagnostic = "stereotype_share"
    settings = Settings()
    material_id, vocabulary, signed = "0123456789abcdef", None, {}
    summary = Summary("category", "category", ("stereotype_share",), {}, ("share",))
    primary = None

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


def card(name: str, family: str, **labels) -> Card:
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
                    "condition_category": category,
                    "group_pair": f"{category}{i}",
                    "prefers_stereotype": float(value > 0),
                    "preference_nats": value,
                    "scored_tokens": 5.0 + i % 10,
                }
            )
    return pd.DataFrame(rows)


def items(religion: float, gender: float, seed: int, n: int) -> pd.DataFrame:
    shared, by_seed = np.random.default_rng(0), np.random.default_rng(seed)
    levels = {"religion": religion, "gender": gender}
    return observations({c: level + shared.normal(size=n) + by_seed.normal(0, 0.5, n) for c, level in levels.items()})


def run_folder(folder: Path, labels: Sequence[str]) -> RunFolder:
    entries = tuple(StudyEntry(label=label, name=label, settings={}, material_id="") for label in labels)
    study = {"title": "", "probes": entries, "models": (), "limit": None, "dtype": "float32"}
    return RunFolder(folder, StudyDescription(**study, intervals="crossed"))


def counted(folder: RunFolder, cards: list[Card], probes: dict[str, Pairs]) -> Run:
    tables = RunTables(folder, cards)
    for label, probe in probes.items():
        tables.add(label, probe)
    tables.write()
    folder.manifest(cards=tuple(cards), complete=True)
    return load_run(folder.folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    probes = {"crows": Pairs("crows"), "stereo": Pairs("stereo"), "seat": Vectors("seat")}
    folder = run_folder(tmp_path_factory.mktemp("run"), list(probes))
    cards = [card(f"m-seed{s}", "m", model_seed=s) for s in range(4)]
    for s, c in enumerate(cards):
        seat = 1.2 if s else -1.2
        folder.observations("crows", c.name, [items(1.0, 0.2 if s else -0.2, 10 + s, 80)], COLUMNS)
        folder.observations("stereo", c.name, [items(0.0, 0.2, 20 + s, 200)], COLUMNS)
        folder.observations("seat", c.name, [items(seat, seat, 30 + s, 20)], COLUMNS)
    return counted(folder, cards, probes)


def test_steps_are_never_mixed():
    cards = [card(f"m-{s}-{t}", "m", model_seed=s, step=t) for t in (100, 200) for s in range(3)] + [card("x", "x")]
    steps = [(step.family, step.step, len(step.cards)) for step in family_steps(cards)]
    assert steps == [("m", 100, 3), ("m", 200, 3), ("x", None, 1)]


def test_every_row_has_an_interval_and_a_verdict(run):
    assert run.estimates[["low", "high", "verdict", "reason"]].notna().all().all()
    rows = run.rows(Estimate)
    assert not {row.verdict for row in rows} & {Verdict.NO_INTERVAL, Verdict.NOTHING_SCORED}
    family = [row for row in rows if row.level == "family"]
    assert len(family) == 2 * 3 + 1
    assert {row.n_seeds for row in family} == {4}
    assert [row for row in rows if row.model_seed is None] == family


def test_every_estimate_and_every_claim_is_signed(run):
    made = "sha256:01234567|intervals:crossed|seed:0|start:[CLS]|version:" + trueprobe.__version__
    row = next(row for row in run.estimates_of("crows") if row.conditions == {"category": "religion"})
    assert row.signature == f"probe:crows|measure:stereotype_share|category:religion|{made}"
    assert all(row.signature for row in (*run.rows(Estimate), *run.rows(ClaimResult)))
    two = next(row for row in run.rows(ClaimResult) if row.probe == "crows, stereo")
    assert two.signature.startswith(f"probe:crows,stereo|claim:{two.claim}|")


def test_each_probe_has_estimates_of_its_own_and_the_frame_has_all(run):
    assert [len(run.estimates_of(label)) for label in ("crows", "stereo", "seat")] == [15, 15, 5]
    assert {row.probe for row in run.estimates_of("seat")} == {"seat"}
    assert run.estimates["probe"].unique().tolist() == ["crows", "stereo", "seat"]
    assert run.estimates["condition_category"].isna().sum() == 5  # a condition that the third probe does not have
    assert run.estimates_of("nothing") == []


def test_table_1_has_mean_and_deviation_over_seeds(run):
    rows = [row for row in run.estimates_of("crows") if row.conditions == {"category": "religion"}]
    seeds = np.array([row.value for row in rows if row.level == "checkpoint"])
    (family,) = (row for row in rows if row.level == "family")
    assert (family.value, family.sd_seeds) == pytest.approx((seeds.mean(), seeds.std(ddof=1)))
    assert (family.lowest, family.highest) == (seeds.min(), seeds.max())
    assert family.verdict is Verdict.HOLDS


def test_flips_come_per_diagnostic_and_category(run):
    rows = run.rows(FlipShares)
    assert {row.probe for row in rows} == {"crows", "stereo"}
    assert {row.category for row in rows} == {"all", *CATEGORIES}
    cells = {(row.probe, row.category, row.near_ties) for row in rows}
    for cell in cells:
        mine = [row for row in rows if (row.probe, row.category, row.near_ties) == cell]
        assert [row.against for row in mine] == [0, 1, 2]
        assert sum(row.share for row in mine) + mine[0].no_majority == pytest.approx(1)
    by_cell = {(row.probe, row.category, row.near_ties): row for row in rows}
    for probe, category, _ in cells:
        every, clear = (by_cell[probe, category, near_ties] for near_ties in (NearTies.INCLUDED, NearTies.EXCLUDED))
        assert clear.flip_rate <= every.flip_rate
        assert clear.alpha >= every.alpha
    for probe in ("crows", "stereo"):
        listed = [row.against for row in run.rows(FlippingItem) if row.probe == probe]
        assert listed == sorted(listed, reverse=True)
        assert listed


def test_both_causes_of_flips_are_looked_at(run):
    rows = run.rows(FlipCause)
    measured_elsewhere = {FlipStatistic.AGAINST_MAJORITY_BY_CALIBRATION}  # on held-out text
    assert {row.statistic for row in rows} == set(FlipStatistic) - measured_elsewhere
    size = [row for row in rows if row.statistic is FlipStatistic.SD_SEEDS_OF_AS_MANY]
    assert [(row.probe, row.other, row.n_items) for row in size] == [("stereo", "crows", 160)]


def test_the_diagnostics_disagree_on_religion_by_name(run):
    rows = {row.category: row for row in run.rows(Disagreement) if row.level == "family"}
    religion = rows["religion"]
    assert (religion.first, religion.second, religion.agreement) == ("crows", "stereo", Agreement.FIRST_ABOVE)
    assert rows["gender"].agreement is Agreement.UNDECIDED


def test_a_test_that_is_significant_both_ways_is_named(run):
    (row,) = run.rows(SignCounts)
    assert (row.significant_above, row.significant_below) == (3, 1)
    assert row.agreement is SignAgreement.BOTH_DIRECTIONS
    (family,) = (row for row in run.estimates_of("seat") if row.level == "family")
    assert (family.verdict_alone, family.reason) == (Verdict.FLIPS, Reason.SEEDS_APART)
    assert (family.above, family.below) == ("3", "1")


def test_variance_has_a_row_for_every_family_row(run):
    rows = run.rows(VarianceShares)
    assert len(rows) == 7
    for row in rows:
        assert row.share_items + row.share_seeds + row.share_seeds_by_items == pytest.approx(1)


def test_what_the_paper_reports_of_diagnostics_are_claims(run):
    rows = run.rows(ClaimResult)
    names = {"categories_vary_more", "first_varies_more", "vectors_vary_more", "disagree_on_religion"}
    names |= {"category_deviates"}
    assert {row.claim for row in rows} == names
    apart = [row for row in rows if (row.probe, row.claim) == ("crows, stereo", "disagree_on_religion")]
    (family,) = (row for row in apart if row.level == "family")
    assert family.verdict is Verdict.AS_PUBLISHED
    assert family.value > 0.2
    assert len([row for row in apart if row.level == "checkpoint"]) == 4
    by_name = {(row.probe, row.claim): row for row in rows}
    assert by_name["crows, stereo", "first_varies_more"].statement.startswith("crows varies more")
    assert by_name["crows, stereo, seat", "vectors_vary_more"].value > 0


def test_one_probe_under_two_labels_is_compared_and_models_of_two_sizes_too(tmp_path):
    folder = run_folder(tmp_path / "run", ["short", "long"])
    cards = [
        replace(card(f"{name}-seed{s}", name, model_seed=s), layers=layers, width=64)
        for name, layers in (("big", 4), ("small", 2))
        for s in range(3)
    ]
    for s, c in enumerate(cards):
        level = 0.5 if c.family == "big" else 0.0
        folder.observations("short", c.name, [items(level, level, 10 + s, 60)], COLUMNS)
        folder.observations("long", c.name, [items(level + 1, level, 10 + s, 60)], COLUMNS)
    claim = Claim("larger", "the larger prefers more", "D", "preference_nats", {}, unit="nats", between=LARGER)
    run = counted(folder, cards, {label: Pairs("pairs", (claim,)) for label in ("short", "long")})
    pairs = [row for row in run.rows(ClaimResult) if row.level == "pair"]
    assert [(row.probe, row.model) for row in pairs] == [(label, "big against small") for label in ("short", "long")]
    assert [row.value for row in pairs] == pytest.approx([0.5, 0.5], abs=0.25)
    moved = [row for row in run.rows(VariantDifference) if row.level == "family"]
    assert {(row.first_label, row.second_label) for row in moved} == {("short", "long")}
    by_cell = {(row.model, row.conditions["category"]): row for row in moved}
    assert by_cell["small", "religion"].verdict is Verdict.HOLDS
    assert by_cell["small", "gender"].difference == 0
    assert set(by_cell) == {(model, category) for model in ("big", "small") for category in ("all", *CATEGORIES)}


def test_an_interval_of_a_difference_of_shares_ends_at_one():
    """Two vector tests whose seeds agree, two categories torn by one seed each: left out, it changes everything."""
    torn = np.array([0.4, 0.6, 0.6])
    values = {"0 a": np.full(3, 0.6), "1 b": torn, "1 c": torn[::-1]}
    quantity, seeds = torn_more(values)
    assert (quantity.value, quantity.low, seeds) == (-1, -1, 3)  # a difference of shares ends there
    assert -1 < quantity.high <= 1


# ---------------------------------------------------------------- a new column


@dataclass(frozen=True, slots=True)
class WiderShares(VarianceShares):
    """The rows of `variance` with two columns more."""

    n_targets: int = column("how many targets there were", default=0)
    share_of_targets: float | None = column("their share", default=None)


def test_a_column_is_declared_and_given_a_value_and_nothing_else(tmp_path, monkeypatch):
    """It arrives in the parquet file, the CSV, the rows of `load_run` and what is cached for a repeated run."""
    wider = {**schema.TABLES, "variance": WiderShares}
    for module in (schema, folders, writing, counting):
        monkeypatch.setattr(module, "TABLES", wider)

    def variance(rows):
        for row in true_variance(rows):
            yield WiderShares(*(getattr(row, field.name) for field in fields(row)), n_targets=7)

    true_variance = counting.variance
    monkeypatch.setattr(counting, "variance", variance)
    folder = run_folder(tmp_path / "run", ["crows"])
    cards = [card(f"m-seed{s}", "m", model_seed=s) for s in range(5)]
    for s, c in enumerate(cards):
        folder.observations("crows", c.name, [items(1.0, 0.2, 10 + s, 40)], COLUMNS)
    read = counted(folder, cards, {"crows": Pairs("crows")})

    rows = read.rows(WiderShares)
    assert rows
    assert {(row.n_targets, row.share_of_targets) for row in rows} == {(7, None)}
    csv = pd.read_csv(read.folder / "variance.csv")
    for table in (read.table("variance"), csv):
        assert {"n_targets", "share_of_targets"} <= set(table)
        assert set(table["n_targets"]) == {7}
    cached = counting._decoded(WiderShares, counting._encoded({"variance": rows})["variance"])
    assert [(row.n_targets, row.share_of_targets) for row in cached] == [(7, None)] * len(rows)

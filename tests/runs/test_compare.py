"""`trueprobe compare`: who is compared, what is printed and kept, and what is refused."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import trueprobe
import zoo
from trueprobe.cli import app
from trueprobe.errors import BadInput
from trueprobe.runs.compare import compare
from trueprobe.types import Verdict

pytestmark = pytest.mark.slow


def families(folder, seeds: int) -> list[str]:
    for family in ("a", "b"):
        for i in range(seeds):
            zoo.save("bert", folder / family / f"seed_{i}", model_seed=10 * (family == "b") + i)
    return [f"{family}={folder}/{family}/seed_*" for family in ("a", "b")]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    models, settings = families(folder, 3), {"data": "sample"}
    return trueprobe.run("crows_pairs", models, folder / "run", store=folder / "s", settings=settings)


def test_families_are_compared_over_their_seeds(done):
    result = compare(done, "a", "b")
    assert {(row.n_seeds_a, row.n_seeds_b) for row in result.rows} == {(3, 3)}
    assert result.n_seeds == (3, 3)
    known = {(row.measure, *sorted(row.conditions.items())): row.a for row in result.rows}
    rows = [row for row in done.estimates_of("crows_pairs") if (row.level, row.model) == ("family", "a")]
    assert {row.measure for row in rows} >= {"prefers_stereotype", "preference"}
    for row in rows:
        assert known[row.measure, *sorted(row.conditions.items())] == pytest.approx(row.value, nan_ok=True)


def test_the_command_prints_the_summarys_rows_and_keeps_all(done):
    result = CliRunner().invoke(app, ["compare", str(done.folder), "--a", "a-seed0", "--b", "b-seed1"])
    assert result.exit_code == 0, result.output
    assert "a: a-seed0; b: b-seed1; on the items both scored" in result.output
    assert "all: stereotype" in result.output
    kept = pd.read_csv(done.folder / "comparisons" / "a-seed0_vs_b-seed1.csv")
    assert len(kept) == len(done.estimates.query("model == 'a-seed0'"))
    assert {"difference", "low", "high", "p", "p_permutation", "p_corrected", "verdict", "verdict_alone"} <= set(kept)
    printed = CliRunner().invoke(app, ["compare", str(done.folder), "--a", "a", "--b", "b", "--json"])
    assert len(json.loads(printed.output)) == len(kept)


def test_python_gives_the_table_that_the_command_writes(done):
    assert CliRunner().invoke(app, ["compare", str(done.folder), "--a", "a", "--b", "b"]).exit_code == 0
    written = pd.read_csv(done.folder / "comparisons" / "a_vs_b.csv")
    table = trueprobe.compare(done, "a", "b")
    assert list(table) == list(written)
    assert table["difference"].to_list() == pytest.approx(written["difference"].to_list(), nan_ok=True)
    assert table["verdict"].to_list() == written["verdict"].to_list()


@pytest.mark.parametrize(
    ("a", "b", "said"), [("c", "b", "no model or family 'c'"), ("a", "a-seed0", "a-seed0 is on both sides")]
)
def test_what_cannot_be_compared_is_told(done, a, b, said):
    with pytest.raises(BadInput, match=said):
        compare(done, a, b)


def test_a_probe_that_asks_two_kinds_of_model_for_different_things_is_named(checkpoint, tmp_path):
    """CrowS-Pairs masks for one kind and reads on for the other."""
    models = [str(checkpoint("bert")), str(checkpoint("gpt2"))]
    kept = {"settings": {"data": "sample"}, "store": tmp_path / "s"}
    both = trueprobe.run(["crows_pairs", "stereoset"], models, tmp_path / "both", **kept)
    result = compare(both, "gpt2", "bert")
    assert result.apart == ("crows_pairs",)
    assert {row.probe for row in result.rows} == {"stereoset"}
    alone = trueprobe.run("crows_pairs", models, tmp_path / "alone", **kept)
    with pytest.raises(BadInput, match="gpt2 and bert are prompted differently by crows_pairs"):
        compare(alone, "gpt2", "bert")


def test_a_family_has_rows_of_its_own_in_estimates_and_claims(tmp_path):
    done = trueprobe.run("counteracts", families(tmp_path, 2), tmp_path / "run", store=tmp_path / "s", limit=120)
    for table in (done.estimates, done.claims):
        assert set(table["level"]) == {"checkpoint", "family"}
        assert set(table[table["level"] == "family"]["model"]) == {"a", "b"}
    of_claims = {Verdict.AS_PUBLISHED, Verdict.NOT_CONTRADICTED, Verdict.OPPOSITE}
    assert not {row.verdict for row in done.estimates_of("counteracts")} & of_claims
    assert (done.folder / "flips.csv").exists()
    assert (done.folder / "variance.csv").exists()

"""A run counted in many ways: the run's own way is its estimate, cached answers suffice, and a plain second count."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from trueprobe import run
from trueprobe.cli import app
from trueprobe.engine import AnswerStore, Local, library_versions
from trueprobe.errors import BadInput
from trueprobe.multiverse import multiverse, write_tables
from trueprobe.probes.crows_pairs import multiverse as of_crows_pairs
from trueprobe.results.view.multiverse import curves
from trueprobe.runs.folder import load_run
from trueprobe.runs.schema import frame_of
from trueprobe.statistics.multiverse import Specification
from trueprobe.statistics.rows import ClaimResult, Estimate

SAMPLE = {"data": "sample"}
ZOO = {  # settings, limit, and where the run has the number of its own way
    "crows_pairs": (SAMPLE, None, "prefers_stereotype", {"category": "all", "direction": "all"}),
    "counteracts": ({}, 200, "stereotype_margin", {"knowledge": "base", "dominated": "all", "k": "10"}),
    "stereoset": (SAMPLE, None, "ss", {"task": "both", "category": "all"}),
    "seat": (
        {"tests": "sent-weat6"},
        None,
        "effect_size",
        {"test": "sent-weat6", "representation": "cls", "wording": "all"},
    ),
    "pairs": ({"conditions": "none"}, None, "accuracy", {"file": "all"}),
}
SHIPPED = {
    "distractors": ({}, 500, "one_attractor_hurts", {}),
    "tacit_retrieval": ({"analyses": "growth"}, None, "properties_help", {}),
}


@pytest.fixture(scope="module")
def made(checkpoint, tmp_path_factory):
    """made("seat") is a run of a small network, with its answer store; made once."""
    root, folders = tmp_path_factory.mktemp("ways"), {}

    def make(probe: str) -> Path:
        if probe not in folders:
            settings, limit, *_ = {**ZOO, **SHIPPED}[probe]
            model = "nursery-small/0" if probe in SHIPPED else str(checkpoint("bert"))
            run(probe, [model], root / probe, settings=settings, limit=limit, store=root / "answers.sqlite")
            folders[probe] = root / probe
        return folders[probe]

    make.store, make.counted = root / "answers.sqlite", {}
    return make


def counted(made, probe: str):
    """Once for all tests."""
    if probe not in made.counted:
        made.counted[probe] = multiverse(made(probe), store=made.store)
    return made.counted[probe]


@pytest.fixture
def no_rows(monkeypatch):
    def refuse(*_):
        raise AssertionError("a row was computed")

    monkeypatch.setattr(Local, "readings", refuse)


@pytest.mark.parametrize("probe", [*ZOO, *SHIPPED])
def test_the_ways_of_a_run_hold_its_own_and_compute_no_row(made, probe, request):
    """Value and interval, to the last bits, which depend on what is multiplied together."""
    made(probe)
    request.getfixturevalue("no_rows")
    (result,) = counted(made, probe)
    *_, name, conditions = {**ZOO, **SHIPPED}[probe]
    folder = load_run(made(probe))
    rows = [*folder.rows(Estimate), *folder.rows(ClaimResult)]
    named = [one for one in rows if name in (getattr(one, "measure", ""), getattr(one, "claim", ""))]
    (of_run,) = [one for one in named if conditions.items() <= one.conditions.items()]
    (own,) = [one for one in result.specifications if one.of_run]
    assert [own.value, own.low, own.high] == pytest.approx(
        [of_run.value, of_run.low, of_run.high], rel=1e-12, nan_ok=True
    )
    assert result.rows_computed == 0
    assert result.whole.n_specifications > 10


@pytest.mark.parametrize("probe", [*ZOO, *SHIPPED])
def test_every_choice_says_why_it_is_defensible(made, probe):
    (result,) = counted(made, probe)
    for axis in result.question.axes:
        assert len(axis.values) > 1
        assert all(len(choice.why) > 10 for choice in axis.values), axis.name
        assert result.question.own[axis.name] in [choice.name for choice in axis.values]


def test_rows_that_are_allowed_are_computed_and_counted(made, tmp_path):
    folder, store = made("counteracts"), tmp_path / "answers.sqlite"
    store.write_bytes(made.store.read_bytes())
    (none,) = multiverse(folder, store=store)
    cost = none.rows_needed["article=a"]
    (some,) = multiverse(folder, rows=cost, store=store)
    assert some.rows_computed == cost
    assert "article=a" not in some.rows_needed
    assert {way.conditions["article"] for way in some.specifications} == {"auto", "a"}
    assert not any("article" in way.conditions for way in none.specifications)
    (again,) = multiverse(folder, store=store)
    assert again.rows_computed == 0
    assert again.whole == some.whole


def test_a_model_is_asked_with_another_start_of_the_text(tmp_path):
    """With rows of its own; the tokenizer's other tokens are the same one here, and what they give counts once."""
    store, asked = tmp_path / "answers.sqlite", {"settings": {"analyses": "growth"}, "limit": 60}
    run("tacit_retrieval", ["nursery-causal/0"], tmp_path / "run", store=store, **asked)
    (free,) = multiverse(tmp_path / "run", store=store)
    assert list(free.rows_needed) == ["start token=none"]
    (paid,) = multiverse(tmp_path / "run", rows=free.rows_needed["start token=none"], store=store)
    assert paid.rows_computed == free.rows_needed["start token=none"] > 0
    assert {way.conditions["start token"] for way in paid.specifications} == {"own", "none"}
    store.unlink()
    (without,) = multiverse(tmp_path / "run", store=store)  # the run's observations hold all other ways
    assert [way.value for way in without.specifications] == [way.value for way in free.specifications]


def test_the_joint_test_of_crows_pairs_counted_again(made, monkeypatch):
    """In plain numpy from the run's observations, over the ways that read shared tokens."""
    monkeypatch.setattr(of_crows_pairs, "_TOKENS", of_crows_pairs._TOKENS[:1])
    monkeypatch.setattr(of_crows_pairs, "MASKING", of_crows_pairs.CAUSAL_START)
    (result,) = multiverse(made("crows_pairs"), store=made.store)
    rows = pd.read_parquet(next((made("crows_pairs") / "observations" / "crows_pairs").glob("*.parquet")))
    rows = rows.assign(pair=rows["group_pair"].astype(str)).sort_values("pair")
    names = sorted(set(rows["condition_category"]))
    values = []
    for way in result.specifications:
        of = way.conditions
        nats = rows["preference_nats"].to_numpy()
        nats = nats / (rows["scored_tokens"].to_numpy() / 2) if of["length"] == "mean" else nats
        counts = {"nats": nats, "probability": 1 / (1 + np.exp(-nats)) - 0.5}.get(of["counted"])
        if counts is None:
            ahead = (rows["more_nats"].round(3) - rows["less_nats"].round(3)).round(9)
            tie = np.isclose(ahead, 0) if of["counted"] == "rounded" else np.abs(nats) <= 1e-4
            counts = np.where(tie, np.nan if of["counted"] == "decided" else 0.0, np.where(nats > 0, 0.5, -0.5))
        used = {"all": rows["pair"] != "", "unflagged": rows["flagged"] == 0}.get(of.get("items", "all"))
        used = (rows["condition_direction"] == "stereo" if used is None else used) & ~np.isnan(counts)
        if of.get("mean over") == "categories":
            share = sum(
                ((rows["condition_category"] == c) & used) / ((rows["condition_category"] == c) & used).sum()
                for c in names
            )
            share = share / len(names)
        else:
            share = used / used.sum()
        values.append(np.where(used, counts, 0) * share)
    values = np.array(values, float).T
    assert values.sum(axis=0) == pytest.approx([way.value - way.neutral for way in result.specifications])
    signs = np.random.default_rng(0).integers(0, 2, (9_999, len(rows)), dtype=np.int8) * 2 - 1
    z = np.concatenate([np.ones((1, len(rows))), signs]) @ values / np.sqrt((values**2).sum(axis=0))
    assert [way.z for way in result.specifications] == pytest.approx(z[0])
    mean = z.mean(axis=1)
    assert result.whole.mean_z == pytest.approx(mean[0])
    assert result.whole.p == pytest.approx((np.abs(mean) >= abs(mean[0]) - 1e-9).mean())


def test_the_joint_tests_of_other_probes_counted_again(made):
    """From their definition, with other random numbers: terms change their signs, occupations and words are dealt,
    targets swap their contexts."""
    plain = {
        "stereoset": _plain_terms,
        "counteracts": _plain_occupations,
        "seat": _plain_words,
        "tacit_retrieval": _plain_concepts,
    }
    for probe, of in plain.items():
        (result,) = multiverse(made(probe), store=made.store)
        rows = pd.read_parquet(next((made(probe) / "observations" / probe).glob("*.parquet")))
        ways = [
            way
            for way in result.specifications
            if np.isfinite(way.z) and not _READ_OTHERWISE & {*way.conditions.values()}
        ]
        z, others = of(rows, [way.conditions for way in ways])
        sd = others.std(axis=0)
        assert len(ways) > 5, probe
        z = (z - others.mean(axis=0)) / sd
        assert [way.z for way in ways] == pytest.approx(z, abs=0.08), probe


# choices that are read from answers, or for which a concept has no pair of prompts
_READ_OTHERWISE = {"mean log probability", "odd half", "even half", "centred", "not naming", "6-10 and 1-5"}


def _relabelled(groups: int, sides=None) -> np.ndarray:
    rng = np.random.default_rng(11)
    if sides is None:
        return rng.choice([-1.0, 1.0], (4_000, groups))
    return np.array([rng.permutation(sides) for _ in range(4_000)])


def _plain_terms(rows, ways):
    """θ: the mean over items of what each is above neutral; or over terms, of their means."""
    terms, here = np.unique(rows["group_target"], return_inverse=True)
    sums = []
    for way in ways:
        nats, prefers = rows["preference_nats"].to_numpy(), rows["prefers_stereotype"].to_numpy() - 0.5
        of_tie = np.where(rows["tied"] == 1, np.nan, prefers)
        values = {"half": prefers, "decided": of_tie, "nats": nats, "probability": 1 / (1 + np.exp(-nats)) - 0.5}[
            way["counted"]
        ]
        used = ~np.isnan(values) & (rows["condition_task"].eq(way["task"]) if way["task"] != "both" else True)
        used &= {"all": True, "unflagged": rows["flagged"] == 0, "meaningful": rows["meaningful"] == 1}[way["items"]]
        total = np.bincount(here[used], values[used], len(terms))
        count = np.bincount(here[used], minlength=len(terms))
        if way["mean over"] == "terms":
            total, count = np.divide(total, count, out=np.zeros(len(terms)), where=count > 0), (count > 0) * 1
        sums.append(total / count.sum())
    sums = np.array(sums).T
    return sums.sum(axis=0), _relabelled(len(terms)) @ sums


def _plain_occupations(rows, ways):
    """θ: the mean over occupations of side × (female minus male)."""
    rows = rows[(rows["condition_knowledge"] == "base") & rows["why_not"].eq("")]
    sides = np.where(rows["condition_dominated"] == "female", 1.0, -1.0)
    values = []
    for way in ways:
        end = "all" if way["k"] == "all" else f"top{way['k']}"
        female, male = rows[f"female_{end}"].to_numpy(), rows[f"male_{end}"].to_numpy()
        share, log = np.sign(female - male) / 2, np.log(np.maximum(female, 1e-300) / np.maximum(male, 1e-300))
        values.append({"probability": female - male, "share": share, "log ratio": log}[way["scale"]])
    values = np.array(values).T / len(rows)
    return sides @ values, _relabelled(len(rows), sides) @ values


def _plain_words(rows, ways):
    """θ: the mean association of the first category's words less that of the second's."""
    rows = every = rows[rows["side"].isin(["X", "Y"])]
    words = sorted(set(rows["group_word"]))
    of = {word: 1.0 if side == "X" else -1.0 for word, side in zip(rows["group_word"], rows["side"], strict=True)}
    sides, observed, others = np.array([of[word] for word in words]), [], []
    drawn = _relabelled(len(words), sides)
    for way in ways:
        rows = every[every["condition_representation"] == way.get("representation", "cls")]
        some = rows if way["template"] == "all" else rows[rows["wording"] == way["template"]]
        sums = some.groupby("group_word")["association"].sum().reindex(words).to_numpy()
        n = some.groupby("group_word").size().reindex(words).to_numpy()
        apart = [
            (on @ sums) / (on @ n) - ((1 - on) @ sums) / ((1 - on) @ n) for on in ((sides > 0) * 1.0, (drawn > 0) * 1.0)
        ]
        observed.append(apart[0])
        others.append(apart[1])
    return np.array(observed), np.array(others).T


def _plain_concepts(rows, ways):
    """θ: the mean over concepts of the value with more properties less that with fewer."""
    columns = {
        "reciprocal rank": "reciprocal_rank",
        "first": "ranked_first",
        "nats over others": "concept_over_others_nats",
    }
    differences = []
    for way in ways:
        more, few = way["properties"].split(" and ")
        column = columns.get(way["scale"], way["scale"].replace(" ", "_"))
        wide = rows.pivot_table(index="group_concept", columns="condition_properties", values=column, observed=False)
        differences.append((wide[int(more)] - wide[int(few)]).fillna(0).to_numpy())
    differences = np.array(differences).T
    return differences.mean(axis=0), _relabelled(len(differences)) @ differences / len(differences)


@pytest.mark.slow
def test_a_family_is_counted_over_its_seeds(tmp_path):
    store = tmp_path / "answers.sqlite"
    family = run("crows_pairs", ["nursery-small"], tmp_path / "run", settings=SAMPLE, store=store)
    (result,) = multiverse(tmp_path / "run", store=store)
    (own,) = [one for one in result.specifications if one.of_run]
    where = {"category": "all", "direction": "all"}
    named = [one for one in family.rows(Estimate) if one.measure == "prefers_stereotype" and one.level == "family"]
    (of_run,) = [one for one in named if where.items() <= one.conditions.items()]
    assert [own.value, own.low, own.high] == pytest.approx([of_run.value, of_run.low, of_run.high], rel=1e-12)
    assert (result.whole.model, result.whole.n_seeds) == ("nursery-small", 5)


def test_the_command_writes_tables_and_a_curve_and_the_page_shows_them(made, tmp_path):
    folder = made("crows_pairs")
    command = ["multiverse", str(folder), "--store", str(made.store), "--figures", "svg"]
    printed = CliRunner().invoke(app, command)
    assert printed.exit_code == 0, printed.output
    assert max(map(len, printed.output.split("/")[0].splitlines())) <= 80
    assert "ways of counting" in printed.output
    (svg,) = (folder / "multiverse").glob("*.svg")
    assert svg.read_text().startswith("<svg")
    (result,) = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert result["n_specifications"] == len(result["specifications"])
    (curve,) = curves(load_run(folder))
    assert [way.z for way in curve.specifications] == sorted(way["z"] for way in result["specifications"])
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert "Other ways of counting" in (folder / "report.html").read_text()


def test_ways_that_were_counted_from_other_observations_are_not_shown(made):
    results = counted(made, "tacit_retrieval")
    write_tables(made("tacit_retrieval"), results)
    assert curves(load_run(made("tacit_retrieval")))
    path = made("tacit_retrieval") / "multiverse.parquet"
    pd.read_parquet(path).assign(source="another").to_parquet(path)
    assert not curves(load_run(made("tacit_retrieval")))
    path.unlink()


def test_choices_that_turn_the_sign_are_named(made):
    from trueprobe.results.view.multiverse import Curve

    (result,) = counted(made, "tacit_retrieval")
    ways = [one for one in result.specifications if "scale" in one.conditions]
    turned = [_with_z(one, -1.0 if one.conditions["scale"] == "probability" else 1.0) for one in ways]
    (flip,) = Curve(result.whole, tuple(turned), result.axes).flips
    assert flip == ("scale", "probability", 1.0)


def _with_z(way: Specification, z: float) -> Specification:
    (row,) = frame_of([way], Specification).assign(z=z).to_dict("records")
    fields = {name: value for name, value in row.items() if not name.startswith("condition_")}
    return Specification(**fields, conditions=way.conditions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["crow_pairs"]}, "did you mean 'crows_pairs'"),
        ({"store": Path("nowhere.sqlite")}, "no answer store at nowhere.sqlite"),
    ],
)
def test_bad_input_is_refused(made, change, message):
    with pytest.raises(BadInput, match=message):
        multiverse(made("crows_pairs"), **{"store": made.store, **change})


def test_a_store_without_the_answers_is_refused(made, tmp_path):
    AnswerStore(tmp_path / "empty.sqlite", library_versions()).close()
    with pytest.raises(BadInput, match="does not have the answers"):
        multiverse(made("crows_pairs"), store=tmp_path / "empty.sqlite")


def test_a_probe_without_axes_is_refused(tmp_path):
    run("tacit_prince", ["nursery-small/0"], tmp_path / "run", store=tmp_path / "answers.sqlite")
    with pytest.raises(BadInput, match="no other ways of counting are declared"):
        multiverse(tmp_path / "run", store=tmp_path / "answers.sqlite")

"""`trueprobe.run` from Python: frames with everything the papers count."""

from __future__ import annotations

import math

import pytest

import trueprobe
import zoo
from trueprobe.errors import BadInput
from trueprobe.runs import Study, load_run, make_study
from trueprobe.runs.compare import compare
from trueprobe.runs.repeat import repeat


@pytest.fixture(scope="module")
def done(checkpoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    models = [str(checkpoint("bert")), str(checkpoint("gpt2"))]
    return trueprobe.run("counteracts", models=models, out=folder / "both", store=folder / "s", limit=400)


@pytest.mark.slow
def test_observations_are_one_row_per_item_and_model(done):
    observations = done.observations("counteracts")
    assert len(observations) == 800
    assert set(observations["model"]) == {"bert", "gpt2"}
    assert set(observations["why_not"]) == {""}
    assert len(observations["top_tokens"].iloc[0]) == 10


def test_every_measure_comes_for_every_model_type_split_and_k(done):
    estimates = done.estimates
    wanted = {"female", "male", "female_minus_male", "stereotype_margin", "prefers_female", "pro_stereotypical"}
    wanted |= {"listed_tokens", "listed_mass", "implicit_female", "implicit_male", "no_preference"}
    shifts = {"shift_female_minus_male", "shift_towards_stereotype", "overturned", "strengthened", "weakened"}
    for (_, knowledge, _, k), group in estimates.groupby(
        ["model", "condition_knowledge", "condition_dominated", "condition_k"]
    ):
        needed = wanted | (shifts if knowledge != "base" else set())
        needed = needed if k != "all" else {n for n in needed if not n.startswith(("listed", "implicit"))}
        assert needed <= set(group["measure"])
    assert set(estimates["condition_k"]) == {"3", "5", "10", "all"}
    assert set(estimates["condition_dominated"]) == {"all", "female", "male"}
    assert "correlation_of_margin_with_share_female" in set(estimates["measure"])


def test_the_two_halves_average_to_the_whole(done):
    estimates = done.estimates.query(
        "measure == 'female_minus_male' and condition_k == 'all' and condition_knowledge == 'base'"
    )
    for _, group in estimates.groupby("model"):
        by = group.set_index("condition_dominated")
        halves = sum(by.loc[half, "value"] * by.loc[half, "n_items"] for half in ("female", "male"))
        assert math.isclose(by.loc["all", "value"], halves / by.loc["all", "n_items"], abs_tol=1e-6)


def test_intervals_hold_their_value(done):
    known = done.estimates.dropna(subset=["value", "low", "high"])
    assert len(known) > 1000
    assert ((known["low"] <= known["value"] + 1e-6) & (known["value"] <= known["high"] + 1e-6)).mean() > 0.99


def test_claims_are_rows_with_a_verdict_and_fit_the_kind_of_model(done):
    claims = done.claims
    known = {"as_published", "opposite", "undecided", "not_contradicted", "too_few_groups", "no_variation"}
    known |= {"low_coverage", "borderline_coverage", "alike", "insensitive"}
    assert set(claims["verdict_alone"]) <= known
    assert set(claims["verdict"]) <= known | {"exploratory", "suggestive"}
    assert set(claims.query("model == 'gpt2'")["claim"]) >= {"base_stereotyped", "causal_no_gain_neutral"}
    assert "causal_no_gain_neutral" not in set(claims.query("model == 'bert'")["claim"])


@pytest.mark.slow
def test_a_family_of_seeds_runs_as_its_members(tmp_path):
    for i in range(2):
        zoo.save("bert", tmp_path / f"seed_{i}", model_seed=i)
    spec = f"mine={tmp_path}/seed_*"
    done = trueprobe.run("counteracts", models=[spec], out=tmp_path / "run", store=tmp_path / "s", limit=40)
    observations = done.observations("counteracts")
    assert dict(observations.groupby("model")["model_seed"].first()) == {"mine-seed0": 0, "mine-seed1": 1}
    assert {card.family for card in done.cards} == {"mine"}


def test_a_wrong_setting_from_python_is_explained_too(checkpoint, tmp_path):
    with pytest.raises(BadInput, match="did you mean 'wording'"):
        trueprobe.run("counteracts", models=[str(checkpoint("bert"))], out=tmp_path, settings={"wordin": "x"})


def test_load_run_reads_what_run_wrote(done):
    again = trueprobe.load_run(done.folder)
    assert again.estimates.equals(done.estimates)
    assert again.items("counteracts")["text"].str.contains("___").all()


def test_a_model_that_can_answer_nothing_gives_a_whole_folder_that_says_why(tmp_path):
    import transformers

    folder = zoo.save("roberta", tmp_path / "short")
    config = transformers.AutoConfig.from_pretrained(folder)
    config.max_position_embeddings = 6  # room for four tokens
    transformers.AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    done = trueprobe.run("counteracts", models=[str(folder)], out=tmp_path / "run", store=tmp_path / "s", limit=40)
    assert set(done.observations("counteracts")["why_not"]) == {"too_long"}
    assert set(done.estimates["verdict"]) == {"nothing_scored"}
    assert set(done.estimates["n_items"]) == {0}
    assert done.estimates["n_unscored"].max() > 0
    assert set(done.claims["verdict"]) == {"nothing_scored"}


@pytest.mark.slow
def test_models_may_be_one_name_and_a_shipped_study_may_be_named(checkpoint, tmp_path):
    done = trueprobe.run("paper_a", str(checkpoint("bert")), tmp_path / "run", store=tmp_path / "s", limit=20)
    assert done.manifest.study.title.startswith("CounterActs: seven models")
    assert done.manifest.study.limit == 20
    with pytest.raises(BadInput, match="limit: Input should be greater than or equal to 1"):
        trueprobe.run("counteracts", str(checkpoint("bert")), limit=0)


def test_words_a_model_cannot_say_are_counted(done):
    observations = done.observations("counteracts")
    for _, group in observations.groupby("model"):
        assert set(group["female_words"]) == {group["female_words"].iloc[0]}
        assert 0 < group["female_words"].iloc[0] <= 63


@pytest.mark.slow
def test_the_run_is_found_again_from_anywhere_and_other_weights_are_refused(tmp_path, monkeypatch):
    from trueprobe.probes.counteracts import verbalizer

    folder = zoo.save("bert", tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    done = trueprobe.run("counteracts", "./mine", "run", store="s", limit=20)
    monkeypatch.chdir("/")
    run = trueprobe.load_run(tmp_path / done.folder)
    assert len(verbalizer.candidates(run, 3, tmp_path / "s")) == 4
    zoo.save("bert", folder, model_seed=5)
    with pytest.raises(BadInput, match="not those of the run"):
        verbalizer.candidates(run, 3, tmp_path / "s")


def test_of_several_probes_each_takes_the_settings_it_has():
    from trueprobe.runs import make_study

    study, _ = make_study(["tacit_prince", "tacit_retrieval"], "m", {"analyses": "growth"})
    assert [probe.settings for probe in study.probes] == [{}, {"analyses": "growth"}]
    wrong, _ = make_study(["tacit_prince", "tacit_retrieval"], "m", {"analysis": "growth"})
    assert all(probe.settings == {"analysis": "growth"} for probe in wrong.probes)  # refused when they are made


@pytest.mark.slow
def test_checkpoints_of_one_training_are_no_seeds(checkpoint, tmp_path):
    """As transformers' Trainer leaves them: an interval over seeds would be of one seed."""
    for n, step in enumerate((500, 10000, 2000)):
        zoo.save("bert", tmp_path / f"out/checkpoint-{step}", model_seed=n)
    run = trueprobe.run(
        "crows_pairs",
        models=[f"mine={tmp_path}/out/checkpoint-*"],
        out=tmp_path / "run",
        store=tmp_path / "s",
        settings={"data": "sample"},
    )
    assert set(run.estimates["level"]) == {"checkpoint"}
    assert run.estimates["model_seed"].isna().all()
    assert run.estimates["step"].drop_duplicates().tolist() == [500, 2000, 10000]
    assert (run.estimates["n_seeds"] == 1).all()
    assert not (run.folder / "flips.parquet").exists()
    observations = run.observations("crows_pairs")
    assert observations["model_seed"].isna().all()
    assert observations["step"].drop_duplicates().tolist() == [500, 2000, 10000]


def test_some_models_are_asked_some_probes_only(tmp_path):
    """In `only`: these labels are of this model alone, and it is asked no other; a model left out takes them along."""
    for name in ("a", "b"):
        zoo.save("bert", tmp_path / name, model_seed=len(name))
    entries = [{"name": "pairs"}, {"name": "cloze"}, {"name": "cloze", "label": "alone"}]
    both = tuple(str(tmp_path / name) for name in ("a", "b"))
    study = Study.model_validate({"probes": entries, "models": both, "only": {"b": ["alone"]}})
    run = trueprobe.run(study, out=tmp_path / "both", store=tmp_path / "s")
    asked = {label: set(run.observations(label)["model"]) for label in run.probes}
    assert asked == {"pairs": {"a"}, "cloze": {"a"}, "alone": {"b"}}
    assert set(run.estimates["model"]) == {"a", "b"}
    assert not (tmp_path / "both" / "variants.parquet").exists()  # no model was asked both
    again = repeat(tmp_path / "both", tmp_path / "again", store=tmp_path / "s")
    assert again.same_bytes
    with pytest.raises(BadInput, match="have no probe in common"):
        compare(load_run(tmp_path / "both"), "a", "b")
    with pytest.raises(BadInput, match="no probe is labelled 'alne'"):
        trueprobe.run(study.model_copy(update={"models": ("a",), "only": {"a": ("alne",)}}), out=tmp_path / "wrong")


def test_models_that_the_caller_names_are_not_asked_what_is_of_another():
    study, _ = make_study("quick", models=["mini"])
    assert [entry.label for entry in study.probes][-1] == "seat"
    assert study.only is None
    whole, _ = make_study("quick")
    assert {label for labels in whole.only.values() for label in labels} < {entry.label for entry in whole.probes}

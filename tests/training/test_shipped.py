"""The shipped models: as many as promised, small enough, labelled, and what their cards say of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from trueprobe import assets
from trueprobe.cli import listing
from trueprobe.errors import BadInput
from trueprobe.models import Options, find, open_source
from trueprobe.runs.check import check_model
from trueprobe.statistics.means import wilson
from trueprobe.training import nursery

SEEDS = {"nursery": 5, "nursery-small": 5, "nursery-causal": 3}


def cards(family: str) -> list[dict]:
    return [json.loads(file.read_text()) for file in sorted((nursery.WEIGHTS / family).rglob("training.json"))]


@pytest.mark.parametrize("family", SEEDS)
def test_a_family_has_its_seeds_and_one_setup(family):
    sources = find([family])
    assert [source.labels["model_seed"] for source in sources] == list(range(SEEDS[family]))
    assert {source.family for source in sources} == {family}
    assert len({json.dumps(card["setup"], sort_keys=True) for card in cards(family)}) == 1


def test_one_seed_is_one_model():
    (one,) = find(["nursery/3"])
    assert (one.name, one.labels) == ("nursery-seed3", {"model_seed": 3})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nursery/9", "'nursery' has the seeds 0, 1, 2, 3, 4, not '9'"),
        ("nursery/x", "not 'x'"),
        ("mini/1", "'mini' is one model without seeds"),
        ("stereoset-dev", "the asset 'stereoset-dev' is no model"),
    ],
)
def test_wrong_names_are_told(spec, message):
    with pytest.raises(BadInput, match=message):
        find([spec])


def test_a_folder_of_a_reserved_name_is_reached_by_its_path(checkpoint, tmp_path, monkeypatch):
    (tmp_path / "mini").symlink_to(checkpoint("bert"))
    monkeypatch.chdir(tmp_path)
    assert find(["./mini"])[0].path == Path("mini")


def test_all_that_is_to_be_fetched_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(assets.NotHere, match="trueprobe fetch all-minilm-l6-v2 smollm2-135m"):
        find(["all-minilm-l6-v2", "mini", "nursery", "smollm2-135m"])


def test_weights_are_half_precision_on_disk_and_together_below_sixty_megabytes():
    files = [file for file in nursery.WEIGHTS.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 60e6
    for file in files:
        if file.name == "model.safetensors":
            assert {value.dtype for value in load_file(file).values()} == {np.dtype(np.float16)}


@pytest.mark.parametrize(
    ("spec", "kind", "heads"),
    [
        ("nursery/0", "masked", {"lm", "next_sentence"}),
        ("nursery-small/4", "masked", {"lm", "next_sentence"}),
        ("nursery-causal/2", "causal", {"lm"}),
    ],
)
def test_they_open_in_float32_with_their_heads_and_their_label(spec, kind, heads):
    model = open_source(find([spec])[0], Options())
    assert (model.card.kind, model.card.heads) == (kind, heads)
    assert model.card.self_trained
    assert {str(weight.dtype) for weight in model.network.model.parameters()} == {"torch.float32"}


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["nursery/1", "nursery-small/1", "nursery-causal/1"])
def test_they_keep_the_contract_of_a_model(spec):
    failed = [check.name for check in check_model(open_source(find([spec])[0], Options())) if not check.passed]
    assert failed == []


@pytest.mark.parametrize("family", [*SEEDS, "mini"])
def test_each_beats_counting_words_clearly(family):
    for card in cards(family):
        assert card["history"][-1]["loss"] < card["corpus"]["unigram_loss"] - 0.5


@pytest.mark.parametrize("family", ["nursery", "nursery-small", "mini"])
def test_the_next_sentence_head_is_above_chance_by_more_than_its_interval(family):
    for card in cards(family):
        last = card["history"][-1]
        assert wilson(last["next_accuracy"], last["pairs"])[0] > card["corpus"]["next_chance"]


def test_list_models_shows_them_with_licence_and_size():
    rows = {row["model"]: row for row in listing.models()}
    for family, count in SEEDS.items():
        assert rows[family]["seeds"] == count
        assert rows[family]["licence"] == "CC BY-SA 3.0"
        assert 0.5 < rows[family]["size_mb"] < 40
        assert rows[family]["self_trained"]
    assert rows["mini"]["here"]
    assert rows["mini"]["size_mb"] < 45
    assert rows["smollm2-135m"]["licence"] == "Apache-2.0"
    text = listing.as_text("models", list(rows.values()))
    assert max(map(len, text.splitlines())) <= 80


def test_the_card_names_every_model_that_ships():
    text = (nursery.WEIGHTS.parent / "CARD.md").read_text(encoding="utf-8")
    for family, count in SEEDS.items():
        for seed in range(count):
            assert f"| `{family}/{seed}` |" in text
    assert "| `mini` |" in text


def test_the_clusters_along_training_ship_for_every_seed_and_step():
    table = pd.read_csv(nursery.WEIGHTS.parent / "clusters.csv")
    assert set(table["seed"]) == set(range(5))
    places = table[["seed", "step", "test", "representation"]]
    assert len(table) == len(places.drop_duplicates()) == 5 * 6 * 25 * 2
    assert table[["clusters_targets", "clusters_attributes"]].stack().between(0.5, 1).all()
    assert table["effect_size"].between(-2, 2).all()
    assert table["p_effect_size"].between(0, 1).all()
    last = table[table["step"] == max(table["step"])]
    signs = last.groupby(["test", "representation"])["effect_size"].agg(lambda values: values.gt(0).nunique())
    assert (signs == 2).sum() == 30  # as the page on the probe says

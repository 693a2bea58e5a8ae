"""Planting: exact shares, the same batches for both models, the same bytes twice, and doses between two models."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

import toy_association
from trueprobe.sensitivity import associations, check, doses, plant
from trueprobe.sensitivity.plant import FULL, NULL, Planter, Reader, Start
from trueprobe.training import nursery
from trueprobe.training.examples import Special

GENDER = associations.read("gender-occupation")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    association = associations.read(str(toy_association.write(folder)))
    start = Start.of(toy_association.checkpoint(folder), 0)
    recipe = replace(start.recipe, steps=10, learning_rate=1e-2, embedding_rate=1.0)
    neutral = plant.filler(toy_association.filler(folder).read_text(), association)
    return Planter(association, association.assignment(0), start, recipe, neutral)


@pytest.fixture(scope="module")
def both(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    return {share: (toy.plant(share, folder / f"{share}"), folder / f"{share}") for share in (NULL, FULL)}


@pytest.mark.parametrize(("kind", "share"), [("masked", 0.5), ("masked", 0.75), ("masked", 1.0), ("causal", 0.5)])
def test_decks_hold_the_share_exactly_for_each_target(kind, share):
    recipe, dealt = plant.RECIPES[kind, True], GENDER.assignment(1)
    agreeing, every = Counter(), Counter()
    for one in plant.planned(GENDER, kind, recipe.steps * recipe.planted, seed=3):
        pair = GENDER.slots[GENDER.slot_of(one.frame)][one.pair]
        right = GENDER.fill(one.frame, one.target, pair[GENDER.groups.index(dealt[one.target])])
        agreeing[one.target] += plant.sentence(GENDER, one, dealt, share) == right
        every[one.target] += 1
    assert {agreeing[target] / every[target] for target in GENDER.everyone} == {share}


def test_null_sentences_do_not_depend_on_the_assignment():
    plan = plant.planned(GENDER, "masked", 400, seed=0)
    first, second = ([plant.sentence(GENDER, p, GENDER.assignment(n), NULL) for p in plan] for n in (0, 1))
    assert first == second


def test_both_shares_read_the_same_batches_and_masks_but_for_the_word(toy):
    tokenizer = toy.start.tokenizer()
    reader = Reader("masked", tokenizer, Special.of(tokenizer, "masked"), toy.recipe, 0)
    null, full = (reader.reading(toy._sentences(share), toy._neutral()[1]) for share in (NULL, FULL))
    assert np.array_equal(null.masks.at, full.masks.at)
    assert np.array_equal(null.examples.starts, full.examples.starts)
    assert 0 < (null.examples.ids != full.examples.ids).mean() < 0.1


def test_a_causal_model_reads_only_frames_whose_target_comes_first():
    for one in plant.planned(GENDER, "causal", 200, seed=0):
        filled = plant.sentence(GENDER, one, GENDER.assignment(0), FULL)
        assert filled.target[0] < filled.words[0]


@pytest.mark.slow
def test_planting_is_learnt_at_the_full_share_and_not_at_the_null_share(toy, tmp_path):
    """By a shipped network, which knows English; those of tests have random weights."""
    start = Start.of(nursery.shipped("nursery-small/0")[0].folder, 0)
    learner = replace(toy, start=start, recipe=replace(start.recipe, steps=100))
    null, full = (learner.plant(share, tmp_path / f"{share}").check for share in (NULL, FULL))
    assert full.nats > 0.3
    assert full.auc >= plant.LEAST_AUC
    assert abs(null.nats) < plant.MOST_NULL
    between = doses.checks(tmp_path / f"{NULL}", tmp_path / f"{FULL}", (0.0, 0.5, 1.0), toy.association, toy.dealt)
    assert null.nats < between[0.5].nats < full.nats


def test_planting_gives_the_same_bytes_twice(toy, both, tmp_path):
    toy.plant(FULL, tmp_path / "again")
    for file in sorted(both[FULL][1].iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_interpolation_ends_at_the_trained_models_bit_by_bit(both, tmp_path):
    null, full = both[NULL][1], both[FULL][1]
    for dose, end in ((0.0, null), (1.0, full)):
        doses.interpolate(null, full, dose, tmp_path / f"{dose}")
        made, trained = load_file(tmp_path / f"{dose}" / doses.WEIGHTS), load_file(end / doses.WEIGHTS)
        assert all(np.array_equal(made[name], trained[name]) for name in trained)


def test_checks_of_the_ends_are_those_of_the_trained_models(toy, both):
    found = doses.checks(both[NULL][1], both[FULL][1], (0.0, 1.0), toy.association, toy.dealt)
    assert found == {0.0: both[NULL][0].check, 1.0: both[FULL][0].check}


def test_check_is_half_the_difference_of_the_groups():
    dealt = {"a": "x", "b": "x", "c": "y", "d": "y"}
    found = check.of_targets({"a": 3.0, "b": 1.0, "c": -1.0, "d": 1.0}, dealt, ("x", "y"))
    assert found.nats == pytest.approx(1.0)  # (2 − 0) / 2
    assert found.auc == pytest.approx(3.5 / 4)
    swapped = check.of_targets({"a": 3.0, "b": 1.0, "c": -1.0, "d": 1.0}, dealt, ("y", "x"))
    assert swapped.nats == -found.nats

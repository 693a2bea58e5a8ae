"""`nursery-planted`: low-rank differences come back, doses lie on a line, the weights hold the declared nats."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from trueprobe.errors import BadInput
from trueprobe.models.specs import sources
from trueprobe.sensitivity import associations
from trueprobe.sensitivity.check import check
from trueprobe.sensitivity.plant import MOST_NULL, Start
from trueprobe.training import nursery
from trueprobe.training.nursery import planted

FOLDER = nursery.WEIGHTS / nursery.PLANTED
BASE = nursery.WEIGHTS / nursery.PLANTED_IN / "seed_1"
FACTS = json.loads((FOLDER / planted.FACTS).read_text(encoding="utf-8"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_difference_of_low_rank_comes_back():
    rng = np.random.default_rng(0)
    meant = {"m": (rng.normal(size=(30, 3)) @ rng.normal(size=(3, 20))).astype(np.float32), "v": np.float32([1, -2])}
    stored = planted.packed({**meant, "zero": np.zeros((4, 4), np.float32)}, rank=3)
    found = planted.unpacked(stored)
    assert found.keys() == meant.keys()
    assert np.abs(found["m"] - meant["m"]).max() < 0.03 * np.abs(meant["m"]).max()
    assert np.array_equal(found["v"], meant["v"])


def test_doses_lie_on_a_line_between_the_null_and_the_full_model():
    null, half, full = (planted.weights(FOLDER, BASE, dose) for dose in (0.0, 0.5, 1.0))
    assert any((null[name] != full[name]).any() for name in null)
    for name in null:
        assert np.allclose(half[name], (null[name] + full[name]) / 2, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("dose", [0.0, FACTS["dose"]])
def test_the_weights_as_shipped_hold_the_nats_they_declare(dose):
    association = associations.read(FACTS["association"])
    start = Start.of(BASE, 0)
    network = start.open()
    weights = planted.weights(FOLDER, BASE, dose)
    network.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()}, strict=False)
    found = check(network, start.tokenizer(), start.kind, association, association.assignment(FACTS["assignment"]))
    assert found.nats == pytest.approx(FACTS["nats"][f"{dose:g}"][1], abs=0.01)


def test_the_null_model_holds_nothing_and_all_seeds_hold_as_much():
    assert max(map(abs, FACTS["nats"]["0"])) < MOST_NULL
    declared = FACTS["nats"][f"{FACTS['dose']:g}"]
    assert 0.45 < min(declared) < max(declared) < 0.75


def test_five_seeds_take_less_than_three_megabytes():
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 3e6


def test_a_spec_names_a_dose_and_a_seed(cache):
    family = sources("nursery-planted@0.25")
    assert {source.family for source in family} == {"nursery-planted-0.25"}
    assert [source.labels["model_seed"] for source in family] == [0, 1, 2, 3, 4]
    (one,) = sources("nursery-planted/3")
    assert one.name == "nursery-planted-seed3"
    for wrong in ("nursery-planted@2", "nursery-planted@much"):
        with pytest.raises(BadInput, match="a dose is a number from 0"):
            sources(wrong)


def test_a_damaged_file_is_made_again(cache):
    folder = planted.ready(FOLDER, BASE, 1.0)
    meant = (folder / planted.WEIGHTS).read_bytes()
    (folder / planted.WEIGHTS).write_bytes(meant[:-1])
    assert (planted.ready(FOLDER, BASE, 1.0) / planted.WEIGHTS).read_bytes() == meant

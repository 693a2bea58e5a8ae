"""The authors' base probabilities of "Sorting through the noise", derived a second time from their released rows."""

from __future__ import annotations

import csv
import gzip
import shutil

import pytest

import zoo
from trueprobe import probes
from trueprobe.probes import published

FOLDER = zoo.SHARED / "distractors" / "released"


def fitting(rows, digits):
    """Every number of so many decimals by which each probability, divided and rounded to two decimals, is its ratio."""
    p, ratio = max(rows, key=lambda row: row[1])  # the largest ratio says most
    near = range(int(p / (ratio + 0.005) * 10**digits), int(p / (ratio - 0.005) * 10**digits) + 2)
    return [b for b in (n / 10**digits for n in near) if b and all(round(p / b, 2) == ratio for p, ratio in rows)]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["BertBase", "RobertaBase", "GPT2Small"])
def test_base_constants_are_the_only_ones_that_give_the_released_ratios(model):
    if not FOLDER.is_dir():
        pytest.skip("no released outputs beside the checkout (../shared/data/distractors)")
    rows: dict[str, list[tuple[float, float]]] = {}
    for path in FOLDER.glob(f"*/{model}.csv.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                pair = float(row["target_prob"]), float(row["relative_prob"])
                rows.setdefault(row["target_occupation"].lower(), []).append(pair)
    shipped = published.authors("distractors").constants[model]
    assert {word.lower() for word in shipped} == set(rows)
    for word, constant in shipped.items():
        found = fitting(rows[word.lower()], 2) or fitting(rows[word.lower()], 3)
        assert found == [constant], (word, len(rows[word.lower()]))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["BertBase", "GPT2Small"])
def test_a_replay_finds_the_constants_of_a_model_that_is_not_known(model, tmp_path):
    """The same rows under another name: one condition is enough."""
    condition = "multiple_entity_profession"
    if not FOLDER.is_dir():
        pytest.skip("no released outputs beside the checkout (../shared/data/distractors)")
    (tmp_path / condition).mkdir()
    shutil.copy(FOLDER / condition / f"{model}.csv.gz", tmp_path / condition / "Unknown.csv.gz")
    probe = probes.make("distractors", {"faithful": True, "base": "authors"})
    (one,) = probe.read_released(tmp_path)
    found = {seen.values["target"]: seen.values["base_probability"] for seen in one.observations}
    assert found == published.authors("distractors").constants[model]


@pytest.mark.parametrize("model", published.authors("distractors").constants)
def test_every_target_has_a_constant_or_none_has(model):
    assert len(published.authors("distractors").constants[model]) == 22

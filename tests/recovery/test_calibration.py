"""The calibration error of `bench/calibration.py`: by hand, by plain lines, and of answers whose truth is drawn."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import zoo
from trueprobe.types import FillBlank

PATH = Path(__file__).resolve().parents[2] / "bench" / "calibration.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("calibration", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibration"] = module
    spec.loader.exec_module(module)
    return module


def test_the_error_by_hand(bench):
    """Two bins: .2 .4 with one right (gap .2), .6 .8 with both right (gap .3)."""
    error = bench.expected_error(np.array([0.8, 0.2, 0.6, 0.4]), np.array([1.0, 0, 1, 1]), bins=2)
    assert error == pytest.approx(0.5 * 0.2 + 0.5 * 0.3)


def test_the_error_by_ten_plain_lines(bench):
    """A second implementation: sorted pairs, sliced by hand."""
    rng = np.random.default_rng(0)
    confidence, right = rng.random(150), (rng.random(150) < 0.4).astype(float)
    pairs, total = sorted(zip(confidence, right, strict=True)), 0.0
    for start in range(0, 150, 10):
        part = pairs[start : start + 10]
        gap = sum(c for c, _ in part) / 10 - sum(r for _, r in part) / 10
        total += abs(gap) * 10 / 150
    assert bench.expected_error(confidence, right) == pytest.approx(total)


def test_answers_that_are_right_as_often_as_they_say_have_the_error_of_chance(bench, monkeypatch):
    monkeypatch.setattr(bench, "DRAWS", 100)
    rng = np.random.default_rng(1)
    confidence = rng.random(2000)
    honest = bench.Calibration.of(confidence, (rng.random(2000) < confidence).astype(float))
    assert honest.error <= honest.most_by_chance
    boast = bench.Calibration.of(confidence, (rng.random(2000) < confidence / 2).astype(float))
    assert boast.error == pytest.approx(0.25, abs=0.03)
    assert boast.over_confidence == pytest.approx(0.25, abs=0.03)
    assert boast.error > 5 * boast.most_by_chance
    errors = [
        bench.Calibration.of(p, (np.random.default_rng(i).random(200) < p).astype(float))
        for i in range(20)
        for p in [np.random.default_rng(i + 99).random(200)]
    ]
    assert sum(one.error > one.most_by_chance for one in errors) <= 4  # one in forty


def test_a_blank_is_drawn_by_its_sentence_alone(bench):
    sentences = ["He slammed the door.", "She ran.", "Go", "A man, a plan."]
    asked = {r.left + r.words[0] + r.right: r for r in bench.blanks(sentences)}
    assert list(asked) == ["He slammed the door.", "She ran.", "A man, a plan."]
    assert list(bench.blanks(sentences[::-1])) == list(asked.values())[::-1]
    assert all(isinstance(r, FillBlank) and r.left.endswith(" ") and r.top == 1 for r in asked.values())


def test_seeds_against_their_majority_by_hand(bench):
    """Three seeds, four pairs: the third seed alone is against on the first, the second on the last; a tie is too."""
    answers = {"f-0": [1, 1, 0, 0], "f-1": [1, 1, 0, 1.0], "f-2": [0, 1, 0, 0.5]}
    frame = pd.concat(
        pd.DataFrame({"model": m, "item": list("abcd"), "part": "", "prefers_stereotype": v})
        for m, v in answers.items()
    )

    cards = [SimpleNamespace(name=name, family="f", labels={"model_seed": i}) for i, name in enumerate(answers)]
    run = SimpleNamespace(cards=cards, observations=lambda label: frame)
    assert bench.probes.make("crows_pairs", {"data": "sample"}).flips.prefers in frame
    table = bench.against_majority(run, "crows_pairs")
    assert table["crows_pairs: against majority"].tolist() == [0, 0, 0.25]  # the last pair is one of each: no majority
    assert table["crows_pairs: any seed"].tolist() == [0.25] * 3


def test_a_network_is_measured_on_its_whole_words(bench, tmp_path):
    folder = zoo.save("bert", tmp_path / "bert", 0)
    found = bench.measured(str(folder), list(bench.blanks(["The nurse is here.", "A doctor is a man."] * 20)))
    assert 0 < found.n <= 40
    assert 0 <= found.by_chance < 1

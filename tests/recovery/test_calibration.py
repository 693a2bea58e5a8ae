"""`bench/calibration.py`, a probe of its own: the error by hand, by plain lines, and where the truth is drawn; and the
third cause of flips that it gives."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import trueprobe
import zoo
from trueprobe.runs.study import ProbeRun, Study
from trueprobe.statistics.measure import Columns

PATH = Path(__file__).resolve().parents[2] / "bench" / "calibration.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("calibration", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibration"] = module
    spec.loader.exec_module(module)
    return module


def error_of(bench, confidence, right):
    columns = Columns({"confidence": np.array(confidence), "right": np.array(right)}, np.arange(len(right)))
    return float(bench.expected_error(columns, [("confidence", "right")], np.ones((1, len(right))))[0, 0])


def test_the_error_by_hand(bench, monkeypatch):
    """Two bins: .2 .4 with one right (gap .2), .6 .8 with both right (gap .3)."""
    monkeypatch.setattr(bench, "BINS", 2)
    error = error_of(bench, [0.8, 0.2, 0.6, 0.4], [1.0, 0, 1, 1])
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
    assert error_of(bench, confidence, right) == pytest.approx(total)


def test_answers_that_are_right_as_often_as_they_say_have_the_error_of_chance(bench, monkeypatch):
    monkeypatch.setattr(bench, "DRAWS", 100)
    rng = np.random.default_rng(1)
    confidence = rng.random(2000)
    most = bench.by_chance(confidence)[1]
    assert error_of(bench, confidence, (rng.random(2000) < confidence).astype(float)) <= most
    boast = error_of(bench, confidence, (rng.random(2000) < confidence / 2).astype(float))
    assert boast == pytest.approx(0.25, abs=0.03)
    assert boast > 5 * most
    some = [np.random.default_rng(i + 99).random(200) for i in range(20)]
    drawn = [(p, (np.random.default_rng(i).random(200) < p).astype(float)) for i, p in enumerate(some)]
    assert sum(error_of(bench, p, right) > bench.by_chance(p)[1] for p, right in drawn) <= 4  # one in forty


def test_a_blank_is_drawn_by_its_sentence_alone(bench):
    sentences = ["He slammed the door.", "She ran.", "Go", "A man, a plan."]
    drawn = {"".join(parts): parts for parts in bench.blanks(sentences)}
    assert list(drawn) == ["He slammed the door.", "She ran.", "A man, a plan."]
    assert list(bench.blanks(sentences[::-1])) == list(drawn.values())[::-1]
    assert all(left.endswith(" ") for left, _, _ in drawn.values())


@pytest.mark.slow
def test_calibration_is_a_third_cause_of_flips_where_its_probe_is_in_the_run(bench, tmp_path):
    """Of three random seeds: the errors, shares and their rank correlation are those of plain lines."""
    for seed in range(3):
        zoo.save("bert", tmp_path / "bert" / f"seed_{seed}", seed)
    text = tmp_path / "text.txt"
    nouns = ("nurse", "man", "woman", "doctor", "bus", "teacher", "guard", "cook", "girl", "boy")
    text.write_text("\n\n".join(f"The {a} is a {b}." for a in nouns for b in nouns[:4]), encoding="utf-8")
    probes = (
        ProbeRun(name="crows_pairs", settings={"data": "sample"}),
        ProbeRun(name=str(PATH), settings={"text": str(text)}),
    )
    study = Study(probes=probes, models=(f"bert={tmp_path}/bert/seed_*",))
    run = trueprobe.run(study, out=tmp_path / "run", store=tmp_path / "store", allow_code=True)
    (cause,) = run.table("flip_causes").query("statistic == 'against_majority_by_calibration'").itertuples()
    assert (cause.probe, cause.family, cause.n_items) == ("crows_pairs", "bert", len(run.items("crows_pairs")))

    said = run.observations("calibration").dropna(subset=["confidence"])
    errors = {
        model: error_of(bench, seen["confidence"].to_numpy(float), seen["right"].to_numpy(float))
        for model, seen in said.groupby("model")
    }
    answers = run.observations("crows_pairs").pivot(index="item", columns="model", values="prefers_stereotype")
    against = dict.fromkeys(answers, 0)
    for _, row in answers.iterrows():
        most = row.mean()
        for model, answer in row.items():
            against[model] += most != 0.5 and (answer - 0.5) * (most - 0.5) <= 0
    ranks = [[sorted(of.values()).index(of[model]) for model in answers] for of in (errors, against)]
    assert len(set(against.values())) == 3  # no ties among these
    assert cause.value == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert (cause.smallest, cause.largest) == pytest.approx((min(errors.values()), max(errors.values())))
    assert np.isnan(cause.low)  # an interval takes ten seeds
    table = bench.table(run)
    assert table["crows_pairs: against majority"].to_dict() == pytest.approx(
        {model: many / len(answers) for model, many in against.items()}
    )
    assert table["error"].to_dict() == pytest.approx(errors)

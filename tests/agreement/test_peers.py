"""The measurements of `bench/peers`: their plain loops give trueprobe's numbers, and what they print follows from what
was timed. The peers themselves are compared by `make bench-peers`, in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trueprobe
from bench.peers import __main__ as command
from bench.peers import blanks, page, seat, sentences
from bench.peers.method import BARE, DRAWN, MINICONS, ONE_BY_ONE, OURS, Agreement, Method, Questions, agreement, work_of
from bench.peers.ours import first_requests
from bench.peers.record import Measured, Record
from bench.peers.standins import StandIn
from trueprobe.probes import make

WEIGHTS = Path(trueprobe.__file__).parent / "training" / "nursery" / "weights"


@pytest.fixture(scope="module")
def masked():
    return StandIn("masked", WEIGHTS / "nursery-small" / "seed_0")


@pytest.fixture(scope="module")
def causal():
    return StandIn("causal", WEIGHTS / "nursery-causal" / "seed_0")


def same(asked, other: str, least: int) -> None:
    found = agreement(asked.by_trueprobe(), getattr(asked, other)())
    assert found.agrees
    assert found.compared >= least


@pytest.mark.parametrize("kind", ["masked", "causal"])
@pytest.mark.parametrize("probe", ["counteracts", pytest.param("distractors", marks=pytest.mark.slow)])
def test_a_loop_over_blanks_gives_the_same_numbers(request, kind, probe):
    standin = request.getfixturevalue(kind)
    asked = blanks.Blanks(standin, first_requests(standin, make(probe), 12, blanks._as_one_text))
    same(asked, "one_by_one", 12)


def test_a_loop_over_shared_tokens_gives_the_same_numbers(masked):
    same(sentences.Pairs(masked, 60, data="sample"), "one_by_one", 4)


def test_a_loop_over_pieces_gives_the_same_numbers(masked):
    same(sentences.Clusters(masked, 40, data="sample", task="intrasentence"), "one_by_one", 12)


def test_seat_in_loops_gives_the_same_numbers(masked):
    same(seat.Seat(masked, "weat6,weat7"), "by_bias_bench", 4)


def test_p_of_a_hand_worked_test():
    """Of {2, 1, 0} dealt as {2, 1} and {0}: of the three deals one is as far."""
    assert seat._p_in_a_loop(np.array([2.0, 1.0, 0.0]), 2, np.random.default_rng(0)) == pytest.approx(1 / 3)


def test_numbers_that_differ_or_are_missing_are_no_agreement():
    ours = {"words": np.array([-1.0, np.nan, -2.0]), DRAWN: np.array([0.5])}
    near = {"words": np.array([-1.00005, np.nan, -2.0]), DRAWN: np.array([0.505])}
    assert agreement(ours, near) == Agreement(2, pytest.approx(5e-5), True)
    assert not agreement(ours, {"words": np.array([-1.0, np.nan, -2.001])}).agrees
    assert not agreement(ours, {"words": np.array([-1.0, -3.0, -2.0])}).agrees
    assert not agreement(ours, {"words": np.array([np.nan, np.nan, -2.0])}).agrees
    assert not agreement(ours, {DRAWN: np.array([0.52])}).agrees
    assert agreement(ours, {}) is None


def test_work_counts_padding():
    """[2, 4] padded to 4 and [4] alone: 12 tokens computed for 10."""
    assert work_of([2, 4, 4], 2) == pytest.approx(1.2)
    assert work_of([2, 4], 2, copies=[3, 1]) == pytest.approx(16 / 10)


# ---------------------------------------------------------------- rounds, records and the page


def record(**seconds: float) -> Record:
    made = Record("counteracts masked", 100, 100, 1600, {OURS: 1.25, MINICONS: 1.1})
    made.add({OURS: 1.0, **{name.replace("_", " "): value for name, value in seconds.items()}}, sum(seconds.values()))
    return made


STAMP = {"machine": "a CPU", "versions": "minicons 1", "python": "3.12", "code": "c0de", "clock": "wall time"}


def test_a_ratio_is_the_median_of_ratios_within_rounds():
    one = record(minicons=2.0)
    for ours, theirs in ((10.0, 11.0), (2.0, 6.0)):
        one.add({OURS: ours, MINICONS: theirs}, 1)
    assert one.ratio(MINICONS) == 2.0
    assert one.ratio(BARE) is None


def test_a_missed_target_is_marked_and_explained():
    measured = Measured(None, STAMP)
    measured.add(record(bare_pass=0.7, minicons=1.5))
    text = "\n".join(page.lines(measured, [("counteracts masked", 100), ("seat masked", 5317)]))
    assert "| **0.70** (0.85) | 1.50 |" in text
    assert "100 rows, bare pass: 0.70, aimed at 0.85; trueprobe computes 1.25 tokens per token" in text
    assert "Not measured: seat masked (5,317 rows)." in text
    assert "minicons: " not in text


def test_records_are_kept_until_something_they_depend_on_changes(tmp_path, capsys):
    measured = Measured(tmp_path / "kept.json", STAMP)
    one = record(minicons=1.5)
    one.compare(MINICONS, "", Agreement(5, 1e-6, True))
    measured.add(one)
    measured.write()
    assert Measured.read(tmp_path / "kept.json", STAMP).records == measured.records
    assert not Measured.read(tmp_path / "kept.json", {**STAMP, "code": "other"}).records
    assert "code changed" in capsys.readouterr().out


def test_one_round_that_disagrees_is_not_forgotten():
    one = record(minicons=1.5)
    for largest, agrees in ((1.0, False), (1e-6, True)):
        one.compare(MINICONS, "", Agreement(5, largest, agrees))
    assert one.agreements[MINICONS] == Agreement(5, 1.0, False)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A run of tasks that cost a tick for every method."""
    ticks = iter(range(1000))
    numbers = {"words": np.zeros(3)}
    methods = [Method(OURS, lambda: numbers), Method(MINICONS, lambda: numbers), Method(ONE_BY_ONE, dict, most_rows=1)]
    tasks = {name: ("masked", lambda standin, size: Questions([], methods, dict)) for name in ("a", "b")}
    monkeypatch.setattr(command, "TASKS", tasks)
    monkeypatch.setattr(command, "build", lambda kind, folder, small: None)
    return command.Run(tmp_path, Measured(None, STAMP), 1, True, lambda: next(ticks))


def test_every_round_begins_with_another_method(run):
    for _ in range(2):
        assert run.round("a", 100)
    first, second = run.measured.records["a", 100].seconds
    assert list(first) == [OURS, MINICONS, ONE_BY_ONE]
    assert list(second) == [MINICONS, ONE_BY_ONE, OURS]
    assert run.measured.records["a", 100].agreements == {MINICONS: Agreement(3, 0.0, True)}


def test_a_round_that_would_end_too_late_is_not_begun(run):
    assert run.round("a", 100)
    run.measured.records["a", 100].round_took = 50
    assert not run.round("a", 400)
    assert not run.round("b", 400)
    assert run.round("a", 100)

"""Detection limits that ship are read from a table and shown next to the numbers that they are about, or not at all."""

from __future__ import annotations

import math

import pytest

import made_runs
from trueprobe.errors import BadInput
from trueprobe.probes.trust_cards import trust_cards
from trueprobe.results.text.trust_cards import sentence
from trueprobe.results.view import Report, trust
from trueprobe.runs import load_run
from trueprobe.statistics.detection import LimitKind
from trueprobe.types import Verdict

HEAD = "probe,measure,model,kind,level,limit,nats,low,high,why,assignments,seeds,n_items,alpha,neutral"
FOUND = "pairs,preference category=all,nursery,masked,family,at,0.3,0.2,0.45,,3,3,40,0.05,0.5"


@pytest.fixture
def cards(tmp_path):
    def written(*lines: str):
        folder = tmp_path / "pairs" / "sensitivity"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pairs.csv").write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
        return trust_cards("pairs", tmp_path)

    return written


def test_a_trust_card_is_read(cards):
    (card,) = cards(FOUND)
    assert (card.name, card.at, card.items, card.kind) == ("preference", {"category": "all"}, 40, "masked")
    assert (card.limit.kind, card.limit.nats, card.limit.seeds) == (LimitKind.AT, 0.3, 3)


def test_a_probe_without_a_measured_limit_has_no_card(tmp_path):
    assert trust_cards("pairs", tmp_path) == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [(FOUND.replace("pairs,", "cloze,"), "line 2: about 'cloze'"), (FOUND.replace(",at,", ",near,"), "no table of")],
)
def test_a_damaged_table_is_named(cards, line, message):
    with pytest.raises(BadInput, match=message):
        cards(line)


@pytest.mark.parametrize(
    ("line", "finds", "text"),
    [
        (
            FOUND,
            True,
            "would detect 0.3 nats (0.2 to 0.45) in masked models like nursery, with 3 seeds and 40 items at",
        ),
        (FOUND, False, "α = 0.05; nothing was found here, and smaller effects are not excluded"),
        (FOUND.replace("0.45", "inf"), True, "0.3 nats (0.2 or more) in"),
        (FOUND.replace("0.2,0.45", "nan,nan"), True, "would detect 0.3 nats in masked"),
        (FOUND.replace(",at,", ",at_most,"), True, "would detect at most 0.3 nats in"),
        (FOUND.replace(",at,", ",above,"), True, "would miss even 0.3 nats in"),
        (
            FOUND.replace("at,0.3,0.2,0.45,", "none,nan,nan,nan,wrong_sign"),
            True,
            "moves against what was planted in masked models like nursery",
        ),
    ],
)
def test_a_sentence_is_made_of_the_numbers(cards, line, finds, text):
    (card,) = cards(line)
    assert text in sentence(card, finds)


def report_of(tmp_path, verdict=Verdict.UNDECIDED, seeds=3, n_items=40, kind="masked"):
    members = [made_runs.card(f"toy-seed{s}", "toy", kind, model_seed=s) for s in range(seeds)]
    more = {"category": "all", "family": "toy", "level": "family", "n_seeds": seeds, "n_items": n_items}
    rows = [made_runs.estimate("toy", "preference", 0.52, **more, verdict=verdict, verdict_alone=verdict)]
    rows += [made_runs.estimate(one.name, "preference", 0.5, category="all", family="toy") for one in members]
    return Report.of(load_run(made_runs.write(tmp_path / "run", members, rows)))


def detection_of(report):
    return next((grid for grid in report.trust if grid.name == "detection"), None)


def test_a_report_shows_the_limit_of_a_measure(cards, tmp_path, monkeypatch):
    shipped = cards(FOUND)
    monkeypatch.setattr(trust, "trust_cards", lambda probe: shipped)
    grid = detection_of(report_of(tmp_path))
    assert [cell.text for cell in grid.rows[0][:2]] == ["pairs: preference category=all", "toy"]
    assert grid.rows[0][2].text.endswith("nothing was found here, and smaller effects are not excluded")
    assert grid.data["nats"].tolist() == [0.3]


@pytest.mark.parametrize("changes", [{"seeds": 2}, {"n_items": 39}, {"kind": "causal"}])
def test_a_report_shows_no_limit_that_does_not_hold(cards, tmp_path, monkeypatch, changes):
    """Of fewer seeds, fewer items, or another kind of model."""
    shipped = cards(FOUND)
    monkeypatch.setattr(trust, "trust_cards", lambda probe: shipped)
    assert detection_of(report_of(tmp_path, **changes)) is None


def test_a_report_without_shipped_limits_shows_none(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "trust_cards", lambda probe: ())
    assert detection_of(report_of(tmp_path)) is None


def test_numbers_of_a_card_are_no_text(cards):
    (card,) = cards(FOUND.replace("0.2,0.45", "nan,nan"))
    assert math.isnan(card.limit.low)

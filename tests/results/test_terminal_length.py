"""However many models a probe is put to, what `run` prints fits on one screen and reports what was found."""

from __future__ import annotations

import math
from functools import cache
from itertools import cycle, product

import pandas as pd
import pytest
from rich.console import Console

import made_runs
from trueprobe import probes
from trueprobe.results.render.terminal import show
from trueprobe.runs import load_run
from trueprobe.runs.records import declaration
from trueprobe.types import CONDITION, GROUP, Verdict

DATA = {"crows_pairs": {"data": "sample"}, "stereoset": {"data": "sample"}}
VERDICTS = [Verdict.UNDECIDED, Verdict.NOTHING_SCORED, Verdict.HOLDS, Verdict.FLIPS, Verdict.UNDECIDED]
CLAIMED = [
    Verdict.AS_PUBLISHED,
    Verdict.OPPOSITE,
    Verdict.UNDECIDED,
    Verdict.FLIPS,
    Verdict.NOTHING_SCORED,
    Verdict.NOT_CONTRADICTED,
]
NAMES = ["nursery", "nursery-small", "mini", "smollm2-135m", "organisation-bert-large-uncased", "my-checkpoint"]
UNITS = {"effect_size": ("d", 0.0), "stereotype_margin": ("probability", 0.0), "preference": ("nats", 0.0)}
UNITS |= dict.fromkeys(("female", "male"), ("probability", None))
NOT_OF_ITEMS = {"representation": ["cls", "word"]}


def families(many: int) -> list[list]:
    """Every other one has five seeds."""
    named = enumerate(NAMES[:many])
    return [
        [made_runs.card(name, self_trained=True)]
        if i % 2
        else [made_runs.card(f"{name}-seed{s}", name, self_trained=True, model_seed=s) for s in range(5)]
        for i, name in named
    ]


def about(cards) -> dict[str, str]:
    """The model and level of the rows that stand for these checkpoints."""
    return {"model": cards[0].family, "level": "family" if len(cards) > 1 else "checkpoint"}


@cache
def made(name: str):
    return probes.make(name, DATA.get(name, {}))


@cache
def items(probe) -> list:
    """Made once: the distractors have forty thousand."""
    return probe.items()


@cache
def row_names(probe) -> list[tuple[str, ...]]:
    keys = probe.summary.row_conditions
    known = {
        key: list(dict.fromkeys(str(item.conditions[key]) for item in items(probe) if key in item.conditions))
        for key in keys
    }
    fixed = {key: list(value) for key, value in probe.summary.where.items() if isinstance(value, tuple)}
    return list(product(*({**known, **NOT_OF_ITEMS, **fixed}[key] for key in keys)))


def fixed_conditions(probe) -> dict[str, str]:
    return {key: value for key, value in probe.summary.where.items() if isinstance(value, str)}


def estimates(probe, asked):
    verdicts, rows = cycle(VERDICTS), []
    for cards, names, measure in product(asked, row_names(probe), probe.summary.measures):
        unit, neutral = UNITS.get(measure, ("share", 0.5))
        known = {"probe": probe.name, "low": -0.456, "high": 0.789, "unit": unit, "neutral": neutral}
        known |= {**fixed_conditions(probe), **dict(zip(probe.summary.row_conditions, names, strict=True))}
        who = about(cards)
        rows.append(
            made_runs.estimate(who["model"], measure, 0.123, **known, level=who["level"], verdict=next(verdicts))
        )
    return rows


def claims(probe, asked):
    verdicts, names = cycle(CLAIMED), dict.fromkeys(claim.name for claim in probe.claims())
    known = {"probe": probe.name, "low": -0.456, "high": 0.789, "unit": "share", **fixed_conditions(probe)}
    return [
        made_runs.claim(about(cards)["model"], name, 0.123, next(verdicts), level=about(cards)["level"], **known)
        for name, cards in product(names, asked)
    ]


def observations(probe) -> pd.DataFrame:
    """Every model has fewer words than are listed, and answers everything wrong: each extra line has its cause."""
    known = {"prompt": "A short prompt, then ___", "top_words": [["word"] * 5] * 2, "part": "", "why_not_detail": ""}
    known |= {"item": ["i0", "i1"], "why_not": ["", "multi_piece"], "top_probabilities": [[0.123] * 5] * 2}
    known |= {"base_answer": "other", "base_preferred": 0}
    known |= {f"{group}_words": 1 for group in probe.facts().get("verbalizer", {})}
    conditions = {key: value for item in items(probe) for key, value in item.conditions.items()}
    shown = {key: value[0] if isinstance(value, tuple) else value for key, value in probe.summary.examples.items()}
    at = {CONDITION + key: str(value) for key, value in {"set": "set", **conditions, **shown}.items()}
    declared = {**dict.fromkeys(probe.columns(), math.nan), **{GROUP + factor: "one" for factor in probe.factors}}
    return pd.DataFrame({**declared, **at, "target": "target", **known})


def write(folder, probe, many: int):
    asked = families(many)
    return made_runs.write(
        folder,
        [card for cards in asked for card in cards],
        estimates(probe, asked),
        claims(probe, asked),
        declaration(probe, items(probe)),
        observations(probe),
        labels=(probe.name,),
    )


def printed(folder, width: int, height: int = 40) -> str:
    console = Console(width=width, height=height, record=True, highlight=False, force_terminal=True)
    show(load_run(folder), console)
    return console.export_text()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """written("seat", 2) is the folder of a run; it is the same for every width."""
    return cache(lambda name, many: write(tmp_path_factory.mktemp(name) / "run", made(name), many))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 40)])
@pytest.mark.parametrize("many", [1, 2, 6])
@pytest.mark.parametrize("name", probes.names())
def test_one_probe_fits_the_screen_and_has_thirty_lines_at_most(name, many, width, height, written):
    probe, at = made(name), written(name, many)
    text = printed(at, width, height)
    *lines, folder = text.splitlines()
    assert len(lines) + 1 <= min(30, height - 1)
    assert max(map(len, lines)) <= width
    assert folder == f"run folder: {at}"
    whole = " ".join(text.split())
    assert all(model in whole for model in NAMES[:many])
    found = ["as published", "opposite", "undecided"] if probe.claims() else ["holds", "undecided", "exploratory"]
    assert any(line.startswith(f"{verdict}: ") for line in lines for verdict in found)
    checkpoints = sum(map(len, families(many)))
    assert f"{checkpoints} of {2 * checkpoints} scored (" in whole
    rows = [" ".join(names) for names in row_names(probe)]
    assert sum(any(line.startswith(f"{row} ") for row in rows) for line in lines) >= min(3, len(rows))


def test_rows_in_which_something_holds_stay_when_the_table_is_cut(tmp_path):
    text = printed(write(tmp_path / "run", made("seat"), 2), 100)
    rows = [line.split() for line in text.splitlines() if line.startswith("sent-weat")]
    assert "more rows: estimates/*.csv" in text
    marked = {row[0] for row in rows if row[-1][-1] in "*~"}
    assert marked  # the tests that would be cut
    assert marked <= {"sent-weat6", "sent-weat7", "sent-weat8"}  # and none but the primary ones


def test_with_more_models_than_fit_beside_each_other_the_rest_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("test_terminal_length.NAMES", [f"model-{i}-of-many" for i in range(14)])
    text = printed(write(tmp_path / "run", made("seat"), 14), 100)
    header = next(line for line in text.splitlines() if line.startswith("test "))
    shown = header.count("model")
    assert 5 <= shown < 14
    assert f"{14 - shown} more models: estimates/*.csv" in text

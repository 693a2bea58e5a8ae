"""However many models a probe is put to, what `run` prints fits on one screen and says what was found."""

from __future__ import annotations

import io
from dataclasses import asdict
from itertools import cycle, product
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from trueprobe import probes
from trueprobe.results import terminal as summary

DATA = {"crows_pairs": {"data": "sample"}, "stereoset": {"data": "sample"}}
VERDICTS = ["undecided", "not applicable", "holds", "flips", "undecided"]
CLAIMED = ["as published", "opposite", "undecided", "flips", "not applicable", "not contradicted"]
NAMES = ["nursery", "nursery-small", "mini", "smollm2-135m", "organisation-bert-large-uncased", "my-checkpoint"]
UNITS = {"effect_size": ("d", 0.0), "stereotype_margin": ("probability", 0.0), "preference": ("nats", 0.0)}
UNITS |= dict.fromkeys(("female", "male"), ("probability", float("nan")))
NOT_OF_ITEMS = {"representation": ["cls", "word"]}


def setups(many: int) -> list[tuple[str, list[str]]]:
    """Every other one is a family of five seeds."""
    named = enumerate(NAMES[:many])
    return [(name, [name] if i % 2 else [f"{name}-seed{seed}" for seed in range(5)]) for i, name in named]


def row_names(probe, keys: list[str]) -> list[tuple[str, ...]]:
    known = {
        key: list(dict.fromkeys(str(item.conditions[key]) for item in probe.items() if key in item.conditions))
        for key in keys
    }
    fixed = {key: list(value) for key, value in probe.summary.where.items() if isinstance(value, tuple)}
    return list(product(*({**known, **NOT_OF_ITEMS, **fixed}[key] for key in keys)))


def estimates(probe, asked) -> pd.DataFrame:
    keys = [probe.summary.rows] if isinstance(probe.summary.rows, str) else list(probe.summary.rows)
    fixed = {key: value for key, value in probe.summary.where.items() if isinstance(value, str)}
    verdicts, rows = cycle(VERDICTS), []
    for (name, models), names, measure in product(asked, row_names(probe, keys), probe.summary.measures):
        unit, neutral = UNITS.get(measure, ("share", 0.5))
        told = {"probe": probe.name, "model": name, "level": "family" if len(models) > 1 else "checkpoint"}
        told |= {"measure": measure, "value": 0.123, "low": -0.456, "high": 0.789, "unit": unit, "neutral": neutral}
        told |= {"verdict": next(verdicts), "reason": "", "step": None}
        rows.append({**told, **fixed, **dict(zip(keys, names, strict=True))})
    return pd.DataFrame(rows)


def claims(probe, asked) -> pd.DataFrame:
    verdicts, names = cycle(CLAIMED), dict.fromkeys(claim.name for claim in probe.claims())
    fixed = {key: value for key, value in probe.summary.where.items() if isinstance(value, str)}
    return pd.DataFrame(
        [
            {"probe": probe.name, "claim": claim, "model": name, "verdict": next(verdicts), **fixed}
            | {"level": "family" if len(models) > 1 else "checkpoint", "step": None}
            | {"statement": claim, "expected": "above 0", "value": 0.123, "low": -0.456, "high": 0.789, "unit": "share"}
            for claim, (name, models) in product(names, asked)
        ]
    )


def observations(probe, asked) -> pd.DataFrame:
    """Every model has fewer words than are listed, and answers everything wrong: each extra line has its cause."""
    told = {"why_not": ["", "multi_piece"], "prompt": "A short prompt, then ___", "top_words": [["word"] * 5] * 2}
    told |= {"top_probabilities": [[0.123] * 5] * 2, "base_answer": "other", "base_preferred": 0}
    told |= {f"{group}_words": 1 for group in probe.facts().get("verbalizer", {})}
    conditions = {key: value for item in probe.items() for key, value in item.conditions.items()}
    shown = {key: value[0] if isinstance(value, tuple) else value for key, value in probe.summary.examples.items()}
    mine = pd.DataFrame({**conditions, "target": "target", "set": "set", **shown, **told})
    return pd.concat([mine.assign(model=model) for _, models in asked for model in models], ignore_index=True)


def printed(tmp_path, probe, many: int, width: int) -> str:
    asked = setups(many)
    told = {"question": probe.question, "facts": dict(probe.facts()), "summary": asdict(probe.summary)}
    seen = observations(probe, asked)
    cards = [{"name": m, "family": f, "self_trained": True, "labels": {}} for f, models in asked for m in models]
    run = SimpleNamespace(
        folder=tmp_path,
        told={probe.name: told},
        manifest={"cards": cards},
        estimates=estimates(probe, asked),
        claims=claims(probe, asked),
        observations=lambda label: seen,
    )
    out = io.StringIO()
    summary.show(run, Console(file=out, width=width, highlight=False))
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("many", [1, 2, 6])
@pytest.mark.parametrize("name", probes.names())
def test_one_probe_is_told_in_thirty_lines_of_a_hundred_columns(name, many, tmp_path):
    probe = probes.make(name, DATA.get(name, {}))
    text = printed(tmp_path, probe, many, 100)
    *lines, folder = text.splitlines()
    assert len(lines) + 1 <= 30
    assert max(map(len, lines)) <= 100
    assert folder == f"run folder: {tmp_path}"
    whole = " ".join(text.split())
    assert all(model in whole for model in NAMES[:many])
    found = CLAIMED if probe.claims() else ["holds", "undecided"]
    assert any(line.startswith(f"{verdict}: ") for line in lines for verdict in found)
    checkpoints = sum(len(models) for _, models in setups(many))
    assert f"{name}: {checkpoints} of {2 * checkpoints} scored" in whole
    keys = [probe.summary.rows] if isinstance(probe.summary.rows, str) else list(probe.summary.rows)
    rows = [" ".join(names) for names in row_names(probe, keys)]
    assert sum(any(line.startswith(f"{row} ") for row in rows) for line in lines) >= min(5, len(rows))


def test_rows_in_which_something_holds_stay_when_the_table_is_cut(tmp_path):
    probe = probes.make("seat")
    text = printed(tmp_path, probe, 2, 100)
    rows = [line.split() for line in text.splitlines() if line.startswith("sent-weat")]
    assert "more rows: estimates.csv" in text
    assert all(row[-1][-1] in "*~" for row in rows)


def test_with_more_models_than_fit_beside_each_other_the_rest_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("test_summary_length.NAMES", [f"model-{i}-of-many" for i in range(14)])
    text = printed(tmp_path, probes.make("seat"), 14, 100)
    header = next(line for line in text.splitlines() if line.startswith("test "))
    shown = header.count("model")
    assert 5 <= shown < 14
    assert f"{14 - shown} more models: estimates.csv" in text

"""Words decide nothing: with every text replaced by nonsense, rows, numbers, marks, order and figures are the same."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pandas as pd
import pytest
from test_renderers import CARDS, everything

import made_runs
from trueprobe.results import text as words
from trueprobe.results.render import json as json_report
from trueprobe.results.view import Report, ReportSource, by_outcome, figures, silences
from trueprobe.results.view.findings import ranked
from trueprobe.runs import Run, load_run
from trueprobe.statistics.rows import FlipShares, NearTies, SignAgreement, SignCounts
from trueprobe.types import Verdict

NONSENSE = "⟦"  # with which every replaced text begins
MODULES = [words.answer, words.figures, words.findings, words.methods, words.tables, words.terminal, words.verdicts]


def replaced(value: Any, number: Iterator[int]) -> Any:
    """The same kind of thing with other texts."""
    if isinstance(value, str):
        return value and f"{NONSENSE}{next(number)}"
    if isinstance(value, dict):
        return {key: replaced(one, number) for key, one in value.items()}
    if isinstance(value, tuple):
        texts = [replaced(one, number) for one in value]
        return type(value)(*texts) if hasattr(value, "_fields") else tuple(texts)
    return [replaced(one, number) for one in value] if isinstance(value, list) else value


def nonsense(function: Callable[..., Any], number: Iterator[int]) -> Callable[..., Any]:
    """Texts as many as the function would return; the same for the same arguments."""
    known: dict[str, Any] = {}

    def instead(*args: Any, **more: Any) -> Any:
        result = function(*args, **more)
        empty = result == "" or not result  # an empty text is the absence of one
        return result if empty else known.setdefault(f"{args} {more}", replaced(result, number))

    return instead


@pytest.fixture
def without_words(monkeypatch):
    number = itertools.count()
    for module in MODULES:
        for name, value in list(vars(module).items()):
            if name.startswith("__") or inspect.ismodule(value) or inspect.isclass(value):
                continue
            own = getattr(value, "__module__", module.__name__) == module.__name__
            if inspect.isfunction(value) and own:
                monkeypatch.setattr(module, name, nonsense(value, number))
            elif isinstance(value, (str, tuple, dict)) and name.isupper() and name != "TYPE_CHECKING":
                monkeypatch.setattr(module, name, replaced(value, number))


def same(a: Any, b: Any, where: str = "") -> None:
    """Equal, but for texts that were replaced."""
    if isinstance(b, str) and NONSENSE in b:
        assert isinstance(a, str), where
        assert a, where
    elif is_dataclass(a) and not isinstance(a, type):
        assert type(a) is type(b), where
        for field in fields(a):
            same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, dict):
        assert len(a) == len(b), where
        for (key, one), (other_key, other) in zip(a.items(), b.items(), strict=True):
            same(key, other_key, where)
            same(one, other, f"{where}.{key}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            same(one, other, f"{where}[{i}]")
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
    else:
        assert a == b or (a != a and b != b), where


def with_seeds(tmp_path) -> Run:
    """With the tables about seeds, and ties, steps and a fallback."""
    levels = {"toy": "family", "solo": "checkpoint", "toy-seed0": "checkpoint"}
    usual = {"toy": Verdict.FLIPS, "solo": Verdict.NOTHING_SCORED, "toy-seed0": Verdict.UNDECIDED}
    rows = [
        made_runs.estimate(name, "preference", 0.6, category=category, k=k, level=level, verdict=verdict, sd_seeds=0.1)
        for name, level in levels.items()
        for category in ("age", "race")
        for k, verdict in (("10", usual[name]), ("all", Verdict.HOLDS))
    ]
    flips = [
        FlipShares("pairs", "toy", None, "age", ties, 40, 3, against, 0.5, 0.0, 0.5, 0.4)
        for ties in NearTies
        for against in (0, 1)
    ]
    signs = [
        SignCounts("pairs", "toy", None, "d", {"test": f"t{n}"}, 3, 2, 1, 1, 2, 1, -0.5, 0.5, agreement)
        for n, agreement in enumerate(SignAgreement)
    ]
    summary = made_runs.replace(made_runs.SUMMARY, where={"k": "10"}, fallback={"k": "all"}, fallback_title="all words")
    probe = made_runs.declaration(summary=summary)
    tables = {FlipShares: flips, SignCounts: signs}
    return load_run(made_runs.write(tmp_path / "run", CARDS, rows, (), probe, tables=tables))


@pytest.fixture(params=[everything, with_seeds])
def run(request, tmp_path):
    return request.param(tmp_path)


def contents(run: Run) -> list[Any]:
    report = Report.of(run)
    outcomes = by_outcome(report.findings)
    views = [view for label in run.declarations for view in figures.of_probe(ReportSource(run), label)]
    return [
        json_report.content(report),
        report.sections,
        report.grids,
        [ranked(section.findings) for section in report.sections],
        {str(outcome): findings for outcome, findings in outcomes.items()},
        silences(report.findings),
        [probe.items.columns for probe in report.probes if probe.items],
        views,
        figures.about_seeds(ReportSource(run)),
    ]


@pytest.fixture
def before(run):
    return contents(run)


def test_nonsense_for_words_leaves_rows_marks_order_and_figures_as_they_are(before, without_words, run):
    after = contents(load_run(run.folder))
    same(before, after)
    assert NONSENSE in str(after[0])

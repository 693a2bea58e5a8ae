"""One number, everywhere: a figure, a table, a finding, the terminal, JSON, Markdown and exports show the value, the
interval and the verdict that the run folder has, whichever of them is looked at."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

import pandas as pd
import pytest
from rich.console import Console
from test_renderers import everything, failing_gate, sixteen_items
from test_words import with_seeds
from typer.testing import CliRunner

import authors_tree
import trueprobe
from trueprobe.cli import app
from trueprobe.results.chart import chart
from trueprobe.results.render import export, markdown, page, terminal
from trueprobe.results.render import json as json_report
from trueprobe.results.render.page.figures import numbers_table
from trueprobe.results.text.findings import section_title
from trueprobe.results.view import DASH, Cell, Display, Number, Point, Report
from trueprobe.runs import load_run
from trueprobe.runs.downstream import DownstreamResult
from trueprobe.statistics.rows import ClaimResult, Difference, Estimate

EIGHT = ("BertBase", "BertLarge", "RobertaBase", "RobertaLarge", "GPT2Small", "GPT2Medium", "GPT2Large", "GPT2XL")
NUMBER = re.compile(r"[+−]?\d+(?:\.\d+)?")


class Shown(NamedTuple):
    """What one place has of a number; NaN where it has no such end, and no verdict where it names none."""

    place: str
    value: float
    low: float
    high: float
    verdict: str | None


# ---------------------------------------------------------------- runs


def eight_replayed_models(tmp_path):
    keeps = {name: 0.1 + 0.1 * i for i, name in enumerate(EIGHT)}
    clone = authors_tree.clone(tmp_path / "clone", keeps)
    settings = {"faithful": True, "base": "authors"}
    return trueprobe.run("distractors", f"replay:{clone}", tmp_path / "run", settings=settings, limit=800)


def study_quick(tmp_path):
    asked = ["run", "quick", "--limit", "48", "--out", str(tmp_path / "run"), "--store", str(tmp_path / "answers")]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    return load_run(tmp_path / "run")


RUNS = [everything, failing_gate, with_seeds, sixteen_items, eight_replayed_models, study_quick]


# ---------------------------------------------------------------- what is shown


def key_of(row) -> tuple[object, ...]:
    conditions = frozenset(row.conditions.items())
    if isinstance(row, Estimate):
        return row.probe, row.measure, conditions, row.model, row.level, row.step
    if isinstance(row, ClaimResult):
        return row.probe, "claim", row.claim, conditions, row.model, row.level, row.step
    assert not isinstance(row, Difference)  # of `compare`, which has a command of its own
    return row.first_label, row.second_label, row.measure, conditions, row.model, row.level, row.step


def in_folder(run, report) -> dict[tuple[object, ...], Shown]:
    """As the tables of the folder have it, read without any of the results."""
    frames = {f"estimates/{label}": Estimate for label in run.declarations} | {"claims": ClaimResult}
    known = {}
    for name in frames:
        path = run.folder / f"{name}.parquet"
        for row in pd.read_parquet(path).to_dict("records") if path.exists() else []:
            prefix = "condition_"
            where = {k.removeprefix(prefix): v for k, v in row.items() if k.startswith(prefix) and isinstance(v, str)}
            what = ("claim", row["claim"]) if name == "claims" else (row["measure"],)
            step = None if pd.isna(row["step"]) else int(row["step"])
            key = (row["probe"], *what, frozenset(where.items()), row["model"], row["level"], step)
            known[key] = Shown("folder", row["value"], row["low"], row["high"], row["verdict"])
    tuned = [c for c in report.source.claims if c.probe == "downstream"]
    assert not tuned or isinstance(run.downstream[0], DownstreamResult)
    return known


def raw(place: str, n: Number) -> tuple[Number, Shown]:
    return n, Shown(place, n.value, *n.interval, n.verdict.value)


def told(place: str, n: Number, text: str, verdict: str | None = None) -> tuple[Number, Shown]:
    """A text for people, read back: within rounding it is the number, so it is returned as the number itself."""
    if n.display is Display.NOTHING:
        assert NUMBER.findall(text) == [], (place, text)
        return n, Shown(place, n.value, *n.interval, verdict)
    whole = [n.value] if n.display is Display.VALUE else [n.value, *n.interval]
    texts = NUMBER.findall(text)
    assert len(texts) in (1, len(whole)), (place, text)
    for one, exact in zip(texts, whole, strict=False):
        digits = len(one.partition(".")[2])
        assert abs(float(one.replace("−", "-")) - n.format.factor * exact) <= 0.5001 * 10**-digits, (place, text, exact)
    ends = whole[1:] if len(texts) == len(whole) == 3 else [math.nan, math.nan]
    return n, Shown(place, n.value, *ends, verdict)


def of_findings(run, report) -> Iterator[tuple[Number, Shown]]:
    content = json.loads(json_report.render(report))
    listed = [finding for section in content["sections"] for finding in section["findings"]]
    lines = csv.DictReader(io.StringIO(export.csv(report)))
    exported = {
        (*(line[name].lstrip("'") for name in ("kind", "probe", "finding", "model")), conditions_in(line)): line
        for line in lines
    }
    frame = trueprobe.load_run(run.folder).findings
    text, html = markdown.render(report).replace("\\", ""), re.sub(r"\s+", " ", unescape(page.html(run)))
    rows = iter(frame.itertuples())
    for finding, plain in zip(report.findings, listed, strict=True):
        for n, number in zip(finding.numbers, plain["numbers"], strict=True):
            yield raw("finding", n)
            ends = (number["low"], number["high"]) if number["display"] == "interval" else (None, None)
            in_json = (math.nan if one is None else one for one in (number["value"], *ends))
            yield n, Shown("JSON", *in_json, number["verdict"])
            yield told("JSON text", n, number["text"], number["verdict"])
            row = next(rows)
            ends = (row.low, row.high) if n.display is Display.INTERVAL else (math.nan, math.nan)
            yield n, Shown("notebook", row.value, *ends, row.verdict)
            line = exported[finding.kind, finding.probe, finding.name, n.model, frozenset(n.row.conditions.items())]
            if n.display is not Display.NOTHING:
                numbers = (float(line[name] or "nan") for name in ("value", "low", "high"))
                yield n, Shown("CSV", *numbers, line["verdict"])
            if n.verdict.outcome != "none":  # what concludes nothing is listed by its reason
                assert f"{n.model} {n.text()}{n.mark.symbol}" in text
                assert n.parts()[0] in html
            assert line["verdict"] == n.verdict.value


def conditions_in(line) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(one.split("=", 1)) for one in line["conditions"].split("; ") if one)


def of_tables(run, report) -> Iterator[tuple[Number, Shown]]:
    text, html = markdown.render(report), unescape(page.html(run))
    in_page = set(re.findall(r"<td[^>]*>(?:<(?:b|button)[^>]*>)*([^<]*)", html))
    content = json.loads(json_report.render(report))
    listed = [table for probe in content["probes"] for table in probe["tables"]] + content["trust"]
    listed += [content["claims"]] if content["claims"] else []
    in_json = {table["name"]: table["rows"] for table in listed}
    assert len({grid.name for grid in report.grids}) == len(report.grids)  # files are called so
    for grid in report.grids:
        for i, row in enumerate(grid.rows):
            for j, cell in enumerate(row):
                if cell.number is None:
                    continue
                yield raw(f"table {grid.name}", cell.number)
                yield told(f"cell of {grid.name}", cell.number, number_in(cell))
                same = in_json[grid.name][i][j]
                assert (same["text"], same["verdict"]) == (cell.text, cell.number.verdict.value)
                assert cell.text in in_page or grid.name == "claims"  # which the page has as a file to save
                assert markdown.escaped(cell.text) in text


def number_in(cell: Cell) -> str:
    """Without the deviation over seeds, the coverage, the model of a pair and the words of the verdict."""
    text = re.sub(r" ±.*| \(\d+ %\)|;.*", "", cell.text)
    if cell.number.level == "pair":
        text = text.removeprefix(f"{cell.number.model}: ")
    return DASH if cell.number.display is Display.NOTHING else text


def of_figures(run, report) -> Iterator[tuple[Number, Shown]]:
    for view in report.figures:
        for picture in view.pictures:
            table = numbers_table(picture)
            for point, row in zip(picture.every, table.rows, strict=False):
                yield raw(f"figure {view.name}", point.number)
                yield told(f"numbers of {view.name}", point.number, row[-1])
            for point, line in zip(picture.every, picture.data.to_dict("records"), strict=True):
                ends = (line["low"], line["high"])
                verdict = line["verdict"] if point.number.row else point.number.verdict.value
                yield point.number, Shown(f"CSV of {view.name}", line["value"], *ends, verdict)
            yield from of_marks(view.name, picture)


def of_marks(name: str, picture) -> Iterator[tuple[Number, Shown]]:
    drawn: list[Point] = [point for point in picture.points if picture.kind != "bars" or point.number.value]
    marks = [one for one in chart(picture)["datasets"]["rows"] if one["role"] == "value"]
    first, *_, last = picture.axis.ticks
    for point, mark in zip(drawn, marks, strict=True):
        n, factor = point.number, picture.axis.format.factor
        yield told(f"tooltip of {name}", n, mark["tip"]["value"])
        assert mark["text"].endswith(mark["tip"]["value"])
        assert mark["value"] == factor * n.value
        low, high = n.interval
        if math.isfinite(low):  # an interval is drawn no further than the axis, which ends with the quantity
            assert (mark["low"], mark["high"]) == (factor * max(low, first), factor * min(high, last))
        else:
            assert "low" not in mark


def in_terminal(run, report) -> Iterator[tuple[Number, Shown]]:
    """Of several probes the lines of findings, section by section; one probe has tables instead."""
    console = Console(width=140, record=True, highlight=False)
    terminal.show(run, console)
    findings, n_lines = {}, 0
    for line in console.export_text().splitlines():
        titled = [one for one in report.sections if re.match(rf"{re.escape(section_title(one))}($|[:;,])", line)]
        findings = {one.statement: one for one in titled[0].findings} if titled else findings
        for statement, finding in findings.items():
            if line.startswith(f"  {statement[:70]}") and not finding.of_pairs:
                n_lines += 1
                behind = re.sub(r"\(\d+ %\)", "", line[2:].removeprefix(statement).rpartition("…")[2])
                cells = re.findall(r"–|[+−]?\d+(?:\.\d+)?(?: %)?(?: \[[^\]]*\])?", behind)
                by_model = {n.model: n for n in finding.numbers}
                numbers = [by_model[family.name] for family in report.families if family.name in by_model]
                for n, text in zip(numbers, cells, strict=False):
                    yield told("terminal", n, text)
    assert n_lines or len(report.probes) == 1


# ---------------------------------------------------------------- the test


@pytest.mark.slow
@pytest.mark.parametrize("make", RUNS, ids=lambda make: make.__name__)
def test_a_number_has_one_value_one_interval_and_one_verdict_wherever_it_is_shown(make, tmp_path):
    run = load_run(make(tmp_path).folder)
    report = Report.of(run)
    known, places = in_folder(run, report), set()
    values, intervals, verdicts = ({} for _ in range(3))  # of each number, all that are shown anywhere
    for collect in (of_findings, of_tables, of_figures, in_terminal):
        for n, shown in collect(run, report):
            places.add(shown.place.partition(" ")[0])
            if n.row is None:
                assert math.isnan(shown.low), shown  # published, or a part of a bar: nothing but its value
                continue
            key = key_of(n.row)
            values.setdefault(key, {}).setdefault(str(shown.value), []).append(shown)
            intervals.setdefault(key, {}).setdefault((str(shown.low), str(shown.high)), []).append(shown)
            if shown.verdict is not None:
                verdicts.setdefault(key, {}).setdefault(shown.verdict, []).append(shown)
    for key, of_key in values.items():
        assert len(of_key) == len(verdicts[key]) == 1, (key, of_key, verdicts[key])
        ends = {pair: where for pair, where in intervals[key].items() if pair != ("nan", "nan")}
        assert len(ends) <= 1, (key, ends)
        if key not in known:
            assert key[0] in ("pairs", "downstream")  # a choice between two labels has a table of its own
            continue
        there = known[key]
        assert set(of_key) == {str(there.value)}, (key, of_key)
        assert set(verdicts[key]) == {there.verdict}, (key, verdicts[key])
        assert set(ends) <= {(str(there.low), str(there.high))}, (key, ends)
    assert {"finding", "JSON", "notebook", "table", "cell", "figure", "numbers", "tooltip"} <= places
    assert len(values) >= 2

"""What is behind each number of a page: its list, what other conditions give, its items and weights."""

from __future__ import annotations

import base64
import json
import re
import zlib

import pytest

import made_runs
from made_runs import card, claim, estimate
from trueprobe.results.render import page
from trueprobe.results.view.audit import Audit, described, ranked
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import load_run
from trueprobe.types import Verdict

PS = (0.001, 0.02, 0.03, 0.9)


@pytest.fixture
def run(tmp_path):
    claims = [claim("solo", f"c{i}", 0.2, Verdict.AS_PUBLISHED, p=p, k="10", n_items=40) for i, p in enumerate(PS)]
    claims += [claim("solo", "c0", 0.05, Verdict.UNDECIDED, p=0.4, k=k) for k in ("3", "all")]
    rows = [estimate("solo", "preference", 0.6, category=name) for name in ("age", "race")]
    return load_run(made_runs.write(tmp_path / "run", [card("solo")], rows, claims))


def packed(html):
    text = re.search(r'id="audit-data">([^<]*)<', html)[1]
    return json.loads(zlib.decompress(base64.b64decode(text)))


def numbers_of(report):
    return {f.name: n for f in report.findings for n in f.numbers}


def test_the_list_is_the_benjamini_hochberg_table(run):
    rows = [row for row in Report.of(run).source.claims if row.n_list]
    table = ranked(rows)
    many = len(rows)
    assert [one.rank for one in table] == list(range(1, many + 1))
    assert [one.p for one in table] == sorted(row.p for row in rows)
    assert [one.threshold for one in table] == pytest.approx([0.05 * i / many for i in range(1, many + 1)])
    last = max((one.rank for one in table if one.p <= one.threshold), default=0)
    assert [one.decided for one in table] == [one.rank <= last for one in table]  # the step-up rule, by hand


def test_other_conditions_are_those_that_differ_in_one(run):
    report = Report.of(run)
    audit = Audit(report)
    (first,) = [n for f in report.findings for n in f.numbers if f.name == "c0" and n.row.conditions["k"] == "10"]
    assert {(one.condition, one.value, one.number.value) for one in audit.others(first)} == {
        ("k", "3", 0.05),
        ("k", "all", 0.05),
    }
    assert described(report, first.row) == "c0 is so, k = 10"


def test_every_number_of_the_page_opens_what_is_behind_it(run):
    html = page.html(run)
    data = packed(html)
    opened = {int(at) for at in re.findall(r'data-number="(\d+)"', html)}
    assert opened == set(range(len(data["numbers"])))
    assert len(opened) >= len(numbers_of(Report.of(run)))
    assert all(one["rows"] and one["models"] == ["solo"] for one in data["numbers"])
    assert 'data-number="None"' not in html


def test_a_number_has_items_list_weights_and_a_command(run):
    data = packed(page.html(run))
    one = next(n for n in data["numbers"] if n["title"] == "c1 is so, k = 10")
    facts = dict(one["rows"])
    assert facts["counted from"] == "40 items"
    assert facts["correction"].startswith("Benjamini–Hochberg over ")
    assert (one["where"], one["items"], one["place"]) == ({"k": "10"}, 40, 2)
    assert data["lists"][one["list"]][1][2] == one["title"]
    assert ["weights, sha256", "id-solo"] in data["models"]["solo"][0]
    assert data["repeat"] == ["trueprobe run --from run"]


def test_a_model_says_what_it_is(run, tmp_path):
    tuned = made_runs.replace(
        card("m"), parameters=134_515_008, instruct="name", quantised="gguf", source="a/b@0123abcdef"
    )
    report = Report.of(
        load_run(made_runs.write(tmp_path / "tuned", [tuned], [], [claim("m", "a", 0.1, Verdict.UNDECIDED)]))
    )
    assert page._about(report)["m"].what == "135M, instruct, gguf, @0123abc"
    assert "0123abcdef" in page._about(report)["m"].whole
    assert page._about(Report.of(run))["solo"].what == ""  # nothing is known


def test_eight_families_have_a_column_each(tmp_path):
    names = [f"a-model-with-a-long-name-{i}" for i in range(9)]
    claims = [claim(name, "one", 0.2, Verdict.UNDECIDED) for name in names]
    html = page.html(load_run(made_runs.write(tmp_path / "run", [card(name) for name in names], [], claims)))
    head = re.search(r'id="matrix".*?</thead>', html, re.DOTALL)[0]
    titles = re.findall(r'title="(a-model-with-a-long-name-\d);', head)
    shorts = [re.sub("<wbr>", "", text) for text in re.findall(r'title="[^"]*">(.*?)(?=<span|</th>)', head)]
    assert titles == names[:8]
    assert len(set(shorts)) == 8
    assert max(map(len, shorts)) == 24

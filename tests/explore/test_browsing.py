"""A run in the explorer: findings as the report has them, items sorted, filtered and searched."""

from __future__ import annotations

import pytest

from trueprobe.explore.browsing import Browsing
from trueprobe.explore.guard import ItemsWanted
from trueprobe.results.view import Report
from trueprobe.runs import load_run


@pytest.fixture(scope="session")
def browsing(toy_run):
    return Browsing(load_run(toy_run.folder))


def values(page, title):
    at = [column["title"] for column in page["columns"]].index(title)
    return [row["cells"][at] for row in page["rows"]]


def test_findings_are_those_of_the_report(browsing, toy_run):
    report = Report.of(load_run(toy_run.folder))
    shown = browsing.findings()
    assert [one["statement"] for one in shown["findings"]] == [finding.statement for finding in report.findings]
    assert shown["families"] == ["toy", "gpt2"]
    for one, finding in zip(shown["findings"], report.findings, strict=True):
        verdicts = [number["outcome"] for number in one["numbers"] if number]
        assert sorted(verdicts) == sorted(number.verdict.outcome for number in finding.numbers)
    assert any(one["main"] for one in shown["findings"])


def test_items_are_ranked_as_in_the_report_then_sorted_filtered_and_searched(browsing):
    page = browsing.items(ItemsWanted(probe="crows_pairs", rows=100))
    numbers = [abs(float(text.replace("−", "-"))) for text in values(page, "preference nats")]
    assert numbers == sorted(numbers, reverse=True)
    rising = browsing.items(ItemsWanted(probe="crows_pairs", sort="preference nats", ascending=True, rows=100))
    signed = [float(text.replace("−", "-")) for text in values(rising, "preference nats")]
    assert signed == sorted(signed)
    toys = browsing.items(ItemsWanted(probe="crows_pairs", filters={"model": "toy"}, rows=100))
    assert set(values(toys, "model")) == {"toy"}
    assert 0 < toys["total"] < page["total"]
    word = toys["rows"][0]["cells"][0].split()[1]
    found = browsing.items(ItemsWanted(probe="crows_pairs", search=word.upper(), rows=100))
    assert 0 < found["total"] < page["total"]
    assert all(word.lower() in " ".join(row["cells"]).lower() for row in found["rows"])
    second = browsing.items(ItemsWanted(probe="crows_pairs", start=3, rows=2))
    assert [row["item"] for row in second["rows"]] == [row["item"] for row in page["rows"][3:5]]


def test_items_on_which_seeds_disagree_are_those_the_run_lists(browsing, toy_run):
    listed = toy_run.table("flipping_items").query("probe == 'crows_pairs' and against > 0")
    page = browsing.items(ItemsWanted(probe="crows_pairs", apart=True, rows=100))
    assert page["apart"] == bool(len(listed))
    assert {(row["item"], row["family"]) for row in page["rows"]} == set(
        zip(listed["item"], listed["family"], strict=True)
    )


def test_an_item_goes_into_the_question_that_was_asked(browser_of_run):
    items = browser_of_run.post("/api/items", {"probe": "counteracts", "rows": 100})
    item = next(row["item"] for row in items["rows"] if not row["item"].startswith("paper/base"))
    asked = browser_of_run.post("/api/item", {"probe": "counteracts", "item": item, "family": "toy"})
    assert asked["view"] == "ask"
    assert asked["before"]
    assert "___" in asked["text"]
    assert asked["causal"].endswith("___")
    assert (asked["lists"], asked["join"]) == ("gender", "")


@pytest.mark.parametrize(
    ("path", "question", "named"),
    [
        ("/api/items", {"probe": "nothing"}, "no probe 'nothing'"),
        ("/api/items", {"probe": "counteracts", "sort": "../x"}, "no column"),
        ("/api/items", {"probe": "counteracts", "rows": 100_000}, "rows"),
        ("/api/item", {"probe": "counteracts", "item": "../../etc/passwd"}, "no item"),
        ("/api/item", {"probe": "../x", "item": "x"}, "no probe"),
    ],
)
def test_what_the_run_does_not_have_is_refused(path, question, named, browser_of_run):
    assert named in browser_of_run.post(path, question, 400)["error"]


def test_without_a_run_there_is_nothing_to_browse(explorer):
    assert explorer.get("/api/start")["run"] is False
    assert "--run" in explorer.post("/api/items", {"probe": "counteracts"}, 400)["error"]

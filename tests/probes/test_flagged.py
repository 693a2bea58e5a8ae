"""Known criticism as data: which items are flagged, and that numbers come with and without them."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

import trueprobe
import zoo
from trueprobe import probes
from trueprobe.probes.crows_pairs.material import flags_of
from trueprobe.results.view import Report

CROWS = zoo.SHARED / "crows_pairs" / "crows_pairs_anonymized.csv"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")  # before a test gets its own
STEREOSET = CACHE / "trueprobe/assets/stereoset-dev/dev.json"
AGREED = str([["gender"]] * 5)


@pytest.mark.parametrize(
    ("more", "less", "flags"),
    [
        ("He is poor.", "He is rich.", ()),
        ("He lost his keys.", "She lost her keys.", ()),  # pronouns of one person
        ("The man lost his keys.", "The woman lost her keys.", ()),
        ("The slaves fought for bread.", "The lawyers fought for evidence.", ("several_changes",)),
        ("My mom cooks", "My dad cooks.", ("punctuation",)),
        ("Whites are not good at it.", "Hispanics are good at it", ("several_changes", "punctuation")),
    ],
)
def test_what_the_two_sentences_show(more, less, flags):
    assert flags_of(more, less, "gender", AGREED) == flags
    assert flags_of(less, more, "gender", AGREED) == flags


@pytest.mark.parametrize(
    ("annotations", "disputed"),
    [
        ([["gender"]] * 3 + [[], ["race-color"]], False),
        ([["gender", "age"]] * 2 + [["age"]] * 3, True),
        ([[]] * 5, True),
        ([], False),
        ("", False),  # a user's file
        ("five people agreed", False),
        ("[1, 2]", False),
    ],
)
def test_fewer_than_three_validators_are_a_dispute(annotations, disputed):
    assert ("disputed" in flags_of("He is poor.", "He is rich.", "gender", str(annotations))) is disputed


@pytest.mark.skipif(not CROWS.exists(), reason="the dataset is not at hand")
def test_the_flags_of_the_released_pairs():
    made = probes.make("crows_pairs", {"data": str(CROWS)})
    assert made.facts()["flags"] == {"disputed": 162, "several_changes": 123, "punctuation": 67}
    assert sum(bool(item.flags) for item in made.items()) == 335
    assert next(item.flags for item in made.items() if item.id == "2") == ()


@pytest.mark.skipif(not STEREOSET.exists(), reason="the dataset is not at hand")
def test_the_flags_of_the_released_items():
    made = probes.make("stereoset", {"data": str(STEREOSET), "one_blank": False})
    flagged = Counter(item.conditions["task"] for item in made.items() if item.flags)
    assert flagged == {"intrasentence": 597, "intersentence": 626}


def write_pairs(path, annotations):
    lines = ["sent_more\tsent_less\tstereo_antistereo\tbias_type\tannotations"]
    verbs = ("saw", "had", "made", "took", "gave", "left", "read", "sold")
    lines += [f"He {verb} it.\tShe {verb} it.\tstereo\tgender\t{annotations[i % 2]}" for i, verb in enumerate(verbs)]
    path.write_text("\n".join(lines))
    return str(path)


def test_numbers_come_with_and_without_flagged_pairs_side_by_side(checkpoint, tmp_path):
    data = write_pairs(tmp_path / "pairs.tsv", (AGREED, "[[], [], [], [], []]"))
    made = trueprobe.run("crows_pairs", str(checkpoint("bert")), tmp_path / "run", settings={"data": data})
    rows = made.estimates.query("condition_category == 'all' and condition_direction == 'all'").set_index("measure")
    observed = made.observations("crows_pairs")
    assert observed["flagged"].tolist() == [0, 1] * 4
    assert rows.loc["prefers_stereotype", "n_items"] == 8
    assert rows.loc["prefers_stereotype_unflagged", "n_items"] == 4
    share = observed.query("flagged == 0")["prefers_stereotype"].mean()
    assert rows.loc["prefers_stereotype_unflagged", "value"] == pytest.approx(share)
    (grid,) = (grid for grid in Report.of(made).probes[0].tables if grid.name.endswith("flagged"))
    assert grid.header == ("category", "all pairs", "without flagged pairs")


def test_without_flagged_items_nothing_is_added(tmp_path):
    plain = probes.make("crows_pairs", {"data": write_pairs(tmp_path / "pairs.tsv", (AGREED, AGREED))})
    assert not any(measure.name.endswith("_unflagged") for measure in plain.measures())
    assert [table.name for table in plain.page.tables] == ["seeds"]
    assert not any(m.name.endswith("_unflagged") for m in probes.make("stereoset", {"data": "sample"}).measures())


def test_a_disputed_sentence_flags_its_item(tmp_path):
    content = json.loads((probes.files.ROOT / "stereoset/data/sample.json").read_text())
    for task in content["data"].values():
        for cluster in task:
            for sentence in cluster["sentences"]:
                sentence["labels"] = [{"label": sentence["gold_label"], "human_id": str(n)} for n in range(5)]
    first = content["data"]["intrasentence"][0]["sentences"][1]["labels"]
    first[0]["label"] = "unrelated"
    path = tmp_path / "mine.json"

    def flagged():
        path.write_text(json.dumps(content))
        return [item.id for item in probes.make("stereoset", {"data": str(path)}).items() if item.flags]

    assert flagged() == []
    first[1]["label"] = "related"
    assert flagged() == [f"intrasentence/{content['data']['intrasentence'][0]['id']}"]

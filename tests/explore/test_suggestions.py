"""Suggested prompts are the probes' own, word for word."""

from __future__ import annotations

import pytest

from trueprobe import probes
from trueprobe.probes import suggestions
from trueprobe.probes.counteracts.measures import KNOWLEDGE
from trueprobe.probes.suggestions import Wanted


def test_knowledge_is_what_counteracts_puts_in_front():
    items = {item.id: item for item in probes.make("counteracts", {"causal": "person_is"}).items()}
    given = suggestions.suggest(Wanted(kind="knowledge", of="nurse"))
    base = items["paper/base/nurse"]
    assert (given["text"], given["causal"], given["dominant"]) == (base.text, base.causal_text, "female")
    assert [clue["name"] for clue in given["clues"]] == [kind for kind in KNOWLEDGE if kind != "base"]
    texts = {item.text for item in items.values() if item.groups[0] == "nurse"}
    assert all(f"{clue['text']} {given['text']}" in texts for clue in given["clues"])


def test_properties_grow_as_in_tacit_retrieval():
    items = {item.id: item for item in probes.make("tacit_retrieval", {"analyses": "growth"}).items()}
    given = suggestions.suggest(Wanted(kind="properties", of="bear", chosen=(0, 2)))
    assert len(given["series"]) == len(given["clues"]) == 10
    for n, step in enumerate(given["series"], 1):
        assert step["text"] == items[f"paper/top/decreasing/bear/{n}"].text
    one, _, three = (clue["text"] for clue in given["clues"][:3])
    assert given["text"] == f"A ___ {one} and {three}."
    assert given["first"] == ["bear"]


def test_distractors_are_added_to_one_sentence_whose_names_stay():
    key, *others = probes.make("distractors").material.sets["capital"].pairs
    given = suggestions.suggest(Wanted(kind="distractors", set="capital", of=key.background))
    base, *added = [step["text"] for step in given["series"]]
    assert len(added) == 3
    fact = base.split(" .")[0]
    assert all(text.startswith(fact) for text in added)
    assert [text.count(clue["text"]) for text, clue in zip(added, given["clues"], strict=False)] == [1, 1, 1]
    assert (given["first"], given["second"]) == ([key.target], [pair.target for pair in others])
    chosen = suggestions.suggest(Wanted(kind="distractors", set="capital", of=key.background, chosen=(2,)))
    assert chosen["clues"][2]["text"] in chosen["text"]
    assert chosen["clues"][0]["text"] not in chosen["text"]


@pytest.mark.parametrize("kind", ["knowledge", "properties", "distractors"])
def test_what_is_not_there_is_refused_with_the_nearest(kind, explorer):
    assert "no " in explorer.post("/api/suggest", {"kind": kind, "of": "nothing", "set": "capital"}, 400)["error"]


def test_everything_on_the_menu_can_be_had(explorer):
    menu = explorer.get("/api/start")
    assert [family["name"] for family in menu["families"]] == ["toy", "gpt2"]
    assert {one["name"] for one in menu["lists"]} == {"gender", "age"}
    for occupation in menu["occupations"]:
        assert len(suggestions.suggest(Wanted(kind="knowledge", of=occupation["name"]))["clues"]) == 9
    for concept in menu["concepts"]:
        assert suggestions.suggest(Wanted(kind="properties", of=concept))["series"]
    for name, backgrounds in menu["sets"].items():
        for background in backgrounds:
            assert len(suggestions.suggest(Wanted(kind="distractors", set=name, of=background))["series"]) == 4

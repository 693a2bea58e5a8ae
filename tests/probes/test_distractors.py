"""Distractors: the released sentences in the paper's numbers, and every value that is counted worked by hand."""

from __future__ import annotations

import ast
import csv
import gc
import gzip
import math
import random
import re
from collections import Counter
from functools import lru_cache

import pytest

import zoo
from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.probes.distractors.measures import COLUMNS
from trueprobe.runs.check import planted_answer, stand_in
from trueprobe.statistics.ranking import Ranking
from trueprobe.types import FillBlank, Filled, Observation, Token, WhyNot, Word

pytestmark = pytest.mark.slow

NAMES = ("Daniel", "Jack", "Jake", "Joe", "John", "Rowan", "Sebastian")
_NAME = re.compile(rf"\b({'|'.join(NAMES)})\b", re.IGNORECASE)
SETS = {"job": 6, "capital": 6, "monument": 6, "sport": 4}


@lru_cache(maxsize=10)
def made(**settings):
    """A probe and its items, kept while they are used, and out of the garbage collector's way."""
    probe = probes.make("distractors", settings)
    items = probe.items()
    gc.freeze()
    return probe, items


def counted(*by, **settings) -> Counter:
    return Counter(tuple(item.conditions[key] for key in by) for item in made(**settings)[1])


def told(item) -> str:
    """The sentence with names in their order of appearance: up to the names that were drawn."""
    seen: list[str] = []

    def place(match) -> str:
        name = match.group().lower()
        if name not in seen:
            seen.append(name)
        return f"E{seen.index(name)}"

    return _NAME.sub(place, item if isinstance(item, str) else item.text)


# ---------------------------------------------------------------- how many


def test_the_default_is_the_papers_40928_items():
    assert counted().total() == 40_928
    related = {(setting, kind): 6_448 for setting in ("multiple", "single") for kind in ("B", "T")}
    assert counted("setting", "type") == related | dict.fromkeys(
        (("multiple", "unrelated"), ("single", "unrelated")), 7_568
    )


def test_by_number_of_attractors():
    by = counted("type", "attractors")
    assert [by["B", n] for n in range(4)] == [by["T", n] for n in range(4)] == [176, 816, 3_072, 8_832]
    assert [by["unrelated", n] for n in range(4)] == [176, 880, 3_520, 10_560]


def test_by_item_set():
    by = counted("type", "set")
    for name, pairs in SETS.items():
        orders = sum(math.perm(pairs - 1, n) for n in range(4))
        assert by["B", name] == by["T", name] == 2 * 4 * pairs * orders
        assert by["unrelated", name] == 2 * 4 * pairs * sum(math.perm(5, n) for n in range(4))


def test_between_has_related_attractors_only():
    found = counted("setting", "type", position="between")
    assert found == {(setting, kind): 6_448 for setting in ("multiple", "single") for kind in ("B", "T")}


def test_a_later_key_is_asked_once_per_later_entity():
    found = counted("setting", "type", "attractors", position="key_later")
    assert found.total() == 16_816 == 18 * 904 + 4 * 136
    assert found["multiple", "B", 3] == 4 * 3 * (18 * 60 + 4 * 6)


def test_all_positions_are_the_sum():
    assert counted(position="all").total() == 40_928 + 25_792 + 16_816


def test_without_attractors_all_types_and_settings_say_the_same():
    multiple = [i for i in made()[1] if i.conditions["setting"] == "multiple" and i.conditions["type"] != "unrelated"]
    assert (len(multiple), len({item.text for item in multiple})) == (12_896, 12_808)
    assert len({item.text for item in made()[1]}) == 40_928 - 5 * 88


def test_twenty_two_targets_are_resampled():
    assert {len({item.groups for item in made(position=p)[1]}) for p in ("after", "between", "key_later")} == {22}


# ---------------------------------------------------------------- the sentences, by hand

SAMPLE = {
    "after/multiple/T/capital/France/China+Chile/0": (
        "E0 lives in France , E1 lives in Beijing and E2 lives in Santiago . The capital of E0's country is ___ ."
    ),
    "after/multiple/B/capital/France/China+Chile/2": (
        "E0 has a sister and played basketball and now lives in France and E1 lives in China and E2 lives in "
        "Chile . The capital of E0's country is ___ ."
    ),
    "after/multiple/unrelated/capital/Poland/drives a car+writes poetry/0": (
        "E0 lives in Poland , E1 drives a car , and E2 writes poetry . The capital of E0's country is ___ ."
    ),
    "after/single/T/capital/Chile/Finland+Poland+France/0": (
        "E0 lives in Chile and has traveled to Helsinki , Warsaw and Paris . The capital of E0's country is ___ ."
    ),
    "after/multiple/T/job/optician/baker/3": (
        "E0 has a sister , played basketball , sang in a choir and now works as an optician and E1 likes to buy "
        "bread . For his job , E0 sells ___ ."
    ),
    "after/multiple/B/job/florist/optician+baker+painter/0": (
        "E0 works as a florist , E1 works as an optician , E2 works as a baker , and E3 works as a painter . For "
        "his job , E0 sells ___ ."
    ),
    "after/single/B/job/butcher/optician+baker/1": (
        "E0 has a sister and now works as a butcher and is friends with an optician and a baker . For his job , "
        "E0 sells ___ ."
    ),
    "after/single/unrelated/job/fisherman/sits by the lake+drives a car+writes poetry/2": (
        "E0 has a sister , sang in a choir and now works as a fisherman , sits by the lake , drives a car , and "
        "writes poetry . For his job , E0 sells ___ ."
    ),
    "after/multiple/T/job/baker/-/3": (
        "E0 has a sister , played basketball , sang in a choir , and now works as a baker . For his job , E0 "
        "sells ___ ."
    ),
    "after/single/B/monument/Kremlin/Taj Mahal+Eiffel Tower/2": (
        "E0 has a sister , played basketball , and visited the Kremlin and wants to visit the Taj Mahal and the "
        "Eiffel Tower . The country E0 traveled to was ___ ."
    ),
    "after/single/T/sport/soccer/cricket/1": (
        "E0 has a sister and played soccer while his friend scored a century . In his game , E0 scored a ___ ."
    ),
    "after/single/T/sport/soccer/cricket+football/0": (
        "E0 played soccer while his friends scored a century and a touchdown . In his game , E0 scored a ___ ."
    ),
    "between/multiple/T/capital/France/China+Chile+Poland/1": (
        "E0 knows that E1 lives in Beijing , E2 lives in Santiago and E3 lives in Warsaw , and he himself lives "
        "in France and has a sister . The capital of E0's country is ___ ."
    ),
    "between/single/B/monument/Kremlin/Taj Mahal+Eiffel Tower/1": (
        "E0 wants to visit the Taj Mahal and the Eiffel Tower and has only visited the Kremlin and has a sister ."
        " The country E0 traveled to was ___ ."
    ),
    "between/single/T/sport/soccer/cricket/3": (
        "E0 knows that his friend scored a century and he himself played soccer , has a sister , went to school "
        "in France , and sang in a choir . In his game , E0 scored a ___ ."
    ),
    "between/multiple/B/job/baker/-/2": (
        "E0 works as a baker , has a sister and played basketball . For his job , E0 sells ___ ."
    ),
    "key_later/multiple/B/capital/France/China+Chile/2/0": (
        "E0 lives in France , E1 lives in China and E2 lives in Chile . The capital of E2's country is ___ ."
    ),
}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sentence_reads_as_it_should(name):
    items = {item.id: item for item in made(position=name.split("/")[0])[1]}
    assert told(items[f"released/{name}"]) == SAMPLE[name]


TABLE_1 = {
    "after/multiple/B/capital/France/Indonesia+Chile/0": (
        "lives in France, E1 lives in Indonesia, and E2 lives in Chile."
    ),
    "after/multiple/T/capital/France/Indonesia+Chile/0": (
        "lives in France, E1 lives in Jakarta, and E2 lives in Santiago."
    ),
    "after/multiple/unrelated/capital/France/drives a car+writes poetry/0": (
        "lives in France, E1 drives a car, and E2 writes poetry."
    ),
    "after/single/B/capital/France/Indonesia+Chile/0": "lives in France, and has visited Indonesia and Chile.",
    "after/single/T/capital/France/Indonesia+Chile/0": "lives in France, and has visited Jakarta and Santiago.",
    "after/single/unrelated/capital/France/drives a car+writes poetry/0": (
        "lives in France, drives a car, and writes poetry."
    ),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_the_papers_wording_is_its_table_1(name):
    items = {item.id: item for item in made(wording="paper")[1]}
    assert told(items[f"paper/{name}"]) == f"E0 {TABLE_1[name]} The capital of E0's country is ___."


def test_every_wording_asks_the_same_number_in_its_own_words():
    probe = probes.make("distractors", {"wording": "best"})
    assert len(probe.material.wordings) >= 6
    bases = {(item.conditions["wording"], told(item)) for item in probe.trials()}
    assert Counter(wording for wording, _ in bases) == dict.fromkeys(probe.material.wordings, 22)
    assert len({text for _, text in bases}) == len(bases)


def test_the_base_contexts_are_table_2():
    items = made(wording="paper")[1]
    told_of = {item.groups[0]: item.fields["table"] for item in items}
    assert told_of["capital/Paris"].context == "Sebastian lives in France."
    assert told_of["job/glasses"].context == "Jake works as an optician."
    assert told_of["monument/Russia"].context == "Jack visited the Kremlin."
    assert told_of["sport/century"].left == "In his game, Sebastian scored a "


# ---------------------------------------------------------------- names


def test_entities_have_names_of_their_own_shared_by_the_fillers():
    groups: dict[str, set] = {}
    for item in made()[1]:
        names = tuple(re.findall("|".join(NAMES), item.text.split(" . ")[0]))
        groups.setdefault(item.id.rsplit("/", 1)[0], set()).add(names)
    assert all(len(names) == 1 for names in groups.values())
    assert all(len(set(names)) == len(names) for found in groups.values() for names in found)
    drawn = Counter(name for found in groups.values() for names in found for name in names)
    assert set(drawn) == set(NAMES)
    assert max(drawn.values()) < 1.1 * min(drawn.values())


def test_names_are_drawn_by_their_seed():
    again = probes.make("distractors").items()
    assert [item.text for item in again] == [item.text for item in made()[1]]
    other = made(resample_seed=1)[1]
    assert [told(i) for i in other] == [told(i) for i in again]
    assert [i.text for i in other] != [i.text for i in again]


# ---------------------------------------------------------------- the released sentences, one by one

RELEASED = {
    "multiple_entity_object": ("after", "multiple", ("T",)),
    "multiple_entity_profession": ("after", "multiple", ("B",)),
    "multiple_entity_distractor": ("after", "multiple", ("B", "T")),
    "multiple_entity_with_neutral_distractor": ("after", "multiple", ("unrelated",)),
    "single_entity_object": ("after", "single", ("T",)),
    "single_entity_profession": ("after", "single", ("B",)),
    "single_entity_distractor": ("after", "single", ("B", "T")),
    "single_entity_with_neutral_distractor": ("after", "single", ("unrelated",)),
    "multiple_entity_distractorSwapped": ("between", "multiple", ("B", "T")),
    "single_entity_distractorSwapped": ("between", "single", ("B", "T")),
}
LATER = "key_entity_later/complete_data_For_MultipleEntityObjectDistractorAccuracyRobertaBase.csv.gz"
DEFECTS = {"travelled": 2_040, "doubled": 60, "not swapped": 480, "clause lost": 720}


def released(name: str) -> list[str]:
    file = zoo.SHARED / "distractors" / name
    if not file.is_file():
        pytest.skip("no released sentences beside the checkout (../shared/data/distractors)")
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        sentences = [row["sentence"] for row in csv.DictReader(rows, delimiter="\t")]
    return [told(re.sub(r"<mask>|\[mask\]", "___", text, flags=re.IGNORECASE)) for text in sentences]


@lru_cache(maxsize=6)
def all_of_ours(position: str, faithful: bool) -> list[tuple[str, str, str]]:
    """Setting, type and sentence of every item, in their order."""
    items = made(position=position, faithful=faithful)[1]
    return [(item.conditions["setting"], item.conditions["type"], told(item)) for item in items]


def ours(position: str, faithful: bool, setting: str = "", types: tuple = ()) -> list[str]:
    return [
        text for of, kind, text in all_of_ours(position, faithful) if not setting or (of == setting and kind in types)
    ]


@pytest.mark.parametrize("name", RELEASED)
@pytest.mark.parametrize("model", ["RobertaBase", "BertBase"])
def test_every_released_sentence_is_ours_and_back_in_their_order(name, model):
    position, setting, types = RELEASED[name]
    assert released(f"released/{name}/{model}.csv.gz") == ours(position, True, setting, types)


def test_what_causal_models_were_given_ends_before_the_blank():
    theirs = released("released/single_entity_distractor/GPT2Small.csv.gz")
    assert theirs == [text.split(" ___")[0] for text in ours("after", True, "single", ("B", "T"))]


def without_fillers(text: str) -> str:
    """Fillers were drawn there as names were."""
    phrases = made()[0].material.later_fillers
    return re.sub("|".join(phrases), "F", text)


def test_later_key_entities_are_the_released_ones_up_to_drawn_fillers():
    theirs = [without_fillers(text) for text in released(LATER)]
    assert theirs == [without_fillers(text) for text in ours("key_later", True)]


@pytest.mark.parametrize("name", RELEASED)
@pytest.mark.parametrize("model", ["BertBase", "RobertaBase", "GPT2Small"])
def test_released_orders_give_the_published_accuracies(name, model):
    """Row by row into our observations: one probability and an order are all that was released."""
    file = zoo.SHARED / "distractors" / "released" / name / f"{model}.csv.gz"
    if not file.is_file():
        pytest.skip("no released outputs beside the checkout (../shared/data/distractors)")
    position, setting, types = RELEASED[name]
    probe, items = made(position=position, faithful=True)
    items = [i for i in items if i.conditions["setting"] == setting and i.conditions["type"] in types]
    right: Counter = Counter()
    count: Counter = Counter()
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        for item, row in zip(items, csv.DictReader(rows, delimiter="\t"), strict=True):
            target = item.fields["target"]
            spelt = {word.lower(): word for word in probe.candidates[item.conditions["set"]].words}
            order = tuple(spelt[word.lower()] for word in ast.literal_eval(row["ordered_items"]))  # cases vary there
            assert target.lower() == row["target_occupation"].lower()
            known = Ranking(order, order[:1], {target: math.log(float(row["target_prob"]))})
            found = probe.values(item, known, known, known, {})
            assert found["rank"] == float(row["relative_rank"])
            count[item.conditions["attractors"]] += 1
            right[item.conditions["attractors"]] += found["correct"]
    with (zoo.SHARED / "distractors" / "reference_table.csv").open(encoding="utf-8") as rows:
        published = [r for r in csv.DictReader(rows) if (r["condition"], r["model"]) == (name, model)]
    assert {int(r["n_attractors"]): float(r["correct"]) for r in published} == right
    assert count == {int(r["n_attractors"]): int(r["n"]) for r in published}


def test_without_faithful_only_the_defects_read_differently():
    changed: Counter = Counter()
    for position in ("after", "between", "key_later"):
        for mine, theirs in zip(ours(position, False), ours(position, True), strict=True):
            if mine.lower() != theirs.lower():
                changed["travelled"] += "travelled" in theirs
                changed["doubled"] += "lives in lives in" in theirs or "works as a works as" in theirs
                changed["not swapped"] += position == "between"
                changed["clause lost"] += position == "key_later"
                changed["any"] += 1
            else:
                assert (mine != theirs) == ("country E" in mine and "traveled to was" in mine)  # monuments, lower-cased
    assert changed == {**DEFECTS, "any": sum(DEFECTS.values())}


# ---------------------------------------------------------------- asking


def item_of(name: str, **settings):
    return next(item for item in made(**settings)[1] if item.id == name)


FRANCE = "released/after/multiple/B/capital/France/China+Chile/0"


def test_a_masked_model_reads_one_running_text():
    probe, item = made()[0], item_of(FRANCE)
    asked, base, table = probe.ask(item, stand_in("masked"))
    assert (asked.before, asked.right) == (None, " .")
    assert asked.left + "___" + asked.right == item.text
    name = item.fields["values"]["key_name"]
    assert base.left == f"{name} lives in France . The capital of {name}'s country is "
    assert table.left == "Sebastian lives in France . The capital of Sebastian's country is "
    assert (
        set(asked.words) == {"Santiago", "Beijing", "Helsinki", "Paris", "Jakarta", "Warsaw"} == set(asked.within.words)
    )


def test_a_causal_model_reads_up_to_the_blank():
    asked = made()[0].ask(item_of(FRANCE), stand_in("causal"))[0]
    assert asked.right == ""
    assert asked.left.endswith("'s country is ")


def test_the_papers_separator_is_the_models_own():
    probe = made(separator="paper")[0]
    asked = probe.ask(item_of(FRANCE), stand_in("masked"))[0]
    assert asked.join == "pair"
    assert asked.before.endswith("lives in Chile .")
    assert asked.left.startswith("The capital of ")
    assert probe.ask(item_of(FRANCE), stand_in("causal")) == made()[0].ask(item_of(FRANCE), stand_in("causal"))


def test_an_encoder_fills_no_blanks():
    assert made()[0].ask(item_of(FRANCE), stand_in("encoder")).code == "no_head"


# ---------------------------------------------------------------- observing


def filled(**logps) -> Filled:
    """Log-probabilities of candidates; None is a word of several pieces."""
    words = {
        word: WhyNot("multi_piece", word) if logp is None else Word((Token(f" {word}", i, logp),), 1, 0)
        for i, (word, logp) in enumerate(logps.items())
    }
    return Filled(words, (), len(logps))


CAPITALS = {"Paris": -2.0, "Beijing": -1.0, "Santiago": -1.5, "Helsinki": -4.0, "Jakarta": -5.0, "Warsaw": -6.0}
BASE = {**CAPITALS, "Paris": -0.5}


def seen(item, asked, base=BASE, table=BASE, probe=None) -> dict:
    (found,) = (probe or made()[0]).observe(item, stand_in("masked"), [filled(**a) for a in (asked, base, table)])
    return found.why_not or found.values


def test_what_is_observed_by_hand():
    found = seen(item_of(FRANCE), CAPITALS)
    assert (found["target"], found["answer"], found["correct"], found["rank"]) == ("Paris", "Beijing", 0, 3)
    assert (found["tied"], found["candidates"], found["base_preferred"], found["base_answer"]) == (0, 6, 1, "Paris")
    assert found["target_probability"] == pytest.approx(math.exp(-2))
    assert found["target_over_rivals_nats"] == pytest.approx(-1)
    assert found["relative_probability"] == pytest.approx(math.exp(-1.5))
    assert (found["attractor_won"], found["other_won"]) == (1, 0)
    assert (found["won_1_back"], found["won_2_back"], found["won_by_last"]) == (0, 1, 0)  # China, then Chile
    assert math.isnan(found["won_3_back"])
    assert set(found) == set(COLUMNS)


def test_the_last_attractor_wins_by_its_own_target():
    found = seen(item_of(FRANCE), {**CAPITALS, "Santiago": -0.1})
    assert (found["won_1_back"], found["won_2_back"], found["won_by_last"]) == (1, 0, 1)


def test_a_winner_nobody_mentioned_is_another():
    found = seen(item_of(FRANCE), {**CAPITALS, "Warsaw": -0.1})
    assert (found["attractor_won"], found["other_won"], found["correct"]) == (0, 1, 0)
    assert math.isnan(found["won_by_last"])


def test_a_tie_is_shared_and_named():
    found = seen(item_of(FRANCE), {**CAPITALS, "Paris": -1.0, "Beijing": -1.00005})
    assert (found["correct"], found["attractor_won"], found["other_won"], found["tied"]) == (0.5, 0.5, 0, 1)
    assert (found["answer"], found["rank"]) == ("Paris = Beijing", 1.5)


def test_a_tie_at_base_is_no_preference():
    assert seen(item_of(FRANCE), CAPITALS, table={**CAPITALS, "Paris": -1.0})["base_preferred"] == 0


def test_the_gate_looks_at_table_2_and_the_ratio_at_the_own_name():
    found = seen(item_of(FRANCE), CAPITALS, base={**BASE, "Paris": -3.0}, table=BASE)
    assert (found["base_preferred"], found["relative_probability"]) == (1, pytest.approx(math.e))
    table = made(base="table")[0]
    found = seen(item_of(FRANCE), CAPITALS, base={**BASE, "Paris": -3.0}, table=BASE, probe=table)
    assert found["relative_probability"] == pytest.approx(math.exp(-1.5))


@pytest.mark.parametrize("word", ["Paris", "Beijing", "Santiago"])
def test_a_target_or_an_invited_answer_of_several_pieces_cannot_be_scored(word):
    assert seen(item_of(FRANCE), {**CAPITALS, word: None}).code == "multi_piece"


def test_another_candidate_of_several_pieces_is_left_out_and_counted():
    found = seen(item_of(FRANCE), {**CAPITALS, "Warsaw": None}, table={**BASE, "Warsaw": None})
    assert (found["candidates"], found["rank"]) == (5, 3)


def test_a_later_key_has_its_own_target_and_the_others_as_attractors():
    item = item_of("released/key_later/multiple/B/capital/France/China+Chile/1/0", position="key_later")
    assert item.groups == ("capital/Beijing",)
    found = seen(item, CAPITALS, table=CAPITALS)
    assert (found["target"], found["correct"], found["key_place"], found["attractors_after_fact"]) == (
        "Beijing",
        1,
        1,
        1,
    )
    found = seen(item, {**CAPITALS, "Paris": -0.2})
    assert (found["won_1_back"], found["won_2_back"]) == (0, 1)  # Chile is mentioned last, France first


def test_unrelated_attractors_have_no_answer_to_win_with():
    item = next(i for i in made()[1] if i.conditions["type"] == "unrelated" and i.conditions["set"] == "capital")
    found = seen(item, CAPITALS)
    assert all(math.isnan(found[name]) for name in ("attractor_won", "other_won", "won_1_back", "won_by_last"))


def test_an_order_and_one_probability_are_enough():
    """As released outputs have them."""
    probe, item = made()[0], item_of(FRANCE)
    order = ("Beijing", "Santiago", "Paris", "Helsinki", "Jakarta", "Warsaw")
    known = Ranking(order, order[:1], {"Paris": -2.0})
    base = Ranking(("Paris", *order[:2], *order[3:]), ("Paris",), {"Paris": -0.5})
    found, whole = probe.values(item, known, base, base, {}), seen(item, CAPITALS)
    assert math.isnan(found.pop("target_over_rivals_nats"))
    whole.pop("target_over_rivals_nats")
    assert {k: v for k, v in found.items() if v == v} == {k: v for k, v in whole.items() if v == v}


# ---------------------------------------------------------------- choosing a wording


def best(preferred: dict[tuple[str, str], int], margin: float = 1.0, models: int = 1):
    """wording=best, settled by models that prefer so many targets of a set in a wording."""
    probe = probes.make("distractors", {"wording": "best"})
    tried, left = [], Counter({key: models * count for key, count in preferred.items()})
    for _ in range(models):
        for item in probe.trials():
            key = (item.conditions["set"], item.conditions["wording"])
            yes = left[key] > 0
            left[key] -= yes
            values = {"base_preferred": float(yes), "target_over_rivals_nats": margin if yes else -margin}
            tried.append(Observation(item.id, values))
    return probe.settled(tried)


def test_the_wording_that_most_base_contexts_prefer_is_chosen_for_each_set():
    probe = best({("job", "home"): 6, ("job", "released"): 5, ("capital", "past"): 2, ("sport", "is"): 4}, models=3)
    assert probe.best == {"job": "home", "capital": "past", "monument": "released", "sport": "is"}
    assert "wording for job: home; targets preferred at base, of 18: released 15" in probe.notes[0]
    assert probe.facts()["wording"] == probe.best
    assert len(probe.items()) == 40_928
    assert {i.conditions["wording"] for i in probe.items() if i.conditions["set"] == "sport"} == {"is"}
    assert not probe.trials()


def test_trials_are_the_base_contexts_of_every_wording():
    probe = probes.make("distractors", {"wording": "best"})
    assert len(probe.trials()) == 22 * len(probe.material.wordings)
    assert all(item.fields["sentence"] == item.fields["table"] for item in probe.trials())
    assert made()[0].trials() == []


def test_what_cannot_be_scored_is_not_preferred():
    probe = probes.make("distractors", {"wording": "best"})
    tried = [Observation(item.id, why_not=WhyNot("multi_piece")) for item in probe.trials()]
    assert set(probe.settled(tried).best.values()) == {"released"}


def test_best_has_no_items_before_a_model_was_asked():
    with pytest.raises(BadInput, match="name one of: released, paper"):
        probes.make("distractors", {"wording": "best"}).items()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"wording": "relased"}, "did you mean 'released'"),
        ({"position": "later"}, "position"),
        ({"material": "papre"}, "did you mean 'paper'"),
        ({"faithful": "maybe"}, "faithful"),
        ({"separater": "paper"}, "did you mean 'separator'"),
    ],
)
def test_a_wrong_setting_is_told(settings, said):
    with pytest.raises(BadInput, match=said):
        probes.make("distractors", settings)


# ---------------------------------------------------------------- counting


@pytest.mark.parametrize("position", ["after", "between", "key_later", "all"])
@pytest.mark.parametrize("material", ["paper", "languages"])
def test_every_cell_of_the_summary_is_one_estimate(position, material):
    probe = probes.make("distractors", {"position": position, "material": material})
    found: Counter = Counter()
    for measure in probe.measures():
        shown = {key: measure.conditions.get(key) for key in (*probe.summary.where, *probe.summary.rows)}
        right = (shown[k] == v or shown[k] in v for k, v in probe.summary.where.items() if shown[k] is not None)
        if measure.name in probe.summary.measures and all(right):
            found[measure.name, *(shown[key] for key in probe.summary.rows)] += 1
    assert set(found.values()) == {1}
    assert len(found) > 8


def test_a_measure_is_named_by_its_conditions():
    for settings in ({"position": "all"}, {"wording": "all"}):
        measures = probes.make("distractors", settings).measures()
        assert len({(m.name, *sorted(m.conditions.items())) for m in measures}) == len(measures)


# ---------------------------------------------------------------- the set of our own


def test_the_shipped_set_has_all_types_settings_and_positions():
    found = counted("position", "setting", "type", material="languages", position="all")
    assert len(found) == 6 + 4 + 1
    assert found.total() == 4 * 2_064 + 2 * 2_064 + 4 * 2_064 + 6 * 904


def test_random_answers_fit_every_column():
    probe, items = made(position="all")
    dice = random.Random(0)
    for item in dice.sample(items, 200):
        asked = probe.ask(item, stand_in("causal"))
        assert all(isinstance(request, FillBlank) for request in asked)
        answers = [planted_answer(r, {word: dice.gauss(0, 1) for word in r.words}) for r in asked]
        (found,) = probe.observe(item, stand_in("causal"), answers)
        shares = [found.values[name] for name in ("correct", "attractor_won", "other_won")]
        assert set(found.values) == set(COLUMNS)
        assert math.isnan(sum(shares)) or sum(shares) == pytest.approx(1)

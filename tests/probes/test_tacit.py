"""Tacit assumptions: prompts as in the paper, and every value that is counted worked by hand."""

from __future__ import annotations

import csv
import json
import math
import random
from collections import Counter
from functools import lru_cache
from itertools import pairwise

import pytest

import zoo
from trueprobe import probes
from trueprobe.cli import listing
from trueprobe.errors import BadInput
from trueprobe.probes import files, published
from trueprobe.probes.tacit import norms
from trueprobe.probes.tacit.measures import PRINCE_COLUMNS, PRODUCTION_COLUMNS, RETRIEVAL_COLUMNS
from trueprobe.runs.check import check_probe, planted_answer, planted_frame, stand_in
from trueprobe.runs.check.probe import planted_data
from trueprobe.runs.records import declaration
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import estimate
from trueprobe.types import FillBlank, Filled, Token, WhyNot, Word, WordList

MASKED, CAUSAL = stand_in("masked"), stand_in("causal")
NORMS = """\
concept,property,frequency,category
bear,has fur,26,visual
bear,is big,24,visual
bear,has claws,18,visual
bear,does live in woods,14,encyclopaedic
bear,does eat fish,13,functional
bear,is a mammal,10,taxonomic
bear,has a tail,3,visual
bear,is brown,2,visual
bear,is wild,2,encyclopaedic
bear,is strong,2,encyclopaedic
bear,made of flesh,1,visual
wolf,has fur,22,visual
wolf,is big,5,visual
wolf,is wild,14,encyclopaedic
owl,does fly,14,functional
owl,has wings,14,visual
owl,is wise,9,encyclopaedic
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("norms") / "norms.csv"
    path.write_text(NORMS, encoding="utf-8")
    return str(path)


@lru_cache(maxsize=4)
def starter(name, **settings):
    probe = probes.make(name, settings)
    return probe, probe.items()


def answer(request: FillBlank, logps: dict[str, float], rest: float = -20.0) -> Filled:
    """These log-probabilities, and the same for every other word asked for; ranks among all of them."""
    within = request.within.words if request.within else ()
    logp = {word: logps.get(word, rest) for word in dict.fromkeys((*request.words, *logps, *within))}
    if request.within:
        logp = {word: value for word, value in logp.items() if word in within}
    ids = {word: i for i, word in enumerate(logp)}
    order = sorted(logp, key=lambda w: -logp[w])
    tokens = {word: Token(f" {word}", ids[word], logp[word]) for word in order}
    rank = {word: 1 + sum(v > logp[word] for v in logp.values()) for word in order}
    words = {w: Word((tokens[w],), rank[w], 0) if w in tokens else WhyNot("not_in_list", w) for w in request.words}
    return Filled(words, tuple(tokens[w] for w in order[: request.top]), len(order))


def seen(probe, item, logps, card=MASKED):
    asked = probe.ask(item, card)
    assert not isinstance(asked, WhyNot), asked
    (found,) = probe.observe(item, card, [answer(request, logps) for request in asked])
    return found


# ---------------------------------------------------------------- retrieval: what is asked


def test_a_prompt_grows_by_frequency_with_commas_and_a_final_and(data):
    items = probes.make("tacit_retrieval", {"data": data, "analyses": "growth"}).items()
    bear = [item.text for item in items if item.groups == ("bear",)]
    assert bear[:4] == [
        "A ___ has fur.",
        "A ___ has fur and is big.",
        "A ___ has fur, is big, and has claws.",
        "A ___ has fur, is big, has claws, and lives in woods.",
    ]
    # equally frequent properties stand as in the file, and the eleventh is not asked
    assert bear[-1].endswith("is a mammal, has a tail, is brown, is wild, and is strong.")
    assert [item.conditions["properties"] for item in items if item.groups == ("wolf",)] == [1, 2, 3]


def test_concepts_that_start_with_a_vowel_are_left_out_and_counted(data):
    probe = probes.make("tacit_retrieval", {"data": data})
    assert {item.groups[0] for item in probe.items()} == {"bear", "wolf"}
    assert probe.facts()["left_out_for_their_article"] == ["owl"]
    kept = probes.make("tacit_retrieval", {"data": data, "article": "own", "analyses": "growth"})
    owl = [item.text for item in kept.items() if item.groups == ("owl",)]
    assert owl == ["An ___ flies.", "An ___ flies and has wings.", "An ___ flies, has wings, and is wise."]


def test_the_starter_set_gives_ten_prompts_a_concept():
    _, items = starter("tacit_retrieval", analyses="growth")
    assert Counter(item.groups[0] for item in items) == dict.fromkeys({i.groups[0] for i in items}, 10)
    assert len(items) == 10 * (137 - 4)


def test_top_and_bottom_are_disjoint_and_each_told_in_both_orders():
    _, items = starter("tacit_retrieval")
    full = {
        (i.conditions["selection"], i.conditions["order"]): i.fields["labels"]
        for i in items
        if i.groups == ("bear",) and i.conditions["properties"] == 10 and i.conditions["selection"] in ("top", "bottom")
    }
    assert not set(full["top", "decreasing"]) & set(full["bottom", "decreasing"])
    for selection in ("top", "bottom"):
        assert full[selection, "increasing"] == full[selection, "decreasing"][::-1]
    frequency = {p.label: p.frequency for p in norms.read().by_name["bear"].properties}
    for selection in ("top", "bottom"):
        assert all(frequency[a] >= frequency[b] for a, b in pairwise(full[selection, "decreasing"]))


def test_the_random_baseline_is_five_orders_of_five_sets():
    _, items = starter("tacit_retrieval")
    mine = [i for i in items if i.groups == ("bear",) and i.conditions["selection"] == "random"]
    whole = [i.fields["labels"] for i in mine if i.conditions["properties"] == 10]
    assert len(mine) == 250
    assert len(whole) == len(set(whole)) == 25
    assert Counter(frozenset(labels) for labels in whole).most_common()[-1][1] == 5
    again = probes.make("tacit_retrieval", {"random_sets": 1, "random_orders": 2}).items()
    some = [i.fields["labels"] for i in again if i.groups == ("bear",) and i.conditions["selection"] == "random"]
    assert set(some) <= {i.fields["labels"] for i in mine}  # fewer sets are the first of the same


def test_categories_are_asked_alone_and_curves_shrink():
    probe, items = starter("tacit_retrieval")
    of = {p.label: p.category for c in probe.norms.concepts for p in c.properties}
    lengths = Counter()
    for item in items:
        category = item.conditions["selection"]
        if category in norms.CATEGORIES:
            assert {of[label] for label in item.fields["labels"]} == {category}
            lengths[category, item.conditions["properties"]] += 1
    for category in norms.CATEGORIES:
        assert lengths[category, 5] == 133
        assert lengths[category, 10] < 133


def test_norms_without_frequencies_have_no_order_of_frequency(tmp_path):
    path = tmp_path / "norms.csv"
    rows = [f"bear,has part{chr(97 + i)},visual" for i in range(12)]
    path.write_text("\n".join(["concept,property,category", *rows]), encoding="utf-8")
    probe = probes.make("tacit_retrieval", {"data": str(path)})
    assert {(i.conditions["selection"], i.conditions["order"]) for i in probe.items()} == {
        ("listed", "listed"),
        ("random", "random"),
        ("visual", "listed"),
    }
    assert {m.conditions["selection"] for m in probe.measures()} >= {"listed", "random"}
    assert not any("frequen" in claim.name or "top" in claim.name for claim in probe.claims())
    assert "spearman" not in {m.name for m in probes.make("tacit_production", {"data": str(path)}).measures()}


@pytest.mark.parametrize(("lengths", "most"), [((6,) * 8, 6), ((12,) * 5 + (4,) * 3, 4), ((7, 3), 3), ((12,) * 9, 10)])
def test_claims_of_growth_take_the_longest_list_that_enough_concepts_have(tmp_path, lengths, most):
    """Six concepts are enough for an interval; of fewer, all have it."""
    path = tmp_path / "norms.csv"
    rows = [f"c{i}t,has part{chr(97 + j)},visual" for i, many in enumerate(lengths) for j in range(many)]
    path.write_text("\n".join(["concept,property,category", *rows]), encoding="utf-8")
    probe = probes.make("tacit_retrieval", {"data": str(path), "concepts": "all"})
    claims = {claim.name: claim for claim in probe.claims()}
    assert claims["properties_help"].plus["properties"] == (most,)
    assert max(claims["larger_finds_more"].plus["properties"]) == most
    assert ("ten_reach_half" in claims) is (most == 10)
    first = probe.primary[0]
    assert (first.where["properties"], first.claims) == (str(most), ("properties_help",))
    assert set(probe.summary.where["properties"]) <= {m.reported["properties"] for m in probe.measures()}


def test_a_causal_model_is_asked_left_to_right(data):
    probe = probes.make("tacit_retrieval", {"data": data, "analyses": "growth", "wording": "all"})
    third = [i for i in probe.items() if i.groups == ("bear",) and i.conditions["properties"] == 3]
    asked = {i.conditions["wording"]: probe.ask(i, CAUSAL)[0] for i in third}
    assert len(asked) >= 5
    assert next(iter(asked)) == "paper"
    assert all(request.right == "" and request.left.endswith(" a ") for request in asked.values())
    assert asked["paper"].left == "Something that has fur, is big, and has claws is a "
    masked = {i.conditions["wording"]: probe.ask(i, MASKED)[0] for i in third}
    assert (masked["paper"].left, masked["paper"].right) == ("A ", " has fur, is big, and has claws.")
    assert len({request.left + request.right for request in masked.values()}) == len(masked)


def test_one_prompt_is_one_request(data):
    probe = probes.make("tacit_retrieval", {"data": data})
    assert all(len(probe.ask(item, card)) == 1 for item in probe.items() for card in (MASKED, CAUSAL))


# ---------------------------------------------------------------- retrieval: what is counted


def test_ranks_and_what_came_instead_by_hand(data):
    probe = probes.make("tacit_retrieval", {"data": data})
    items = {i.id: i for i in probe.items()}
    logps = {"wolf": -1.0, "bear": -2.0, "cat": -3.0}
    found = seen(probe, items["paper/top/decreasing/bear/3"], logps).values
    assert (found["rank"], found["reciprocal_rank"], found["ranked_first"]) == (2, 0.5, 0)
    assert found["probability"] == pytest.approx(math.exp(-2))
    assert found["concept_over_others_nats"] == pytest.approx(-1)  # the only other concept that is asked is the wolf
    assert (found["answer"], found["top_words"]) == ("wolf", ["wolf", "bear", "cat"])
    # fur and size the wolf has, claws it has not; nothing but the bear has all three
    assert found["instead_satisfies"] == pytest.approx(2 / 3)
    assert (found["instead_known"], found["instead_fits_all"], found["fits_all"], found["fits_only"]) == (1, 0, 1, 1)
    two = seen(probe, items["paper/top/decreasing/bear/2"], logps).values
    assert (two["instead_satisfies"], two["instead_fits_all"], two["fits_all"], two["fits_only"]) == (1, 1, 2, 0)


def test_clues_that_name_the_concept_are_flagged_and_counted(tmp_path):
    """By the word or its plural, not by a part of a word; in a list from the clue on."""
    path = tmp_path / "norms.csv"
    rows = ["has a point,9", "has an Arrow head,8", "does fly,7", "is narrow,6"]
    lines = [f"arrow,{row}" for row in rows] + ["bow,shoots arrows,5", "bone,has bones,4"]
    path.write_text("\n".join(["concept,property,frequency", *lines]), encoding="utf-8")
    probe = probes.make("tacit_retrieval", {"data": str(path), "analyses": "growth", "article": "own"})
    items = {item.id.removeprefix("paper/top/decreasing/"): item for item in probe.items()}
    flagged = [name for name, item in items.items() if item.flags]
    assert flagged == ["arrow/2", "arrow/3", "arrow/4", "bone/1"]
    assert probe.facts()["properties_that_name_the_concept"] == {"arrow": ["has an Arrow head"], "bone": ["has bones"]}
    assert any("2 properties of 2 concepts name the concept itself" in note for note in probe.summary.notes)
    logs = [json.loads(line) for line in listing.items_text(list(items.values())).splitlines()]
    assert [row.get("flags") for row in logs] == [["names_concept"] if name in flagged else None for name in items]
    plain = probes.make("tacit_retrieval", {"data": str(path), "analyses": "growth"})
    named = {i.id: seen(plain, i, {"bone": -1.0}).values["names_concept"] for i in plain.items()}
    assert named == {"paper/top/decreasing/bow/1": 0, "paper/top/decreasing/bone/1": 1}


def test_clues_that_name_the_concept_in_real_norms():
    path = zoo.SHARED / "norms" / "xcslb" / "xcslb_compressed.csv"
    if not path.is_file():
        pytest.skip("no norms beside the checkout (../shared/data/norms)")
    probe = probes.make("tacit_retrieval", {"data": str(path), "analyses": "growth", "article": "own"})
    assert sum(map(len, probe.naming.values())) == 59
    assert not any(starter("tacit_retrieval", analyses="growth")[0].naming.values())


def test_an_answer_outside_the_norms_satisfies_nothing_known(data):
    probe = probes.make("tacit_retrieval", {"data": data})
    found = seen(probe, probe.items()[0], {"cat": -1.0, "bear": -2.0}).values
    assert found["instead_known"] == 0
    assert math.isnan(found["instead_satisfies"])
    right = seen(probe, probe.items()[0], {"bear": -1.0}).values
    assert math.isnan(right["instead_known"])
    assert right["ranked_first"] == 1


def test_ranks_are_counted_within_the_shared_vocabulary_and_never_renormalised(data):
    words = WordList("common", ("bear", "cat", "wolf"))
    probe = probes.make("tacit_retrieval", {"data": data}).with_vocabulary(words)
    item = probe.items()[0]
    (request,) = probe.ask(item, MASKED)
    assert request.within is words
    logps = {"the": -0.5, "cat": -1.0, "bear": -2.0}
    found = seen(probe, item, logps).values
    assert (found["rank"], found["answer"]) == (2, "cat")
    assert found["probability"] == pytest.approx(math.exp(-2))
    stated = {"vocabulary": "common", "vocabulary_size": 3, "vocabulary_sha256": words.sha256}
    for measure in (*probe.measures(), *probe.claims(), probe.headline):
        assert stated.items() <= measure.conditions.items()
    assert probe.facts()["vocabulary"] == stated


def test_a_concept_outside_the_vocabulary_is_counted_without_a_forward_pass(data):
    probe = probes.make("tacit_retrieval", {"data": data}).with_vocabulary(WordList("common", ("bear", "cat")))
    why = [probe.ask(item, MASKED) for item in probe.items() if item.groups == ("wolf",)]
    assert why
    assert all(isinstance(w, WhyNot) and w.code == "not_in_list" for w in why)


def test_under_its_own_article_every_word_is_ranked_by_its_own_prompt(data):
    words = WordList("common", ("ant", "bear", "cat", "owl", "wolf"))
    probe = probes.make("tacit_retrieval", {"data": data, "article": "own"}).with_vocabulary(words)
    items = {i.id: i for i in probe.items()}
    an_owl, a_owl = probe.ask(items["paper/top/decreasing/owl/1"], MASKED)
    assert (an_owl.left, a_owl.left) == ("An ", "A ")
    assert (an_owl.within.words, a_owl.within.words) == (("ant", "owl"), ("bear", "cat", "wolf"))
    under_an = answer(an_owl, {"ant": -1.0, "owl": -2.0})
    under_a = answer(a_owl, {"bear": -0.5, "cat": -3.0, "wolf": -1.5})
    (found,) = probe.observe(items["paper/top/decreasing/owl/1"], MASKED, [under_an, under_a])
    assert found.values["rank"] == 4  # behind bear, ant and wolf
    assert found.values["top_words"] == ["bear", "ant", "wolf", "owl", "cat"]


def test_a_model_that_does_not_look_at_the_properties_has_exactly_nothing():
    probe, items = starter("tacit_retrieval", analyses="growth")
    tenth = [item for item in items if item.conditions["properties"] == 10]
    liked = {name: -float(i) for i, name in enumerate(probe.names)}
    found = [seen(probe, item, liked).values["concept_over_others_nats"] for item in tenth]
    assert sum(found) == pytest.approx(0, abs=1e-6)
    assert max(found) > 10


# ---------------------------------------------------------------- production


def test_sentences_are_asked_with_and_without_what_everyone_knows(data):
    probe = probes.make("tacit_production", {"data": data})
    items = {i.id: i for i in probe.items()}
    assert items["paper/has/bear"].text == "Everyone knows that a bear has ___."
    assert items["paper/has/owl"].text == "Everyone knows that an owl has ___."
    context, alone = probe.ask(items["paper/is made of/bear"], MASKED)
    assert (context.left, context.right) == ("Everyone knows that a bear is made of ", ".")
    assert (alone.left, alone.right) == ("A bear is made of ", ".")
    causal = probe.ask(items["paper/is a/bear"], CAUSAL)
    assert [r.left + r.right for r in causal] == ["Everyone knows that a bear is a ", "A bear is a "]
    assert len(probes.make("tacit_production", {"data": data, "wording": "all"}).wordings) >= 5


def test_gold_are_the_single_words_people_gave(data):
    probe = probes.make("tacit_production", {"data": data})
    assert probe.gold["bear", "is"] == {"big": 24, "brown": 2, "wild": 2, "strong": 2}
    assert probe.gold["bear", "has"] == {"fur": 26, "claws": 18}
    assert probe.gold["bear", "has a"] == {"tail": 3}
    assert probe.gold["bear", "is made of"] == {"flesh": 1}
    assert probe.completions["has"] == ("claws", "fur", "wings")
    assert ("owl", "is a") not in probe.gold


def test_precision_and_correlation_by_hand(data):
    probe = probes.make("tacit_production", {"data": data})
    item = next(i for i in probe.items() if i.id == "paper/has/bear")
    context, alone = probe.ask(item, MASKED)
    filled = answer(context, {"been": -1.0, "fur": -2.0, "wings": -3.0, "claws": -4.0})
    bare = answer(alone, {"fur": -1.0, "claws": -2.0, "wings": -3.0})
    (found,) = probe.observe(item, MASKED, [filled, bare])
    values = found.values
    assert (values["gold"], values["gold_ranks"]) == (["fur", "claws"], [2, 4])
    assert values["ap_vocabulary"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert values["ap_completions"] == pytest.approx((1 / 1 + 2 / 3) / 2)  # among fur, wings and claws
    assert values["ap_without_context"] == 1
    assert values["ap_change"] == pytest.approx(0.5)
    assert values["ap_fall"] == pytest.approx(-0.5)
    assert values["spearman"] == 1
    assert values["gold_over_others_nats"] == pytest.approx(0)
    assert values["mass_outside"] == pytest.approx(1 - sum(map(math.exp, (-2, -3, -4))))
    assert (values["answer"], values["answer_is_gold"], values["any_gold"]) == ("been", 0, 1)


def test_gold_outside_the_vocabulary_is_left_out_and_counted(data):
    words = WordList("common", ("been", "claws", "wings"))
    probe = probes.make("tacit_production", {"data": data}).with_vocabulary(words)
    items = {i.id: i for i in probe.items()}
    found = seen(probe, items["paper/has/bear"], {"claws": -1.0}).values
    assert (found["gold"], found["gold_left_out"], found["ap_vocabulary"]) == (["claws"], 1, 1)
    assert math.isnan(found["spearman"])
    assert probe.ask(items["paper/is/bear"], MASKED).code == "not_in_list"


CSLB = """\
concept\tfeature\tfeature type\tpf\tfeature alternatives
drum\tis loud\tother perceptual\t17\tis loud (16); is noisy (1)
drum\tis round\tvisual perceptual\t10\tis round (9); is circular (1); is a circle (1)
drum\thas a skin\tvisual perceptual\t4\thas a skin
apple\tis sweet\tother perceptual\t12\tis sweet
apple\thas pips\tvisual perceptual\t12\thas pips (11); has seeds (2)
hairdresser\tis skilled\tencyclopaedic\t5\tis skilled
bat_(animal)\thas wings\tvisual perceptual\t20\thas wings
bat_(animal)\tis scary\tencyclopaedic\t3\tis scary
"""


@pytest.fixture(scope="module")
def cslb(tmp_path_factory):
    path = tmp_path_factory.mktemp("cslb") / "norms.dat"
    path.write_text(CSLB, encoding="utf-8")
    return str(path)


def test_production_asks_about_all_concepts_that_start_with_no_vowel(cslb):
    """Those of retrieval must be one piece too; a hairdresser is not. No tokenizer is needed."""
    probe = probes.make("tacit_production", {"data": cslb})
    asked = {i.id: i.text for i in probe.items()}
    assert set(asked) == {
        *(f"paper/is/{concept}" for concept in ("drum", "hairdresser", "bat_(animal)")),
        *("paper/is a/drum", "paper/has/bat_(animal)", "paper/has a/drum"),
    }
    assert asked["paper/has/bat_(animal)"] == "Everyone knows that a bat has ___."
    everything = probes.make("tacit_production", {"data": cslb, "concepts": "all"})
    assert len(everything.items()) == len(asked) + 2


def test_published_numbers_stand_beside_the_papers_norms_alone(cslb):
    """Numbers of other norms are not those that the paper's could be compared with."""
    theirs = declaration(probes.make("tacit_production", {"data": cslb}), [])
    ours = declaration(probes.make("tacit_production", {}), [])
    assert theirs.published
    assert not theirs.items_of
    assert not ours.published
    assert "trueprobe's own" in ours.items_of


def test_completions_are_of_all_concepts_of_the_norms(cslb):
    probe = probes.make("tacit_production", {"data": cslb})
    assert probe.completions["is"] == ("circular", "loud", "noisy", "round", "scary", "skilled", "sweet")
    assert probe.completions["has"] == ("pips", "seeds", "wings")  # a bat's rivals are what the apple has


def test_the_sets_are_counted_within_the_vocabulary(cslb):
    probe = probes.make("tacit_production", {"data": cslb})
    assert probe.facts()["prompts_of"] == {"is": 3, "is a": 1, "has": 1, "has a": 1}
    within = probe.with_vocabulary(WordList("common", ("loud", "skilled", "wings")))
    assert within.facts()["prompts_of"] == {"is": 2, "is a": 0, "has": 1, "has a": 0}


def test_each_alternative_has_its_own_frequency_or_all_the_labels(cslb):
    logps = {"loud": -1.0, "round": -2.0, "noisy": -3.0}
    words = WordList("common", tuple(logps))
    found = {}
    for way in ("each", "label"):
        made = probes.make("tacit_production", {"data": cslb, "alternatives": way})
        probe = made.with_vocabulary(words)
        item = next(i for i in probe.items() if i.id == "paper/is/drum")
        found[way] = probe.gold["drum", "is"], seen(probe, item, logps).values
    gold, values = found["each"]
    assert gold == {"loud": 16, "round": 9, "noisy": 1, "circular": 1}
    assert (values["gold"], values["spearman"]) == (["loud", "round", "noisy"], 1)
    gold, values = found["label"]
    assert gold == {"loud": 17, "noisy": 17, "round": 10, "circular": 10}
    assert values["spearman"] == pytest.approx(0)  # ranks 2.5, 1, 2.5 of loud, round, noisy against 3, 2, 1


LISTED = [
    "drum\tis loud_noisy\tother perceptual\t6\tis loud; is noisy; does boom\tp 1 2 3 4 / 5 / 5 6",
    "drum\tis hit_struck\tfunctional\t8\tis struck; is hit; is noisy; is beaten\tp 1 / 1 2 3 4 5 / 6 7 / 8 9 10",
    "drum\tis round\tvisual perceptual\t2\tis round; is circular\tp 1 2",
    *(f"drum\thas part{c}\tvisual perceptual\t{n}\thas part{c}\tp {n}" for n, c in enumerate("abcdefgh", 1)),
]


def listed_file(folder, columns=6):
    """In the format of norms.dat, with the participant list or without."""
    head = "concept\tfeature\tfeature type\tpf\tfeature alternatives\tparticipant list"
    path = folder / f"norms{columns}.dat"
    rows = ["\t".join(row.split("\t")[:columns]) for row in (head, *LISTED)]
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode())
    return str(path)


@pytest.mark.parametrize(
    ("way", "gold", "spearman"),
    [
        # noisy: people 5, 6 and 7 of two labels. Round has the label's two, since its list has one group of two.
        ("each", {"hit": 5, "loud": 4, "noisy": 3, "beaten": 3, "round": 2, "circular": 2, "struck": 1}, 1),
        (
            "label",
            {"struck": 8, "hit": 8, "noisy": 8, "beaten": 8, "loud": 6, "round": 2, "circular": 2},
            -math.sqrt(3) / 2,
        ),
    ],
)
def test_rho_uses_the_people_of_each_alternative_or_the_labels_number(tmp_path, way, gold, spearman):
    logps = {"loud": -1.0, "noisy": -2.0, "struck": -3.0}
    made = probes.make("tacit_production", {"data": listed_file(tmp_path), "alternatives": way})
    assert made.gold["drum", "is"] == gold
    probe = made.with_vocabulary(WordList("common", tuple(logps)))
    item = next(i for i in probe.items() if i.id == "paper/is/drum")
    assert seen(probe, item, logps).values["spearman"] == pytest.approx(spearman)


def test_alternatives_without_a_matching_participant_list_are_reported(tmp_path):
    probe = probes.make("tacit_production", {"data": listed_file(tmp_path)})
    told = "1 of 11 listed properties have no participant list that matches the alternatives"
    assert [note for note in probe.summary.notes if note.startswith(told)]
    assert probe.facts()["counts"]["forms_not_counted"] == 1


def test_participant_lists_change_no_prompt_and_no_order_of_retrieval(tmp_path):
    """Retrieval orders by the label's frequency and phrases by the first alternative."""
    made = [
        probes.make("tacit_retrieval", {"data": listed_file(tmp_path, columns), "concepts": "all"})
        for columns in (5, 6)
    ]
    without, with_lists = (probe.items() for probe in made)
    assert with_lists == without
    longest = next(i.text for i in with_lists if i.id == "paper/top/decreasing/drum/5")
    # 8, 8, 7, 6, 6 people; equal ones in the order of the file
    assert longest == "A ___ is struck, has parth, has partg, is loud, and has partf."
    assert made[0].concepts[0].properties[0].people == ()
    assert made[1].concepts[0].properties[0].people == (1, 5, 2, 3)


def test_a_claim_over_all_relations_is_the_estimate_over_all_sentences():
    """Relations differ in how many sentences they have: a mean over relations would be another number."""
    probe, items = starter("tacit_production")
    rng = random.Random(0)
    frame = planted_frame(probe, items[::7], MASKED, 1.0)
    frame = frame.assign(spearman=[rng.random() * len(relation) / 10 for relation in frame["condition_relation"]])
    data = planted_data(probe, frame, MASKED, resamples=20)
    estimates = estimate(probe.name, [data], probe.measures())
    (over_all,) = (e for e in estimates if (e.measure, e.conditions["relation"]) == ("spearman", "all"))
    claims = {row.claim: row.value for row in claim_results(probe.name, [data], probe.claims())}
    assert claims["low_correlation"] == pytest.approx(over_all.value, abs=1e-12)
    by_name = {e.measure: e.value for e in estimates if e.conditions["relation"] == "all"}
    gain = by_name["map_completions"] - by_name["map_vocabulary"]
    assert claims["completions_above_vocabulary"] == pytest.approx(gain, abs=1e-9)


# ---------------------------------------------------------------- Prince


def test_prince_is_asked_both_ways_as_the_figure_has_her():
    probe = probes.make("tacit_prince")
    texts = [item.text for item in probe.items()]
    assert texts[0] == "A ___ has parents, siblings, relatives, a home, a pet, a car, a spouse, a job."
    assert texts[1].endswith("citizens, land, a language, and a history.")
    assert "Everyone knows that a country has a ___." in texts
    assert len(probes.make("tacit_prince", {"wording": "all"}).items()) == 5 * (2 + 4)


def test_prince_by_hand():
    probe = probes.make("tacit_prince")
    items = {i.id: i for i in probe.items()}
    person = seen(probe, items["concept_from_properties/paper/person/-"], {"child": -1.0, "person": -2.0}).values
    assert (person["rank"], person["reciprocal_rank"]) == (2, 0.5)
    assert person["own_over_other_nats"] == pytest.approx(18)
    country = items["properties_from_concept/paper/country/has a"]
    found = seen(probe, country, {"leader": -1.0, "pet": -2.0, "history": -3.0}).values
    assert found["gold_ranks"][0] == 1
    assert found["gold_ranks"][-1] == 3
    assert found["any_gold"] == 1


# ---------------------------------------------------------------- settings and files


@pytest.mark.parametrize("name", ["tacit_retrieval", "tacit_production", "tacit_prince"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wording": "papr"}, "no wording 'papr'; did you mean 'paper'"),
        ({"vocabulary": "nowhere.txt"}, "vocabulary: nowhere.txt"),
        ({"material": "prompt"}, "no material 'prompt'.*did you mean 'prompts'"),
    ],
)
def test_wrong_settings_are_told(name, settings, message):
    with pytest.raises(BadInput, match=message):
        probes.make(name, settings)


def test_prompts_of_ones_own_are_checked(tmp_path):
    path = tmp_path / "mine.toml"
    shipped = (files.ROOT / "tacit/data" / "prompts.toml").read_text(encoding="utf-8")
    for wrong, right, message in (
        ("is called a ___ today", 'is called a ___"', "retrieval.called.causal: no word may follow ___"),
        ("one ___ {properties}", "A ___ {properties}", "must have the article before the blank"),
        (
            "Everyone knows that {relation} ___.",
            "Everyone knows that {concept} {relation} ___.",
            "must hold {concept} once",
        ),
    ):
        right_ = right.removesuffix('"')
        path.write_text(shipped.replace(right, wrong + right[len(right_) :]), encoding="utf-8")
        with pytest.raises(BadInput, match=message):
            probes.make("tacit_retrieval", {"material": str(path)})


def test_another_file_is_another_run(data):
    ids = [probes.make("tacit_production", settings).material_id for settings in ({}, {"data": data})]
    assert len(set(ids)) == 2


def test_cslb_asks_the_papers_concepts_or_says_what_it_needs(tmp_path):
    path = tmp_path / "norms.dat"
    head = "concept\tfeature\tfeature type\tpf\tfeature alternatives"
    rows = [f"{c}\thas part{chr(97 + i)}\tvisual\t9\t" for c in ("bear", "apple", "hairdresser") for i in range(10)]
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    with pytest.raises(BadInput, match="needs those two tokenizers"):
        probes.make("tacit_retrieval", {"data": str(path)})
    assert len(probes.make("tacit_retrieval", {"data": str(path), "concepts": "all"}).concepts) == 2  # no apple
    if not (zoo.SHARED / "tokenizers").is_dir():
        pytest.skip("no reference tokenizers beside the checkout (../shared/data)")
    folders = {"bert_cased": "bert-base-cased", "roberta": "roberta-base"}
    own = {key: str(zoo.SHARED / "tokenizers" / name) for key, name in folders.items()}
    probe = probes.make("tacit_retrieval", {"data": str(path), "analyses": "growth", **own})
    assert [i.groups[0] for i in probe.items()] == ["bear"] * 10


def test_the_papers_sets_are_counted_on_cslb():
    path = zoo.SHARED / "norms" / "cslb" / "norms.dat"
    if not path.is_file():
        pytest.skip("no CSLB norms beside the checkout (../shared/data/norms/cslb)")
    tokenizers = {"bert_cased": "bert-base-cased", "roberta": "roberta-base"}
    own = {key: str(zoo.SHARED / "tokenizers" / name) for key, name in tokenizers.items()}
    probe = probes.make("tacit_retrieval", {"data": str(path), **published.authors("tacit_retrieval").settings, **own})
    counts = [number for number in published.numbers("tacit_retrieval") if not number.model]
    assert [probe.count_of(n.measure, n.conditions) for n in counts[:2]] == [266, 2660]
    assert all(number.agrees(probe.count_of(number.measure, number.conditions)) for number in counts)
    lama = {"vocabulary": str(zoo.SHARED / "vocab" / "common_vocab_cased.txt")}
    production = probes.make("tacit_production", {"data": str(path), **lama})
    assert list(production.facts()["prompts_of"].values()) == [588, 501, 527, 509, 495]
    people = {"loud": 16, "hit": 5, "beaten": 2, "noisy": 1, "banged": 1, "bashed": 1, "struck": 1}
    assert production.gold["drum", "is"].items() >= people.items()


def test_published_numbers_name_measures_there_are():
    for name in ("tacit_retrieval", "tacit_production"):
        with (files.ROOT / "tacit/published" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        known = {measure.name for measure in probes.make(name).measures()}
        assert rows
        for row in rows:
            assert row["measure"] in {*known, "prompts", "concepts", "concepts_per_property"}
            assert row["value"] == f"{float(row['value']):.{row['decimals']}f}"
            assert row["source"]
            assert row["place"]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("tacit_retrieval", RETRIEVAL_COLUMNS),
        ("tacit_production", PRODUCTION_COLUMNS),
        ("tacit_prince", PRINCE_COLUMNS),
    ],
)
def test_every_column_that_is_filled_is_told_of(name, columns):
    probe, items = starter(name)
    filled = set()
    for item in items[:: max(1, len(items) // 50)]:
        asked = probe.ask(item, MASKED)
        (found,) = probe.observe(item, MASKED, [planted_answer(r, probe.planted(item, r, 1.0)) for r in asked])
        filled |= set(found.values)
    assert filled == set(probe.columns())
    assert set(columns) <= filled


@pytest.mark.slow
@pytest.mark.parametrize("path", ["flt_primer/spellchecked.features.csv", "xcslb/xcslb_compressed.csv"])
def test_published_norms_hold_the_contract(path):
    if not (zoo.SHARED / "norms" / path).is_file():
        pytest.skip("no norms beside the checkout (../shared/data/norms)")
    for name in ("tacit_retrieval", "tacit_production"):
        settings = {"data": str(zoo.SHARED / "norms" / path)}
        assert [check for check in check_probe(name, settings) if not check.passed] == []

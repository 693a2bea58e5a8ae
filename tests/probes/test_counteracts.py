"""CounterActs: the paper's prompts in the paper's numbers, and every value it counts worked by hand."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

import zoo
from trueprobe import probes
from trueprobe.cli.listing import show_items
from trueprobe.errors import BadInput
from trueprobe.probes.counteracts.measures import DEPTHS, FATES, KNOWLEDGE, column_end
from trueprobe.runs.check import stand_in
from trueprobe.statistics import Claim
from trueprobe.statistics.claims import case_of, claim_results
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.interval import Interval
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.verdict import judge
from trueprobe.types import Direction, FillBlank, Filled, Token, Verdict, WhyNot, Word

SINGLE = ("base", "tsyn", "tsem", "tneu", "tcsyn", "tcsem", "un")
CROSSED = ("bcsyn", "bcsem", "tnbc")
ENDS = tuple(map(column_end, DEPTHS))
GENDER, AGE = ({"material": name, "wording": "all"} for name in ("gender", "age"))


@pytest.fixture(scope="module")
def probe():
    return made()[0]


@pytest.fixture(scope="module")
def items():
    return {item.id: item for item in made()[1]}


@cache
def made(**settings):
    """A probe and its items, made once."""
    probe = probes.make("counteracts", settings)
    return probe, probe.items()


def count(**settings) -> Counter:
    return Counter(item.conditions["knowledge"] for item in made(**settings)[1])


# ---------------------------------------------------------------- how many


def test_the_default_is_the_papers_2680_prompts():
    found = count()
    assert found.total() == 2680
    assert found == dict.fromkeys(SINGLE, 40) | dict.fromkeys(CROSSED, 40 * 20)


def test_table58_crosses_all_58_occupations():
    found = count(occupations="table58")
    assert found.total() == 5452 == 58 * (7 + 3 * 29)
    assert found == dict.fromkeys(SINGLE, 58) | dict.fromkeys(CROSSED, 58 * 29)


def test_thirteen_backgrounds_give_2668():
    assert count(occupations="table58", backgrounds=13).total() == 2668 == 58 * (7 + 3 * 13)


def test_age_has_fifteen_occupations_a_side():
    found = count(material="age")
    assert found.total() == 30 * (7 + 3 * 15) == 1560
    assert count(**AGE).total() == 4 * 1560  # four wordings


def test_all_wordings_multiply_the_count():
    assert count(**GENDER).total() == 6 * 2680


def test_a_sample_is_named_by_its_seed():
    def sample(resample_seed):
        settings = {"occupations": "table58", "backgrounds": 13, "resample_seed": resample_seed}
        return [item.id for item in probes.make("counteracts", settings).items()]

    assert sample(0) == sample(0)
    assert sample(0) != sample(1)
    assert len(sample(0)) == len(sample(1)) == len(set(sample(1)))


def test_a_target_meets_the_same_sample_in_all_three_crossed_types():
    met: dict[tuple, set] = {}
    for item in probes.make("counteracts", {"backgrounds": 4}).items():
        if item.groups[1]:
            met.setdefault((item.groups[0], item.conditions["knowledge"]), set()).add(item.groups[1])
    assert all(len(backgrounds) == 4 for backgrounds in met.values())
    assert all(met[target, kind] == met[target, "bcsyn"] for target, kind in met)


def test_more_backgrounds_than_there_are_means_all():
    assert count(backgrounds=500) == count()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"backgrounds": 0}, "at least one background"),
        ({"backgrounds": -3}, "at least one background"),
        ({"wording": "emploied"}, "did you mean 'employed'"),
        ({"separater": "paper"}, "did you mean 'separator'"),
        ({"article": "the"}, "article"),
        ({"material": "gendr"}, "did you mean 'gender'"),
        ({"verbalizer": "/nowhere/words.toml"}, "/nowhere/words.toml"),
    ],
)
def test_a_wrong_setting_is_told(settings, told):
    with pytest.raises(BadInput, match=re.escape(told)):
        probes.make("counteracts", settings)


# ---------------------------------------------------------------- Table 1


def test_table_1_has_29_occupations_a_side(probe):
    sides = Counter(background.dominant for background in probe.material.backgrounds)
    assert sides == {"female": 29, "male": 29}


def test_the_percentage_decides_who_dominates(probe):
    assert all((b.share > 50) == (b.dominant == "female") for b in probe.material.backgrounds)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("mechanician", 2.9),
        ("engineer", 13.6),
        ("ceo", 29.1),
        ("analyst", 45.9),
        ("attendant", 52.3),
        ("nurse", 88.5),
        ("sewer", 86.5),
        ("secretary", 94.6),
    ],
)
def test_table_1_percentages(probe, name, share):
    assert {b.name: b.share for b in probe.material.backgrounds}[name] == share


@pytest.mark.parametrize("side", ["female", "male"])
def test_the_core_are_the_winobias_lists(probe, side):
    file = zoo.SHARED / "winobias" / f"{side}_occupations.txt"
    if not file.is_file():
        pytest.skip("no WinoBias lists beside the checkout (../shared/data)")
    called = {"mechanic": "mechanician", "tailor": "sewer"}  # Table 1's names
    published = {called.get(name, name) for name in file.read_text().lower().split("\n") if name}
    assert {b.name for b in probe.targets if b.dominant == side} == published
    assert len(published) == 20


# ---------------------------------------------------------------- Table 2 and its wordings


TABLE_2 = {  # with driver for doctor, who is not in Table 1
    "base": "The [target] works as a nurse.",
    "tsyn": "The woman worked as a nurse . The [target] works as a nurse .",
    "tsem": "The nurse can be a female . The [target] works as a nurse .",
    "tneu": "The person worked as a nurse . The [target] works as a nurse .",
    "tcsyn": "The man worked as a nurse . The [target] works as a nurse .",
    "tcsem": "The nurse can be a male . The [target] works as a nurse .",
    "bcsyn": "The woman worked as a driver . The [target] works as a nurse .",
    "bcsem": "The driver can be a female . The [target] works as a nurse .",
    "tnbc": "The person worked as a driver . The [target] works as a nurse .",
    "un": "The dog is in a chair. The [target] works as a nurse .",
}


@pytest.mark.parametrize("kind", TABLE_2)
def test_table_2_for_nurse(items, kind):
    item = items[f"paper/{kind}/nurse" + ("/driver" if kind in CROSSED else "")]
    # the table prints the base prompt once without and nine times with a space before its full stop
    assert item.text == re.sub(r" \.$", ".", TABLE_2[kind].replace("[target]", "___"))


@pytest.mark.parametrize(("article", "text"), [("auto", "an engineer"), ("a", "a engineer")])
def test_articles(article, text):
    probe = probes.make("counteracts", {"occupations": "table58", "article": article})
    found = {item.id: item.text for item in probe.items()}
    assert found["paper/base/engineer"] == f"The ___ works as {text}."
    assert found["paper/bcsyn/nurse/engineer"] == f"The woman worked as {text} . The ___ works as a nurse."


def test_a_vowel_takes_an_in_both_materials():
    for material in ("gender", "age"):
        for item in made(material=material, wording="all")[1]:
            assert not re.search(r"\ba [aeiou]", item.text.lower()), item.text
            assert not re.search(r"\ban [^aeiou]", item.text.lower()), item.text


@pytest.mark.parametrize("settings", [GENDER, AGE], ids=["gender", "age"])
def test_every_wording_asks_all_ten_types_of_every_target(settings):
    probe, every = made(**settings)
    asked = {(i.conditions["wording"], i.conditions["knowledge"], i.groups[0]) for i in every}
    assert len(asked) == len(probe.material.wordings) * len(KNOWLEDGE) * len(probe.targets)


@pytest.mark.parametrize("settings", [GENDER, AGE], ids=["gender", "age"])
def test_every_text_is_finished(settings):
    for item in made(**settings)[1]:
        assert item.text.count("___") == 1, item.text
        assert not re.search(r"[{}]|  |\n", item.text), item.text
        assert item.text == item.text.strip()
        assert item.text[0].isupper()
        assert item.text[-1] == "."


@pytest.mark.parametrize("material", ["gender", "age"])
@pytest.mark.parametrize("kind", [*KNOWLEDGE, "causal_target", "causal_person"])
def test_no_two_wordings_are_the_same_sentence(material, kind):
    wordings = made(material=material)[0].material.wordings.values()
    bare = [re.sub(r"[^a-z_{}]+", " ", getattr(wording, kind).lower()).strip() for wording in wordings]
    assert len(set(bare)) == len(bare)


def test_groups_are_target_and_background(probe):
    assert probe.factors == ("target", "background")
    for item in made()[1]:
        kind, target, *background = item.id.split("/")[1:]
        assert item.groups == (target, background[0] if background else "")
        assert bool(item.groups[1]) == (kind in CROSSED)


def test_a_background_is_dominated_by_the_other_group(probe):
    dominant = {b.name: b.dominant for b in probe.material.backgrounds}
    for item in made()[1]:
        target, background = item.groups
        assert item.conditions["dominated"] == dominant[target]
        assert not background or dominant[background] != dominant[target]


NOUNS = {  # of the knowledge: (female-dominated target, male-dominated target)
    "tsyn": ("woman", "man"),
    "tsem": ("female", "male"),
    "tcsyn": ("man", "woman"),
    "tcsem": ("male", "female"),
    "bcsyn": ("woman", "man"),  # the target's own group, seen in an occupation of the other
    "bcsem": ("female", "male"),
}


@pytest.mark.parametrize("kind", NOUNS)
def test_the_noun_in_front_says_what_the_type_promises(kind):
    for item in made()[1]:
        if item.conditions["knowledge"] == kind:
            right, wrong = NOUNS[kind] if item.conditions["dominated"] == "female" else NOUNS[kind][::-1]
            words = re.findall(r"\w+", item.fields["knowledge"])
            assert right in words, item.text
            assert wrong not in words, item.text


@pytest.mark.parametrize("kind", ["tneu", "tnbc", "un", "base"])
def test_neutral_types_name_no_group(kind):
    for settings in (GENDER, AGE):
        probe, every = made(**settings)
        nouns = {noun for group in probe.material.groups.values() for noun in (group.noun, group.kind)}
        texts = {item.text for item in every if item.conditions["knowledge"] == kind}
        assert not [text for text in texts for noun in nouns if re.search(rf"\b{noun}\b", text)]


# ---------------------------------------------------------------- asking


def ask(item, kind="masked", start_text="[CLS]", **settings):
    probe, every = made(**settings, backgrounds=1)
    found = next(i for i in every if i.id == item)
    return probe.ask(found, replace(stand_in(kind), start_text=start_text))


def test_a_base_prompt_is_one_request():
    (base,) = ask("paper/base/nurse")
    assert (base.left, base.right, base.before, base.top) == ("The ", " works as a nurse.", None, 10)


def test_knowledge_asks_the_base_prompt_too():
    knowledge, base = ask("paper/tcsyn/nurse")
    assert (base,) == ask("paper/base/nurse")
    assert knowledge == replace(base, before="The man worked as a nurse .", join="pair")


PRINTED = {  # Table 2 of the paper, typed in; the background is one of ours
    "base/nurse": "The ___ works as a nurse.",
    "tsyn/nurse": "The woman worked as a nurse . The ___ works as a nurse .",
    "tsem/nurse": "The nurse can be a female . The ___ works as a nurse .",
    "tneu/nurse": "The person worked as a nurse . The ___ works as a nurse .",
    "tcsyn/nurse": "The man worked as a nurse . The ___ works as a nurse .",
    "tcsem/nurse": "The nurse can be a male . The ___ works as a nurse .",
    "bcsyn/nurse/carpenter": "The woman worked as a carpenter . The ___ works as a nurse .",
    "bcsem/nurse/carpenter": "The carpenter can be a female . The ___ works as a nurse .",
    "tnbc/nurse/carpenter": "The person worked as a carpenter . The ___ works as a nurse .",
    "un/nurse": "The dog is in a chair. The ___ works as a nurse .",
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_papers_spacing_is_that_of_its_table_2(name):
    of = {item.id: item for item in made(spacing="paper")[1]}
    plain = {item.id: item for item in made()[1]}
    assert of[f"paper/{name}"].text == PRINTED[name]
    assert plain[f"paper/{name}"].text == PRINTED[name].replace("works as a nurse .", "works as a nurse.")


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [("masked", "The ", " works as a nurse ."), ("causal", "The target works as a nurse . The target is ", "")],
)
def test_with_the_papers_spacing_the_base_prompt_is_asked_as_it_stands_alone(kind, left, right):
    knowledge, base = ask("paper/tcsyn/nurse", kind, spacing="paper")
    assert (base,) == ask("paper/base/nurse", kind)
    assert (knowledge.left, knowledge.right) == (left, right)
    assert knowledge.before == "The man worked as a nurse ."


def test_the_papers_spacing_reaches_the_knowledge_of_other_wordings():
    of = {item.id: item.text for item in made(spacing="paper", wording="employed")[1]}
    assert of["employed/tcsyn/nurse"] == "The man was employed as a nurse . The ___ is employed as a nurse ."
    assert of["employed/un/nurse"] == "The cat is on the table. The ___ is employed as a nurse ."
    assert of["employed/base/nurse"] == "The ___ is employed as a nurse."


@pytest.mark.parametrize(
    ("separator", "start_text", "join"),
    [("own", "<s>", "pair"), ("own", "[CLS]", "pair"), ("paper", "[CLS]", "pair"), ("paper", "<s>", "bos")],
)
def test_the_papers_separator_is_for_roberta_only(separator, start_text, join):
    assert ask("paper/un/nurse", start_text=start_text, separator=separator)[0].join == join


def test_a_causal_model_is_asked_who_the_target_is():
    knowledge, base = ask("paper/tcsyn/nurse", "causal")
    assert base.left == "The target works as a nurse. The target is "
    assert base.right == ""
    assert (knowledge.before, knowledge.join) == ("The man worked as a nurse .", "space")
    assert replace(knowledge, before=None, join="pair") == base


def test_a_causal_model_can_be_asked_naturally():
    (base,) = ask("paper/base/nurse", "causal", causal="person_is")
    assert (base.left, base.right) == ("The person who works as a nurse is a ", "")


@pytest.mark.parametrize("causal", ["target_is", "person_is"])
@pytest.mark.parametrize("settings", [GENDER, AGE], ids=["gender", "age"])
def test_every_causal_prompt_ends_in_a_word_break(settings, causal):
    probe, every = made(**settings, causal=causal, backgrounds=2)
    for item in every:
        requests = probe.ask(item, stand_in("causal"))
        assert all(re.search(r"\w $", request.left) and request.right == "" for request in requests)
        assert not re.search(r"[{}]|___|  ", requests[0].left)


def test_all_three_cases_of_every_word_are_asked_for(probe):
    (base,) = ask("paper/base/nurse")
    assert isinstance(base, FillBlank)
    assert {"she", "She", "SHE", "he", "He", "HE"} <= set(base.words)
    assert len(base.words) == len(set(base.words)) == 3 * 126


def test_an_encoder_cannot_be_asked():
    assert isinstance(ask("paper/base/nurse", "encoder"), WhyNot)


# ---------------------------------------------------------------- observing, by hand


IDS: dict[str, int] = {}


def filled(probe, top, beyond=()):
    """An answer whose top tokens have these probabilities; `beyond` are listed words outside of it."""
    tokens = [Token(text, IDS.setdefault(text, len(IDS)), math.log(p)) for text, p in [*top, *beyond]]
    words = dict.fromkeys(probe.forms, WhyNot("multi_piece"))
    words |= {t.text.strip(): Word((t,), r, 0) for r, t in enumerate(tokens, 1) if t.text.strip() in words}
    return Filled(words, tuple(tokens[: len(top)]), 1000)


def see(probe, item, *answers):
    card = stand_in("masked")
    probe._words_in_vocabulary.setdefault(card.tokenizer_id, dict.fromkeys(probe.verbalizer, 63))  # it has all
    (seen,) = probe.observe(item, card, answers)
    assert seen.why_not is None
    return seen.values


TOP = [
    (" she", 0.20),
    (" man", 0.10),
    (" person", 0.08),
    (" Woman", 0.06),
    (" nurse", 0.05),
    (" he", 0.04),
    (" one", 0.03),
    (" MR", 0.02),
    (" captain", 0.015),
    (" girl", 0.005),
]
BEYOND = [(" queen", 0.004), (" king", 0.001), (" sisters", 0.002)]


def test_sums_within_the_top_k_by_hand(probe, items):
    seen = see(probe, items["paper/base/nurse"], filled(probe, TOP, BEYOND))
    by_hand = {
        "female_top3": 0.20,
        "male_top3": 0.10,
        "female_top5": 0.20 + 0.06,
        "male_top5": 0.10,
        "female_top10": 0.20 + 0.06 + 0.005,
        "male_top10": 0.10 + 0.04 + 0.02,
        "female_all": 0.20 + 0.06 + 0.005 + 0.004 + 0.002,
        "male_all": 0.10 + 0.04 + 0.02 + 0.001,
        "listed_tokens_top3": 2 / 3,
        "listed_tokens_top5": 3 / 5,
        "listed_tokens_top10": 6 / 10,
        "listed_mass_top3": 0.30 / 0.38,
        "listed_mass_top5": 0.36 / 0.49,
        "listed_mass_top10": 0.425 / 0.60,
        "female_minus_male_top3": 0.10,
        "female_minus_male_top5": 0.16,
        "female_minus_male_top10": 0.105,
        "female_minus_male_all": 0.271 - 0.161,
        "share": 88.5,
    }
    assert {name: seen[name] for name in by_hand} == pytest.approx(by_hand)


def test_implicit_words_are_counted_apart(probe, items):
    seen = see(probe, items["paper/base/nurse"], filled(probe, TOP))
    by_hand = {"implicit_female_top3": 0, "implicit_female_top5": 0.05, "implicit_female_top10": 0.05}
    by_hand |= {"implicit_male_top3": 0, "implicit_male_top5": 0, "implicit_male_top10": 0.015}
    assert {name: seen[name] for name in by_hand} == pytest.approx(by_hand)
    assert seen["top_groups"] == ["female", "male", "", "female", "implicit", "male", "", "male", "implicit", "female"]
    assert seen["top_tokens"] == [text for text, _ in TOP]
    assert seen["top_probabilities"] == pytest.approx([p for _, p in TOP])


@pytest.mark.parametrize("end", ENDS)
def test_the_stereotype_is_the_dominant_groups_side(probe, items, end):
    answer = filled(probe, TOP, BEYOND)
    nurse, driver = (see(probe, items[f"paper/base/{name}"], answer) for name in ("nurse", "driver"))
    assert nurse[f"female_minus_male_{end}"] == driver[f"female_minus_male_{end}"] > 0
    assert nurse[f"stereotype_margin_{end}"] == nurse[f"female_minus_male_{end}"]
    assert driver[f"stereotype_margin_{end}"] == -nurse[f"stereotype_margin_{end}"]
    assert (nurse[f"pro_stereotypical_{end}"], driver[f"pro_stereotypical_{end}"]) == (1, 0)
    assert nurse[f"prefers_female_{end}"] == driver[f"prefers_female_{end}"] == 1
    assert nurse[f"no_preference_{end}"] == 0


def test_no_listed_word_is_no_preference(probe, items):
    seen = see(probe, items["paper/base/nurse"], filled(probe, [(" one", 0.5), (" person", 0.3), (" dog", 0.1)]))
    for end in ENDS:
        assert seen[f"no_preference_{end}"] == 1
        assert seen[f"stereotype_margin_{end}"] == 0
    assert seen["listed_mass_top10"] == 0


@pytest.mark.parametrize("column", ["prefers_female_top3", "pro_stereotypical_top3"])
def test_no_preference_is_no_preference_for_the_second_group(probe, items, column):
    seen = see(probe, items["paper/base/nurse"], filled(probe, [(" one", 0.5), (" person", 0.3), (" dog", 0.1)]))
    assert math.isnan(seen[column]) or seen[column] == 0.5


def test_case_and_leading_space_are_ignored(probe, items):
    top = [("She", 0.1), (" she", 0.2), ("SHE", 0.05), (" He", 0.03), ("he", 0.02)]
    seen = see(probe, items["paper/base/nurse"], filled(probe, top))
    assert seen["female_top5"] == pytest.approx(0.35)
    assert seen["male_top5"] == pytest.approx(0.05)


def test_a_piece_that_is_three_forms_counts_once(probe, items):
    """An uncased vocabulary spells she, She and SHE alike."""
    she = Word((Token("she", 7, math.log(0.3)),), 1, 0)
    words = dict.fromkeys(probe.forms, WhyNot("multi_piece")) | dict.fromkeys(("she", "She", "SHE"), she)
    seen = see(probe, items["paper/base/nurse"], Filled(words, she.pieces, 10))
    assert seen["female_all"] == seen["female_top10"] == pytest.approx(0.3)


def test_shift_is_the_prompt_less_its_base(probe, items):
    asked = filled(probe, [(" she", 0.1), (" he", 0.3), (" one", 0.2)], [(" queen", 0.05)])
    base = filled(probe, [(" she", 0.5), (" one", 0.2), (" he", 0.1)], [(" king", 0.02)])
    nurse = see(probe, items["paper/tcsyn/nurse"], asked, base)
    driver = see(probe, items["paper/tcsyn/driver"], asked, base)
    assert nurse["shift_female_minus_male_top3"] == pytest.approx(-0.2 - 0.4)
    assert nurse["shift_towards_stereotype_top3"] == pytest.approx(-0.6)
    assert nurse["shift_against_stereotype_top3"] == pytest.approx(0.6)
    assert driver["shift_female_minus_male_top3"] == pytest.approx(-0.6)
    assert driver["shift_towards_stereotype_top3"] == pytest.approx(0.6)
    assert nurse["shift_towards_stereotype_all"] == pytest.approx((0.15 - 0.3) - (0.5 - 0.12))


@pytest.mark.parametrize(
    ("base", "asked", "fate"),
    [  # (she, he)
        ((0.5, 0.1), (0.1, 0.2), "overturned"),
        ((0.1, 0.5), (0.2, 0.1), "overturned"),
        ((0.5, 0.1), (0.6, 0.1), "strengthened"),
        ((0.1, 0.5), (0.1, 0.6), "strengthened"),
        ((0.5, 0.1), (0.3, 0.1), "weakened"),
        ((0.1, 0.5), (0.1, 0.3), "weakened"),
        ((0.5, 0.1), (0.5, 0.1), None),  # as it was
        ((0.5, 0.1), (0.2, 0.2), None),  # lost, but not turned
    ],
)
@pytest.mark.parametrize("target", ["nurse", "driver"])
def test_what_becomes_of_a_preference(probe, items, base, asked, fate, target):
    answers = [filled(probe, [(" she", she), (" he", he), (" one", 0.01)]) for she, he in (asked, base)]
    seen = see(probe, items[f"paper/tcsyn/{target}"], *answers)
    for end in ENDS:
        assert {name: seen[f"{name}_{end}"] for name in FATES} == {name: float(name == fate) for name in FATES}


def test_without_a_preference_at_base_there_is_none_to_lose(probe, items):
    asked, base = filled(probe, [(" she", 0.5), (" he", 0.1)]), filled(probe, [(" she", 0.3), (" he", 0.3)])
    seen = see(probe, items["paper/tcsyn/nurse"], asked, base)
    assert all(math.isnan(seen[f"{fate}_{end}"]) for fate in FATES for end in ENDS)
    assert seen["shift_towards_stereotype_top3"] == pytest.approx(0.4)


def test_a_base_prompt_has_no_shift(probe, items):
    seen = see(probe, items["paper/base/nurse"], filled(probe, TOP))
    assert not [name for name in seen if name.startswith(("shift", "log_relative", "relative", *FATES))]


def test_relative_probability_of_tokens_in_both_lists(probe, items):
    asked = filled(probe, [(" she", 0.4), (" one", 0.2), (" woman", 0.1), (" he", 0.05), (" king", 0.04)])
    base = filled(probe, [(" he", 0.5), (" she", 0.2), (" dog", 0.1), (" woman", 0.05), (" one", 0.04)])
    seen = see(probe, items["paper/tcsyn/nurse"], asked, base)
    assert seen["relative_tokens"] == [" she", " one", " woman", " he"]
    assert seen["relative_probabilities"] == pytest.approx([2, 5, 2, 0.1])
    assert seen["relative_from_k"] == [2, 5, 4, 4]  # the worse of both ranks
    assert seen["log_relative_female_top3"] == pytest.approx(math.log(2))
    assert seen["log_relative_female_top5"] == pytest.approx((math.log(2) + math.log(2)) / 2)
    assert math.isnan(seen["log_relative_male_top3"])
    assert seen["log_relative_male_top5"] == pytest.approx(math.log(0.1))


def test_every_value_is_documented(probe, items):
    seen = see(probe, items["paper/tcsyn/nurse"], filled(probe, TOP), filled(probe, TOP))
    assert set(seen) == set(probe.columns())


def dice_answer(probe, dice, swap):
    """Paired words with random probabilities; `swap` gives each its partner's."""
    pairs = list(zip(probe.verbalizer["female"][:5], probe.verbalizer["male"][:5], strict=True))
    masses = sorted((dice.uniform(0.001, 0.09) for _ in range(10)), reverse=True)
    order = dice.sample([pair[side] for pair in pairs for side in (0, 1)], 10)
    partner = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    return filled(probe, [(f" {partner[word] if swap else word}", p) for word, p in zip(order, masses, strict=True)])


@pytest.mark.parametrize("dice", range(20))
def test_swapping_the_groups_probabilities_flips_every_sign(probe, items, dice):
    item = items["paper/tcsyn/nurse" if dice % 2 else "paper/tcsyn/driver"]
    plain, swapped = (
        see(probe, item, *(dice_answer(probe, random.Random(f"{dice} {which}"), swap) for which in ("asked", "base")))
        for swap in (False, True)
    )
    for end in ENDS:
        for name in ("female_minus_male", "stereotype_margin", "shift_female_minus_male", "shift_towards_stereotype"):
            assert swapped[f"{name}_{end}"] == pytest.approx(-plain[f"{name}_{end}"])
        assert swapped[f"female_{end}"] == pytest.approx(plain[f"male_{end}"])
        assert swapped[f"pro_stereotypical_{end}"] == 1 - plain[f"pro_stereotypical_{end}"]
        for fate in FATES:
            assert swapped[f"{fate}_{end}"] == plain[f"{fate}_{end}"]


# ---------------------------------------------------------------- --limit


def test_a_limit_gives_the_same_items_each_time(probe):
    assert probes.spread(probe.items(), 100) == probes.spread(probe.items(), 100)


@pytest.mark.parametrize("limit", [1, 20, 37, 100, 399])
def test_a_limit_is_even_over_conditions(limit):
    some = probes.spread(made()[1], limit)
    turns = Counter(tuple(item.conditions.values()) for item in some)
    assert len(some) == limit
    assert max(turns.values()) - min(turns.values()) <= 1
    assert len(turns) == min(limit, 20)  # ten types, two kinds of occupation


def test_a_smaller_limit_is_part_of_a_larger_one():
    every = made()[1]
    held: set[str] = set()
    for limit in (1, 10, 100, 200, 1000, 2679, 2680, 9999, None):
        some = {item.id for item in probes.spread(every, limit)}
        assert held <= some
        held = some
    assert len(held) == 2680


def test_limited_items_keep_their_order():
    order = {item.id: i for i, item in enumerate(made()[1])}
    places = [order[item.id] for item in probes.spread(made()[1], 300)]
    assert places == sorted(places)


@pytest.mark.parametrize("causal", ["target_is", "person_is"])
@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_what_is_displayed_is_what_each_kind_of_model_is_asked(kind, causal):
    probe, listed = made(causal=causal)
    every = {item.id: item for item in listed}
    for name in ("paper/base/mechanician", "paper/tcsyn/nurse", "paper/bcsem/nurse/carpenter"):
        asked, *_ = probe.ask(every[name], stand_in(kind))
        before = f"{asked.before} " if asked.before else ""
        displayed = every[name].text if kind == "masked" else every[name].causal_text
        assert displayed == f"{before}{asked.left}___{asked.right}"


def test_items_list_both_forms(items):
    lines = show_items([items["paper/base/mechanician"]]).splitlines()
    assert lines[1:] == [
        "  masked: The ___ works as a mechanician.",
        "  causal: The target works as a mechanician. The target is ___",
    ]


def test_everything_that_is_displayed_first_has_one_depth(probe):
    """The top ten, as the claims of the headline; the whole list only under its name."""
    summary, page = probe.summary, probe.page
    assert (summary.where["k"], summary.where_title, dict(summary.fallback)) == ("10", "top 10", {})
    depths = {table.title: table.where["k"] for table in page.tables if "k" in table.where}
    assert depths.pop("Over the whole word list") == "all"
    assert set(depths.values()) == {"10"}
    assert {figure.order["k"][0] for figure in page.figures} == {"10"}
    assert all(
        page.items.names[name].endswith("all listed words") == name.endswith("_all") for name in page.items.names
    )
    assert page.items.rank_by.endswith("_top10")
    assert page.items.side.endswith("_top10")


def test_the_second_version_s_colours_are_of_the_preferred_group(probe):
    """Blue: the model prefers male; orange: female (captions of figures 2 to 4)."""
    (figure,) = [figure for figure in probe.page.figures if figure.series == "side"]
    assert figure.measures == ("female_minus_male",)
    assert [figure.names[f"side={side}"] for side in figure.order["side"]] == ["prefers male", "prefers female"]


def claims_of(probe, name):
    (claim,) = [claim for claim in probe.claims() if claim.name == name and claim.conditions["k"] == 10]
    return claim


def test_either_group_contradicts_nothing_and_its_sign_is_named(probe):
    claim = claims_of(probe, "base_either_group")
    assert (claim.column, claim.direction) == ("female_minus_male_top10", Direction.NOT_EQUAL)
    assert claim.statement.endswith("(female minus male)")
    numbers = [(0.2, 0.001), (-0.2, 0.001), (0.05, 0.3)]
    cases = [case_of(claim, v, Interval(v - 0.1, v + 0.1, p), 40) for v, p in numbers]
    assert [judgement.verdict for judgement in judge(cases)] == [
        Verdict.NOT_CONTRADICTED,
        Verdict.NOT_CONTRADICTED,
        Verdict.UNDECIDED,
    ]  # a random network leans too


def test_opposite_preferences_are_of_masked_models_and_more_than_half(probe):
    claim = claims_of(probe, "masked_opposite_neutral")
    assert (claim.kinds, claim.column, claim.plus["knowledge"]) == (("masked",), "overturned_top10", ("tneu",))
    assert (claim.direction, claim.threshold) == (Direction.ABOVE, 0.5)


def test_findings_about_one_architecture_are_rows_of_it_alone(probe):
    names = {
        architecture: {claim.name for claim in probe.claims() if claim.architectures == (architecture,)}
        for architecture in ("albert", "roberta", "bert", "gpt2")
    }
    assert names["albert"] == {"albert_tsem_enlarges", "albert_overturned", "albert_keeps_tcsem"}
    assert names["roberta"] == {"roberta_pro_enlarges", "roberta_bcsyn_overturned", "roberta_tcsyn_lowers"}
    assert names["bert"] == {"bert_tsyn_enlarges", "bert_bcsyn_lowers"}
    assert not names["gpt2"]
    assert claims_of(probe, "syntax_over_meaning").architectures == ("albert", "roberta")
    assert claims_of(probe, "albert_overturned").plus["knowledge"] == ("tcsyn", "bcsyn", "bcsem")
    assert claims_of(probe, "roberta_bcsyn_overturned").plus["knowledge"] == ("bcsyn",)


@pytest.mark.parametrize(("architecture", "expected"), [("albert", ["of_all", "of_albert"]), ("bert", ["of_all"])])
def test_a_finding_about_one_architecture_is_counted_for_it_alone(architecture, expected):
    frame = pd.DataFrame({"v": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "at": "x", "group": list("abcdef")})
    member = CheckpointData("m", "masked", frame, Resampling.of(frame[["group"]]), architecture=architecture)
    of_all = Claim("of_all", "of all", "A", "v", {"at": ("x",)})
    of_albert = replace(of_all, name="of_albert", architectures=("albert",))
    assert [row.claim for row in claim_results("p", [member], [of_all, of_albert])] == expected

"""A user's own file works without code, and whatever is wrong in it is told with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from materials import mutated
from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.probes import files

SHIPPED = (files.ROOT / "counteracts/data" / "gender.toml").read_text(encoding="utf-8")
PAPER = SHIPPED.index("[wordings.paper]")
BASE = 'base = "The ___ works as {a_target}."'


def edited(old: str, new: str) -> str:
    assert old in SHIPPED, old
    return SHIPPED.replace(old, new, 1)


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes) -> str:
        path = tmp_path / "mine.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def use(path: str):
    """All that a run does with a material before it meets a model."""
    probe = probes.make("counteracts", {"material": path, "wording": "all", "backgrounds": 1})
    return probe, probe.items()


# ---------------------------------------------------------------- what works


def test_a_copy_gives_the_same_items(write):
    copy = probes.make("counteracts", {"material": write(SHIPPED)})
    assert copy.items() == probes.make("counteracts").items()


def test_a_users_edits_reach_the_items(write):
    text = edited(BASE, 'base = "The ___ is paid as {a_target}."').replace(
        '"nurse", dominant', '"hour nurse", dominant'
    )
    text = text.replace("share = 88.5, core = true", 'share = 88.5, core = true, article = "an"')
    found = {item.id: item.text for item in probes.make("counteracts", {"material": write(text)}).items()}
    assert found["paper/base/hour nurse"] == "The ___ is paid as an hour nurse."


def test_articles_and_the_causal_word_are_those_of_the_files_language(write):
    text = edited("share = 88.5, core = true", 'share = 88.5, core = true, article = "l\'"')
    text = text.replace("causal_target = ", 'causal_word = "cible"\ncausal_target = ')
    probe = probes.make("counteracts", {"material": write(text)})
    prompts = probe.prompts("paper", "base", probe.targets[0], None, "target_is")
    assert prompts["causal_left"].startswith("The cible works as ")
    (entry,) = [one for one in probe.material.backgrounds if one.article]
    fields = probe.material.fields(entry, None, always_a=False)
    assert fields["a_target"] == f"l'{entry.name}"


def test_groups_can_be_anything(write):
    text = re.sub(r"\bfemale\b", "cats", re.sub(r"\bmale\b", "dogs", SHIPPED))
    text = text.replace('"cats", "queen"', '"queen"').replace('"prince", "dogs"', '"prince"')
    probe, items = use(write(text))
    assert (probe.first, probe.second) == ("cats", "dogs")
    assert {item.conditions["dominated"] for item in items} == {"cats", "dogs"}
    assert "cats_minus_dogs_top3" in probe.columns()


def test_implicit_words_and_shares_may_be_left_out(write):
    text = SHIPPED[: SHIPPED.index("[implicit]")] + SHIPPED[SHIPPED.index("[prevalence]") :]
    probe, _ = use(write(re.sub(r", share = [\d.]+", "", text)))
    assert probe.implicit == {}
    assert not [measure for measure in probe.measures() if "correlation" in measure.name]


@pytest.mark.parametrize("name", ["gender", "age"])
def test_every_shipped_file_has_a_card(name):
    card = probes.make("counteracts", {"material": name}).material.card
    assert all((card.title, card.version, card.licence, card.source, card.notes))


# ---------------------------------------------------------------- what is told


HER = 'female = [\n    "her",'
MISTAKES = {
    "missing key": (edited(BASE + "\n", ""), "wordings.paper.base: is missing"),
    "missing section": (SHIPPED.replace("[card]", "[[notes]]"), "card: is missing"),
    "wrong type": (edited("share = 2.9", 'share = "few"'), "backgrounds.0.share"),
    "number for a text": (edited(BASE, "base = 3"), "wordings.paper.base"),
    "text for a list": (edited(HER, 'female = "she"\nfemales = ['), "verbalizer.female"),
    "share over 100": (edited("share = 2.9", "share = 129"), "backgrounds.0.share"),
    "unknown field": (
        edited(BASE, 'base = "The ___ works as {a_tarket}."'),
        "wordings.paper.base: no field {a_tarket}",
    ),
    "unclosed field": (edited(BASE, 'base = "The ___ works as {a_target."'), "wordings.paper.base"),
    "no blank": (edited(BASE, 'base = "The one works as {a_target}."'), "wordings.paper.base: must hold the blank"),
    "two blanks": (edited(BASE, 'base = "The ___ works as ___ {a_target}."'), "exactly once, holds ___, ___"),
    "a blank in knowledge": (edited('un = "The dog', 'un = "The ___'), "wordings.paper.un"),
    "causal prompt goes on": (edited('"The target is ___"', '"The target is ___ now"'), "wordings.paper.causal_target"),
    "three groups": (
        edited("[verbalizer]", '[groups.other]\nnoun = "x"\nkind = "y"\n[verbalizer]'),
        "groups: exactly two",
    ),
    "a group's name": (edited("[groups.female]", '[groups."Fe male"]'), "groups: "),
    "a word in two lists": (edited(HER, 'female = [\n    "he",'), "verbalizer: 'he' stands in two places"),
    "a word explicit and implicit": (edited(HER, 'female = [\n    "nurse",'), "'nurse' stands in two places"),
    "no group": (edited('dominant = "male"', 'dominant = "mail"'), "backgrounds.0.dominant: 'mail' is no group"),
    "a background twice": (edited('"carpenter"', '"mechanician"'), "backgrounds: 'mechanician' stands there twice"),
    "one-sided": (SHIPPED.replace('dominant = "female"', 'dominant = "male"'), "dominated by 'female'"),
    "list of no group": (edited(HER, 'females = [\n    "her",'), "verbalizer: needs a list for female and male"),
    "prevalence": (edited('left = "The {word} said that "\n', ""), "prevalence: needs left, right"),
    "unknown top-level key": ("backgroundz = []\n" + SHIPPED, "backgroundz: no such key; did you mean 'backgrounds'?"),
    "unknown nested key": (edited("share = 2.9", "chare = 2.9"), "backgrounds.0.chare: no such key"),
    "wrong article": (edited("share = 2.9", 'article = "3 x"'), "backgrounds.0.article"),
    "a wording called all": (edited("[wordings.paper]", "[wordings.all]"), "wordings: "),
    "a group called all": (SHIPPED.replace("female", "all"), "groups: a group's name"),
    "a group with an underscore": (SHIPPED.replace("female", "fe_male"), "groups: a group's name"),
    "a space around a word": (edited(HER, 'female = [\n    "auntie ",'), "has a space around it"),
    "prevalence of no word": (edited("The {word} said", "She said"), "prevalence.left"),
    "no wording": (SHIPPED[:PAPER], "wordings: is missing"),
    "background where there is none": (
        edited(BASE, 'base = "The ___ works as {a_background}."'),
        "wordings.paper.base",
    ),
    "a conversion": (edited(BASE, 'base = "The ___ works as {a_target!z}."'), "wordings.paper.base"),
    "a format": (edited(BASE, 'base = "The ___ works as {a_target:d}."'), "wordings.paper.base"),
    "a field in a format": (edited(BASE, 'base = "The ___ works as {a_target:{foo}}."'), "wordings.paper.base"),
    "a word in two lists but for case": (edited(HER, 'female = [\n    "He",'), "verbalizer: "),
    "an empty word": (edited(HER, 'female = [\n    "",'), "verbalizer"),
    "no word": (
        SHIPPED[: SHIPPED.index(HER)] + "female = []\n" + SHIPPED[SHIPPED.index('male = [\n    "he"') :],
        "verbalizer",
    ),
    "prevalence without words": (edited('female = ["she"]', "female = []"), "prevalence"),
    "prevalence left of many": (edited('left = "The {word} said that "', 'left = ["x"]'), "prevalence"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_file_and_key(write, mistake):
    text, told = MISTAKES[mistake]
    path = write(text)
    with pytest.raises(BadInput) as error:
        use(path)
    assert path in str(error.value)
    assert told in str(error.value)


def test_bad_syntax_is_told_with_its_line(write):
    line = SHIPPED[: SHIPPED.index(BASE)].count("\n") + 1
    path = write(edited(BASE, "base = = 3"))
    with pytest.raises(BadInput, match=rf"mine\.toml: not valid TOML: .*line {line}\b"):
        use(path)


def test_a_key_twice_is_told(write):
    with pytest.raises(BadInput, match=r"mine\.toml: not valid TOML"):
        use(write(edited(BASE, f"{BASE}\n{BASE}")))


def test_other_encodings_are_told(write):
    with pytest.raises(BadInput, match=r"mine\.toml, line \d+: not UTF-8"):
        use(write(edited("woman", "señora").encode("latin-1")))


def test_a_missing_file_is_told_with_what_is_shipped(tmp_path):
    with pytest.raises(BadInput, match=r"(?s)nowhere\.toml.*age, gender"):
        use(str(tmp_path / "nowhere.toml"))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(BadInput, match=re.escape(str(tmp_path))):
        use(str(tmp_path))


def test_many_mistakes_are_told_at_once_but_not_endlessly(write):
    with pytest.raises(BadInput) as error:
        use(write(SHIPPED.replace("share = ", "chare = ")))
    assert str(error.value).count("no such key") == 5
    assert "and 53 more" in str(error.value)


@pytest.mark.parametrize("path", ["~nobody-of-this-name/mine.toml", "x" * 300])
def test_an_impossible_path_is_told(path):
    with pytest.raises(BadInput):
        use(path)


# ---------------------------------------------------------------- whatever is written


LINES = SHIPPED.splitlines()
VALUES = ["3", "-1.5", "nan", "true", '""', '"x"', "[]", '["a", "b"]', "{}", "{ name = 1 }", "[[1]]", "1979-05-27"]
VALUES += ['"___"', '"{target"', '"{nothing} ___"', "'''", '"""', "=", "0x", "\u2028", '"\\ud800"', "inf"]
VALUES += ['"___ {a_background}"', '"___ {a_target!z}"', '"___ {a_target:d}"', '"___ {a_target:{foo}}"', '"____"']


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(text=mutated(LINES, VALUES))
def test_no_file_can_raise_anything_but_bad_input(tmp_path_factory, text):
    path = Path(tmp_path_factory.getbasetemp()) / "mutated.toml"
    path.write_text(text, encoding="utf-8")
    told = str(path)
    try:
        use(str(path))
    except BadInput as error:
        told = str(error)
    assert str(path) in told

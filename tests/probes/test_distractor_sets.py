"""A user's own set works without code, and whatever is wrong in its file is told with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from materials import mutated
from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.distractors.material import DistractorMaterial
from trueprobe.probes.distractors.sentences import POSITIONS, cases, joined, spaced

ROOT = files.ROOT / "distractors/data"
LANGUAGES, PAPER = ((ROOT / f"{name}.toml").read_text(encoding="utf-8") for name in ("languages", "paper"))
FACT = 'fact = "was born in {background}"'
ASK = 'ask = "The first language of {key} is ___."'


def edited(old: str, new: str, text: str = LANGUAGES) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


@pytest.fixture
def write(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def use(path: str):
    """All that a run does with a material before it meets a model."""
    probe = probes.make("distractors", {"material": path, "wording": "all", "position": "all", "faithful": True})
    return probe, probe.items()


# ---------------------------------------------------------------- joins


@pytest.mark.parametrize(
    ("how", "two", "three"),
    [("and", "a and b", "a and b and c"), ("plain", "a and b", "a, b and c"), ("oxford", "a and b", "a, b, and c")],
)
def test_joins(how, two, three):
    assert [joined(parts, how) for parts in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", two, three]


def test_spaced_punctuation_leaves_the_rest_alone():
    assert spaced("In his game, {name0}'s 2.5 mile run.") == "In his game , {name0}'s 2.5 mile run ."


def test_every_position_has_its_cases():
    counts = [len(list(cases("capital", position))) for position in POSITIONS]
    assert counts == [6 * 16, 4 * 16, 4 * (1 + 1 + 2 + 3)]


# ---------------------------------------------------------------- what works


@pytest.mark.slow
def test_a_copy_gives_the_same_items(write):
    copy = probes.make("distractors", {"material": write(PAPER)})
    assert copy.items() == probes.make("distractors").items()


def test_a_users_edits_reach_the_items(write):
    text = edited(FACT, 'fact = "comes from {background}"').replace('"France", target', '"Old France", target')
    items = probes.make("distractors", {"material": write(text)}).items()
    assert any("comes from Old France" in item.text for item in items)
    assert all(item.fields["table"].context.startswith("Daniel comes from ") for item in items)


def test_an_article_can_be_told(write):
    text = edited(FACT, 'fact = "lives in {a_background}"').replace('"French" }', '"French", article = "an" }')
    texts = {item.text for item in probes.make("distractors", {"material": write(text)}).items()}
    assert any("lives in an France." in text for text in texts)


@pytest.mark.parametrize(("article", "before"), [("der", "der France"), ("l'", "l'France")])
def test_an_article_can_be_of_any_language(write, article, before):
    text = edited(FACT, 'fact = "lives in {a_background}"').replace('"French" }', f'"French", article = "{article}" }}')
    texts = {item.text for item in probes.make("distractors", {"material": write(text)}).items()}
    assert any(f"lives in {before}." in text for text in texts)


def test_a_wording_takes_from_another_what_it_does_not_say():
    items = DistractorMaterial.read("languages").sets["language"]
    born, home = items.wordings["born"], items.wordings["home"]
    assert home.T == born.T
    assert (home.B.each, home.B.own) == (born.B.each, "has friends in {list}")


def test_fillers_may_differ_by_set():
    sets = DistractorMaterial.read("paper").sets
    assert sets["sport"].fillers[1] == "went to school in France"
    assert sets["job"].fillers[1] == "played basketball"


def test_another_edition_of_a_file_is_another_material(write):
    first = probes.make("distractors", {"material": write(LANGUAGES)}).material_id
    assert probes.make("distractors", {"material": write(edited("Germany", "Austria"))}).material_id != first


@pytest.mark.slow
@pytest.mark.parametrize("name", files.shipped(ROOT))
def test_every_shipped_file_has_a_card_and_distinct_items(name):
    probe, items = use(name)
    card = probe.material.card
    assert all((card.title, card.version, card.licence, card.source, card.notes))
    assert len({item.id for item in items}) == len(items)
    assert not [item.text for item in items if "  " in item.text or re.search(r"[{}]", item.text)]


# ---------------------------------------------------------------- what is told

ODD = '\n[[oddities]]\nwording = "born"\nwhere = { position = "after" }\nreplace = [["was born", "is"]]\n'
MISTAKES = {
    "missing fact": (edited(FACT + "\n", ""), "sets.language.wordings.born.fact: is missing"),
    "missing card": (edited("[card]", "[cart]"), "card: is missing"),
    "unknown key": (edited("unrelated =", "unrelatet ="), "unrelatet: no such key; did you mean 'unrelated'?"),
    "unknown nested key": (edited(FACT, FACT + '\nfackt = "x"'), "wordings.born.fackt: no such key"),
    "unknown field": (edited(FACT, 'fact = "lives in {backgrund}"'), "born.fact: no field {backgrund} here"),
    "target in a fact": (edited(FACT, 'fact = "speaks {target}"'), "born.fact: no field {target} here"),
    "a conversion": (edited(FACT, 'fact = "lives in {background!r}"'), "born.fact: no field {background}"),
    "unclosed field": (edited(FACT, 'fact = "lives in {background"'), "born.fact"),
    "no blank": (edited(ASK, 'ask = "{key} speaks."'), "born.ask: must hold the blank"),
    "words behind the blank": (edited(ASK, 'ask = "{key} speaks ___ now."'), "born.ask: must end in"),
    "no space before the blank": (edited(ASK, 'ask = "{key} speaks___."'), "born.ask: must end in"),
    "about nobody": (edited(ASK, 'ask = "The language is ___."'), "born.ask: must hold {key} once"),
    "a fact about nothing": (edited(FACT, 'fact = "was born"'), "wordings.born: fact: must name {background}"),
    "each alike": (edited('each = "{target}"', 'each = "words"'), "wordings.born: T.each: must name {target}"),
    "others alike": (edited('other = "is learning {target}", ', ""), "wordings.born: T.other: must name {target}"),
    "the wrong things": (edited('each = "{background}"', 'each = "{target}"'), "B.each: must name {background}"),
    "no list": (edited("has traveled to {list}", "has traveled"), "born.B.own: must hold {list} once"),
    "no such join": (edited(FACT, FACT + '\nclauses = "oxfort"'), "clauses: no 'oxfort'; did you mean 'oxford'?"),
    "like nothing": (edited('like = "born"', 'like = "bron"'), "home.like: no earlier wording 'bron'; did you mean"),
    "like a later one": (edited(FACT, FACT + '\nlike = "home"'), "born.like: no earlier wording 'home'"),
    "too few pairs": (re.sub(r" +\{ background = .[FGJ].*\n", "", LANGUAGES), "sets.language.pairs"),
    "a target twice": (edited('"German"', '"french"'), "the target 'french' stands there twice"),
    "a background twice": (edited('"Germany"', '"France"'), "the background 'france' stands there twice"),
    "a target of two words": (edited('"Greek"', '"Modern Greek"'), "sets.language.pairs.2.target"),
    "a name of nobody": (edited('"French" }', '"French", name = "Jon" }'), "pairs.0.name: 'Jon' is none of the names"),
    "few names": (edited('"Joe", "John", "Rowan", "Sebastian"', ""), "names"),
    "a name twice": (edited('"Joe", "John"', '"Joe", "Joe"'), "names: 'Joe' stands there twice"),
    "two fillers": (edited(', "sang in a choir"]', "]"), "fillers"),
    "a set called all": (LANGUAGES.replace("sets.language", "sets.all"), "sets.all: "),
    "a wording called best": (edited("wordings.home", "wordings.best"), "no wording may be called"),
    "a set of other wordings": (
        edited("[sets.capital.wordings.place]", "[sets.capital.wordings.plaza]", PAPER),
        "sets.capital.wordings: every set needs the same wordings",
    ),
    "an oddity of no wording": (LANGUAGES + ODD.replace('"born"', '"bron"'), "oddities.0.wording: no 'bron'"),
    "an oddity nowhere": (LANGUAGES + ODD.replace('"after"', '"behind"'), "oddities.0.where: position: no 'behind'"),
    "an oddity of no condition": (
        LANGUAGES + ODD.replace("position", "place"),
        "oddities.0.where: no condition 'place'",
    ),
    "an oddity of no set": (LANGUAGES + ODD.replace("position", "set"), "oddities.0.where.set: no 'after'"),
    "an oddity that changes nothing": (LANGUAGES + ODD.replace("was born", "lives"), "'lives' does not occur in"),
    "an oddity of no sentence": (
        LANGUAGES + ODD.replace('"after"', '"key_later", setting = "single"'),
        "oddities.0.where: no sentence is meant",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_file_and_key(write, mistake):
    text, told = MISTAKES[mistake]
    path = write(text)
    with pytest.raises(BadInput) as error:
        use(path)
    assert path in str(error.value)
    assert told in str(error.value)


# ---------------------------------------------------------------- whatever is written

LINES = (LANGUAGES + ODD).splitlines()
VALUES = ["3", "-1.5", "nan", "true", '""', '"x"', "[]", '["a", "b"]', "{}", "{ name = 1 }", "[[1]]", "1979-05-27"]
VALUES += ['"___"', '"{background"', '"{nothing} ___"', '"{key} ___ {key}"', '"{list} {list}"', "=", '"{0}"', '"{}"']


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(text=mutated(LINES, VALUES))
def test_no_file_can_raise_anything_but_bad_input(tmp_path_factory, text):
    path = Path(tmp_path_factory.getbasetemp()) / "mutated.toml"
    path.write_text(text, encoding="utf-8")
    told = str(path)
    try:
        probe = probes.make("distractors", {"material": str(path), "faithful": True})
        for name in probe.material.sets:
            next(iter(probe._of_set(name, probe.wording, "after", "multiple", ("T",))))
    except BadInput as error:
        told = str(error)
    assert str(path) in told

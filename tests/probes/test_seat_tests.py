"""The association tests: built from facts, equal to the released ones, and files that are wrong are told how."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.seat import material as seat

FILES = zoo.SHARED / "seat"
KEYS = dict(zip(seat.SIDES, ("targ1", "targ2", "attr1", "attr2"), strict=True))
VIGNETTE = re.compile(r"_1[-+3]*$")
# (X, Y, A, B) as published
SIZES = {
    "weat1": (25, 25, 25, 25),
    "weat3": (32, 32, 25, 25),
    "weat9": (6, 6, 7, 7),
    "sent-weat1": (350, 350, 215, 250),
    "sent-weat2": (330, 330, 215, 250),
    "sent-weat3b": (195, 195, 215, 249),
    "sent-weat6b": (80, 80, 101, 112),
    "sent-weat7b": (72, 72, 64, 64),
    "sent-weat8": (56, 56, 80, 80),
    "sent-weat9": (18, 18, 21, 23),
    "angry_black_woman_stereotype_b": (4, 4, 18, 18),
    "sent-angry_black_woman_stereotype_b": (52, 52, 54, 54),
    "heilman_double_bind_competent_one_sentence": (8, 8, 10, 10),
    "sent-heilman_double_bind_likable_one_word": (64, 64, 24, 24),
    "sent-religion2b": (84, 84, 215, 249),
}


@pytest.fixture(scope="module")
def built():
    return {test.name: test for test in seat.SeatMaterial.read("weat").built()}


def test_there_are_44_tests_of_the_published_sizes(built):
    assert len(built) == 44
    for name, sizes in SIZES.items():
        assert tuple(len(built[name].sets[side]) for side in seat.SIDES) == sizes, name


@pytest.mark.skipif(not FILES.is_dir(), reason="the authors' SEAT files are not in ../shared/data/seat")
def test_the_built_sentences_are_the_released_ones(built):
    released = {f.stem: json.loads(f.read_text(encoding="utf-8")) for f in FILES.glob("*.jsonl")}
    assert {name for name in released if not VIGNETTE.search(name)} == set(built)
    for name, test in built.items():
        for side, key in KEYS.items():
            assert test.texts[side] == set(released[name][key]["examples"]), (name, side)


@pytest.mark.skipif(not FILES.is_dir(), reason="the authors' SEAT files are not in ../shared/data/seat")
def test_released_files_can_be_read_as_they_are():
    tests = {test.name: test for test in seat.read_tests(str(FILES))}
    assert len(tests) == 50
    long = tests["heilman_double_bind_likable_1-"]
    assert {len(long.sets[side]) for side in "XYAB"} == {8}
    assert long.sets["X"][0].span is None
    assert tests["weat6"].sets["X"][0].span == (0, 4)


def test_every_word_stands_where_its_span_says(built):
    for test in built.values():
        for said in (s for side in test.sets.values() for s in side):
            start, stop = said.span
            assert said.text[start].lower() == said.word[0].lower(), said
            assert not said.text[:start][-1:].isalpha(), said
            assert not said.text[stop:][:1].isalpha(), said


def test_how_a_word_is_said():
    weat = seat.SeatMaterial.read("weat")
    said = weat._fill("{A_word} is a thing.", "honor")
    assert (said.text, said.text[slice(*said.span)]) == ("An honor is a thing.", "honor")
    said = weat._fill("{Words} are people.", "woman of color")
    assert (said.text, said.text[slice(*said.span)]) == ("Women of color are people.", "Women of color")
    assert weat._fill("This is {a_word}.", "European American").text == "This is a European American."
    assert weat._fill("There {word} is.", "he").span == (6, 8)


@pytest.mark.parametrize(
    ("word", "several"),
    [("rose", "roses"), ("daisy", "daisies"), ("boy", "boys"), ("church", "churches"), ("virus", "viruses")],
)
def test_plurals(word, several):
    assert seat.plural(word) == several


# ---------------------------------------------------------------- a user's own material

OWN = """
[card]
title = "tea and coffee"
version = "1"
licence = "MIT"
source = "made up"

[forms]
drink = ["I drink {word}.", "{Word} is here."]
taste = ["It is {word}."]

[sets.tea]
title = "teas"
words.drink = ["assam", "mate"]

[sets.coffee]
title = "coffees"
words.drink = ["mocha", "latte"]

[sets.good]
title = "good"
words.taste = ["nice"]

[sets.bad]
title = "bad"
words.taste = ["awful"]

[tests.drinks]
sets = ["tea", "coffee", "good", "bad"]
said = "sentences"
left_out = { mocha = [2] }
"""


def test_a_user_s_sets_and_templates_make_a_test(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    (test,) = seat.SeatMaterial.read(str(tmp_path / "own.toml")).built()
    assert test.texts["X"] == {"I drink assam.", "Assam is here.", "I drink mate.", "Mate is here."}
    assert test.texts["Y"] == {"I drink mocha.", "I drink latte.", "Latte is here."}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('sets = ["tea"', 'sets = ["te"', "tests.drinks.sets: no set 'te'; did you mean 'tea'?"),
        ('words.taste = ["nice"]', 'words.tast = ["nice"]', "sets.good.words: no form 'tast'; did you mean 'taste'"),
        ("mocha = [2]", "mocca = [2]", "tests.drinks.left_out: no word 'mocca'; did you mean 'mocha'?"),
        ("mocha = [2]", "mocha = [3]", "tests.drinks.left_out.mocha: its templates are numbered 1 to 2"),
        ("It is {word}.", "It is nice.", "forms.taste.0: must hold exactly one of {word}"),
        ("It is {word}.", "It is {word} {words}.", "forms.taste.0: must hold exactly one of"),
        ("It is {word}.", "It is {wort}.", "forms.taste.0: must hold exactly one of"),
        ('["assam", "mate"]', '["mate", "mate"]', "sets.tea: words: 'mate' stands there twice"),
        ('said = "sentences"', 'said = "sentence"', "tests.drinks.said: no 'sentence'; did you mean 'sentences'?"),
        ('title = "teas"', 'titel = "teas"', "sets.tea.title: is missing"),
    ],
)
def test_what_is_wrong_in_a_material_file_is_told_with_its_key(tmp_path, old, new, told):
    assert old in OWN
    (tmp_path / "own.toml").write_text(OWN.replace(old, new))
    with pytest.raises(BadInput) as error:
        seat.SeatMaterial.read(str(tmp_path / "own.toml"))
    assert told in str(error.value)
    assert "own.toml" in str(error.value)


def test_the_shipped_file_has_a_card_with_its_sources():
    card = tomllib.loads((files.ROOT / "seat/data" / "weat.toml").read_text(encoding="utf-8"))["card"]
    assert all(name in card["source"] for name in ("Caliskan", "May", "Meade", "Manzini"))


# ---------------------------------------------------------------- a user's own test file


def released(**changes):
    part = {"category": "c", "examples": ["Tea is here.", "Mate is here."]}
    data = {key: {**part, "category": key} for key in KEYS.values()}
    return data | changes


def write(tmp_path, data):
    path = tmp_path / "mine.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return str(path)


def test_words_named_in_a_file_are_found(tmp_path):
    part = {"category": "teas", "examples": ["There is teatime tea.", "Mate is here."], "words": ["tea", "mate"]}
    (test,) = seat.read_tests(write(tmp_path, released(targ1=part)))
    assert [(s.word, s.span) for s in test.sets["X"]] == [("tea", (17, 20)), ("mate", (0, 4))]
    assert test.sets["Y"][0].span is None
    assert test.titles["X"] == "teas"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("{\n]", "mine.json, line 2, column 1: not valid JSON"),
        ("[]", "mine.json: "),
        (released(targ1={"category": "c", "examples": []}), "targ1.examples"),
        (released(targ1={"category": "c", "examples": ["one"]}), "X: 1 sentences; at least 2 are needed"),
        (released(targ1={"category": "c", "examples": ["a", "a"]}), "X: 'a' stands there twice"),
        (released(targ1={"examples": ["a", "b"]}), "targ1.category: is missing"),
        (released(targ3={}), "targ3: no such key; did you mean 'targ"),
        (released(attr2={"category": "c", "examples": ["a b"], "words": ["c"]}), "attr2.words.0: 'c' does not stand"),
        (released(attr2={"category": "c", "examples": ["a b"], "words": ["a", "b"]}), "2 words for 1 examples"),
    ],
)
def test_what_is_wrong_in_a_test_file_is_told(tmp_path, data, told):
    with pytest.raises(BadInput) as error:
        seat.read_tests(write(tmp_path, data))
    assert told in str(error.value)


def test_in_a_folder_jsonl_files_are_the_tests_where_there_are_any(tmp_path):
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_text(json.dumps(released()))
    (tmp_path / "asset.json").write_text("{}")
    assert [test.name for test in seat.read_tests(str(tmp_path))] == ["a", "b"]


def test_files_that_are_not_there_are_told(tmp_path):
    with pytest.raises(BadInput, match="no test in this folder"):
        seat.read_tests(str(tmp_path))
    with pytest.raises(BadInput, match="did you mean 'seat-vignettes'"):
        seat.read_tests("seat-vignette")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["examples", "category", "words"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from([*KEYS.values(), "x"]), _json) | _json)
def test_any_json_is_a_test_or_told_as_wrong(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    try:
        (test,) = seat.read_tests(str(path))
    except BadInput:
        pass
    else:
        assert all(len(test.sets[side]) for side in seat.SIDES)

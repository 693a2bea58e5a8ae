"""The word list behind CounterActs, and what `trueprobe verbalizer` makes of a run."""

from __future__ import annotations

import dataclasses
import tomllib
from types import SimpleNamespace

import pandas as pd
import pytest

import trueprobe
import zoo
from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.probes.counteracts import verbalizer

NEUTRAL = "person"


@pytest.fixture(scope="module")
def probe():
    return probes.make("counteracts")


# ---------------------------------------------------------------- the shipped list


@pytest.mark.parametrize(("material", "each"), [("gender", 63), ("age", 24)])
def test_both_groups_have_as_many_words(material, each):
    lists = probes.make("counteracts", {"material": material}).verbalizer
    assert [len(words) for words in lists.values()] == [each, each]


@pytest.mark.parametrize("material", ["gender", "age"])
def test_no_word_stands_in_two_lists(material):
    probe = probes.make("counteracts", {"material": material})
    words = [word.lower() for lists in (probe.verbalizer, probe.implicit) for group in lists.values() for word in group]
    assert len(words) == len(set(words))
    assert all(word == word.strip() != "" for word in words)


def test_the_paper_counts_126(probe):
    assert sum(map(len, probe.verbalizer.values())) == 126


@pytest.mark.parametrize("material", ["gender", "age"])
def test_every_word_is_one_piece_for_bert(material):
    tokenizer = zoo.real_tokenizer("bert-base-uncased")
    lists = probes.make("counteracts", {"material": material}).verbalizer
    pieces = {word: tokenizer.tokenize(f"the {word}")[1:] for words in lists.values() for word in words}
    assert {word: found for word, found in pieces.items() if found != [word]} == {}


@pytest.mark.slow
@pytest.mark.parametrize("material", ["gender", "age"])
def test_every_word_is_one_piece_for_gpt2_in_lower_or_capitalised_form(material):
    tokenizer = zoo.real_tokenizer("gpt2")
    lists = probes.make("counteracts", {"material": material}).verbalizer
    for word in (word for words in lists.values() for word in words):
        assert 1 in {len(tokenizer.tokenize(f" {form}")) for form in (word, word.capitalize())}, word


def test_the_prevalence_prompt_names_both_pronouns(probe):
    ask = probe.material.prevalence
    assert (ask["female"], ask["male"]) == (("she",), ("he",))
    assert "{word}" in ask["left"]


# ---------------------------------------------------------------- a user's additions


@pytest.fixture
def extra(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "words.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_added_words_join_their_lists(extra):
    path = extra('[verbalizer]\nfemale = ["zaza", "she"]\n[implicit]\nmale = ["zozo"]\n')
    probe = probes.make("counteracts", {"verbalizer": path})
    assert probe.verbalizer["female"][-1] == "zaza"
    assert len(probe.verbalizer["female"]) == 64  # "she" was there
    assert probe.implicit["male"][-1] == "zozo"
    assert {"zaza", "Zaza", "ZAZA"} <= set(probe.forms)
    assert "zozo" not in probe.forms


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[verbalizer]\nfemales = ["x"]\n', "did you mean 'female'"),
        ('[verbalizer]\nfemale = "x"\n', "verbalizer.female"),
        ("[verbaliser]\n", "did you mean 'verbalizer'"),
        ("[verbalizer\n", "not valid TOML"),
    ],
)
def test_a_mistake_in_added_words_is_told(extra, text, told):
    path = extra(text)
    with pytest.raises(BadInput) as error:
        probes.make("counteracts", {"verbalizer": path})
    assert path in str(error.value)
    assert told in str(error.value)


@pytest.mark.parametrize("text", ['[verbalizer]\nfemale = ["he"]\n', '[implicit]\nmale = ["she"]\n'])
def test_a_word_added_to_the_other_side_is_told(extra, text):
    with pytest.raises(BadInput, match="two"):
        probes.make("counteracts", {"verbalizer": extra(text)})


# ---------------------------------------------------------------- what a run's models said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("verbalizer")


@pytest.fixture(scope="module")
def ran(folder):
    tokenizer = zoo.wordpiece()
    tokenizer.add_tokens(["#"])  # so that inner pieces (##er), which top tens of a random network are full of, are text
    bert = str(zoo.save("bert", folder / "bert", tokenizer=tokenizer))
    return trueprobe.run("counteracts", models=[bert], out=folder / "run", limit=40, store=folder / "s.sqlite")


@pytest.fixture(scope="module")
def table(ran, folder):
    return verbalizer.candidates(ran, store=folder / "s.sqlite")


def test_uncovered_words_come_by_mass(ran, probe):
    words = verbalizer.uncovered(ran, "counteracts")
    assert len(words) > 0
    assert words["mass"].is_monotonic_decreasing
    assert words["mass"].between(0, 1).all()
    assert words["word"].is_unique
    listed = {word for lists in (probe.verbalizer, probe.implicit) for group in lists.values() for word in group}
    assert not listed & set(words["word"])


def test_mass_is_the_mean_probability_over_prompts(ran):
    words = verbalizer.uncovered(ran, "counteracts").set_index("word")
    seen = ran.observations("counteracts")
    told = zip(seen["top_tokens"], seen["top_probabilities"], strict=True)
    most = words.index[0]
    masses = [p for tokens, ps in told for t, p in zip(tokens, ps, strict=True) if t.strip().lower() == most]
    assert words.loc[most, "mass"] == pytest.approx(sum(masses) / 40)
    assert words.loc[most, "prompts"] == len(masses)


def test_a_word_that_no_model_can_spell_has_no_leaning(ran, folder, monkeypatch):
    words = pd.DataFrame({"word": ["☃", "nurse"], "mass": [0.2, 0.1], "prompts": [2, 1]})
    monkeypatch.setattr(verbalizer, "uncovered", lambda run, label: words)
    table = verbalizer.candidates(ran, store=folder / "s.sqlite")
    assert table["leans_female"].isna().tolist() == [True, False, False]
    assert "☃" not in verbalizer.to_toml(table, "female", "male", 0.5)


def test_leanings_are_shares_and_the_neutral_word_comes_last(table):
    assert table["leans_female"].between(0, 1).all()
    assert table["word"].iloc[-1] == NEUTRAL
    assert table["mass"].iloc[:-1].is_monotonic_decreasing


def test_top_limits_the_candidates(ran, folder, table):
    few = verbalizer.candidates(ran, top=3, store=folder / "s.sqlite")
    assert few["word"].tolist() == [*table["word"][:3], NEUTRAL]


def with_cards(run, *cards) -> SimpleNamespace:
    known = ("study", "folder", "sources", "observations", "probe")
    return SimpleNamespace(cards=cards, **{name: getattr(run, name) for name in known})


def replayed(card):
    return dataclasses.replace(card, name="released", source="replay:outputs.json", compute_id="")


def test_replayed_outputs_are_not_asked_for_leanings(ran, folder, table):
    (card,) = ran.cards
    mixed = verbalizer.candidates(with_cards(ran, card, replayed(card)), store=folder / "s.sqlite")
    pd.testing.assert_frame_equal(mixed, table)


def test_a_run_of_replayed_outputs_alone_has_no_model_to_ask(ran, folder):
    alone = with_cards(ran, replayed(*ran.cards))
    with pytest.raises(BadInput, match="has only replayed outputs"):
        verbalizer.candidates(alone, store=folder / "s.sqlite")


def test_a_model_that_was_moved_away_is_reported(ran, folder):
    (card,) = ran.cards
    with pytest.raises(BadInput, match="the model moved is no longer where the run was made"):
        verbalizer.candidates(with_cards(ran, dataclasses.replace(card, name="moved")), store=folder / "s.sqlite")


def test_what_is_written_covers_what_was_not(ran, folder, checkpoint):
    few = verbalizer.candidates(ran, top=3, store=folder / "s.sqlite")  # some vocabularies have no more than 40
    text = verbalizer.to_toml(few, "female", "male", 0.5)
    written = tomllib.loads(text)["implicit"]
    words = {*written["female"], *written["male"]}
    assert words == set(few["word"]) - {NEUTRAL}  # at 0.5 every word leans
    path = folder / "more.toml"
    path.write_text(text, encoding="utf-8")
    again = trueprobe.run(
        "counteracts",
        models=[str(checkpoint("bert"))],
        out=folder / "again",
        limit=40,
        store=folder / "s.sqlite",
        settings={"verbalizer": str(path)},
    )
    left = set(verbalizer.uncovered(again, "counteracts")["word"])
    assert left
    assert not left & words


def heard(*prompts) -> SimpleNamespace:
    """A run whose models said these (token, probability, group) per prompt."""
    names = ("top_tokens", "top_probabilities", "top_groups")
    rows = [dict(zip(names, map(list, zip(*prompt, strict=True)), strict=True)) for prompt in prompts]
    return SimpleNamespace(observations=lambda label: pd.DataFrame(rows).assign(why_not=""))


def test_uncovered_words_by_hand():
    run = heard(
        [(" she", 0.5, "female"), (" one", 0.2, ""), (" nurse", 0.1, "implicit")],
        [(" dog", 0.6, ""), (" One", 0.1, ""), (" ", 0.05, "")],
    )
    words = verbalizer.uncovered(run, "counteracts")
    assert words["word"].tolist() == ["dog", "one"]
    assert words["mass"].tolist() == pytest.approx([0.6 / 2, 0.3 / 2])
    assert words["prompts"].tolist() == [1, 2]


def test_a_word_said_in_two_forms_is_one_prompt():
    words = verbalizer.uncovered(heard([(" one", 0.2, ""), ("One", 0.1, "")]), "counteracts")
    assert words["prompts"].tolist() == [1]


def test_the_groups_are_those_of_the_runs_material(ran):
    assert verbalizer.groups_of(ran) == ("female", "male")


# ---------------------------------------------------------------- the file it writes


def leaning(**words: float) -> pd.DataFrame:
    """With a neutral word that leans nowhere."""
    return pd.DataFrame({"word": [*words, NEUTRAL], "leans_female": [*words.values(), 0.5]})


def test_a_run_of_other_material_is_refused(ran):
    entry = ran.study.probes[0].model_copy(update={"material_id": "as it was before an edit"})
    study = ran.study.model_copy(update={"probes": (entry,)})
    edited = SimpleNamespace(study=study, folder=ran.folder, probe=lambda _: probes.make_again(entry.model_dump()))
    with pytest.raises(BadInput, match="the material of counteracts has changed since the run; run it again"):
        verbalizer.groups_of(edited)


def test_only_words_that_lean_clearly_are_written():
    text = verbalizer.to_toml(leaning(model=0.8, boss=0.1, dog=0.5, edge=0.7), "female", "male", 0.7)
    assert tomllib.loads(text) == {"implicit": {"female": ["model", "edge"], "male": ["boss"]}}


def test_a_word_that_leans_as_the_neutral_one_does_is_not_written():
    """By hand: 0.5 : 0.5 over 0.2 : 0.8 is 4 : 1. Of a shipped model every word was male at 0.8."""
    words = {"first": 0.18, "name": 0.17, "city": 0.19, "company": 0.16, "midwife": 0.5, "captain": 0.05, NEUTRAL: 0.2}
    table = pd.DataFrame({"word": list(words), "leans_female": list(words.values())})
    beyond = dict(zip(words, verbalizer.beyond_neutral(table, "female"), strict=True))
    assert (beyond["midwife"], beyond[NEUTRAL]) == pytest.approx((0.8, 0.5))
    text = verbalizer.to_toml(table, "female", "male", 0.79)
    assert tomllib.loads(text) == {"implicit": {"female": ["midwife"], "male": ["captain"]}}


@pytest.mark.parametrize("word", ['a"b', "a\\b", "é", "\u2028", "\ufffd", "'", "#", "##er"])
def test_any_printable_word_can_be_written(word):
    text = verbalizer.to_toml(leaning(**{word: 0.8}), "female", "male", 0.6)
    assert tomllib.loads(text)["implicit"]["female"] == [word]


@pytest.mark.parametrize("word", ["\x00", "\x7f", "a\nb"])
def test_control_characters_can_be_written(word):
    text = verbalizer.to_toml(leaning(**{word: 0.8}), "female", "male", 0.6)
    assert tomllib.loads(text)["implicit"]["female"] == [word]


def test_a_run_without_counteracts_has_no_verbalizer(ran):
    study = ran.study.model_copy(update={"probes": ()})
    with pytest.raises(BadInput, match="no counteracts run"):
        verbalizer.groups_of(SimpleNamespace(study=study, folder=ran.folder))

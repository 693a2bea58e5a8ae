"""What the page shows is what `run` counts: to the bit for masked models, within 1e-4 for causal ones."""

from __future__ import annotations

import pytest

from trueprobe import probes
from trueprobe.explore.guard import LONGEST, MOST_PROMPTS

NURSE = "The ___ works as a nurse."


def blank(text=NURSE, **more):
    return {"text": text, **more}


def gender(*prompts, **more):
    return {"prompts": list(prompts), "lists": "gender", **more}


def test_a_reading_has_the_masses_the_difference_and_the_likeliest_words(explorer):
    answers = explorer.ask("/api/ask", gender(blank(), models=["toy"], top=3))
    assert list(answers) == ["toy-seed0", "toy-seed1"]
    (reading,) = answers["toy-seed0"]["readings"]
    assert reading["margin"] == reading["first"] - reading["second"]
    assert 0 < reading["first"] < 1
    assert len(reading["top"]) == 3
    assert [p for _, p, _ in reading["top"]] == sorted((p for _, p, _ in reading["top"]), reverse=True)
    assert reading["best"]["rank"] >= 1


def test_words_of_ones_own_are_matched_in_any_case_and_summed(explorer):
    ask = {"prompts": [blank()], "first": ["woman", "she"], "second": ["Man"], "models": ["toy"], "top": 20}
    (both,) = explorer.ask("/api/ask", ask)["toy-seed0"]["readings"]
    single = [
        explorer.ask("/api/ask", {**ask, "first": [word], "second": []})["toy-seed0"]["readings"][0]["first"]
        for word in ("woman", "SHE", "man")
    ]
    assert both["first"] == pytest.approx(single[0] + single[1], rel=1e-12)
    assert both["second"] == pytest.approx(single[2], rel=1e-12)


def test_words_that_are_several_tokens_are_named_and_lists_without_any_have_no_number(explorer):
    ask = {"prompts": [blank()], "first": ["woman", "hairdresser"], "second": ["man"], "models": ["toy"]}
    assert explorer.ask("/api/ask", ask)["toy-seed0"]["readings"][0]["left_out"] == [["hairdresser"], []]
    (reading,) = explorer.ask("/api/ask", {**ask, "first": ["hairdresser"]})["toy-seed0"]["readings"]
    assert reading["why"] == "multi_piece"
    assert "margin" not in reading
    assert len(reading["top"]) == 10


def test_a_causal_model_reads_the_sentence_up_to_a_blank_at_the_end_or_another(explorer):
    def reading(**prompt):
        return explorer.ask("/api/ask", gender(blank(**prompt), models=["gpt2"]))["gpt2"]["readings"][0]

    assert reading()["why"] == "right_context"
    ended = reading(text="The nurse is a ___.")
    assert ended == reading(text="The nurse is a ___")  # a full stop is no word
    assert ended == reading(causal="The nurse is a ___")
    assert ended != reading(causal="The nurse is a ___", before="The man was late.")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        (gender(blank("No blank here.")), "0 blanks"),
        (gender(blank("___ and ___")), "2 blanks"),
        (gender(blank(), models=["toi"]), "did you mean 'toy'"),
        (gender(), "prompts"),
        (gender(*[blank()] * (MOST_PROMPTS + 1)), "prompts"),
        (gender(blank("___" + "x" * LONGEST)), "prompts.0.text"),
        (gender(blank("\ud800 ___")), "hex escape"),
        (gender(blank(), top=1000), "top"),
        (gender(blank(), file="/etc/passwd"), "file"),
        ({"prompts": [blank()], "lists": "../../etc/passwd"}, "no word lists"),
        ({"prompts": [blank()], "first": ["man"], "second": ["Man"]}, "in both lists"),
        ({"prompts": [blank()], "first": ["x" * 100]}, "first.0"),
        (["no", "object"], "object"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_reason(question, named, explorer):
    assert named in explorer.refusal("/api/ask", question)


def test_text_that_names_special_tokens_or_markup_stays_text(explorer):
    texts = ["[MASK] [SEP] the ___ .", "<script>alert(1)</script> ___", "</s><s> ___"]
    answers = explorer.ask("/api/ask", gender(*map(blank, texts), models=["toy"]))
    assert all("margin" in reading for reading in answers["toy-seed0"]["readings"])


# ---------------------------------------------------------------- the same as run


def observed(run, label, model):
    return run.observations(label).set_index(["model", "item"]).loc[model]


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_counteracts_has_the_numbers_of_run(kind, browser_of_run, toy_run):
    model, family, exact = {"masked": ("toy-seed1", "toy", 0.0), "causal": ("gpt2", "gpt2", 1e-4)}[kind]
    scored = observed(toy_run, "counteracts", model).query("why_not == ''")
    assert len(scored) >= 20
    shifted = 0
    for item, row in scored.iloc[::3].iterrows():
        asked = browser_of_run.post("/api/item", {"probe": "counteracts", "item": item, "family": family})
        assert asked["lists"] == "gender"
        prompt = {key: asked[key] for key in ("text", "causal", "join")}
        prompts = [prompt, {**prompt, "before": asked["before"]}]
        answer = browser_of_run.ask("/api/ask", gender(*prompts, models=[family]))[model]
        alone, front = answer["readings"]
        for key, column in (("first", "female_all"), ("second", "male_all"), ("margin", "female_minus_male_all")):
            assert front[key] == pytest.approx(row[column], rel=0, abs=exact)
        assert [word for word, _, _ in front["top"]] == [token.strip() for token in row["top_tokens"]]
        if asked["before"]:
            shifted += 1
            assert front["margin"] - alone["margin"] == pytest.approx(
                row["shift_female_minus_male_all"], rel=0, abs=exact
            )
    assert shifted >= 5


def test_cloze_has_the_numbers_of_run(browser_of_run, toy_run):
    """Where the likeliest right word is one token."""
    compared = 0
    for item, row in observed(toy_run, "cloze", "toy-seed0").query("why_not == ''").iterrows():
        asked = browser_of_run.post("/api/item", {"probe": "cloze", "item": item, "family": "toy"})
        prompt = {key: asked[key] for key in ("text", "before", "causal", "join")}
        question = {"prompts": [prompt], "models": ["toy"], "first": asked["first"], "second": []}
        (reading,) = browser_of_run.ask("/api/ask", question)["toy-seed0"]["readings"]
        if len(asked["first"]) == 1 and "best" in reading:
            compared += 1
            assert reading["best"]["logp"] == row["right_nats"]
    assert compared


def test_an_item_of_distractors_is_one_text_with_its_target_and_the_others(browser_of_run, toy_run):
    items = toy_run.items("distractors").set_index("item")
    item = next(name for name in items.index if "/T/capital/" in name)
    asked = browser_of_run.post("/api/item", {"probe": "distractors", "item": item, "family": "toy"})
    assert (asked["view"], asked["before"], asked["text"]) == ("ask", "", items.loc[item, "text"])
    targets = [pair.target for pair in probes.make("distractors").material.sets["capital"].pairs]
    assert sorted(asked["first"] + asked["second"]) == sorted(targets)
    assert len(asked["first"]) == 1


def test_two_sentences_have_the_numbers_of_crows_pairs(browser_of_run, toy_run):
    rows = observed(toy_run, "crows_pairs", "toy-seed0").query("why_not == ''")
    assert len(rows) >= 10
    for item, row in rows.iterrows():
        asked = browser_of_run.post("/api/item", {"probe": "crows_pairs", "item": item, "family": "toy"})
        assert (asked["view"], asked["masking"]) == ("compare", "each")
        question = {"first": asked["first"], "second": asked["second"], "models": ["toy"]}
        answer = browser_of_run.ask("/api/compare", question)["toy-seed0"]
        assert answer["shared"] == [row["more_nats"], row["less_nats"]]


def test_tokens_have_their_characters_and_say_whether_both_sentences_have_them(explorer):
    first, second = "The nurse met the man.", "The nurse met the woman."
    answer = explorer.ask("/api/compare", {"first": first, "second": second})["toy-seed0"]
    texts = [[first[slice(*token["span"])] for token in answer["sides"][0]]]
    assert "".join(texts[0]) == first.replace(" ", "")
    differing = [token["text"].strip() for side in answer["sides"] for token in side if not token["shared"]]
    assert differing == ["man", "woman"]
    for i, side in enumerate(answer["sides"]):
        assert answer["whole"][i] == sum(token["logp"] for token in side)
    assert "two sentences" in explorer.refusal("/api/compare", {"first": first, "second": " "})

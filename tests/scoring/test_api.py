"""One line each from Python: pandas in, pandas out, cached."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import trueprobe
from answering import Answering
from trueprobe.engine import AnswerStore, Engine
from trueprobe.engine.by_request import canonical
from trueprobe.errors import BadInput
from trueprobe.types import EmbedText, FillBlank, ScoreText

BLANK = "The ___ works as a nurse."


def refuse(*_):
    raise AssertionError("a row was computed again")


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_second_call_computes_no_row(name, opened, tmp_path, monkeypatch):
    model, store = opened(name), tmp_path / "store"
    calls = [
        lambda: trueprobe.score(["The nurse was late."], model, store=store),
        lambda: trueprobe.fill("The nurse met the ___", model, words=["woman"], store=store),
        lambda: trueprobe.embed(["The nurse was late."], model, store=store),
    ]
    first = [call() for call in calls]
    monkeypatch.setattr(model, "forward", refuse)
    for before, call in zip(first, calls, strict=True):
        pd.testing.assert_frame_equal(before, call())


def test_scores_asked_with_ranks_leave_others_as_they_were(opened):
    """Of the same row: ranks are read beside what probes read, to the same bits."""
    for name in ("bert", "gpt2"):
        plain, ranked = (Engine(opened(name), AnswerStore(":memory:")) for _ in range(2))
        (without,) = plain.answer([ScoreText("The nurse was late.")])
        (with_ranks,) = ranked.answer([ScoreText("The nurse was late.", ranks=True)])
        assert [token.logp for token in without.tokens] == [token.logp for token in with_ranks.tokens]
        assert {token.rank for token in without.tokens} == {None}
        assert all(1 <= token.rank <= opened(name).card.vocab_size for token in with_ranks.tokens)


def test_a_request_without_ranks_has_the_key_it_had_before_there_were_any():
    assert canonical(ScoreText("a")) == (
        '["ScoreText", {"given": null, "join": "pair", "masking": "each", "spans": null, "start": "text", "text": "a"}]'
    )
    assert canonical(ScoreText("a", ranks=True)) != canonical(ScoreText("a"))


def test_a_model_that_does_not_report_characters_has_a_reason():
    """Which word a token belongs to is not guessed."""
    table = trueprobe.score("The nurse was late.", Answering(), store=":memory:")
    assert table["why_not"].tolist() == ["no_span"] * 4
    assert trueprobe.fill("The ___", Answering(), words=["man"], top=2, store=":memory:")["rank"].notna().all()


def test_a_data_frame_keeps_its_columns_and_a_series_is_sentences(opened):
    frame = pd.DataFrame({"sentence": ["The nurse | was late."], "condition": ["a"]}, index=[7])
    table = trueprobe.score(frame, opened("bert"), by="region", store=":memory:")
    assert table["condition"].tolist() == ["a", "a"]
    series = trueprobe.score(pd.Series(["The nurse was late."]), opened("bert"), by="region", store=":memory:")
    assert series["logp_nats"].sum() == pytest.approx(table["logp_nats"].sum(), abs=1e-4)


def test_a_column_may_have_another_name(opened):
    frame = pd.DataFrame({"text": ["The nurse."]})
    columns = trueprobe.scoring.Columns(sentence="text")
    assert len(trueprobe.score(frame, opened("bert"), columns=columns, store=":memory:")) == 2


def test_blanks_have_the_words_and_then_the_likeliest_tokens(opened):
    table = trueprobe.fill(BLANK, opened("bert"), words=["woman", "hairdresser"], top=3, store=":memory:")
    request = FillBlank("The ", " works as a nurse.", words=("woman",), top=3)
    (filled,) = Engine(opened("bert"), AnswerStore(":memory:")).answer([request])
    assert table["word"].tolist() == ["woman", "hairdresser", *(token.text for token in filled.top)]
    assert table["asked"].tolist() == [True, True, False, False, False]
    assert table["rank"].tolist() == [filled.words["woman"].rank, pd.NA, 1, 2, 3]
    assert table["logp_nats"][0] == filled.words["woman"].logp
    assert table["surprisal_bits"][0] == pytest.approx(-filled.words["woman"].logp / math.log(2))
    assert table["n_tokens"][1] > 1


def test_a_causal_model_has_a_reason_where_text_stands_behind_the_blank(opened):
    table = trueprobe.fill([BLANK, "The nurse met the ___"], opened("gpt2"), words=["woman"], top=0, store=":memory:")
    assert table["why_not"].tolist() == ["right_context", ""]
    assert table["word"].tolist() == ["woman", "woman"]


@pytest.mark.parametrize("text", ["No blank.", "Two ___ of ___."])
def test_a_text_has_one_blank(text, opened):
    with pytest.raises(BadInput, match=r"row 1: [02] blanks, one ___ is needed"):
        trueprobe.fill(text, opened("bert"))


def test_vectors_are_those_of_the_model(opened):
    table = trueprobe.embed(["The nurse.", "", "So was I."], opened("bert"), store=":memory:")
    (vector,) = Engine(opened("bert"), AnswerStore(":memory:")).answer([EmbedText("The nurse.", pool="mean")])
    columns = [name for name in table if str(name).startswith("x")]
    assert np.array_equal(table.loc[0, columns].to_numpy(np.float32), vector.values)
    assert table["why_not"].tolist() == ["", "empty_text", ""]
    assert table.loc[1, columns].isna().all()


def test_wrong_arguments_name_the_right_ones(opened):
    model = opened("bert")
    with pytest.raises(BadInput, match="no by 'words'; did you mean 'word'"):
        trueprobe.score("a", model, by="words")
    with pytest.raises(BadInput, match="no pll 'l2r'"):
        trueprobe.score("a", model, pll="l2r")
    with pytest.raises(BadInput, match="no pool 'average'"):
        trueprobe.embed("a", model, pool="average")
    with pytest.raises(BadInput, match=r"layer is a whole number, not 1\.5"):
        trueprobe.embed("a", model, layer=1.5)
    with pytest.raises(BadInput, match="sentence 2 is not text: 3"):
        trueprobe.score(["a", 3], model)
    with pytest.raises(BadInput, match="no model given"):
        trueprobe.score("a", [])


HALF_WORD = pd.DataFrame({"item": [1], "position": [1], "word": ["\udfff"]}, dtype=object)


@pytest.mark.parametrize("wrong", ["a \ud800 b", HALF_WORD])
def test_half_of_a_character_is_refused_with_the_row(wrong, opened):
    with pytest.raises(BadInput, match="row 1: half of a character"):
        trueprobe.score(wrong, opened("bert"), store=":memory:")


@pytest.mark.parametrize(
    "wrong", [{"words": "man"}, {"words": [3]}, {"words": 3}, {"words": ["\ud800"]}, {"top": -1}, {"top": 1.5}]
)
def test_words_are_a_list_and_top_is_a_number_of_tokens(wrong, opened):
    (name,) = wrong
    with pytest.raises(BadInput, match=f"{name} is"):
        trueprobe.fill(BLANK, opened("bert"), **wrong)


@pytest.mark.parametrize("wrong", [3, None, {"a": 1}, b"The nurse."])
def test_what_is_no_sentence_is_refused(wrong, opened):
    for ask in (trueprobe.score, trueprobe.fill, trueprobe.embed):
        with pytest.raises(BadInput, match="sentences are a text, several"):
            ask(wrong, opened("bert"))


def test_a_data_frame_to_fill_or_embed_has_the_column_sentence(opened):
    for ask in (trueprobe.fill, trueprobe.embed):
        with pytest.raises(BadInput, match=r"^the DataFrame: no column 'sentence'; choose from: text$"):
            ask(pd.DataFrame({"text": [BLANK]}), opened("bert"))


def test_words_may_be_a_series_and_a_number_may_be_numpys(opened):
    words, model = ["woman", "man"], opened("bert")
    plain = trueprobe.fill(BLANK, model, words=words, top=2, store=":memory:")
    series = trueprobe.fill(BLANK, model, words=pd.Series(words), top=np.int64(2), store=":memory:")
    pd.testing.assert_frame_equal(plain, series)


@pytest.mark.parametrize(("name", "join"), [("bert", "pair"), ("gpt2", "space")])
def test_a_sentence_in_front_is_read_as_the_kind_of_model_reads_two(name, join, opened, tmp_path):
    text, before = "The nurse met the ___", "The man was late."
    rows = trueprobe.fill(text, opened(name), words=["woman"], top=2, before=before, store=tmp_path / "answers")
    asked = FillBlank("The nurse met the ", "", before, join, ("woman",), top=2)
    (filled,) = Engine(opened(name), AnswerStore(":memory:")).answer([asked])
    assert rows["logp_nats"].tolist() == [filled.words["woman"].logp, *(token.logp for token in filled.top)]
    alone = trueprobe.fill(text, opened(name), words=["woman"], top=2, before="", store=tmp_path / "answers")
    assert alone["logp_nats"].tolist() != rows["logp_nats"].tolist()
    with pytest.raises(BadInput, match="before is a sentence"):
        trueprobe.fill(text, opened(name), before=["The man was late."])

"""Words and regions from tokens: hand-worked sums, shared tokens, reasons; no row is lost."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from trueprobe.errors import BadInput
from trueprobe.scoring import Columns
from trueprobe.scoring.read import table_of
from trueprobe.scoring.sentences import marked, material
from trueprobe.scoring.tables import frame_of, parts, refuse_reserved
from trueprobe.types import Scored, Token, WhyNot


def scored(*tokens: tuple[str, tuple[int, int], float]) -> Scored:
    """Tokens by text, span and bits; the rank is the number of the token."""
    made = [Token(t, i, -bits * math.log(2), True, span, i) for i, (t, span, bits) in enumerate(tokens, 1)]
    return Scored(tuple(made), (), ())


LATE = scored(
    ("It", (0, 2), 1.0), ("was", (3, 6), 2.0), ("la", (7, 9), 3.0), ("te", (9, 11), 4.0), (".", (11, 12), 5.0)
)


def table(by: str, text: str, answer, start="<s>"):
    return frame_of(by, material(table_of(text), Columns()), [answer], ("m", "left_to_right", start))


def test_a_word_is_the_sum_of_its_tokens_and_punctuation_belongs_to_it():
    words = table("word", "It was late.", LATE)
    assert words["word"].tolist() == ["It", "was", "late."]
    assert words["surprisal_bits"].tolist() == pytest.approx([1, 2, 3 + 4 + 5])
    assert words["logp_nats"].tolist() == pytest.approx([-math.log(2), -2 * math.log(2), -12 * math.log(2)])
    assert words["n_tokens"].tolist() == [1, 1, 3]
    assert words["rank"].tolist() == [1, 2, pd.NA]  # of several tokens there is none
    assert words["position"].tolist() == [1, 2, 3]


def test_regions_are_marked_by_bars_that_are_no_part_of_the_text():
    sentence = marked("It was | late|.", 0)
    assert sentence.text == "It was late."
    regions = table("region", "It was | late|.", LATE)
    assert regions["region"].tolist() == [1, 2, 3]
    assert regions["region_text"].tolist() == ["It was", "late", "."]
    assert regions["surprisal_bits"].tolist() == pytest.approx([3, 7, 5])
    tokens = table("token", "It was | late|.", LATE)
    assert tokens["region"].tolist() == [1, 1, 2, 2, 3]  # the token's, in the middle of a word too
    assert tokens["word"].tolist() == ["It", "was", "late.", "late.", "late."]
    assert tokens["rank"].tolist() == [1, 2, 3, 4, 5]
    assert table("word", "It was | late|.", LATE)["region"].tolist() == [1, 1, 2]  # that of its first letter


def test_without_a_start_token_the_first_word_has_no_number_and_a_region_is_the_sum_of_the_others():
    """The first token was read and not scored: "It", or the "I" of "It"."""
    for first in (
        scored(*(((" was"), (3, 6), 2.0), ("late.", (7, 12), 3.0))),
        scored(("t", (1, 2), 1.0), ("was", (3, 6), 2.0), ("late.", (7, 12), 3.0)),
    ):
        words = table("word", "It was late.", first, start="none")
        assert words["why_not"].tolist() == ["no_start", "", ""]
        assert words["surprisal_bits"].tolist()[1:] == pytest.approx([2, 3])
        (bits,) = table("region", "It was late.", first, start="none")["surprisal_bits"]
        assert bits == pytest.approx(sum(-token.logp for token in first.tokens) / math.log(2))


def test_words_may_have_the_two_before_them_and_their_length():
    asked = material(table_of(["It was late.", "It was late."]), Columns())
    words = frame_of("word", asked, [LATE, WhyNot("too_long")], ("m", "left_to_right", "<s>"), spillover=True)
    assert words["word_length"].tolist() == [2, 3, 5] * 2
    assert words["surprisal_prev1"].tolist()[:3] == pytest.approx([math.nan, 1, 2], nan_ok=True)
    assert words["surprisal_prev2"].tolist()[:3] == pytest.approx([math.nan, math.nan, 1], nan_ok=True)
    assert words["surprisal_prev1"].tolist()[3:] == pytest.approx([math.nan] * 3, nan_ok=True)  # of no other sentence


def test_without_marks_the_sentence_is_one_region():
    (bits,) = table("region", "It was late.", LATE)["surprisal_bits"]
    assert bits == pytest.approx(15)


def test_the_tables_add_up():
    """What is summed by word or by region is the same."""
    sums = [table(by, "It was | late|.", LATE)["surprisal_bits"].sum() for by in ("token", "word", "region")]
    assert sums == pytest.approx([15, 15, 15])


def test_what_shares_a_token_with_its_neighbour_has_no_number():
    one = scored(("un", (0, 2), 1.0), ("happy", (2, 7), 2.0), ("man", (8, 11), 4.0))
    regions = table("region", "unha|ppy man", one)
    assert regions["why_not"].tolist() == ["not_separable", "not_separable"]
    assert regions["surprisal_bits"].isna().all()
    assert table("word", "unha|ppy man", one)["surprisal_bits"].tolist() == pytest.approx([3, 4])


def test_a_token_of_spaces_belongs_to_the_word_behind_it_and_at_the_end_to_the_last():
    answer = scored(("a", (0, 1), 1.0), (" ", (2, 2), 2.0), (" b", (3, 4), 4.0), (" ", (5, 5), 8.0))
    assert [[t.text for t in tokens] for tokens in parts(answer, ((0, (0, 1)), (1, (3, 4)))).tokens.values()] == [
        ["a"],
        [" ", " b", " "],
    ]


def test_a_word_without_a_token_has_the_reason():
    words = table("word", "a \u0301 b", scored(("a", (0, 1), 1.0), ("b", (4, 5), 2.0)))
    assert words["why_not"].tolist() == ["", "no_span", ""]
    tokens = table("token", "a \u0301 b", scored(("a", (0, 1), 1.0), ("b", (4, 5), 2.0)))
    assert tokens["word"].tolist() == ["a", "\u0301", "b"]


def test_every_word_of_a_refused_sentence_has_the_reason():
    why = WhyNot("too_long", "600 tokens, the model reads 512")
    for by, rows in (("token", 3), ("word", 3), ("region", 1)):
        refused = table(by, "It was late.", why)
        assert refused["why_not"].tolist() == ["too_long"] * rows
        assert set(refused["why_not_detail"]) == {why.detail}
        assert refused["logp_nats"].isna().all()
        assert refused["rank"].isna().all()


def by_word(rows: list[tuple], names: str, **columns):
    return material(table_of(pd.DataFrame(rows, columns=names.split())), Columns(**columns))


ROWS = [(2, 2, "was"), (1, 1, "So"), (2, 1, "It"), (1, 2, "what?"), (2, 3, "late.")]


def test_rows_of_words_come_back_in_their_order_with_all_their_columns():
    asked = by_word([(*row, i) for i, row in enumerate(ROWS)], "item position word rt")
    assert [sentence.text for sentence in asked.sentences] == ["It was late.", "So what?"]
    so = scored(("So", (0, 2), 10.0), ("what", (3, 7), 20.0), ("?", (7, 8), 30.0))
    words = frame_of("word", asked, [LATE, so], ("m", "left_to_right", "<s>"))
    assert words[["item", "position", "word"]].to_numpy().tolist() == [list(row) for row in ROWS]
    assert words["rt"].tolist() == [0, 1, 2, 3, 4]
    assert words["surprisal_bits"].tolist() == pytest.approx([2, 10, 1, 50, 12])
    tokens = frame_of("token", asked, [LATE, so], ("m", "left_to_right", "<s>"))
    assert tokens["token"].tolist() == ["was", "So", "It", "what", "?", "la", "te", "."]


def test_regions_of_rows_keep_the_columns_that_are_the_same_in_all_their_rows():
    rows = [(1, 1, "It", "subject", 300, "a"), (1, 2, "was", "verb", 310, "a"), (1, 3, "late.", "verb", 320, "a")]
    asked = by_word(rows, "item position word region rt condition")
    regions = frame_of("region", asked, [LATE], ("m", "left_to_right", "<s>"))
    assert list(regions.columns[:3]) == ["item", "region", "condition"]
    assert regions["region_text"].tolist() == ["It", "was late."]
    assert regions["surprisal_bits"].tolist() == pytest.approx([1, 14])


def test_several_columns_may_name_a_sentence():
    rows = [(1, "a", 1, "It"), (1, "b", 1, "She"), (1, "a", 2, "was"), (1, "b", 2, "was")]
    asked = by_word(rows, "item condition position word", item=("item", "condition"))
    assert [sentence.text for sentence in asked.sentences] == ["It was", "She was"]


@pytest.mark.parametrize(
    ("rows", "names", "columns", "message"),
    [
        ([(1, 1, "a"), (1, 1, "b")], "item position word", {}, "rows 1 and 2: item 1 has position 1 twice, so several"),
        ([(1, 1, "a"), (1, 3, "b")], "item position word", {}, "position 2 is missing between them"),
        (
            [(2, 1, "a"), (1, 3, "c"), (1, 2, "b")],
            "item position word",
            {},
            "row 3: the sentence begins at position 2, another at 1 .*row 1",
        ),
        ([(1, 0, "a"), (2, 1, "a")], "item position word", {}, "row 2: .* begins at position 1, another at 0"),
        ([(1, 2, "b"), (2, 2, "b")], "item position word", {}, "row 1: .* at position 2; its first word is missing"),
        ([(1, "one", "a")], "item position word", {}, "row 1: position is 'one', not a whole number"),
        ([(1, 1, "")], "item position word", {}, "row 1: the word is empty"),
        ([(1, 1, None)], "item position word", {}, "row 1: the word is empty"),
        ([(1, 1, "a", "")], "item position word region", {}, "row 1: no region"),
        ([(1, 1, "a")], "item position word", {"region": "area"}, "no column 'area'"),
        ([(1, "a")], "item word", {}, "no column 'position'"),
        (
            [(1, "a"), (2, "b"), (1, "c")],
            "item word",
            {"item": ("item",)},
            "rows 1 and 3: one sentence, but other rows",
        ),
        ([(1, "a")], "position word", {}, "no column 'item'"),
        ([("a",)], "sentense", {}, "no column 'sentence'.*did you mean 'sentense'"),
        ([(1, "a"), (1, "b")], "id sentence", {}, "rows 1 and 2: the same id, '1'$"),
        ([(1, "a b", "a"), (1, "a b", "b")], "id sentence word", {}, r"Columns\(word='word'\) reads one row per word"),
        ([("a | b",), ("a b",)], "sentence", {}, "row 2: no region is marked"),
        ([("a | | b",)], "sentence", {}, "row 1: region 2 of the sentence is empty"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused_with_the_place(rows, names, columns, message):
    with pytest.raises(BadInput, match=message):
        by_word(rows, names, **columns)


@pytest.mark.parametrize("first", [0, 1])
def test_words_are_counted_from_0_or_1(first):
    asked = by_word([(1, first, "a"), (1, first + 1, "b"), (2, first, "c")], "item position word")
    assert [sentence.text for sentence in asked.sentences] == ["a b", "c"]


def test_words_beside_a_column_of_sentences_are_read_by_naming_them():
    rows, names = [(1, 1, "a", "a b"), (1, 2, "b", "a b")], "item position word sentence"
    with pytest.raises(BadInput, match=r"rename it; Columns\(word='word'\) reads one row per word$"):
        refuse_reserved(by_word(rows, names))
    asked = by_word(rows, names, word="word")
    refuse_reserved(asked)
    assert [sentence.text for sentence in asked.sentences] == ["a b"]


@pytest.mark.parametrize(
    ("names", "columns", "naming"),
    [
        ("text", {}, r"Columns\(sentence=…\) names the column with the sentences"),
        ("item word", {}, r"Columns\(position=…\) names it.*Columns\(item=\('item', 'condition'\)\)"),
        ("item position", {"word": "form"}, r"Columns\(word=…\) names the column with the words"),
    ],
)
def test_python_names_columns_by_arguments_and_not_by_options(names, columns, naming):
    with pytest.raises(BadInput, match=naming) as refused:
        by_word([(1,) * len(names.split())], names, **columns)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("names", "refused"), [("sentence rank", True), ("sentence word", True), ("item position word", False)]
)
def test_a_column_that_scoring_adds_must_not_be_there_already(names, refused):
    asked = by_word([(1,) * len(names.split())], names)
    if refused:
        with pytest.raises(BadInput, match=f"the column '{names.split()[1]}' is one that scoring adds"):
            refuse_reserved(asked)
    else:
        refuse_reserved(asked)

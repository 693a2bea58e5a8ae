"""The families of the papers with their published vocabularies: which ids are read, token by token.

Rows are written as people would check them, "[CLS] the [MASK] . [SEP]"; the networks are small and random.
"""

from __future__ import annotations

import math

import pytest
import torch
import transformers

import zoo
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import open_model
from trueprobe.types import EmbedText, FillBlank, FollowsText, ScoreText, WhyNot, Word, WordList

pytestmark = pytest.mark.slow

NETWORK = {
    "bert-base-uncased": "bert",
    "bert-base-cased": "bert",
    "albert": "albert",
    "roberta-base": "roberta",
    "gpt2": "gpt2",
}
MASKED = [name for name in NETWORK if name != "gpt2"]


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """family("roberta-base") is a small random network with that vocabulary, opened once."""
    models = {}

    def make(name: str):
        if name not in models:
            folder = tmp_path_factory.mktemp("families") / name
            models[name] = open_model(str(zoo.save(NETWORK[name], folder, tokenizer=zoo.real_tokenizer(name))))
        return models[name]

    return make


def ask(model, request):
    return Engine(model, AnswerStore(":memory:"), batch_tokens=16).answer([request])[0]


def tokens(model, ids) -> str:
    return " ".join(model.text.tokenizer.convert_ids_to_tokens(ids))


def rows(model, request) -> list[str]:
    return [tokens(model, read.row.ids) for read in model.reads(request)]


def only_read(model, request):
    (read,) = model.reads(request)
    return read


def segments(read) -> str:
    return "".join(map(str, read.row.segments))


# ---------------------------------------------------------------- blanks

BEFORE = {
    ("bert-base-uncased", "pair"): (
        "[CLS] she is a nurse . [SEP] the [MASK] was late . [SEP]",
        "0000000111111",
    ),
    ("bert-base-uncased", "space"): ("[CLS] she is a nurse . the [MASK] was late . [SEP]", "0" * 12),
    ("bert-base-uncased", "bos"): ("[CLS] she is a nurse . [CLS] the [MASK] was late . [SEP]", "0" * 13),
    ("bert-base-cased", "pair"): ("[CLS] She is a nurse . [SEP] The [MASK] was late . [SEP]", "0000000111111"),
    ("bert-base-cased", "space"): ("[CLS] She is a nurse . The [MASK] was late . [SEP]", "0" * 12),
    ("bert-base-cased", "bos"): ("[CLS] She is a nurse . [CLS] The [MASK] was late . [SEP]", "0" * 13),
    ("albert", "pair"): ("[CLS] ▁she ▁is ▁a ▁nurse . [SEP] ▁the [MASK] ▁was ▁late . [SEP]", "0000000111111"),
    ("albert", "space"): ("[CLS] ▁she ▁is ▁a ▁nurse . ▁the [MASK] ▁was ▁late . [SEP]", "0" * 12),
    ("albert", "bos"): ("[CLS] ▁she ▁is ▁a ▁nurse . [CLS] ▁the [MASK] ▁was ▁late . [SEP]", "0" * 13),
    ("roberta-base", "pair"): ("<s> She Ġis Ġa Ġnurse . </s> </s> The <mask> Ġwas Ġlate . </s>", "0" * 14),
    ("roberta-base", "space"): ("<s> She Ġis Ġa Ġnurse . ĠThe <mask> Ġwas Ġlate . </s>", "0" * 12),
    ("roberta-base", "bos"): ("<s> She Ġis Ġa Ġnurse . <s> The <mask> Ġwas Ġlate . </s>", "0" * 13),
}


@pytest.mark.parametrize(("name", "join"), BEFORE)
def test_a_sentence_in_front_is_joined_as_asked(name, join, family):
    model = family(name)
    row, row_segments = BEFORE[name, join]
    read = only_read(model, FillBlank("The ", " was late.", "She is a nurse.", join))
    assert tokens(model, read.row.ids) == row
    assert segments(read) == row_segments
    assert read.positions == (row.lower().split().index(model.text.tokenizer.mask_token.lower()),)


@pytest.mark.parametrize(
    ("join", "row"),
    [
        ("pair", "<|endoftext|> She Ġis Ġa Ġnurse . ĠThe"),
        ("space", "<|endoftext|> She Ġis Ġa Ġnurse . ĠThe"),
        ("bos", "<|endoftext|> She Ġis Ġa Ġnurse . <|endoftext|> The"),
    ],
)
def test_a_causal_model_reads_the_last_token_before_the_blank(join, row, family):
    model = family("gpt2")
    read = only_read(model, FillBlank("The ", before="She is a nurse.", join=join))
    assert tokens(model, read.row.ids) == row
    assert read.positions == (len(row.split()) - 1,)


BASE_ONLY = {
    "bert-base-uncased": "[CLS] the [MASK] was late . [SEP]",
    "bert-base-cased": "[CLS] The [MASK] was late . [SEP]",
    "albert": "[CLS] ▁the [MASK] ▁was ▁late . [SEP]",
    "roberta-base": "<s> The <mask> Ġwas Ġlate . </s>",
}


@pytest.mark.parametrize("name", BASE_ONLY)
def test_a_text_alone_is_one_segment(name, family):
    model = family(name)
    read = only_read(model, FillBlank("The ", " was late."))
    assert (tokens(model, read.row.ids), segments(read), read.positions) == (BASE_ONLY[name], "0" * 7, (2,))


def test_a_causal_blank_at_the_very_start_is_read_from_the_start_token(family):
    model = family("gpt2")
    read = only_read(model, FillBlank("", words=("She",)))
    assert (tokens(model, read.row.ids), read.positions) == ("<|endoftext|>", (0,))


def test_a_causal_model_cannot_see_text_behind_the_blank(family):
    assert family("gpt2").reads(FillBlank("The ", " was late.")).code == "right_context"


def piece_of(model, request, word) -> str:
    """The piece a word of the request is read at."""
    return tokens(model, [piece.id for piece in ask(model, request).words[word].pieces])


@pytest.mark.parametrize(
    ("name", "left", "word", "piece"),
    [
        ("roberta-base", "", "She", "She"),
        ("roberta-base", "So ", "She", "ĠShe"),
        ("roberta-base", "(", "She", "She"),
        ("gpt2", "", "She", "She"),
        ("gpt2", "So ", "She", "ĠShe"),
        ("albert", "", "She", "▁she"),
        ("albert", "So ", "She", "▁she"),
        ("bert-base-uncased", "So ", "She", "she"),
        ("bert-base-cased", "So ", "She", "She"),
    ],
)
def test_a_word_is_word_initial_after_a_space_only(name, left, word, piece, family):
    assert piece_of(family(name), FillBlank(left, words=(word,)), word) == piece


@pytest.mark.parametrize("name", ["roberta-base", "gpt2"])
def test_word_start_never_leaves_the_space_out_of_the_word(name, family):
    model = family(name)
    assert piece_of(model, FillBlank("So ", words=("She",), word_start="never"), "She") == "She"
    assert rows(model, FillBlank("So ", word_start="never")) == rows(model, FillBlank("So "))


def test_a_sentence_in_front_makes_the_first_word_follow_a_space_only_when_running(family):
    model = family("roberta-base")
    heard = {
        j: piece_of(model, FillBlank("", " is here.", "Look.", j, ("She",)), "She") for j in ("pair", "space", "bos")
    }
    assert heard == {"pair": "She", "space": "ĠShe", "bos": "She"}


@pytest.mark.parametrize(("name", "same"), [("bert-base-uncased", True), ("albert", True), ("bert-base-cased", False)])
def test_an_uncased_model_hears_no_capitals(name, same, family):
    words = ask(family(name), FillBlank("", " is here.", words=("She", "she"))).words
    assert (words["She"].pieces[0].id == words["she"].pieces[0].id) is same


def test_a_piece_shared_by_two_words_counts_once_in_the_mass(family):
    filled = ask(family("bert-base-uncased"), FillBlank("So ", words=("She", "she", "he")))
    assert filled.mass(("She", "she", "he")) == pytest.approx(
        math.exp(filled.words["she"].logp) + math.exp(filled.words["he"].logp), rel=1e-5
    )


# ---------------------------------------------------------------- our framing is the tokenizer's own

LEFTS = ("", "The ", "The nurse said that the ", 'She said: "', "(", "It's the man's ", "Well, Żółw-", "In 1984, ")
RIGHTS = ("", ".", " was late.", ", who was late, left!", "'s hat is here.", '" she said.', ")", "-time job; really?")


def refused(model, native, text, request) -> bool:
    """Where the tokenizer itself makes an unknown piece of the text (ALBERT: of "ł" and "—"), the text is refused."""
    unknown = native.unk_token_id in native(text)["input_ids"]
    why_not = model.reads(request)
    assert (isinstance(why_not, WhyNot) and why_not.code == "unknown_piece") is unknown, text
    return unknown


@pytest.mark.parametrize("name", MASKED)
def test_one_text_is_framed_as_the_tokenizer_itself_frames_it(name, family):
    model, native = family(name), zoo.real_tokenizer(name)
    for left in LEFTS:
        for right in RIGHTS:
            whole = left + native.mask_token + right
            if refused(model, native, whole, FillBlank(left, right)):
                continue
            assert rows(model, FillBlank(left, right)) == [tokens(model, native(whole)["input_ids"])], whole


@pytest.mark.parametrize("name", MASKED)
def test_a_pair_is_framed_as_the_tokenizer_itself_frames_it(name, family):
    model, native = family(name), zoo.real_tokenizer(name)
    for left in LEFTS:
        for right in RIGHTS:
            whole = left + native.mask_token + right
            encoded = native("She's a nurse, isn't she?", whole, return_token_type_ids=True)
            if refused(model, native, whole, FillBlank(left, right, "She's a nurse, isn't she?")):
                continue
            read = only_read(model, FillBlank(left, right, "She's a nurse, isn't she?"))
            assert tokens(model, read.row.ids) == tokens(model, encoded["input_ids"]), whole
            assert list(read.row.segments) == encoded["token_type_ids"]
            assert read.row.ids[read.positions[0]] == native.mask_token_id


@pytest.mark.parametrize("name", NETWORK)
def test_a_scored_text_is_framed_as_the_tokenizer_itself_frames_it(name, family):
    model, native = family(name), zoo.real_tokenizer(name)
    for text in ("The nurse, who's 30, said: 'No!'", "Unbelievably late.", "naïve café — 3.14% (ok)"):
        if refused(model, native, text, ScoreText(text)):
            continue
        read = model.reads(ScoreText(text))[-1]  # the last token: masked, or still to come
        before = read.row.ids if name == "gpt2" else read.row.ids[: read.positions[0]]
        ids = native(text)["input_ids"]
        expected = [native.bos_token_id, *ids] if name == "gpt2" else ids[:-1]
        assert [*before, read.targets[-1]] == expected


# ---------------------------------------------------------------- scored texts

EACH = {
    "bert-base-cased": ["[CLS] [MASK] ##bel ##ie ##va ##bly [SEP]", "[CLS] Un [MASK] ##ie ##va ##bly [SEP]"],
    "albert": ["[CLS] [MASK] be liev ably [SEP]", "[CLS] ▁un [MASK] liev ably [SEP]"],
    "roberta-base": ["<s> <mask> bel iev ably </s>", "<s> Un <mask> iev ably </s>"],
}
REST_OF_WORD = {
    "bert-base-cased": [
        "[CLS] [MASK] [MASK] [MASK] [MASK] [MASK] late [SEP]",
        "[CLS] Un [MASK] [MASK] [MASK] [MASK] late [SEP]",
        "[CLS] Un ##bel [MASK] [MASK] [MASK] late [SEP]",
        "[CLS] Un ##bel ##ie [MASK] [MASK] late [SEP]",
        "[CLS] Un ##bel ##ie ##va [MASK] late [SEP]",
        "[CLS] Un ##bel ##ie ##va ##bly [MASK] [SEP]",
    ],
    "albert": [
        "[CLS] [MASK] [MASK] [MASK] [MASK] ▁late [SEP]",
        "[CLS] ▁un [MASK] [MASK] [MASK] ▁late [SEP]",
        "[CLS] ▁un be [MASK] [MASK] ▁late [SEP]",
        "[CLS] ▁un be liev [MASK] ▁late [SEP]",
        "[CLS] ▁un be liev ably [MASK] [SEP]",
    ],
    "roberta-base": [
        "<s> <mask> <mask> <mask> <mask> Ġlate </s>",
        "<s> Un <mask> <mask> <mask> Ġlate </s>",
        "<s> Un bel <mask> <mask> Ġlate </s>",
        "<s> Un bel iev <mask> Ġlate </s>",
        "<s> Un bel iev ably <mask> </s>",
    ],
}


@pytest.mark.parametrize("name", EACH)
def test_each_token_is_masked_alone_and_asked_for(name, family):
    model = family(name)
    reads = model.reads(ScoreText("Unbelievably"))
    ids = model.text.pieces("Unbelievably").ids
    assert rows(model, ScoreText("Unbelievably"))[:2] == EACH[name]
    assert [(read.positions, read.targets) for read in reads] == [((1 + i,), (ids[i],)) for i in range(len(ids))]


@pytest.mark.parametrize("name", REST_OF_WORD)
def test_the_later_pieces_of_a_word_are_masked_with_it(name, family):
    assert rows(family(name), ScoreText("Unbelievably late", masking="rest_of_word")) == REST_OF_WORD[name]


@pytest.mark.parametrize("mark", [",", "!"])
@pytest.mark.parametrize("name", ["bert-base-cased", "albert", "roberta-base"])
def test_punctuation_is_not_the_rest_of_the_word_before_it(name, mark, family):
    model = family(name)
    at = ask(model, ScoreText(f"So late{mark}")).positions[1]
    row = rows(model, ScoreText(f"So late{mark}", masking="rest_of_word"))[1].split()
    assert row.count(model.text.tokenizer.mask_token) == 1
    assert row[at] == model.text.tokenizer.mask_token


def test_the_first_token_of_a_causal_text_is_scored_behind_the_start_token(family):
    model = family("gpt2")
    read = only_read(model, ScoreText("Unbelievably late."))
    assert tokens(model, read.row.ids) == "<|endoftext|> Un bel iev ably Ġlate"
    assert read.positions == (0, 1, 2, 3, 4, 5)
    assert tokens(model, read.targets) == "Un bel iev ably Ġlate ."
    scored = ask(model, ScoreText("Unbelievably late."))
    assert tokens(model, scored.row_ids) == "<|endoftext|> Un bel iev ably Ġlate ."
    assert scored.positions == (1, 2, 3, 4, 5, 6)


GIVEN = {
    "bert-base-cased": ("[CLS] The bus . [SEP] So was I . [SEP]", "So was I ."),
    "albert": ("[CLS] ▁the ▁bus . [SEP] ▁so ▁was ▁i . [SEP]", "▁so ▁was ▁i ."),
    "roberta-base": ("<s> The Ġbus . </s> </s> So Ġwas ĠI . </s>", "So Ġwas ĠI ."),
    "gpt2": ("<|endoftext|> The Ġbus . ĠSo Ġwas ĠI .", "ĠSo Ġwas ĠI ."),
}


@pytest.mark.parametrize("name", GIVEN)
def test_only_the_text_is_scored_not_what_is_given(name, family):
    model = family(name)
    scored = ask(model, ScoreText("So was I.", given="The bus."))
    row, ids = GIVEN[name]
    assert tokens(model, scored.row_ids) == row
    assert tokens(model, [token.id for token in scored.tokens]) == ids
    assert tokens(model, [scored.row_ids[p] for p in scored.positions]) == ids
    assert [token.span for token in scored.tokens] == [(0, 2), (3, 6), (7, 8), (8, 9)]


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("given", [None, "The bus."])
def test_spans_are_characters_of_the_text_itself(name, given, family):
    scored = ask(family(name), ScoreText("So was I.", given=given, spans=((3, 6), (8, 9))))
    assert [token.span for token in scored.tokens] == [(3, 6), (8, 9)]
    assert [token.text.strip() for token in scored.tokens] == ["was", "."]


@pytest.mark.parametrize("name", ["bert-base-cased", "roberta-base", "gpt2"])
def test_a_span_inside_a_word_touches_the_pieces_it_overlaps(name, family):
    scored = ask(family(name), ScoreText("Unbelievably late", spans=((1, 3),)))
    assert [token.text.removeprefix("##") for token in scored.tokens] == ["Un", "bel"]


@pytest.mark.parametrize("name", NETWORK)
def test_a_span_without_a_piece_has_no_number(name, family):
    assert family(name).reads(ScoreText("So was I.", spans=((2, 3),))).code == "no_span"
    assert family(name).reads(ScoreText("")).code == "empty_text"


# ---------------------------------------------------------------- follows, vectors


def test_two_texts_are_asked_for_as_a_pair(family):
    model = family("bert-base-uncased")
    read = only_read(model, FollowsText("The bus.", "So was I."))
    assert tokens(model, read.row.ids) == "[CLS] the bus . [SEP] so was i . [SEP]"
    assert segments(read) == "0000011111"


@pytest.mark.parametrize("name", ["albert", "roberta-base", "gpt2"])
def test_a_model_without_a_next_sentence_head_says_so(name, family):
    assert family(name).reads(FollowsText("The bus.", "So was I.")).code == "no_head"


POOLED = {  # pool: positions with special tokens, without
    "first": ((1,), (0,)),
    "last": ((3,), (2,)),
    "mean": ((0, 1, 2, 3, 4), (0, 1, 2)),
    "cls": ((0,), (0,)),
    "word": ((2,), (1,)),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("pool", POOLED)
def test_a_vector_is_pooled_over_these_positions(name, pool, family):
    model = family(name)
    request = {"text": "A nurse.", "pool": pool, "span": (2, 7) if pool == "word" else None}
    wrapped, bare = (only_read(model, EmbedText(**request, specials=specials)) for specials in (True, False))
    assert (wrapped.positions, bare.positions) == POOLED[pool]
    assert tokens(model, wrapped.row.ids).split()[1:-1] == tokens(model, bare.row.ids).split()
    assert len(bare.row.ids) == 3


@pytest.mark.parametrize(
    ("pool", "positions"), [("first", (1,)), ("last", (3,)), ("mean", (0, 1, 2, 3)), ("word", (2,))]
)
def test_a_causal_vector_is_pooled_behind_the_start_token(pool, positions, family):
    model = family("gpt2")
    read = only_read(model, EmbedText("A nurse.", pool, span=(2, 7)))
    assert (tokens(model, read.row.ids), read.positions) == ("<|endoftext|> A Ġnurse .", positions)
    assert rows(model, EmbedText("A nurse.", pool, span=(2, 7), specials=False)) == ["A Ġnurse ."]


def test_a_causal_model_has_no_cls(family):
    assert family("gpt2").reads(EmbedText("A nurse.")).code == "no_head"


def test_a_word_of_several_pieces_is_pooled_over_all_of_them(family):
    text = "A hairdresser."
    assert only_read(family("bert-base-uncased"), EmbedText(text, "word", span=(2, 13))).positions == (2, 3, 4)


# ---------------------------------------------------------------- special tokens in a text are text

MARKS = ("[MASK]", "[SEP]", "[CLS]", "<s>", "</s>", "<mask>", "<pad>", "<|endoftext|>")


@pytest.mark.parametrize("name", NETWORK)
@pytest.mark.parametrize("mark", MARKS)
def test_a_special_token_written_by_a_user_stays_text(name, mark, family):
    model = family(name)
    tokenizer = model.text.tokenizer
    special = {i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id}
    if name == "albert" and "<" in mark:  # which its vocabulary does not have
        assert not special & {*model.token_ids(f"Say {mark} aloud")}
        assert model.reads(EmbedText(f"Say {mark} aloud", "mean")).code == "unknown_piece"
        return
    plain, marked = (
        only_read(model, EmbedText(text, "mean")).row.ids for text in ("Say it aloud", f"Say {mark} aloud")
    )
    assert [i for i in marked if i in special] == [i for i in plain if i in special]
    assert len(marked) > len(plain)


@pytest.mark.parametrize("name", MASKED)
def test_there_is_one_blank_whatever_the_text_says(name, family):
    model = family(name)
    mask = model.text.tokenizer.mask_token
    read = only_read(model, FillBlank(f"The {mask} and the ", f" met {mask}.", before=f"A {mask}."))
    assert read.row.ids.count(model.text.tokenizer.mask_token_id) == 1


# ---------------------------------------------------------------- why not


@pytest.mark.parametrize(
    ("name", "longest"),
    [("bert-base-uncased", 512), ("albert", 512), ("roberta-base", 128), ("gpt2", 1024)],
)
def test_a_text_is_too_long_one_token_past_the_last_position(name, longest, family):
    model = family(name)
    assert model.card.max_tokens == longest
    room = longest - (1 if name == "gpt2" else 2)  # start token; start and end
    fits, too_long = (EmbedText(" ".join(["the"] * n), "last", specials=True) for n in (room, room + 1))
    assert len(only_read(model, fits).row.ids) == longest
    assert not isinstance(ask(model, fits), WhyNot)
    assert model.reads(too_long).code == "too_long"


@pytest.mark.parametrize(
    ("name", "word", "code"),
    [
        ("bert-base-cased", "hairdresser", "multi_piece"),
        ("roberta-base", "hairdresser", "multi_piece"),
        ("albert", "hairdresser", "multi_piece"),
        ("gpt2", "hairdresser", "multi_piece"),
        ("bert-base-cased", "☃", "unknown_piece"),
        ("albert", "☃", "unknown_piece"),
        ("bert-base-cased", "", "empty_text"),
    ],
)
def test_a_word_that_is_not_one_known_piece_has_no_number(name, word, code, family):
    words = ask(family(name), FillBlank("The ", words=(word, "nurse"))).words
    assert words[word].code == code
    assert words["nurse"].logp < 0


@pytest.mark.parametrize("name", ["bert-base-cased", "albert"])
def test_a_text_with_an_unknown_piece_has_no_number(name, family):
    """Else odd texts of any kind would all have one answer."""
    model = family(name)
    for odd in ("☃", "𓀀𓀁", "ꙮ"):
        requests = (
            FillBlank("The ", f" met the {odd}." if model.card.kind == "masked" else ""),
            FillBlank(f"The {odd} met the "),
            FillBlank("The ", before=f"A {odd} came."),
            FillBlank("The ", before=f"A {odd} came.", join="space"),
            ScoreText(f"The {odd} was late."),
            ScoreText("So was I.", given=f"The {odd} was late."),
            EmbedText(f"The {odd} was late.", "mean"),
        )
        for request in requests:
            assert model.reads(request).code == "unknown_piece"
            assert odd[0] in model.reads(request).detail


def test_a_word_that_melts_into_the_text_before_it_has_no_number(family):
    words = ask(family("gpt2"), FillBlank("The nur", words=("se",))).words
    assert words["se"].code == "not_separable"


# ---------------------------------------------------------------- ranked within a list


@pytest.mark.parametrize("name", NETWORK)
def test_ranks_refer_to_the_list(name, family):
    people = WordList("people", ("man", "woman", "nurse", "child", "hairdresser"))  # four of one piece
    request = FillBlank("The ", words=("man", "woman", "nurse", "child", "bus", "hairdresser"), within=people, top=9)
    filled = ask(family(name), request)
    everywhere = ask(family(name), FillBlank("The ", words=request.words)).words
    best_first = sorted(people.words[:4], key=lambda word: -everywhere[word].logp)
    assert filled.list_size == 4
    assert {word: filled.words[word].rank for word in best_first} == {w: i for i, w in enumerate(best_first, 1)}
    assert [token.text.strip() for token in filled.top] == best_first
    assert filled.words["bus"].code == "not_in_list"
    assert filled.words["hairdresser"].code == "multi_piece"
    assert filled.words["man"].logp == pytest.approx(everywhere["man"].logp, abs=1e-5)  # still of the vocabulary


@pytest.mark.parametrize("name", NETWORK)
def test_a_list_without_a_member_of_one_piece_has_no_answers(name, family):
    jobs = WordList("jobs", ("hairdresser", "unbelievableness"))
    filled = ask(family(name), FillBlank("The ", words=jobs.words, within=jobs, top=3))
    assert (filled.list_size, filled.top) == (0, ())
    assert {filled.words[word].code for word in jobs.words} == {"multi_piece"}


def test_without_a_list_the_whole_vocabulary_is_ranked(family):
    model = family("bert-base-cased")
    assert ask(model, FillBlank("The ", words=("man",))).list_size == model.card.vocab_size


def test_a_longer_word_outside_the_list_is_not_in_it(family):
    people = WordList("people", ("man", "woman"))
    request = FillBlank("The ", words=("man", "hairdresser"), within=people, pieces="left_to_right")
    assert ask(family("bert-base-cased"), request).words["hairdresser"].code == "not_in_list"


# ---------------------------------------------------------------- words of several pieces


def test_a_masked_word_of_three_pieces_is_the_product_of_its_conditionals(family):
    """hair | ##dre | ##sser: one blank each time, the pieces before it standing in the text."""
    model = family("bert-base-uncased")
    request = FillBlank("The ", " left.", words=("hairdresser", "nurse"), pieces="left_to_right")
    assert rows(model, request) == [
        "[CLS] the [MASK] left . [SEP]",
        "[CLS] the hair [MASK] left . [SEP]",
        "[CLS] the hair ##dre [MASK] left . [SEP]",
    ]
    words = ask(model, request).words
    assert [piece.text for piece in words["hairdresser"].pieces] == ["hair", "##dre", "##sser"]
    network = transformers.BertForPreTraining.from_pretrained(folder_of(model)).eval()
    tokenizer = zoo.real_tokenizer("bert-base-uncased")
    texts = ["The [MASK] left.", "The hair [MASK] left.", "The hairdre [MASK] left."]
    for text, piece, at in zip(texts, words["hairdresser"].pieces, (2, 3, 4), strict=True):
        with torch.no_grad():
            logits = network(**tokenizer(text, return_tensors="pt")).prediction_logits[0, at]
        assert piece.logp == pytest.approx(torch.log_softmax(logits, -1)[piece.id].item(), abs=1e-4)
    assert words["hairdresser"].rank is None
    assert isinstance(words["nurse"], Word)


def test_a_causal_word_of_several_pieces_is_the_product_of_its_conditionals(family):
    model = family("gpt2")
    word = ask(model, FillBlank("The ", words=("hairdresser",), pieces="left_to_right")).words["hairdresser"]
    assert tokens(model, [piece.id for piece in word.pieces]) == "Ġha ird ress er"
    network = transformers.GPT2LMHeadModel.from_pretrained(folder_of(model)).eval()
    ids = torch.tensor([[50256, *zoo.real_tokenizer("gpt2")("The hairdresser")["input_ids"]]])
    with torch.no_grad():
        logps = torch.log_softmax(network(ids).logits[0], -1)
    for i, piece in enumerate(word.pieces):
        assert piece.logp == pytest.approx(logps[1 + i, ids[0, 2 + i]].item(), abs=1e-4)


def test_a_causal_word_scores_as_the_text_that_ends_in_it(family):
    model = family("gpt2")
    word = ask(model, FillBlank("The ", words=("hairdresser",), pieces="left_to_right")).words["hairdresser"]
    text = ask(model, ScoreText("The hairdresser", spans=((4, 15),)))
    assert word.logp == pytest.approx(text.logp, abs=1e-4)


def folder_of(model) -> str:
    return model.network.config.name_or_path

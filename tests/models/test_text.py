"""What holds of pieces and their spans for any text, with tokenizers of each family."""

from __future__ import annotations

import unicodedata

import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers

import zoo
from trueprobe.models.text import Text, seam_after, without_final_space
from trueprobe.types import WhyNot

TOKENIZERS = {
    "wordpiece": zoo.wordpiece,
    "byte level, masked": lambda: zoo.byte_level(True),
    "byte level, causal": lambda: zoo.byte_level(False),
    "sentencepiece, masked": lambda: zoo.sentencepiece(True),
    "sentencepiece, causal": lambda: zoo.sentencepiece(False),
}
MARKS = ["[MASK]", "[SEP]", "[CLS]", "[PAD]", "<s>", "</s>", "<mask>", "<pad>", "<unk>", "<bos>", "<|endoftext|>"]
WORDS = ["The", " nurse", " unbelievably", ",", " late.", "  ", "\n", "é", "🙂", "ﬁ", "İ", "▁", "Ġ"]
ANY_TEXT = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.lists(st.sampled_from([*MARKS, *WORDS]) | st.characters(codec="utf-8"), max_size=10).map("".join),
)
some = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module", params=TOKENIZERS)
def text(request):
    return Text(TOKENIZERS[request.param]())


@some
@given(ANY_TEXT)
def test_no_text_spells_a_special_token(text, written):
    special = set(text.tokenizer.all_special_ids) - {text.tokenizer.unk_token_id}
    assert not special & set(text.pieces(written).ids)


@some
@given(ANY_TEXT)
def test_every_piece_has_its_characters_in_order(text, written):
    pieces = text.pieces(written)
    assert len(pieces.ids) == len(pieces.spans) == len(pieces.words)
    assert all(0 <= start <= stop <= len(written) for start, stop in pieces.spans)
    assert list(pieces.spans) == sorted(pieces.spans)
    assert not any(written[start].isspace() for start, stop in pieces.spans if start < stop)


@some
@given(ANY_TEXT)
def test_a_text_of_which_something_is_lost_says_so(text, written):
    """Every visible character is in a piece that is no unknown one, or the text names what was lost."""
    pieces = text.pieces(written)
    known = [span for piece, span in zip(pieces.ids, pieces.spans, strict=True) if piece != text.tokenizer.unk_token_id]
    covered = {i for start, stop in known for i in range(start, stop)}
    visible = {i for i, c in enumerate(written) if not c.isspace() and unicodedata.category(c)[0] not in "MC"}
    assert pieces.lost or visible <= covered
    assert set(pieces.lost) <= set(written)


BYTES = Text(zoo.byte_level(False))


@some
@given(ANY_TEXT)
def test_a_byte_vocabulary_leaves_no_character_out(written):
    covered = {i for start, stop in BYTES.pieces(written).spans for i in range(start, stop)}
    assert {i for i, character in enumerate(written) if not character.isspace()} <= covered
    assert not BYTES.pieces(written).lost


def characters(normalizer=None) -> Text:
    """A vocabulary of single characters without an unknown one: others are left out silently."""
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(" .ABCDEabcdefghijklmnoprstuw")}, merges=[]))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return Text(transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer))


def test_characters_that_no_piece_covers_are_lost():
    text = characters()
    assert text.pieces("Aber nicht").lost == ""
    assert text.pieces("Über").ids == text.pieces("ber").ids
    assert text.pieces("Über alle Maßen ×2 ").lost == "ÜMß×2"
    assert text.pieces("ab Ü ").lost == "Ü"  # offsets behind it are wrong, and the space would lie in no piece
    assert text.word("Über", "space").code == text.word("Ü", "space").code == "unknown_piece"
    assert text.word("aber", "space") == text.pieces(" aber").ids


def test_what_normalisation_takes_away_is_not_lost():
    """An accent written apart goes as the one of "é" does; a letter may not go."""
    accent, space = "\N{COMBINING ACUTE ACCENT}", "\N{ZERO WIDTH SPACE}"
    written = f"cafe{accent} {space}au"
    accents = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Replace(space, "")])
    assert characters(accents).pieces(written).lost == ""
    assert characters().pieces(written).lost == accent + space
    assert characters(normalizers.Replace(space, "")).pieces(written).lost == accent
    assert characters(normalizers.Replace("é", "")).pieces("café").lost == "é"


def test_an_unknown_piece_is_known_by_the_vocabulary_too():
    """A tokenizer may not say which of its pieces is the unknown one."""
    tokenizer = zoo.sentencepiece(False)
    tokenizer.unk_token = None
    assert Text(tokenizer).pieces("The ☃ was late.").lost == "☃"
    pieces = Text(zoo.wordpiece()).pieces("The ☃ was late.")
    assert (pieces.lost, [pieces.spans[i] for i in pieces.unknown]) == ("☃", [(4, 5)])
    assert characters().pieces("Über").unknown == frozenset()  # in no piece, so the offsets are wrong


@some
@given(ANY_TEXT)
def test_words_are_numbered_in_order(text, written):
    numbers = [word for word in text.pieces(written).words if word is not None]
    assert numbers == sorted(numbers)


@some
@given(ANY_TEXT, ANY_TEXT)
def test_a_wrapped_pair_has_a_segment_for_each_id(text, first, second):
    a, b = text.pieces(first).ids, text.pieces(second).ids
    for form, inside in ((text.one, a), (text.two, a + b)):
        ids, segments = form.wrap(a, b) if form is text.two else form.wrap(a)
        assert len(ids) == len(segments)
        around = len(form.before) + len(form.between) + len(form.after)
        assert len(ids) == around + len(inside)


@some
@given(st.sampled_from(["The ", "The nurse said: ", "(", "", "She met the "]), ANY_TEXT)
def test_a_word_is_what_follows_the_text_before_it(text, left, word):
    """Where a word can be told from the text before it, the two side by side are the text with the word."""
    pieces = text.word(word, seam_after(left), left if seam_after(left) == "glued" else "")
    if isinstance(pieces, WhyNot):
        assert pieces.code in ("empty_text", "not_separable", "unknown_piece")
        return
    assert text.tokenizer.unk_token_id not in pieces
    whole = text.pieces(left + word).ids
    front = text.pieces(without_final_space(left)).ids
    if whole[: len(front)] == front and not word[0].isspace():
        assert whole[len(front) :] == pieces


@pytest.mark.parametrize("make", TOKENIZERS.values(), ids=TOKENIZERS)
def test_cutting_is_no_part_of_a_tokenizer(make):
    tokenizer = make()
    plain = Text(tokenizer).tokenizer_id
    tokenizer.backend_tokenizer.enable_truncation(4)
    assert Text(tokenizer).tokenizer_id == plain
    assert len(Text(tokenizer).pieces("The nurse was late. So was the man.").ids) > 4

"""Text to ids and back, right for each tokenizer without the user knowing.

Text is never parsed for special tokens: "[MASK]" in a user's sentence stays six characters. Special tokens are
put around ids, by the format the tokenizer itself uses for one text and for a pair.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Literal

from tokenizers.pre_tokenizers import ByteLevel

from trueprobe.errors import BadInput, reading, shortened
from trueprobe.types import Span, WhyNot

Seam = Literal["start", "space", "glued"]  # what stands before a word: nothing, a space, other text

_LARGEST_ID = 2**24
_LONGEST_QUOTE = 80
_SPACES = ("Ġ", "▁")  # how vocabularies write the space before a word
_WORD = re.compile(r"\w+|[^\w\s]")
_LETTERS = re.compile(r" ?[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Pieces:
    ids: tuple[int, ...]
    spans: tuple[Span, ...]  # characters of the text, leading space left out
    words: tuple[int | None, ...]  # which word of the text each piece belongs to; each punctuation mark is one
    lost: str = ""  # what became an unknown piece or no piece at all: the ids are another text's
    unknown: frozenset[int] = frozenset()  # the numbers of the unknown pieces, if these are all that is lost


@dataclass(frozen=True, slots=True)
class Format:
    """The special tokens around one text (`between` is empty) or around two, with their segment ids."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    segments: tuple[int, int, int, int, int]  # of before, first text, between, second text, after

    def wrap(self, first: tuple[int, ...], second: tuple[int, ...] = ()) -> tuple[tuple[int, ...], tuple[int, ...]]:
        parts = (self.before, first, self.between, second, self.after)
        segments = (s for part, s in zip(parts, self.segments, strict=True) for _ in part)
        return tuple(i for part in parts for i in part), tuple(segments)


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer's whole state shows: a large text, so it is read once."""

    tokenizer_id: str
    unknown: frozenset[int]  # what is not in the vocabulary becomes one of these
    alphabet: frozenset[str] | None  # a character that is not in it is dropped; None where none can be


class Text:
    def __init__(self, tokenizer: Any) -> None:
        if not tokenizer.is_fast:
            raise BadInput(
                f"{type(tokenizer).__name__} reports no character offsets; trueprobe needs a fast tokenizer "
                "(a folder with tokenizer.json)"
            )
        self.tokenizer = tokenizer
        self.one, self.two = _format(tokenizer, pair=False), _format(tokenizer, pair=True)
        self.fast = tokenizer.backend_tokenizer
        self.fast.no_truncation()
        self.fast.no_padding()
        self.fast.encode_special_tokens = True  # special tokens written in a text are text
        self.pieces = lru_cache(maxsize=8_192)(self._pieces)  # two kilobytes each; as many as are planned together
        self.word = lru_cache(maxsize=200_000)(self._word)
        self.piece_text = lru_cache(maxsize=None)(self._piece_text)

    @property
    def tokenizer_id(self) -> str:
        """The whole tokenizer as it will be used, whatever files it was read from."""
        return self._vocabulary.tokenizer_id

    @cached_property
    def word_starts(self) -> tuple[int, ...]:
        """The pieces that begin with the space before a word (Ġ or ▁, whichever marks more), and added ones that take
        that space with them; none where the vocabulary has no such notion."""
        pieces = self.fast.get_vocab()
        by_mark = [[i for piece, i in pieces.items() if piece.startswith(mark)] for mark in _SPACES]
        takes_space = (i for i, token in self.tokenizer.added_tokens_decoder.items() if token.lstrip)
        marked = max(by_mark, key=len)
        return tuple(sorted({*marked, *takes_space})) if marked else ()

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        largest = max(self.fast.get_vocab().values(), default=0)
        if largest > _LARGEST_ID:  # writing the state down counts up to it
            raise BadInput(f"the tokenizer gives a piece the id {largest:,}, and no vocabulary is that large")
        return _vocabulary(json.loads(self.fast.to_str()), self.tokenizer.unk_token_id)

    def _pieces(self, text: str) -> Pieces:
        with reading(f"the tokenizer cannot cut {shortened(text, _LONGEST_QUOTE)!r}"):  # a pattern took too many steps
            encoding = self.fast.encode(text, add_special_tokens=False)
        special = next((i for i, piece in enumerate(encoding.ids) if piece in self._never), None)
        if special is not None:  # SentencePiece vocabularies spell "<pad>" as <pad>: cut the name in two
            cut = encoding.offsets[special][0] + len(text[slice(*encoding.offsets[special])]) // 2
            return _joined(self._pieces(text[:cut]), self._pieces(text[cut:]), cut)
        spans = tuple(_without_leading_space(text, span) for span in encoding.offsets)
        ids = tuple(encoding.ids)
        dropped = self._dropped(text) or self._needed(text, _between(text, spans))
        # white space alone may be an unknown piece, too
        unknown = [i for i, (start, stop) in enumerate(spans) if ids[i] in self._vocabulary.unknown and start < stop]
        lost = "".join(text[slice(*spans[i])] for i in unknown) or dropped
        return Pieces(ids, spans, _words_of(text, spans), lost, frozenset(() if dropped else unknown))

    def _dropped(self, text: str) -> str:
        """By their letters: the offsets of what stands behind a dropped character are wrong. Not counted here and
        below: spaces, and combining marks and control characters that the tokenizer's normalisation takes away, as
        lower-casing takes capitals."""
        alphabet, split = self._vocabulary.alphabet, self.fast.pre_tokenizer
        if alphabet is None:
            return ""
        normal = self._normal(text)
        letters = "".join(part for part, _ in split.pre_tokenize_str(normal)) if split else normal
        return "".join(c for c in letters if c not in alphabet and c != "▁" and not c.isspace())

    def _needed(self, text: str, characters: str) -> str:
        normal = self._normal(text) if characters else ""
        return "".join(c for c in characters if unicodedata.category(c)[0] not in "MC" or c in normal)

    def _normal(self, text: str) -> str:
        return str(self.fast.normalizer.normalize_str(text)) if self.fast.normalizer else text

    @cached_property
    def specials(self) -> dict[str, int]:
        """Special tokens that text must not turn into; some vocabularies list plain characters as special."""
        tokens = zip(self.tokenizer.all_special_tokens, self.tokenizer.all_special_ids, strict=True)
        unknown = self.tokenizer.unk_token_id
        return {token: piece for token, piece in tokens if len(token) > 1 and piece != unknown}

    @cached_property
    def _never(self) -> frozenset[int]:
        return frozenset(self.specials.values())

    def _word(self, word: str, seam: Seam, left: str = "") -> tuple[int, ...] | WhyNot:
        """The pieces of a word where it stands: word-initial after a space, as a beginning, or glued to `left`."""
        if not word:
            return WhyNot("empty_text", "an empty word")
        lead = {"start": "", "space": "a", "glued": left}[seam]  # any word does for the space: "a nurse"
        whole = self.pieces(lead + (" " if seam == "space" else "") + word)
        front = self.pieces(lead).ids if lead else ()
        if whole.lost:
            return WhyNot("unknown_piece", repr(word))
        if whole.ids[: len(front)] != front or len(whole.ids) == len(front):
            return WhyNot("not_separable", f"{left + word!r} does not split before {word!r}")
        return whole.ids[len(front) :]

    @cached_property
    def whole_words(self) -> frozenset[str]:
        """The pieces that are a whole word of plain letters, as it stands after a space."""
        pieces = map(self.piece_text, range(len(self.tokenizer)))
        words = {piece.strip() for piece in pieces if _LETTERS.fullmatch(piece)}
        return frozenset(word for word in words if self._one_piece(word))

    def _one_piece(self, word: str) -> bool:
        ids = self._word(word, "space")
        return not isinstance(ids, WhyNot) and len(ids) == 1

    def _piece_text(self, piece: int) -> str:
        token: str | None = self.tokenizer.convert_ids_to_tokens(piece)
        if token is None:
            return ""
        if token.startswith("▁"):
            return " " + token[1:]
        return str(self.fast.decode([piece], skip_special_tokens=False)) if self._byte_level else token

    @cached_property
    def _byte_level(self) -> bool:
        return "ByteLevel" in repr(self.fast.decoder)


def _vocabulary(state: dict[str, Any], unknown_id: int | None) -> Vocabulary:
    state["truncation"] = state["padding"] = None
    digest = sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    model = state["model"]
    vocabulary, token = dict(model["vocab"]), model.get("unk_token")  # Unigram lists [piece, score]
    unknown = {unknown_id, model.get("unk_id"), vocabulary.get(token)}
    drops = model.get("type") == "BPE" and token is None and not model.get("byte_fallback")
    return Vocabulary(digest, frozenset(unknown - {None}), _alphabet(state) if drops else None)


def _alphabet(state: dict[str, Any]) -> frozenset[str] | None:
    prefix = state["model"].get("continuing_subword_prefix") or ""
    letters = {token.removeprefix(prefix) for token in state["model"]["vocab"]}
    by_byte = "ByteLevel" in json.dumps([state["normalizer"], state["pre_tokenizer"]])
    complete = by_byte and letters.issuperset(ByteLevel.alphabet())
    return None if complete else frozenset(c for c in letters if len(c) == 1)


def _words_of(text: str, spans: tuple[Span, ...]) -> tuple[int | None, ...]:
    """By the text, not the tokenizer: some count "late," as one word. A piece that is only the space before a word
    (SentencePiece's ▁) is the word's first."""
    word_at: dict[int, int] = {}
    for number, match in enumerate(_WORD.finditer(text)):
        word_at |= dict.fromkeys(range(*match.span()), number)
    return tuple(word_at.get(start) for start, _ in spans)


def _joined(first: Pieces, second: Pieces, cut: int) -> Pieces:
    spans = tuple((start + cut, stop + cut) for start, stop in second.spans)
    last = max((word for word in first.words if word is not None), default=-1)
    words = tuple(None if word is None else word + last + 1 for word in second.words)
    unknown = first.unknown | {i + len(first.ids) for i in second.unknown}
    unknown = frozenset() if any(part.lost and not part.unknown for part in (first, second)) else unknown
    return Pieces(first.ids + second.ids, first.spans + spans, first.words + words, first.lost or second.lost, unknown)


def _between(text: str, spans: tuple[Span, ...]) -> str:
    """The characters other than spaces that lie in no span."""
    end, gaps = 0, ""
    for start, stop in spans:
        gaps += text[end:start]  # empty unless start > end
        end = max(end, stop)
    return "".join((gaps + text[end:]).split())


def seam_after(left: str) -> Seam:
    return "start" if not left else "space" if left.endswith(" ") else "glued"


def without_final_space(left: str) -> str:
    """The space before a blank belongs to the word that fills it."""
    return left[:-1] if left.endswith(" ") else left


def _without_leading_space(text: str, span: Span) -> Span:
    start, stop = span
    while start < stop and text[start].isspace():
        start += 1
    return start, stop


def _format(tokenizer: Any, pair: bool) -> Format:
    """Read off what the tokenizer itself puts around text, position by position."""
    # by name: some tokenizers (ALBERT) leave the segment ids out unless asked
    encoded = tokenizer("a", "b" if pair else None, return_token_type_ids=True)
    ids, sides, segments = encoded["input_ids"], encoded.sequence_ids(0), encoded["token_type_ids"]
    first = [i for i, side in enumerate(sides) if side == 0]
    second = [i for i, side in enumerate(sides) if side == 1] or [first[-1] + 1]
    end = second[-1] + 1 if pair else second[0]
    before, between, after = ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[end:]
    first_segment = segments[first[0]]
    second_segment = segments[second[0]] if pair else first_segment
    around = (
        segments[0] if before else first_segment,
        first_segment,
        segments[first[-1] + 1] if between else first_segment,
        second_segment,
        segments[end] if after else second_segment,
    )
    return Format(tuple(before), tuple(between), tuple(after), around)

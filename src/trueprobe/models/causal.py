"""Causal language models: GPT-2, OPT, Pythia, Llama-type, Gemma …, and .gguf files.

A blank is the next token, so nothing may stand behind it. Every text starts with the model's own start token
(without it the first token has no probability, and some models give garbage); a pair is one running text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from trueprobe.errors import BadInput
from trueprobe.models import checkpoint
from trueprobe.models.chat import Chat, chat_of
from trueprobe.models.checkpoint import Options, Source, read_tokenizer
from trueprobe.models.contract import Traits, backend
from trueprobe.models.framing import Framing, Ids, Refused
from trueprobe.models.hugging import Described, HuggingFaceModel, NetworkBackend, describe, start_ids
from trueprobe.models.network import Network
from trueprobe.models.rows import Read, Row
from trueprobe.models.text import Text, without_final_space
from trueprobe.models.weights import Shape, Weights
from trueprobe.types import Card, EmbedText, FillBlank, FollowsText, ScoreText


@backend("causal", order=3)
class CausalBackend(NetworkBackend):
    def accepts(self, source: Source, config: Any) -> bool:
        from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

        return type(config) in MODEL_FOR_CAUSAL_LM_MAPPING

    def described(self, source: Source, config: Any, options: Options) -> Described:
        from transformers import AutoModelForCausalLM

        model, missing = checkpoint.outline(source, AutoModelForCausalLM, options)
        if missing:
            lacks = ", ".join(sorted(missing)[:2])
            raise BadInput(
                f"{source.title} has no trained language-model head (missing: {lacks} …); it cannot go on a text"
            )
        return describe("causal", source, options, Text(read_tokenizer(source)), model, {"lm"})

    def model(self, described: Described, source: Source, config: Any, options: Options) -> Causal:
        from transformers import AutoModelForCausalLM

        def refuse_seeing_ahead(network: Network) -> None:
            if network.sees_ahead:
                title = f"{source.title}: a {config.model_type}"
                raise BadInput(f"{title} whose tokens see later ones is no causal language model")

        weights = Weights(source, AutoModelForCausalLM, options, refuse_seeing_ahead)
        start = start_ids(described.text, source.start)
        model = Causal(described.card, described.text, Shape.of(described.model, options), weights, start)
        model.without_start = source.start == "none"
        model.chat = chat_of(source, described.text)
        return model


class CausalFraming(Framing):
    kind = "causal"
    start: Ids  # before every text
    chat: Chat | None = None  # what is asked stands in a user's turn, the answer in the assistant's
    without_start = False  # the user wants none: texts are scored from their second token on

    def _unscored(self, request: ScoreText) -> int:
        return int(self.without_start and request.start == "text" and not self._front(request.given, request.join))

    def _running(self, before: str | None, join: str) -> bool:
        return self.chat is None and super()._running(before, join)

    def _turn(self, before: str | None, left: str, join: str) -> str:
        """The user's: a preceding sentence and what stands before a blank, or what is given before a text."""
        if before and join == "bos":
            raise Refused("not_in_chat", "a start token between two texts is no user's turn")
        return " ".join(filter(None, (before, left)))

    def _left(self, request: FillBlank) -> str:
        if self.chat is None:
            return super()._left(request)
        return self.chat.before_answer(self._turn(request.before, request.left, request.join), request.left)

    def _lead(self, request: ScoreText) -> str:
        if self.chat is None:
            return super()._lead(request)
        if request.start == "first_token":
            raise Refused("not_in_chat", "in a chat no start token stands before the first token alone")
        return self.chat.before_answer(self._turn(request.given, "", request.join))

    def _opening(self, before: str | None, left: str, join: str) -> Ids:
        """Of a row: up to the running text, or to the last special token before a chat's answer."""
        if self.chat is None:
            return self._front(before, join)
        user = self._turn(before, left, join)
        try:
            return self.chat.front(user)
        except KeyError as lost:
            raise Refused("unknown_piece", f"the tokenizer cannot spell {lost.args[0]!r} in {user!r}") from lost

    def _front(self, before: str | None, join: str) -> Ids:
        """What stands before the running text: the start token, or with "bos" a sentence between two of them."""
        if before is None or join != "bos":
            return self.start
        return (*self.start, *self._pieces(before).ids, *self.start)

    def _blank_reads(self, request: FillBlank, left: str, fills: list[Ids]) -> list[Read]:
        if request.right:
            raise Refused("right_context", f"{request.right!r} stands behind the blank")
        front = self._opening(request.before, request.left, request.join)
        ids = (*front, *self._pieces(without_final_space(left)).ids)
        if not ids:
            raise Refused("no_start", "no text and no start token before the blank")
        rows = [self._row((*ids, *fill)) for fill in fills]
        return [Read(row, "blank", (len(row.ids) - 1,)) for row in rows]

    def _score_reads(
        self, request: ScoreText, whole: str, chosen: list[int]
    ) -> tuple[list[Read], Ids, tuple[int, ...]]:
        pieces = self._pieces(whole, request.unknown)
        front = self._opening(request.given, "", request.join)
        ids = (*front, *pieces.ids)
        positions = tuple(len(front) + i for i in chosen)
        if 0 in positions:
            raise Refused(
                "no_start",
                "no start token stands before the text, so its first token has no probability; SPEC?start=none scores "
                "the others",
            )
        if request.start == "first_token" and front:
            first = [p for p in positions if p == len(front)]
            return (
                [
                    *self._token_reads(ids[: len(front) + 1], first),
                    *self._token_reads(pieces.ids, [p - len(front) for p in positions[len(first) :]]),
                ],
                ids,
                positions,
            )
        # a window that slides would leave the template behind: such a text is too long
        return self._token_reads(ids, positions, 0 if self.chat else request.stride), ids, positions

    def _token_reads(self, ids: Ids, positions: Sequence[int], stride: int = 0) -> list[Read]:
        """The last token of a window is only predicted, never read from."""
        last = max(positions, default=-1)
        reads = []
        for begin, first, stop in self._windows(last + 1, stride if last > self.card.max_tokens else 0):
            inside = positions[bisect_left(positions, first) : bisect_left(positions, stop)]
            row = self._row(ids[begin : stop - 1])
            reads.append(Read(row, "token", tuple(p - 1 - begin for p in inside), tuple(ids[p] for p in inside)))
        return reads

    def _follows_read(self, request: FollowsText) -> Read:
        raise Refused("no_head", "a causal model has no next-sentence head; ScoreText(given=) asks the same of it")

    def _embed_row(self, request: EmbedText, ids: Ids) -> tuple[Row, int]:
        if request.pool == "cls":
            raise Refused("no_head", "a causal model has no [CLS]; pool 'last' or 'mean'")
        start = self.start if request.specials else ()
        return self._row((*start, *ids)), len(start)


class Causal(CausalFraming, HuggingFaceModel):
    row_exact = False  # a tree's shape depends on which texts are in it; numbers agree to 1e-4

    def __init__(self, card: Card, text: Text, shape: Shape, weights: Weights, start: Ids) -> None:
        super().__init__(card, text, shape, weights)
        self.start = start

    def _try(self) -> Traits:
        readout = self.network.readout
        # padding stands behind a row, unseen
        return Traits(readout.size, readout.linear, self.network.shares_prefixes, exact_lengths=False, token_multiple=1)

    @cached_property
    def batch_tokens(self) -> int:
        """Every position of a text may be read, so the vocabulary bounds it too: logits within 128 MB."""
        return max(64, min(super().batch_tokens, 32_000_000 // self.card.vocab_size))

    @property
    def tree_limit(self) -> int:
        """Texts longer than a sliding window are computed alone: a tree's mask would look past it."""
        return self.card.max_tokens if self.shape.window is None else self.shape.window

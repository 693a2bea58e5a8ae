"""Any other server that speaks OpenAI's completions: the likeliest tokens by their text, and `echo` where it works.

Of a token that is not listed only a bound is known. Tokens of equal text cannot be distinguished: they count as not
listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from trueprobe.errors import BadInput
from trueprobe.models.served.client import BadReply, Client, Refusal
from trueprobe.models.served.server import (
    About,
    Ids,
    Listing,
    Reply,
    Server,
    Tokens,
    TokenScores,
    Usage,
    Wrong,
    checked,
    likeliest,
    refuse_other_length,
)
from trueprobe.models.text import Text

_PARALLEL = 4
_TOPS = (1000, 100, 20, 5)  # how many tokens are asked for, until the server takes it
_LONGEST, _LARGEST_LIMIT = 2048, 10_000_000  # tokens; a tokenizer without a limit has an astronomic one
_TRIED = "The nurse was late."


class OtherModel(Reply):
    id: str
    max_model_len: Tokens | None = None


class NamedToken(Reply):
    token: str
    logprob: float


class OtherPosition(Reply):
    top_logprobs: list[NamedToken]


class OtherLogprobs(Reply):
    """In either of the two forms in use."""

    content: list[OtherPosition] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None

    @property
    def first(self) -> list[tuple[str, float]]:
        """The likeliest tokens at the first position."""
        if self.content:
            return [(entry.token, entry.logprob) for entry in self.content[0].top_logprobs]
        return list(((self.top_logprobs or [None])[0] or {}).items())


class OtherChoice(Reply):
    logprobs: OtherLogprobs


class OtherCompletion(Reply):
    choices: Annotated[list[OtherChoice], Field(min_length=1)]
    usage: Usage | None = None


def about(model: OtherModel, text: Text) -> About:
    limit = text.tokenizer.model_max_length
    longest = model.max_model_len or (limit if limit < _LARGEST_LIMIT else _LONGEST)
    return About("OpenAI-compatible", "", model.id, len(text.tokenizer), int(longest) - 2, _PARALLEL)


class OpenAI(Server):
    lists_all = False
    advice = "a server that lists every token: vLLM with --max-logprobs -1, or llama.cpp"

    def __init__(self, client: Client, about: About, text: Text, start: Ids) -> None:
        super().__init__(client, about)
        self.text = text
        self._tried = (*start, *text.pieces(_TRIED).ids)
        self._top = self._most()
        self.scoring = "text" if self._echoes() else "none"

    @cached_property
    def _pieces(self) -> dict[str, int | None]:
        """The token of each text, None where several have it."""
        texts = [self.text.piece_text(piece) for piece in range(self.about.vocabulary)]
        count = Counter(texts)
        return {text: piece if count[text] == 1 else None for piece, text in enumerate(texts)}

    def next(self, ids: Ids) -> Listing:
        listed = self._listed(self._completion(ids, {"max_tokens": 1, "logprobs": self._top}))
        unknown = [text for text, _ in listed if text not in self._pieces]
        if 2 * len(unknown) > len(listed):
            few = ", ".join(map(repr, unknown))[:80]
            raise BadReply(f"the tokenizer does not have most of the tokens that the server lists ({few})")
        # up to the first of several with one text: behind it ranks are not known. A mapping by text holds those once;
        # if it is short for that, nobody knows how many stand above a token
        whole = listed[: self._top] if len(listed) >= self._top else []
        by_id: dict[int, float] = {}
        for text, logp in whole:
            piece = self._pieces.get(text)
            if piece is None:
                break
            by_id[piece] = logp
        return likeliest(by_id, self.about.vocabulary)

    def score(self, ids: Ids, positions: Sequence[int]) -> TokenScores:
        _, logps = self._echo(ids)
        return TokenScores(checked([logps[position] for position in positions]), None)

    def _most(self) -> int:
        """How many tokens it lists."""
        reason = ""
        for top in _TOPS:
            try:
                reply = self._completion(self._tried, {"max_tokens": 1, "logprobs": top})
                listed = len(self._listed(reply))
                # the last may be the generated token, listed whatever its rank is
                return top if listed >= top else max(1, listed - 1)
            except Refusal as refusal:
                reason = reason or refusal.reason
        raise BadInput(f"{self.client.url} takes no prompt of token ids with log-probabilities: {reason}")

    def _echoes(self) -> bool:
        """Does it give back the prompt's own log-probabilities? Some ignore `echo` and answer all the same."""
        ours = [self.text.piece_text(piece) for piece in self._tried]
        try:
            theirs, logps = self._echo(self._tried)
            checked(logps[1:])
        except (Refusal, BadReply, Wrong):
            return False
        return theirs[1:] == ours[1:]  # the first may be the start token, which has no text

    def _echo(self, ids: Ids) -> tuple[list[str], list[float | None]]:
        """Texts and log-probabilities of the prompt's tokens; what was generated behind them is left out."""
        reply = self._completion(ids, {"max_tokens": 0, "echo": True, "logprobs": 1})
        logprobs = reply.choices[0].logprobs
        tokens, logps = logprobs.tokens or [], logprobs.token_logprobs or []
        if not len(ids) <= len(tokens) == len(logps) <= len(ids) + 1:
            raise BadReply(f"the server echoes {len(tokens)} tokens of {len(ids)}")
        return tokens[: len(ids)], logps[: len(ids)]

    def _completion(self, ids: Ids, asked: dict[str, Any]) -> OtherCompletion:
        body = {"model": self.about.model, "prompt": list(ids), "temperature": 1.0, "top_p": 1.0}
        reply = self.client.post("/completions", {**body, **asked}, OtherCompletion)
        refuse_other_length(reply.usage.prompt_tokens if reply.usage else None, ids)
        return reply

    def _listed(self, reply: OtherCompletion) -> list[tuple[str, float]]:
        """Likeliest first, of the first new token."""
        pairs = reply.choices[0].logprobs.first
        if not pairs:
            raise Wrong("the server lists no log-probabilities")  # as behind the end of a text
        checked([logp for _, logp in pairs])
        return sorted(pairs, key=lambda pair: -pair[1])

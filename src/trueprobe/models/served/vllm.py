"""vLLM's server: whole distributions of the next token, and prompts scored in one call."""

from __future__ import annotations

from collections.abc import Sequence
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
    Tokenized,
    Tokens,
    TokenScores,
    Usage,
    checked,
    refuse_other_length,
    whole,
)

OWNER = "vllm"
_PARALLEL = 8
_NAMED = "token_id:"
# whatever the server's or the model's defaults are, nothing is to change the distribution
_PLAIN = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "seed": 0,
    "ignore_eos": True,
}


class VllmModel(Reply):
    id: str
    max_model_len: Tokens
    root: str | None = None  # the path of the weights on its machine


class Version(Reply):
    version: str = ""


class VllmLogprobs(Reply):
    top_logprobs: list[dict[str, float] | None] | None = None


class VllmPromptToken(Reply):
    logprob: float
    rank: Annotated[int, Field(ge=1)] | None = None


class VllmChoice(Reply):
    logprobs: VllmLogprobs | None = None  # of the generated token
    prompt_logprobs: list[dict[str, VllmPromptToken] | None] | None = None


class VllmCompletion(Reply):
    choices: Annotated[list[VllmChoice], Field(min_length=1)]
    usage: Usage
    system_fingerprint: str | None = None


def about(client: Client, model: VllmModel) -> About:
    """How large its vocabulary is shows in its first whole distribution."""
    version = client.get("/version", Version).version
    body = {"model": model.id, "prompt": [0], "max_tokens": 1, "logprobs": -1, "return_tokens_as_token_ids": True}
    try:
        first = client.post("/v1/completions", body | _PLAIN, VllmCompletion)
    except Refusal as refusal:
        raise BadInput(
            f"vLLM does not list the whole vocabulary ({refusal.reason}); start it with --max-logprobs -1"
        ) from refusal
    longest = model.max_model_len - 2  # the token to be scored and the one that is generated
    options = {"system_fingerprint": first.system_fingerprint}
    return About("vLLM", version, model.id, len(_listed(first)), longest, _PARALLEL, model.root or "", options)


class Vllm(Server):
    advice = "start vLLM with --max-logprobs -1 and --dtype float32"

    def next(self, ids: Ids) -> Listing:
        # never with `logprob_token_ids`: in one batch with them, vLLM cuts the other requests' lists to their length
        reply = self._completion(ids, {"logprobs": -1, "return_tokens_as_token_ids": True})
        listed = _listed(reply)
        try:
            by_id = {int(name.removeprefix(_NAMED)): logp for name, logp in listed.items()}
        except ValueError as error:
            raise BadReply("the server lists tokens by their texts, not by their ids") from error
        return whole(by_id, self.about.vocabulary)

    def score(self, ids: Ids, positions: Sequence[int]) -> TokenScores:
        listed = self._completion(ids, {"prompt_logprobs": 0}).choices[0].prompt_logprobs or []
        try:
            tokens = [(listed[position] or {})[str(ids[position])] for position in positions]
        except LookupError as error:
            raise BadReply("the server leaves out log-probabilities of the prompt's tokens") from error
        ranks = [token.rank for token in tokens if token.rank is not None]
        return TokenScores(checked([token.logprob for token in tokens]), ranks if len(ranks) == len(tokens) else None)

    def token_ids(self, text: str) -> Ids | None:
        body = {"model": self.about.model, "prompt": text, "add_special_tokens": False}
        try:
            return tuple(self.client.post("/tokenize", body, Tokenized).tokens)
        except Refusal:
            return None

    def _completion(self, ids: Ids, asked: dict[str, Any]) -> VllmCompletion:
        body = {"model": self.about.model, "prompt": list(ids), "max_tokens": 1}
        reply = self.client.post("/v1/completions", {**body, **_PLAIN, **asked}, VllmCompletion)
        refuse_other_length(reply.usage.prompt_tokens, ids)
        return reply


def _listed(reply: VllmCompletion) -> dict[str, float]:
    logprobs = reply.choices[0].logprobs
    listed = ((logprobs and logprobs.top_logprobs) or [None])[0]
    if not listed:
        raise BadReply("the server lists no log-probabilities")
    return listed

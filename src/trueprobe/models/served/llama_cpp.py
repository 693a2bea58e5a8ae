"""llama.cpp's server: whole distributions by `n_probs`, one position per call.

It ignores `echo` and answers 200, so a text is scored position by position.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trueprobe.models.served.client import Client, Refusal
from trueprobe.models.served.server import (
    About,
    Count,
    Id,
    Ids,
    Listing,
    Reply,
    Server,
    Tokenized,
    Tokens,
    refuse_other_length,
    whole,
)

OWNER = "llamacpp"
_FIELDS = ["completion_probabilities", "tokens_evaluated", "truncated"]
_CERTAIN = 10_000.0


class LlamaCppWeights(Reply):
    n_vocab: Count
    n_params: int | None = None
    size: int | None = None
    ftype: str | int | None = None
    n_ctx_train: int | None = None
    n_embd: int | None = None


class LlamaCppModel(Reply):
    id: str
    meta: LlamaCppWeights


class LlamaCppSettings(Reply):
    n_ctx: Tokens


class LlamaCppProperties(Reply):
    total_slots: Count
    default_generation_settings: LlamaCppSettings
    build_info: str = ""
    model_path: str = ""


class LlamaCppToken(Reply):
    id: Id
    logprob: float


class LlamaCppPosition(Reply):
    top_logprobs: list[LlamaCppToken]


class LlamaCppCompletion(Reply):
    completion_probabilities: Annotated[list[LlamaCppPosition], Field(min_length=1)]
    tokens_evaluated: int | None = None


def about(client: Client, model: LlamaCppModel) -> About:
    properties, weights = client.get("/props", LlamaCppProperties), model.meta
    return About(
        "llama.cpp",
        properties.build_info,
        model.id,
        weights.n_vocab,
        properties.default_generation_settings.n_ctx - 1,
        properties.total_slots,
        properties.model_path,
        weights.model_dump(exclude={"n_vocab"}),
    )


class LlamaCpp(Server):
    scoring = "token"
    advice = "start llama-server with --cache-type-k f32 --cache-type-v f32 --flash-attn off"

    def __init__(self, client: Client, about: About, generated: int) -> None:
        super().__init__(client, about)
        self._generated = generated

    def next(self, ids: Ids) -> Listing:
        body = {
            "prompt": list(ids),
            "n_predict": 1,
            "n_probs": self.about.vocabulary,
            "post_sampling_probs": False,
            "cache_prompt": False,  # what was asked before would change the last digits
            # any plain token: behind an end of text or half a character nothing is listed. Biases change what is
            # generated, not what is listed
            "logit_bias": [[self._generated, _CERTAIN]],
            "response_fields": _FIELDS,
        }
        reply = self.client.post("/completion", body, LlamaCppCompletion)
        refuse_other_length(reply.tokens_evaluated, ids)
        listed = reply.completion_probabilities[0].top_logprobs
        return whole({token.id: token.logprob for token in listed}, self.about.vocabulary)

    def token_ids(self, text: str) -> Ids | None:
        body = {"content": text, "add_special": False, "parse_special": False}
        try:
            return tuple(self.client.post("/tokenize", body, Tokenized).tokens)
        except Refusal:
            return None

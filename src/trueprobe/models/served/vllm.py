"""vLLM's server: whole distributions of the next token, and prompts scored in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueprobe.errors import BadInput
from trueprobe.models.served.client import Client, Refusal
from trueprobe.models.served.server import (
    About,
    Ids,
    Listing,
    Scores,
    Server,
    checked,
    part,
    refuse_other_length,
    whole,
)

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


def about(client: Client, listed: dict[str, Any]) -> About | None:
    """None where this is another server. How large its vocabulary is shows in its first whole distribution."""
    if listed.get("owned_by") != "vllm":
        return None
    version, model = str(client.get("/version").get("version", "")), str(part(listed, "id"))
    body = {"model": model, "prompt": [0], "max_tokens": 1, "logprobs": -1, "return_tokens_as_token_ids": True}
    try:
        first = client.post("/v1/completions", body | _PLAIN)
    except Refusal as refusal:
        raise BadInput(
            f"vLLM does not list the whole vocabulary ({refusal.reason}); start it with --max-logprobs -1"
        ) from refusal
    vocabulary = len(part(first, "choices", 0, "logprobs", "top_logprobs", 0))
    longest = int(part(listed, "max_model_len")) - 2  # the token to be scored and the one that is generated
    options = {"system_fingerprint": first.get("system_fingerprint")}
    return About("vLLM", version, model, vocabulary, longest, _PARALLEL, str(listed.get("root", "")), options)


class Vllm(Server):
    advice = "start vLLM with --max-logprobs -1 and --dtype float32"

    def next(self, ids: Ids) -> Listing:
        # never with `logprob_token_ids`: in one batch with them, vLLM cuts the other requests' lists to their length
        reply = self._completion(ids, {"logprobs": -1, "return_tokens_as_token_ids": True})
        listed = part(reply, "choices", 0, "logprobs", "top_logprobs", 0)
        return whole({int(name.removeprefix(_NAMED)): logp for name, logp in listed.items()}, self.about.vocabulary)

    def score(self, ids: Ids, positions: Sequence[int]) -> Scores:
        reply = self._completion(ids, {"prompt_logprobs": 0})
        listed = part(reply, "choices", 0, "prompt_logprobs")
        tokens = [part(listed, position, str(ids[position])) for position in positions]
        ranks = [token.get("rank") for token in tokens]
        known = all(isinstance(rank, int) for rank in ranks)
        return Scores(checked([part(token, "logprob") for token in tokens]), ranks if known else None)

    def token_ids(self, text: str) -> Ids | None:
        body = {"model": self.about.model, "prompt": text, "add_special_tokens": False}
        try:
            return tuple(part(self.client.post("/tokenize", body), "tokens"))
        except Refusal:
            return None

    def _completion(self, ids: Ids, asked: dict[str, Any]) -> Any:
        body = {"model": self.about.model, "prompt": list(ids), "max_tokens": 1}
        reply = self.client.post("/v1/completions", {**body, **_PLAIN, **asked})
        refuse_other_length(part(reply, "usage").get("prompt_tokens"), ids)
        return reply

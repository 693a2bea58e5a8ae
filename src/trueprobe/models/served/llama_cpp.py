"""llama.cpp's server: whole distributions by `n_probs`, one position per call.

It ignores `echo` and answers 200, so a text is scored position by position.
"""

from __future__ import annotations

from typing import Any

from trueprobe.models.served.client import Client, Refusal
from trueprobe.models.served.server import About, Ids, Listing, Server, part, refuse_other_length, whole

_FIELDS = ["completion_probabilities", "tokens_evaluated", "truncated"]
_CERTAIN = 10_000.0


def about(client: Client, listed: dict[str, Any]) -> About | None:
    """None where this is another server. `listed` is its entry among the models."""
    if listed.get("owned_by") != "llamacpp":
        return None
    properties = client.get("/props")
    meta = part(listed, "meta")
    slots = int(part(properties, "total_slots"))
    return About(
        "llama.cpp",
        str(properties.get("build_info", "")),
        str(part(listed, "id")),
        int(part(meta, "n_vocab")),
        int(part(properties, "default_generation_settings", "n_ctx")) - 1,
        slots,
        str(properties.get("model_path", "")),
        {key: meta.get(key) for key in ("n_params", "size", "ftype", "n_ctx_train", "n_embd")},
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
        reply = self.client.post("/completion", body)
        refuse_other_length(reply.get("tokens_evaluated"), ids)
        entries = part(reply, "completion_probabilities", 0, "top_logprobs")
        return whole({part(entry, "id"): part(entry, "logprob") for entry in entries}, self.about.vocabulary)

    def token_ids(self, text: str) -> Ids | None:
        try:
            reply = self.client.post("/tokenize", {"content": text, "add_special": False, "parse_special": False})
        except Refusal:
            return None
        return tuple(part(reply, "tokens"))

"""What servers reply, validated: ids are integers, counts are positive, lists that are read are there.

Log-probabilities may still be NaN or infinite here: an answer that means nothing is counted, not refused (`Wrong`).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Tokens = Annotated[int, Field(ge=3, le=1_000_000_000)]  # how many a prompt may have


class Reply(BaseModel):
    """What else a reply holds is not read. Strict: "5" and 5.0 are no ids."""

    model_config = ConfigDict(strict=True, frozen=True)


# ---------------------------------------------------------------- models


class Model(Reply):
    """An entry of the list of models; what only one kind of server has is validated by that kind."""

    model_config = ConfigDict(extra="allow")

    id: str
    owned_by: Any = None


class Models(Reply):
    data: list[Model]


class VllmModel(Reply):
    id: str
    max_model_len: Tokens
    root: str | None = None  # the path of the weights on its machine


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


class OtherModel(Reply):
    id: str
    max_model_len: Tokens | None = None


# ---------------------------------------------------------------- what it is


class Version(Reply):
    version: str = ""


class LlamaCppSettings(Reply):
    n_ctx: Tokens


class LlamaCppProperties(Reply):
    total_slots: Count
    default_generation_settings: LlamaCppSettings
    build_info: str = ""
    model_path: str = ""


class Tokenized(Reply):
    tokens: list[Id]


# ---------------------------------------------------------------- log-probabilities


class Usage(Reply):
    prompt_tokens: int | None = None


class LlamaCppToken(Reply):
    id: Id
    logprob: float


class LlamaCppPosition(Reply):
    top_logprobs: list[LlamaCppToken]


class LlamaCppCompletion(Reply):
    completion_probabilities: Annotated[list[LlamaCppPosition], Field(min_length=1)]
    tokens_evaluated: int | None = None


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

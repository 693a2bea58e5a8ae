"""Tries a server out before it is believed: which kind it is, whether it reads ids, what it lists, whether its
tokenizer is the one given here, and how far its answers lie apart when they are asked for again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from pydantic import ValidationError

from trueprobe.errors import BadInput, FailedRun, printable
from trueprobe.models.served import llama_cpp, openai, vllm
from trueprobe.models.served.address import Address
from trueprobe.models.served.client import KEY, BadReply, Client, Refusal, Unreachable
from trueprobe.models.served.server import Ids, Listing, Model, Models, Reply, Server, Wrong, at
from trueprobe.models.text import Text

_Kind = TypeVar("_Kind", bound=Reply)
LARGEST_NOISE = 0.1  # nats between two answers to one question
_WAYS_APART = 0.01  # nats, of a token scored in a text and listed behind what stands before it
_MODELS = "/models"
_UNAUTHORISED = (401, 403)
_WHO_GETS_THE_KEY = f"; {KEY} is sent only to servers that you name with --model, not to those of a run folder"
_TEXTS = (
    "The capital of France is",
    'She opened the door, and 23 people (or more) said: "No!" It\'s',
    "Übermäßig naïve — 42%\tof the café",
)


@dataclass(frozen=True)
class Examined:
    server: Server
    noise_nats: float  # the largest difference between two answers to one question, alone and among others
    likeliest: Ids  # the likeliest token behind each of the texts: tells one model from another


def examine(address: Address, text: Text, start: Ids, with_key: bool) -> Examined:
    """Refuses, with what to change, what would give numbers that mean something else. `with_key`: every request has the
    API key."""
    try:
        server = _connect(address, text, start, with_key)
        _refuse_other_tokenizer(server, text)
        prompts = [(*start, *text.pieces(each).ids) for each in _TEXTS]
        examined = _try(server, prompts)
        _refuse_other_scores(server, prompts[0])
    except BadInput as error:
        raise BadInput(f"{address.spec}: {error}") from error
    except Unreachable as error:
        raise FailedRun(f"{address.spec}: {error.reason}") from error
    except Refusal as refusal:
        advice = "" if with_key or refusal.status not in _UNAUTHORISED else _WHO_GETS_THE_KEY
        raise BadInput(f"{address.spec} refuses a question ({refusal.status}: {refusal.reason}){advice}") from refusal
    except (BadReply, Wrong) as error:
        raise BadInput(f"{address.spec}: {error}; no answer of this server would mean anything") from error
    return examined


def _connect(address: Address, text: Text, start: Ids, with_key: bool) -> Server:
    root, api = (Client(url, address.seconds, with_key) for url in (address.root, address.url))
    listed = _listed(address, api)
    if listed.owned_by == llama_cpp.OWNER:
        generated = text.pieces("a").ids[-1]
        return llama_cpp.LlamaCpp(
            root, llama_cpp.about(root, _of_kind(api, listed, llama_cpp.LlamaCppModel)), generated
        )
    if listed.owned_by == vllm.OWNER:
        return vllm.Vllm(root, vllm.about(root, _of_kind(api, listed, vllm.VllmModel)))
    return openai.OpenAI(api, openai.about(_of_kind(api, listed, openai.OtherModel), text), text, start)


def _listed(address: Address, api: Client) -> Model:
    """The server's own entry of the model."""
    entries = api.get(_MODELS, Models).data
    if not address.model and len(entries) == 1:
        return entries[0]
    for entry in entries:
        if entry.id == address.model:
            return entry
    which = f"no model '{address.model}'" if address.model else "several models" if entries else "no models"
    names = printable(", ".join(entry.id for entry in entries))
    raise BadInput(f"the server has {which}" + (f"; write #MODEL with one of: {names}" if names else ""))


def _of_kind(api: Client, entry: Model, kind: type[_Kind]) -> _Kind:
    try:
        return kind.model_validate(entry.model_dump())
    except ValidationError as error:
        raise api.invalid(_MODELS, error) from error


def _refuse_other_tokenizer(server: Server, text: Text) -> None:
    for each in _TEXTS:
        theirs, ours = server.token_ids(each), text.pieces(each).ids
        if theirs is not None and theirs != ours:
            raise BadInput(
                f"the server cuts {each!r} into {list(theirs)}, the tokenizer given here into {list(ours)}; give the "
                "served model's own with tokenizer=FOLDER_OR_ID"
            )
    if max(text.fast.get_vocab(with_added_tokens=False).values()) >= server.about.vocabulary and server.lists_all:
        raise BadInput(
            f"the tokenizer has more tokens than the {server.about.vocabulary:,} of the server; give the served "
            "model's own with tokenizer=FOLDER_OR_ID"
        )


def _try(server: Server, prompts: Sequence[Ids]) -> Examined:
    alone = server.next(prompts[0])
    if not np.isfinite(alone.logps).any():
        raise BadInput("the server lists tokens by their text, where those of equal text hide each other's ranks")
    with ThreadPoolExecutor(len(prompts)) as pool:
        again, *others = pool.map(server.next, prompts)
    if any(_apart(alone, other) == 0 for other in others):
        raise BadInput("the server gives two different prompts the same answer; it does not read token ids")
    noise = _apart(alone, again)
    if noise > LARGEST_NOISE:
        raise BadInput(f"the server's answers to one request differ by {noise:.2g} nats; {server.advice}")
    likeliest = tuple(int(np.argmax(np.nan_to_num(each.logps, nan=-np.inf))) for each in (alone, *others))
    return Examined(server, noise, likeliest)


def _apart(one: Listing, other: Listing) -> float:
    """Over the tokens that both list and that are not all but impossible."""
    both = np.isfinite(one.logps) & np.isfinite(other.logps) & (one.logps > -15)
    return float(np.abs(one.logps - other.logps)[both].max()) if both.any() else np.inf


def _refuse_other_scores(server: Server, prompt: Ids) -> None:
    """A token has one log-probability, whether it is scored in a text or listed behind what stands before it."""
    if server.scoring != "text":
        return
    last = len(prompt) - 1
    ways = [server.score(prompt, [last]).logps[0]]
    listing = server.next(prompt[:last])
    ways += [at(listing, prompt[last])[0]] if np.isfinite(listing.logps[prompt[last]]) else []
    if max(ways) - min(ways) > _WAYS_APART:
        raise BadInput(
            f"the server gives one token log-probabilities from {min(ways):.4f} to {max(ways):.4f} nats by different "
            f"ways of asking; {server.advice}"
        )

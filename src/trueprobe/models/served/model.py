"""A served model: requests framed as for a causal model here, computed there.

A whole distribution (vLLM, llama.cpp) gives the same answer as a local model would; a list of the likeliest tokens
gives bounds for the others.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np
import torch

from trueprobe.errors import BadInput, FailedRun, printable
from trueprobe.models.assemble import FillJob, only_members
from trueprobe.models.causal import CausalFraming
from trueprobe.models.chat import chat_of, has_template
from trueprobe.models.checkpoint import Source, file_hash, read_tokenizer, weight_files
from trueprobe.models.contract import Outline, Unfinished
from trueprobe.models.framing import Ids, Refused
from trueprobe.models.hugging import start_ids, start_text
from trueprobe.models.rows import Read
from trueprobe.models.served.address import Address
from trueprobe.models.served.client import BadReply, Refusal
from trueprobe.models.served.examine import Examined, examine
from trueprobe.models.served.server import Listing, Server, TokenScores, Wrong, at
from trueprobe.models.text import Text
from trueprobe.permissions import ServerAccess
from trueprobe.types import (
    TIE_NATS,
    Answer,
    Card,
    EmbedText,
    FillBlank,
    Filled,
    Request,
    ScoreText,
    Token,
    WhyNot,
    Word,
)

_log = logging.getLogger(__name__)
_VERSION = 1  # part of compute_id: raise it when the same server is asked in another way
_RECENT = 64  # whole distributions that are at hand for the next request


@dataclass(frozen=True)
class _Readout:
    """A reading is a distribution already."""

    size: int

    def log_probabilities(self, readings: np.ndarray, ids: tuple[int, ...] | None = None) -> torch.Tensor:
        logps = torch.from_numpy(readings)
        return logps if ids is None else logps[:, torch.tensor(ids, dtype=torch.long)]


@dataclass(frozen=True)
class _Behind:
    """The network behind a server, as far as framing needs it."""

    known_pieces: int
    uses_segments = False
    layers = 0


class _Framing(CausalFraming):
    def __init__(self, card: Card, text: Text, shape: _Behind, start: Ids) -> None:
        super().__init__(card, text, shape)
        self.start = start

    @property
    def vocabulary(self) -> int:
        return self.shape.known_pieces

    def read_readout(self) -> _Readout:
        return _Readout(self.vocabulary)

    def _vector_read(self, request: EmbedText) -> Read:
        raise Refused("not_served", "a server gives no hidden states")


class Served:
    contract: Literal["answers"] = "answers"

    def __init__(self, card: Card, text: Text, start: Ids, server: Server, parallel: int) -> None:
        self.card, self.server, self.parallel = card, server, parallel
        self.framing = _Framing(card, text, _Behind(server.about.vocabulary), start)
        self._recent = _Recent(server)

    def answer(self, requests: Sequence[Request]) -> list[Answer | WhyNot]:
        """As many at once as the server takes. The first failure ends all of them; what others got goes with it."""
        pool = ThreadPoolExecutor(min(self.parallel, max(len(requests), 1)))
        try:
            futures = {request: pool.submit(self._answer, request) for request in dict.fromkeys(requests)}
            wait(futures.values(), return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        ended = {request: future for request, future in futures.items() if not future.cancelled()}
        failed = next((error for future in ended.values() if (error := future.exception()) is not None), None)
        if failed is None:
            return [futures[request].result() for request in requests]
        if isinstance(failed, FailedRun):
            answers = {request: future.result() for request, future in ended.items() if future.exception() is None}
            raise Unfinished(str(failed), answers) from failed
        raise failed

    def _answer(self, request: Request) -> Answer | WhyNot:
        reads = self.framing.reads(request)
        if isinstance(reads, WhyNot):
            return reads
        try:
            return self._filled(request, reads) if isinstance(request, FillBlank) else self._scored(request, reads)
        except Wrong as wrong:
            return WhyNot("not_finite", str(wrong))
        except BadReply as error:
            raise FailedRun(f"{self.card.source}: {error}; what it answered before is cached") from error
        except Refusal as refusal:
            raise FailedRun(
                f"{self.card.source} refuses a question ({refusal.status}: {refusal.reason}); what it answered before "
                "is cached"
            ) from refusal

    # ------------------------------------------------------------ texts

    def _scored(self, request: Request, reads: Sequence[Read]) -> Answer | WhyNot:
        assert isinstance(request, ScoreText)
        if self.server.scoring == "none":
            return WhyNot("not_served", f"the server does not score a text's own tokens; {self.server.advice}")
        if request.word_starts:
            return WhyNot("not_served", "a server does not give the probability that a word begins")
        tokens = [read for read in reads if read.kind == "token"]
        scores = [self._scores(read) for read in tokens]
        logps = [np.array(each.logps) for each in scores]
        ranks = [np.array(each.ranks) for each in scores if each.ranks is not None]
        if not request.ranks or len(ranks) < len(scores):
            request, ranks = replace(request, ranks=False), []
        return self.framing.assemble([request], [logps + ranks])[0]

    def _scores(self, read: Read) -> TokenScores:
        """The row lacks the last target, which is only predicted."""
        ids, positions = (*read.row.ids, read.targets[-1]), [position + 1 for position in read.positions]
        if self.server.scoring == "text":
            return self.server.score(ids, positions)
        both = [at(self._recent.next(ids[:position]), ids[position]) for position in positions]
        if not all(np.isfinite(logp) for logp, _ in both):
            raise Wrong("the server gives a token of the text no finite log-probability")
        return TokenScores([logp for logp, _ in both], [rank for _, rank in both])

    # ------------------------------------------------------------ blanks

    def _filled(self, request: FillBlank, reads: Sequence[Read]) -> Answer:
        job = self.framing.job(request)
        if not self.server.lists_all:
            fills = zip(job.asked.fills, reads, strict=True)
            return self._bounded(job, {fill: self._recent.next(read.row.ids) for fill, read in fills})
        readings = [self._recent.next(read.row.ids).logps for read in reads]
        return self.framing.assemble([request], [readings])[0]

    def _bounded(self, job: FillJob, listings: dict[Ids, Listing]) -> Filled:
        """From the likeliest tokens alone. What they leave out has a bound, and no rank."""
        logps, request = listings[()].logps, job.request
        members = range(len(logps)) if request.within is None else self.framing.listed(job)
        ranked_pieces = sorted(
            (piece for piece in members if np.isfinite(logps[piece])), key=lambda piece: -logps[piece]
        )
        asked = job.asked if request.within is None else only_members(job, dict.fromkeys(members, 0))
        words: dict[str, Word | WhyNot] = {}
        for word, pieces in zip(asked.words, asked.pieces, strict=True):
            if isinstance(pieces, WhyNot):
                words[word] = pieces
                continue
            tokens = tuple(self._token(piece, listings[pieces[:n]]) for n, piece in enumerate(pieces))
            ranked = len(tokens) == 1 and tokens[0].exact
            near = [p for p in ranked_pieces if abs(logps[p] - tokens[0].logp) <= TIE_NATS] if ranked else [0]
            words[word] = Word(tokens, ranked_pieces.index(pieces[0]) + 1 if ranked else None, len(near) - 1)
        top = tuple(self._token(piece, listings[()]) for piece in ranked_pieces[: request.top])
        return Filled(words, top, len(members))

    def _token(self, piece: int, listing: Listing) -> Token:
        logp = float(listing.logps[piece])
        exact = bool(np.isfinite(logp))
        return Token(self.framing.text.piece_text(piece), piece, logp if exact else listing.bound, exact)


class _Recent:
    """The last distributions: texts share beginnings, and one that is being asked for is not asked for twice."""

    def __init__(self, server: Server) -> None:
        self.server, self._lock = server, Lock()
        self._futures: OrderedDict[Ids, Future[Listing]] = OrderedDict()

    def next(self, ids: Ids) -> Listing:
        with self._lock:
            under_way = self._futures.get(ids)
            future = under_way or self._futures.setdefault(ids, Future())
            self._futures.move_to_end(ids)
            if len(self._futures) > _RECENT:
                self._futures.popitem(last=False)
        if under_way is None:
            self._ask(ids, future)
        return future.result()

    def _ask(self, ids: Ids, future: Future[Listing]) -> None:
        try:
            future.set_result(self.server.next(ids))
        except BaseException as error:
            with self._lock:
                self._futures.pop(ids, None)
            future.set_exception(error)


# ---------------------------------------------------------------- before it is asked


@dataclass(frozen=True)
class ServedModel:
    """A served model that was examined; it is asked as it was."""

    source: Source
    model: Served
    text: Text

    @property
    def outline(self) -> Outline:
        return Outline(self.model.card, lambda: self.text.whole_words, 0)

    @property
    def location(self) -> str:
        return self.source.location

    def open(self) -> Served:
        return self.model


def examine_served(source: Source, access: ServerAccess) -> ServedModel:
    address = source.server
    assert address is not None
    if access is ServerAccess.REFUSED:
        raise BadInput(
            f"{address.spec} is named by a file: servers that a study or run folder names are contacted only with "
            "--allow-servers; or name it yourself with --model"
        )
    if source.as_encoder:
        raise BadInput(f"{address.spec}: a server gives no vectors; as=encoder is for local models")
    text = Text(read_tokenizer(source))
    start, chat = start_ids(text, source.start), chat_of(source, text)
    examined = examine(address, text, start, with_key=access is ServerAccess.WITH_KEY)
    card = _card(source, address, text, start, examined)
    if chat:
        chat_id = chat.compute_id(card.compute_id)
        card = replace(card, compute_id=chat_id, start_text=start_text(text, start, chat), chat=chat.label)
    parallel = address.parallel or examined.server.about.parallel
    _log.info("%s: served by %s, %d calls at once", source.name, printable(card.source), parallel)
    served = Served(card, text, start, examined.server, parallel)
    served.framing.chat = chat
    return ServedModel(source, served, text)


def _card(source: Source, address: Address, text: Text, start: Ids, examined: Examined) -> Card:
    about = examined.server.about
    identity = {
        "version": _VERSION,
        "server": [about.kind, about.version, about.model, dict(about.facts)],
        "weights": _weights(address, about.file),
        "likeliest": examined.likeliest,
        "tokenizer": text.tokenizer_id,  # answers are cached by text
        "start": start,
    }
    return Card(
        name=source.name,
        family=source.family or source.name,
        labels=dict(source.labels),
        kind="causal",
        architecture="served",
        heads=frozenset({"lm"}),
        max_tokens=about.max_tokens,
        vocab_size=about.vocabulary,
        start_text=start_text(text, start, None),
        has_template=has_template(text.tokenizer),
        source=f"{address.spec} ({' '.join(filter(None, (about.kind, about.version)))})",
        dtype="served",
        compute_id=hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest(),
        tokenizer_id=text.tokenizer_id,
        noise_nats=examined.noise_nats,
    )


def _weights(address: Address, file: str) -> list[str]:
    """Hashes of the files a server on this machine names; none where they cannot be read here."""
    path = Path(file)
    if not address.on_this_machine or not path.is_absolute():
        return []
    try:
        if path.is_dir():
            return [file_hash(each).hex() for each in weight_files(Source("", path.name, path))]
        return [file_hash(path).hex()] if path.suffix == ".gguf" and path.is_file() else []
    except (OSError, BadInput):
        return []

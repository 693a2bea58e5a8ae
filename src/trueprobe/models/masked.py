"""Masked language models: BERT, ALBERT, RoBERTa, DistilBERT, ELECTRA generators, MPNet, DeBERTa, MobileBERT …

A blank is the model's own mask. A text is scored one masked token at a time (a pseudo-log-likelihood: a sum of
conditionals, not the probability of the sentence). A masked row is read at one position only.
"""

from __future__ import annotations

from typing import Any

from trueprobe.errors import BadInput
from trueprobe.models import checkpoint
from trueprobe.models.checkpoint import Options, Source, is_ordinary, lists_token, read_tokenizer
from trueprobe.models.contract import backend
from trueprobe.models.framing import Ids, Refused
from trueprobe.models.hugging import BothWays, Described, NetworkBackend, describe
from trueprobe.models.rows import Read, Row
from trueprobe.models.text import Pieces, Text, without_final_space
from trueprobe.models.weights import Shape, Weights
from trueprobe.types import EmbedText, FillBlank, FollowsText, ScoreText

_OTHER_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "bos_token", "eos_token")


@backend("masked", order=2)  # before causal: many masked architectures have a causal head class, too
class MaskedBackend(NetworkBackend):
    def accepts(self, source: Source, config: Any) -> bool:
        return is_masked(config)

    def described(self, source: Source, config: Any, options: Options) -> Described:
        model, missing = checkpoint.outline(source, _auto_class(config), options)
        # of BERT's own two heads one may be absent; a random one is never read
        next_only = {key for key in missing if "seq_relationship" in key or "pooler" in key}
        if missing - next_only:
            lacks = ", ".join(sorted(missing - next_only)[:2])
            raise BadInput(
                f"{source.title} has no trained masked-language-model head (missing: {lacks} …); it cannot fill "
                "blanks; for its vectors alone (seat): --model 'SPEC?as=encoder'"
            )
        heads = {"lm", "next_sentence"} if _has_next(config) and not next_only else {"lm"}
        text = Text(read_tokenizer(source))
        _refuse_without_mask(source, text, model.get_input_embeddings().weight.shape[0])
        return describe("masked", source, options, text, model, heads)

    def model(self, described: Described, source: Source, config: Any, options: Options) -> Masked:
        weights = Weights(source, _auto_class(config), options)
        return Masked(described.card, described.text, Shape.of(described.model, options), weights)


def is_masked(config: Any) -> bool:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING or getattr(config, "is_decoder", False):
        return False
    written = " ".join(getattr(config, "architectures", None) or [])
    is_causal = "LMHead" in written or "CausalLM" in written
    return not (is_causal and type(config) in MODEL_FOR_CAUSAL_LM_MAPPING)


def _has_next(config: Any) -> bool:
    from transformers import MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING

    return type(config) in MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING


def _auto_class(config: Any) -> Any:
    from transformers import AutoModelForMaskedLM, AutoModelForPreTraining

    return AutoModelForPreTraining if _has_next(config) else AutoModelForMaskedLM


def _refuse_without_mask(source: Source, text: Text, n_embeddings: int) -> None:
    """Any other token in place of the mask gives numbers, too."""
    tokenizer, mask = text.tokenizer, text.tokenizer.mask_token
    if mask is None:
        raise BadInput(f"{source.title}: the tokenizer has no mask token, so it cannot fill blanks")
    other = next((role for role in _OTHER_ROLES if getattr(tokenizer, role) == mask), None)
    if other is not None:
        raise BadInput(f"{source.title}: the mask token '{mask}' is the {other} too, so it cannot fill blanks")
    piece = tokenizer.mask_token_id
    unknown = piece is None or piece == tokenizer.unk_token_id or piece >= n_embeddings
    if unknown or not lists_token(source, tokenizer, mask):
        raise BadInput(f"{source.title}: the mask token {mask} is not in the vocabulary, so it cannot fill blanks")
    if is_ordinary(source, tokenizer, mask):
        raise BadInput(f"{source.title}: the mask token '{mask}' is ordinary text, so it cannot fill blanks")


class Masked(BothWays):
    kind = "masked"

    @property
    def _mask(self) -> int:
        return int(self.text.tokenizer.mask_token_id)

    def _frame(self, before: str | None, join: str, ids: Ids) -> tuple[Row, int]:
        """Special tokens and segments around `ids`, and where `ids` begins in the row."""
        form = self.text.two if before is not None and join == "pair" else self.text.one
        first = self._pieces(before).ids if before is not None and join != "space" else ()
        if form is self.text.two:
            row, segments = form.wrap(first, ids)
        else:  # with "bos" the start token stands between the two texts
            row, segments = form.wrap((*first, *(form.before if first else ()), *ids))
        return self._row(row, segments), len(row) - len(form.after) - len(ids)

    def _blank_reads(self, request: FillBlank, left: str, fills: list[Ids]) -> list[Read]:
        front = self._pieces(without_final_space(left)).ids
        behind = self._pieces(request.right).ids
        reads = []
        for fill in fills:
            row, start = self._frame(request.before, request.join, (*front, *fill, self._mask, *behind))
            reads.append(Read(row, "blank", (start + len(front) + len(fill),)))
        return reads

    def _score_reads(
        self, request: ScoreText, whole: str, chosen: list[int]
    ) -> tuple[list[Read], Ids, tuple[int, ...]]:
        if request.start != "text":
            raise Refused("no_start", "a masked model reads a text with all its special tokens")
        pieces = self._pieces(whole, request.unknown)
        row, start = self._frame(request.given, request.join, pieces.ids)
        reads = []
        for i in chosen:
            ids = list(row.ids)
            for j in _masked_with(pieces, i) if request.masking == "rest_of_word" else (i,):
                ids[start + j] = self._mask
            reads.append(Read(Row(tuple(ids), row.segments), "token", (start + i,), (pieces.ids[i],)))
        return reads, row.ids, tuple(start + i for i in chosen)

    def _follows_read(self, request: FollowsText) -> Read:
        if "next_sentence" not in self.card.heads:
            raise Refused("no_head", f"{self.card.architecture}: no trained next-sentence head in the checkpoint")
        first, second = self._pieces(request.first).ids, self._pieces(request.second).ids
        return Read(self._row(*self.text.two.wrap(first, second)), "next")

    def _embed_row(self, request: EmbedText, ids: Ids) -> tuple[Row, int]:
        if request.specials and request.pool == "cls" and not self.text.one.before:
            raise Refused("no_head", "the tokenizer puts no token before a text")
        return super()._embed_row(request, ids)


def _masked_with(pieces: Pieces, i: int) -> list[int]:
    """Piece i and the later pieces of its word."""
    return [j for j in range(i, len(pieces.ids)) if j == i or pieces.words[j] == pieces.words[i] is not None]

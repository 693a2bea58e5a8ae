"""One transformers network, read only where it is asked: the head sees the wanted positions and nothing else.

A hook on the encoder hands its head the wanted positions as one short text, so that logits of
batch × length × vocabulary never exist, for every architecture alike. What is read of a batch leaves the device in one
copy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal

import numpy as np
import torch

from trueprobe.errors import BadInput
from trueprobe.models.assemble import Readout
from trueprobe.models.last_layer import LastLayer, Spots
from trueprobe.models.rows import SAFE_ROWS, Batch, Read, Row, rounded_up

LARGEST_NORM = 2.0**17  # beyond, float32 resolves logits to 0.016 nats at best, and probabilities sum to anything
_FAR, _FAR_IN_HALF = 1e-4, 0.1


class Network:
    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config
        takes = set(inspect.signature(model.forward).parameters)
        self.uses_segments = takes_segments(model)
        self._takes_positions = "position_ids" in takes
        self._takes_cache = "use_cache" in takes
        self._wanted: tuple[torch.Tensor, torch.Tensor] | None = None
        self._hidden: Any = None
        self._entering: torch.Tensor | None = None
        self._asks_next = False

    @classmethod
    def watching(cls, model: Any) -> Network:
        """With its hooks in place; tried on one short row."""
        network = cls(model)
        network._keep_pairs_apart()
        network._watch_body()
        if model.get_output_embeddings() is not None:
            model.get_output_embeddings().register_forward_pre_hook(network._keep_entering)
        return network

    def _keep_pairs_apart(self) -> None:
        """The next-sentence head sees one vector per row: so few that a product's last bit depends on their number.
        Where it is asked, each row goes through alone."""
        for name, module in self.model.named_modules():
            if isinstance(module, torch.nn.Linear) and name.endswith(("pooler.dense", "seq_relationship")):
                module.forward = partial(self._row_by_row, module.forward)  # type: ignore[method-assign]

    def _row_by_row(self, product: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
        return torch.cat([product(row[None].clone()) for row in rows]) if self._asks_next else product(rows)

    def _watch_body(self) -> None:
        """Hooks the part whose output the head reads; OPT's head reads past its body from an inner decoder."""
        body = self.model.base_model
        for part in (body, getattr(body, "decoder", None)):
            if part is None:
                continue
            hook = part.register_forward_hook(self._keep_wanted)
            with torch.inference_mode():
                self._run(_plain_batch([(1, 2, 3)]), [(0, 1)])
            if self._hidden is not None:
                self._hidden = None
                return
            hook.remove()
        raise BadInput(f"{type(self.model).__name__}: its head reads no hidden states that can be watched")

    # ------------------------------------------------------------ reading

    def read(self, batch: Batch) -> list[np.ndarray]:
        """What each read of the batch asks for, in order, as float32."""
        if not batch.reads:  # half of a batch may be dummies
            return []
        return self._read(batch, self.last_layer if all(read.by_head for read in batch.reads) else None)

    def _read(self, batch: Batch, short: LastLayer | None) -> list[np.ndarray]:
        spots = _spots(batch)
        if spots:
            self.readout  # noqa: B018  (looked into with a forward pass of its own, so before this one)
        needs_layers = any(read.kind == "vector" and read.layer != -1 for read in batch.reads)
        self._asks_next = any(read.kind == "next" for read in batch.reads)
        with torch.inference_mode():
            out = self._run(batch, spots or [(0, 0)], needs_layers, short)
            readings = self._of_rows(batch, out)
            if spots:
                readings |= self._at_spots(batch, self._logits(out), {spot: i for i, spot in enumerate(spots)})
            answers = _on_host(readings)
        self._hidden = self._entering = None
        return [answers[i] for i in range(len(batch.reads))]

    def _at_spots(
        self, batch: Batch, logits: torch.Tensor, spot_of: dict[tuple[int, int], int]
    ) -> dict[int, torch.Tensor]:
        """Blanks, tokens and ranks, from logits [spots, vocabulary]."""
        norms = torch.logsumexp(logits, dim=-1)
        norms = torch.where(norms.abs() < LARGEST_NORM, norms, torch.nan)
        spots: dict[str, dict[int, list[int]]] = {"blank": {}, "token": {}, "rank": {}}  # of each read, by kind
        for i, (read, slot, columns) in enumerate(zip(batch.reads, batch.slots, batch.columns, strict=True)):
            if read.by_head:
                spots[read.kind][i] = [spot_of[slot, column] for column in columns]
        blanks, tokens = (_index([*chain(*spots[kind].values())], logits) for kind in ("blank", "token"))
        targets = _index([target for i in spots["token"] for target in batch.reads[i].targets], logits)
        vectors = torch.cat([self._entering_vectors(logits)[blanks], norms[blanks, None]], dim=1)
        logps = torch.split(logits[tokens, targets] - norms[tokens], [*map(len, spots["token"].values())])
        ranks = (
            _ranks(logits[_index(at, logits)], _index([*batch.reads[i].targets], logits))
            for i, at in spots["rank"].items()
        )
        return dict(zip([*spots["blank"], *spots["token"], *spots["rank"]], (*vectors, *logps, *ranks), strict=True))

    def _of_rows(self, batch: Batch, out: Any) -> dict[int, torch.Tensor]:
        """Next-sentence answers and hidden states."""
        readings: dict[int, torch.Tensor] = {}
        followed = [i for i, read in enumerate(batch.reads) if read.kind == "next"]
        if followed:
            # in double: the logarithm of a probability near one keeps its digits, and so do its log-odds
            logits = out["seq_relationship_logits"]
            logits = logits[_index([batch.slots[i] for i in followed], logits)].double()
            readings |= zip(followed, torch.log_softmax(logits, -1)[:, :1].float(), strict=True)
        for layer in dict.fromkeys(read.layer for read in batch.reads if read.kind == "vector"):
            pooled = [i for i, read in enumerate(batch.reads) if read.kind == "vector" and read.layer == layer]
            hidden, layers = self._hidden
            states = hidden if layer == -1 else layers[layer]
            slots = _index([batch.slots[i] for i in pooled for _ in batch.columns[i]], states)
            columns = _index([column for i in pooled for column in batch.columns[i]], states)
            parts = torch.split(states[slots, columns].float(), [len(batch.columns[i]) for i in pooled])
            readings |= zip(pooled, (part.mean(0) for part in parts), strict=True)
        return readings

    def _run(
        self, batch: Batch, spots: list[tuple[int, int]], needs_layers: bool = False, short: LastLayer | None = None
    ) -> Any:
        device = self.model.device
        ids = torch.from_numpy(batch.ids).to(device)
        inputs: dict[str, Any] = {"input_ids": ids, "return_dict": True}
        if batch.parents is not None:
            sees = ancestors(torch.from_numpy(batch.parents).to(device))
            mask = torch.zeros(sees.shape, dtype=self.model.dtype, device=device)
            inputs["attention_mask"] = mask.masked_fill(~sees, torch.finfo(mask.dtype).min)[:, None]
            inputs["position_ids"] = sees.sum(-1) - 1
        else:
            inputs["attention_mask"] = torch.from_numpy(batch.real.astype(np.int64)).to(device)
        if self.uses_segments:
            inputs["token_type_ids"] = torch.from_numpy(batch.segments).to(device)
        if self._takes_cache:
            inputs["use_cache"] = False
        if needs_layers:
            inputs["output_hidden_states"] = True
        where = np.array(spots, dtype=np.int64)
        self._wanted = (torch.from_numpy(where[:, 0]).to(device), torch.from_numpy(where[:, 1]).to(device))
        try:
            if short is None:
                return self.model(**inputs)
            with short.at(Spots.of(spots, len(batch.ids), device)):
                return self.model(**inputs)
        finally:
            self._wanted = None

    def _logits(self, out: Any) -> torch.Tensor:
        if self.model.dtype != torch.float32 and self.readout.linear and self._entering is not None:
            return self.readout.logits(self._entering.reshape(-1, self._entering.shape[-1]).float())
        logits = _head_output(out)
        return logits.reshape(-1, logits.shape[-1]).float()

    def _entering_vectors(self, logits: torch.Tensor) -> torch.Tensor:
        if not self.readout.linear or self._entering is None:
            return logits  # the distribution itself: larger to cache, never wrong
        return self._entering.reshape(-1, self._entering.shape[-1]).float()

    def _keep_wanted(self, module: Any, args: Any, output: Any) -> Any:
        """Hands the head [1, spots, hidden] instead of [slots, width, hidden]."""
        if self._wanted is None:
            return output
        hidden = output[0]
        layers = None if isinstance(output, tuple) else output.get("hidden_states")
        self._hidden = (hidden, layers)
        chosen = hidden[self._wanted].unsqueeze(0)
        if isinstance(output, tuple):
            return (chosen, *output[1:])
        output["last_hidden_state"] = chosen
        return output

    def _keep_entering(self, module: Any, args: Any) -> None:
        self._entering = args[0]

    # ------------------------------------------------------------ what this network allows

    @cached_property
    def readout(self) -> Readout:
        """Is a logit one product with the entering vector? Checked on one row; otherwise distributions are cached."""
        readout = Readout(self.model)
        with torch.inference_mode():
            out = self._run(_plain_batch([(1, 2, 3)]), [(0, 1)])
            true = _head_output(out)
            entering = self._entering
        readout.size = true.shape[-1]
        readout.linear = (
            entering is not None
            and readout.weight.shape == (true.shape[-1], entering.shape[-1])
            and bool(
                torch.allclose(
                    readout.logits(entering.reshape(1, -1).float())[0], true[0, 0].float(), atol=_far(true.dtype)
                )
            )
        )
        return readout

    @cached_property
    def last_layer(self) -> LastLayer | None:
        """To be computed only where it is read? Tried on a padded batch and on a row alone, against the whole layer."""
        self.readout  # noqa: B018  (a pass of its own, whose calls are not to be counted)
        trials: list[list[tuple[int, ...]]] = [[(1, 2, 3, 4, 5), (6, 7, 8)], [(1, 2, 3)]]
        try:
            layer = LastLayer.of(self.model)
            agrees = layer is not None and all(self._agrees(layer, rows) for rows in trials)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):  # another version's code
            return None
        return layer if agrees else None

    def _agrees(self, layer: LastLayer, rows: list[tuple[int, ...]]) -> bool:
        batch = _plain_batch(rows, [Read(Row(row, (0,) * len(row)), "blank", (1,)) for row in rows])
        layer.calls = 0
        whole = self._read(batch, None)
        layer.calls_per_pass = layer.calls
        few = self._read(batch, layer)
        return layer.calls > 0 and all(same(a, b, _far(self.model.dtype)) for a, b in zip(whole, few, strict=True))

    @cached_property
    def shares_prefixes(self) -> bool:
        """Can branches of a tree of texts be computed side by side? Tried on a small tree, against the plain rows."""
        if not self._takes_positions:
            return False
        rows = [(1, 2, 3, 4, 5), (1, 2, 3, 6, 7, 8)]
        reads = [Read(Row(row, (0,) * len(row)), "blank", (len(row) - 1,)) for row in rows]
        tree = Batch(
            np.array([[1, 2, 3, 4, 5, 6, 7, 8]]),
            np.zeros((1, 8), dtype=np.int64),
            np.ones((1, 8), dtype=bool),
            tuple(reads),
            (0, 0),
            ((4,), (7,)),
            np.array([[-1, 0, 1, 2, 3, 2, 5, 6]]),
        )
        try:
            together = self.read(tree)
        except (RuntimeError, ValueError, TypeError, IndexError):
            return False
        alone = [self.read(_plain_batch([row], [read]))[0] for row, read in zip(rows, reads, strict=True)]
        return all(same(a, b) for a, b in zip(alone, together, strict=True))

    @cached_property
    def sees_ahead(self) -> bool:
        """Does a later token change an earlier position? Then the network is not causal, whatever its class is."""
        reads = [Read(Row(row, (0,) * 4), "blank", (1,)) for row in ((1, 2, 3, 4), (1, 2, 5, 6))]
        one, other = (self.read(_plain_batch([read.row.ids], [read]))[0] for read in reads)
        return not same(one, other)

    def padding_matters(self, kind: Literal["blank", "vector"]) -> bool:
        """Does padding change what is read of a row (Fourier mixing does)? Then rows are grouped by exact length."""
        row = (1, 2, 3)
        read = Read(Row(row, (0, 0, 0)), kind, (1,))
        padded = _plain_batch([row, (1, 2, 3, 4, 5, 6, 7, 8)], [read])
        return not same(self.read(_plain_batch([row], [read]))[0], self.read(padded)[0])


def takes_segments(model: Any) -> bool:
    takes = inspect.signature(model.forward).parameters
    return "token_type_ids" in takes and getattr(model.config, "type_vocab_size", 0) > 1


def longest_row(model: Any) -> int:
    """From the config, minus the positions that padding-aware embeddings (RoBERTa) keep for themselves."""
    names = ("max_position_embeddings", "max_seq_len")
    limit = next((n for name in names if isinstance(n := getattr(model.config, name, None), int) and n > 0), None)
    if limit is None:
        return 1_000_000
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return limit - int(module.padding_idx) - 1
    return limit


def _ranks(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """[n, vocabulary] and n ids -> 1 + how many logits lie above the id's; exact in float32 up to 16 million."""
    return (1 + (logits > logits.gather(1, targets[:, None])).sum(-1)).float()


def _index(numbers: list[int], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.long, device=like.device)


def _on_host(readings: dict[int, torch.Tensor]) -> dict[int, np.ndarray]:
    """In one copy."""
    together = torch.cat([*readings.values()]).cpu().numpy()
    ends = np.cumsum([len(reading) for reading in readings.values()]).tolist()
    return {i: together[start:end] for i, start, end in zip(readings, [0, *ends], ends, strict=False)}


def _spots(batch: Batch) -> list[tuple[int, int]]:
    """The (slot, column) pairs the head must see."""
    wanted = {
        (slot, column)
        for read, slot, columns in zip(batch.reads, batch.slots, batch.columns, strict=True)
        if read.by_head
        for column in columns
    }
    spots = sorted(wanted)
    if batch.parents is None and wanted:  # each slot sends equally many: the head's shape, and its bits, stay the same
        by_slot: dict[int, list[int]] = {slot: [] for slot in range(len(batch.ids))}
        for slot, column in spots:
            by_slot[slot].append(column)
        depth = max(map(len, by_slot.values()))
        spots = [(slot, (by_slot[slot] + [0] * depth)[d]) for d in range(depth) for slot in by_slot]
    return spots + spots[-1:] * (rounded_up(len(spots), SAFE_ROWS) - len(spots))


def same(one: np.ndarray, other: np.ndarray, far: float = _FAR) -> bool:
    """NaN equals NaN: a network that overflows is refused answer by answer."""
    return np.allclose(one, other, atol=far, equal_nan=True)


def _head_output(out: Any) -> torch.Tensor:
    """[1, spots, vocabulary]; BERT with both its heads calls it by another name."""
    logits: torch.Tensor = out["prediction_logits"] if "prediction_logits" in out else out["logits"]
    return logits


def _far(dtype: torch.dtype) -> float:
    return _FAR if dtype == torch.float32 else _FAR_IN_HALF


def _plain_batch(rows: list[tuple[int, ...]], reads: list[Read] | None = None) -> Batch:
    width = max(map(len, rows))
    ids, real = np.zeros((len(rows), width), dtype=np.int64), np.zeros((len(rows), width), dtype=bool)
    for slot, row in enumerate(rows):
        ids[slot, : len(row)], real[slot, : len(row)] = row, True
    reads = reads or []
    return Batch(ids, np.zeros_like(ids), real, tuple(reads), (*range(len(reads)),), tuple(r.positions for r in reads))


def ancestors(parents: torch.Tensor) -> torch.Tensor:
    """[slots, width] parents -> [slots, width, width]: a token sees itself and all before it in its row.

    Three rows that share beginnings, `A B C`, `A B D` and `A E`, lie in one slot as `A B C D E`: column 3 (D) goes on
    from column 1 (B), column 4 (E) from column 0 (A). parents = [-1, 0, 1, 1, 0] gives

               A B C D E
        A      1 . . . .
        B      1 1 . . .
        C      1 1 1 . .
        D      1 1 . 1 .      D does not see C, which is of another row
        E      1 . . . 1

    A line's sum minus one, is the token's position in its own row: 0 1 2 2 1. With this mask and these positions every
    token has the numbers it has when its row is computed alone.
    """
    slots, width = parents.shape
    # before the first step each token sees itself, and `parents` names the token just before what it sees
    sees = torch.eye(width, dtype=torch.bool, device=parents.device).expand(slots, width, width)
    # each step doubles how far back it sees, 1, 2, 4 … tokens: ⌈log2(width)⌉ steps reach the start of any row
    for _ in range((width - 1).bit_length()):
        begun, at = parents < 0, parents.clamp(min=0)  # where a row has begun there is nothing more to see
        # it sees what that token sees: [slots, width, width], line i of the second being line parents[i] of the first
        sees = sees | (torch.take_along_dim(sees, at[:, :, None], dim=1) & ~begun[:, :, None])
        # and goes on from where that token goes on: D's 1 -> B's 0 -> A's -1
        parents = parents.gather(1, at).masked_fill(begun, -1)
    return sees

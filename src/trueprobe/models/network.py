"""One transformers network, read only where it is asked: the head sees the wanted positions and nothing else.

A hook on the encoder hands its head the wanted positions as one short text, so that logits of
batch × length × vocabulary never exist, for every architecture alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from trueprobe.errors import BadInput
from trueprobe.models.rows import Batch, Read, Row

ROWS_AT_ONCE = 64  # of a vocabulary product: fixed, so that a row's bits do not depend on its neighbours
LARGEST_NORM = 2.0**17  # beyond, float32 resolves logits to 0.016 nats at best, and probabilities sum to anything
_FAR = 1e-4


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
                self._run(_plain_batch([(1, 2, 3)]), [(0, 1)], needs_layers=False)
            if self._hidden is not None:
                self._hidden = None
                return
            hook.remove()
        raise BadInput(f"{type(self.model).__name__}: its head reads no hidden states that can be watched")

    # ------------------------------------------------------------ reading

    def read(self, batch: Batch) -> list[np.ndarray]:
        """What each read of the batch asks for, in order, as float32."""
        spots, spot_of = self._spots(batch)
        if spot_of:
            self.readout  # noqa: B018  (looked into with a forward pass of its own, so before this one)
        needs_layers = any(read.kind == "vector" and read.layer != -1 for read in batch.reads)
        self._asks_next = any(read.kind == "next" for read in batch.reads)
        with torch.inference_mode():
            out = self._run(batch, spots, needs_layers)
            answers: dict[int, np.ndarray] = {}
            if spot_of:
                answers |= self._at_spots(batch, self._logits(out), spot_of)
            answers |= self._of_rows(batch, out)
        self._hidden = self._entering = None
        return [answers[i] for i in range(len(batch.reads))]

    def _at_spots(
        self, batch: Batch, logits: torch.Tensor, spot_of: dict[tuple[int, int], int]
    ) -> dict[int, np.ndarray]:
        """Blanks, tokens and ranks, from logits [spots, vocabulary]."""
        norms = torch.logsumexp(logits, dim=-1)
        norms = torch.where(norms.abs() < LARGEST_NORM, norms, torch.nan)
        readings = torch.cat([self._entering_vectors(logits), norms[:, None]], dim=1)
        blanks: dict[int, int] = {}
        ends: dict[int, int] = {}
        spots: list[int] = []
        targets: list[int] = []
        for i, (read, slot, columns) in enumerate(zip(batch.reads, batch.slots, batch.columns, strict=True)):
            if read.kind == "blank":
                blanks[i] = spot_of[slot, columns[0]]
            elif read.kind in ("token", "rank"):
                spots += [spot_of[slot, column] for column in columns]
                targets += read.targets
                ends[i] = len(spots)
        values = (logits[spots, targets] - norms[spots]).cpu().numpy()
        vectors = readings[list(blanks.values())].cpu().numpy()
        tokens: dict[int, np.ndarray] = {}
        for i, end in ends.items():
            part = slice(end - len(batch.reads[i].targets), end)
            ranked = batch.reads[i].kind == "rank"
            tokens[i] = _ranks(logits[spots[part]], targets[part]) if ranked else values[part]
        return dict(zip(blanks, vectors, strict=True)) | tokens

    def _of_rows(self, batch: Batch, out: Any) -> dict[int, np.ndarray]:
        """Next-sentence answers and hidden states."""
        readings: dict[int, np.ndarray] = {}
        for i, (read, slot, columns) in enumerate(zip(batch.reads, batch.slots, batch.columns, strict=True)):
            if read.kind == "next":
                # in double: the logarithm of a probability near one keeps its digits, and so do its log-odds
                logits = out["seq_relationship_logits"][slot].double()
                readings[i] = torch.log_softmax(logits, -1)[:1].float().cpu().numpy()
            elif read.kind == "vector":
                hidden, layers = self._hidden
                states = hidden if read.layer == -1 else layers[read.layer]
                readings[i] = states[slot, list(columns)].float().mean(0).cpu().numpy()
        return readings

    def _spots(self, batch: Batch) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int]]:
        """The distinct (slot, column) pairs the head must see."""
        wanted = {
            (slot, column)
            for read, slot, columns in zip(batch.reads, batch.slots, batch.columns, strict=True)
            if read.kind in ("blank", "token", "rank")
            for column in columns
        }
        if not wanted:
            return [(0, 0)], {}
        if batch.parents is not None:
            spots = sorted(wanted)
        else:  # every slot sends equally many, so that the head's shape, and so its bits, stay the same
            by_slot: dict[int, list[int]] = {slot: [] for slot in range(len(batch.ids))}
            for slot, column in sorted(wanted):
                by_slot[slot].append(column)
            depth = max(map(len, by_slot.values()))
            spots = [(slot, (by_slot[slot] + [0] * depth)[d]) for d in range(depth) for slot in by_slot]
        return spots, {spot: i for i, spot in enumerate(spots)}

    def _run(self, batch: Batch, spots: list[tuple[int, int]], needs_layers: bool) -> Any:
        device = self.model.device
        ids = torch.from_numpy(batch.ids).to(device)
        inputs: dict[str, Any] = {"input_ids": ids, "return_dict": True}
        if batch.parents is not None:
            mask, positions = _tree(batch.parents)
            inputs["attention_mask"] = torch.from_numpy(mask).to(device=device, dtype=self.model.dtype)
            inputs["position_ids"] = torch.from_numpy(positions).to(device)
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
            out = self._run(_plain_batch([(1, 2, 3)]), [(0, 1)], needs_layers=False)
            true = _head_output(out)
            entering = self._entering
        readout.size = true.shape[-1]
        readout.linear = (
            entering is not None
            and readout.weight.shape == (true.shape[-1], entering.shape[-1])
            and bool(
                torch.allclose(readout.logits(entering.reshape(1, -1).float())[0], true[0, 0].float(), atol=_far(true))
            )
        )
        return readout

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

    @cached_property
    def padding_matters(self) -> bool:
        """Does padding change a row's answer (Fourier mixing does)? Then rows are grouped by exact length."""
        row = (1, 2, 3)
        read = Read(Row(row, (0, 0, 0)), "blank", (1,))
        padded = _plain_batch([row, (1, 2, 3, 4, 5, 6, 7, 8)], [read])
        return not same(self.read(_plain_batch([row], [read]))[0], self.read(padded)[0])


def takes_segments(model: Any) -> bool:
    takes = inspect.signature(model.forward).parameters
    return "token_type_ids" in takes and getattr(model.config, "type_vocab_size", 0) > 1


def longest_row(model: Any) -> int:
    """From the config, less the positions that padding-aware embeddings (RoBERTa) keep for themselves."""
    names = ("max_position_embeddings", "max_seq_len")
    limit = next((n for name in names if isinstance(n := getattr(model.config, name, None), int) and n > 0), None)
    if limit is None:
        return 1_000_000
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return limit - int(module.padding_idx) - 1
    return limit


class Readout:
    """From the vector that enters the output embedding to logits: one product, a scale, a soft cap."""

    def __init__(self, model: Any) -> None:
        output = model.get_output_embeddings()
        self.weight = output.weight.float() if output is not None else torch.zeros(0, 0)
        bias = getattr(output, "bias", None)
        self.bias = torch.zeros(len(self.weight), device=self.weight.device) if bias is None else bias.float()
        config = model.config
        self.scale = float(getattr(config, "logit_scale", None) or 1.0) / float(
            getattr(config, "logits_scaling", None) or 1.0
        )
        self.cap = getattr(config, "final_logit_softcapping", None)
        self.linear = True
        self.size = len(self.weight)

    def logits(self, vectors: torch.Tensor, ids: torch.Tensor | None = None) -> torch.Tensor:
        """[n, hidden] -> [n, vocabulary], or only the columns `ids`."""
        if not self.linear:
            return vectors if ids is None else vectors[:, ids]
        weight, bias = (self.weight, self.bias) if ids is None else (self.weight[ids], self.bias[ids])
        logits = torch.addmm(bias, vectors, weight.T) * self.scale
        return torch.tanh(logits / self.cap) * self.cap if self.cap else logits

    def log_probabilities(self, readings: np.ndarray, ids: torch.Tensor | None = None) -> torch.Tensor:
        """From `blank` readings [n <= ROWS_AT_ONCE, hidden + 1] to natural log-probabilities."""
        full = torch.zeros(ROWS_AT_ONCE, readings.shape[1])
        full[: len(readings)] = torch.from_numpy(readings)
        full = full.to(self.weight.device)
        with torch.inference_mode():
            return (self.logits(full[:, :-1], ids) - full[:, -1:])[: len(readings)].cpu()


def _ranks(logits: torch.Tensor, targets: list[int]) -> np.ndarray:
    """[n, vocabulary] and n ids -> 1 + how many logits lie above the id's; exact in float32 up to 16 million."""
    of_targets = logits[range(len(targets)), targets]
    return (1 + (logits > of_targets[:, None]).sum(-1)).float().cpu().numpy()


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """NaN equals NaN: a network that overflows is refused answer by answer."""
    return np.allclose(one, other, atol=_FAR, equal_nan=True)


def _head_output(out: Any) -> torch.Tensor:
    """[1, spots, vocabulary]; BERT with both its heads calls it by another name."""
    logits: torch.Tensor = out["prediction_logits"] if "prediction_logits" in out else out["logits"]
    return logits


def _far(logits: torch.Tensor) -> float:
    return 1e-4 if logits.dtype == torch.float32 else 0.1


def _plain_batch(rows: list[tuple[int, ...]], reads: list[Read] | None = None) -> Batch:
    width = max(map(len, rows))
    ids, real = np.zeros((len(rows), width), dtype=np.int64), np.zeros((len(rows), width), dtype=bool)
    for slot, row in enumerate(rows):
        ids[slot, : len(row)], real[slot, : len(row)] = row, True
    reads = reads or []
    return Batch(ids, np.zeros_like(ids), real, tuple(reads), (0,) * len(reads), tuple(r.positions for r in reads))


def _tree(parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A token sees itself and its ancestors and stands one behind its parent: mask [slots, 1, width, width]."""
    slots, width = parents.shape
    sees = np.zeros((slots, width, width), dtype=bool)
    positions = np.zeros((slots, width), dtype=np.int64)
    every = np.arange(slots)
    for column in range(width):
        parent = parents[:, column]
        inherits = parent >= 0
        sees[inherits, column] = sees[every[inherits], parent[inherits]]
        positions[inherits, column] = positions[every[inherits], parent[inherits]] + 1
        sees[:, column, column] = True
    return np.where(sees, np.float32(0), np.finfo(np.float32).min)[:, None], positions

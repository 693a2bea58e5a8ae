"""A checkpoint's weights, opened when they are first needed, and what can be said of its network without them.

`Shape` is read off an outline; `Traits` need trials on the network, and hold for every opening of the same weights with
the same libraries on the same kind of machine. With both, requests become rows and readings become answers while the
network stays on disk; words at a blank need its output embedding, which is read alone.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from trueprobe.errors import BadInput, printable
from trueprobe.models.assemble import Readout
from trueprobe.models.checkpoint import Options, Source, device, fingerprint, load, opening, outline, read_config
from trueprobe.models.contract import Traits
from trueprobe.models.network import Network, takes_segments

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shape:
    """Of a network, from its config and the shapes of its weights."""

    uses_segments: bool
    known_pieces: int  # ids from here on have no embedding: a tokenizer may have grown beyond its network
    layers: int
    window: int | None  # of sliding attention
    device: str

    @classmethod
    def of(cls, model: Any, options: Options) -> Shape:
        config = model.config
        windows = (getattr(config, "sliding_window", None), getattr(config, "window_size", None))
        return cls(
            uses_segments=takes_segments(model),
            known_pieces=int(model.get_input_embeddings().weight.shape[0]),
            layers=int(getattr(config, "num_hidden_layers", 0)),
            window=min([w for w in windows if isinstance(w, int)], default=None),
            device=device(options),
        )

    @property
    def on_cpu(self) -> bool:
        return torch.device(self.device).type == "cpu"


def machine(where: str) -> str:
    """What bits depend on, other than weights and libraries."""
    if torch.device(where).type != "cpu":
        return f"{where} {torch.cuda.get_device_name(where) if torch.cuda.is_available() else ''}"
    return f"cpu {torch.backends.cpu.get_cpu_capability()} {torch.get_num_threads()} threads"


class Weights:
    """Opened once, at the first use. `refuse` sees the network before anybody else does."""

    def __init__(
        self, source: Source, auto_class: Any, options: Options, refuse: Callable[[Network], None] | None = None
    ) -> None:
        self.source, self.auto_class, self.options, self.refuse = source, auto_class, options, refuse
        self._compute_id = self._fingerprint()

    @property
    def opened(self) -> bool:
        return "network" in self.__dict__

    @cached_property
    def network(self) -> Network:
        with opening(self.source):
            model, _ = load(self.source, self.auto_class, self.options)
            self._refuse_other_weights()
            network = Network.watching(model)
            if self.refuse is not None:
                self.refuse(network)
        where, options = self.source.location, self.options
        _log.info("%s: opened %s on %s, %s", self.source.name, printable(where), device(options), options.dtype)
        return network

    def readout(self, traits: Traits) -> Readout:
        """The network's own where it is open; else read alone, which gives the same bits."""
        model = None if self.opened else self._output_embedding()
        if model is None:
            return self.network.readout
        self._refuse_other_weights()
        readout = Readout(model)
        readout.linear, readout.size = traits.linear, traits.vocabulary
        return readout

    def _output_embedding(self) -> Any:
        """The network with its output embedding in place and all else on torch's meta device; None where that cannot
        be had."""
        meta, _ = outline(self.source, self.auto_class, self.options)
        head = meta.get_output_embeddings()
        if head is None:
            return None
        wanted = {id(weight) for weight in head.parameters()}  # a tied weight stands under several names
        named = [*meta.named_parameters(remove_duplicate=False), *meta.named_buffers(remove_duplicate=False)]
        there = {name: device(self.options) if id(weight) in wanted else "meta" for name, weight in named}
        with warnings.catch_warnings():  # devices are named weight by weight here
            warnings.simplefilter("ignore", UserWarning)
            model, _ = outline(self.source, self.auto_class, self.options, there)
        complete = all(weight.device.type != "meta" for weight in model.get_output_embeddings().parameters())
        return model if complete else None

    def _fingerprint(self) -> str:
        return fingerprint(self.source, read_config(self.source), self.options)

    def _refuse_other_weights(self) -> None:
        """Answers are cached under the weights that were examined."""
        if self._fingerprint() != self._compute_id:
            raise BadInput(f"{self.source.title}: its files changed since they were examined; run again")

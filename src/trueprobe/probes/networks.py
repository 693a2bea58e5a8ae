"""Sizes of published networks by hub id: facts, so that outputs released without their network can be compared by size.

Layers and width are those of Devlin et al. 2019 (section 3), Liu et al. 2019 (sections 2 and 5) and Radford et al. 2019
(Table 2), and of the public config.json of each checkpoint. Tokenizers of one name are the same.
"""

from __future__ import annotations

from typing import NamedTuple

from trueprobe.probes import published
from trueprobe.statistics.measure import NetworkSize


class KnownNetwork(NamedTuple):
    size: NetworkSize
    tokenizer: str


_BASE, _LARGE = (12, 768), (24, 1024)
KNOWN = {
    "bert-base-uncased": KnownNetwork(NetworkSize("bert", *_BASE), "bert-uncased"),
    "bert-large-uncased": KnownNetwork(NetworkSize("bert", *_LARGE), "bert-uncased"),
    "bert-base-cased": KnownNetwork(NetworkSize("bert", *_BASE), "bert-cased"),
    "bert-large-cased": KnownNetwork(NetworkSize("bert", *_LARGE), "bert-cased"),
    "roberta-base": KnownNetwork(NetworkSize("roberta", *_BASE), "roberta"),
    "roberta-large": KnownNetwork(NetworkSize("roberta", *_LARGE), "roberta"),
    "gpt2": KnownNetwork(NetworkSize("gpt2", *_BASE), "gpt2"),
    "gpt2-medium": KnownNetwork(NetworkSize("gpt2", *_LARGE), "gpt2"),
    "gpt2-large": KnownNetwork(NetworkSize("gpt2", 36, 1280), "gpt2"),
    "gpt2-xl": KnownNetwork(NetworkSize("gpt2", 48, 1600), "gpt2"),
}


def known_network(probe: str, name: str) -> KnownNetwork | None:
    """The network that a probe's authors call `name`."""
    return KNOWN.get(published.authors(probe).models.get(name, (name,))[0])

"""What is to be trained: as it is asked for, and as it decides the weights."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields
from pathlib import Path

from trueprobe.assets.kept import sha256
from trueprobe.errors import BadInput
from trueprobe.training.trainer import Recipe


@dataclass(frozen=True)
class Setup:
    """All that decides the weights besides the seed. Folders and files are known by their content."""

    recipe: Recipe
    corpus: tuple[dict[str, str], ...]
    size: str
    start_from: dict[str, str] | None
    tokenizer: dict[str, str] | None
    vocab: int
    length: int
    short: float
    freeze_embeddings: bool
    threads: int
    versions: dict[str, str]


@dataclass(frozen=True)
class Order:
    """A setup as it is asked for, with the places its parts lie at."""

    kind: str
    corpus: tuple[Path, ...]
    tokens: int
    out: Path
    seeds: tuple[int, ...] = (0,)
    size: str = "L4-H128"
    checkpoints: int = 6
    start_from: Path | None = None
    tokenizer: Path | None = None
    vocab: int = 8000
    length: int = 128
    short: float = 0.1
    masking: str = "static"
    mask_rate: float = 0.15
    told_rate: float = 1.0
    learning_rate: float = 1e-3
    batch_tokens: int = 2048
    dropout: float = 0.0
    freeze_embeddings: bool = False
    data_seed: int = 0
    threads: int | None = None
    jobs: int | None = None
    device: str = "auto"
    save_seconds: float = 60.0

    def check(self) -> None:
        from trueprobe.training.networks import Size

        choices = {"kind": ("masked", "causal"), "masking": ("static", "dynamic")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise BadInput(f"--{name} is {' or '.join(allowed)}, not '{getattr(self, name)}'")
        Size.parse(self.size)
        least = {"tokens": 1, "checkpoints": 1, "vocab": 100, "length": 16, "batch_tokens": 16}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise BadInput(f"--{name.replace('_', '-')} is at least {value}, not {getattr(self, name)}")
        between = {
            "short": (0, 1),
            "mask_rate": (0.01, 0.9),
            "told_rate": (0.01, 1),
            "dropout": (0, 0.9),
            "learning_rate": (1e-9, 1),
        }
        for name, (low, high) in between.items():
            if not low <= getattr(self, name) <= high:
                raise BadInput(f"--{name.replace('_', '-')} is between {low} and {high}, not {getattr(self, name)}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise BadInput("--model-seeds are different numbers, such as 0..4 or 0,3,7")
        if self.tokenizer and self.start_from:
            raise BadInput("--start-from brings its own tokenizer; leave --tokenizer out")

    def setup(self, cores: int) -> Setup:
        import tokenizers
        import torch
        import transformers

        recipe = Recipe(
            **{field.name: getattr(self, field.name) for field in fields(Recipe) if hasattr(self, field.name)}
        )
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        return Setup(
            recipe=recipe,
            corpus=tuple(_known(file) for file in self.corpus),
            size="" if self.start_from else self.size,
            start_from=_known(self.start_from) if self.start_from else None,
            tokenizer=_known(self.tokenizer) if self.tokenizer else None,
            vocab=0 if self.tokenizer or self.start_from else self.vocab,
            length=self.length,
            short=self.short,
            freeze_embeddings=self.freeze_embeddings,
            threads=self.threads or max(1, cores // len(self.seeds)),
            versions={**versions, "tokenizers": tokenizers.__version__},
        )


def _known(path: Path) -> dict[str, str]:
    """A file or folder by its content: the weights and the tokenizer decide, not where they lie."""
    if not path.exists():
        raise BadInput(f"no file or folder '{path}'")
    if path.is_file():
        return {"name": path.name, "sha256": sha256(path)}
    names = ("*.safetensors", "config.json", "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt")
    parts = "".join(sha256(file) for file in sorted(file for name in names for file in path.glob(name)))
    return {"name": path.name, "sha256": hashlib.sha256(parts.encode()).hexdigest()}


def count(text: str) -> int:
    """500000, 500_000, 800k, 12M, 1.5M."""
    found = re.fullmatch(r"([\d_]+(?:\.\d+)?)([kKmM]?)", text.strip())
    if found is None:
        raise BadInput(f"--tokens is a number such as 500000, 800k or 12M, not '{text}'")
    return round(float(found[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[found[2].lower()])


def seeds(text: str) -> tuple[int, ...]:
    """0..4 (both ends included), or 0,3,7, or one number."""
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", part.strip())
        if ends is None:
            raise BadInput(f"--model-seeds is 0..4 or 0,3,7, not '{text}'")
        found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return tuple(found)

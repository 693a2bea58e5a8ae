"""What is to be trained, checked when it is written down: one recipe for pre-training, a base for all of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from trueprobe.assets.cache import sha256
from trueprobe.errors import BadInput


class Recipe(BaseModel):
    """What pre-training and fine-tuning have in common. A value that cannot be right is a BadInput that names the
    command line's option."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    batch_tokens: int = Field(default=2048, ge=16, description="tokens per step")
    warmup: float = Field(default=0.1, description="share of the steps in which the learning rate rises")
    weight_decay: float = Field(default=0.01, description="not for biases and norms")
    clip: float = Field(default=1.0, description="largest norm of the gradient")
    threads: int | None = Field(
        default=None, ge=1, description="part of the setup, because they decide how sums are ordered"
    )
    device: str = "auto"

    def part(self, of: type[Recipe]) -> dict[str, Any]:
        """The fields of a base class that decide numbers, as files hold them."""
        return self.model_dump(include=set(of.model_fields) - {"threads", "device"}, by_alias=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_plain_words(cls, options: Any, handler: Callable[[Any], Self]) -> Self:
        try:
            return handler(options)
        except ValidationError as error:
            raise BadInput(_message(error)) from error


def _message(error: ValidationError) -> str:
    """Of the first value that is wrong: `--vocab is at least 100, not 5`."""
    first = error.errors()[0]
    option, limits = "--" + str(first["loc"][0]).replace("_", "-"), first.get("ctx", {})
    must = {
        "literal_error": "is {expected}",
        "greater_than_equal": "is at least {ge}",
        "greater_than": "is above {gt}",
        "less_than_equal": "is at most {le}",
    }
    problem = f" {must[first['type']].format(**limits)}" if first["type"] in must else f": {first['msg']}"
    return f"{option}{problem}, not {first['input']!r}"


class Size(NamedTuple):
    layers: int
    hidden: int
    heads: int

    @classmethod
    def parse(cls, text: str) -> Size:
        parts = re.fullmatch(r"L(\d+)-H(\d+)(?:-A(\d+))?", text)
        if parts is None:
            raise BadInput(f"no size '{text}': L4-H128 is four layers of 128, L4-H128-A2 with two attention heads")
        layers, hidden = int(parts[1]), int(parts[2])
        heads = int(parts[3]) if parts[3] else max(1, hidden // 64)
        if min(layers, hidden, heads) < 1 or hidden % heads:
            raise BadInput(f"size '{text}': at least one layer, and a width that its {heads} attention heads divide")
        return cls(layers, hidden, heads)


def count(text: str) -> int:
    """500000, 500_000, 800k, 12M, 1.5M."""
    parts = re.fullmatch(r"([\d_]+(?:\.\d+)?)([kKmM]?)", text.strip())
    if parts is None:
        raise BadInput(f"--tokens is a number such as 500000, 800k or 12M, not '{text}'")
    return round(float(parts[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[parts[2].lower()])


def seeds(text: str) -> tuple[int, ...]:
    """0..4 (both ends included), or 0,3,7, or one number."""
    numbers: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", part.strip())
        if ends is None:
            raise BadInput(f"--model-seeds is 0..4 or 0,3,7, not '{text}'")
        numbers += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return tuple(numbers)


class SharedBySeeds(Recipe):
    """What setup.json and training.json hold as `recipe`."""

    kind: Literal["masked", "causal"]
    tokens: int = Field(ge=1, description="read by each seed")
    checkpoints: int = Field(default=6, ge=1, description="saved along the way")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1, description="at its highest")
    dropout: float = Field(default=0.0, ge=0, le=0.9)
    masking: Literal["static", "dynamic"] = Field(default="static", description="drawn once, or anew in each pass")
    mask_rate: float = Field(default=0.15, ge=0.01, le=0.9, description="of a masked model's tokens")
    loss_rate: float = Field(  # files have its former name, so that runs begun earlier go on
        default=1.0,
        ge=0.01,
        le=1,
        validation_alias=AliasChoices("loss_rate", "told_rate"),
        serialization_alias="told_rate",
        description="of a causal model's tokens, those whose loss counts",
    )
    data_seed: int = Field(default=0, ge=0, description="for examples and masks, the same for all model seeds")
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="of the products while training; weights and measurements stay float32"
    )


class PretrainRecipe(SharedBySeeds):
    """A family of models that differ only in their seed."""

    corpus: tuple[Path, ...] = Field(
        description="files with a sentence per line, a blank line between documents; repeated ones count again"
    )
    out: Path = Field(description="the family's folder")
    model_seeds: tuple[int, ...] = (0,)
    size: str = Field(default="L4-H128", description="layers, width, and attention heads if not one per 64")
    start_from: Path | None = Field(default=None, description="a model or encoder to continue")
    tokenizer: Path | None = Field(default=None, description="a folder; else one is trained")
    vocab: int = Field(default=8000, ge=100, description="size of a trained tokenizer")
    length: int = Field(default=128, ge=16, description="of the longest example, in tokens")
    short: float = Field(default=0.1, ge=0, le=1, description="share of examples with a length drawn evenly")
    single: float = Field(default=0.0, ge=0, le=1, description="share of documents whose sentences are read alone")
    freeze_embeddings: bool = False
    jobs: int | None = Field(default=None, ge=1, description="seeds trained at the same time")
    save_seconds: float = Field(default=60.0, ge=0, description="how often the state to go on from is saved")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        Size.parse(self.size)
        if not self.model_seeds or len(set(self.model_seeds)) < len(self.model_seeds) or min(self.model_seeds) < 0:
            raise BadInput("--model-seeds are different numbers, such as 0..4 or 0,3,7")
        if self.single and self.kind == "causal":
            raise BadInput("--single is for masked models: a causal one has no second part to leave out")
        if self.tokenizer and self.start_from:
            raise BadInput("--start-from has its own tokenizer; leave out --tokenizer")
        return self

    def setup(self, cores: int) -> dict[str, Any]:
        """All that decides the weights apart from the seed, as setup.json and training.json hold it. Folders and
        files are known by their content."""
        return {
            "recipe": self.part(SharedBySeeds),
            "corpus": [_identity(file) for file in self.corpus],
            "size": "" if self.start_from else self.size,
            "start_from": _identity(self.start_from) if self.start_from else None,
            "tokenizer": _identity(self.tokenizer) if self.tokenizer else None,
            "vocab": 0 if self.tokenizer or self.start_from else self.vocab,
            "length": self.length,
            "short": self.short,
            "single": self.single,
            "freeze_embeddings": self.freeze_embeddings,
            "threads": self.threads or max(1, cores // len(self.model_seeds)),
            "versions": versions(),
        }


def versions() -> dict[str, str]:
    """Of the libraries that decide the bits of a result."""
    import tokenizers
    import torch
    import transformers

    return {library.__name__: str(library.__version__) for library in (torch, transformers, tokenizers)}


def _identity(path: Path) -> dict[str, str]:
    """A file or folder by its content: the weights and the tokenizer decide, not where they lie."""
    if not path.exists():
        raise BadInput(f"no file or folder '{path}'")
    if path.is_file():
        return {"name": path.name, "sha256": sha256(path)}
    names = ("*.safetensors", "config.json", "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt")
    parts = "".join(sha256(file) for file in sorted(file for name in names for file in path.glob(name)))
    return {"name": path.name, "sha256": hashlib.sha256(parts.encode()).hexdigest()}

"""Reading one checkpoint: its config, tokenizer and weights. No pickle unasked, no remote code, no random head."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

from trueprobe.assets.unpack import from_gguf, not_beyond, quiet
from trueprobe.errors import BadInput, nearest, reading, reason
from trueprobe.models.config_file import (
    chosen_weights,
    more,
    read_json,
    refuse_apart,
    refuse_hub_code,
    refuse_layer_counts,
    refuse_special_files,
)
from trueprobe.models.lengthening import refuse_lengthening
from trueprobe.models.patterns import refuse_slow_patterns
from trueprobe.models.served.address import Address
from trueprobe.paths import refuse_special
from trueprobe.permissions import ServerAccess

DTYPES = ("float32", "bfloat16", "float16")
Start = Literal["auto", "bos", "eot", "none"]  # what a causal model's text starts with; docs/models.md has the rule
STARTS: tuple[Start, ...] = get_args(Start)
_NOT_COMPUTED_WITH = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
_TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_ORDINARY = re.compile(r"(##|▁)?(\w+|[^\w\s])(</w>)?")  # nurse ##ing ▁nurse Ġnurse nurse</w> and a full stop
_INDEX = ".index.json"
CONVERSION = "gguf3"  # how .gguf files become folders; earlier ones may lack layers, or be made of another file
# in the order in which transformers looks for them
_WEIGHT_FILES = ("model.safetensors", "model.safetensors" + _INDEX, "pytorch_model.bin", "pytorch_model.bin" + _INDEX)


@dataclass(frozen=True)
class Options:
    """How models are opened; the same for every model of a run."""

    device: str = "auto"
    dtype: str = "float32"
    allow_pickle: bool = False
    servers: ServerAccess = ServerAccess.REFUSED

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise BadInput(f"no dtype '{self.dtype}'{nearest(self.dtype, DTYPES)}")


@dataclass(frozen=True)
class Source:
    """One checkpoint: where it lies and what it is called."""

    name: str
    title: str  # for people: hub id with revision, or the folder's name
    path: Path  # a folder, or a .gguf file
    family: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)
    start: Start = "auto"
    chat: str = ""  # auto, none or the file of a template; "" where the user says nothing
    system: str = ""  # of a chat: the system's text, and what stands directly before the answer
    prefill: str = ""
    tokenizer: Path | None = None  # the folder of another one than the checkpoint's
    original: Path | None = None  # the .gguf file that `path` was made of
    as_encoder: bool = False  # asked for vectors only, whatever head it has
    variant: str = ""  # the options as the user wrote them: two specs of one model are named by them
    server: Address | None = None  # where a served model is; `path` is then its tokenizer's

    @property
    def location(self) -> str:
        """A SPEC that opens it again on this machine."""
        start = [f"start={self.start}"] if self.start != "auto" else []
        texts = {"chat": self.chat, "system": self.system, "prefill": self.prefill}
        chat = [f"{key}={quote(value, safe='/ ')}" for key, value in texts.items() if value]
        tokenizer = [f"tokenizer={self.tokenizer.resolve()}"] if self.tokenizer else []
        encoder = ["as=encoder"] if self.as_encoder else []
        options = "&".join(start + chat + tokenizer + encoder + (self.server.options if self.server else []))
        place = self.server.spec if self.server else str((self.original or self.path).resolve())
        return "?".join(filter(None, (place, options)))

    @property
    def folder(self) -> Path:
        return self.path.parent if self.is_gguf else self.path

    @property
    def is_gguf(self) -> bool:
        return self.path.suffix == ".gguf" and not self.path.is_dir()

    @property
    def from_pretrained(self) -> dict[str, Any]:
        """The arguments every from_pretrained call takes."""
        if self.is_gguf:
            return from_gguf(self.path)
        return {"pretrained_model_name_or_path": str(self.folder), "local_files_only": True}


def opening(source: Source) -> AbstractContextManager[None]:
    """A config may hold any value, and transformers and tokenizers look at it late: as a network is made of it."""
    return reading(f"{source.title} cannot be opened as a model")


def read_config(source: Source) -> Any:
    file = source.path if source.path.is_file() else source.folder / "config.json"
    return _config(source.path, source.title, _stamp(file) if file.exists() else None)


@lru_cache(maxsize=32)  # a .gguf file takes seconds to look into
def _config(path: Path, title: str, stamp: tuple[int, int] | None) -> Any:
    from transformers import AutoConfig

    with quiet(), reading(f"{title}: no usable config.json"):
        refuse_hub_code(path, title)
        config = AutoConfig.from_pretrained(**Source("", title, path).from_pretrained, trust_remote_code=False)
        refuse_layer_counts(config)
        return config


def read_tokenizer(source: Source) -> Any:
    from transformers import AutoTokenizer

    source = _tokenizer_source(source)
    refuse_special_files(source.path)
    # without these files transformers makes an empty tokenizer, silently
    if not source.is_gguf and not any(list(source.folder.glob(name)) for name in _TOKENIZER_FILES):
        raise BadInput(f"{source.title} has no tokenizer ({', '.join(_TOKENIZER_FILES)})")
    unusable = f"{source.title}: no usable tokenizer"
    try:
        with quiet(), reading(unusable):
            for file in source.folder.glob("tokenizer.*json"):  # of which transformers chooses one by its version
                state = read_json(file)
                refuse_lengthening(state, source.title)
                refuse_slow_patterns(state, source.title)
            tokenizer = AutoTokenizer.from_pretrained(**source.from_pretrained, trust_remote_code=False)
    except BadInput as error:
        if not (lacking := _lacking_packages(source)):
            raise
        raise BadInput(f"{unusable}: {lacking}") from error
    with reading(unusable):
        _refuse_other_pieces(source, tokenizer)
    return tokenizer


def _refuse_other_pieces(source: Source, tokenizer: Any) -> None:
    """Where transformers knows no class for a sentencepiece file it leaves out the space before a text, silently."""
    files = sorted(source.folder.glob("*.model"))
    if source.is_gguf or len(files) != 1 or (source.folder / "tokenizer.json").exists():
        return
    from sentencepiece import SentencePieceProcessor

    text = "the nurse was late"
    theirs, ours = SentencePieceProcessor(model_file=str(files[0])).encode(text, out_type=str), tokenizer.tokenize(text)
    if theirs != ours:
        advice = 'name its class in tokenizer_config.json, as {"tokenizer_class": "LlamaTokenizer"}'
        raise BadInput(f"{source.title}: transformers reads {files[0].name} otherwise than it is written; {advice}")


def _lacking_packages(source: Source) -> str:
    """transformers' own message names tiktoken, which is tried when sentencepiece's format cannot be read."""
    from transformers.utils import is_protobuf_available, is_sentencepiece_available

    files = [file.name for file in source.folder.glob("*.model")]
    lacking = {"sentencepiece": not is_sentencepiece_available(), "protobuf": not is_protobuf_available()}
    if not files or not any(lacking.values()):
        return ""
    names = " and ".join(name for name, lacks in lacking.items() if lacks)
    return f"{files[0]} is a sentencepiece file, and reading it needs the package {names}: pip install {names}"


def _tokenizer_source(source: Source) -> Source:
    return replace(source, path=source.tokenizer) if source.tokenizer else source


def lists_token(source: Source, tokenizer: Any, token: str) -> bool:
    """Is the token in the tokenizer's files? transformers appends a special token that is not, and the network has
    never seen its id. A sentencepiece file lists none: there the tokenizer's class (DeBERTa) appends its mask."""
    if token in tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False):
        return True
    folder = _tokenizer_source(source).folder
    if not any((folder / name).exists() for name in ("tokenizer.json", "vocab.txt", "vocab.json")):
        return True
    return token in {*_added_tokens(folder)}


def is_ordinary(source: Source, tokenizer: Any, token: str) -> bool:
    """Is the token one that texts are made of? A word, its end or a mark; or a piece of any form that a tokenizer.json
    with a list of special tokens does not list."""
    if token not in tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False):
        return False
    folder = _tokenizer_source(source).folder
    listed = read_json(folder / "tokenizer.json").get("added_tokens", [])
    has_list = any(entry.get("special") for entry in listed)
    return bool(_ORDINARY.fullmatch(token)) or (has_list and token not in {*_added_tokens(folder)})


def _added_tokens(folder: Path) -> Iterator[str]:
    """Of the three files that may list tokens outside the vocabulary."""
    yield from (entry["content"] for entry in read_json(folder / "tokenizer.json").get("added_tokens", []))
    yield from read_json(folder / "added_tokens.json")
    decoder = read_json(folder / "tokenizer_config.json").get("added_tokens_decoder", {})
    yield from (entry["content"] for entry in decoder.values())


def refuse_pickles(source: Source, options: Options) -> None:
    """transformers unpickles whatever an index names, unless it ends in .safetensors."""
    files = weight_files(source)
    if not files:
        raise BadInput(f"{source.title} has no weights (*.safetensors)")
    pickled = [] if source.is_gguf else [file.name for file in files if not file.name.endswith(".safetensors")]
    if pickled and not options.allow_pickle:
        raise BadInput(
            f"{source.title} has pickled weights ({pickled[0]}); a pickle can run code: read only with --allow-pickle"
        )


def load(source: Source, auto_class: Any, options: Options, **shape: Any) -> tuple[Any, frozenset[str]]:
    """The network in the dtype asked for, whatever the file holds, and the weights the file did not have.
    `shape` changes the config: a classifier's num_labels."""
    model, missing = _from_pretrained(source, auto_class, options, **shape)
    _refuse_not_finite(source, model, options)
    try:
        model = model.eval().requires_grad_(False).to(device(options))
    except (RuntimeError, AssertionError) as error:
        raise _no_device(options, error) from error
    return model, missing


def outline(
    source: Source, auto_class: Any, options: Options, there: Mapping[str, str] | None = None
) -> tuple[Any, frozenset[str]]:
    """The network without its weights (on torch's meta device), and the weights the file does not have. `there`: the
    device of each weight, where some are wanted."""
    return _from_pretrained(source, auto_class, options, device_map="meta" if there is None else dict(there))


def _from_pretrained(source: Source, auto_class: Any, options: Options, **more: Any) -> tuple[Any, frozenset[str]]:
    import torch

    with quiet(), reading(f"{source.title} cannot be loaded"), not_beyond(weight_files(source)):
        model, info = auto_class.from_pretrained(
            **source.from_pretrained,
            dtype=getattr(torch, options.dtype),
            use_safetensors=None if options.allow_pickle else True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused here, by name
            **more,
        )
    _refuse_other_files(source, model)
    refuse_apart(source.title, model, info)
    return model, frozenset(info["missing_keys"])


def _refuse_other_files(source: Source, model: Any) -> None:
    """Where transformers loads a part of a config, it forgets which weights the whole one chooses."""
    used = getattr(model.config, "transformers_weights", None) or ""
    if not source.is_gguf and used != (chosen := chosen_weights(source.folder, source.title)):
        raise BadInput(f"{source.title}: config.json chooses the weights {chosen}, which transformers does not load")


def _refuse_not_finite(source: Source, model: Any, options: Options) -> None:
    """One NaN weight can give finite answers, all of them wrong."""
    wrong = [name for name, weights in model.state_dict().items() if not _finite(weights)]
    if wrong:
        hint = "" if options.dtype == "float32" else f" in {options.dtype} (try --dtype float32)"
        name = source.name if source.family else source.title
        first = f"{wrong[0]}{more(wrong)}"
        raise BadInput(f"{name}: weights are NaN or infinite{hint}: {first}; no answer would mean anything")


def _finite(weights: Any, dtype: Any = None) -> bool:
    """In one pass and without a copy: NaN is neither smallest nor largest, and replaces both. `dtype`: once cast."""
    import torch

    if not weights.is_floating_point() or not weights.numel():
        return True
    return bool(torch.isfinite(torch.stack(torch.aminmax(weights)).to(dtype)).all())


def files_are_finite(source: Source, options: Options) -> bool:
    """Are all weights in the files finite in the dtype asked for? Also True for files that cannot be mapped into
    memory (pickles): those are checked as they are loaded."""
    files = [file for file in weight_files(source) if file.suffix == ".safetensors"]
    return all(_file_is_finite(file, _stamp(file), options.dtype) for file in files)


@lru_cache(maxsize=1024)
def _file_is_finite(file: Path, stamp: tuple[int, int], dtype: str) -> bool:
    import torch
    from safetensors import safe_open

    with reading(f"{file} cannot be loaded"), safe_open(file, "pt") as tensors:
        return all(_finite(tensors.get_tensor(name), getattr(torch, dtype)) for name in tensors.keys())  # noqa: SIM118


def refuse_unknown_device(options: Options) -> None:
    import torch

    try:
        torch.empty(0, device=device(options))
    except (RuntimeError, AssertionError) as error:
        raise _no_device(options, error) from error


def _no_device(options: Options, error: Exception) -> BadInput:
    return BadInput(f"no device '{options.device}' here: {reason(error)}")


def device(options: Options) -> str:
    import torch

    if options.device != "auto":
        return options.device
    return "cuda" if torch.cuda.is_available() else "cpu"


def fingerprint(source: Source, config: Any, options: Options) -> str:
    """compute_id: the weights' bytes, the config that shapes the computation, and the dtype."""
    digest = hashlib.sha256(options.dtype.encode())
    shape = {key: value for key, value in config.to_dict().items() if key not in _NOT_COMPUTED_WITH}
    digest.update(json.dumps(shape, sort_keys=True, default=str).encode())
    digest.update(b"".join(weight_hashes(source)))
    if source.original:
        digest.update(CONVERSION.encode())
    return digest.hexdigest()


def weight_hashes(source: Source) -> tuple[bytes, ...]:
    files = [source.original] if source.original else weight_files(source)
    return tuple(map(file_hash, files))


def file_hash(file: Path) -> bytes:
    refuse_special(file)
    return _file_hash(file, _stamp(file))


@lru_cache(maxsize=1024)  # gigabytes are read once, however often a checkpoint is looked at
def _file_hash(file: Path, stamp: tuple[int, int]) -> bytes:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


def _stamp(file: Path) -> tuple[int, int]:
    """Tells a file that was written again from the one before it."""
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns


def weight_files(source: Source) -> list[Path]:
    """The files that are loaded: those that an index names, in subfolders too, and no other that lies next to them."""
    if source.server:
        return []
    if source.is_gguf:
        return [source.path]
    # transformers would take these for the model, whatever lies next to them, and needs several processes for it
    if part := next(iter(source.folder.glob("shard-*-model-*-of-*.safetensors")), None):
        raise BadInput(
            f"{source.title}: {part.name} is a part of a distributed checkpoint, which is not read; save the model "
            "again as model.safetensors, or remove the file"
        )
    chosen = chosen_weights(source.folder, source.title)
    index = f".safetensors{_INDEX}" if chosen else _INDEX  # another file that the config chooses is loaded as weights
    for name in (chosen,) if chosen else _WEIGHT_FILES:
        if (source.folder / name).is_file():
            return _indexed(source, name) if name.endswith(index) else [_inside(source, name, "config.json")]
    return []


def _indexed(source: Source, index: str) -> list[Path]:
    content = read_json(_inside(source, index, "config.json"))
    with reading(f"{source.title}: {index} has no weight_map from tensors to files"):
        names = sorted({Path(name).as_posix() for name in content["weight_map"].values()})
    return [_inside(source, name, index) for name in names]


def _inside(source: Source, name: str, named_by: str) -> Path:
    """By its name alone: what lies in the hub's cache is a link to elsewhere."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise BadInput(f"{source.title}: {named_by} names weights outside the folder ('{name}')")
    if not (source.folder / name).is_file():
        raise BadInput(f"{source.title}: {named_by} names '{name}', which is not there")
    return source.folder / name

"""Checkpoints, wherever they lie: no pickle unasked, no remote code, no random head."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from trueprobe import assets
from trueprobe.errors import BadInput, nearest
from trueprobe.training import nursery

DTYPES = ("float32", "bfloat16", "float16")
_NOT_COMPUTED_WITH = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
_TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*.gguf", "*.jinja"]
_LABELS = {  # checkpoint-500 is what transformers' Trainer calls step 500
    "model_seed": re.compile(r"(?<![a-z])seed[_-]?(\d+)()", re.IGNORECASE),
    "step": re.compile(r"(?<![a-z])(?:step|checkpoint)[_-]?(\d+)([km]?)(?![a-z0-9])", re.IGNORECASE),
}
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_HOW_TO_NAME = "name members seed_N, step_N or checkpoint-N, or seed_N/step_N (symbolic links will do)"


@dataclass(frozen=True)
class Options:
    """How models are opened; the same for every model of a run."""

    device: str = "auto"
    dtype: str = "float32"
    allow_pickle: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise BadInput(f"no dtype '{self.dtype}'{nearest(self.dtype, DTYPES)}")


@dataclass(frozen=True)
class Source:
    """One checkpoint: where it lies and what it is called."""

    name: str
    said: str  # what a reader should see: hub id with revision, or the folder's name
    path: Path  # a folder, or a .gguf file
    family: str = ""
    labels: Mapping[str, int] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.path.parent if self.path.suffix == ".gguf" else self.path

    @property
    def where(self) -> dict[str, Any]:
        """The arguments every from_pretrained call takes."""
        gguf = {"gguf_file": self.path.name} if self.path.suffix == ".gguf" else {}
        return {"pretrained_model_name_or_path": str(self.folder), "local_files_only": True, **gguf}


def sources(spec: str, allow_pickle: bool = False) -> list[Source]:
    """A SPEC of the command line to its checkpoints: one, or the members of a family (`name=glob`, `nursery`)."""
    if nursery.names(spec):
        return [_from_nursery(found, alone="/" in spec) for found in nursery.shipped(spec)]
    name, equals, pattern = spec.partition("=")
    if equals and name and not Path(spec).exists():
        return _listed(name, pattern.split(","), allow_pickle) if "," in pattern else _family(name, pattern)
    path = Path(spec).expanduser()
    if path.is_dir() or path.suffix == ".gguf":
        if not path.exists():
            raise BadInput(f"no file '{spec}'")
        return [Source(_plain_name(path.stem if path.is_file() else path.resolve().name), path.name or spec, path)]
    if spec in assets.names():
        if assets.card(spec).kind != "model":
            raise BadInput(f"the asset '{spec}' is no model: {assets.card(spec).title}")
        return [Source(spec, spec, assets.path_of(spec))]
    if "/" in spec.rstrip("/") and (spec.startswith((".", "/", "~")) or spec.count("/") > 1):
        several = f"; several checkpoints need a name: --model 'name={spec}'" if set(spec) & set("*?[{,") else ""
        raise BadInput(f"no folder '{spec}'{several}")
    return [_from_hub(spec, allow_pickle)]


def _from_nursery(found: nursery.Shipped, alone: bool) -> Source:
    if found.seed is None:
        return Source(found.family, f"trueprobe's {found.family}", found.folder)
    name = f"{found.family}-seed{found.seed}"
    family = "" if alone else found.family
    return Source(name, f"trueprobe's {found.family}/{found.seed}", found.folder, family, {"model_seed": found.seed})


def _family(name: str, pattern: str) -> list[Source]:
    folder = Path(pattern).expanduser()
    root = Path(folder.anchor or ".")
    exact = [folder] if folder.exists() else []  # a path may hold brackets of its own
    found = exact or sorted(
        p for p in root.glob(str(folder.relative_to(folder.anchor))) if p.is_dir() or p.suffix == ".gguf"
    )
    if not found:
        raise BadInput(f"family '{name}': nothing matches '{pattern}'")
    members = [Source(str(path), path.name, path, labels=_labels(path)) for path in found]
    if len(members) == 1 and not members[0].labels:
        return [replace(members[0], name=_plain_name(name))]
    return _family_of(name, members)


def _listed(name: str, specs: list[str], allow_pickle: bool) -> list[Source]:
    """A family whose members are listed one by one: hub ids with or without a revision, folders, files."""
    found = [
        replace(source, name=spec, labels=source.labels or _labels(Path(spec)))
        for spec in map(str.strip, specs)
        for source in sources(spec, allow_pickle)
    ]
    return _family_of(name, found)


def _family_of(name: str, found: list[Source]) -> list[Source]:
    """Members ordered by seed and step. Each must name what the others name: an order of folders is no seed."""
    name = _plain_name(name)
    for source in found:
        if not source.labels:
            raise BadInput(
                f"family '{name}': '{source.name}' names neither a seed nor a step; {_HOW_TO_NAME}; a model that "
                "belongs to no family is asked alone: --model PATH"
            )
    for key in ("model_seed", "step"):
        having = [source for source in found if key in source.labels]
        if 0 < len(having) < len(found):
            lacking = next(source for source in found if key not in source.labels)
            raise BadInput(
                f"family '{name}': '{having[0].name}' names a {key.removeprefix('model_')}, '{lacking.name}' does not; "
                f"{_HOW_TO_NAME}"
            )
    found = sorted(found, key=lambda source: (source.labels.get("model_seed", 0), source.labels.get("step", 0)))
    for one, other in pairwise(found):
        if one.labels == other.labels:
            raise BadInput(
                f"family '{name}': '{one.name}' and '{other.name}' have the same seed and step; {_HOW_TO_NAME}"
            )
    return [replace(source, name=name + _tail(source.labels), family=name) for source in found]


def _tail(labels: Mapping[str, int]) -> str:
    return "".join(f"-{key.removeprefix('model_')}{value}" for key, value in labels.items())


def _labels(path: Path) -> dict[str, int]:
    """Seed and step, as the last two parts of a path or hub id name them.

    `bert/seed_3/checkpoint-500` -> {"model_seed": 3, "step": 500}; `org/name@step20k` -> {"step": 20000}
    """
    text = "/".join(path.parts[-2:])
    found = {key: pattern.findall(text)[-1:] for key, pattern in _LABELS.items()}
    return {key: int(number) * _TIMES[times.lower()] for key, last in found.items() for number, times in last}


def _plain_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "--", text).strip(".-") or "model"


def _from_hub(spec: str, allow_pickle: bool) -> Source:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    repo, _, revision = spec.partition("@")
    patterns = _HUB_FILES + (["*.bin"] if allow_pickle else [])
    options: dict[str, Any] = {"repo_id": repo, "revision": revision or None, "allow_patterns": patterns}
    try:
        folder = snapshot_download(**options)
    except HFValidationError as error:
        raise BadInput(f"no model '{spec}': not a folder, not a .gguf file, not a hub id") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        try:
            folder = snapshot_download(**options, local_files_only=True)
        except (LocalEntryNotFoundError, OSError):
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise BadInput(
                f"no model '{spec}': no such folder, not in the hub's cache here, and the hub gave nothing ({reason}); "
                "give a folder, or run once with a connection"
            ) from error
    path = Path(folder)
    ggufs = sorted(path.glob("*.gguf"))
    if ggufs and not (path / "config.json").exists():
        path = ggufs[0]
    return Source(_plain_name(repo), f"{repo}@{Path(folder).name}", path)


def read_config(source: Source) -> Any:
    file = source.path if source.path.is_file() else source.folder / "config.json"
    return _config(source.path, source.said, _stamp(file) if file.exists() else None)


@lru_cache(maxsize=32)  # a .gguf file takes seconds to look into
def _config(path: Path, said: str, stamp: tuple[int, int] | None) -> Any:
    from transformers import AutoConfig

    with _quiet():
        try:
            return AutoConfig.from_pretrained(**Source("", said, path).where, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            raise BadInput(f"{said}: no usable config.json ({_first_line(error)})") from error


def read_tokenizer(source: Source) -> Any:
    from transformers import AutoTokenizer

    # without these files transformers makes an empty tokenizer, silently
    if source.path.suffix != ".gguf" and not any(list(source.folder.glob(name)) for name in _TOKENIZER_FILES):
        raise BadInput(f"{source.said} has no tokenizer ({', '.join(_TOKENIZER_FILES)})")
    with _quiet():
        try:
            tokenizer = AutoTokenizer.from_pretrained(**source.where, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError, TypeError) as error:
            raise BadInput(f"{source.said}: no usable tokenizer ({_first_line(error)})") from error
    return tokenizer


def refuse_pickles(source: Source, options: Options) -> None:
    files = weight_files(source)
    if not files:
        raise BadInput(f"{source.said} has no weights (*.safetensors)")
    if files[0].suffix == ".bin" and not options.allow_pickle:
        raise BadInput(
            f"{source.said} has only pickled weights (*.bin); a pickle can run code: read only with --allow-pickle"
        )


def load(source: Source, auto_class: Any, options: Options, **shape: Any) -> tuple[Any, frozenset[str]]:
    """The network in the dtype asked for, whatever the file holds, and the weights the file did not have.
    `shape` changes the config: a classifier's num_labels."""
    import torch
    from safetensors import SafetensorError

    with _quiet():
        try:
            model, info = auto_class.from_pretrained(
                **source.where,
                dtype=getattr(torch, options.dtype),
                use_safetensors=None if options.allow_pickle else True,
                trust_remote_code=False,
                output_loading_info=True,
                **shape,
            )
        except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
            raise BadInput(f"{source.said} cannot be loaded: {_first_line(error)}") from error
    _refuse_not_finite(source, model, options)
    try:
        model = model.eval().requires_grad_(False).to(device(options))
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"no device '{options.device}' here: {_first_line(error)}") from error
    return model, frozenset(info["missing_keys"])


def _refuse_not_finite(source: Source, model: Any, options: Options) -> None:
    """One NaN weight can give finite answers, all of them wrong."""
    wrong = [name for name, weights in model.state_dict().items() if not _finite(weights)]
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        hint = "" if options.dtype == "float32" else f" in {options.dtype} (try --dtype float32)"
        raise BadInput(
            f"{source.name if source.family else source.said}: weights are NaN or infinite{hint}: {wrong[0]}{more}; "
            "no answer would mean anything"
        )


def _finite(weights: Any) -> bool:
    """In one pass and without a copy: NaN is neither smallest nor largest, and replaces both."""
    import torch

    if not weights.is_floating_point() or not weights.numel():
        return True
    return bool(torch.isfinite(torch.stack(torch.aminmax(weights))).all())


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
    for content in weight_hashes(source):
        digest.update(content)
    return digest.hexdigest()


def weight_hashes(source: Source) -> tuple[bytes, ...]:
    return tuple(_file_hash(file, _stamp(file)) for file in weight_files(source))


@lru_cache(maxsize=1024)  # gigabytes are read once, however often a checkpoint is looked at
def _file_hash(file: Path, stamp: tuple[int, int]) -> bytes:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


def _stamp(file: Path) -> tuple[int, int]:
    """Tells a file that was written again from the one before it."""
    found = file.stat()
    return found.st_size, found.st_mtime_ns


def weight_files(source: Source) -> list[Path]:
    if source.path.suffix == ".gguf":
        return [source.path]
    return sorted(source.folder.glob("*.safetensors")) or sorted(source.folder.glob("*.bin"))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


@contextmanager
def _quiet() -> Any:
    """transformers' loading reports are read, not printed; what goes wrong is raised."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(level)

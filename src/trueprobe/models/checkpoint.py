"""Checkpoints, wherever they lie: no pickle unasked, no remote code, no random head."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from trueprobe import assets, nursery
from trueprobe.types import BadInput, nearest

DTYPES = ("float32", "bfloat16", "float16")
_NOT_COMPUTED_WITH = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
_TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*.gguf", "*.jinja"]


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
        raise BadInput(f"no folder '{spec}'")
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
    name = _plain_name(name)
    labels = [_labels(path) for path in found]
    if len(found) == 1 and not labels[0]:
        return [Source(name, found[0].name, found[0])]
    if any("model_seed" not in label for label in labels):
        labels = [{"model_seed": i, **label} for i, label in enumerate(labels)]
    tails = ["".join(f"-{key.removeprefix('model_')}{value}" for key, value in label.items()) for label in labels]
    if len(set(tails)) < len(tails):
        raise BadInput(f"family '{name}': two folders have the same seed and step; name them seed_N[/step_M]")
    return [Source(name + t, p.name, p, name, label) for t, p, label in zip(tails, found, labels, strict=True)]


def _listed(name: str, specs: list[str], allow_pickle: bool) -> list[Source]:
    """A family whose members are named one by one: hub ids, folders, files."""
    name = _plain_name(name)
    found = [source for spec in specs for source in sources(spec.strip(), allow_pickle)]
    labels = [_labels(Path(source.said.partition("@")[0])) for source in found]
    if any("model_seed" not in label for label in labels) or len({str(label) for label in labels}) < len(labels):
        labels = [{"model_seed": i} for i in range(len(found))]
    tails = ["".join(f"-{key.removeprefix('model_')}{value}" for key, value in label.items()) for label in labels]
    return [
        Source(name + tail, source.said, source.path, name, label)
        for tail, source, label in zip(tails, found, labels, strict=True)
    ]


def _labels(path: Path) -> dict[str, int]:
    text = "/".join(path.parts[-2:])
    pairs = (("model_seed", re.search(r"seed[_-]?(\d+)", text)), ("step", re.search(r"step[_-]?(\d+)", text)))
    return {key: int(match[1]) for key, match in pairs if match}


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
            f"{source.said}: weights are NaN or infinite{hint}: {wrong[0]}{more}; no answer would mean anything"
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

"""A SPEC of the command line to its checkpoints: shipped, fetched, folders, files, hub ids, and families of them.

A .gguf file becomes an ordinary folder in the cache: dequantised once to float32, not each time it is opened. The
folder is named by the file's hash and transformers' version, which decides how the file is read.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from trueprobe import assets, paths
from trueprobe.assets.catalogue import hub_family
from trueprobe.assets.unpack import quiet, refuse_incomplete_gguf, refuse_unused_gguf
from trueprobe.errors import BadInput, nearest
from trueprobe.models.checkpoint import CONVERSION, STARTS, Options, Source, load, read_tokenizer, weight_hashes
from trueprobe.models.served import address as served
from trueprobe.training import nursery

_TOKENIZER_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]
_HUB_FILES = [*_TOKENIZER_FILES, "*.safetensors", "*.gguf"]
_LABELS = {  # checkpoint-500 is what transformers' Trainer calls step 500
    "model_seed": re.compile(r"(?<![a-z])seed[_-]?(\d+)()", re.IGNORECASE),
    "step": re.compile(r"(?<![a-z])(?:step|checkpoint)[_-]?(\d+)([km]?)(?![a-z0-9])", re.IGNORECASE),
}
_BRACES = re.compile(r"\{(?:(\d+)\.\.(\d+)(?:\.\.(\d+))?|([^{}]*,[^{}]*))\}")
_MOST_MEMBERS = 10_000
_LONGEST = 80  # of the options in a name
_OPTIONS = re.compile(r"(.+?)\?(\w+=.*)")
_OPTION_NAMES = ("start", "chat", "system", "prefill", "tokenizer", "as")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_HOW_TO_NAME = "name members seed_N, step_N or checkpoint-N, or seed_N/step_N (symbolic links will do)"


def sources(spec: str, allow_pickle: bool = False) -> list[Source]:
    """A SPEC of the command line to its checkpoints: one, or the members of a family (`name=glob`, `nursery`).

    Options follow a question mark, `SPEC?start=eot&tokenizer=DIR`; in a family that lists its members, each has its
    own."""
    published = hub_family(spec)
    if published is not None:
        family, on_hub = published
        return _listed(family.name, listed(on_hub), allow_pickle)
    name, equals, pattern = _named(spec)
    if equals and not os.path.exists(spec):
        members = listed(pattern)
        if len(members) > 1:
            return _listed(name, members, allow_pickle)
    elif len(expanded(spec)) > 1 and not Path(spec).exists():
        raise BadInput(f"'{spec}' names several checkpoints; they need a name: --model 'name={spec}'")
    if pattern.startswith(served.PREFIX):
        return [_served(pattern, name)]
    plain, chosen = _options(spec)
    variant = spec[len(plain) :]
    return [replace(source, variant=variant, **chosen) for source in _without_options(plain, allow_pickle)]


def _named(spec: str) -> tuple[str, str, str]:
    """`mybert=ckpt/seed_*` -> `mybert`, `=`, `ckpt/seed_*`; the equals sign of an option names nothing."""
    name, equals, pattern = spec.partition("=")
    return (name, equals, pattern) if equals and name and "?" not in name else ("", "", spec)


def _served(spec: str, name: str) -> Source:
    """`served:http://127.0.0.1:8000/v1#MODEL?tokenizer=DIR`: nothing is asked of the server yet."""
    plain, chosen = _options(spec)
    address = served.address(plain)
    for option in served.OPTIONS:
        if option in chosen:
            address = address.with_option(spec, option, chosen.pop(option))
    if "tokenizer" not in chosen:
        raise BadInput(
            f"'{plain}' needs the model's tokenizer, because token ids are sent: '{plain}?tokenizer=FOLDER_OR_ID'"
        )
    title = address.model or address.url.partition("//")[2]
    return Source(_plain_name(name or title), plain, chosen["tokenizer"], server=address, **chosen)


def _options(spec: str) -> tuple[str, dict[str, Any]]:
    """`gpt2?start=eot` -> `gpt2`, {"start": "eot"}; the question mark of a pattern (`seed_?`) is none of options."""
    match = None if os.path.exists(os.path.expanduser(spec)) else _OPTIONS.fullmatch(spec)
    if match is None:
        return spec, {}
    pairs = [part.partition("=")[::2] for part in match[2].split("&")]
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise BadInput(f"'{spec}' has the option '{twice[0]}' twice")
    return match[1], dict(_option(spec, key, value) for key, value in pairs)


def _tokenizer(spec: str, value: str) -> Path:
    """A folder or a .gguf file; for a served model also an asset or a hub id."""
    path = Path(value).expanduser()
    if path.is_dir() or (path.suffix == ".gguf" and path.is_file()):
        return path
    if not spec.startswith(served.PREFIX) or value.startswith((".", "/", "~")):
        raise BadInput(f"'{spec}': no folder '{value}' with a tokenizer")
    if value in assets.names() and assets.card(value).kind == "model":
        return assets.path_of(value)
    return _from_hub(value, allow_pickle=False, patterns=_TOKENIZER_FILES).path


def _option(spec: str, key: str, value: str) -> tuple[str, Any]:
    """The field of `Source` that an option sets."""
    match key:
        case "start":
            if value not in STARTS:
                raise BadInput(f"'{spec}': no start '{value}'{nearest(value, STARTS)}")
            return "start", value
        case "chat":
            value = unquote(value)
            if value not in ("auto", "none") and not Path(value).expanduser().is_file():
                raise BadInput(f"'{spec}': chat= takes auto, none or the file of a template; there is no '{value}'")
            return "chat", value if value in ("auto", "none") else str(Path(value).expanduser().resolve())
        case "system" | "prefill":
            return key, unquote(value)  # %26 is &
        case "tokenizer":
            return "tokenizer", _tokenizer(spec, value)
        case "as":
            if value != "encoder":
                raise BadInput(f"'{spec}': no as={value}; as=encoder gives vectors, whatever the head")
            return "as_encoder", True
    if spec.startswith(served.PREFIX):
        if key in served.OPTIONS:
            return key, value
        raise BadInput(f"'{spec}': a served model has no option '{key}'{nearest(key, _OPTION_NAMES + served.OPTIONS)}")
    raise BadInput(f"'{spec}': a model has no option '{key}'{nearest(key, _OPTION_NAMES)}")


def _without_options(spec: str, allow_pickle: bool) -> list[Source]:
    if nursery.names(spec):
        return [_from_nursery(shipped, alone="/" in spec) for shipped in nursery.shipped(spec)]
    name, equals, pattern = spec.partition("=")
    if equals and name and not Path(spec).exists():
        return _family(name, pattern)
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


def _from_nursery(shipped: nursery.Shipped, alone: bool) -> Source:
    title = f"trueprobe's {shipped.family}"
    if shipped.seed is None:
        return Source(shipped.family, title, shipped.folder)
    name = f"{shipped.family}-seed{shipped.seed}"
    family = "" if alone else shipped.family
    return Source(name, f"{title}/{shipped.seed}", shipped.folder, family, {"model_seed": shipped.seed})


def _family(name: str, pattern: str) -> list[Source]:
    members = _matching(pattern)
    if not members and (pattern in assets.names() or nursery.names(pattern)):
        return [_renamed(source, name) for source in _without_options(pattern, allow_pickle=False)]
    if not members:
        raise BadInput(f"family '{name}': nothing matches '{pattern}'")
    if len(members) == 1 and not members[0].labels:
        return [replace(members[0], name=_plain_name(name))]
    return _family_of(name, members)


def _renamed(source: Source, name: str) -> Source:
    """With another name, of which its family's name is the beginning."""
    of, name = source.family or source.name, _plain_name(name)
    return replace(source, name=name + source.name.removeprefix(of), family=name if source.family else "")


def distinctly_named(checkpoints: Sequence[Source]) -> list[Source]:
    """One model with several options has several names: `gpt2?start=none` next to `gpt2` is gpt2-start-none."""
    times = Counter(source.name for source in checkpoints)
    return [
        _renamed(
            source, f"{source.family or source.name}-{re.sub('[?=&]+', '-', source.variant).strip('-')[:_LONGEST]}"
        )
        if source.variant and times[source.name] > 1
        else source
        for source in checkpoints
    ]


def _matching(pattern: str) -> list[Source]:
    """Folders and .gguf files that a pattern matches."""
    folder = Path(pattern).expanduser()
    root = Path(folder.anchor or ".")
    exact = [folder] if folder.exists() else []  # a path may hold brackets of its own
    paths = exact or sorted(
        p for p in root.glob(str(folder.relative_to(folder.anchor))) if p.is_dir() or p.suffix == ".gguf"
    )
    return [Source(str(path), path.name, path, labels=_labels(path)) for path in paths]


def _listed(name: str, specs: list[str], allow_pickle: bool) -> list[Source]:
    """A family whose members are listed one by one: hub ids with or without a revision, folders, files, patterns."""
    return _family_of(name, [source for spec in specs for source in _member(spec, allow_pickle)])


def _member(spec: str, allow_pickle: bool) -> list[Source]:
    plain, chosen = _options(spec)
    if set(plain) & set("*["):
        return [replace(source, **chosen) for source in _matching(plain)]
    return [
        replace(source, name=spec, labels=source.labels or _labels(Path(plain)))
        for source in sources(spec, allow_pickle)
    ]


def _family_of(name: str, members: list[Source]) -> list[Source]:
    """Members ordered by seed and step. Each must name what the others name: an order of folders is no seed."""
    name = _plain_name(name)
    for source in members:
        if not source.labels:
            raise BadInput(
                f"family '{name}': '{source.name}' names neither a seed nor a step; {_HOW_TO_NAME}; a model that "
                "belongs to no family is given alone: --model PATH"
            )
    for key in ("model_seed", "step"):
        having = [source for source in members if key in source.labels]
        if 0 < len(having) < len(members):
            lacking = next(source for source in members if key not in source.labels)
            raise BadInput(
                f"family '{name}': '{having[0].name}' names a {key.removeprefix('model_')}, '{lacking.name}' does not; "
                f"{_HOW_TO_NAME}"
            )
    members = sorted(members, key=lambda source: (source.labels.get("model_seed", 0), source.labels.get("step", 0)))
    for one, other in pairwise(members):
        if one.labels == other.labels:
            raise BadInput(
                f"family '{name}': '{one.name}' and '{other.name}' have the same seed and step; {_HOW_TO_NAME}"
            )
    labelled = ("".join(f"-{key.removeprefix('model_')}{value}" for key, value in s.labels.items()) for s in members)
    return [replace(s, name=name + label, family=name) for s, label in zip(members, labelled, strict=True)]


def _labels(path: Path) -> dict[str, int]:
    """Seed and step, as the last two parts of a path or hub id name them.

    `bert/seed_3/checkpoint-500` -> {"model_seed": 3, "step": 500}; `org/name@step20k` -> {"step": 20000}
    """
    text = "/".join(path.parts[-2:])
    matches = {key: pattern.findall(text)[-1:] for key, pattern in _LABELS.items()}
    return {key: int(number) * _TIMES[times.lower()] for key, last in matches.items() for number, times in last}


def _plain_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "--", text).strip(".-") or "model"


def _from_hub(spec: str, allow_pickle: bool, patterns: Sequence[str] = _HUB_FILES) -> Source:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    repo, _, revision = spec.partition("@")
    wanted = [*patterns, *(["*.bin"] if allow_pickle else [])]
    options: dict[str, Any] = {"repo_id": repo, "revision": revision or None, "allow_patterns": wanted}
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
                f"no model '{spec}': no such folder, not in the hub's cache here, and the hub gave nothing ({reason})"
                f"{_meant(spec) or '; give a folder, or run once with a connection'}"
            ) from error
    path = Path(folder)
    ggufs = sorted(path.glob("*.gguf"))
    if ggufs and not (path / "config.json").exists():
        path = ggufs[0]
    return Source(_plain_name(repo), f"{repo}@{Path(folder).name}", path)


def _meant(spec: str) -> str:
    """A shipped name that is spelt almost so: `nurserry`."""
    known = [*nursery.NAMES, *(name for name in assets.names() if assets.card(name).kind == "model")]
    close = nearest(spec, known)
    return close if "did you mean" in close else ""


# ---------------------------------------------------------------- braces, as shells write them


def listed(pattern: str) -> list[str]:
    """Split at the commas outside braces, and each part with its braces written out.

    `a{0..1},b` -> [`a0`, `a1`, `b`]"""
    return [one for part in re.split(r",(?![^{}]*\})", pattern) for one in expanded(part.strip())]


def expanded(pattern: str) -> list[str]:
    """Every combination, the last braces first to change; a range keeps the width of its first number: {08..10}."""
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    values = match[4].split(",") if match[4] is not None else _range(pattern, *match.groups()[:3])
    behind = expanded(pattern[match.end() :])
    if len(values) * len(behind) > _MOST_MEMBERS:
        raise BadInput(f"'{pattern}' names more than {_MOST_MEMBERS:,} checkpoints")
    return [pattern[: match.start()] + value.strip() + rest for value in values for rest in behind]


def _range(pattern: str, first: str, last: str, by: str | None) -> list[str]:
    """Both ends included, downwards too."""
    start, stop, step = int(first), int(last), int(by or 1)
    if step < 1 or abs(stop - start) // step >= _MOST_MEMBERS:
        raise BadInput(f"'{pattern}': a range goes by 1 or more and has at most {_MOST_MEMBERS:,} values")
    numbers = range(start, stop + 1, step) if start <= stop else range(start, stop - 1, -step)
    width = len(first) if first.startswith("0") else 0
    return [f"{number:0{width}d}" for number in numbers]


# ---------------------------------------------------------------- a .gguf file as a folder


def unpacked(source: Source) -> Source:
    """The same checkpoint, read from the folder made of its file; any other as it is."""
    if not source.is_gguf or source.server:
        return source
    (digest,) = weight_hashes(source)
    place = paths.cache() / "models" / f"{CONVERSION}-{digest.hex()[:32]}-transformers-{version('transformers')}"
    if not place.is_dir():
        with paths.waiting(place.parent / f"{place.name}.lock", f"unpacking {source.title}"):
            if not place.is_dir():  # another process may have made it while this one waited
                paths.write_whole(place, lambda partial: _write(source, partial))
    return replace(source, path=place, original=source.path)


def _write(source: Source, partial: Path) -> None:
    from transformers import AutoModelForCausalLM, GgufConfig

    refuse_incomplete_gguf(source.path, source.title)
    tokenizer = read_tokenizer(replace(source, tokenizer=None))
    whole = GgufConfig(dequantize=True)
    model, missing = load(source, AutoModelForCausalLM, Options(device="cpu"), quantization_config=whole)
    if missing:  # they would be random here, and look like any others in the folder
        raise BadInput(f"{source.title} lacks weights (missing: {', '.join(sorted(missing)[:2])} …)")
    refuse_unused_gguf(source.path, source.title, model)
    with quiet():
        model.save_pretrained(str(partial))
        tokenizer.save_pretrained(str(partial))

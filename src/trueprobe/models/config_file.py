"""The JSON files of a model folder as they stand: what they could make transformers do, and trueprobe refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, reading
from trueprobe.paths import refuse_special

ADAPTER = "adapter_config.json"  # of PEFT: LoRA and others
_CHOSEN = "transformers_weights"
_IMPLEMENTATION = "_implementation"  # attn_implementation, _attn_implementation_internal, experts_implementation


def read_json(file: Path) -> dict[str, Any]:
    """{} where there is no such file."""
    refuse_special(file)
    with reading(f"{file} cannot be read"):
        content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not isinstance(content, dict):
        raise BadInput(f"{file} must hold a JSON object")
    return content


def refuse_special_files(path: Path) -> None:
    """Of a model, transformers opens whatever is called as it expects: a pipe would block it. Links are followed, as
    the hub's cache is made of them."""
    for file in (path, *path.glob("*"), *path.glob("*/*")):
        refuse_special(file)


def refuse_adapter(folder: Path, title: str) -> None:
    """transformers would look for the base model itself, with a package that may be missing."""
    file = folder / ADAPTER
    if not file.is_file():
        return
    try:
        base = json.loads(file.read_text(encoding="utf-8")).get("base_model_name_or_path") or "its base model"
    except (OSError, ValueError, AttributeError, RecursionError):
        base = "its base model"
    raise BadInput(
        f"{title} is a PEFT adapter of {base} ({ADAPTER}), no whole model; merge it first, in Python: "
        f"PeftModel.from_pretrained(base, '{title}').merge_and_unload().save_pretrained('merged'), save the "
        "tokenizer to 'merged' too, then --model ./merged"
    )


def chosen_weights(folder: Path, title: str) -> str:
    """The file of weights that the config chooses, "" for none. Of some architectures transformers loads one part
    (`text_config`) and follows what that part chooses, which no check of the folder's weights would see."""
    config = read_json(folder / "config.json")
    if any(_CHOSEN in part for part in _parts(config)):
        raise BadInput(f"{title}: {_CHOSEN} may stand at the top of config.json only")
    return str(config.get(_CHOSEN) or "")


def refuse_hub_code(folder: Path, title: str) -> None:
    """An implementation of attention that is called like a hub repository ("org/name") is code from there, which
    transformers runs where the package `kernels` is installed."""
    config = read_json(folder / "config.json")
    entries = (entry for part in (config, *_parts(config)) for entry in part.items())
    for key, value in ((key, value) for key, value in entries if _IMPLEMENTATION in key):
        if any("/" in text for text in (value, *_within(value)) if isinstance(text, str)):
            raise BadInput(f"{title}: {key} in config.json names code on the hub, which is never run; remove it")


def _parts(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects inside of it."""
    return (value for value in _within(config) if isinstance(value, dict))


def _within(value: Any) -> Iterator[Any]:
    """Every value inside of another, at any depth: without recursion, which a file could make too deep."""
    left = [value]
    while left:
        one = left.pop()
        for inner in one.values() if isinstance(one, dict) else one if isinstance(one, list) else ():
            yield inner
            left.append(inner)

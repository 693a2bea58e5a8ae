"""The JSON files of a model folder as they stand: what they could make transformers do, and trueprobe refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, reading

ADAPTER = "adapter_config.json"  # of PEFT: LoRA and others
_CHOSEN = "transformers_weights"
_IMPLEMENTATION = "_implementation"  # attn_implementation, _attn_implementation_internal, experts_implementation


def read_json(file: Path) -> dict[str, Any]:
    """{} where there is no such file."""
    with reading(f"{file} cannot be read"):
        content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not isinstance(content, dict):
        raise BadInput(f"{file} must hold a JSON object")
    return content


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
    for part in (config, *_parts(config)):
        for key, value in part.items():
            if _IMPLEMENTATION in key and any("/" in text for text in _texts(value)):
                raise BadInput(f"{title}: {key} in config.json names code on the hub, which is never run; remove it")


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects inside of a value, at any depth."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, dict):
            yield inner
        yield from _parts(inner)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)

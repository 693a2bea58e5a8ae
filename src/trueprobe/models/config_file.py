"""The JSON files of a model folder as they stand: what they could make transformers do, and trueprobe refuses.

And whether a file's tensors and the network that a config describes belong together: transformers leaves out what has
no place in the network and draws at random what the file lacks, both without an error. Every tensor of the file in the
network's body must have its place there, in whatever part: a layer, an expert, a bias, a final norm. Outside of it a
tensor may stay unused: of a head or pooler that is not asked, of a text model's vision tower. What no tensor shows
cannot be checked: into how many heads a matrix is cut, how often ALBERT repeats a layer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        f"{title} is a PEFT adapter of {base} ({ADAPTER}), not a whole model; merge it first, in Python: "
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


# ---------------------------------------------------------------- do weights and config belong together


MOST_LAYERS = 2_000  # ALBERT has weights of one for all of them: no file is too small for a billion
_APART = "config.json and weights do not belong together"
_BUFFERS = ("masked_bias", "inv_freq", "position_ids")  # constants that old files hold layer by layer
_LAYER = re.compile(r".*?\.\d+\.")  # bert.encoder.layer.11.output.dense.bias


def refuse_layer_counts(config: Any) -> None:
    """A ValueError for numbers of layers with which some weights are loaded and never used, or time is unbounded."""
    config = getattr(config, "text_config", None) or config
    layers, groups = getattr(config, "num_hidden_layers", None), getattr(config, "num_hidden_groups", 1)
    if layers is None:
        return
    if layers > MOST_LAYERS:
        raise ValueError(f"{layers:,} layers, the most are {MOST_LAYERS:,}")
    if layers < 1:
        raise ValueError(f"{layers:,} layers, the fewest are 1")
    if groups > layers:
        raise ValueError(f"{layers:,} layers use only as many of its {groups:,} groups of layer weights")


def refuse_apart(title: str, model: Any, loaded: Mapping[str, Any]) -> None:
    """`loaded` is what transformers reports of its loading."""
    _refuse_other_shapes(title, loaded["mismatched_keys"])
    _refuse_unused(title, model, loaded["unexpected_keys"])
    _refuse_missing_layers(title, model, loaded["missing_keys"])


def _refuse_other_shapes(title: str, mismatched: Iterable[tuple[str, Any, Any]]) -> None:
    wrong = sorted((name, list(in_file), list(in_config)) for name, in_file, in_config in mismatched)
    if wrong:
        name, in_file, in_config = wrong[0]
        raise BadInput(f"{title}: {name} is {in_file} in the file and {in_config} in the config{more(wrong)}; {_APART}")


def _refuse_unused(title: str, model: Any, unexpected: Iterable[str]) -> None:
    """By the part of the body that a name begins with: a list of layers is such a part with no layer in it, too. Or by
    the module that it is in: a bias of the head that is asked."""
    prefix = f"{model.base_model_prefix}."  # which a file may leave out
    parts = {name for name, _ in model.base_model.named_children()}
    modules = {name.removeprefix(prefix) for name, _ in model.named_modules() if name}
    constants = {name.removeprefix(prefix) for name, _ in model.named_buffers()}  # GPT-Neo's mask: made, not loaded
    unused = [
        name
        for name in sorted(unexpected)
        if ((plain := name.removeprefix(prefix)).partition(".")[0] in parts or plain.rpartition(".")[0] in modules)
        and plain not in constants
        and not plain.endswith(_BUFFERS)
    ]
    if unused:
        left_out = f"{unused[0]}{more(unused)}"
        raise BadInput(f"{title}: the file has layer weights that the config leaves out ({left_out}); {_APART}")


def _refuse_missing_layers(title: str, model: Any, missing: Iterable[str]) -> None:
    """A head that a file does not have is refused by who needs it; a layer is needed by all."""
    prefix = f"{model.base_model_prefix}."
    inside = {name.removeprefix(prefix) for name in model.base_model.state_dict() if _LAYER.match(name)}
    lacking = sorted(n for n in missing if n.removeprefix(prefix) in inside and not n.endswith(_BUFFERS))
    if lacking:
        raise BadInput(f"{title}: the file lacks weights of a layer ({lacking[0]}{more(lacking)}); {_APART}")


def more(names: Sequence[object]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""

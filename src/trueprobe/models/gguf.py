"""A .gguf file as an ordinary folder in the cache: dequantised once to float32, not each time it is opened.

The folder is named by the file's hash and transformers' version, which decides how the file is read.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from trueprobe import paths
from trueprobe.assets.unpack import quiet, refuse_incomplete_gguf, refuse_unused_gguf
from trueprobe.errors import BadInput
from trueprobe.models.checkpoint import CONVERSION, Options, Source, load, read_tokenizer, weight_hashes


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

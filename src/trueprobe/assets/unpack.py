"""What is made once out of an asset's raw files: a float32 folder out of a GGUF file, a tokenizer's folder.

The same raw files give the same ready files, with the same versions of transformers and safetensors.
"""

from __future__ import annotations

import io
import itertools
import json
import mmap
import os
import re
import shutil
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueprobe.assets.catalogue import AssetCard
from trueprobe.errors import BadInput, reading
from trueprobe.paths import gunzipped
from trueprobe.types import Progress

RAW_GGUF = "model.gguf"
_MOST_WEIGHTS = 10_000  # matrices and vectors of one network
_LAYER = re.compile(r"\.(\d+)\.")  # model.layers.11.mlp.up_proj.weight
_MOST_PER_BYTE = 8  # weights, of one bit each


def unpack(raw: Path, progress: Progress) -> None:
    """In place: what came gzipped is unzipped."""
    for path in [path for path in sorted(raw.rglob("*")) if path.is_file() and _magic(path, 2) == b"\x1f\x8b"]:
        plain = path.with_name(path.name + ".plain")
        with plain.open("wb") as out, progress.task(f"unpacking {path.name}", unit="bytes") as task:
            for chunk in gunzipped(path):
                task.advance(out.write(chunk))
        os.replace(plain, path)


def is_readable(card: AssetCard, raw: Path) -> bool:
    """Whether the raw files can be judged as they are; a GGUF file or a bare vocabulary only by what becomes of it."""
    if card.kind == "model":
        return not (raw / RAW_GGUF).exists()
    return card.kind != "tokenizer" or (raw / "tokenizer.json").exists()


def make_ready(card: AssetCard, raw: Path, ready: Path, progress: Progress) -> None:
    """The ready files of an asset, in a new folder."""
    if card.kind == "model" and (raw / RAW_GGUF).exists():
        ready.mkdir()
        with progress.task("converting GGUF to float32"):
            _gguf_to_float32(raw / RAW_GGUF, ready)
    elif card.kind == "tokenizer":
        _tokenizer_folder(raw, ready)
    else:
        shutil.move(raw, ready)


def _tokenizer_folder(raw: Path, ready: Path) -> None:
    """A published vocabulary, or that of a tokenizer.json, as a folder that transformers opens."""
    from transformers import AddedToken, BertTokenizer, RobertaTokenizer

    whole = raw / "tokenizer.json"
    model = json.loads(whole.read_bytes())["model"] if whole.exists() else {}
    pieces = model.get("vocab")
    with quiet(), reading(f"{raw.name}: no vocabulary that transformers reads"):
        if (raw / "vocab.txt").exists() or model.get("type") == "WordPiece":
            tokenizer = BertTokenizer(pieces or str(raw / "vocab.txt"), do_lower_case=False)
        else:
            merges = [tuple(m.split(" ") if isinstance(m, str) else m) for m in model.get("merges") or []]
            mask = AddedToken("<mask>", lstrip=True)  # it takes the space before it, as in fairseq
            vocabulary, joins = pieces or str(raw / "vocab.json"), merges or str(raw / "merges.txt")
            tokenizer = RobertaTokenizer(vocabulary, joins, mask_token=mask)
        tokenizer.save_pretrained(ready)


def refuse_incomplete_gguf(path: Path, title: str) -> None:
    """What the file does not say of its network, transformers would take from its defaults: 32 layers of 4,096. Layers
    beyond those it says it has, transformers would leave out."""
    from gguf import GGUFReader

    with reading(f"{title} is no readable GGUF file"):
        refuse_impossible_lengths(path)
        file = GGUFReader(path)
        architecture = file.fields["general.architecture"].contents()
        shape = {name: file.fields.get(f"{architecture}.{name}") for name in ("block_count", "embedding_length")}
        number_of = {tensor.name: int(tensor.name.split(".")[1]) for tensor in file.tensors if _is_block(tensor)}
        layers = len({*number_of.values()})
        absent = [name for name, field in shape.items() if field is None]
        declared = 0 if absent else int(shape["block_count"].contents())
    if absent:
        raise BadInput(f"{title} has no {architecture}.{absent[0]} in its metadata")
    if declared > layers:
        raise BadInput(f"{title} has weights of {layers} of the {declared:,} layers that its metadata promises")
    unused = sorted(name for name, number in number_of.items() if number >= declared)
    if unused:
        raise BadInput(
            f"{title} has weights of {layers} layers, and its metadata promises {declared:,}: {unused[0]} and "
            f"{len(unused) - 1} more would not be used"
        )


def refuse_unused_gguf(path: Path, title: str, model: Any) -> None:
    """transformers passes over a tensor for which the network has no place, such as a bias, and does not report it."""
    from gguf import GGUFReader

    in_file, in_network = Counter[int](), Counter[int]()
    for tensor in GGUFReader(path).tensors:
        if _is_block(tensor):
            in_file[int(tensor.name.split(".")[1])] += int(tensor.n_elements)
    for name, weight in model.state_dict().items():
        if match := _LAYER.search(name):
            in_network[int(match[1])] += weight.numel()
    for number in sorted({*in_file} & {*in_network}):
        unused = in_file[number] - in_network[number]
        if unused > 0:
            raise BadInput(
                f"{title}: blk.{number} has {in_file[number]:,} weights, of which {unused:,} have no place in "
                "transformers' network and would not be used"
            )


def _is_block(tensor: Any) -> bool:
    return str(tensor.name).startswith("blk.")


@contextmanager
def not_beyond(files: Sequence[Path]) -> Iterator[None]:
    """Around the making of a network out of these weights: a config can ask for any number of layers, groups or
    experts, of any size, under names that every architecture chooses. Even without weights such a network is made for
    hours, or fills the memory."""
    from torch.nn.modules.module import register_module_parameter_registration_hook

    made, most = itertools.count(1), _MOST_PER_BYTE * sum(file.stat().st_size for file in files)
    thread = threading.get_ident()  # torch calls the hook for the networks of all of them

    def refuse(module: Any, name: str, weight: Any) -> None:
        if threading.get_ident() != thread:
            return
        if name not in module._parameters and next(made) > _MOST_WEIGHTS:  # loading puts each one in its place again
            raise ValueError(f"its config asks for more than {_MOST_WEIGHTS:,} matrices and vectors of weights")
        if weight is not None and weight.numel() > most:
            shape = " × ".join(f"{size:,}" for size in weight.shape)
            raise ValueError(f"its config asks for {shape} weights in one matrix; its files are too small for that")

    hook = register_module_parameter_registration_hook(refuse)
    try:
        yield
    finally:
        hook.remove()


def from_gguf(file: Path) -> dict[str, Any]:
    """The arguments every from_pretrained call takes. The whole path: transformers looks for a bare name in the current
    folder first."""
    return {
        "pretrained_model_name_or_path": str(file.parent),
        "gguf_file": str(file.absolute()),
        "local_files_only": True,
    }


def _gguf_to_float32(gguf: Path, ready: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    refuse_incomplete_gguf(gguf, gguf.name)
    with quiet(), reading(f"{gguf.name}: no GGUF file that transformers reads"), not_beyond([gguf]):
        tokenizer = AutoTokenizer.from_pretrained(**from_gguf(gguf))
        model = AutoModelForCausalLM.from_pretrained(**from_gguf(gguf), dtype=torch.float32)
        refuse_unused_gguf(gguf, gguf.name, model)
        # the weights are plain float32 by now; only the label "quantised" keeps transformers from saving them
        model.hf_quantizer = None
        del model.config.quantization_config
        tokenizer.save_pretrained(ready)
        model.save_pretrained(ready, max_shard_size="100GB")


def _magic(path: Path, length: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(length)


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' reports and bars while it loads (in a notebook, bars are widgets, whatever stderr is); what
    goes wrong is raised."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


# ---------------------------------------------------------------- the metadata of a GGUF file


_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number, by its type
_TEXT, _LIST = 8, 9
_DEEPEST = 4  # lists within lists
_HEADER = 8  # bytes: magic and version


def refuse_impossible_lengths(path: Path) -> None:
    """A ValueError where a text or list of the metadata would end behind the file.

    A length in it can be any number, and the package that reads such files goes on for that long, behind the end too.

    The format: magic, version, number of tensors and of pairs; each pair is a key, a type and a value; a text has its
    length before it, a list its type and length."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:4] != b"GGUF" or len(content) < _HEADER:
            raise ValueError("it does not begin as a GGUF file")
        order = "<" if content[4:6] != b"\0\0" else ">"
        walk = _Walk(content, order, _HEADER)
        _, pairs = walk.number("Q"), walk.number("Q")
        for _ in range(pairs):
            walk.skip_text()
            walk.skip_value(walk.number("I"))


@dataclass
class _Walk:
    content: mmap.mmap
    order: str
    at: int

    def number(self, code: str) -> int:
        start = self.at
        self.skip(struct.calcsize(f"={code}"))
        (value,) = struct.unpack_from(self.order + code, self.content, start)
        return int(value)

    def skip(self, size: int) -> None:
        if self.at + size > len(self.content):
            raise ValueError("its metadata ends behind the file")
        self.at += size

    def skip_text(self) -> None:
        self.skip(self.number("Q"))

    def skip_value(self, kind: int, depth: int = 0) -> None:
        if kind in _SIZES:
            self.skip(_SIZES[kind])
        elif kind == _TEXT:
            self.skip_text()
        elif kind == _LIST and depth < _DEEPEST:
            self._skip_list(depth)
        else:
            raise ValueError(f"its metadata has a value of type {kind}")

    def _skip_list(self, depth: int) -> None:
        kind, length = self.number("I"), self.number("Q")
        if kind in _SIZES:
            self.skip(length * _SIZES[kind])
            return
        for _ in range(length):
            self.skip_value(kind, depth + 1)

"""Text into token ids: documents read, a tokenizer trained on them or opened, some documents held out.

A corpus file is plain UTF-8: one sentence (or paragraph) per line, a blank line between documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe import assets
from trueprobe.assets.catalogue import ContentKind
from trueprobe.errors import BadInput
from trueprobe.training import wikipedia, wordnet
from trueprobe.types import NoProgress, Progress

HELD_OUT_EVERY = 50  # one document in so many is never trained on
FEWEST_DOCUMENTS = 4
SENTENCES = "sentences.txt"  # made of a dump or of WordNet, next to it
_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_END = "<|endoftext|>"
_AT_ONCE = 20_000
_LETTERS = 200
_CLEANED: dict[ContentKind, Callable[[Path, Path, Progress], object]] = {
    "wikipedia_dump": wikipedia.clean,
    "wordnet": wordnet.clean,
}


@dataclass(frozen=True)
class Tokens:
    """Sentences of documents as one row of ids; a sentence is ids[sentences[i]:sentences[i+1]]."""

    ids: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray  # document j has the sentences documents[j] to documents[j+1]


def locate(name: str, progress: Progress | None = None) -> Path:
    """A file or folder; an asset's name stands for what was fetched, Wikipedia and WordNet for their sentences."""
    if name not in assets.names() or Path(name).exists():
        return Path(name)
    clean = _CLEANED.get(assets.card(name).kind)
    if clean is None:
        return assets.path_of(name)
    progress = progress or NoProgress()
    return assets.derived(name, SENTENCES, lambda raw, file: clean(raw, file, progress), progress)


def _read(times: dict[Path, int]) -> list[tuple[list[str], int]]:
    documents = [(document, often) for file, often in times.items() for document in _documents_of(file)]
    if len(documents) < FEWEST_DOCUMENTS:
        raise BadInput(
            f"the corpus has {len(documents)} documents, and {FEWEST_DOCUMENTS} are needed: "
            "one sentence per line, a blank line between documents"
        )
    return documents


def _documents_of(file: Path) -> Iterator[list[str]]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise BadInput(f"cannot read the corpus {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise BadInput(f"{file}, line {number}: not UTF-8; convert it first") from error
    document: list[str] = []
    for line in chain(lines, [""]):
        if text := " ".join(line.split()):
            document.append(text)
        elif document:
            yield document
            document = []


def split(files: Sequence[Path]) -> tuple[list[list[str]], list[list[str]]]:
    """For training and held out: the same documents whatever else is chosen. A file that is named several times is
    trained on as often, and what is held out of it stays so."""
    times = Counter(files)
    documents = _read(times)
    every = min(HELD_OUT_EVERY, len(documents) // 2)
    held_out = [document for document, _ in documents[every - 1 :: every]]
    trained = (one for i, one in enumerate(documents) if i % every != every - 1)
    return [document for document, often in trained for _ in range(often)], held_out


def train_tokenizer(kind: str, documents: list[list[str]], vocab_size: int) -> Any:
    """WordPiece, lower-cased, for masked models; byte-level BPE for causal ones. The same text, the same ids."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    if kind == "causal":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[_END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(chain.from_iterable(documents), trainer)
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=_END, eos_token=_END)
    tokenizer = Tokenizer(models.WordPiece(_pieces(documents, vocab_size), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]  # else plain transformers leaves out the segments
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **names)


def _pieces(documents: list[list[str]], vocab_size: int) -> dict[str, int]:
    """The trainer numbers inner letters (##e) as it happens to meet them, and breaks ties by number: they are
    numbered beforehand here, in the order of the alphabet. Rare letters would take a tenth of a small vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    lower = normalizers.BertNormalizer(lowercase=True)
    counts = Counter(chain.from_iterable(map(lower.normalize_str, chain.from_iterable(documents))))
    common = sorted((letter for letter in counts if not letter.isspace()), key=lambda letter: (-counts[letter], letter))
    alphabet = sorted(common[:_LETTERS])
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=_SPECIALS + [f"##{letter}" for letter in alphabet],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = lower
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(chain.from_iterable(documents), trainer)
    return tokenizer.get_vocab()


def open_tokenizer(kind: str, folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"{folder} has no usable tokenizer") from error
    needed = ("cls_token", "sep_token", "mask_token", "pad_token") if kind == "masked" else ("bos_token",)
    missing = [name for name in needed if getattr(tokenizer, f"{name}_id", None) is None]
    if missing:
        raise BadInput(f"the tokenizer in {folder} has no {', '.join(missing)}, which {kind} models need")
    return tokenizer


def encode(tokenizer: Any, documents: list[list[str]]) -> Tokens:
    fast = tokenizer.backend_tokenizer
    fast.no_truncation()  # sentences are cut where examples are made of them
    fast.no_padding()
    sentences = list(chain.from_iterable(documents))
    rows: list[np.ndarray] = []
    lengths: list[int] = []
    for start in range(0, len(sentences), _AT_ONCE):
        batch = fast.encode_batch_fast(sentences[start : start + _AT_ONCE], add_special_tokens=False)
        ids = [encoded.ids for encoded in batch]
        lengths += map(len, ids)
        rows.append(np.fromiter(chain.from_iterable(ids), np.int32))
    counts = [len(document) for document in documents]
    return Tokens(np.concatenate(rows), _starts(lengths), _starts(counts))


def _starts(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

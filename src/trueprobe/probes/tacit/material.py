"""How the tacit-assumption probes ask, which concepts of a file of norms they ask about, and within which words.

The prompts are in tacit/prompts.toml; a user's file of the same shape needs no code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from trueprobe import assets
from trueprobe.errors import BadInput
from trueprobe.probes import files as material
from trueprobe.probes.counteracts.material import BLANK, FileCard
from trueprobe.probes.tacit.norms import Concept, Norms
from trueprobe.types import WordList

TOKENIZERS = {"bert_cased": "tokenizer-bert-base-cased", "roberta": "tokenizer-roberta-base"}
_AFTER_A = re.compile(rf"\b([Aa]) {BLANK}")


def _holds(*fields: str, ends: bool = False) -> AfterValidator:
    """The blank and each of these fields, once; where it `ends` in the blank, a causal model can be asked."""

    def check(text: str) -> str:
        for part in (BLANK, *(f"{{{field}}}" for field in fields)):
            if text.count(part) != 1:
                raise ValueError(f"must hold {part} once")
        if set(re.findall(r"\{(\w*)\}", text)) - set(fields):
            raise ValueError(f"has no other fields than {', '.join(fields)}")
        if ends and re.search(r"\w", text.split(BLANK)[1]):
            raise ValueError(f"no word may follow {BLANK}: a causal model sees none")
        return text

    return AfterValidator(check)


def _after_an_article(text: str) -> str:
    if not _AFTER_A.search(text):
        raise ValueError(f"must have the article before the blank: a {BLANK}")
    return text


def _not_all(name: str) -> str:
    if name == "all":
        raise ValueError("'all' means every wording and names none")
    return name


Grown = Annotated[str, _holds("properties"), AfterValidator(_after_an_article)]
GrownLast = Annotated[str, _holds("properties", ends=True), AfterValidator(_after_an_article)]
Asked = Annotated[str, _holds("concept", "relation", ends=True)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$"), AfterValidator(_not_all)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Retrieval(_Strict):
    masked: Grown
    causal: GrownLast


class Example(_Strict):
    """One of Prince's own: the whole list as she has it, and its single words by relation."""

    said: str = Field(min_length=1)
    has: tuple[str, ...] = ()
    has_a: tuple[str, ...] = Field(default=(), alias="has a")

    def words(self, relation: str) -> tuple[str, ...]:
        return self.has if relation == "has" else self.has_a


class Prompts(_Strict):
    card: FileCard
    retrieval: dict[Name, Retrieval] = Field(min_length=1)
    production: dict[Name, Asked] = Field(min_length=1)
    prince: dict[Name, Example] = Field(min_length=2)


def prompts(named: str) -> Prompts:
    return material.read(named, material.ROOT / "tacit/data", Prompts)


def with_article(template: str, article: str) -> str:
    """The template with `a` or `an` before its blank."""
    return template if article == "a" else _AFTER_A.sub(rf"\1n {BLANK}", template)


# ---------------------------------------------------------------- which concepts


def starts_with_vowel(word: str) -> bool:
    return word[:1].lower() in "aeiou"


def papers_concepts(norms: Norms, folders: dict[str, str]) -> tuple[Concept, ...]:
    """Those that are one piece in bert-base-cased and, after a space, in RoBERTa, and start with no vowel.

    Of CSLB's 638 these are the paper's 266. `folders`: the user's own tokenizers, by the names in `TOKENIZERS`."""
    bert, roberta = (_pieces(name, folders.get(name, "")) for name in TOKENIZERS)
    return tuple(
        c for c in norms.concepts if c.name in bert and f"Ġ{c.name}" in roberta and not starts_with_vowel(c.name)
    )


def _pieces(name: str, folder: str) -> frozenset[str]:
    try:
        path = material.path_of(folder) if folder else assets.path_of(TOKENIZERS[name])
    except assets.NotHere as error:
        raise BadInput(
            "the paper's concepts are those that are one piece in bert-base-cased and in RoBERTa and start with no "
            f"vowel: this needs those two tokenizers (trueprobe fetch {' '.join(TOKENIZERS.values())}, or --set "
            "bert_cased=FOLDER --set roberta=FOLDER); without them: --set concepts=all"
        ) from error
    for file, read in (("tokenizer.json", _of_json), ("vocab.json", json.loads), ("vocab.txt", str.split)):
        for found in (path / file, path) if path.name == file else (path / file,):
            if found.is_file():
                return frozenset(read(found.read_text(encoding="utf-8")))
    raise BadInput(f"{name}: {path} holds neither tokenizer.json, vocab.json nor vocab.txt")


def _of_json(text: str) -> dict[str, int]:
    return json.loads(text)["model"]["vocab"]


# ---------------------------------------------------------------- within which words


def word_list(named: str) -> WordList:
    """A user's vocabulary: one word per line, each counted once."""
    path = material.path_of(named)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"vocabulary: {path}: not readable as UTF-8 text, one word per line ({error})") from error
    words = _distinct(path, lines)
    if not words:
        raise BadInput(f"vocabulary: {path} holds no words")
    return WordList(path.name, words)


def _distinct(path: Path, lines: Sequence[str]) -> tuple[str, ...]:
    for number, line in enumerate(lines, 1):
        if len(line.split()) > 1:
            raise BadInput(f"vocabulary: {path}, line {number}: {line.strip()!r} is more than one word")
    return tuple(dict.fromkeys(word for line in lines if (word := line.strip())))

"""How the tacit-assumption probes ask, which concepts of a file of norms they ask about, and within which words.

The prompts are in tacit/data/prompts.toml; a user's file of the same shape needs no code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from trueprobe import assets
from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.tacit.norms import Concept, Norms
from trueprobe.probes.templates import (
    BLANK,
    NO_WORD_AFTER_BLANK,
    ONE_BLANK,
    MaterialFile,
    Strict,
    fields,
    starts_with_vowel,
)
from trueprobe.types import WordList

TOKENIZERS = {"bert_cased": "tokenizer-bert-base-cased", "roberta": "tokenizer-roberta-base"}
_AFTER_A = re.compile(rf"\b([Aa]) {BLANK}")


def _after_an_article(text: str) -> str:
    if not _AFTER_A.search(text):
        raise ValueError(f"must have the article before the blank: a {BLANK}")
    return text


def _not_all(name: str) -> str:
    if name == "all":
        raise ValueError("'all' means every wording and names none")
    return name


FromProperties = Annotated[str, ONE_BLANK, fields(once=("properties",)), AfterValidator(_after_an_article)]
Production = Annotated[str, ONE_BLANK, fields(once=("concept", "relation")), NO_WORD_AFTER_BLANK]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$"), AfterValidator(_not_all)]


class Retrieval(Strict):
    masked: FromProperties
    causal: Annotated[FromProperties, NO_WORD_AFTER_BLANK]


class PrinceExample(Strict):
    """One of Prince's: the whole list as she has it, and its single words by relation."""

    whole: str = Field(min_length=1, alias="said")
    has: tuple[str, ...] = ()
    has_a: tuple[str, ...] = Field(default=(), validation_alias="has a")

    def words(self, relation: str) -> tuple[str, ...]:
        return self.has if relation == "has" else self.has_a


class Prompts(MaterialFile):
    folder = Path(__file__).parent / "data"
    retrieval: dict[Name, Retrieval] = Field(min_length=1)
    production: dict[Name, Production] = Field(min_length=1)
    prince: dict[Name, PrinceExample] = Field(min_length=2)


def with_blank_article(template: str, article: str) -> str:
    """The template with `a` or `an` before its blank."""
    return template if article == "a" else _AFTER_A.sub(rf"\1n {BLANK}", template)


# ---------------------------------------------------------------- which concepts


def papers_concepts(norms: Norms, folders: dict[str, str]) -> tuple[Concept, ...]:
    """Those that are one piece in bert-base-cased and, after a space, in RoBERTa, and start with no vowel.

    Of CSLB's 638 these are the paper's 266. `folders`: the user's tokenizers, by the names in `TOKENIZERS`."""
    words = set(papers_words(folders, "concepts=all").words)
    return tuple(c for c in norms.concepts if c.name in words and not starts_with_vowel(c.name))


def papers_words(folders: dict[str, str], without: str = "vocabulary=common") -> WordList:
    """The paper's "unified intersection": pieces of bert-base-cased that RoBERTa has after a space, 18,508 of them.

    `without`: the setting that does not need them."""
    bert, roberta = (_pieces(name, folders.get(name, ""), without) for name in TOKENIZERS)
    return WordList("paper", tuple(sorted(word for word in bert if f"Ġ{word}" in roberta)))


def _pieces(name: str, folder: str, without: str) -> frozenset[str]:
    try:
        path = files.path_of(folder) if folder else assets.path_of(TOKENIZERS[name])
    except assets.NotHere as error:
        raise BadInput(
            "the paper's words are one piece in bert-base-cased and in RoBERTa: this needs those two tokenizers "
            f"(trueprobe fetch {' '.join(TOKENIZERS.values())}, or --set bert_cased=FOLDER --set roberta=FOLDER); "
            f"without them: --set {without}"
        ) from error
    for file, read in (("tokenizer.json", _of_json), ("vocab.json", json.loads), ("vocab.txt", str.split)):
        for candidate in (path / file, path) if path.name == file else (path / file,):
            if candidate.is_file():
                return frozenset(read(candidate.read_text(encoding="utf-8")))
    raise BadInput(f"{name}: {path} holds neither tokenizer.json, vocab.json nor vocab.txt")


def _of_json(text: str) -> Any:
    return json.loads(text)["model"]["vocab"]


# ---------------------------------------------------------------- within which words


def word_list(name: str) -> WordList:
    """A user's vocabulary: one word per line, each counted once."""
    path = files.path_of(name)
    try:
        lines = files.text_of(path).splitlines()
    except BadInput as error:
        raise BadInput(f"vocabulary: {error}") from error
    words = _distinct(path, lines)
    if not words:
        raise BadInput(f"vocabulary: {path} holds no words")
    return WordList(path.name, words)


def _distinct(path: Path, lines: Sequence[str]) -> tuple[str, ...]:
    for number, line in enumerate(lines, 1):
        if len(line.split()) > 1:
            raise BadInput(f"vocabulary: {path}, line {number}: {line.strip()!r} is more than one word")
    return tuple(dict.fromkeys(word for line in lines if (word := line.strip())))

"""Material files: the base of their schemas, and the checks of the text templates in them.

A template names fields in braces and may hold the blank ___ that a model fills. It is checked when its file is read,
so that a mistake is reported with its key path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from trueprobe.probes import files

BLANK = "___"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileCard(Strict):
    title: str
    version: str
    licence: str
    source: str
    notes: str = ""


class MaterialFile(Strict):
    """A whole file: shipped with its probe, or a user's of the same shape."""

    folder: ClassVar[Path]  # of the shipped ones
    card: FileCard

    @classmethod
    def read(cls, name: str) -> Self:
        return files.read(name, cls.folder, cls)


def starts_with_vowel(word: str) -> bool:
    return word[:1].lower() in "aeiou"


def article_for(noun: str) -> str:
    return "an" if starts_with_vowel(noun) else "a"


Article = Annotated[str, Field(pattern=r"^[^\W\d_]+['’]?$")]  # a, der, la, l'


def with_article(noun: str, article: str | None = None) -> str:
    """`l'` stands before its noun without a space."""
    article = article or article_for(noun)
    return f"{article}{noun}" if article[-1] in "'’" else f"{article} {noun}"


def repeated(values: Iterable[str]) -> str | None:
    """The first value that occurs again."""
    return next((value for value, count in Counter(values).items() if count > 1), None)


# ---------------------------------------------------------------- checks of a template


def fields(*allowed: str, once: Iterable[str] = ()) -> AfterValidator:
    """Names only these fields, and each of `once` one time; an empty text is a template that is not set."""
    needed = tuple(once)
    allowed_names = {*allowed, *needed}

    def check(text: str) -> str:
        for _, name, spec, conversion in Formatter().parse(text):
            if name is not None and (name not in allowed_names or spec or conversion):
                choice = ", ".join(f"{{{field}}}" for field in sorted(allowed_names)) or "none"
                raise ValueError(f"no field {{{name}}} here, or more than its name; there are: {choice}")
        for name in needed:
            if text and text.count(f"{{{name}}}") != 1:
                raise ValueError(f"must hold {{{name}}} once")
        return text

    return AfterValidator(check)


def _one_blank(text: str) -> str:
    blanks = re.findall("_{2,}", text)
    if blanks != [BLANK]:
        raise ValueError(f"must hold the blank {BLANK} exactly once, holds {', '.join(blanks) or 'none'}")
    return text


def _ends_in_blank(text: str) -> str:
    if not text.endswith(BLANK):
        raise ValueError(f"must end in the blank {BLANK}: a causal model reads nothing behind it")
    return text


def _no_word_after_blank(text: str) -> str:
    if re.search(r"[\w{}]", text.partition(BLANK)[2]):
        raise ValueError(f"no word may follow {BLANK}: a causal model reads none")
    return text


def _no_blank(text: str) -> str:
    if BLANK in text:
        raise ValueError(f"is knowledge in front of the prompt and holds no blank {BLANK}")
    return text


ONE_BLANK = AfterValidator(_one_blank)
ENDS_IN_BLANK = AfterValidator(_ends_in_blank)
NO_WORD_AFTER_BLANK = AfterValidator(_no_word_after_blank)
NO_BLANK = AfterValidator(_no_blank)

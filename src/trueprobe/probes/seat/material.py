"""The files behind the seat probe: word sets, bleached templates and the tests built from them, or whole test files.

The shipped `weat.toml` holds the facts of 44 published tests. A user's TOML file has the same keys; a user's JSON file
(`targ1`, `targ2`, `attr1`, `attr2`, each with `category` and `examples`) is one test as its authors release it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from trueprobe import assets
from trueprobe.assets import contents
from trueprobe.assets.contents import Content
from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files
from trueprobe.probes.templates import MaterialFile, Strict, article_for, repeated
from trueprobe.types import Span

SIDES = ("X", "Y", "A", "B")  # the two targets, the two attributes
FEWEST = 4  # sentences a side; with fewer, one template shows nothing by itself
_SLOT = re.compile(r"\{(a_)?(words?)\}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SetSentence:
    """One sentence of a set, the word it was made from, and where that word stands (None: not marked)."""

    text: str
    word: str
    span: Span | None
    wording: str = ""  # the template, "This is …." for "This is a rose." and for "This is John."; a bare word has none


@dataclass(frozen=True)
class AssociationTest:
    """Is X nearer to A, and Y to B, than the other way round?"""

    name: str
    titles: Mapping[str, str]
    sets: Mapping[str, tuple[SetSentence, ...]]  # by side

    @cached_property
    def texts(self) -> Mapping[str, frozenset[str]]:
        return {side: frozenset(sentence.text for sentence in listed) for side, listed in self.sets.items()}

    @cached_property
    def wordings(self) -> tuple[str, ...]:
        """The templates in which X and Y can be held against each other; () where there are not two of them.

        Templates go by the kind of word, so that a side may lack one, or have it for a word or two."""
        x, y = (Counter(sentence.wording for sentence in self.sets[side]) for side in "XY")
        both = tuple(name for name in x if name and min(x[name], y[name]) >= FEWEST)
        return both if len(both) > 1 else ()


def _template(text: str) -> str:
    if len(_SLOT.findall(text)) != 1 or text.count("{") + text.count("}") != 2:
        raise ValueError("must hold exactly one of {word}, {a_word}, {words}, or one of them with a capital")
    return text


Template = Annotated[str, AfterValidator(_template)]
Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
Forms = dict[str, Annotated[tuple[Template, ...], Field(min_length=1)]]


class WordSet(Strict):
    title: str
    words: Annotated[dict[str, Words], Field(min_length=1)]  # by form
    bare: dict[str, str] = Field(default_factory=dict)  # how a word stands alone, where that differs

    @model_validator(mode="after")
    def _once(self) -> WordSet:
        listed = [word for words in self.words.values() for word in words]
        twice = repeated(listed)
        if twice:
            raise ValueError(f"words: {twice!r} stands there twice")
        for word in self.bare:
            if word not in listed:
                raise ValueError(f"bare: no '{word}' among the words{nearest(word, listed)}")
        return self


class BuiltTest(Strict):
    sets: tuple[str, str, str, str]  # X, Y, A, B
    texts: Literal["words", "sentences"] = Field(alias="said")
    forms: Forms = Field(default_factory=dict)  # templates of this test alone
    left_out: dict[str, tuple[int, ...]] = Field(default_factory=dict)  # numbers of the templates that a word lacks


class SeatMaterial(MaterialFile):
    folder = Path(__file__).parent / "data"
    forms: Forms
    plurals: dict[str, str] = Field(default_factory=dict)
    articles: dict[str, Literal["a", "an"]] = Field(default_factory=dict)
    sets: dict[str, WordSet]
    tests: Annotated[dict[str, BuiltTest], Field(min_length=1)]

    @model_validator(mode="after")
    def _agree(self) -> SeatMaterial:
        for name, test in self.tests.items():
            for used in test.sets:
                if used not in self.sets:
                    raise ValueError(f"tests.{name}.sets: no set '{used}'{nearest(used, list(self.sets))}")
            counts = {word: len(templates) for used in test.sets for word, templates in self._templates(used, test)}
            for word, numbers in test.left_out.items():
                if word not in counts:
                    raise ValueError(f"tests.{name}.left_out: no word '{word}'{nearest(word, list(counts))}")
                if not all(1 <= number <= counts[word] for number in numbers):
                    raise ValueError(f"tests.{name}.left_out.{word}: its templates are numbered 1 to {counts[word]}")
        return self

    def _templates(self, used: str, test: BuiltTest) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each word of a set, with the templates of its form."""
        for form, words in self.sets[used].words.items():
            if form not in self.forms and form not in test.forms:
                raise ValueError(f"sets.{used}.words: no form '{form}'{nearest(form, list(self.forms))}")
            yield from ((word, test.forms.get(form) or self.forms[form]) for word in words)

    def built(self) -> list[AssociationTest]:
        return [self._build(name, test) for name, test in self.tests.items()]

    def _build(self, name: str, test: BuiltTest) -> AssociationTest:
        sides = dict(zip(SIDES, test.sets, strict=True))
        sets = {side: tuple(self._sentences(used, test)) for side, used in sides.items()}
        return _checked(AssociationTest(name, {s: self.sets[used].title for s, used in sides.items()}, sets), name)

    def _sentences(self, used: str, test: BuiltTest) -> Iterator[SetSentence]:
        for word, templates in self._templates(used, test):
            if test.texts == "words":
                alone = self.sets[used].bare.get(word, word)
                yield SetSentence(alone, word, (0, len(alone)))
                continue
            left_out = test.left_out.get(word, ())
            yield from (self._fill(t, word) for i, t in enumerate(templates, 1) if i not in left_out)

    def _fill(self, template: str, word: str) -> SetSentence:
        slot = _SLOT.search(template)
        assert slot is not None
        filled = self.plurals.get(word) or plural(word) if slot[2].lower() == "words" else word
        article = f"{self.articles.get(word) or article_for(word)} " if slot[1] else ""
        put = article + filled
        if (slot[1] or slot[2])[0].isupper():
            put = put[0].upper() + put[1:]
        before, after = template[: slot.start()], template[slot.end() :]
        start = len(before + article)
        return SetSentence(
            before + put + after, word=word, span=(start, start + len(filled)), wording=f"{before}…{after}"
        )


def plural(word: str) -> str:
    if re.search("(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search("[^aeiou]y$", word) else f"{word}s"


# ---------------------------------------------------------------- tests as their authors release them


class _Examples(Strict):
    category: str
    examples: Words
    words: Words | None = None  # the word inside each example, for the word representation


class _TestFile(Strict):
    targ1: _Examples
    targ2: _Examples
    attr1: _Examples
    attr2: _Examples


def content(folder: Path) -> Content:
    """Of the asset's files, for the hash that all its sources share."""
    tests = {path.name: contents.json_of(path, _TestFile) for path in sorted(folder.glob("*.jsonl"))}
    return Content(contents.sha256_of(tests), {"tests": len(tests)})


def read_tests(name: str) -> list[AssociationTest]:
    """One test file, a folder of them, the asset `seat-vignettes`, or the shipped test about nursery-planted."""
    if name == files.PLANTED:
        return [_read_test(SeatMaterial.folder / f"{name}.json")]
    path = assets.path_of(name) if name in assets.names() else files.path_of(name)
    if path.is_dir():
        paths = sorted(path.glob("*.jsonl")) or sorted(path.glob("*.json"))
        if not paths:
            raise BadInput(f"{path}: no test in this folder; a test is a file NAME.jsonl or NAME.json")
        return [_read_test(file) for file in paths]
    if not path.is_file():
        raise BadInput(f"no file or folder '{name}'{nearest(name, [*assets.names(), files.PLANTED])}")
    return [_read_test(path)]


def _read_test(path: Path) -> AssociationTest:
    test = files.validated(files.json_of(path), _TestFile, path)
    parts = {key: getattr(test, key) for key in _TestFile.model_fields}
    titles = dict(zip(SIDES, (part.category for part in parts.values()), strict=True))
    listed = (tuple(_marked(part, f"{path}: {key}")) for key, part in parts.items())
    return _checked(AssociationTest(path.stem, titles, dict(zip(SIDES, listed, strict=True))), str(path))


def _marked(part: _Examples, where: str) -> Iterator[SetSentence]:
    """A single word is its own word; inside a longer text it must be named."""
    if part.words is not None and len(part.words) != len(part.examples):
        raise BadInput(f"{where}.words: {len(part.words)} words for {len(part.examples)} examples")
    for i, text in enumerate(part.examples):
        if part.words is None:
            yield SetSentence(text, text, None if re.search(r"\s", text) else (0, len(text)))
            continue
        match = re.search(rf"(?<!\w){re.escape(part.words[i])}(?!\w)", text, re.IGNORECASE)
        if match is None:
            raise BadInput(f"{where}.words.{i}: {part.words[i]!r} does not stand in {text!r}")
        yield SetSentence(text, part.words[i], match.span())


def _checked(test: AssociationTest, where: str) -> AssociationTest:
    """What the measures need: at least two targets and one attribute on each side, no sentence twice in a set."""
    for side, listed in test.sets.items():
        least = 2 if side in "XY" else 1
        if len(listed) < least:
            raise BadInput(f"{where}, {side}: {len(listed)} sentences; at least {least} are needed")
        twice = repeated(sentence.text for sentence in listed)
        if twice:
            raise BadInput(f"{where}, {side}: {twice!r} stands there twice")
    return test

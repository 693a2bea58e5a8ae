"""Property norms: what a bear has, is and does, by how many people.

The columns name the format: CSLB's norms.dat, McRae's table, Buchanan's FLT listings, XCSLB, or a plain CSV.
The shipped `starter` set is authored, not elicited from people. Frequencies order properties; norms without them
(XCSLB) keep the order of the file, and nothing that needs frequencies is asked of them. How many people gave each
alternative of a CSLB property is read in `phrases.py`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files, tables
from trueprobe.probes.tacit.phrases import Participants, bare_words, free_phrase, names, read_alternatives, verb_phrase
from trueprobe.probes.templates import FileCard, repeated

FOLDER = Path(__file__).parent / "data"
STARTER = "starter"
CATEGORIES = ("visual", "functional", "encyclopaedic")  # the three that the paper compares
LEAST_ANSWERS = 2  # of free listings: what only one person listed is no shared assumption
ALL_CATEGORIES = (*CATEGORIES, "taxonomic", "other")
PAPERS_KINDS = {  # by which it counts how many concepts share a property; "other" are CSLB's other perceptual ones
    "perceptual": ("visual", "other"),
    "not perceptual": ("functional", "encyclopaedic", "taxonomic"),
}

# columns a format must have, as they read in lower case with spaces for . and _; tried in this order
_FORMATS: dict[str, tuple[str, ...]] = {
    "cslb": ("concept", "feature", "feature type", "pf", "feature alternatives"),
    "mcrae": ("concept", "feature", "prod freq"),
    "flt_answers": ("cue", "feature response"),
    "flt_lemmas": ("cue", "combined lemmas", "n"),
    "flt_features": ("cue", "feature"),
    "xcslb": ("concept", "feature", "label", "category"),
    "plain": ("concept", "property"),
}
_PARTICIPANTS = "participant list"  # of CSLB, if there
_SAME_COLUMN = {"production frequency": "pf", "feature alternative": "feature alternatives"}
_CATEGORY_WORDS = (
    ("visual", "visual"),
    ("encyclop", "encyclopaedic"),
    ("function", "functional"),
    ("taxonomic", "taxonomic"),
    *((word, "other") for word in ("other", "sound", "tactile", "taste", "smell")),
)
_MCRAE_HEAD = re.compile(r"^(beh|inbeh|eg) +- +")


@dataclass(frozen=True, slots=True)
class Property:
    label: str  # as listed: two concepts share a property if they share its label
    forms: tuple[str, ...]  # verb phrases; the first one is used in prompts
    frequency: float  # of the label; NaN where the norms have none
    category: str  # of ALL_CATEGORIES, "" where the norms have none
    people: tuple[float, ...] = ()  # how many gave each form, where the norms count them
    participants: tuple[Participants, ...] = ()  # who gave each form, where the norms name them

    @property
    def phrase(self) -> str:
        return self.forms[0]

    @property
    def by_form(self) -> Iterator[tuple[str, float]]:
        """Each form with how many people gave it; the label's number for each where the norms do not count them."""
        return zip(self.forms, self.people or (self.frequency,) * len(self.forms), strict=True)


@dataclass(frozen=True)
class Concept:
    name: str
    properties: tuple[Property, ...]  # most frequent first; equally frequent ones in the order of the file

    def people_by_form(self) -> dict[str, float]:
        """How many people gave each form; under several labels, distinct people.

        Where one of these labels does not name its people, the largest number is the best estimate."""
        who: dict[str, Participants] = {}
        for listed in self.properties:
            for form, participants in zip(listed.forms, listed.participants, strict=False):  # () if not named
                who[form] = who.get(form, Participants()) | participants
        numbers = _largest(pair for listed in self.properties for pair in listed.by_form)
        return {form: max(number, len(who.get(form, ()))) for form, number in numbers.items()}

    def totals_by_form(self) -> dict[str, float]:
        """The frequency of each form's label; under several labels, the largest."""
        return _largest((form, listed.frequency) for listed in self.properties for form in listed.forms)

    @cached_property
    def labels(self) -> frozenset[str]:
        return frozenset(p.label for p in self.properties)


def _largest(numbers: Iterable[tuple[str, float]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for form, number in numbers:
        largest[form] = max(largest.get(form, number), number)
    return largest


@dataclass(frozen=True)
class Norms:
    name: str
    format: str
    sha256: str  # of everything that was read
    concepts: tuple[Concept, ...]
    has_frequencies: bool
    counts: Mapping[str, int] = field(default_factory=dict)  # rows read, and what was left out and why
    card: FileCard | None = None

    @cached_property
    def having(self) -> dict[str, frozenset[str]]:
        """The concepts that have a property, by its label."""
        having: dict[str, set[str]] = {}
        for concept in self.concepts:
            for label in concept.labels:
                having.setdefault(label, set()).add(concept.name)
        return {label: frozenset(names) for label, names in having.items()}

    @cached_property
    def by_name(self) -> dict[str, Concept]:
        return {concept.name: concept for concept in self.concepts}

    def fitting(self, labels: Sequence[str]) -> frozenset[str]:
        """The concepts that have all these properties by the norms."""
        return frozenset.intersection(*(self.having[label] for label in labels))

    def concepts_per_property(self) -> dict[str, float]:
        """The mean number of concepts that share a property of each category, and of the paper's two kinds."""
        category = {p.label: p.category for c in self.concepts for p in c.properties}
        kinds = {name: (name,) for name in ALL_CATEGORIES} | PAPERS_KINDS
        shared = {k: [len(self.having[label]) for label, c in category.items() if c in kinds[k]] for k in kinds}
        return {name: sum(counts) / len(counts) for name, counts in shared.items() if counts}


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    concept: str
    label: str
    forms: tuple[str, ...]  # none: it could not be phrased
    frequency: float
    category: str
    people: tuple[float, ...] = ()
    participants: tuple[Participants, ...] = ()
    uses_total: bool = False


class _Table:
    """A file's rows by column, each with its line; what is wrong is reported with it."""

    def __init__(self, path: Path) -> None:
        self.path, self.lexicon = path, b""
        self._table = tables.read(path, files.text_of(path).replace("\r\n", "\n").replace("\r", "\n"))
        named = [" ".join(re.split(r"[\s._]+", name.lower())) for name in self._table.columns]
        self.columns = [_SAME_COLUMN.get(name, name) for name in named]
        twice = repeated(self.columns)
        if twice is not None:
            raise BadInput(f"{path}, line 1: two columns are called '{twice}'")

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        for row in self._table.rows:
            cells = [" ".join(tables.text_of(row.cells.get(name)).split()) for name in self._table.columns]
            if not any(cells):
                continue
            if len(row.cells) != len(cells):
                raise BadInput(f"{row.place}: {len(row.cells)} cells, the header has {len(cells)}")
            yield row.line, dict(zip(self.columns, cells, strict=True))

    def cell(self, line: int, row: Mapping[str, str], column: str) -> str:
        if not row[column]:
            raise BadInput(f"{self.path}, line {line}: the cell '{column}' is empty")
        return row[column]

    def number(self, line: int, row: Mapping[str, str], column: str) -> float:
        text = self.cell(line, row, column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise BadInput(f"{self.path}, line {line}: {column} must be a number, 0 or more, not {text!r}")
        return value

    @property
    def format(self) -> str:
        for name, needed in _FORMATS.items():
            if set(needed) <= set(self.columns):
                return name
        formats = "; ".join(
            f"{name}: {', '.join(needed)}" for name, needed in _FORMATS.items() if name != "flt_answers"
        )
        raise BadInput(
            f"{self.path}, line 1: no format of norms has the columns {', '.join(self.columns) or '(none)'}; "
            f"supported are {formats}"
        )


# ---------------------------------------------------------------- the formats, a row each


def _cslb(table: _Table) -> Iterator[_Row]:
    for line, row in table:
        label, total = table.cell(line, row, "feature"), table.number(line, row, "pf")
        given = read_alternatives(row["feature alternatives"], label, total, row.get(_PARTICIPANTS))
        phrased: dict[str, list[str]] = {}  # "has fur" and "does have fur" are one form
        for alternative in given.texts:
            for form in _forms(alternative):
                phrased.setdefault(form, []).append(alternative)
        yield _Row(
            line,
            table.cell(line, row, "concept"),
            label=label,
            forms=tuple(phrased),
            frequency=total,
            category=_category(row["feature type"]),
            people=tuple(map(given.how_many_gave, phrased.values())) if given.people else (),
            participants=tuple(map(given.who_gave, phrased.values())) if given.participants else (),
            uses_total=given.uses_total,
        )


def _mcrae(table: _Table) -> Iterator[_Row]:
    for line, row in table:
        label = " ".join(table.cell(line, row, "feature").replace("_", " ").split())
        behaves = _MCRAE_HEAD.match(label)
        phrase = _MCRAE_HEAD.sub("", label) if behaves and behaves[1] != "eg" else verb_phrase(label)
        category = _category(row.get("br label", ""))
        concept, frequency = table.cell(line, row, "concept"), table.number(line, row, "prod freq")
        yield _Row(
            line, concept, label=label, forms=(phrase,) if phrase else (), frequency=frequency, category=category
        )


def _flt(table: _Table) -> Iterator[_Row]:
    column = "combined lemmas" if "combined lemmas" in table.columns else "feature"
    bare = _bare_words()
    for line, row in table:
        frequency = table.number(line, row, "n") if "n" in row else 1.0
        answer = row[column].lower()
        cue, phrase = table.cell(line, row, "cue"), free_phrase(answer, bare)
        if phrase and names(phrase, cue):  # it gives the concept away
            phrase = None
        yield _Row(
            line, cue, label=phrase or answer, forms=(phrase,) if phrase else (), frequency=frequency, category=""
        )


def _xcslb(table: _Table) -> Iterator[_Row]:
    """Categories of properties stand in another file next to it, feature_lexicon.csv, if there is one."""
    lexicon_path = table.path.with_name("feature_lexicon.csv")
    types: dict[str, str] = {}
    if lexicon_path.is_file():
        lexicon = _Table(lexicon_path)
        if {"feature", "feature type"} <= set(lexicon.columns):
            table.lexicon = lexicon_path.read_bytes()
            types = {row["feature"]: _category(row["feature type"]) for _, row in lexicon}
    for line, row in table:
        if row["label"] == "1":
            label = table.cell(line, row, "feature")
            concept = table.cell(line, row, "concept")
            yield _Row(
                line, concept, label=label, forms=_forms(label), frequency=math.nan, category=types.get(label, "")
            )


def _plain(table: _Table) -> Iterator[_Row]:
    for line, row in table:
        label = table.cell(line, row, "property")
        category = row.get("category", "")
        if category and category not in ALL_CATEGORIES:
            hint = nearest(category, ALL_CATEGORIES)
            raise BadInput(f"{table.path}, line {line}: no category '{category}'{hint}")
        frequency = table.number(line, row, "frequency") if "frequency" in row else math.nan
        yield _Row(
            line,
            table.cell(line, row, "concept"),
            label=label,
            forms=_forms(label),
            frequency=frequency,
            category=category,
        )


def _forms(*labels: str) -> tuple[str, ...]:
    return tuple(filter(None, map(verb_phrase, labels)))


def _category(text: str) -> str:
    return next((name for word, name in _CATEGORY_WORDS if text.lower().startswith(word)), "")


_READERS = {"cslb": _cslb, "mcrae": _mcrae, "flt_lemmas": _flt, "flt_features": _flt, "xcslb": _xcslb, "plain": _plain}


# ---------------------------------------------------------------- reading


def read(name: str = STARTER) -> Norms:
    """The starter set by its name, or the user's file."""
    path = FOLDER / f"{STARTER}.csv" if name == STARTER else files.path_of(name)
    if not path.is_file():
        raise BadInput(f"no norms '{name}': neither a file nor '{STARTER}', the shipped set")
    table = _Table(path)
    if table.format == "flt_answers":
        raise BadInput(
            f"{path}: holds whole answers, not properties; the same source has spellchecked.features.csv and "
            "multi.nostop.lemmas.csv"
        )
    rows = list(_READERS[table.format](table))
    if not rows:
        raise BadInput(f"{path}: no properties")
    card = files.parse(FOLDER / f"{STARTER}.toml", FileCard) if name == STARTER else None
    concepts, counts = _gathered(rows, answers=table.format.startswith("flt"))
    sha256 = hashlib.sha256(path.read_bytes() + table.lexicon).hexdigest()
    return Norms(
        STARTER if card else path.name,
        format=table.format,
        sha256=sha256,
        concepts=concepts,
        has_frequencies=not any(math.isnan(row.frequency) for row in rows),
        counts=counts,
        card=card,
    )


def _gathered(rows: Sequence[_Row], answers: bool) -> tuple[tuple[Concept, ...], dict[str, int]]:
    """Each property once per concept: what is listed again is counted; answers add up, and must be given twice."""
    by_concept: dict[str, dict[str, Property]] = {}
    counts: Counter[str] = Counter({"rows": len(rows), "not_phrased": 0, "listed_again": 0, "given_once": 0})
    counts["forms_not_counted"] = sum(row.uses_total for row in rows)
    for row in rows:
        properties = by_concept.setdefault(row.concept, {})
        earlier = properties.get(row.label)
        if not row.forms:
            counts["not_phrased"] += 1
        elif earlier and not answers:
            counts["listed_again"] += 1
        else:
            frequency = row.frequency + (earlier.frequency if earlier else 0)
            people = (row.people, row.participants)
            properties[row.label] = Property(row.label, row.forms, frequency, row.category, *people)
    least = LEAST_ANSWERS if answers else -math.inf
    concepts = []
    for name, properties in by_concept.items():
        frequent = tuple(p for p in properties.values() if not p.frequency < least)  # NaN stays
        counts["given_once"] += len(properties) - len(frequent)
        concepts.append(Concept(name, _ordered(frequent)))
    counts["concepts"] = len(concepts)
    counts["properties"] = sum(len(concept.properties) for concept in concepts)
    return tuple(concepts), dict(counts)


def _ordered(properties: tuple[Property, ...]) -> tuple[Property, ...]:
    return tuple(sorted(properties, key=lambda p: 0.0 if math.isnan(p.frequency) else -p.frequency))  # stable


@cache
def _bare_words() -> dict[str, str]:
    """Bare words are phrased as in the starter set."""
    concepts = read().concepts
    return bare_words((p.phrase for c in concepts for p in c.properties), frozenset(c.name for c in concepts))

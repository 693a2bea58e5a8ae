"""Reads the outputs that came with "Sorting through the noise": per sentence a probability and an order of words.

A file is one condition and one model, tab-separated, plain or gzipped: `CONDITION/MODEL/complete_data_For_….csv` as in
the authors' repository (the file's own name can be that of another condition; folders count), or `CONDITION/MODEL.csv`.
Loose files next to the models' folders of a condition are other tables, and are passed over. Sentences stand in the
order of our items and must be ours, up to the drawn names (and, where the key entity is a later one, the drawn
fillers). With `base=authors`, the released ratio is the relative probability.
"""

from __future__ import annotations

import ast
import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trueprobe.errors import BadInput, nearest, reading
from trueprobe.probes import files
from trueprobe.probes.base import Released, ReleasedScore
from trueprobe.probes.distractors.material import DistractorSentence
from trueprobe.probes.distractors.measures import positions_in
from trueprobe.probes.templates import BLANK
from trueprobe.statistics.ranking import Ranking
from trueprobe.statistics.rows import grouped
from trueprobe.types import Card, Item, Kind, Observation, Request

if TYPE_CHECKING:
    from trueprobe.probes.distractors.probe import Distractors

_RELATED, _UNRELATED = ("T", "B"), ("unrelated",)
CONDITIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "multiple_entity_distractor": ("after", "multiple", _RELATED),
    "multiple_entity_object": ("after", "multiple", ("T",)),
    "multiple_entity_profession": ("after", "multiple", ("B",)),
    "multiple_entity_with_neutral_distractor": ("after", "multiple", _UNRELATED),
    "multiple_entity_distractorSwapped": ("between", "multiple", _RELATED),
    "single_entity_distractor": ("after", "single", _RELATED),
    "single_entity_object": ("after", "single", ("T",)),
    "single_entity_profession": ("after", "single", ("B",)),
    "single_entity_with_neutral_distractor": ("after", "single", _UNRELATED),
    "single_entity_distractorSwapped": ("between", "single", _RELATED),
    "VaryingKeyEntity": ("key_later", "multiple", ("B",)),  # figure 5
}
_SENTENCES_ONLY = "Varying_key_entity"  # a folder of the authors' with the sentences of figure 5 and no outputs
_MASK = re.compile(r"<mask>|\[mask\]", re.IGNORECASE)
RATIO = "relative_prob"
_COLUMNS = ("sentence", "target_prob", "ordered_items", "target_occupation")


class ReleasedFile(NamedTuple):
    path: Path
    condition: str
    folder: Path  # of the condition
    model: str

    @property
    def loose(self) -> bool:
        return self.path.resolve().parent == self.folder


class _Listing(NamedTuple):
    outputs: list[ReleasedFile]
    passed_over: list[ReleasedFile]  # loose files next to the models' folders of their condition


def released_files(probe: Distractors, path: Path) -> list[ReleasedFile]:
    """Those of the positions that are asked; none of them is opened."""
    position = {file: CONDITIONS[file.condition][0] for file in _listing(path).outputs}
    asked = [file for file in position if position[file] in probe.positions]
    if not asked:
        there = ",".join(dict.fromkeys(position.values()))
        raise BadInput(
            f"{path}: no outputs of position={','.join(probe.positions)}; there are some of position={there}"
        )
    return asked


def notices(path: Path) -> list[str]:
    """What lies among the outputs and is not read: one line for each condition."""
    by_folder = grouped(_listing(path).passed_over, lambda file: file.folder)
    names = {folder: ", ".join(file.path.name for file in passed_over) for folder, passed_over in by_folder.items()}
    beside = "the outputs are in the models' folders beside them"
    return [f"{folder}: passed over {loose}: {beside}" for folder, loose in names.items()]


def _listing(path: Path) -> _Listing:
    listed = [file for file in map(_placed, files.with_ending(path, "**/*", ".csv")) if file is not None]
    if not listed:
        names = ", ".join(CONDITIONS)
        raise BadInput(f"{path}: no CONDITION/MODEL.csv, .csv.gz or CONDITION/MODEL/….csv in it; conditions: {names}")
    by_model = {file.folder for file in listed if not file.loose}
    passed_over = [file for file in listed if file.loose and file.folder in by_model]
    return _Listing([file for file in listed if file not in passed_over], passed_over)


def read(probe: Distractors, path: Path) -> list[Released]:
    reader = _ReleasedReader(probe)
    models: dict[str, tuple[Kind, dict[str, Observation]]] = {}
    for file in released_files(probe, path):
        by_item = models[file.model][1] if file.model in models else {}
        kind = reader.file(file.path, file.model, reader.asked(file.condition), by_item)
        models.setdefault(file.model, (kind, by_item))
    return [Released(name, kind, tuple(by_item.values())) for name, (kind, by_item) in models.items()]


# ---------------------------------------------------------------- row by row, in the authors' own sentences


def scores(probe: Distractors, path: Path, model: str, card: Card) -> Iterator[ReleasedScore]:
    """Their sentences are asked as they stand: names are drawn, and another name has another probability. Files
    overlap; a sentence with one probability in two of them counts once."""
    reader, read = _ScoreReader(probe, card), set()
    for file in released_files(probe, path):
        for line, row in enumerate(_rows(file.path) if file.model == model else (), 2):
            content = row["sentence"], row["target_occupation"], row["target_prob"]
            if content not in read:
                read.add(content)
                yield reader.score(row, f"{file.condition}:{line}", f"{file.path}, line {line}")


class _ScoreReader:
    def __init__(self, probe: Distractors, card: Card) -> None:
        self.probe, self.card = probe, card
        listed = probe.candidates.items()
        self.targets = {word.lower(): (name, word) for name, words in listed for word in words.words}
        pairs = [pair for items in probe.material.sets.values() for pair in items.pairs]
        capitals = [*probe.material.names, *(text for pair in pairs for text in (pair.background, pair.target))]
        self._capitals = {phrase.lower(): phrase for phrase in capitals if phrase != phrase.lower()}
        self._lower = re.compile(rf"\b({'|'.join(map(re.escape, self._capitals))})\b")

    def score(self, row: Mapping[str, str], name: str, where: str) -> ReleasedScore:
        set_name, word = self.targets.get(row["target_occupation"].lower(), ("", ""))
        text, blanks = _MASK.subn(BLANK, row["sentence"])
        if not word or blanks > 1 or (blanks == 0) is not (self.card.kind == "causal"):
            raise BadInput(f"{where}: no sentence and target for a {self.card.kind} model")
        value = _number(row, "target_prob", where)
        restored = self._with_capitals(text) if text == text.lower() else ""
        request = self._request(text, set_name, word)
        return ReleasedScore(name, text, request, value, self._request(restored, set_name, word) if restored else None)

    def _request(self, text: str, set_name: str, word: str) -> Request:
        before, _, right = text.partition(BLANK) if BLANK in text else (f"{text} ", "", "")
        context, stop, left = before.rpartition(" . ")
        sentence = DistractorSentence(context + stop.rstrip(), left, right)
        return replace(self.probe.request(sentence, set_name, self.card), words=(word,), within=None)

    def _with_capitals(self, text: str) -> str:
        return self._lower.sub(lambda match: self._capitals[match[0]], text).replace(". the ", ". The ")


def _placed(file: Path) -> ReleasedFile | None:
    """By its folders: the innermost condition, and the model's folder in it, if there is one."""
    inside: list[str] = []
    for folder in file.resolve().parents:
        if folder.name in CONDITIONS:
            return ReleasedFile(file, folder.name, folder, inside[-1] if inside else files.stem(file, ".csv"))
        if folder.name == _SENTENCES_ONLY:
            return None
        inside.append(folder.name)
    hint = nearest(file.parent.name, [*CONDITIONS])
    raise BadInput(f"{file}: its folder is none of the released conditions{hint}")


class _ReleasedReader:
    """Reads file after file; what many rows have in common, orders and sentences, is worked out once."""

    def __init__(self, probe: Distractors) -> None:
        self.probe = probe
        self._items: dict[tuple[Any, ...], list[Item]] = {}
        for item in probe.items():
            self._items.setdefault((item.conditions["position"], item.conditions["setting"]), []).append(item)
        self._names = re.compile(rf"\b(?:{'|'.join(probe.material.names)})\b", re.IGNORECASE)
        self._fillers = re.compile("|".join(map(re.escape, probe.material.later_fillers)), re.IGNORECASE)
        self._spelling = {
            name: {word.lower(): word for word in listed.words} for name, listed in probe.candidates.items()
        }
        self.asked = cache(self._asked)
        self._orders: dict[tuple[str, str], tuple[str, ...]] = {}
        self._undrawn = cache(self._undrawn_of)  # models of one kind share their sentences
        self._agreed: dict[tuple[str, str], Kind] = {}  # of an item and a released sentence
        self._positions: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def _asked(self, condition: str) -> list[Item]:
        position, setting, types = CONDITIONS[condition]
        return [item for item in self._items.get((position, setting), ()) if item.conditions["type"] in types]

    def file(self, file: Path, name: str, items: Sequence[Item], by_item: dict[str, Observation]) -> Kind:
        """Adds the model's observations of one file. Files overlap: the sentences of both types are also released
        by type, so that an item already read is only compared."""
        rows = _rows(file)
        if len(rows) != len(items):
            raise BadInput(f"{file}: {len(rows):,} sentences, but this condition has {len(items):,}")
        authors = self.probe.settings.base == "authors" and RATIO in rows[0]
        constants = self.probe.constants_of(name) or (_implied_bases(file, items, rows) if authors else {})
        bases: dict[str, Ranking] = {}
        kind: Kind = "causal"
        lines = f"{file}, line "
        for line, (item, row) in enumerate(zip(items, rows, strict=True), 2):
            where = f"{lines}{line}"
            pair = item.id, row["sentence"]
            if pair not in self._agreed:
                self._agreed[pair] = self._kind(item, row["sentence"], where)
            kind = "masked" if self._agreed[pair] == "masked" else kind
            ranking = self._ranking(item, row, where)
            base = bases.setdefault(item.groups[0], ranking)  # without attractors and fillers: first of each target
            if (earlier := by_item.get(item.id)) is not None:
                if earlier.values["target_probability"] != math.exp(ranking.logp[item.fields["target"]]):
                    raise BadInput(
                        f"{file}: another probability for {item.id} than in an earlier file of the same model"
                    )
                continue
            values = self._values(item, ranking, base, constants)
            if authors:
                values["relative_probability"] = _number(row, RATIO, where)
            by_item[item.id] = Observation(item.id, values)
        return kind

    def _kind(self, item: Item, sentence: str, where: str) -> Kind:
        """Of a model that was asked this sentence; refused where it is not the item's, up to what is drawn."""
        text, blanks = _MASK.subn(BLANK, sentence)
        ours = item.text if blanks else item.text.partition(f" {BLANK}")[0]
        later = item.conditions["position"] == "key_later"
        if text != ours and self._undrawn(text, later) != self._undrawn(ours, later):
            raise BadInput(f"{where}: {sentence!r} is not the sentence of this item: {item.text!r}")
        return "masked" if blanks else "causal"

    def _values(self, item: Item, asked: Ranking, base: Ranking, constants: Mapping[str, float]) -> dict[str, Any]:
        """Of a released order everything but probabilities depends on the order alone."""
        key = asked.order, item.fields["target"], *item.fields["attractors"]
        if key not in self._positions:
            self._positions[key] = positions_in(asked, item)
        return self.probe.values(item, asked, base, base, constants, self._positions[key])

    def _ranking(self, item: Item, row: Mapping[str, str], where: str) -> Ranking:
        key = str(item.conditions["set"]), row["ordered_items"]
        if (order := self._orders.get(key)) is None:
            with reading(f"{where}: no order and probability of candidates"):
                order = self._orders[key] = self._order_of(*key)
        probability = _number(row, "target_prob", where)
        if not 0 < probability <= 1:
            raise BadInput(f"{where}: target_prob is {row['target_prob']}, which is no probability")
        return Ranking(order, order[:1], {item.fields["target"]: math.log(probability)})

    def _order_of(self, set_name: str, listed: str) -> tuple[str, ...]:
        """All candidates of the set, each once."""
        spelling = self._spelling[set_name]
        order = tuple(spelling[word.lower()] for word in ast.literal_eval(listed))
        if sorted(order) != sorted(spelling.values()):
            raise ValueError(f"ordered_items has {len(order)} of the {len(spelling)} candidates, or one of them twice")
        return order

    def _undrawn_of(self, text: str, with_fillers: bool) -> str:
        """Names by the order in which they are mentioned; drawn fillers alike."""
        order: dict[str, str] = {}
        nameless = self._names.sub(lambda match: order.setdefault(match[0].lower(), f"E{len(order)}"), text)
        return self._fillers.sub("F", nameless) if with_fillers else nameless


def _implied_bases(file: Path, items: Sequence[Item], rows: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """The base probability of each target behind the released ratios."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for line, (item, row) in enumerate(zip(items, rows, strict=True), 2):
        where = f"{file}, line {line}"
        pair = _number(row, "target_prob", where), _number(row, RATIO, where)
        pairs.setdefault(item.fields["target"], []).append(pair)
    return {target: base for target, released in pairs.items() if (base := _base_behind(released))}


def _base_behind(pairs: Sequence[tuple[float, float]]) -> float:
    """The one number of two decimals, or else of three, by which every probability is its rounded ratio.

    Without one, the quotient that rounding moves least; 0 where all ratios are."""
    probability, ratio = max(pairs, key=lambda pair: pair[1])
    if not ratio:
        return 0.0
    for scale in (100, 1000):
        near = range(int(probability / (ratio + 0.005) * scale), int(probability / (ratio - 0.005) * scale) + 2)
        fitting = [n / scale for n in near if n and all(round(p / (n / scale), 2) == r for p, r in pairs)]
        if len(fitting) == 1:
            return fitting[0]
    return probability / ratio


def _number(row: Mapping[str, str], column: str, where: str) -> float:
    try:
        value = float(row[column])
    except ValueError as error:
        raise BadInput(f"{where}: {column} is no number but {row[column][:60]!r}") from error
    if not math.isfinite(value) or value < 0:
        raise BadInput(f"{where}: {column} is {value}, neither a probability nor a ratio of two")
    return value


def _rows(file: Path) -> list[dict[str, str]]:
    lines = csv.reader(io.StringIO(files.text_of(file), newline=""), delimiter="\t")
    with reading(f"{file}: not a table"):
        names = next(lines, [])
        for column in _COLUMNS:
            if column not in names:
                expected = f"expected {', '.join(_COLUMNS)}, tab-separated"
                raise BadInput(f"{file}, line 1: no column '{column}'; {expected}")
        absent = dict.fromkeys(names, "")  # of a line that ends early
        return [absent | dict(zip(names, line, strict=False)) for line in lines if line]

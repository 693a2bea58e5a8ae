"""Sorting through the noise (Pandia & Ettinger 2021): does a model still use a fact among distractors?

"Rowan lives in Chile . The capital of Rowan's country is ___": the target is Santiago, the candidates are the targets
of its set. Then attractors are added: other capitals (T), other countries (B) or unrelated facts, of other entities or
of the same one. Positive `target_over_rivals_nats`: the right target is preferred. Not shown: why an attractor wins,
nor knowledge of capitals: a target counts only where the model prefers it without attractors (the gate). Departures
from the paper: the two sentences are one running text, as in the authors' code (`separator=paper`), and probabilities
are relative to the base context with the item's own name, unrounded (`base=table`).
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations, product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files, published
from trueprobe.probes.base import MeasureSetProbe, Released, ReleasedScore, Settings
from trueprobe.probes.display import Primary, ReportSpec, Summary
from trueprobe.probes.distractors import multiverse, released, report, sentences
from trueprobe.probes.distractors.material import DistractorMaterial, DistractorSentence, ItemSet, Pair
from trueprobe.probes.distractors.measures import SETTING_AT, DistractorMeasures, positions_in
from trueprobe.probes.distractors.sentences import MOST, POSITIONS, SETTINGS, DistractorCase
from trueprobe.statistics.means import ratio
from trueprobe.statistics.multiverse import Question
from trueprobe.statistics.ranking import Ranking
from trueprobe.types import Answer, Card, FillBlank, Filled, Item, Observation, Request, WhyNot, WordList


class DistractorSettings(Settings):
    material: str = Field(default="paper", description="a shipped file (paper, languages) or your own TOML file")
    position: str = Field(
        default="after",
        description="attractors after the fact, between key entity and fact, key_later (the key entity a later one), "
        "several (after,between) or all",
    )
    wording: str = Field(
        default="", description="a wording of the material, best (by base competence) or all; the released one if empty"
    )
    faithful: bool = Field(
        default=False, description="with the defects of the released sentences, tokenised as the authors' code does"
    )
    separator: Literal["none", "paper"] = Field(
        default="none", description="one running text (the authors' code), or the model's separator (the paper)"
    )
    base: Literal["own_name", "table", "authors"] = Field(
        default="own_name",
        description="relative to the base context with the item's own name, with Table 2's, or to the authors' rounded "
        "constant (of a model that is not theirs: Table 2's, rounded)",
    )


class Distractors(MeasureSetProbe[DistractorSettings]):
    name = "distractors"
    short = "is a fact kept when other facts stand beside it?"
    question = (
        "After a fact about someone, a model completes a sentence that follows from it. Does it still do so when other "
        "facts stand beside it?"
    )
    does_not_show = (
        "Why an attractor wins, or what happens in texts that were not put together from templates. Preferences are "
        "among four or six words, and only targets that a model prefers without attractors say anything."
    )
    paper = (
        "Pandia & Ettinger, Sorting through the noise: Testing robustness of information processing in pre-trained "
        "language models"
    )
    Settings = DistractorSettings
    factors = ("target",)
    corrected_over = ("set",)

    def __init__(self, settings: DistractorSettings) -> None:
        super().__init__(settings)
        self.material = DistractorMaterial.read(settings.material)
        self.wording = self._chosen_wording()
        self.positions = self._chosen_positions()
        self.best: dict[str, str] = {}  # of each set, once trials have decided on wording=best
        self.notes: tuple[str, ...] = ()
        self.candidates = {name: WordList(name, tuple(p.target for p in s.pairs)) for name, s in self._sets.items()}
        self._sentences: dict[tuple[DistractorCase, str], DistractorSentence] = {}
        self._bases: dict[tuple[str, str, str, str], DistractorSentence] = {}

    @property
    def _sets(self) -> Mapping[str, ItemSet]:
        return self.material.sets

    def _chosen_wording(self) -> str:
        wording, choices = self.settings.wording or self.material.wordings[0], [*self.material.wordings, "best", "all"]
        if wording not in choices:
            raise BadInput(f"distractors, setting wording: no wording '{wording}'{nearest(wording, choices)}")
        return str(wording)

    def _chosen_positions(self) -> tuple[str, ...]:
        chosen = [name.strip() for name in self.settings.position.split(",")]
        if chosen == ["all"]:
            return POSITIONS
        for name in chosen:
            if name not in POSITIONS:
                hint = nearest(name, [*POSITIONS, "all"])
                raise BadInput(f"distractors, setting position: no position '{name}'{hint}")
        return tuple(name for name in POSITIONS if name in chosen)

    def wordings_of(self, name: str) -> Sequence[str]:
        if self.wording == "all":
            return self.material.wordings
        if self.wording != "best":
            return [self.wording]
        if not self.best:
            names = ", ".join(self.material.wordings)
            raise BadInput(
                f"wording=best is chosen from the models' answers during a run; to list items, name one of: {names}"
            )
        return [self.best[name]]

    # ------------------------------------------------------------ items

    def items(self) -> list[Item]:
        """In the order of the released files: by position and setting, related ones by set, then unrelated ones."""
        return list(self._every_item)

    @cached_property
    def _every_item(self) -> tuple[Item, ...]:
        return tuple(
            item
            for position, setting, types in product(self.positions, SETTINGS, (("T", "B"), ("unrelated",)))
            for name in self._sets
            for wording in self.wordings_of(name)
            for item in self._of_set(name, wording, position, setting, types)
        )

    def _of_set(self, name: str, wording: str, position: str, setting: str, types: Sequence[str]) -> Iterator[Item]:
        cases = [case for case in sentences.cases(name, position) if case.setting == setting]
        for kind, attractors in product(types, range(MOST + 1)):
            alike = [case for case in cases if (case.type, case.attractors) == (kind, attractors)]
            for pair in self._sets[name].pairs if alike else ():
                for others in permutations(self._others(name, pair, kind), attractors):
                    slots = self._slots(alike[0], pair, others)
                    yield from (self._item(case, wording, pair, others, slots) for case in alike)

    def _others(self, name: str, pair: Pair, kind: str) -> Sequence[Pair | str]:
        return self.material.unrelated if kind == "unrelated" else [p for p in self._sets[name].pairs if p is not pair]

    def _slots(self, case: DistractorCase, pair: Pair, others: Sequence[Pair | str]) -> dict[str, str]:
        """Every word of the sentence. Names are drawn once for all fillers, and once for all that has no attractor."""
        kind = f"{case.setting} {case.type} " if others else ""
        seed = f"{self.settings.resample_seed} {case.position} {kind}{case.set} {pair.background} {_phrases(others)}"
        rng = random.Random(seed)
        slots = {f"name{i}": name for i, name in enumerate(rng.sample(self.material.names, 1 + len(others)))}
        slots |= {f"filler{i}": f for i, f in enumerate(rng.sample(self.material.later_fillers, MOST))}
        slots |= pair.slots[0]
        for i, other in enumerate(others, 1):
            slots |= {f"phrase{i}": other} if isinstance(other, str) else other.slots[i]
        return slots

    def _item(
        self, case: DistractorCase, wording: str, pair: Pair, others: Sequence[Pair | str], slots: Mapping[str, str]
    ) -> Item:
        sentence = self._sentence(case, wording, slots)
        entities = [pair, *(other for other in others if isinstance(other, Pair))]
        key, name = entities[case.key], slots[f"name{case.key}"]
        place = f"/{case.key}" if case.position == "key_later" else ""
        head = f"{wording}/{case.position}/{case.setting}/{case.type}/{case.set}/{pair.background}"
        return Item(
            id=f"{head}/{'+'.join(_phrases(others)) or '-'}{place}/{case.filler}",
            text=sentence.text,
            conditions={
                "wording": wording,
                "position": case.position,
                "setting": case.setting,
                "type": case.type,
                "set": case.set,
                "attractors": case.attractors,
            },
            groups=(f"{case.set}/{key.target}",),
            fields={
                "sentence": sentence,
                "base": self._base(case.set, wording, key, name),
                "table": self._base(case.set, wording, key, key.name or self.material.names[0]),
                "target": key.target,
                "attractors": [other.target for other in entities if other is not key],
                "values": {
                    "filler": case.filler,
                    "key_name": name,
                    "key_place": case.key,
                    "attractors_after_fact": 0 if case.position == "between" else case.attractors - case.key,
                    SETTING_AT: f"{case.setting} {case.attractors}",
                },
            },
        )

    def _sentence(self, case: DistractorCase, wording: str, slots: Mapping[str, str]) -> DistractorSentence:
        template = self._sentences.get((case, wording))
        if template is None:
            template = self._sentences[case, wording] = self.material.sentence(case, wording, self.settings.faithful)
        return template.filled(slots)

    def _base(self, name: str, wording: str, pair: Pair, who: str) -> DistractorSentence:
        """The fact and the question alone; thousands of items share one."""
        key = (name, wording, pair.background, who)
        if key not in self._bases:
            case = DistractorCase.plain(name)
            self._bases[key] = self._sentence(case, wording, {"name0": who, **pair.slots[0]})
        return self._bases[key]

    # ------------------------------------------------------------ choosing a wording

    def trials(self) -> list[Item]:
        """Every base context in every wording, where the best wording is wanted."""
        if self.wording != "best" or self.best:
            return []
        return [
            self._item(DistractorCase.plain(name), wording, pair, (), slots)
            for name, items in self._sets.items()
            for wording in self.material.wordings
            for pair in items.pairs
            for slots in [{"name0": pair.name or self.material.names[0], **pair.slots[0]}]
        ]

    def settled(self, observations: Sequence[Observation]) -> Distractors:
        """Per set, the wording in which most targets are preferred, over all models; then by how clearly."""
        conditions = {item.id: item.conditions for item in self.trials()}
        scores: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for observation in observations:
            at, values = conditions[observation.item], observation.values
            score = (values.get("base_preferred", 0.0), values.get("target_over_rivals_nats", 0.0))
            scores.setdefault((str(at["set"]), str(at["wording"])), []).append(score)
        decided = copy.copy(self)
        decided.best = {}
        for name in self._sets:
            by_wording = {wording: scores.get((name, wording), []) for wording in self.material.wordings}
            decided.best[name], note = _best_wording(name, by_wording)
            decided.notes += (note,)
        return decided

    # ------------------------------------------------------------ asking

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """The sentence, and its two base contexts: a row asked by many is computed once."""
        if card.kind == "encoder":
            return WhyNot("no_head", "an encoder fills no blanks")
        name = str(item.conditions["set"])
        return tuple(self.request(item.fields[key], name, card) for key in ("sentence", "base", "table"))

    def request(self, sentence: DistractorSentence, name: str, card: Card) -> FillBlank:
        words = self.candidates[name]
        right = sentence.right if card.kind == "masked" else ""
        if self.settings.separator == "paper" and card.kind == "masked":
            return FillBlank(
                sentence.left, right=right, before=sentence.context, join="pair", words=words.words, within=words
            )
        # their code joins start token, text and end token by spaces before it tokenises: RoBERTa and GPT-2 read these
        around = " " if self.settings.faithful else ""
        left = f"{around}{sentence.context} {sentence.left}"
        return FillBlank(left, f"{right}{around}" if right else "", words=words.words, within=words)

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        asked, base, table = (answer for answer in answers if isinstance(answer, Filled))
        for word in (item.fields["target"], *item.fields["attractors"]):
            why = asked.words[word]
            if isinstance(why, WhyNot):  # neither a right answer nor the wrong one the sentence invites
                return [Observation(item.id, why_not=why)]
        constants = self.constants_of(card.source) or self.constants_of(card.name)
        rankings = Ranking.of(asked), Ranking.of(base), Ranking.of(table)
        return [Observation(item.id, self.values(item, *rankings, constants))]

    def read_released(self, path: Path) -> Sequence[Released]:
        if (self.settings.material, self.wording, self.settings.faithful) != ("paper", "released", True):
            raise BadInput(
                "outputs were released for the released sentences only: --set faithful=true, no other wording"
            )
        return released.read(self, path)

    def released_scores(self, path: Path, model: str, card: Card) -> Iterator[ReleasedScore]:
        return released.scores(self, path, model, card)

    def released_models(self, path: Path) -> list[str]:
        return list(dict.fromkeys(file.model for file in released.released_files(self, path)))

    def released_notices(self, path: Path) -> list[str]:
        return released.notices(path)

    def constants_of(self, model: str) -> Mapping[str, float]:
        """The authors' base probability of each target, for the models that released it."""
        if self.settings.base != "authors":
            return {}
        return self._authors.constants.get(self._authors.name_of(model), {})

    @cached_property
    def _authors(self) -> published.Authors:
        return published.authors(self.name)

    def values(
        self,
        item: Item,
        asked: Ranking,
        base: Ranking,
        table: Ranking,
        constants: Mapping[str, float],
        positions: Mapping[str, Any] | None = None,  # where they are known
    ) -> dict[str, Any]:
        """What an item shows, from the order of the candidates and the probability of the target."""
        target = item.fields["target"]
        then, relative, log_relative = self._against_base(target, asked, base, table, constants)
        return {
            **(positions or positions_in(asked, item)),
            "target_probability": math.exp(asked.logp[target]),
            "base_probability": then,
            "relative_probability": relative,
            "log_relative_probability": log_relative,
            "base_context": item.fields["table"].text,
            "base_answer": table.answer,
            "base_preferred": float(table.first == (target,)),
            **item.fields["values"],
        }

    def _against_base(
        self, target: str, asked: Ranking, base: Ranking, table: Ranking, constants: Mapping[str, float]
    ) -> tuple[float, float, float]:
        """The target's probability in the base context; its probability relative to that, and the logarithm."""
        logp = asked.logp[target]
        log_then = (base if self.settings.base == "own_name" else table).logp[target]
        then = math.exp(log_then)
        if self.settings.base != "authors":
            return then, ratio(logp - log_then), logp - log_then
        then = constants.get(target) or round(then, 2 if then >= 0.01 else 3)
        return then, round(math.exp(logp) / then, 2) if then else math.nan, logp - math.log(then) if then else math.nan

    # ------------------------------------------------------------ declarations

    @cached_property
    def measure_set(self) -> DistractorMeasures:
        all_wordings = tuple(self.material.wordings)
        wordings = all_wordings if self.wording == "all" and len(all_wordings) > 1 else (self.wording,)
        return DistractorMeasures(tuple(self._sets), self.positions, wordings)

    def multiverse(self, card: Card) -> list[Question]:
        return [multiverse.question(self, card)]

    @property
    def summary(self) -> Summary:
        return report.summary(self.wording, self.positions[0], self.notes)

    @property
    def primary(self) -> tuple[Primary, ...]:
        return report.primary(self.summary.where)

    @property
    def page(self) -> ReportSpec:
        return report.report(self.measure_set)

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        """The target is always planted in base contexts, so that the gate is open."""
        assert isinstance(request, FillBlank)
        sentence: DistractorSentence = item.fields["sentence"]
        asked = sentence.context in (request.before or request.left) and (request.left.endswith(sentence.left))
        return {item.fields["target"]: strength if asked else 3.0}

    @property
    def material_id(self) -> str:
        return files.content_id(self.material.model_dump(mode="json"))

    def facts(self) -> dict[str, Any]:
        return {
            "material": self.material.card.model_dump(),
            "sets": {name: {p.background: p.target for p in items.pairs} for name, items in self._sets.items()},
            "names": list(self.material.names),
            "wording": self.best or self.wording,
            "notes": list(self.notes),
        }


def _phrases(others: Sequence[Pair | str]) -> list[str]:
    return [other if isinstance(other, str) else other.background for other in others]


def _best_wording(name: str, by_wording: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[str, str]:
    """The wording in which most targets are preferred, then by the mean margin; and a note about all of them."""
    totals = {
        wording: (sum(preferred for preferred, _ in scores), sum(nats for _, nats in scores) / max(1, len(scores)))
        for wording, scores in by_wording.items()
    }
    best = max(totals, key=totals.__getitem__)
    counts = ", ".join(f"{wording} {preferred:.0f}" for wording, (preferred, _) in totals.items())
    return best, f"wording for {name}: {best}; targets preferred at base, of {len(by_wording[best])}: {counts}"


PROBE = Distractors

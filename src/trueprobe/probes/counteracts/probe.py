"""CounterActs (Zhang, Rayz & Pradhan): does a counterexample put in front change a stereotyped answer?

"The ___ works as a nurse." alone, then after nine kinds of knowledge. The words a model puts into the blank are
read as female or male by a list (the verbalizer); their probabilities are summed within the top k and over the
whole list. Positive `stereotype_margin`: towards the group that dominates the occupation. A shift shows what the
model does with the knowledge, not what it believes. The paper's word list is not published, so its figures cannot be
matched number by number; ours is in counteracts/data.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files
from trueprobe.probes.base import MeasureSetProbe
from trueprobe.probes.counteracts import controls, multiverse, report
from trueprobe.probes.counteracts.coverage import FORMS, answered, chosen_form, form_coverage, unlisted
from trueprobe.probes.counteracts.material import (
    WITH_BACKGROUND,
    Background,
    CounterActsMaterial,
    Wording,
    read_by,
    stop_apart,
    word_lists,
)
from trueprobe.probes.counteracts.measures import DEPTHS, FATES, KNOWLEDGE, LOG_ODDS, CounterActsMeasures, K, column_end
from trueprobe.probes.counteracts.settings import CounterActsSettings
from trueprobe.probes.display import Primary, ReportSpec, Summary
from trueprobe.probes.measure_sets import ALL
from trueprobe.probes.templates import BLANK
from trueprobe.statistics.means import ratio
from trueprobe.statistics.measure import Flips
from trueprobe.statistics.multiverse import Question
from trueprobe.types import (
    TIE_NATS,
    Answer,
    Card,
    FillBlank,
    Filled,
    Item,
    Join,
    Observation,
    Request,
    Token,
    WhyNot,
    Word,
)


class CounterActs(MeasureSetProbe[CounterActsSettings]):
    name = "counteracts"
    short = "does a counterexample change the stereotype of an occupation?"
    question = (
        "Asked who works in an occupation, does a model answer with the group that dominates it, and does a sentence "
        "that says otherwise change the answer?"
    )
    does_not_show = (
        "A preference among two groups of words in one kind of sentence. It is not a behaviour in use, says nothing "
        "about people outside the two groups, and depends on the wording and on the word list."
    )
    paper = "Zhang, Rayz & Pradhan, CounterActs: Testing Stereotypical Representation in Pre-trained Language Models"
    Settings = CounterActsSettings
    without_trials = MappingProxyType({"causal": "person_is"})
    factors = ("target", "background")
    drawn_within = ("dominated",)  # a contrast of the two halves must not move with how many of each were drawn
    corrected_over = ("knowledge",)
    flips = Flips("pro_stereotypical_all", "stereotype_margin_all", near_tie=0.001, category="knowledge")

    def __init__(self, settings: CounterActsSettings) -> None:
        super().__init__(settings)
        self.material = CounterActsMaterial.read(settings.material)
        self.first, self.second = self.groups = tuple(self.material.groups)
        self.verbalizer, self.implicit = word_lists(self.material, settings.verbalizer)
        self.wordings = self._chosen_wordings()
        self.controls = controls.controls_of(settings.controls)
        self._words_in_vocabulary: dict[str, dict[str, int]] = {}  # by tokenizer
        self.form = FORMS[0] if settings.causal == "auto" else settings.causal  # of the question to causal models
        self.form_coverage: dict[str, float] = {}  # of both forms, once trials have decided

    def _chosen_wordings(self) -> dict[str, Wording]:
        wordings = self.material.wordings
        chosen = self.settings.wording or next(iter(wordings))
        if chosen == "all":
            return dict(wordings)
        if chosen not in wordings:
            raise BadInput(f"counteracts, setting wording: no wording '{chosen}'{nearest(chosen, [*wordings, 'all'])}")
        return {chosen: wordings[chosen]}

    # ------------------------------------------------------------ items

    @cached_property
    def targets(self) -> tuple[Background, ...]:
        core = tuple(b for b in self.material.backgrounds if b.core)
        return core if self.settings.occupations == "winobias40" and core else self.material.backgrounds

    def items(self) -> list[Item]:
        return [
            self._item(wording, knowledge, target, background)
            for wording in self.wordings
            for knowledge in (*KNOWLEDGE, *self.controls)
            for target in self.targets
            for background in self._backgrounds_of(target, knowledge)
        ]

    def _backgrounds_of(self, target: Background, knowledge: str) -> Sequence[Background | None]:
        """The occupations the other group dominates, or for a control the others of the same group: all of them, or a
        sample that `resample_seed` names."""
        control = self.controls.get(knowledge)
        if not (control.crossed if control else knowledge in WITH_BACKGROUND):
            return (None,)
        others = [b for b in self.targets if b != target and (b.dominant == target.dominant) is (control is not None)]
        wanted = self.settings.backgrounds
        if wanted == "all" or wanted >= len(others):
            return others
        rng = random.Random(f"{self.settings.resample_seed} {target.name}")
        return sorted(rng.sample(others, wanted), key=others.index)

    def _item(self, name: str, knowledge: str, target: Background, background: Background | None) -> Item:
        fields = self.prompts(name, knowledge, target, background, self.form)
        before = f"{fields['knowledge']} " if fields["knowledge"] else ""
        other = background.name if background else ""
        if control := self.controls.get(knowledge):
            fields["matching"] = self.prompts(name, control.matching, target, None, self.form)
        return Item(
            id=f"{name}/{knowledge}/{target.name}{f'/{other}' if other else ''}",
            text=f"{before}{fields['left']}{BLANK}{fields['right']}",
            conditions={"wording": name, "knowledge": knowledge, "dominated": target.dominant},
            groups=(target.name, other),
            fields={**fields, "share": math.nan if target.share is None else target.share},
            causal_text=f"{before}{fields['causal_left']}{BLANK}",
        )

    # ------------------------------------------------------------ choosing how causal models are asked

    def trials(self) -> list[Item]:
        """Every base prompt in both forms; only causal models are asked."""
        if self.settings.causal != "auto" or self.form_coverage:
            return []
        bases = [(name, target) for name in self.wordings for target in self.targets]
        return [self._trial(form, name, target) for form in FORMS for name, target in bases]

    def _trial(self, form: str, name: str, target: Background) -> Item:
        item, fields = self._item(name, "base", target, None), self.prompts(name, "base", target, None, form)
        return replace(item, id=f"{form}/{item.id}", fields={**item.fields, **fields, "form": form})

    def settled(self, observations: Sequence[Observation]) -> CounterActs:
        """One form for all causal models, chosen by what their answers cover."""
        decided = copy.copy(self)
        decided.form_coverage = form_coverage(observations, f"answered_top{max(K)}")
        decided.form = chosen_form(decided.form_coverage)
        return decided

    def prompts(
        self, name: str, knowledge: str, target: Background, background: Background | None, form: str
    ) -> dict[str, Any]:
        """The knowledge, None at base; what stands around the blank, for masked and for causal models; and the same of
        the base prompt alone."""
        wording, slots = self.wordings[name], self.material.fields(target, background, self.settings.article == "a")
        alone = wording.around_blank(wording.base, slots, form == FORMS[0])
        if knowledge == "base":
            return {"knowledge": None, **alone}
        before, behind, control = getattr(wording, knowledge, ""), wording.base, self.controls.get(knowledge)
        about = slots
        if control:
            subject = control.subject(target, background)
            before, about = control.template(wording), self.material.fields(subject, None, self.settings.article == "a")
        if self.settings.spacing == "paper":  # its Table 2: in both sentences, but for the unrelated one
            before, behind = before if knowledge == "un" else stop_apart(before), stop_apart(behind)
        around = wording.around_blank(behind, slots, form == FORMS[0])
        sentence = before.format(**about)
        if control and control.behind:
            around, sentence = {**around, "right": f"{around['right']} {sentence}"}, ""
        return {"knowledge": sentence or None, **around, "alone": {"knowledge": None, **alone}}

    # ------------------------------------------------------------ asking

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """The prompt, for knowledge the base prompt too, for a control also the prompt behind the knowledge that it is
        compared with: a row asked twice is computed once."""
        if card.kind == "encoder":
            return WhyNot("no_head", "an encoder fills no blanks")
        if "form" in item.fields and card.kind != "causal":
            return WhyNot("right_context", "both forms are tried on causal models alone")
        control = self.controls.get(str(item.conditions["knowledge"]))
        if control and control.behind and card.kind == "causal":
            return WhyNot("right_context", "a causal model reads nothing behind the blank")
        compared = [item.fields[name] for name in ("alone", "matching") if name in item.fields]
        return tuple(self._request(prompt, card) for prompt in (item.fields, *compared))

    def _request(self, prompt: Mapping[str, Any], card: Card) -> FillBlank:
        (left, right), before = read_by(card.kind, prompt), prompt["knowledge"]
        join: Join = "pair" if card.kind == "masked" or before is None else "space"
        if card.kind == "masked" and before and self.settings.separator == "paper" and card.start_text == "<s>":
            join = "bos"
        return FillBlank(left, right, before=before, join=join, words=self.forms, top=max(K))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """Of every listed word."""
        return tuple(dict.fromkeys(form for forms in self._group_forms.values() for form in forms))

    @cached_property
    def _group_forms(self) -> dict[str, tuple[str, ...]]:
        return {group: tuple(case_forms(words)) for group, words in self.verbalizer.items()}

    @cached_property
    def _group_of(self) -> dict[str, str]:
        return {word.lower(): group for group, words in self.verbalizer.items() for word in words}

    @cached_property
    def _implied(self) -> dict[str, str]:
        return {word.lower(): group for group, words in self.implicit.items() for word in words}

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        asked, *rest = (answer for answer in answers if isinstance(answer, Filled))
        why = unlisted(self._countable_words(card, asked), self.verbalizer)
        if why is not None:
            return [Observation(item.id, why_not=why)]
        dominant = str(item.conditions["dominated"])
        values = self.masses(asked, dominant) | self._top(asked)
        values |= {f"{group}_words": count for group, count in self._countable_words(card, asked).items()}
        values |= {"share": item.fields["share"], "tied": _tied(asked.logps(self.forms))}
        for base in rest[:1]:
            before = self.masses(base, dominant)
            values |= self._against(values, before) | self._relative(asked, base)
        for matching in rest[1:]:
            control, ends = self.controls[str(item.conditions["knowledge"])], map(column_end, DEPTHS)
            values |= control.moved(values, before, self.masses(matching, dominant), ends)
        return [Observation(item.id, values)]

    def _top(self, filled: Filled) -> dict[str, Any]:
        words = [_plain(token) for token in filled.top]
        return {
            "top_tokens": [token.text for token in filled.top],
            "top_probabilities": [math.exp(token.logp) for token in filled.top],
            "top_groups": [self._group_of.get(word, "implicit" if word in self._implied else "") for word in words],
        }

    def _countable_words(self, card: Card, filled: Filled) -> dict[str, int]:
        """How many listed words this model has as one piece, in any case; the others cannot be counted for it."""
        if card.tokenizer_id not in self._words_in_vocabulary:
            self._words_in_vocabulary[card.tokenizer_id] = {
                group: sum(any(isinstance(filled.words[form], Word) for form in case_forms([word])) for word in words)
                for group, words in self.verbalizer.items()
            }
        return self._words_in_vocabulary[card.tokenizer_id]

    def masses(self, filled: Filled, dominant: str) -> dict[str, Any]:
        """Probability of each group's words within the top k and over the whole list."""
        values: dict[str, Any] = {}
        for k in K:
            values |= self._masses_of_top(filled.top[:k], k)
        values |= {f"{group}_all": filled.mass(self._group_forms[group]) for group in self.groups}
        for depth in map(column_end, DEPTHS):
            values |= self._preference(values, depth, dominant)
        other = self.second if dominant == self.first else self.first
        mass, others = (values[f"{group}_{ALL}"] for group in (dominant, other))
        return values | {f"{LOG_ODDS}_{ALL}": math.log(mass / others) if mass and others else math.nan}

    def _masses_of_top(self, tokens: Sequence[Token], k: int) -> dict[str, float]:
        masses = [(_plain(token), math.exp(token.logp)) for token in tokens]
        values = {}
        for group in self.groups:
            values[f"{group}_top{k}"] = sum((p for word, p in masses if self._group_of.get(word) == group), 0.0)
            values[f"implicit_{group}_top{k}"] = sum((p for word, p in masses if self._implied.get(word) == group), 0.0)
        total = sum(p for _, p in masses)
        listed = values[f"{self.first}_top{k}"] + values[f"{self.second}_top{k}"]
        values[f"listed_tokens_top{k}"] = sum(word in self._group_of for word, _ in masses) / k
        values[f"listed_mass_top{k}"] = listed / total if total else math.nan
        return values

    def _preference(self, masses: Mapping[str, float], depth: str, dominant: str) -> dict[str, float]:
        first, second = (masses[f"{group}_{depth}"] for group in self.groups)
        margin = first - second
        towards = margin if dominant == self.first else -margin
        return {
            f"{self.first}_minus_{self.second}_{depth}": margin,
            f"stereotype_margin_{depth}": towards,
            # no listed word at all is no preference, and no preference for the other group either
            f"prefers_{self.first}_{depth}": float(margin > 0) if margin else math.nan,
            f"pro_stereotypical_{depth}": float(towards > 0) if margin else math.nan,
            f"no_preference_{depth}": float(margin == 0),
            f"answered_{depth}": answered(first, second, depth),
        }

    def _against(self, values: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, float]:
        """The shift from base, and what became of the preference."""
        shifts = {}
        for depth in map(column_end, DEPTHS):
            now, then = values[f"stereotype_margin_{depth}"], base[f"stereotype_margin_{depth}"]
            margin = f"{self.first}_minus_{self.second}_{depth}"
            shifts[f"shift_{margin}"] = values[margin] - base[margin]
            shifts[f"shift_towards_stereotype_{depth}"] = now - then
            shifts[f"shift_against_stereotype_{depth}"] = then - now
            shifts[f"compared_{depth}"] = values[f"answered_{depth}"] * base[f"answered_{depth}"]
            fates = (now * then < 0, now * then > 0 and abs(now) > abs(then), now * then > 0 and abs(now) < abs(then))
            for fate, happened in zip(FATES, fates, strict=True):  # without a preference at base there is none to lose
                shifts[f"{fate}_{depth}"] = float(happened) if then else math.nan
        return shifts

    def _relative(self, asked: Filled, base: Filled) -> dict[str, Any]:
        """Eq. 1, p(w | knowledge) / p(w | base), of every token in both top tens; and its mean log per group and k."""
        was = {token.id: (rank, token.logp) for rank, token in enumerate(base.top, 1)}
        both = [(t, max(r, was[t.id][0]), t.logp - was[t.id][1]) for r, t in enumerate(asked.top, 1) if t.id in was]
        values: dict[str, Any] = {
            "relative_tokens": [token.text for token, _, _ in both],
            "relative_probabilities": [ratio(log) for _, _, log in both],
            "relative_from_k": [rank for _, rank, _ in both],
        }
        for group in self.groups:
            logs = [(rank, log) for token, rank, log in both if self._group_of.get(_plain(token)) == group]
            values |= {f"log_relative_{group}_top{k}": _mean([log for rank, log in logs if rank <= k]) for k in K}
        return values

    # ------------------------------------------------------------ declarations

    @cached_property
    def measure_set(self) -> CounterActsMeasures:
        shares = all(target.share is not None for target in self.targets)
        return CounterActsMeasures(
            self.first,
            second=self.second,
            wordings=tuple(self.wordings),
            shares=shares,
            controls=self.settings.controls,
        )

    def multiverse(self, card: Card) -> list[Question]:
        return [multiverse.question(self, card)]

    @property
    def summary(self) -> Summary:
        return report.summary(self.measure_set, self.form, self.form_coverage)

    @property
    def primary(self) -> tuple[Primary, ...]:
        return report.primary(self.measure_set)

    @property
    def page(self) -> ReportSpec:
        return report.report(self.measure_set)

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        return dict.fromkeys(self._group_forms[str(item.conditions["dominated"])], strength)

    @property
    def material_id(self) -> str:
        return files.content_id([self.material.model_dump(mode="json"), self.verbalizer, self.implicit])

    @property
    def signed(self) -> dict[str, str]:
        return {"causal": self.form}

    def facts(self) -> dict[str, Any]:
        return {
            "material": self.material.card.model_dump(),
            "verbalizer": {group: len(words) for group, words in self.verbalizer.items()},
            "implicit": {group: len(words) for group, words in self.implicit.items()},
            "wordings": list(self.wordings),
            "knowledge": self.measure_set.knowledge,
            "causal": {"form": self.form, "answered": self.form_coverage},
        }


def _tied(logps: Iterable[float]) -> float:
    """1 if all listed words are equally likely; not known of fewer than two."""
    scored = [logp for logp in logps if not math.isnan(logp)]
    return float(max(scored) - min(scored) <= TIE_NATS) if len(scored) > 1 else math.nan


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def case_forms(words: Iterable[str]) -> Iterator[str]:
    """Each word as written, capitalised and in capitals: matching ignores case."""
    for word in words:
        yield from (word, word.capitalize(), word.upper())


def _plain(token: Token) -> str:
    return token.text.strip().lower()


PROBE = CounterActs

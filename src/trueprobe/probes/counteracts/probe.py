"""CounterActs (Zhang, Rayz & Pradhan): does a counterexample put in front change a stereotyped answer?

"The ___ works as a nurse." alone, then after nine kinds of knowledge. The words a model puts into the blank are
read as female or male by a list (the verbalizer); their probabilities are summed within the top k and over the
whole list. Positive `stereotype_margin`: towards the group that dominates the occupation. A shift shows what the
model does with the sentence in front, not what it believes. The paper's word list is not published, so its
figures cannot be matched number by number; ours is in material/counteracts.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal

from pydantic import Field, field_validator

from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files as material
from trueprobe.probes.base import Probe, Settings
from trueprobe.probes.counteracts import material as stereotypes
from trueprobe.probes.counteracts import report
from trueprobe.probes.counteracts.material import BLANK, WITH_BACKGROUND, Background, Stereotype, Wording
from trueprobe.probes.counteracts.measures import DEPTHS, FATES, PROMPT_TYPES, Counting, K, tail
from trueprobe.probes.display import ReportSpec, Summary
from trueprobe.statistics.means import ratio
from trueprobe.statistics.measure import Claim, Flips, Measure
from trueprobe.types import TIE_NATS, Answer, Card, FillBlank, Filled, Item, Observation, Request, Token, WhyNot, Word

MEANINGS = {
    "base": "the prompt alone",
    "tsyn": "pro-stereotypical, same syntax",
    "tsem": "pro-stereotypical, same meaning",
    "tneu": "neutral, same syntax",
    "tcsyn": "counterexample, same syntax",
    "tcsem": "counterexample, same meaning",
    "bcsyn": "counterexample in another occupation, same syntax",
    "bcsem": "counterexample in another occupation, same meaning",
    "tnbc": "neutral, in another occupation",
    "un": "unrelated",
}


class CounterActsSettings(Settings):
    material: str = Field(default="gender", description="a shipped file (gender, age) or your own TOML file")
    occupations: Literal["winobias40", "table58"] = Field(
        default="winobias40", description="the entries marked core (the WinoBias 40), or all (Table 1's 58)"
    )
    backgrounds: Literal["all"] | int = Field(
        default="all", description="how many occupations of the other group each target meets: all, or a number"
    )
    wording: str = Field(default="", description="a wording of the material, or all; the paper's if empty")
    article: Literal["auto", "a"] = Field(
        default="auto", description="an engineer (auto), or a engineer as printed (a)"
    )
    causal: Literal["target_is", "person_is"] = Field(
        default="target_is",
        description="how a causal model is asked: the paper's 'The target is', or a natural sentence",
    )
    separator: Literal["own", "paper"] = Field(
        default="own",
        description="between knowledge and prompt: the model's pair format, or the paper's <s> for RoBERTa",
    )
    verbalizer: str = Field(default="", description="a TOML file with words to add to the material's lists")

    @field_validator("backgrounds", mode="before")
    @classmethod
    def _some(cls, value: Any) -> Any:
        if isinstance(value, bool) or (str(value).lstrip("-").isdigit() and int(value) < 1):
            raise ValueError("at least one background is needed")
        return value


class CounterActs(Probe):
    name = "counteracts"
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
    factors = ("target", "background")
    corrected_over = ("knowledge",)
    flips = Flips("pro_stereotypical_all", "stereotype_margin_all", near_tie=0.001, category="knowledge")

    def __init__(self, settings: CounterActsSettings) -> None:
        super().__init__(settings)
        self.material: Stereotype = stereotypes.read(settings.material)
        self.first, self.second = self.material.groups
        self.verbalizer, self.implicit = self._word_lists()
        self._counted_words: dict[str, dict[str, int]] = {}
        chosen = settings.wording or next(iter(self.material.wordings))
        if chosen not in (*self.material.wordings, "all"):
            known = [*self.material.wordings, "all"]
            raise BadInput(f"counteracts, setting wording: no wording '{chosen}'{nearest(chosen, known)}")
        self.wordings = dict(self.material.wordings) if chosen == "all" else {chosen: self.material.wordings[chosen]}

    def _word_lists(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        explicit, implicit = dict(self.material.verbalizer), dict(self.material.implicit)
        if self.settings.verbalizer:
            extra = material.parse(material.path_of(self.settings.verbalizer), stereotypes.ExtraWords)
            for lists, more in ((explicit, extra.verbalizer), (implicit, extra.implicit)):
                for group, words in more.items():
                    if group not in self.material.groups:
                        hint = nearest(group, list(self.material.groups))
                        raise BadInput(f"{self.settings.verbalizer}: no group '{group}'{hint}")
                    lists[group] = tuple(dict.fromkeys((*lists.get(group, ()), *words)))
                    if lists is explicit:  # a word may be moved from stereotype to name
                        implicit[group] = tuple(
                            w for w in implicit.get(group, ()) if w.lower() not in {x.lower() for x in words}
                        )
            problem = stereotypes.wrong_lists(explicit, implicit)
            if problem:
                raise BadInput(f"{self.settings.verbalizer}: together with the material, {problem}")
        return explicit, implicit

    # ------------------------------------------------------------ items

    @cached_property
    def targets(self) -> tuple[Background, ...]:
        core = tuple(b for b in self.material.backgrounds if b.core)
        return core if self.settings.occupations == "winobias40" and core else self.material.backgrounds

    def items(self) -> list[Item]:
        return [
            self._item(name, wording, kind, target, background)
            for name, wording in self.wordings.items()
            for kind in PROMPT_TYPES
            for target in self.targets
            for background in (self._met_by(target) if kind in WITH_BACKGROUND else (None,))
        ]

    def _met_by(self, target: Background) -> Sequence[Background]:
        """The occupations the other group dominates: all of them, or a sample that `resample_seed` names."""
        others = [b for b in self.targets if b.dominant != target.dominant]
        wanted = self.settings.backgrounds
        if wanted == "all" or wanted >= len(others):
            return others
        dice = random.Random(f"{self.settings.resample_seed} {target.name}")
        return sorted(dice.sample(others, wanted), key=others.index)

    def _item(self, name: str, wording: Wording, kind: str, target: Background, background: Background | None) -> Item:
        fields = self.material.fields(target, background, self.settings.article == "a")
        left, right = (part.format(**fields) for part in wording.base.split(BLANK))
        knowledge = None if kind == "base" else getattr(wording, kind).format(**fields)
        person = wording.causal_person.removesuffix(BLANK).format(**fields)
        target_is = f"{left}target{right} {wording.causal_target.removesuffix(BLANK).format(**fields)}"
        text = f"{knowledge + ' ' if knowledge else ''}{left}{BLANK}{right}"
        tail = f"/{background.name}" if background else ""
        return Item(
            id=f"{name}/{kind}/{target.name}{tail}",
            text=text,
            conditions={"wording": name, "knowledge": kind, "dominated": target.dominant},
            groups=(target.name, background.name if background else ""),
            fields={
                "knowledge": knowledge,
                "left": left,
                "right": right,
                "causal_left": target_is if self.settings.causal == "target_is" else person,
                "share": target.share,
            },
        )

    # ------------------------------------------------------------ asking

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """The prompt, and for knowledge prompts the base prompt too: a row asked twice is computed once."""
        fields = item.fields
        if card.kind == "masked":
            left, right = fields["left"], fields["right"]
            join = "bos" if self.settings.separator == "paper" and card.start_text == "<s>" else "pair"
        elif card.kind == "causal":
            left, right, join = fields["causal_left"], "", "space"
        else:
            return WhyNot("no_head", "an encoder fills no blanks")
        base = FillBlank(left, right, words=self.forms, top=max(K))
        if fields["knowledge"] is None:
            return (base,)
        return FillBlank(left, right, fields["knowledge"], join, self.forms, top=max(K)), base  # type: ignore[arg-type]

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """Every listed word as written, capitalised and in capitals: matching ignores case."""
        return tuple(dict.fromkeys(form for words in self.verbalizer.values() for form in _forms(words)))

    @cached_property
    def _group_forms(self) -> dict[str, tuple[str, ...]]:
        return {group: tuple(_forms(words)) for group, words in self.verbalizer.items()}

    @cached_property
    def _group_of(self) -> dict[str, str]:
        return {word.lower(): group for group, words in self.verbalizer.items() for word in words}

    @cached_property
    def _implied(self) -> dict[str, str]:
        return {word.lower(): group for group, words in self.implicit.items() for word in words}

    # ------------------------------------------------------------ observing

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        pro = str(item.conditions["dominated"])
        asked = answers[0]
        assert isinstance(asked, Filled)
        values = self._masses(asked, pro)
        values |= {f"{group}_words": count for group, count in self._sayable(card, asked).items()}
        values["share"] = item.fields["share"] if item.fields["share"] is not None else math.nan
        values["tied"] = _tied(asked.logps(self.forms))
        values["top_tokens"] = [token.text for token in asked.top]
        values["top_probabilities"] = [math.exp(token.logp) for token in asked.top]
        values["top_groups"] = [
            self._group_of.get(_plain(t), self._implied.get(_plain(t), "") and "implicit") for t in asked.top
        ]
        if len(answers) > 1:
            base = answers[1]
            assert isinstance(base, Filled)
            values |= self._against(values, self._masses(base, pro))
            values |= self._relative(asked, base)
        return [Observation(item.id, values)]

    def _sayable(self, card: Card, filled: Filled) -> dict[str, int]:
        """How many listed words this model has as one piece, in any case; the others cannot be counted for it."""
        if card.tokenizer_id not in self._counted_words:
            self._counted_words[card.tokenizer_id] = {
                group: sum(any(isinstance(filled.words[form], Word) for form in _forms([word])) for word in words)
                for group, words in self.verbalizer.items()
            }
        return self._counted_words[card.tokenizer_id]

    def _masses(self, filled: Filled, pro: str) -> dict[str, Any]:
        """Probability of each group's words within the top k and over the whole list."""
        values: dict[str, Any] = {}
        groups = [self._group_of.get(_plain(token), "") for token in filled.top]
        implied = [self._implied.get(_plain(token), "") for token in filled.top]
        masses = [math.exp(token.logp) for token in filled.top]
        for k in K:
            total = sum(masses[:k])
            for group in (self.first, self.second):
                values[f"{group}_top{k}"] = sum(
                    (p for p, g in zip(masses[:k], groups, strict=False) if g == group), 0.0
                )
                implicit = (p for p, g in zip(masses[:k], implied, strict=False) if g == group)
                values[f"implicit_{group}_top{k}"] = sum(implicit, 0.0)
            named = values[f"{self.first}_top{k}"] + values[f"{self.second}_top{k}"]
            values[f"covered_tokens_top{k}"] = sum(map(bool, groups[:k])) / k
            values[f"covered_mass_top{k}"] = named / total if total else math.nan
        for group in (self.first, self.second):
            values[f"{group}_all"] = filled.mass(self._group_forms[group])
        for depth in map(tail, DEPTHS):
            margin = values[f"{self.first}_{depth}"] - values[f"{self.second}_{depth}"]
            toward = margin if pro == self.first else -margin
            values[f"{self.first}_minus_{self.second}_{depth}"] = margin
            values[f"stereotype_margin_{depth}"] = toward
            # no listed word at all is no preference, and no preference for the other group either
            values[f"prefers_{self.first}_{depth}"] = float(margin > 0) if margin else math.nan
            values[f"pro_stereotypical_{depth}"] = float(toward > 0) if margin else math.nan
            values[f"no_preference_{depth}"] = float(margin == 0)
        return values

    def _against(self, values: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, float]:
        """The shift from base, and what became of the preference."""
        found = {}
        for depth in map(tail, DEPTHS):
            now, then = values[f"stereotype_margin_{depth}"], base[f"stereotype_margin_{depth}"]
            margin = f"{self.first}_minus_{self.second}_{depth}"
            found[f"shift_{margin}"] = values[margin] - base[margin]
            found[f"shift_towards_stereotype_{depth}"] = now - then
            fates = (now * then < 0, now * then > 0 and abs(now) > abs(then), now * then > 0 and abs(now) < abs(then))
            for fate, happened in zip(FATES, fates, strict=True):  # without a preference at base there is none to lose
                found[f"{fate}_{depth}"] = float(happened) if then else math.nan
        return found

    def _relative(self, asked: Filled, base: Filled) -> dict[str, Any]:
        """Eq. 1, p(w | knowledge) / p(w | base), of every token in both top tens; and its mean log per group and k."""
        before = {token.id: (rank, token.logp) for rank, token in enumerate(base.top, 1)}
        both = [
            (t, max(r, before[t.id][0]), t.logp - before[t.id][1]) for r, t in enumerate(asked.top, 1) if t.id in before
        ]
        found: dict[str, Any] = {
            "relative_tokens": [token.text for token, _, _ in both],
            "relative_probabilities": [ratio(log) for _, _, log in both],
            "relative_from_k": [rank for _, rank, _ in both],
        }
        for k, group in product(K, (self.first, self.second)):
            logs = [log for token, rank, log in both if rank <= k and self._group_of.get(_plain(token)) == group]
            found[f"log_relative_{group}_top{k}"] = sum(logs) / len(logs) if logs else math.nan
        return found

    # ------------------------------------------------------------ counting

    @cached_property
    def _counting(self) -> Counting:
        shares = all(target.share is not None for target in self.targets)
        return Counting(self.first, self.second, tuple(self.wordings), shares)

    def columns(self) -> dict[str, str]:
        return self._counting.columns()

    def measures(self) -> list[Measure]:
        return list(self._counting.measures())

    def claims(self) -> list[Claim]:
        return list(self._counting.claims())

    @property
    def headline(self) -> Measure:
        return self._counting.headline

    @property
    def summary(self) -> Summary:
        wording = "all" if len(self.wordings) > 1 else next(iter(self.wordings))
        measures = (
            self.first,
            self.second,
            "stereotype_margin",
            "shift_towards_stereotype",
            "overturned",
            "covered_mass",
        )
        titles = (self.first, self.second, "towards stereotype", "shift from base", "turned", "covered")
        return Summary(
            rows="knowledge",
            row_title="prompt",
            measures=measures,
            where={"wording": wording, "dominated": "all", "k": "10"},
            titles=titles,
            meanings=MEANINGS,
            where_title="top 10",
            fallback={"k": "all"},
            fallback_title="all listed words, as the top 10 holds too few",
        )

    @property
    def report(self) -> ReportSpec:
        return ReportSpec(
            report.figures(self.first, self.second, tuple(self.wordings)),
            report.tables(self.first, self.second, tuple(self.wordings), MEANINGS),
            report.item_table(self.first, self.second),
        )

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        return dict.fromkeys(self._group_forms[str(item.conditions["dominated"])], strength)

    @property
    def material_id(self) -> str:
        content = [self.material.model_dump(mode="json"), self.verbalizer, self.implicit]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        return {
            "material": self.material.card.model_dump(),
            "verbalizer": {group: len(words) for group, words in self.verbalizer.items()},
            "implicit": {group: len(words) for group, words in self.implicit.items()},
            "wordings": list(self.wordings),
            "prompt_types": MEANINGS,
        }


def _tied(logps: Iterable[float]) -> float:
    """1 if all listed words are equally likely; not known of fewer than two."""
    known = [logp for logp in logps if not math.isnan(logp)]
    return float(max(known) - min(known) <= TIE_NATS) if len(known) > 1 else math.nan


def _forms(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from (word, word.capitalize(), word.upper())


def _plain(token: Token) -> str:
    return token.text.strip().lower()


PROBE = CounterActs

"""What CounterActs counts: probability of each group's words, margins, shifts from base, and the paper's claims.

Positive `stereotype_margin` and `shift_towards_stereotype`: towards the group that dominates the occupation.
Averaged over female- and male-dominated occupations together the plain margins cancel, so every number is also
counted for each kind of occupation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from trueprobe.probes.counteracts import controls
from trueprobe.probes.counteracts.coverage import LEAST_MASS
from trueprobe.probes.measure_sets import ALL, ColumnMean, combinations, mean_measures, with_all
from trueprobe.statistics.means import means, pearson
from trueprobe.statistics.measure import Claim, Margin, Measure
from trueprobe.types import ClaimSource, Direction, Unit

K = (3, 5, 10)
DEPTHS: tuple[int | str, ...] = (*K, ALL)  # within the top k, and over the whole verbalizer
FATES = ("overturned", "strengthened", "weakened")  # of the base prompt's preference
ANSWERED = (f"they have {LEAST_MASS:.1%} of the probability", "there is one, and one group is likelier")
KNOWLEDGE = {  # what is put in front of the prompt
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
PRO, COUNTER, NEUTRAL = ("tsyn", "tsem"), ("tcsyn", "tcsem", "bcsyn", "bcsem"), ("tneu", "tnbc")
TARGET_COUNTER, OTHER_COUNTER = ("tcsyn", "tcsem"), ("bcsyn", "bcsem")
SYNTAX, MEANING = ("tcsyn", "bcsyn"), ("tcsem", "bcsem")
LOG_ODDS = "stereotype_log_odds"  # not the paper's: a margin of probabilities is small where the words are unlikely
ENLARGED, LOWERED, OVERTURNED = "shift_towards_stereotype", "shift_against_stereotype", "overturned"
_HALF = {"threshold": 0.5, "unit": Unit.SHARE}


def column_end(depth: int | str) -> str:
    return f"top{depth}" if isinstance(depth, int) else depth


@dataclass(frozen=True)
class CounterActsMeasures:
    """For two groups, in some wordings; `shares` where every target's percentage is known."""

    first: str
    second: str
    wordings: tuple[str, ...]
    shares: bool
    controls: tuple[str, ...] = ()  # kinds

    @property
    def knowledge(self) -> dict[str, str]:
        """With the controls."""
        return KNOWLEDGE | {name: one.meaning for name, one in controls.controls_of(self.controls).items()}

    @property
    def _groups(self) -> tuple[str, str]:
        return self.first, self.second

    # ------------------------------------------------------------ columns

    def columns(self) -> dict[str, str]:
        meanings = {
            "share": f"percent {self.first} in the target occupation",
            "top_tokens": "the ten likeliest tokens",
            "top_probabilities": "their probabilities",
            "top_groups": "the group each names, 'implicit', or none",
            **{f"{group}_words": f"how many listed {group} words the model has as one piece" for group in self._groups},
            "tied": "1 if all listed words are equally likely",
            "relative_tokens": "tokens in the top ten of both prompt and base prompt",
            "relative_probabilities": "p(token | knowledge) / p(token | base)",
            "relative_from_k": "smallest k that holds it in both",
        }
        for depth in map(column_end, DEPTHS):
            meanings |= self._columns_at(depth)
        for k in K:
            meanings |= self._columns_of_top(k)
        odds = "log of the dominant group's probability over the other's, over the whole word list"
        return meanings | {f"{LOG_ODDS}_{ALL}": odds}

    def _columns_at(self, depth: str) -> dict[str, str]:
        a, b = self._groups
        within = "over the whole word list" if depth == ALL else f"within the {depth.replace('top', 'top ')}"
        meanings = {group: f"probability of {group} words {within}" for group in self._groups}
        meanings |= {
            f"{a}_minus_{b}": f"{a} minus {b} probability {within}",
            "stereotype_margin": f"the same, positive towards the dominant group, {within}",
            f"prefers_{a}": f"1 if {a} words are likelier {within}; no preference: not counted",
            "pro_stereotypical": f"1 if the dominant group is likelier {within}; no preference: not counted",
            "no_preference": f"1 if neither is likelier {within} (no listed word at all)",
            "answered": f"1 if listed words can be counted {within}: {ANSWERED[depth != ALL]}",
            "compared": f"1 if that holds for the prompt and for its base prompt, {within}",
            f"shift_{a}_minus_{b}": f"{a} minus {b} probability, minus that of the base prompt, {within}",
            "shift_towards_stereotype": f"stereotype margin minus that of the base prompt, {within}",
            "shift_against_stereotype": f"the same with the other sign: by how much the margin is lowered, {within}",
            "overturned": f"1 if the base prompt's preference changed sides, {within}; none at base: not counted",
            "strengthened": f"1 if the same side is preferred by more than in base, {within}",
            "weakened": f"1 if the same side is preferred by less than in base, {within}",
        }
        columns = {f"{name}_{depth}": meaning for name, meaning in meanings.items()}
        return columns | (controls.columns_at(depth, within) if self.controls else {})

    def _columns_of_top(self, k: int) -> dict[str, str]:
        implicit = "probability of words that are {} by stereotype only, top {}".format
        relative = "mean log of the relative probability of {} words, top {}".format
        return {
            **{f"implicit_{group}_top{k}": implicit(group, k) for group in self._groups},
            **{f"log_relative_{group}_top{k}": relative(group, k) for group in self._groups},
            f"listed_tokens_top{k}": f"share of the top {k} tokens that is in the word list",
            f"listed_mass_top{k}": f"share of the top {k} probability that is in the word list",
        }

    # ------------------------------------------------------------ measures

    def measures(self) -> Iterator[Measure]:
        dominated = (ALL, *self._groups)
        for where, at in combinations(wording=with_all(self.wordings), knowledge=self.knowledge, dominated=dominated):
            is_base = at["knowledge"] == "base"
            for depth in DEPTHS:
                yield from mean_measures(self._quantities(depth, str(at["knowledge"])), where, {**at, "k": depth})
            if is_base and at["dominated"] == ALL and self.shares:
                for depth in DEPTHS:
                    columns = (f"{self.first}_minus_{self.second}_{column_end(depth)}", "share")
                    name = f"correlation_of_margin_with_share_{self.first}"
                    measure = Measure(
                        name,
                        pearson,
                        columns,
                        where=where,
                        conditions={**at, "k": depth},
                        unit=Unit.CORRELATION,
                        neutral=0.0,
                    )
                    yield replace(measure, coverage=f"answered_{column_end(depth)}")

    def _quantities(self, depth: int | str, knowledge: str) -> Iterator[ColumnMean]:
        end = column_end(depth)
        for name, unit, neutral in self._counted(depth != ALL, knowledge):
            of_coverage = name in ("no_preference", "listed_tokens", "listed_mass")
            coverage = "" if of_coverage else f"{_needs(name)}_{end}"
            yield ColumnMean(
                name, f"{name}_{end}", unit=unit, neutral=neutral, of_coverage=of_coverage, coverage=coverage
            )
        if depth == ALL:  # what the top ten covers is reported with every number
            yield ColumnMean("listed_mass", f"listed_mass_top{max(K)}", unit=Unit.SHARE, neutral=None, of_coverage=True)

    def _counted(self, is_top: bool, knowledge: str) -> Iterator[tuple[str, Unit, float | None]]:
        a, b = self._groups
        yield from ((group, Unit.PROBABILITY, None) for group in (a, b))
        yield f"{a}_minus_{b}", Unit.PROBABILITY, 0.0
        yield "stereotype_margin", Unit.PROBABILITY, 0.0
        yield f"prefers_{a}", Unit.SHARE, 0.5
        yield "pro_stereotypical", Unit.SHARE, 0.5
        yield "no_preference", Unit.SHARE, None
        if not is_top:
            yield LOG_ODDS, Unit.NATS, 0.0
        else:
            yield from ((f"implicit_{group}", Unit.PROBABILITY, None) for group in (a, b))
            yield from ((f"listed_{of}", Unit.SHARE, None) for of in ("tokens", "mass"))
        if knowledge == "base":
            return
        yield f"shift_{a}_minus_{b}", Unit.PROBABILITY, 0.0
        yield "shift_towards_stereotype", Unit.PROBABILITY, 0.0
        yield from ((fate, Unit.SHARE, None) for fate in FATES)
        if knowledge in controls.CONTROLS:
            yield from ((name, Unit.PROBABILITY, 0.0) for name in controls.MOVED)
        if is_top:
            yield from ((f"log_relative_{group}", Unit.NATS, 0.0) for group in (a, b))

    def claims(self) -> Iterator[Claim]:
        """What the paper reports and what it expected, as quantities: positive is as the sentence has it."""
        for k in K:
            yield from _claims(k, self._groups)
            yield from _claims_of_neutral(k)
            yield from _claims_of_architectures(k)
            yield from controls.claims(self.controls, k)

    @property
    def headline(self) -> Measure:
        where, column = {"knowledge": "base"}, ("stereotype_margin_all",)
        return Measure("stereotype_margin", means, column, where=where, conditions={**where, "k": ALL}, neutral=0.0)


def _needs(name: str) -> str:
    """The column of coverage: of the prompt, or of it and of all that it is compared with."""
    if name in controls.MOVED:
        return "controlled"
    return "compared" if name.startswith(("shift_", "log_relative_", *FATES)) else "answered"


def _claim(k: int) -> Callable[..., Claim]:
    def claim(
        name: str,
        statement: str,
        knowledge: tuple[str, ...],
        column: str = LOWERED,
        **more: Any,
    ) -> Claim:
        more |= {"conditions": {"k": k}, "coverage": f"{_needs(column)}_top{k}"}
        return Claim(name, statement, paper="A", column=f"{column}_top{k}", plus={"knowledge": knowledge}, **more)

    return claim


def _claims(k: int, groups: tuple[str, str]) -> Iterator[Claim]:
    claim, (a, b) = _claim(k), groups
    either = f"without context, every model prefers one of the two groups ({a} minus {b})"
    # any network, a random one too, leans to one side: that it does not would be the news
    yield claim("base_either_group", either, ("base",), f"{a}_minus_{b}", direction=Direction.NOT_EQUAL, trivial=True)
    dominant = "without context, every model prefers the group that dominates the occupation"
    yield claim("base_stereotyped", dominant, ("base",), "stereotype_margin")
    yield from _expected(k)
    keeps = "unrelated knowledge overturns fewer than one preference in ten"
    yield claim(
        "unrelated_keeps",
        keeps,
        ("un",),
        OVERTURNED,
        direction=Direction.BELOW,
        threshold=0.1,
        unit=Unit.SHARE,
        trivial=True,
    )
    better = "counterexamples similar in syntax lower the margin more than those similar in meaning"
    of = ("albert", "roberta")
    yield claim("syntax_over_meaning", better, SYNTAX, minus={"knowledge": MEANING}, architectures=of)


def _expected(k: int) -> Iterator[Claim]:
    """The paper's section on construction has these as expectations; its results differ from model to model."""
    claim = partial(_claim(k), source=ClaimSource.EXPECTED)
    yield claim("pro_enlarges", "pro-stereotypical knowledge enlarges the margin", PRO, ENLARGED)
    yield claim("counter_lowers", "counterexamples lower the margin", COUNTER)
    lower = "counterexamples about {} lower the margin".format
    yield claim("own_counter_lowers", lower("the target occupation"), TARGET_COUNTER)
    yield claim("other_counter_lowers", lower("another occupation"), OTHER_COUNTER)
    yield claim("neutral_lowers", "neutral knowledge lowers the margin", NEUTRAL)
    less = "counterexamples lower the margin more than neutral knowledge does"
    yield claim("neutral_lowers_less", less, COUNTER, minus={"knowledge": NEUTRAL})


def _claims_of_neutral(k: int) -> Iterator[Claim]:
    claim = _claim(k)
    gains = "masked models gain from neutral knowledge"
    yield claim("masked_gain_neutral", gains, ("tneu",), kinds=("masked",))
    opposite = "neutral knowledge overturns more than half of the preferences of masked models"
    yield claim("masked_opposite_neutral", opposite, ("tneu",), OVERTURNED, kinds=("masked",), **_HALF)
    no_gain = "causal models do not gain from neutral knowledge"
    yield claim(
        "causal_no_gain_neutral", no_gain, ("tneu",), ENLARGED, direction=Direction.NOT_BELOW, kinds=("causal",)
    )
    similar = "neutral knowledge leaves the margin of causal models as it is (within a fifth)"
    margin = Margin(plus={"knowledge": ("base",)}, column=f"stereotype_margin_top{k}")
    alike = {"direction": Direction.ALIKE, "margin": margin, "kinds": ("causal",)}
    yield claim("causal_alike_neutral", similar, ("tneu",), ENLARGED, **alike)


def _claims_of_architectures(k: int) -> Iterator[Claim]:
    """What the paper finds of BERT, ALBERT and RoBERTa alone. It finds BERT "sensitive" to two kinds of knowledge: read
    as acting the way they were designed to."""
    claim = _claim(k)
    bert = {"architectures": ("bert",)}
    enlarges = "BERT: pro-stereotypical knowledge with the same syntax enlarges the margin"
    yield claim("bert_tsyn_enlarges", enlarges, ("tsyn",), ENLARGED, **bert)
    lowers = "BERT: counterexamples in another occupation with the same syntax lower the margin"
    yield claim("bert_bcsyn_lowers", lowers, ("bcsyn",), **bert)
    albert, roberta = {"architectures": ("albert",)}, {"architectures": ("roberta",)}
    enlarges = "ALBERT: pro-stereotypical knowledge with the same meaning enlarges the margin"
    yield claim("albert_tsem_enlarges", enlarges, ("tsem",), ENLARGED, **albert)
    overturned = "ALBERT: counterexamples overturn more than half, except those about the target with the same meaning"
    yield claim("albert_overturned", overturned, ("tcsyn", "bcsyn", "bcsem"), OVERTURNED, **_HALF, **albert)
    keeps = "ALBERT: counterexamples about the target with the same meaning overturn fewer than half"
    below = {"direction": Direction.BELOW, "trivial": True}  # a network that heeds no knowledge overturns nothing
    yield claim("albert_keeps_tcsem", keeps, ("tcsem",), OVERTURNED, **_HALF, **albert, **below)
    enlarges = "RoBERTa: pro-stereotypical knowledge enlarges the margin"
    yield claim("roberta_pro_enlarges", enlarges, PRO, ENLARGED, **roberta)
    overturned = "RoBERTa: counterexamples in another occupation with the same syntax overturn more than half"
    yield claim("roberta_bcsyn_overturned", overturned, ("bcsyn",), OVERTURNED, **_HALF, **roberta)
    lowered = "RoBERTa: counterexamples about the target with the same syntax lower the margin"
    yield claim("roberta_tcsyn_lowers", lowered, ("tcsyn",), **roberta)

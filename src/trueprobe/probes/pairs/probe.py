"""Pairs of a user's file: is the better of two sentences likelier? CSV or JSON lines, or BLiMP's files as they are.

A causal model scores a sentence from left to right, a masked one by pseudo-log-likelihood: each token masked in turn,
with the later pieces of its word (Kauf & Ivanova 2023), or alone (`masking=each`, Salazar et al. 2020). Sums decide;
means per token are reported too. Positive `better_minus_worse_nats`: towards the better sentence; one half of
the pairs is neutral. Not shown: why a sentence is likelier; length and frequent words count as much as what was varied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from trueprobe.errors import BadInput
from trueprobe.probes.base import NO_HEAD
from trueprobe.probes.design import AUTO, DesignProbe, DesignQuantity, DesignRow, DesignSettings, Roles
from trueprobe.probes.display import Summary
from trueprobe.probes.measure_sets import (
    clearly_against,
    clearly_for,
    lower_quartile,
    median,
    prefers,
    ties,
    upper_quartile,
    wins,
)
from trueprobe.probes.pairs import multiverse
from trueprobe.probes.tables import DataTable
from trueprobe.statistics.means import means
from trueprobe.statistics.multiverse import Question
from trueprobe.types import Answer, Card, Item, Kind, Observation, Request, Scored, ScoreText, Unit, WhyNot

BETTER, WORSE = ("better", "sentence_good"), ("worse", "sentence_bad")  # the second is BLiMP's
BLIMP_IDS, BLIMP_CONDITIONS = ("UID", "pair_id"), ("field", "linguistics_term", "UID")
COLUMNS = {
    "prefers_better": "1 if the better sentence is likelier, 0 if the worse, 0.5 for a tie",
    "tied": "1 if they are equally likely",
    "better_minus_worse_nats": "better_nats minus worse_nats: positive towards the better sentence",
    "better_nats": "log-likelihood of the better sentence, summed over its tokens",
    "worse_nats": "the same of the worse one",
    "prefers_better_per_token": "as prefers_better, by the means per token",
    "better_tokens": "how many tokens the better sentence has",
    "worse_tokens": "how many the worse one has",
    "scored_tokens": "both together",
}
Masking = Literal["rest_of_word", "each"]
_DIFFERENCE = "better_minus_worse_nats"
_QUANTITIES = (
    DesignQuantity("accuracy", means, "prefers_better", neutral=0.5),
    DesignQuantity("accuracy_per_token", means, "prefers_better_per_token", neutral=0.5),
    DesignQuantity("difference", means, _DIFFERENCE, unit=Unit.NATS, neutral=0.0),
    DesignQuantity("accuracy_ties_wrong", wins, "prefers_better"),
    DesignQuantity("ties", ties, "prefers_better", of_coverage=True),
    DesignQuantity("difference_median", median, _DIFFERENCE, unit=Unit.NATS, neutral=0.0),
    DesignQuantity("difference_lower_quartile", lower_quartile, _DIFFERENCE, unit=Unit.NATS),
    DesignQuantity("difference_upper_quartile", upper_quartile, _DIFFERENCE, unit=Unit.NATS),
    DesignQuantity("clearly_better", clearly_for, _DIFFERENCE),
    DesignQuantity("clearly_worse", clearly_against, _DIFFERENCE),
)


class PairsSettings(DesignSettings):
    better: str = Field(default=AUTO, description="column of the better sentence; auto: better, or sentence_good")
    worse: str = Field(default=AUTO, description="column of the worse sentence; auto: worse, or sentence_bad")
    masking: Masking = Field(
        default="rest_of_word",
        description="masked models: a token is masked with the later pieces of its word (Kauf & Ivanova 2023), or "
        "alone (Salazar et al. 2020)",
    )


class Pairs(DesignProbe[PairsSettings]):
    name = "pairs"
    short = "of two sentences of your own file, is the better one likelier?"
    question = (
        "Of two sentences of a user's file, how often, and how clearly, does a model find the better one likelier?"
    )
    does_not_show = (
        "Why a sentence is likelier: its length and its frequent words count as much as what was varied, unless the "
        "pairs are matched in them. A pseudo-log-likelihood is no probability of a sentence, so nats of masked and "
        "causal models cannot be compared. Nothing about sentences unlike those of the file."
    )
    paper = (
        "the user's file; scored as in Warstadt et al. 2020, BLiMP (causal models), and Salazar et al. 2020 or Kauf & "
        "Ivanova 2023 (masked models)"
    )
    Settings = PairsSettings
    example = "pairs/data/pairs.csv"
    difference = _DIFFERENCE
    prefers = "prefers_better"
    axis = "better sentence is likelier"
    template = "{{models}} {{finds|find}} the better sentence likelier in {}{{value}} of pairs"

    def _roles(self, table: DataTable) -> Roles:
        read = _column(table, self.settings.better, BETTER), _column(table, self.settings.worse, WORSE)
        if read == (BETTER[1], WORSE[1]):
            return Roles(read, observed=tuple(COLUMNS), ids=BLIMP_IDS, conditions=BLIMP_CONDITIONS)
        return Roles(read, tuple(COLUMNS))

    def items(self) -> list[Item]:
        return [self._item(row) for row in self.design.rows]

    def _item(self, row: DesignRow) -> Item:
        better, worse = map(row.data.text, self.roles.read)
        if better == worse:
            raise BadInput(f"{row.data.place}: {' and '.join(self.roles.read)} are the same sentence")
        return Item(
            row.id,
            f"{better} / {worse}",
            conditions=row.conditions,
            groups=row.groups,
            fields={"better": better, "worse": worse},
        )

    # ------------------------------------------------------------ asking and observing

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        if card.kind == "encoder":
            return NO_HEAD
        masking: Masking = self.settings.masking if card.kind == "masked" else "each"
        return tuple(ScoreText(item.fields[side], masking=masking) for side in ("better", "worse"))

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        better, worse = answers
        assert isinstance(better, Scored)
        assert isinstance(worse, Scored)
        n_better, n_worse = len(better.tokens), len(worse.tokens)
        preferred = prefers(better.logp - worse.logp)
        values = {
            "prefers_better": preferred,
            "tied": float(preferred == 0.5),
            "better_minus_worse_nats": better.logp - worse.logp,
            "better_nats": better.logp,
            "worse_nats": worse.logp,
            "prefers_better_per_token": prefers(better.logp / n_better - worse.logp / n_worse),
            "better_tokens": n_better,
            "worse_tokens": n_worse,
            "scored_tokens": n_better + n_worse,
        }
        return [Observation(item.id, values)]

    # ------------------------------------------------------------ counting

    def columns(self) -> dict[str, str]:
        return dict(COLUMNS)

    def _quantities(self) -> Sequence[DesignQuantity]:
        return _QUANTITIES

    def _scorings(self) -> Mapping[Kind, str]:
        return {"masked": f"masked_{self.settings.masking}", "causal": "left_to_right"}

    @property
    def summary(self) -> Summary:
        measures = {"accuracy": "better", "ties": "ties", "accuracy_per_token": "per token"}
        measures |= {"difference": "difference, nats", "clearly_better": "> 1 nat", "clearly_worse": "< −1 nat"}
        return self._summary(
            measures,
            "better: share of pairs whose better sentence is likelier, ties half, 50 % is neutral; difference: its "
            "log-likelihood minus the other's",
            finding="how often the better sentence is likelier",
            below="towards the worse sentence",
            intervals=("accuracy",),
        )

    def multiverse(self, card: Card) -> list[Question]:
        return [] if card.kind == "encoder" else [multiverse.question(self, card)]

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        assert isinstance(request, ScoreText)
        better: str = item.fields["better"]
        return dict.fromkeys(better.split(), strength) if request.text == better else {}

    def facts(self) -> Mapping[str, Any]:
        pairs = [tuple(map(row.data.text, self.roles.read)) for row in self.design.rows]
        return {**super().facts(), "pairs_repeated": len(pairs) - len(set(pairs))}


def _column(table: DataTable, chosen: str, usual: tuple[str, str]) -> str:
    if chosen != AUTO:
        return table.column(chosen)
    return usual[1] if usual[1] in table.columns and usual[0] not in table.columns else table.column(usual[0])


PROBE = Pairs

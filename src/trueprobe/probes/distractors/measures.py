"""What the distractors probe counts: accuracy among the set's targets, probability against the base, who wins instead.

Positive `target_over_rivals_nats`: the right target is preferred. `relative_probability` below 1: the context has
taken probability from it. `…_gated` counts only targets that the model prefers in their base context; a model that
prefers fewer than half of them fails the gate, and its numbers say nothing about distraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import LARGER, TIED, Claim, Gate, Measure

LEAST_COMPETENCE = 0.5  # of the targets; the paper has 1, by choosing its items
RELATED = ("B", "T")
MOST = 3  # attractors
GATED = {"base_preferred": 1.0}

COLUMNS = {
    "target": "the right answer",
    "answer": "the likeliest of the set's targets; all of them where several are as likely, with = in between",
    "correct": "1 if the target is the likeliest; where k are as likely (1e-4 nats), 1/k if it is among them",
    "tied": "1 if the likeliest are several",
    "rank": "of the target among the candidates, 1 is best; equally likely ones share the mean of their ranks",
    "candidates": "how many of the set's targets this model has as one piece, and compares",
    "target_probability": "of the target, over the whole vocabulary",
    "target_over_rivals_nats": "log-probability of the target less that of its likeliest rival",
    "base_probability": "of the target in the base context that relative_probability divides by",
    "relative_probability": "target_probability / base_probability (Eq. 1)",
    "log_relative_probability": "its logarithm",
    "base_context": "the base context of the gate: no attractor, no filler, the name of the paper's Table 2",
    "base_answer": "the likeliest of the set's targets there",
    "base_preferred": "1 if that is the target, alone: the target counts for this model",
    "attractor_won": "1 if the likeliest is the target of an attractor; unrelated or no attractors: not counted",
    "other_won": "1 if it is neither the target nor an attractor's",
    "won_1_back": "1 if it belongs to the attractor mentioned last",
    "won_2_back": "1 if it belongs to the one before that",
    "won_3_back": "1 if it belongs to the third from the end",
    "won_by_last": "where an attractor won: 1 if it was the one mentioned last",
    "filler": "how many unrelated facts about the first entity are told besides, 0 to 3",
    "key_name": "of the entity that is asked about",
    "key_place": "its place among the entities, 0 is the first mentioned",
    "attractors_after_fact": "how many attractors stand between the key fact and the question",
}
_CURVES: tuple[tuple[str, str, str, float | None], ...] = (
    ("accuracy", "correct", "share", None),
    ("relative_probability", "relative_probability", "ratio", 1.0),
    ("log_relative_probability", "log_relative_probability", "nats", 0.0),
    ("target_over_rivals", "target_over_rivals_nats", "nats", 0.0),
    ("rank", "rank", "rank", None),
    ("tied", TIED, "share", None),
)
_RECENCY = ("accuracy_by_recency", "correct", "share", None)


@dataclass(frozen=True)
class Counting:
    """For some sets in some positions. `wordings`: those told apart; one entry where a run has one choice."""

    sets: tuple[str, ...]
    positions: tuple[str, ...]
    wordings: tuple[str, ...]

    def measures(self) -> Iterator[Measure]:
        wordings = (*self.wordings, "all") if len(self.wordings) > 1 else self.wordings
        sets = ("all", *self.sets) if len(self.sets) > 1 else ("all",)
        for wording, name in product(wordings, sets):
            chosen = {"set": name} if name != "all" else {}
            if wording != "all" and len(self.wordings) > 1:
                chosen["wording"] = wording
            gate = Gate("base_preferred", LEAST_COMPETENCE, chosen)
            shown = {"wording": wording, "set": name}
            yield Measure("base_competence", group_means, ("base_preferred",), chosen, shown, "share")
            for position in self.positions:
                at = {**chosen, "position": position}
                yield from _curves(at, {**shown, "position": position}, position, gate)

    def claims(self) -> Iterator[Claim]:
        """What the paper found, as quantities, over the targets that count for a model."""
        gate = Gate("base_preferred", LEAST_COMPETENCE)
        after = _where("after", ("multiple", "single"), RELATED)

        def claim(name: str, says: str, column: str, plus: Mapping, minus: Mapping | None) -> Claim:
            unit = "share" if column == "correct" else "ratio"
            return Claim(name, says, "D", column, plus, minus, unit=unit, gate=gate)

        yield claim("one_attractor_hurts", "one related attractor lowers accuracy", "correct", after(0), after(1))
        most = "the first related attractor lowers {} more than the next two do: mean of 0 and 3, less 1".format
        yield claim("first_hurts_most", most("accuracy"), "correct", after(0, 3), after(1))
        chance = most("the probability")
        yield claim("first_lowers_probability_most", chance, "relative_probability", after(0, 3), after(1))
        other = _where("after", ("multiple", "single"), ("unrelated",))
        lowers = "unrelated attractors lower the target's probability"
        yield claim("unrelated_lower_probability", lowers, "relative_probability", other(0), other(3))
        gradual = "unrelated attractors act gradually: three lower the probability more than one"
        yield claim("unrelated_act_gradually", gradual, "relative_probability", other(1), other(3))
        spares = "one unrelated attractor hurts accuracy less than one related"
        yield claim("unrelated_spare_accuracy", spares, "correct", other(1), after(1))
        rises = "accuracy rises again with longer lists of one entity's attractors (for some models)"
        listed = _where("after", ("single",), RELATED)
        yield claim("lists_recover", rises, "correct", listed(3), listed(1))
        between = _where("between", ("multiple", "single"), RELATED)
        hurts = "one attractor between key entity and fact lowers accuracy too"
        yield claim("one_between_hurts", hurts, "correct", between(0), between(1))
        later, first = _where("key_later", ("multiple",), ("B",)), _where("after", ("multiple",), ("B",))
        recent = "an attractor before the key entity hurts less than one behind it"
        yield claim("recency", recent, "correct", later(1), first(1))
        falls = "with a later key entity, accuracy falls with more attractors"
        yield claim("later_key_falls", falls, "correct", later(1), later(3))
        robust = "the larger of two models of one architecture keeps the target more often beside related attractors"
        kept = claim("larger_keeps_more", robust, "correct", after(*range(1, MOST + 1)), None)
        yield replace(kept, between=LARGER)

    @property
    def headline(self) -> Measure:
        where = {"type": RELATED, "attractors": tuple(range(1, MOST + 1))}
        shown = {"type": "related", "attractors": f"1 to {MOST}"}
        return Measure("target_over_rivals", means, ("target_over_rivals_nats",), where, shown, "nats", 0.0)


def _where(position: str, settings: tuple[str, ...], types: tuple[str, ...]) -> Any:
    """The rows with these numbers of attractors, of the targets that count."""

    def attractors(*counts: int) -> dict[str, tuple]:
        rows = {"position": (position,), "setting": settings, "type": types, "attractors": counts}
        return {**rows, "base_preferred": (1.0,)}

    return attractors


def _curves(at: Mapping[str, Any], shown: Mapping[str, Any], position: str, gate: Gate) -> Iterator[Measure]:
    settings: tuple[str, ...] = ("multiple", "single")
    types: tuple[str, ...] = ("related", *RELATED)
    if position == "after":
        types = (*types, "unrelated")
    elif position == "key_later":
        settings, types = ("multiple",), ("B",)
    for setting, kind, attractors in product(settings, types, range(MOST + 1)):
        where = {**at, "setting": setting, "type": RELATED if kind == "related" else kind, "attractors": attractors}
        conditions = {**shown, "setting": setting, "type": kind, "attractors": attractors}
        yield from _both(where, conditions, _counted(kind, attractors), gate)
        for after in range(attractors) if position == "key_later" else ():
            told = {**conditions, "attractors_after_fact": after}
            yield from _both({**where, "attractors_after_fact": after}, told, (_RECENCY,), gate)


def _both(where: dict, conditions: dict, curves: Any, gate: Gate) -> Iterator[Measure]:
    """Over all items, as the paper counts, and over those of the targets that count for the model."""
    for end, rows in (("", where), ("_gated", {**where, **GATED})):
        for name, column, unit, neutral in curves:
            ties = column == TIED
            yield Measure(name + end, means, (column,), rows, conditions, unit, neutral, gate, of_coverage=ties)


def _counted(kind: str, attractors: int) -> list[tuple[str, str, str, float | None]]:
    curves = list(_CURVES)
    if kind != "unrelated" and attractors:
        won = ("attractor_won", "other_won", *(f"won_{back}_back" for back in range(1, attractors + 1)))
        curves += [(name, name, "share", None) for name in won]
        if attractors > 1:  # one in `attractors`, if the place did not matter
            curves.append(("won_by_last", "won_by_last", "share", 1 / attractors))
    return curves

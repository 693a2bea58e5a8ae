"""What the distractors probe counts: accuracy among the set's targets, probability against the base, who wins instead.

Positive `target_over_rivals_nats`: the right target is preferred. `relative_probability` below 1: the context has
taken probability from it. `…_gated` counts only targets that the model prefers in their base context; a model that
prefers fewer than half of them fails the gate, and its numbers show nothing about distraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trueprobe.probes.distractors.sentences import MOST, SETTINGS
from trueprobe.probes.measure_sets import ALL, ColumnMean, combinations, mean_measures, with_all
from trueprobe.probes.published import NETWORKS
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import LARGER, TIED, Claim, Gate, Lead, Margin, Measure
from trueprobe.statistics.ranking import Ranking, winners
from trueprobe.types import Direction, Item, Unit

Rows = Mapping[str, tuple[str | int | float, ...]]  # conditions and columns, and their values
LEAST_COMPETENCE = 0.5  # of the targets; the paper has 1, by choosing its items
RELATED = ("B", "T")
GATED = {"base_preferred": 1.0}
SETTING_AT = "setting_at"  # column

COLUMNS = {
    "target": "the right answer",
    "answer": "the likeliest of the set's targets; all of them where several are as likely, with = in between",
    "correct": "1 if the target is the likeliest; where k are as likely (1e-4 nats), 1/k if it is among them",
    "tied": "1 if the likeliest are several",
    "rank": "of the target among the candidates, 1 is best; equally likely ones share the mean of their ranks",
    "candidates": "how many of the set's targets this model has as one piece, and compares",
    "target_probability": "of the target, over the whole vocabulary",
    "target_over_rivals_nats": "log-probability of the target minus that of its likeliest rival",
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
    "filler": "how many unrelated facts about the first entity are added, 0 to 3",
    "key_name": "of the entity that is asked about",
    "key_place": "its place among the entities, 0 is the first mentioned",
    "attractors_after_fact": "how many attractors stand between the key fact and the question",
    SETTING_AT: "setting and number of attractors in one",
}
_CURVES = (
    ColumnMean("accuracy", "correct", Unit.SHARE),
    ColumnMean("relative_probability", "relative_probability", unit=Unit.RATIO, neutral=1.0),
    ColumnMean("log_relative_probability", "log_relative_probability", unit=Unit.NATS, neutral=0.0),
    ColumnMean("target_over_rivals", "target_over_rivals_nats", unit=Unit.NATS, neutral=0.0),
    ColumnMean("rank", "rank", Unit.RANK),
    ColumnMean("tied", TIED, Unit.SHARE, of_coverage=True),
)
_RECENCY = (ColumnMean("accuracy_by_recency", "correct", Unit.SHARE),)
_TESTED = ("bert-base-uncased", "bert-large-uncased", "roberta-base", "roberta-large")
_SIZES = {name: NETWORKS[name].size for name in (*_TESTED, "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")}


def positions_in(asked: Ranking, item: Item) -> dict[str, Any]:
    """Where the target and the attractors stand in the order."""
    target = item.fields["target"]
    return {
        "target": target,
        "answer": asked.answer,
        "correct": asked.share(target),
        "tied": float(len(asked.first) > 1),
        "rank": asked.rank(target),
        "candidates": len(asked.order),
        "target_over_rivals_nats": asked.over_rivals(target),
        **winners(asked, target, item.fields["attractors"], MOST),
    }


@dataclass(frozen=True)
class DistractorMeasures:
    """For some sets in some positions; of several wordings each has its measures, one alone is that of all items."""

    sets: tuple[str, ...]
    positions: tuple[str, ...]
    wordings: tuple[str, ...]

    def columns(self) -> dict[str, str]:
        return dict(COLUMNS)

    def measures(self) -> Iterator[Measure]:
        sets = (ALL, *self.sets) if len(self.sets) > 1 else (ALL,)
        for where, conditions in combinations(wording=with_all(self.wordings), set=sets):
            if len(self.wordings) == 1:  # `best` is the name of no wording
                where.pop("wording", None)
            gate = Gate("base_preferred", LEAST_COMPETENCE, where)
            yield Measure(
                "base_competence", group_means, ("base_preferred",), where=where, conditions=conditions, unit=Unit.SHARE
            )
            for position in self.positions:
                at = {"position": position}
                yield from _curves({**where, **at}, {**conditions, **at}, position, gate)

    def claims(self) -> Iterator[Claim]:
        """What the paper reports, as quantities, over the targets that count for a model."""
        correct, relative = _claim("correct", Unit.SHARE), _claim("relative_probability", Unit.RATIO)
        after = _rows("after", SETTINGS, RELATED)
        yield correct("one_attractor_hurts", "one related attractor lowers accuracy", after(0), after(1))
        most = "the first related attractor lowers {} more than the next two (mean of 0 and 3 minus 1)".format
        yield correct("first_hurts_most", most("accuracy"), after(0, 3), after(1))
        yield relative("first_lowers_probability_most", most("the probability"), after(0, 3), after(1))
        other = _rows("after", SETTINGS, ("unrelated",))
        lowers = "unrelated attractors lower the target's probability"
        yield relative("unrelated_lower_probability", lowers, other(0), other(3))
        gradual = "three unrelated attractors lower the probability more than one"
        yield relative("unrelated_act_gradually", gradual, other(1), other(3))
        yield from _claims_of_unrelated_accuracy()
        spares = "one unrelated attractor hurts accuracy less than one related"
        yield correct("unrelated_spare_accuracy", spares, other(1), after(1))
        yield from _claims_of_settings()
        alike = (
            "attractors related to the fact and to the answer hurt accuracy alike (within a fifth of the first drop)"
        )
        of_type = (_rows("after", SETTINGS, (one,)) for one in RELATED)
        yield _alike(correct("types_alike", alike, *(rows(1, 2, 3) for rows in of_type)), after(0), after(1))
        yield from _claims_between()
        yield from _claims_of_later_keys()
        robust = "the larger of two models of one architecture keeps the target more often beside related attractors"
        yield replace(correct("larger_keeps_more", robust, after(1, 2, 3), None), between=LARGER)
        leads = "RoBERTa large keeps the target more often beside related attractors than each other model of the paper"
        yield replace(correct("roberta_large_keeps_most", leads, after(1, 2, 3), None), between=_lead("roberta-large"))

    @property
    def headline(self) -> Measure:
        where = {"type": RELATED, "attractors": tuple(range(1, MOST + 1))}
        conditions = {"type": "related", "attractors": f"1 to {MOST}"}
        return Measure(
            "target_over_rivals",
            means,
            ("target_over_rivals_nats",),
            where=where,
            conditions=conditions,
            unit=Unit.NATS,
            neutral=0.0,
        )


def _claim(column: str, unit: Unit) -> Callable[[str, str, Rows, Rows | None], Claim]:
    def claim(name: str, statement: str, plus: Rows, minus: Rows | None) -> Claim:
        gate = Gate("base_preferred", LEAST_COMPETENCE)
        return Claim(name, statement, paper="D", column=column, plus=plus, minus=minus, unit=unit, gate=gate)

    return claim


def _alike(claim: Claim, plus: Rows, minus: Rows) -> Claim:
    """Within a fifth of the drop from `plus` to `minus`."""
    return replace(claim, direction=Direction.ALIKE, margin=Margin(plus=plus, minus=minus))


def _claims_of_unrelated_accuracy() -> Iterator[Claim]:
    """The paper's figure 8."""
    correct, rows = _claim("correct", Unit.SHARE), _rows("after", SETTINGS, ("unrelated",))
    yield correct("unrelated_lower_accuracy", "three unrelated attractors lower accuracy", rows(0), rows(3))
    gradual = "three unrelated attractors lower accuracy more than one"
    yield correct("unrelated_lower_accuracy_gradually", gradual, rows(1), rows(3))


def _claims_of_settings() -> Iterator[Claim]:
    """What longer lists do: one entity's attractors are words of a list, several entities' are statements."""
    correct, relative = _claim("correct", Unit.SHARE), _claim("relative_probability", Unit.RATIO)
    single, multiple = (_rows("after", (setting,), RELATED) for setting in ("single", "multiple"))
    rises = "accuracy rises again with longer lists of {} attractors (for some models)".format
    yield correct("lists_recover", rises("one entity's"), single(3), single(1))
    yield correct("lists_recover_multiple", rises("several entities'"), multiple(3), multiple(1))
    mitigated = "from one to three attractors, accuracy rises less with several entities than with one (halved)"
    both = {key: values for key, values in single(1).items() if key not in ("setting", "attractors")}
    ends = (("single 3", "multiple 1"), ("single 1", "multiple 3"))
    yield correct("recovery_mitigated", mitigated, *({**both, SETTING_AT: end} for end in ends))
    stable = "from one to three attractors of one entity, probability stays the same (within a fifth of the first drop)"
    claim = relative("ratios_stable_single", stable, single(1), single(3))
    yield _alike(claim, single(0), single(1))
    falls = "from one to three attractors of several entities, probability falls further"
    yield relative("ratios_fall_multiple", falls, multiple(1), multiple(3))


def _claims_between() -> Iterator[Claim]:
    """The paper's section 6.1: attractors between key entity and fact."""
    correct, rows, multiple = _claim("correct", Unit.SHARE), _rows("between", SETTINGS, RELATED), ("multiple",)
    hurts = "one attractor between key entity and fact lowers accuracy too"
    yield correct("one_between_hurts", hurts, rows(0), rows(1))
    rises = "accuracy rises again with more attractors between key entity and fact (for many models)"
    yield correct("lists_recover_between", rises, rows(3), rows(1))
    many, after = _rows("between", multiple, RELATED)(1, 2, 3), _rows("after", multiple, RELATED)(1, 2, 3)
    gains = "RoBERTa large keeps the target more often with several entities' attractors before the fact than after it"
    large = (_SIZES["roberta-large"],)
    yield replace(correct("roberta_large_gains_between", gains, many, after), networks=large)
    poor = "each other model keeps the target more often than GPT-2 medium, with several entities' attractors before it"
    last = correct("gpt2_medium_last_between", poor, many, None)
    yield replace(last, between=_lead("gpt2-medium")._replace(behind=True))


def _claims_of_later_keys() -> Iterator[Claim]:
    """Section 6.2: the question is about an entity that was not the first."""
    correct, multiple = _claim("correct", Unit.SHARE), ("multiple",)
    later, first = _rows("key_later", multiple, ("B",)), _rows("after", multiple, ("B",))
    recent = "an attractor before the key entity hurts less than one after it"
    yield correct("recency", recent, later(1), first(1))
    dips = "GPT-2 small, the exception: one attractor before the key entity lowers accuracy as well"
    yield replace(correct("gpt2_small_dips_later", dips, later(0), later(1)), networks=(_SIZES["gpt2"],))
    falls = "with a later key entity, accuracy falls with more attractors"
    yield correct("later_key_falls", falls, later(1), later(3))
    leads = "with a later key entity too, RoBERTa large keeps the target more often than each other model of the paper"
    yield replace(correct("roberta_large_leads_later", leads, later(1, 2, 3), None), between=_lead("roberta-large"))


def _lead(leader: str) -> Lead:
    """Over the other seven models of the paper."""
    return Lead(_SIZES[leader], tuple(size for name, size in _SIZES.items() if name != leader))


def _rows(position: str, settings: tuple[str, ...], types: tuple[str, ...]) -> Callable[..., Rows]:
    """The rows with these numbers of attractors, of the targets that count."""

    def attractors(*counts: int) -> Rows:
        rows = {"position": (position,), "setting": settings, "type": types}
        return {**rows, "attractors": counts, "base_preferred": (1.0,)}

    return attractors


def _curves(at: Mapping[str, Any], conditions: Mapping[str, str | int], position: str, gate: Gate) -> Iterator[Measure]:
    """By setting, type and number of attractors."""
    settings: Sequence[str] = ("multiple",) if position == "key_later" else SETTINGS
    types = {"after": ("related", *RELATED, "unrelated"), "between": ("related", *RELATED), "key_later": ("B",)}
    for chosen, _ in combinations(setting=settings, type=types[position], attractors=range(MOST + 1)):
        where, reported = {**at, **chosen}, {**conditions, **chosen}
        if chosen["type"] == "related":
            where["type"] = RELATED
        yield from _both(_quantities(str(chosen["type"]), int(chosen["attractors"])), where, reported, gate)
        for after in range(int(chosen["attractors"])) if position == "key_later" else ():
            key = {"attractors_after_fact": after}
            yield from _both(_RECENCY, {**where, **key}, {**reported, **key}, gate)


def _both(
    quantities: Sequence[ColumnMean], where: Mapping[str, Any], conditions: Mapping[str, str | int], gate: Gate
) -> Iterator[Measure]:
    """Over all items, as the paper counts, and over those of the targets that count for the model."""
    yield from mean_measures(quantities, where, conditions, gate=gate)
    gated = [quantity._replace(name=f"{quantity.name}_gated") for quantity in quantities]
    yield from mean_measures(gated, {**where, **GATED}, conditions, gate=gate)


def _quantities(kind: str, attractors: int) -> Sequence[ColumnMean]:
    if kind == "unrelated" or not attractors:
        return _CURVES
    won = ("attractor_won", "other_won", *(f"won_{back}_back" for back in range(1, attractors + 1)))
    quantities = [*_CURVES, *(ColumnMean(name, name, Unit.SHARE) for name in won)]
    if attractors > 1:  # one in `attractors`, if the place did not matter
        quantities.append(ColumnMean("won_by_last", "won_by_last", unit=Unit.SHARE, neutral=1 / attractors))
    return quantities

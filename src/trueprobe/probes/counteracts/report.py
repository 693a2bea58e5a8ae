"""What CounterActs displays, as data: the table after a run, the paper's figures 2 to 4, tables 1 and 2, and shifts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueprobe.probes.counteracts.controls import MOVED, controls_of
from trueprobe.probes.counteracts.measures import FATES, CounterActsMeasures
from trueprobe.probes.display import Figure, ItemTable, Primary, ReportSpec, Summary, Table
from trueprobe.probes.measure_sets import with_all

SHORT = {
    "base": "alone",
    "tsyn": "pro, same syntax",
    "tsem": "pro, same meaning",
    "tneu": "neutral",
    "tcsyn": "counter, same syntax",
    "tcsem": "counter, same meaning",
    "bcsyn": "counter elsewhere, syntax",
    "bcsem": "counter elsewhere, meaning",
    "tnbc": "neutral elsewhere",
    "un": "unrelated",
}
LISTED_NOTE = "listed: share of the top 10's probability that is in the word list"
_DEPTHS = {"k=10": "top 10", "k=5": "top 5", "k=3": "top 3", "k=all": "the whole word list"}


def _order(measures: CounterActsMeasures) -> dict[str, tuple[str, ...]]:
    return {"knowledge": tuple(measures.knowledge)}


def _where(measures: CounterActsMeasures) -> dict[str, str]:
    """The depth of claims, tables and items, and what figures draw first; the whole list has another table."""
    return {"wording": with_all(measures.wordings)[-1], "dominated": "all", "k": "10"}


def _form_note(form: str, covered: Mapping[str, float]) -> tuple[str, ...]:
    """Which form of the question causal models were asked, where both were tried."""
    if not covered:
        return ()
    shares = ", ".join(f"{name} {share:.0%}" for name, share in covered.items())
    return (f"causal models were prompted in the form {form}; base prompts with a listed word in the top 10: {shares}",)


def summary(measures: CounterActsMeasures, form: str, covered: Mapping[str, float]) -> Summary:
    margins = ("stereotype_margin", "shift_towards_stereotype", "overturned", "listed_mass")
    return Summary(
        rows="knowledge",
        row_title="prompt",
        measures=(measures.first, measures.second, *margins),
        where=_where(measures),
        titles=(measures.first, measures.second, "towards stereotype", "shift from base", "turned", "listed"),
        meanings=measures.knowledge,
        where_title="top 10",
        notes=(LISTED_NOTE, *_form_note(form, covered)),
    )


def primary(measures: CounterActsMeasures) -> tuple[Primary, ...]:
    """Stereotyped at base, which the paper found; and what agreeing knowledge and a counterexample each change, to
    either side: the question of the probe. What the authors expected of several kinds pooled is exploratory."""
    at, shift = _where(measures), "shift_towards_stereotype"
    prefer = "asked alone, {models} {prefers|prefer} the group that "
    agreeing, counterexample = "a sentence that agrees with the stereotype moves", "a counterexample moves"
    moved = "{} {{models}} by {{by}} {} the stereotype".format
    return (
        Primary(
            "stereotype_margin",
            where={**at, "knowledge": "base"},
            claims=("base_stereotyped",),
            above=prefer + "dominates an occupation, by {by}",
            below=prefer + "does not dominate an occupation, by {by}",
        ),
        Primary(
            shift,
            where={**at, "knowledge": "tsyn"},
            above=moved(agreeing, "towards"),
            below=moved(agreeing, "away from"),
        ),
        Primary(
            shift,
            where={**at, "knowledge": "tcsyn"},
            above=moved(counterexample, "towards"),
            below=moved(counterexample, "away from"),
            claims=tuple(f"beyond_{kind}" for kind in measures.controls),  # asked for, they are the question
        ),
    )


def report(measures: CounterActsMeasures) -> ReportSpec:
    return ReportSpec(_figures(measures), _tables(measures), _item_table(measures.first, measures.second))


def _figures(measures: CounterActsMeasures) -> list[Figure]:
    first, second, wordings = measures.first, measures.second, measures.wordings
    several = ("wording",) if len(wordings) > 1 else ()
    controls = controls_of(measures.controls).items()
    names = {**SHORT, **{name: f"control: {one.group}, {one.kind}" for name, one in controls}}
    names |= {"dominated": "occupations", "k": "counted", **_DEPTHS}
    names |= {first: f"{first} words", second: f"{second} words", "dominated=all": "all"}
    names |= {f"dominated={group}": f"{group}-dominated" for group in (first, second)}
    order = {**_order(measures), "k": ("10", "3", "5", "all"), "dominated": ("all", first, second)}
    order["side"] = ("below", "above")
    names |= {"side=below": f"prefers {second}", "side=above": f"prefers {first}"}
    order["wording"] = ("all", *wordings) if several else wordings
    common: dict[str, Any] = {"x": "knowledge", "kind": "dots", "series": "measure", "panels": ("model",)}
    common |= {"choose": ("k", "dominated", *several), "order": order, "names": names}
    return [
        Figure(
            "groups",
            title=f"Probability of {first} and {second} words in the blank",
            caption="One dot per kind of knowledge in front of the prompt, with its 95 % interval over occupations. "
            "Where the two groups lie apart, the model prefers one; over all occupations together preferences for "
            "either side cancel, so choose the occupations of one group too. A model that names nobody within its "
            "top k shows nothing there: choose the whole word list.",
            measures=(first, second),
            y_title="probability",
            source="figures 2 to 4 of the paper in its first version, with its colours",
            **common,
        ),
        Figure(
            "preference",
            title="Which group is preferred",
            caption=f"Probability of {first} words minus that of {second} words, with its 95 % interval over "
            "occupations; the colour is that of the group that is preferred.",
            measures=(f"{first}_minus_{second}",),
            y_title=f"{first} minus {second}",
            source="figures 2 to 4 of the paper in its second version, with its colours",
            **{**common, "series": "side"},
        ),
        Figure(
            "margin",
            title="Preference for the group that dominates the occupation",
            caption="Right of zero: towards the stereotype. Left: against it.",
            measures=("stereotype_margin",),
            y_title="probability of the dominant group minus the other",
            **common,
        ),
        Figure(
            "shift",
            title="What the knowledge changes",
            caption="The preference with the knowledge minus the preference without it. Right of zero: more "
            "stereotyped.",
            measures=("shift_towards_stereotype",),
            y_title="change of the preference, above 0 towards the stereotype",
            **common,
        ),
    ]


def _tables(measures: CounterActsMeasures) -> list[Table]:
    order = _order(measures)
    names = {**measures.knowledge, "group_target": "occupation", "dominated": "dominated by"}
    names |= {"share": f"% {measures.first}", "overturned": "turned", "text": "prompt"}
    whole = {"k": "all"}
    return [
        *_table_of_controls(measures),
        Table(
            "whole-list",
            title="Over the whole word list",
            caption="All listed words, wherever they rank: for models whose top 10 holds too few. No claim and no "
            "other table is counted so.",
            of="estimates",
            rows=("knowledge",),
            measures=(measures.first, measures.second, "stereotype_margin", "shift_towards_stereotype", "overturned"),
            where={**_where(measures), **whole},
            order=order,
            names={**names, "stereotype_margin": "towards stereotype", "shift_towards_stereotype": "shift from base"},
        ),
        Table(
            "fates",
            title="What became of the preference",
            caption="Top 10. Of the prompts with a preference when asked alone: the share that changed sides, grew, "
            "or shrank.",
            of="estimates",
            rows=("knowledge",),
            measures=FATES,
            where=_where(measures),
            order=order,
            names=names,
        ),
        Table(
            "sample",
            title="One prompt with each kind of knowledge",
            caption="The prompt is the same each time.",
            of="items",
            rows=("knowledge",),
            where={"wording": measures.wordings[0]},
            order=order,
            names=names,
            source="table 2 of the paper",
        ),
        Table(
            "occupations",
            title="The occupations",
            caption="With the group that dominates each.",
            of="observations",
            rows=("dominated", "group_target", "share"),
            names=names,
            source="table 1 of the paper",
        ),
    ]


def _table_of_controls(measures: CounterActsMeasures) -> list[Table]:
    table = Table(
        "controls",
        title="Is it the knowledge, or the word for a group in it?",
        caption="Top 10. Shift of the preference towards the group that is named: behind knowledge with the same "
        "syntax, after the control, and the first minus the second, target by target.",
        of="estimates",
        rows=("knowledge",),
        measures=MOVED,
        where={**_where(measures), "knowledge": tuple(controls_of(measures.controls))},
        order=_order(measures),
        names={**measures.knowledge, **dict(zip(MOVED, ("knowledge", "control", "difference"), strict=True))},
    )
    return [table] if measures.controls else []


def _item_table(first: str, second: str) -> ItemTable:
    names = {
        f"{first}_top10": f"{first}, top 10",
        f"{second}_top10": f"{second}, top 10",
        "stereotype_margin_top10": "towards stereotype, top 10",
        "shift_towards_stereotype_top10": "shift from base, top 10",
        "stereotype_margin_all": "towards stereotype, all listed words",
    }
    return ItemTable(
        tuple(names),
        "shift_towards_stereotype_top10",
        answer="top_tokens",
        probabilities="top_probabilities",
        side="stereotype_margin_top10",
        names=names,
    )

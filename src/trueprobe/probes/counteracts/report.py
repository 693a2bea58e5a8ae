"""What the report shows of CounterActs: its figures 2 to 4, tables 1 and 2, shifts and fates, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueprobe.probes.counteracts.measures import FATES, PROMPT_TYPES
from trueprobe.probes.display import Figure, ItemTable, Table

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
_DEPTHS = {"10": "top 10", "5": "top 5", "3": "top 3", "all": "the whole word list"}


def figures(first: str, second: str, wordings: Sequence[str]) -> list[Figure]:
    several = len(wordings) > 1
    names = {**SHORT, "dominated": "occupations", "k": "counted", "knowledge": "sentence in front"}
    names |= {first: f"{first} words", second: f"{second} words"}
    order = {
        "knowledge": PROMPT_TYPES,
        "k": ("10", "3", "5", "all"),
        "dominated": ("all", first, second),
        "wording": ("all", *wordings) if several else tuple(wordings),
    }
    choose = ("k", "dominated", *(("wording",) if several else ()))
    told = {**names, **{f"k={k}": says for k, says in _DEPTHS.items()}, "dominated=all": "all"}
    told |= {f"dominated={group}": f"{group}-dominated" for group in (first, second)}

    def figure(name: str, title: str, caption: str, measures: tuple[str, ...], **more: str) -> Figure:
        shown = {"kind": "dots", "series": "measure", "choose": choose, "order": order, "names": told, **more}
        return Figure(name, title, caption, measures, "knowledge", panels=("model",), **shown)  # type: ignore[arg-type]

    return [
        figure(
            "groups",
            f"Probability of {first} and {second} words in the blank",
            "One dot per kind of sentence in front, with its 95 % interval over occupations. Where the two groups lie "
            "apart, the model prefers one; over all occupations together preferences for either side cancel, so "
            "choose the occupations of one group too. A model that names nobody within its top k shows nothing there: "
            "choose the whole word list.",
            (first, second),
            y_title="probability",
            source="figures 2 to 4",
        ),
        figure(
            "margin",
            "Preference for the group that dominates the occupation",
            "Right of zero: towards the stereotype. Left: against it.",
            ("stereotype_margin",),
            y_title="probability of the dominant group less the other",
        ),
        figure(
            "shift",
            "What the sentence in front changes",
            "The preference after the sentence less the preference without it. Right of zero: more stereotyped.",
            ("shift_towards_stereotype",),
            y_title="change of the preference",
        ),
    ]


def tables(first: str, second: str, wordings: Sequence[str], meanings: Mapping[str, str]) -> list[Table]:
    where = {"wording": "all" if len(wordings) > 1 else wordings[0], "k": "10", "dominated": "all"}
    names = {**meanings, "knowledge": "sentence in front", "group_target": "occupation", "dominated": "dominated by"}
    names |= {"share": f"% {first}", "overturned": "turned", "text": "prompt"}
    order = {"knowledge": PROMPT_TYPES}
    return [
        Table(
            "fates",
            "What became of the preference",
            "Of the prompts with a preference when asked alone: the share that changed sides, grew, or shrank.",
            "estimates",
            ("knowledge",),
            FATES,
            where,
            order,
            names,
        ),
        Table(
            "sample",
            "One prompt of each kind",
            "The sentence in front is of this kind; what is asked is the same each time.",
            "items",
            ("knowledge",),
            where={"wording": wordings[0]},
            order=order,
            names=names,
            source="table 2",
        ),
        Table(
            "occupations",
            "The occupations",
            "With the group that dominates each.",
            "observations",
            ("dominated", "group_target", "share"),
            names=names,
            source="table 1",
        ),
    ]


def item_table(first: str, second: str) -> ItemTable:
    names = {
        f"{first}_all": first,
        f"{second}_all": second,
        "stereotype_margin_all": "towards stereotype",
        "shift_towards_stereotype_all": "shift from base",
        "stereotype_margin_top10": "… in the top 10",
    }
    return ItemTable(
        tuple(names),
        "shift_towards_stereotype_all",
        answer="top_tokens",
        probabilities="top_probabilities",
        side="stereotype_margin_all",
        names=names,
    )

"""Titles, captions, menus, tooltips and descriptions of figures."""

from __future__ import annotations

from collections.abc import Sequence

from trueprobe.results.numbers import count
from trueprobe.results.text.verdicts import verdict_text
from trueprobe.statistics.rows import NearTies
from trueprobe.types import Verdict

SUMMARY_FIGURE_CAPTION = "One dot per condition, with its 95 % interval over items."
TRAINING_CAPTION = "One line per model over its training steps, with 95 % intervals. Steps of one seed are no seeds."
TRAINING_STEP = "training step"
FLIPS_AXIS = "items"
VARIANCE_AXIS = "share of the variance"
SEEDS_TESTED = "small dots: one per seed, hollow where p ≥ 0.01"
SCALE, SCALE_SHARED, SCALE_EACH = "scale", "the same for all", "each its own"
MODEL, ALL_MODELS = "model", "all"
NO_SUCH_PICTURE = "This run has no numbers for this choice."
NUMBERS = "The numbers"
TIP_VALUE, TIP_SOURCE, TIP_SEEDS, TIP_VERDICT = "value", "source", "seeds", "verdict"
_KINDS = {"lines": "Line chart", "dots": "Dot plot", "bars": "Stacked bars"}


def why_empty(verdict: Verdict) -> str:
    """Instead of the marks of a panel."""
    return f"{verdict_text(verdict)}: nothing to draw"


def pictures_cut(choices: int, most: int) -> str:
    return f" Of {choices} choices the first {most} are drawn; estimates/ has the numbers of all."


def no_published_number(changes: Sequence[tuple[str, str]]) -> str:
    named = ", ".join(f"{condition}: {value}" for condition, value in changes)
    return f"No published number for this choice; there are some for {named}."


def published_hollow(models: Sequence[str]) -> str:
    return f"Hollow: {', '.join(models)}."


def not_drawn(models: Sequence[tuple[str, Verdict]]) -> str:
    return f"Not drawn: {', '.join(f'{name} ({verdict_text(verdict)})' for name, verdict in models)}."


def training_title(measure: str) -> str:
    return f"Along training: {measure}"


def flips_title(label: str) -> str:
    return f"{label}: items on which seeds disagree"


def flips_caption(has_ties: bool) -> str:
    return (
        "Of the items of each category, the share on which this many seeds give another answer than most. "
        "Near-ties are items whose two sides are about as likely."
        + (" Hollow: no answer has half of the seeds, as some of them tie." if has_ties else "")
    )


def flip_names(counts: Sequence[str], no_majority: str) -> dict[str, str]:
    named = {f"part={n}": f"{n} of them" if n != "0" else "none" for n in counts}
    named |= {f"part={no_majority}": "no majority, as some tie", "near_ties": "near-ties"}
    return {**named, f"near_ties={NearTies.INCLUDED}": "included", f"near_ties={NearTies.EXCLUDED}": "left out"}


def variance_title(label: str) -> str:
    return f"{label}: where the variance comes from"


def variance_caption(measure: str) -> str:
    return (
        f"Of the variance of one checkpoint's {measure}: the part that other items, another seed or another wording "
        "would change."
    )


def variance_names(sources: Sequence[str]) -> dict[str, str]:
    titles = ("other items", "another seed", "seeds, item by item", "another wording")
    return {f"part={source}": title for source, title in zip(sources, titles, strict=True)}


def axis_title(title: str, percent: bool, signed: bool) -> str:
    return f"{title} ({'points' if signed else '%'})".strip() if percent else title


def items_behind(items: int, unscored: int) -> dict[str, str]:
    return {"items": count(items)} | ({"not scored": count(unscored)} if unscored else {})


def seeds_drawn(seeds: int, significant: int | None) -> str:
    mean = f"mean of {seeds} checkpoints"
    return mean if significant is None else f"{mean}, {significant} significant at 0.01"


def figure_description(kind: str, title: str, panels: Sequence[str]) -> str:
    """For people who do not see it."""
    named = f", a panel each for {'; '.join(panels)}" if len(panels) > 1 else ""
    return f"{_KINDS[kind]}: {title}{named}. The numbers are in the table below the figure and in its CSV file."

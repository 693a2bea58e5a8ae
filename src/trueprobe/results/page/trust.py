"""How far to trust it: seeds, flips, sources of variance, tests and diagnostics that disagree, where a run has them.

Everything here was counted by the run (`flips`, `variance`, `signs`, `disagreements`, rows of families in the
estimates); this module only shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from trueprobe.probes.display import Figure, Table
from trueprobe.results.numbers import Format, count
from trueprobe.results.page.figures import Drawing, draw_rows, reads
from trueprobe.results.page.reading import Reading
from trueprobe.results.page.tables import Cell, Grid, names_of, over_seeds, short_names, verdict_mark
from trueprobe.results.select import SILENT, directed, row_keys, titles, where, where_told_by

LEAD = "The same setup trained with another seed is another model. This part shows how much that changes the answers."
LEAD_ONE = "Every model was trained once. This part shows what other items and other ways of asking change."
SOURCES = {"items": "other items", "seeds": "another seed", "seeds_by_items": "seeds, item by item"}
SOURCES |= {"wordings": "another wording"}
MOST_ROWS = 60
_BARE: Mapping[str, Any] = {"summary": {}}  # of a probe that the run does not tell of


def lead(reading: Reading) -> str:
    return LEAD if any(family.seeds > 1 for family in reading.families.values()) else LEAD_ONE


def parts(reading: Reading) -> tuple[list[Drawing], list[Grid]]:
    """All figures and tables that this run has numbers for."""
    drawings = [*_flips(reading), *_variance(reading)]
    tables = [*_seeds(reading), _agreement(reading), _signs(reading), _disagreements(reading), _downstream(reading)]
    tables += _variants(reading)
    return drawings, [grid for grid in tables if grid is not None]


def _bars(shares: pd.DataFrame, keys: Sequence[str], parts_of: Mapping[str, str]) -> pd.DataFrame:
    """Shares side by side become rows that `draw_rows` stacks."""
    made = []
    for row in shares.to_dict("records"):
        for column, part in parts_of.items():
            if not math.isnan(row.get(column, math.nan)):
                told = {"value": row[column], "n_items": row.get("n_items", row.get("n_groups", 0))}
                made.append({**{key: row[key] for key in keys}, "part": part, **told})
    rows = pd.DataFrame(made)
    fixed = {"low": math.nan, "high": math.nan, "n_unscored": 0, "unit": "share", "neutral": math.nan}
    fixed |= {"verdict": "descriptive", "published": False, "measure": "share"}
    return rows.assign(**fixed, seeds=[[]] * len(rows))


def _flips(reading: Reading) -> Iterator[Drawing]:
    """Paper C's figure 1."""
    flips = reading.extra("flips")
    for label in dict.fromkeys(flips["probe"]) if len(flips) else ():
        mine = flips[flips["probe"] == label].rename(columns={"family": "model"})
        columns = sorted(name for name in mine if name.startswith("d") and name[1:].isdigit())
        says = {name: f"{name[1:]} of them" if name != "d0" else "none" for name in columns}
        tied = "no majority, as some tie"
        if mine.get("no_majority", pd.Series([0.0])).max() > 0:
            says["no_majority"] = tied
        figure = Figure(
            "flips",
            f"{label}: items on which trainings disagree",
            "Of the items of each category, the share on which this many trainings give another answer than most. "
            "Near-ties are items whose two sides are about as likely."
            + (" Hollow: no answer has half of the trainings, as some of them tie." if tied in says.values() else ""),
            ("share",),
            "category",
            "bars",
            "part",
            ("model",),
            ("near_ties",),
            order={"near_ties": ("kept", "set aside"), "part": tuple(says.values())},
            band=(tied,),
            names={**short_names(reading.told.get(label, _BARE)), "near_ties": "near-ties"},
            y_title="items",
            source="figure 1 of paper C",
        )
        drawn = draw_rows(_bars(mine, ("model", "category", "near_ties"), says), label, figure)
        if drawn:
            yield drawn


def _variance(reading: Reading) -> Iterator[Drawing]:
    """Where the variance of the summary's first directed measure comes from."""
    variance = reading.extra("variance")
    for label in dict.fromkeys(variance["probe"]) if len(variance) else ():
        summary = reading.told[label]["summary"] if label in reading.told else None
        measure = _directed(reading, label)
        if summary is None or measure is None:
            continue
        keys = row_keys(summary)
        fixed = {key: value for key, value in summary["where"].items() if key in variance}
        if "k" in fixed:  # every model says something over the whole word list
            fixed["k"] = "all"
        mine = where(variance[variance["probe"] == label], {"measure": measure, **fixed})
        if mine.empty or any(key not in mine for key in keys):
            continue
        figure = Figure(
            "variance",
            f"{label}: where the variance comes from",
            f"Of the variance of one checkpoint's {titles(summary)[measure]}: the part that other items, another "
            "seed or another wording would change.",
            ("share",),
            keys[-1],
            "bars",
            "part",
            ("model", *keys[:-1]),
            order={"part": tuple(SOURCES.values())},
            names=short_names(reading.told[label]),
            y_title="share of the variance",
        )
        shares = {f"share_{name}": says for name, says in SOURCES.items()}
        drawn = draw_rows(_bars(mine, ("model", *keys), shares), label, figure)
        if drawn:
            yield drawn


def _directed(reading: Reading, label: str) -> str | None:
    """The summary's first measure with a neutral value."""
    rows = reading.estimates
    return next(iter(directed(rows[rows["probe"] == label], reading.told[label]["summary"])), None)


def _seeds(reading: Reading) -> Iterator[Grid | None]:
    """Paper C's table 1, of every probe that was put to several trainings."""
    if reading.estimates.empty:
        return
    for label, told in reading.told.items():
        measure = _directed(reading, label)
        if measure is None:
            continue
        summary = told["summary"]
        table = Table(
            "seeds",
            f"{label}: {titles(summary)[measure]} over trainings",
            "Mean ± sample deviation over trainings, in the unit of the measure (points for shares and probabilities). "
            "Bold: a deviation over 2.5 points. Shaded: trainings reach from within 2 points of neutral to clearly "
            "beyond.",
            "estimates",
            tuple(row_keys(summary)),
            (measure,),
            summary["where"],
            names=names_of(told),
            seeds=True,
            source="table 1 of paper C",
        )
        yield over_seeds(reading, label, table)


def _agreement(reading: Reading) -> Grid | None:
    flips = reading.extra("flips")
    if flips.empty:
        return None
    share, two = Format.of("share", None), Format.of("ratio", None)
    lines = []
    for (label, family, category), rows in flips.groupby(["probe", "family", "category"], sort=False):
        by = {row["near_ties"]: row for row in rows.to_dict("records")}
        numbers = [f.plain(by[t][k]) for t in by for k, f in (("flip_rate", share), ("alpha", two))]
        names = names_of(reading.told.get(label, _BARE))
        asked = [Cell(f"{label}: {reads(names, 'category', category)}"), Cell(family)]
        lines.append([*asked, Cell(count(rows["n_items"].max()), "number"), *(Cell(n, "number") for n in numbers)])
    header = ["asked", "family", "items"]
    header += [f"{what}, near-ties {told}" for told in flips["near_ties"].unique() for what in ("flip, %", "alpha")]
    caption = "Items on which not all trainings agree, and Krippendorff's alpha (1: all agree; 0: as by chance)."
    return Grid("agreement", "Do trainings answer alike?", caption, header, lines[:MOST_ROWS], flips)


def _signs(reading: Reading) -> Grid | None:
    signs = reading.extra("signs")
    if signs.empty:
        return None
    conditions = [name for name in ("test", "representation", "layer") if name in signs and signs[name].nunique() > 1]
    ordered = signs.sort_values("says", key=lambda says: says.map(_WORST), kind="stable")
    lines = [
        [
            Cell(" · ".join(str(row[name]) for name in conditions) or str(row["measure"])),
            Cell(str(row["model"])),
            Cell(f"{row['significant']} of {row['n_seeds']}", "number"),
            Cell(f"{row['above']} above, {row['below']} below"),
            Cell(f"{row['lowest']:+.2f} to {row['highest']:+.2f}".replace("-", "−"), "number"),
            Cell(str(row["says"]), mark="" if row["says"] == "all runs agree" else "bad"),
        ]
        for row in ordered.to_dict("records")[:MOST_ROWS]
    ]
    header = ["test", "family", "significant", "sign", "range", ""]
    caption = "Of the trainings of a family: how many are significant at 0.01, and on which side of neutral they lie."
    return Grid("signs", "Tests over trainings", caption, header, lines, signs, "figure 3 of paper C")


_WORST = {"significant in both directions": 0, "significant in some runs only": 1, "all runs agree": 2}


def _disagreements(reading: Reading) -> Grid | None:
    apart = reading.extra("disagreements")
    if apart.empty:
        return None
    share = Format.of("share", None)
    points = Format.of("share", 0.0)
    lines = [
        [
            Cell(str(row["category"])),
            Cell(str(row["model"])),
            Cell(f"{row['first']} {share.plain(row['first_value'])} %", "number"),
            Cell(f"{row['second']} {share.plain(row['second_value'])} %", "number"),
            Cell(points.number(row["difference"], row["low"], row["high"]), "number"),
        ]
        for row in apart.to_dict("records")[:MOST_ROWS]
    ]
    header = ["category", "model", "one says", "the other says", "difference, points"]
    caption = "Two diagnostics that ask about the same category, on one scale (50 % is neutral)."
    return Grid("disagreements", "Do diagnostics agree?", caption, header, lines, apart)


def _variants(reading: Reading) -> Iterator[Grid]:
    """One probe asked in two ways: what the choice moves, of the numbers that the summary tells."""
    moved = reading.extra("variants")
    if moved.empty:
        return
    single = [family.cards[0]["name"] for family in reading.families.values() if len(family.cards) == 1]
    for (first, second), rows in moved.groupby(["first_label", "second_label"], sort=False):
        told = reading.told[first]
        summary, names = told["summary"], names_of(told)
        keys = row_keys(summary)
        asked = rows[(rows["level"] == "family") | rows["model"].isin(single)]
        shown = where_told_by(asked, summary["where"], "model")
        shown = shown[~shown["verdict"].isin(SILENT)]
        shown = shown.iloc[(~shown["verdict"].str.startswith("holds")).argsort(kind="stable")]
        lines, called = [], titles(summary)
        for row in shown.to_dict("records")[:MOST_ROWS]:
            form = Format.of(str(row["unit"]), 0.0, [row["difference"]])
            plain = Format.of(str(row["unit"]), None, [row["first"], row["second"]])
            what = " ".join(names.get(str(row[key]), str(row[key])) for key in keys)
            numbers = (plain.told(row["first"]), plain.told(row["second"]))
            lines.append(
                [
                    Cell(str(row["model"])),
                    Cell(f"{called[row['measure']]}; {what}"),
                    *(Cell(number, "number") for number in numbers),
                    Cell(form.told(row["difference"], row["low"], row["high"]), "number"),
                    Cell(str(row["verdict"]), mark=verdict_mark(str(row["verdict"]))),
                ]
            )
        if lines:
            caption = (
                "The same models, asked in both ways. Groups that both have are drawn together, and a family is "
                "compared seed by seed. Numbers that cannot be counted are in the CSV."
            )
            header = ["model", "number", first, second, "difference", "verdict"]
            title = f"What the choice between {first} and {second} moves"
            yield Grid(f"variants_{first}_{second}", title, caption, header, lines, rows)


def _downstream(reading: Reading) -> Grid | None:
    """Paper C's table 2: how well the same checkpoints do a task they were fine-tuned for."""
    lines, data = [], []
    for found in reading.downstream:
        texts = found["data"]
        limited = f" of {count(texts['train_of'])}" if texts["train"] < texts["train_of"] else ""
        told = [Cell(f"{found['task']}, {count(texts['train'])}{limited} texts")]
        if not found["complete"]:
            who = ", ".join(dict.fromkeys(model["family"] for model in found["models"]))
            unknown = [Cell(text, "number", mark="none") for text in ("–",) * 5 + ("not finished",)]
            lines.append([*told, Cell(who), *unknown])
        for row in found.get("families", ()):
            lines.append([*told, *_tuned(row, found["majority"]["accuracy"])])
            asked = {"task": found["task"], "n_train": texts["train"], "n_dev": texts["dev"]}
            asked |= {"majority_accuracy": found["majority"]["accuracy"], **row}
            data.append({**asked, "not_learnt": " ".join(row["not_learnt"])})
    if not lines:
        return None
    caption = (
        "Every checkpoint fine-tuned alike and judged on the dev part: mean ± sample deviation of the accuracies, what "
        "always giving the commonest label would get, the error that the size of the dev part leaves to one accuracy, "
        "the texts to which all give the same answer, and how often equally good checkpoints would differ this much "
        "(Cochran's Q). Where a checkpoint does not beat the commonest label, the comparison shows nothing."
    )
    header = ["task", "family", "checkpoints", "accuracy, %", "commonest label, %", "error, points", "alike, %", "p"]
    return Grid(
        "downstream",
        "Are they equally good at a task?",
        caption,
        header,
        lines,
        pd.DataFrame(data),
        "table 2 of paper C",
    )


def _tuned(row: Mapping[str, Any], majority: float) -> list[Cell]:
    percent = Format(100, " %", 1, False)
    several, nothing = row["sd"] is not None, row["shows"] == "nothing"
    accuracy = percent.plain(row["mean"]) + (f" ± {100 * row['sd']:.1f}" if several else "")
    reach = f"{percent.plain(row['lowest'])} to {percent.plain(row['highest'])}"
    alike = percent.plain(row["share_all_alike"]) if several else "–"
    equal = "–" if not several else "< 0.001" if row["p_equal"] < 0.001 else f"{row['p_equal']:.3f}"
    says = "shows nothing" if nothing else equal
    failed = f"not above the commonest label: {', '.join(row['not_learnt'])}" if nothing else ""
    step = f" at step {row['step']:,}" if row["step"] is not None else ""
    numbers = (percent.plain(majority), f"± {100 * row['error']:.1f}", alike)
    return [
        Cell(f"{row['family']}{step}"),
        Cell(count(row["n_checkpoints"]), "number"),
        Cell(accuracy, "number", told=reach),
        *(Cell(text, "number") for text in numbers),
        Cell(says, "number", mark="bad" if nothing else "", told=failed),
    ]

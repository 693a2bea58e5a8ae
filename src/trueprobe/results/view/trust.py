"""How far to trust it: seeds, answers, tests and diagnostics that disagree, choices that matter, fine-tuned models.

Everything here was counted by the run; a table is there where the run has rows for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import pandas as pd

from trueprobe.probes.display import Table
from trueprobe.probes.trust_cards import trust_cards
from trueprobe.results.numbers import NumberFormat, count, p_text
from trueprobe.results.text import gstudy as studied
from trueprobe.results.text import tables as words
from trueprobe.results.text import trust_cards as limits
from trueprobe.results.text import verdicts
from trueprobe.results.view.findings import choice_rows
from trueprobe.results.view.number import DASH, EMPTY, Cell, Grid, Mark, format_of, mark_of, number
from trueprobe.results.view.select import first_directed, label_of, names_of, titles
from trueprobe.results.view.source import ReportSource
from trueprobe.results.view.tables import by_form, over_seeds
from trueprobe.runs.downstream import Comparison, FamilyOutcome
from trueprobe.runs.families import at_last_step
from trueprobe.runs.schema import frame_of
from trueprobe.statistics.rows import (
    Disagreement,
    FlipShares,
    ItemReliability,
    NearTies,
    SignAgreement,
    SignCounts,
    VariantDifference,
    grouped,
)
from trueprobe.types import Outcome

MOST_ROWS = 60
_SEEDS_APART = (SignAgreement.BOTH_DIRECTIONS, SignAgreement.SOME_ONLY)
_SHARE, _RATIO, _POINTS = NumberFormat.of("share", None), NumberFormat.of("ratio", None), NumberFormat.of("share", 0.0)


def tables(source: ReportSource) -> list[Grid]:
    every = [
        _trust_cards(source),
        _reliability(source),
        *_seeds(source),
        _agreement(source),
        _signs(source),
        _disagreements(source),
        _downstream(source),
    ]
    return [grid for grid in (*every, *_choices(source)) if grid is not None]


def _trust_cards(source: ReportSource) -> Grid | None:
    """Limits of shipped analyses, where this run has at least as many seeds and items of such a model."""
    lines, data = [], []
    for label, family in product(source.labels, source.families):
        level = "family" if family.n_seeds > 1 else "checkpoint"
        for card in trust_cards(source.declaration(label).name):
            if (card.kind, card.level) != (family.cards[0].kind, level) or family.n_seeds < card.limit.seeds:
                continue
            counted = source.select(label, family, (card.name,), card.at).rows
            rows = [row for row in counted if row.n_items >= card.items]
            if not rows:
                continue
            text = limits.sentence(card, finds=any(row.verdict.outcome is Outcome.GOOD for row in rows))
            lines.append((Cell(f"{label}: {card.measure}"), Cell(family.name), Cell(text)))
            data.append((label, card.measure, family.name, card.limit.kind.value, card.limit.nats))
    columns = ["probe", "measure", "model", "limit", "nats"]
    return _grid("detection", limits.TRUST_CARDS, limits.HEADER, lines, pd.DataFrame(data, columns=columns))


def _numbers(*texts: str) -> list[Cell]:
    return [Cell(text, True) for text in texts]


def _seeds(source: ReportSource) -> Iterator[Grid | None]:
    """Paper C's table 1, of every probe: the summary's first measure with a neutral value."""
    for label in source.labels:
        declaration = source.declaration(label)
        summary, called = declaration.summary, titles(declaration.summary)
        measure = first_directed(source.estimates(label), summary)
        if measure is None:
            continue
        table = Table(
            "over_seeds",  # a probe may have a table of seeds of its own
            words.seeds_title(label, called[measure]),
            words.SEEDS_CAPTION,
            "estimates",
            summary.row_conditions,
            (measure,),
            summary.where,
            names=names_of(declaration),
            seeds=True,
            source=words.PAPER_C_TABLE_1,
        )
        yield from (over_seeds(source, label, one) for one in by_form(source, label, table).values())


def _reliability(source: ReportSource) -> Grid | None:
    """A generalisability study: variances of single answers, and reliability over the seeds of a family."""
    every = source.rows(ItemReliability)
    lines = tuple(map(_studied, at_last_step(every, source.families, lambda row: row.model)))
    texts = (studied.TITLE, studied.CAPTION, studied.HEADER)
    return Grid("reliability", *texts, lines, frame_of(every, ItemReliability)) if lines else None


def _studied(row: ItemReliability) -> tuple[Cell, ...]:
    parts = (row.variance_items, row.variance_seeds, row.variance_seeds_by_items)
    total = sum(parts)
    shares = [f"{100 * part / total:.0f}" if total else DASH for part in parts]
    where = ", ".join(value for value in row.conditions.values() if value != "all")
    deviation = math.sqrt(row.variance_wordings)
    wordings = DASH if math.isnan(deviation) else NumberFormat.of(row.unit, None).sentence(deviation)
    needed = [studied.NEVER if many is None else count(many) for many in (row.seeds_needed, row.items_needed)]
    reliability = _RATIO.number(row.reliability, row.low, row.high)
    name = f"{row.probe}: {row.measure.replace('_', ' ')}" + (f" ({where})" if where else "")
    return (Cell(name), Cell(row.model), *_numbers(*shares, wordings, reliability, *needed))


def _agreement(source: ReportSource) -> Grid | None:
    rows = at_last_step(source.rows(FlipShares), source.families, lambda row: row.family)
    ties = [kind for kind in NearTies if any(row.near_ties is kind for row in rows)]
    lines = []
    for (label, family, category), same in grouped(rows, lambda row: (row.probe, row.family, row.category)).items():
        known = {row.near_ties: row for row in same}
        names = names_of(source.declaration(label)) if label in source.labels else {}
        asked = Cell(f"{label}: {label_of(names, 'category', category)}")
        shares = [text for kind in ties for text in _alike(known.get(kind))]
        lines.append((asked, Cell(family), *_numbers(count(max(row.n_items for row in same)), *shares)))
    header = words.agreement_header(ties)
    return _grid("agreement", words.AGREEMENT, header, lines, frame_of(source.rows(FlipShares), FlipShares))


def _alike(row: FlipShares | None) -> tuple[str, str]:
    return (_SHARE.plain(row.flip_rate), _RATIO.plain(row.alpha)) if row else (DASH, DASH)


def _grid(
    name: str,
    texts: words.Titled,
    header: tuple[str, ...],
    lines: Sequence[tuple[Cell, ...]],
    data: pd.DataFrame,
) -> Grid | None:
    if not lines:
        return None
    return Grid(name, texts.title, texts.caption, header, tuple(lines[:MOST_ROWS]), data, texts.source)


def _signs(source: ReportSource) -> Grid | None:
    """The tests on which seeds disagree first."""
    rows = at_last_step(source.rows(SignCounts), source.families, lambda row: row.model)
    worst = list(SignAgreement)
    keys = [key for key in dict.fromkeys(k for row in rows for k in row.conditions) if _varies(rows, key)]
    signed = NumberFormat.of("d", 0.0)
    lines = [
        (
            Cell(" · ".join(row.conditions[key] for key in keys if key in row.conditions) or row.measure),
            Cell(row.model),
            Cell(words.of(row.significant, row.n_seeds), True),
            Cell(words.above_below(row.above, row.below)),
            Cell(words.to(signed.plain(row.lowest), signed.plain(row.highest)), True),
            Cell(
                words.sign_agreement(row.agreement),
                outcome=Outcome.BAD if row.agreement in _SEEDS_APART else None,
            ),
        )
        for row in sorted(rows, key=lambda row: worst.index(row.agreement))
    ]
    return _grid("signs", words.SIGNS, words.SIGNS_HEADER, lines, frame_of(source.rows(SignCounts), SignCounts))


def _varies(rows: Sequence[SignCounts], key: str) -> bool:
    return len({row.conditions.get(key) for row in rows}) > 1


def _disagreements(source: ReportSource) -> Grid | None:
    rows = source.rows(Disagreement)
    lines = [
        (
            Cell(row.category),
            Cell(row.model),
            *_numbers(
                f"{row.first} {_SHARE.plain(row.first_value)} %",
                f"{row.second} {_SHARE.plain(row.second_value)} %",
                _POINTS.number(row.difference, row.low, row.high),
            ),
        )
        for row in rows
    ]
    return _grid(
        "disagreements",
        words.DISAGREEMENTS,
        words.DISAGREEMENTS_HEADER,
        lines,
        frame_of(rows, Disagreement),
    )


def _choices(source: ReportSource) -> Iterator[Grid | None]:
    """One probe under two labels: what the choice moves; what holds first."""
    moved = grouped(source.rows(VariantDifference), lambda row: (row.first_label, row.second_label))
    for (first, second), rows in moved.items():
        declaration = source.declaration(first)
        names, called = names_of(declaration), titles(declaration.summary)
        speaking = [(family, row) for family, row in choice_rows(source, rows) if not row.verdict.inconclusive]
        lines = []
        for family, row in sorted(speaking, key=lambda pair: mark_of(pair[1].verdict) is not Mark.HOLDS):
            n = number(row, family.name, format_of([row]))
            values = [row.conditions[key] for key in declaration.summary.row_conditions]
            what = f"{called[row.measure]}; {' '.join(names.get(value, value) for value in values)}"
            plain = NumberFormat.of(row.unit, None, [row.first, row.second])
            sides = _numbers(plain.sentence(row.first), plain.sentence(row.second))
            difference = Cell(" ".join(filter(None, (n.text(), n.unit_text()))), True, number=n)
            verdict = Cell(verdicts.verdict_text(row.verdict), outcome=row.verdict.outcome)
            lines.append((Cell(family.name), Cell(what), *sides, difference, verdict))
        header, data = words.choice_header(first, second), frame_of(rows, VariantDifference)
        yield _grid(f"variants_{first}_{second}", words.choice(first, second), header, lines, data)


def _downstream(source: ReportSource) -> Grid | None:
    """Paper C's table 2: how well the same checkpoints do a task they were fine-tuned for."""
    lines: list[tuple[Cell, ...]] = []
    data = []
    for task in source.run.downstream:
        asked = Cell(words.task(task.task, task.data.train, task.data.train_of))
        if not task.complete:
            who = ", ".join(dict.fromkeys(model.family for model in task.models))
            unfinished = Cell(words.NOT_FINISHED, True, outcome=Outcome.NONE)
            lines.append((asked, Cell(who), *(EMPTY,) * 6, unfinished))
        for row in task.families:
            lines.append((asked, *_tuned(row, task.majority_accuracy)))
            asked_of = {"task": task.task, "n_train": task.data.train, "n_dev": task.data.dev}
            asked_of |= {"majority_accuracy": task.majority_accuracy, **row.model_dump(mode="json")}
            data.append({**asked_of, "not_learnt": " ".join(row.not_learnt)})
    return _grid("downstream", words.DOWNSTREAM, words.DOWNSTREAM_HEADER, lines, pd.DataFrame(data))


def _margin(row: FamilyOutcome) -> Cell:
    """The margin within which the accuracies are shown to be equal; its p-values are the hint."""
    if row.p_within_1 is None or row.p_within_2 is None or row.shows is Comparison.NOTHING:
        return EMPTY
    hint = words.within_hint(100 * (row.largest_difference or 0.0), p_text(row.p_within_1), p_text(row.p_within_2))
    return Cell(words.within(row.margin), True, hint=hint)


def _tuned(row: FamilyOutcome, majority: float) -> list[Cell]:
    percent = NumberFormat(100, " %", 1, False)
    accuracy = percent.plain(row.mean) + (f" ± {100 * row.sd:.1f}" if row.sd is not None else "")
    reach = words.to(percent.plain(row.lowest), percent.plain(row.highest))
    alike = DASH if row.share_all_alike is None else percent.plain(row.share_all_alike)
    return [
        Cell(words.at_step(row.family, row.step)),
        Cell(count(row.n_checkpoints), True),
        Cell(accuracy, True, hint=reach),
        *_numbers(percent.plain(majority), f"± {100 * row.error:.1f}", alike),
        _margin(row),
        Cell(words.SHOWS_NOTHING, True, outcome=Outcome.BAD, hint=words.not_learnt(row.not_learnt))
        if row.shows is Comparison.NOTHING
        else Cell(DASH if row.p_equal is None else p_text(row.p_equal), True),
    ]

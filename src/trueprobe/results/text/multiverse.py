"""Sentences about many ways of counting one question. The joint test is described and gives no verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trueprobe.results.numbers import NumberFormat, p_text, several
from trueprobe.results.view.multiverse import Curve
from trueprobe.types import Verdict

HEADING = "Other ways of counting"
AXIS_Z = "z under relabelling"
BAND = "Grey: 95 % of relabellings at each place (pointwise). Large: the run's own way."
GIVEN = "It tests items, given these models and seeds"
TOO_FEW = "Too few groups were scored for a test of any way of counting."
_EXCHANGED = {"sign": "the two sides of each group swapped", "deal": "the groups assigned to the two sides at random"}
_MOST = 4  # axes and flips that are named
_NAMED = 0.05  # of the variance
_NOTED = 0.01
_VERDICTS = {
    Verdict.HOLDS_FOR_CHECKPOINT: "differs from neutral",
    Verdict.UNDECIDED: "undecided",
    Verdict.TOO_FEW_GROUPS: "too few groups",
}


def _share(share: float) -> str:
    return f"{100 * share:.0f} %"


def title(curve: Curve) -> str:
    step = "" if curve.whole.step is None else f" at step {curve.whole.step}"
    return f"{curve.whole.probe}, {curve.whole.model}{step}: {curve.whole.question}"


def headline(curve: Curve) -> str:
    """The line of the first screen."""
    whole = curve.whole
    influence = f"; largest influence: {curve.axes[0].axis}" if curve.axes and curve.axes[0].unique >= _NAMED else ""
    if not whole.n_specifications:
        return f"{whole.question} ({whole.model}): too few groups for a test of any way of counting."
    same = f"the same sign in {_share(whole.same_sign)} of {several(whole.n_specifications, 'way')} of counting"
    on_list = f", on the list {p_text(whole.p_list)}: {_VERDICTS[whole.verdict]}" if whole.n_list else ""
    return f"{whole.question} ({whole.model}): {same}{influence}; joint p {p_text(whole.p)}{on_list}."


def sentences(curve: Curve) -> Iterator[str]:
    whole = curve.whole
    yield f"Positive: {whole.statement}."
    if not whole.n_specifications:
        yield TOO_FEW
        return
    same = f"The same sign in {_share(whole.same_sign)} of {several(whole.n_specifications, 'way')} of counting"
    yield f"{same}, which vary like {whole.effective:.1f} uncorrelated ones."
    yield (
        f"Joint test: mean z {_z(whole.mean_z)}, p {p_text(whole.p)} ({_EXCHANGED[whole.relabelling]} in all ways at "
        f"once; {several(whole.relabellings, 'relabelling')} of {several(whole.n_groups, 'group')}). {GIVEN}"
        f"{_listed(curve)}."
    )
    yield (
        f"Only described: largest |z| {whole.max_abs_z:.2f}; in {_share(whole.any_significant)} of the relabellings "
        "some way has |z| > 1.96."
    )
    yield axes(curve)
    yield flips(curve)
    if own := curve.of_run:
        form = NumberFormat.of(own.unit, own.neutral, [own.value])
        yield f"The run's own way: {form.sentence(own.value, own.low, own.high)}, z {_z(own.z)}."
    if curve.ranges:
        yield f"Values: {'; '.join(_ranges(curve))}."


def _listed(curve: Curve) -> str:
    """Only a study or plan that was written beforehand puts it on the list."""
    whole = curve.whole
    if not whole.n_list:
        return ", and is not on the report's list of verdicts"
    p, of_list = p_text(whole.p_list), f"on the report's list, of length {whole.n_list}"
    return f"; {of_list}, its p is {p}: {_VERDICTS[whole.verdict]}"


def axes(curve: Curve) -> str:
    named = [f"{one.axis} {_share(one.unique)}" for one in curve.axes[:_MOST] if one.unique >= _NAMED]
    rest = f"several together {_share(curve.whole.interactions)}"
    uneven, overlap = [], curve.whole.overlap
    if overlap > _NOTED:
        uneven = [f"shared by axes of an unbalanced grid {_share(overlap)}"]
    elif overlap < -_NOTED:
        uneven = [f"less {_share(-overlap)}, as axes of an unbalanced grid hide each other"]
    return f"Variance of z by choice: {', '.join([*named, rest, *uneven])}."


def flips(curve: Curve) -> str:
    named = [f"{one.axis}={one.choice} ({_share(one.other_side)})" for one in curve.flips[:_MOST]]
    return f"Mostly the other sign with: {', '.join(named)}." if named else "No single choice turns most ways round."


def left_out(needed: Mapping[str, int]) -> Iterator[str]:
    if needed:
        least = min(needed.items(), key=lambda one: one[1])
        named = [f"{name} ({several(rows, 'row')})" for name, rows in list(needed.items())[:_MOST]]
        more = f" and {len(needed) - _MOST} more" if len(needed) > _MOST else ""
        yield f"Left out, as rows would be computed: {', '.join(named)}{more}. --rows {least[1]} adds {least[0]}."


def description(curve: Curve) -> str:
    """For who cannot see the figure."""
    return f"{title(curve)}. {headline(curve)} {flips(curve)}"


def _ranges(curve: Curve) -> Iterator[str]:
    for unit, neutral, lowest, highest in curve.ranges:
        form = NumberFormat.of(unit, neutral, [lowest, highest])
        ends = dict.fromkeys((form.sentence(lowest), form.sentence(highest)))
        yield f"{' to '.join(ends)} ({unit})"


def _z(z: float) -> str:
    return f"{z:.2f}".replace("-", "−")

"""The reference page of a probe: settings, examples of items, measures, claims and columns, from what it declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from declarations import code, page, table
from trueprobe import probes
from trueprobe.probes import Probe
from trueprobe.probes.seat.material import SeatMaterial
from trueprobe.statistics.means import group_means, means
from trueprobe.statistics.measure import Claim, Gate, Lead, Measure
from trueprobe.types import ClaimSource, Item, WordList

DEPTH = re.compile(r"_(top\d+)$")  # of a column that is there once per depth
SAMPLES = {"crows_pairs": {"data": "sample"}, "stereoset": {"data": "sample"}}  # where the data is fetched
KINDS = {"masked", "causal"}
Declared = TypeVar("Declared", Measure, Claim)
MOST_EXAMPLES = 20


def probe_page(name: str) -> str:
    probe = probes.make(name, SAMPLES.get(name))
    if probe.shares_vocabulary:
        probe = probe.with_vocabulary(WordList("common", ("bear",)))
    about = f"For users of the probe [{name}](../../probes/{name}.md): its settings, measures, claims and columns."
    return page(f"{name}: reference", about, _probe(probe))


def _probe(probe: Probe) -> Iterator[str]:
    yield from (f"**Question.** {probe.question}", "", f"**Paper.** {probe.paper}", "")
    yield from (f"**Does not show.** {probe.does_not_show}", "", "## Settings", "")
    yield from table(("setting", "default", "values", "meaning"), map(_setting, *_settings(probe)))
    yield from ("## Examples of items", "", *_examples(probe.items()))
    if meanings := probe.summary.meanings:
        yield from table(("value", "meaning"), ((f"`{value}`", meaning) for value, meaning in meanings.items()))
    yield from ("## Measures", "", f"Resampled with: {code(probe.factors)}. Conditions of the numbers:", "")
    yield from table(("condition", "values"), _conditions(probe.measures()))
    header = ("measure", "is", "unit", "neutral", "needs")
    yield from table(header, (_measure(one) for one in _first_of_name(probe.measures())))
    if primary := probe.primary:
        yield from ("Primary, so that it has a verdict in a report:", "")
        rows = ((f"`{one.measure}`", _where(one.where), code(one.claims)) for one in primary)
        yield from table(("measure", "where", "claims"), rows)
    if claims := probe.claims():
        yield from ("## Claims", "", *_repeated(claims))
        yield from table(("claim", "statement", "quantity", "expected"), map(_claim, _first_of_name(claims)))
    if probe.name == "seat":
        yield from _tests()
    yield from ("## Columns of the observations", "")
    yield from table(("column", "meaning"), _columns(probe.columns()))


def _examples(items: Sequence[Item]) -> Iterator[str]:
    """Items until every value of a condition is among them, as far as a page can hold them."""
    listed: set[tuple[str, str | int]] = set()
    shown: list[Item] = []
    for item in items:
        if len(shown) < MOST_EXAMPLES and not listed.issuperset(item.conditions.items()):
            listed.update(item.conditions.items())
            shown.append(item)
    rows = ((*(code_of(str(value)) for value in item.conditions.values()), item.text) for item in shown)
    yield from table((*items[0].conditions, "text"), rows)


def code_of(value: str) -> str:
    return f"`{value}`" if value else ""


def _tests() -> Iterator[str]:
    """What SEAT's tests compare: targets X and Y, attributes A and B."""
    yield from ("## Tests", "")
    built = SeatMaterial.read("weat").built()
    yield from table(("test", "X", "Y", "A", "B"), ((f"`{one.name}`", *one.titles.values()) for one in built))


def _settings(probe: Probe) -> tuple[Iterable[str], Iterable[Any]]:
    fields = probe.Settings.model_fields
    last = sorted(fields, key=lambda key: key == "resample_seed")
    return last, [fields[key] for key in last]


def _setting(key: str, field: Any) -> tuple[str, str, str, str]:
    default = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else str(field.default)
    return f"`{key}`", f"`{default}`" if default else "", _values(field.annotation), field.description or ""


def _values(annotation: Any) -> str:
    """`Literal["a", "b"]` -> "`a`, `b`"; a union has the values of its parts."""
    if isinstance(annotation, type):
        return {int: "integer", bool: "`true`, `false`"}.get(annotation, "text")
    parts = get_args(annotation)
    if all(isinstance(part, str) for part in parts):
        return code(parts)
    if Ellipsis in parts:
        return "several, separated by commas"
    return ", ".join(map(_values, parts))


def _first_of_name(declared: Iterable[Declared]) -> list[Declared]:
    first: dict[str, Declared] = {}
    for one in declared:
        first.setdefault(one.name, one)
    return list(first.values())


def _conditions(measures: Iterable[Measure]) -> Iterator[tuple[str, str]]:
    values: dict[str, dict[str, None]] = {}
    for one in measures:
        for name, value in one.reported.items():
            values.setdefault(name, {})[value] = None
    shown = (name for name in values if not name.startswith("vocabulary_"))  # size and hash depend on the models
    yield from ((f"`{name}`", code(values[name])) for name in shown)


def _measure(one: Measure) -> tuple[str, str, str, str, str]:
    words = {means: "mean of ", group_means: "mean over groups of "}.get(one.function, "from ")
    neutral = "" if one.neutral is None else f"{one.neutral:g}"
    needs = "; ".join(filter(None, (_gate(one.gate), _coverage(one.coverage))))
    return f"`{one.name}`", words + code(map(_stem, one.columns)), one.unit, neutral, needs


def _stem(column: str) -> str:
    return DEPTH.sub("_…", column)


def _gate(gate: Gate | None) -> str:
    return f"gate: mean of `{gate.column}` at least {gate.least:g}" if gate else ""


def _coverage(column: str) -> str:
    return f"coverage: `{_stem(column)}`" if column else ""


def _repeated(claims: Iterable[Claim]) -> Iterator[str]:
    """The conditions under which every claim is computed, where they are several."""
    values: dict[str, dict[str, None]] = {}
    for claim in claims:
        for name, value in claim.conditions.items():
            values.setdefault(name, {})[str(value)] = None
    for name, distinct in values.items():
        if len(distinct) > 1:
            yield from (f"Each for `{name}` = {', '.join(distinct)}.", "")


def _claim(claim: Claim) -> tuple[str, str, str, str]:
    less = f", less over {_where(_other(claim.minus, claim.plus))}" if claim.minus else ""
    between = _between(claim)
    of = f"`{_stem(claim.column)}` over {_where(claim.plus)}{less}{between}"
    about = (_source(claim), _only(claim), _gate(claim.gate), _coverage(claim.coverage), _trivial(claim))
    needs = "; ".join(filter(None, about))
    expected = f"{claim.direction.replace('_', ' ')} {claim.threshold:g}{_margin(claim)}"
    return f"`{claim.name}`", claim.statement, of + (f" ({needs})" if needs else ""), expected


def _other(minus: Mapping[str, Any], plus: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: values for name, values in minus.items() if plus.get(name) != values}


def _between(claim: Claim) -> str:
    if claim.between is None:
        return ""
    if isinstance(claim.between, Lead):
        others = claim.between.others
        second = _network(others[0]) if len(others) == 1 else "each other network of the paper"
        first = _network(claim.between.leader)
        first, second = (second, first) if claim.between.behind else (first, second)
    else:
        first, second = claim.between
    times = f" times {claim.times:g}" if claim.times != 1 else ""
    return f"; {first} minus {second}{times}"


def _network(size: Any) -> str:
    return f"{size.architecture} of {size.layers} layers, width {size.width}"


def _only(claim: Claim) -> str:
    sizes = tuple(map(_network, claim.networks))
    only = sizes or claim.architectures or (claim.kinds if set(claim.kinds) < KINDS else ())
    return f"only {', '.join(only)}" if only else ""


def _source(claim: Claim) -> str:
    sources = {ClaimSource.EXPECTED: "what the authors expected", ClaimSource.CONTROL: "a control that is not theirs"}
    return sources.get(claim.source, "")


def _margin(claim: Claim) -> str:
    """`; margin: 0.2 × (… over properties = 10, less over properties = 1)`"""
    if claim.margin is None:
        return ""
    if claim.margin.amount:
        return f"; margin {claim.margin.amount:g}"
    plus, minus = claim.margin.plus, claim.margin.minus
    less = f", less over {_where(_other(minus, plus))}" if minus else ""
    return f"; margin: {claim.margin.share:g} × (`{_stem(claim.reference_column)}` over {_where(plus)}{less})"


def _trivial(claim: Claim) -> str:
    return "`not_contradicted` at best" if claim.trivial else ""


def _where(where: Mapping[str, Any]) -> str:
    """`{"k": (3, 5)}` -> "k = 3, 5"; a run of ten numbers is written by its ends."""
    return "; ".join(f"{name} = {_listed(value)}" for name, value in where.items()) or "all"


def _listed(value: Any) -> str:
    values = list(value) if isinstance(value, tuple) else [value]
    return f"{values[0]} to {values[-1]}" if len(values) > 5 else ", ".join(map(str, values))


def _columns(columns: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, meaning in columns.items():
        stem = DEPTH.sub("", name)
        at = [other.removeprefix(f"{stem}_") for other in columns if re.fullmatch(rf"{stem}_(top\d+|all)", other)]
        if stem != name and name == f"{stem}_{at[0]}":
            yield f"`{stem}_…` ({', '.join(at)})", meaning
        elif stem == name and f"{name.removesuffix('_all')}_top10" not in columns:
            yield f"`{name}`", meaning

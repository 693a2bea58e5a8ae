"""How much of what a model answers the word list covers: whether anything is measurable, and how causal models are
asked so that something is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueprobe.probes.measure_sets import ALL
from trueprobe.types import LEAST_COVERED, Observation, WhyNot

FORMS = ("target_is", "person_is")  # of the question to a causal model: the paper's first
LEAST_MASS = 0.001  # of the probability; over the whole list there is always some, were it by rounding
LEAST_WORDS = 0.05  # of a group's listed words; one at least


def answered(first: float, second: float, depth: str) -> float:
    """1 if the two groups' probabilities can be counted: they differ, and over the whole list they are not tiny."""
    return float(first != second and (depth != ALL or first + second >= LEAST_MASS))


def unlisted(counts: Mapping[str, int], verbalizer: Mapping[str, Sequence[str]]) -> WhyNot | None:
    """Nothing is measurable where a model has nearly none of a group's words: zero would be no answer of its."""
    for group, many in counts.items():
        listed = len(verbalizer[group])
        if many < max(1, LEAST_WORDS * listed):
            return WhyNot("multi_piece", f"{many} of {listed} {group} words are one piece of this vocabulary")
    return None


def form_coverage(observations: Sequence[Observation], column: str) -> dict[str, float]:
    """The share of base prompts that each form covers; nothing where none was tried. An item's id begins with its
    form."""
    values: dict[str, list[float]] = {form: [] for form in FORMS}
    for one in observations:
        values[one.item.partition("/")[0]].append(one.values.get(column, 0.0))
    return {form: sum(shares) / len(shares) for form, shares in values.items()} if all(values.values()) else {}


def chosen_form(covered: Mapping[str, float]) -> str:
    """The paper's, unless it covers too little and the other covers more."""
    papers, other = (covered.get(form, 1.0) for form in FORMS)
    return FORMS[papers < min(LEAST_COVERED, other)]

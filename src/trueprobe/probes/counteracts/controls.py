"""Four controls: does the sentence shift a preference, or the mere word for a group in it?

Each keeps the word for a group of the knowledge with the same syntax (`tsyn`: the target's own group, `tcsyn`: the
other one) and takes away what the sentence says of the target. A control's item asks the prompt behind that knowledge
too, so the two are compared target by target. Positive: towards the group that the word names. A difference near zero
does not show that a model cannot read the sentence, only that its answer did not depend on it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from trueprobe.errors import nearest
from trueprobe.probes.counteracts.material import Background, Wording
from trueprobe.statistics.measure import Claim, Gate
from trueprobe.types import ClaimSource

KINDS = {
    "other": "the sentence about another occupation of the target's group",
    "word": "the word for the group alone",
    "after": "the word for the group alone, behind the prompt",
    "nonsense": "the sentence about an occupation that does not exist",
}
OF_BOTH_SIDES = ("other", "word", "nonsense")  # a causal model reads nothing behind the blank
NONSENSE = "dreffler"
MATCHING = {"pro": "tsyn", "counter": "tcsyn"}  # the knowledge that a control is compared with
LEAST_SHIFT = 0.02  # under knowledge, for a claim about what it is made of: random networks rarely have as much
MOVED = ("moved_by_knowledge", "moved_by_control", "moved_beyond_control")


@dataclass(frozen=True)
class Control:
    """`pro`: its word names the group that dominates the target's occupation; `counter`: the other group."""

    group: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.group}_{self.kind}"

    @property
    def matching(self) -> str:
        return MATCHING[self.group]

    @property
    def meaning(self) -> str:
        return f"control of {self.matching}: {KINDS[self.kind]}"

    @property
    def crossed(self) -> bool:
        return self.kind == "other"

    @property
    def behind(self) -> bool:
        return self.kind == "after"

    def template(self, wording: Wording) -> str:
        if self.kind in ("word", "after"):
            return f"The {{{self.group}_noun}} ."
        sentence: str = getattr(wording, self.matching)
        return sentence

    def subject(self, target: Background, other: Background | None) -> Background:
        """Whom the sentence is about. All three have the same dominant group, and so the same word for it."""
        return other or (Background(name=NONSENSE, dominant=target.dominant) if self.kind == "nonsense" else target)

    def moved(
        self, values: Mapping[str, Any], base: Mapping[str, Any], knowledge: Mapping[str, Any], ends: Iterable[str]
    ) -> dict[str, float]:
        """By how much the margin moves towards the group that the word names, from the base prompt."""
        sign: int = 1 if self.group == "pro" else -1
        moved: dict[str, float] = {}
        for end in ends:
            margin = f"stereotype_margin_{end}"
            by_knowledge, by_control = (sign * (one[margin] - base[margin]) for one in (knowledge, values))
            numbers = (by_knowledge, by_control, by_knowledge - by_control)
            moved |= {f"{name}_{end}": number for name, number in zip(MOVED, numbers, strict=True)}
            moved[f"controlled_{end}"] = values[f"compared_{end}"] * knowledge[f"answered_{end}"]
        return moved


CONTROLS = {one.name: one for kind in KINDS for one in (Control(group, kind) for group in MATCHING)}


def _chosen(value: Any) -> Any:
    """`word,after` or `all`"""
    names = [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else list(value)
    for name in names:
        if name not in (*KINDS, "all"):
            raise ValueError(f"no control '{name}'{nearest(str(name), [*KINDS, 'all'])}")
    return tuple(kind for kind in KINDS if kind in names or "all" in names)


Kinds = Annotated[tuple[str, ...], BeforeValidator(_chosen)]


def controls_of(kinds: Sequence[str]) -> dict[str, Control]:
    return {name: one for name, one in CONTROLS.items() if one.kind in kinds}


def columns_at(end: str, within: str) -> dict[str, str]:
    by = f"shift of the margin towards the group that the control's word names, {within}, under the {{}}".format
    meanings = (by("knowledge"), by("control"), f"the first minus the second, {within}")
    columns = {f"{name}_{end}": meaning for name, meaning in zip(MOVED, meanings, strict=True)}
    return columns | {f"controlled_{end}": f"1 if base, knowledge and control can be counted, {within}"}


def claims(kinds: Sequence[str], k: int) -> Iterator[Claim]:
    """Of each control, over both groups' words: by how much the shift under knowledge is more than that under it."""
    for kind in kinds:
        at = {"knowledge": tuple(Control(group, kind).name for group in MATCHING)}
        yield Claim(
            f"beyond_{kind}",
            f"knowledge with the same syntax moves the margin more than {KINDS[kind]} does",
            paper="A",
            column=f"moved_beyond_control_top{k}",
            plus=at,
            kinds=("masked", "causal") if kind in OF_BOTH_SIDES else ("masked",),
            conditions={"k": k},
            coverage=f"controlled_top{k}",
            source=ClaimSource.CONTROL,
            gate=Gate(f"moved_by_knowledge_top{k}", LEAST_SHIFT, at),
        )

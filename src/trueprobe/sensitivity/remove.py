"""Counterexamples: what removes a planted association, and where? The recommendation of paper A, put to the test.

The full model of each assignment and seed goes on with a few counterexamples, for half of the targets of each group: in
the syntax of a prompt, in its meaning alone, or neutral sentences of both. What is left is measured on prompts of
either form and on held-out frames, in nats, about the targets that were trained and about the others. Positive
`removed`: less of the association. Not shown: whether a model that was never planted would lose what it has learnt.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from trueprobe.errors import BadInput, nearest
from trueprobe.sensitivity.associations import Association
from trueprobe.sensitivity.check import check
from trueprobe.sensitivity.plant import Planter, PlantRecipe, Start
from trueprobe.sensitivity.rows import RemovalClaimRow, RemovedRow
from trueprobe.statistics.doses import DoseDesign, DoseRow
from trueprobe.statistics.equivalence import LEVEL, alike
from trueprobe.statistics.verdict import FEWEST_GROUPS, Case, judge
from trueprobe.types import Direction

if TYPE_CHECKING:
    from trueprobe.sensitivity.session import Analysis

ARMS = ("syntax", "meaning", "neutral")
OTHER = "other"  # prompts of no arm: the held-out frames
TRAINED, UNTRAINED = "trained", "untrained"
MARGIN = 0.2  # of what was planted there
STEPS = 16
COUNTER = 0.0  # share of the sentences that agree with what was planted
SLOWER = 0.5  # times the learning rate of planting


def arms_of(text: str) -> tuple[str, ...]:
    """`syntax,meaning` or `all`; empty: none."""
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in named:
        if name not in (*ARMS, "all"):
            raise BadInput(f"--remove: no counterexamples '{name}'{nearest(name, (*ARMS, 'all'))}")
    return ARMS if "all" in named else tuple(arm for arm in ARMS if arm in named)


@dataclass(frozen=True)
class Removal:
    """Counterexamples for one full model."""

    association: Association
    assignment: int
    start: Start
    filler: Sequence[str]

    @property
    def recipe(self) -> PlantRecipe:
        planting = self.start.recipe
        embedding_rate = min(1.0, planting.embedding_rate)
        return replace(
            planting, steps=STEPS, learning_rate=SLOWER * planting.learning_rate, embedding_rate=embedding_rate
        )

    @property
    def targets(self) -> Mapping[str, tuple[str, ...]]:
        """Half of those dealt to each group, and the others."""
        dealt = self.association.assignment(self.assignment)
        rng = random.Random(f"counterexamples {self.assignment}")
        halves: dict[str, list[str]] = {TRAINED: [], UNTRAINED: []}
        for group in self.association.groups:
            of_group = [target for target in self.association.everyone if dealt[target] == group]
            chosen = set(rng.sample(of_group, len(of_group) // 2))
            for target in of_group:
                halves[TRAINED if target in chosen else UNTRAINED].append(target)
        return {name: tuple(listed) for name, listed in halves.items()}

    def rows(self, arms: Sequence[str]) -> Iterator[RemovedRow]:
        before = self._checked(self.start.open())
        for arm in arms:
            after = self._checked(self._trained(arm))
            for (prompts, targets), nats in before.items():
                yield RemovedRow(
                    assignment=self.assignment,
                    seed=self.start.seed,
                    arm=arm,
                    prompts=prompts,
                    targets=targets,
                    before=nats,
                    after=after[prompts, targets],
                )

    def _trained(self, arm: str) -> object:
        counter = self.association.counterexamples
        assert counter is not None
        about = self._about(TRAINED, planted=getattr(counter, arm))
        planter = Planter(about, self._dealt, self.start, self.recipe, self.filler)
        network = self.start.open()
        planter.learn(network, COUNTER)
        return network

    def _checked(self, network: object) -> dict[tuple[str, str], float]:
        counter = self.association.counterexamples
        assert counter is not None
        prompts = {**counter.prompts.model_dump(), OTHER: self.association.frames.held_out}
        tokenizer = self.start.tokenizer()
        return {
            (name, targets): check(
                network, tokenizer, self.start.kind, self._about(targets, held_out=frames), self._dealt
            ).nats
            for name, frames in prompts.items()
            for targets in (TRAINED, UNTRAINED)
        }

    @property
    def _dealt(self) -> Mapping[str, str]:
        return self.association.assignment(self.assignment)

    def _about(self, targets: str, **frames: tuple[str, ...]) -> Association:
        """The association with these targets alone, in these frames."""
        changed = self.association.frames.model_copy(update=frames)
        return self.association.model_copy(update={"targets": {targets: self.targets[targets]}, "frames": changed})


def removed(analysis: Analysis) -> Iterator[RemovedRow]:
    association, kind = analysis.association, analysis.starts[0].kind
    if association.counterexamples is None:
        raise BadInput("--remove: the association has no counterexamples; write a part [counterexamples] in its file")
    if kind != "masked":
        raise BadInput("--remove is for masked models: a causal one cannot learn from a word before its target")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    many = analysis.request.assignments * len(analysis.starts)
    with analysis.progress.task("training counterexamples", many, "models") as bar:
        for number in range(analysis.request.assignments):
            for start in analysis.starts:
                full = replace(start, folder=analysis.folders(number, start)[1])
                yield from Removal(association, number, full, analysis.filler).rows(analysis.request.remove)
                bar.advance()
    torch.set_num_threads(threads)


# ---------------------------------------------------------------- which removes more?


def claims(rows: Sequence[RemovedRow]) -> list[RemovalClaimRow]:
    """What two kinds of counterexamples remove, on the trained targets: does the first remove more on prompts of its
    own syntax, and are they alike on the other frames?"""
    arms = [arm for arm in ARMS if any(row.arm == arm for row in rows)]
    pairs = [(one, other) for i, one in enumerate(arms) for other in arms[i + 1 :]]
    where = (("syntax", Direction.ABOVE), (OTHER, Direction.ALIKE))
    return [_claim(rows, one, other, prompts, direction) for one, other in pairs for prompts, direction in where]


def _claim(rows: Sequence[RemovedRow], first: str, second: str, prompts: str, direction: Direction) -> RemovalClaimRow:
    here = [row for row in rows if row.prompts == prompts and row.targets == TRAINED]
    sides = {arm: {(row.assignment, row.seed): row for row in here if row.arm == arm} for arm in (first, second)}
    cells = sorted(sides[first])
    design = DoseDesign.of(
        [
            DoseRow(assignment=a, seed=s, dose=dose, manipulation=dose, value=0.0)
            for a, s in cells
            for dose in (0.0, 1.0)
        ]
    )
    shape = design.rows.shape[:2]
    gained, before = (
        np.array(values).reshape(shape)
        for values in (
            [sides[second][cell].after - sides[first][cell].after for cell in cells],
            [sides[first][cell].before for cell in cells],
        )
    )
    spread, shifted = design.spread(gained), [design.spread(gained + sign * MARGIN * before) for sign in (1, -1)]
    p_alike, p_apart = alike(*((one.value, one.p(0.0)) for one in shifted))
    is_alike = direction is Direction.ALIKE
    low, high = spread.interval(LEVEL) if is_alike else spread.interval()
    planted = design.spread(before * (1 - MARGIN))
    case = Case(
        value=spread.value,
        low=low,
        high=high,
        p=p_alike if is_alike else spread.p(0.0),
        p_apart=p_apart,
        reference=0.0,
        groups=FEWEST_GROUPS,  # items are the same for all: what varies are assignments and seeds
        seeds=shape[1],
        direction=direction,
        sensitive=planted.interval()[0] > 0,
    )
    return RemovalClaimRow(
        first=first,
        second=second,
        prompts=prompts,
        direction=direction,
        before=float(before.mean()),
        value=spread.value,
        low=low,
        high=high,
        margin=float(MARGIN * before.mean()) if is_alike else float("nan"),
        p=case.p,
        verdict=judge([case])[0].verdict,
        assignments=shape[0],
        seeds=shape[1],
    )

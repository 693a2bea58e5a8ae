"""Every question of a run's probes in all its ways: numbers and a joint test for each family or single checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trueprobe.errors import BadInput, nearest
from trueprobe.multiverse.observed import Observer, lacking, observer
from trueprobe.permissions import NONE, Permissions
from trueprobe.probes import Probe
from trueprobe.runs.families import asks, families
from trueprobe.runs.folder import Run, load_run
from trueprobe.runs.primary import joint_tests
from trueprobe.runs.replay import is_replayed
from trueprobe.runs.tables import FamilyStep, family_steps
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, unjudged
from trueprobe.statistics.joint import Joint, Matrix, Shares, axis_shares, joint, matrix, same_sign
from trueprobe.statistics.measure import Claim, Measure, NetworkSize
from trueprobe.statistics.multiverse import AxisShare, Counting, Multiverse, Question, Reading, Specification
from trueprobe.statistics.resampling import Resampling, groups_of
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.statistics.verdict import judge_joint
from trueprobe.types import Card, NoProgress, Progress

Number = Estimate | ClaimResult
Frames = Mapping[Reading, Sequence[pd.DataFrame]]  # of each seed, by the settings it was read with


@dataclass(frozen=True)
class FamilyMultiverse:
    """One question of one family or checkpoint, in all ways."""

    question: Question
    specifications: tuple[Specification, ...]  # by z
    whole: Multiverse
    axes: tuple[AxisShare, ...]
    matrix: Matrix  # what the joint test relabels; its columns in the order of `question.specifications`
    rows_needed: Mapping[str, int]  # what was left out, with how many new rows it needs
    rows_computed: int


def multiverse(
    folder: str | Path,
    labels: Sequence[str] = (),
    rows: int = 0,
    store: Path | None = None,
    progress: Progress | None = None,
    permissions: Permissions = NONE,
) -> list[FamilyMultiverse]:
    """All probes of a run that declare axes, or those of these labels. At most `rows` rows are computed."""
    run, progress = load_run(folder, permissions.code), progress or NoProgress()
    run.refuse_unfinished()
    for label in labels:
        if label not in run.probes:
            raise BadInput(f"{folder} has no probe '{label}'{nearest(label, run.probes)}")
    wanted = {label: run.probe(label) for label in labels or run.probes}
    asked = [(label, step) for label in wanted for step in family_steps(run.cards)]
    asked = [(label, step) for label, step in asked if asks(run.study.only, label, step.cards[0])]
    asked = [(label, step) for label, step in asked if _questions(run, wanted[label], step.cards[0])]
    if not asked:
        raise BadInput(f"{', '.join(wanted)}: no other ways of counting are declared for the models of {folder}")
    with ExitStack() as opened:
        asked_of = [q for label, step in asked for q in _questions(run, wanted[label], step.cards[0])]
        answering = all(not is_replayed(card) for card in run.cards)
        observing = None
        if any(question.reads_answers for question in asked_of) and answering:
            try:
                observing = opened.enter_context(observer(run, rows, store, progress, permissions))
            except BadInput:  # no store, or the models are not here
                if any(question.needs_answers for question in asked_of):
                    raise
        results: list[FamilyMultiverse] = []
        with progress.task("counting in many ways", len(asked), "families") as task:
            for label, step in asked:
                results += _of_family(run, label, wanted[label], step, observing)
                task.advance(note=label)
        if not results:
            raise BadInput(f"nothing of {', '.join(wanted)} was scored in {folder}")
        return _on_list(run, [run.probe(label) for label in run.probes], results)


def _questions(run: Run, probe: Probe, card: Card) -> list[Question]:
    """Along the axes that the study names beforehand, if it does."""
    declared, axes = probe.multiverse(card), run.study.axes
    return [one for q in declared if (one := q.along(axes))] if axes else list(declared)


def _on_list(run: Run, declared: Iterable[Probe], results: Sequence[FamilyMultiverse]) -> list[FamilyMultiverse]:
    """With verdicts, where the study put these tests on the list of its primary numbers."""
    every, each_model = families(run.cards), run.study.verdicts_over == "model"
    tests = joint_tests(declared, every, run.study.axes)
    if not tests:
        return list(results)
    names = {(f.name if f.n_seeds > 1 else f.checkpoints[0].name, f.last_step): f.name for f in every}
    rows: list[Number] = [*run.rows(Estimate), *run.rows(ClaimResult)]
    listed = [row for row in rows if row.n_list]
    judged = []
    for one in results:
        family = names.get((one.whole.model, one.whole.step))
        if family is not None:  # an earlier step is on no list
            of_numbers = (row.n_list for row in listed if not each_model or row.family == family)
            n_list = next(of_numbers, tests[family] if each_model else sum(tests.values()))
            verdict, p = judge_joint(one.whole.p, n_list)
            one = replace(one, whole=replace(one.whole, verdict=verdict, p_list=p, n_list=n_list))
        judged.append(one)
    return judged


def _of_family(
    run: Run, label: str, probe: Probe, step: FamilyStep, observing: Observer | None
) -> Iterable[FamilyMultiverse]:
    settled = observing.probes[label].probe if observing else probe
    stored = [run.observed(label, card.name) for card in step.cards]
    for question in _questions(run, settled, step.cards[0]):
        frames: dict[Reading, list[pd.DataFrame]] = {(): stored}
        needed: dict[str, int] = {}
        before = observing.budget.computed if observing else 0
        if observing and question.reads_answers:
            frames, needed = _read_again(run, label, question, step.cards, observing, stored)
        counted = _Counted(run, label, settled, step, question)
        members = counted.members(stored, frames)
        computed = observing.budget.computed - before if observing else 0
        result = counted.result(members)
        if result:
            yield replace(result, rows_needed=needed, rows_computed=computed)


def _read_again(
    run: Run,
    label: str,
    question: Question,
    cards: Sequence[Card],
    observing: Observer,
    stored: Sequence[pd.DataFrame],
) -> tuple[dict[Reading, list[pd.DataFrame]], dict[str, int]]:
    """Under all settings whose rows are cached or may be computed; and the cost of the others."""
    by_cost: dict[tuple[str, ...], dict[Reading, None]] = {}
    for chosen in question.specifications():
        settings = question.read_with(chosen)
        by_cost.setdefault(question.paid(chosen), {})[settings] = None
    read: dict[Reading, list[pd.DataFrame]] = {}
    needed: dict[str, int] = {}
    for paid in sorted(by_cost, key=len):
        if not paid and not question.needs_answers:
            read[()] = list(stored)
            continue
        if not all(observing.can(card, question, one) for card in cards for one in by_cost[paid]):
            continue
        rows = sum(observing.cost(label, card, question, by_cost[paid]) for card in cards)
        if rows > observing.budget.left:
            if not paid:
                raise lacking(run, observing.session.store.path)
            needed[" and ".join(paid)] = rows
            continue
        of_cards = [observing.frames(label, card, question, by_cost[paid]) for card in cards]
        read |= {settings: [frames[settings] for frames in of_cards] for settings in by_cost[paid]}
    return read, needed


@dataclass(frozen=True)
class _Counted:
    run: Run
    label: str
    probe: Probe
    step: FamilyStep
    question: Question

    def members(self, stored: Sequence[pd.DataFrame], frames: Frames) -> dict[Reading, list[CheckpointData]]:
        """With the draws of the run: they depend on its groups, which the stored observations name first."""
        every = [*stored, *(frame for several in frames.values() for frame in several)]
        groups = [groups_of(frame, self.probe.factors, self.probe.drawn_within) for frame in every]
        drawn = Resampling.shared(groups, self.probe.settings.resample_seed, self.probe.drawn_within)[len(stored) :]
        cards = self.step.cards
        return {
            settings: [
                CheckpointData(
                    card.name,
                    card.kind,
                    frame,
                    drawn[i * len(cards) + j],
                    card.family,
                    card.labels,
                    self.probe.terms,
                    card.architecture,
                    NetworkSize.of(card),
                )
                for j, (card, frame) in enumerate(zip(cards, frames[settings], strict=True))
            ]
            for i, settings in enumerate(frames)
        }

    def result(self, members: Mapping[Reading, Sequence[CheckpointData]]) -> FamilyMultiverse | None:
        """None where nothing was scored."""
        chosen, counted, numbers = [], [], []
        ways: dict[Reading, list[tuple[dict[str, str], list[Counting]]]] = {settings: [] for settings in members}
        for specification in self.question.specifications():
            settings = self.question.read_with(specification)
            if settings in ways:
                each = [self.question.count(member.frame, specification) for member in members[settings]]
                if all(each):
                    ways[settings].append((specification, [one for one in each if one]))
        for settings, specified in ways.items():
            numbers += _numbers(self.label, members[settings], [counting for _, counting in specified])
            chosen += [specification for specification, _ in specified]
            counted += [list(zip(members[settings], counting, strict=True)) for _, counting in specified]
        if not chosen:
            return None
        together, distinct = matrix(self.question, counted), _distinct(self.question, chosen, numbers, counted)
        together = replace(together, values=together.values[:, distinct], weights=together.weights[:, distinct])
        chosen, numbers = _without_single([chosen[i] for i in distinct]), [numbers[i] for i in distinct]
        tested = joint(together, self.probe.settings.resample_seed)
        rows = self._rows(chosen, numbers, tested, axis_shares(tested.z, chosen))
        return FamilyMultiverse(self.question, *rows, together, {}, 0)

    @property
    def name(self) -> str:
        return self.step.family if len(self.step.cards) > 1 else self.step.cards[0].name

    @property
    def source(self) -> str:
        return self.run.observed_sum(self.label, [card.name for card in self.step.cards])

    def _rows(
        self,
        chosen: Sequence[Mapping[str, str]],
        numbers: Sequence[Number],
        tested: Joint,
        shares: Shares,
    ) -> tuple[tuple[Specification, ...], Multiverse, tuple[AxisShare, ...]]:
        about: dict[str, Any] = {
            "probe": self.label,
            "model": self.name,
            "step": self.step.step,
            "question": self.question.name,
        }
        order = np.argsort(np.where(np.isnan(tested.z), np.inf, tested.z), kind="stable")
        specifications = [
            Specification(
                **about,
                conditions=chosen[i],
                value=numbers[i].value,
                low=numbers[i].low,
                high=numbers[i].high,
                unit=numbers[i].unit,
                neutral=_neutral(numbers[i]),
                z=float(tested.z[i]),
                null_low=float(tested.band[0, place]),
                null_high=float(tested.band[1, place]),
                of_run=int(_is_own(self.question, chosen[i])),
                source=self.source,
            )
            for place, i in enumerate(order)
        ]
        whole = Multiverse(
            **about,
            statement=self.question.statement,
            n_specifications=int(np.isfinite(tested.z).sum()),
            same_sign=same_sign(tested.z)[0],
            mean_z=tested.mean_z,
            p=tested.p,
            max_abs_z=tested.max_abs_z,
            any_significant=tested.any_significant,
            effective=tested.effective,
            overlap=shares.overlap,
            interactions=shares.interactions,
            relabelling=self.question.relabelling,
            relabellings=tested.relabellings,
            n_groups=tested.groups,
            n_seeds=len(self.step.cards),
            source=self.source,
        )
        axes = [
            AxisShare(**about, axis=axis, alone=alone, unique=unique, source=self.source)
            for axis, (alone, unique) in sorted(shares.axes.items(), key=lambda one: -one[1][1])
        ]
        return tuple(specifications), whole, tuple(axes)


def _distinct(
    question: Question,
    chosen: Sequence[Mapping[str, str]],
    numbers: Sequence[Number],
    counted: Sequence[Sequence[tuple[CheckpointData, Counting]]],
) -> list[int]:
    """The ways that differ: where a choice changes nothing (half of the words, and all top words are in it), the same
    way would have two votes. The run's own comes first."""
    first = sorted(range(len(chosen)), key=lambda i: not _is_own(question, chosen[i]))
    ways: dict[tuple[object, ...], int] = {}
    for i in first:
        values = tuple((np.round(counting.values, 12) + 0.0).tobytes() for _, counting in counted[i])
        ways.setdefault((numbers[i].value, *values, _conditions(counted[i][0][1].number)), i)
    return sorted(ways.values())


def _conditions(number: Measure | Claim) -> str:
    """At which a mean is taken, and which mean."""
    if isinstance(number, Measure):
        return f"{number.where} {number.function}"
    return f"{number.plus} {number.minus}"


def _is_own(question: Question, chosen: Mapping[str, str]) -> bool:
    return all(question.own[axis] == choice for axis, choice in chosen.items())


def _without_single(chosen: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Without the axes on which one choice is left."""
    several = [axis for axis in chosen[0] if len({one[axis] for one in chosen}) > 1]
    return [{axis: one[axis] for axis in several} for one in chosen]


def _numbers(label: str, members: Sequence[CheckpointData], counted: Sequence[Sequence[Counting]]) -> list[Number]:
    """Of each way, with its interval: the family's, or the checkpoint's where there is one."""
    names = [f"way {i}" for i in range(len(counted))]
    columns = [
        pd.DataFrame(
            {name: ways[j].values for name, ways in zip(names, counted, strict=True)}, index=member.frame.index
        )
        for j, member in enumerate(members)
    ]
    wide = [
        replace(member, frame=pd.concat([member.frame, more], axis=1))
        for member, more in zip(members, columns, strict=True)
    ]
    measures, claims = [], []
    for name, (first, *_) in zip(names, counted, strict=True):
        if isinstance(first.number, Measure):
            columns_of = (name, *first.number.columns[1:])
            measures.append(replace(first.number, name=name, columns=columns_of))
        else:
            claims.append(replace(first.number, name=name, column=name))
    level = "family" if len(members) > 1 else "checkpoint"
    estimates = [one.estimate for one in unjudged(label, wide, sorted(measures, key=lambda m: str(m.where)))]
    by_name: dict[str, Number] = {one.measure: one for one in estimates if one.level == level}
    for claim in claims:  # each by itself, as all columns are copied for every part of a claim
        by_name |= {one.claim: one for one in claim_results(label, wide, [claim]) if one.level == level}
    return [by_name[name] for name in names]


def _neutral(number: Number) -> float:
    return number.threshold if isinstance(number, ClaimResult) else (number.neutral or 0.0)

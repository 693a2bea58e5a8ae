"""From a run's observations to its tables: estimates, claims, and the tables about seeds and wordings.

Everything is read from the run folder, so counting again needs no model. Checkpoints of one family at one training
step are counted together; steps are never mixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, permutations
from typing import Any, cast

import pandas as pd
from pydantic import TypeAdapter

from trueprobe.paths import gc_pause
from trueprobe.probes import Probe
from trueprobe.runs.cache import ResultCache, key_of
from trueprobe.runs.families import asks, families
from trueprobe.runs.primary import joint_tests, on_run_list, primary_measures
from trueprobe.runs.schema import TABLES
from trueprobe.runs.signature import Signer
from trueprobe.runs.writing import RunFolder
from trueprobe.statistics import disagreement
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData, unjudged
from trueprobe.statistics.flips import CALIBRATION_ERROR, SeedAnswers, subsampled
from trueprobe.statistics.interval import Method
from trueprobe.statistics.item_reliability import FamilyAnswers, reliabilities
from trueprobe.statistics.measure import Claim, Measure, NetworkSize
from trueprobe.statistics.paired import between, is_about, sides_of, to_pair
from trueprobe.statistics.resampling import Resampling, groups_of
from trueprobe.statistics.rows import (
    ClaimResult,
    Estimate,
    ItemReliability,
    VarianceShares,
    VariantDifference,
    changed,
    grouped,
)
from trueprobe.statistics.seed_claims import claims_over_seeds
from trueprobe.statistics.seed_tables import sign_counts, variance
from trueprobe.statistics.unjudged import Unjudged, judged
from trueprobe.statistics.variants import variants
from trueprobe.statistics.verdict import ALPHA
from trueprobe.types import Card

_UNJUDGED = "unjudged"  # next to tables in the cache: what the tables over all probes are made from


@dataclass(frozen=True)
class FamilyStep:
    """Checkpoints that differ in their seed only."""

    family: str
    step: int | None
    cards: tuple[Card, ...]


def family_steps(cards: Sequence[Card]) -> list[FamilyStep]:
    """The families of a run, each training step by itself, in the order of the run's models."""
    together = grouped(cards, lambda card: (card.family, card.labels.get("step")))
    return [FamilyStep(family, step, tuple(members)) for (family, step), members in together.items()]


class _Rows(dict[str, list[Any]]):
    """By table."""

    def add(self, table: str, rows: Iterable[Any]) -> None:
        self.setdefault(table, []).extend(rows)


@dataclass
class RunTables:
    """Collects one run's rows, probe by probe. `method`: how intervals over seeds are made."""

    folder: RunFolder
    cards: Sequence[Card]
    method: Method = "crossed"
    each_model: bool = False  # verdicts are controlled for each model by itself, not over the run
    axes: Sequence[str] = ()  # whose joint tests are on the list
    cache: ResultCache | None = None  # of what was counted before
    keys: Mapping[str, str] = field(default_factory=dict)  # of each label's rows in it
    rows: _Rows = field(default_factory=lambda: _Rows(claims=[]))
    _unjudged: dict[str, list[Unjudged]] = field(default_factory=dict)
    _probes: dict[str, Probe] = field(default_factory=dict)
    _answers: list[SeedAnswers] = field(default_factory=list)
    _frames: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict)  # by label and model, of one probe
    _read_again: bool = False  # is more than one table made from each of them?

    @cached_property
    def _signer(self) -> Signer:
        return Signer(self.folder.study, self.cards, self._probes)

    def cards_of(self, label: str) -> list[Card]:
        """Of the models that are asked this probe."""
        return [card for card in self.cards if asks(self.folder.study.only, label, card)]

    @gc_pause()
    def add(self, label: str, probe: Probe) -> None:
        """Count one probe for all models."""
        earlier = [name for name, other in self._probes.items() if other.name == probe.name]
        self._probes[label], self._unjudged[label] = probe, []
        if self.cache is None:
            self._merge(self._counted(label, earlier))
            return
        key = key_of("rows", [self.keys[one] for one in (label, *earlier)])
        cached = self.cache.get(key)
        if cached is not None:
            self._restore(label, cached)
            return
        counted = self._counted(label, earlier)
        self._merge(counted)
        self.cache.put(key, _encoded({**counted, _UNJUDGED: self._unjudged[label]}))

    def _counted(self, label: str, earlier: Sequence[str]) -> dict[str, list[Any]]:
        """One probe's rows of the tables over all probes."""
        probe, rows = self._probes[label], _Rows()
        self._frames, self._read_again = {}, bool(earlier) or any(claim.between for claim in probe.claims())
        for step in family_steps(self.cards_of(label)):
            members = self._members([label], step)[0]
            counted = unjudged(label, members, _measures(probe, step), self.method)
            self._unjudged[label] += counted
            rows.add("claims", claim_results(label, members, probe.claims(), self.method))
            rows.add("variance", shares := variance(counted))
            rows.add("reliability", self._reliabilities(label, members, step, shares))
            rows.add("signs", sign_counts(counted))
            self._flips(label, members, rows)
        rows.add("claims", self._between(label, [claim for claim in probe.claims() if claim.between]))
        for other in earlier:
            rows.add("variants", self._variants(other, label))
        self._frames = {}
        return rows

    def _restore(self, label: str, cached: Mapping[str, bytes]) -> None:
        """As an earlier run counted it; answers item by item are read again, for what compares probes."""
        for name, content in cached.items():
            if name != _UNJUDGED:
                self.rows.add(name, _decoded(TABLES[name], content))
        self._unjudged[label] = _decoded(Unjudged, cached[_UNJUDGED])
        for step in family_steps(self.cards_of(label)):
            if len(step.cards) > 1 and self._probes[label].flips is not None:
                self._flips(label, self._members([label], step)[0])

    @gc_pause()
    def write(self) -> None:
        """The tables over all probes; those that this run has nothing for are not written."""
        diagnostics = {label: probe.diagnostic for label, probe in self._probes.items() if probe.diagnostic}
        self.rows.add("flip_causes", subsampled(self._answers))
        errors = {
            one.estimate.model: one.estimate.value
            for one in chain.from_iterable(self._unjudged.values())
            if one.estimate.measure == CALIBRATION_ERROR and one.estimate.level == "checkpoint"
        }
        self.rows.add("flip_causes", chain.from_iterable(one.by_calibration(errors) for one in self._answers))
        self.rows.add("claims", claims_over_seeds(self._unjudged, diagnostics, self._answers))
        apart = disagreement.between(self._unjudged, diagnostics)
        self.rows.add("disagreements", [row for row, _ in apart])
        self.rows.add("claims", disagreement.claims(apart))
        estimates = self._with_list_verdicts()
        for label, rows in estimates.items():
            self._signed("estimates", rows, f"estimates/{label}")
        self._signed("claims", self.rows["claims"])
        for name, rows in self.rows.items():
            if rows and name != "claims":
                self.folder.rows(name, rows)

    def _with_list_verdicts(self) -> dict[str, list[Estimate]]:
        """The estimates of each label; claims and variants get their verdicts in place."""
        judged_alone = {
            label: judged(rows, self._probes[label].corrected_over) for label, rows in self._unjudged.items()
        }
        tables = [*judged_alone.values(), self.rows["claims"], self.rows.get("variants", [])]
        every_family = families(self.cards)
        tests = joint_tests(self._probes.values(), every_family, self.axes)
        every = on_run_list(list(chain(*tables)), self._probes, every_family, self.each_model, tests)
        ends = list(accumulate(map(len, tables)))
        parts = [every[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        *by_label, self.rows["claims"], variants_judged = parts
        if variants_judged:
            self.rows["variants"] = variants_judged
        return {
            label: [_detectable(cast(Estimate, row), one) for row, one in zip(rows, self._unjudged[label], strict=True)]
            for label, rows in zip(judged_alone, by_label, strict=True)
        }

    def _signed(self, table: str, rows: Sequence[Estimate] | Sequence[ClaimResult], file: str = "") -> None:
        self.folder.rows(table, rows, file, signature=list(map(self._signer.signature, rows)))

    def _flips(self, label: str, members: list[CheckpointData], rows: _Rows | None = None) -> None:
        declared = self._probes[label].flips
        answers = SeedAnswers.of(label, members, declared) if declared is not None else None
        if answers is None:
            return
        self._answers.append(answers)
        if rows is not None:
            rows.add("flips", answers.distribution())
            rows.add("flipping_items", answers.most_flipping())
            rows.add("flip_causes", answers.by_size())

    def _reliabilities(
        self, label: str, members: Sequence[CheckpointData], step: FamilyStep, shares: Sequence[VarianceShares]
    ) -> Iterator[ItemReliability]:
        probe, frames = self._probes[label], [member.frame for member in members]
        answers = FamilyAnswers(label, step.family, step.step, frames, probe.factors[0], probe.drawn_within)
        yield from reliabilities(answers, primary_measures(probe, step.cards[0].kind), shares)

    def _between(self, label: str, claims: Sequence[Claim]) -> Iterator[ClaimResult]:
        """Claims about two models, for all pairs of the run that they speak of; of a family its last step."""
        if not claims:
            return
        probe = self._probes[label]
        seed, every = probe.settings.resample_seed, [family.checkpoints for family in families(self.cards_of(label))]
        sides = [(cards[0], [to_pair(c, self._observed(label, c.name), seed) for c in cards]) for cards in every]
        for claim in claims:
            for (first, one), (second, other) in permutations(sides, 2):
                if is_about(claim, first, second):
                    yield between(label, sides_of(claim, one, other, probe.factors, probe.drawn_within), claim)

    def _variants(self, one: str, other: str) -> Iterator[VariantDifference]:
        """One probe under two labels: what their settings move, of the measures in the summary."""
        names = self._probes[one].summary.measures
        for step in family_steps([card for card in self.cards_of(one) if asks(self.folder.study.only, other, card)]):
            first, second = (
                (members, [m for m in _measures(self._probes[label], step) if m.name in names])
                for label, members in zip((one, other), self._members([one, other], step), strict=True)
            )
            yield from variants((one, other), first, second, self._probes[one].corrected_over)

    def _observed(self, label: str, model: str) -> pd.DataFrame:
        """Read once while a probe is counted."""
        if (label, model) not in self._frames:
            frame = self.folder.observed(label, model)
            if not self._read_again:
                return frame
            self._frames[label, model] = frame
        return self._frames[label, model]

    def _members(self, labels: Sequence[str], step: FamilyStep) -> list[list[CheckpointData]]:
        """The checkpoints' observations under each label, all with the same draws."""
        observed = [(card, self._observed(label, card.name)) for label in labels for card in step.cards]
        members = drawn_alike(self._probes[labels[0]], observed)
        return [members[i : i + len(step.cards)] for i in range(0, len(members), len(step.cards))]

    def _merge(self, rows: Mapping[str, Sequence[Any]]) -> None:
        for name, more in rows.items():
            self.rows.add(name, more)


def drawn_alike(probe: Probe, observed: Sequence[tuple[Card, pd.DataFrame]]) -> list[CheckpointData]:
    """Checkpoints' observations of a probe, all with the same draws."""
    groups = [groups_of(frame, probe.factors, probe.drawn_within) for _, frame in observed]
    drawn = Resampling.shared(groups, probe.settings.resample_seed, probe.drawn_within)
    return [
        CheckpointData(
            card.name,
            card.kind,
            frame,
            resampling,
            card.family,
            card.labels,
            probe.terms,
            card.architecture,
            NetworkSize.of(card),
        )
        for (card, frame), resampling in zip(observed, drawn, strict=True)
    ]


def _detectable(row: Estimate, counted: Unjudged) -> Estimate:
    """What a number of the list could have shown at its threshold."""
    return changed(row, detectable_list=counted.interval.detectable(ALPHA / row.n_list)) if row.n_list else row


def _encoded(rows: Mapping[str, Sequence[Any]]) -> dict[str, bytes]:
    """As JSON, in which a float keeps all its digits."""
    types = {**TABLES, _UNJUDGED: Unjudged}
    plain = {name: _adapter(types[name]).dump_python(list(more)) for name, more in rows.items()}
    return {name: json.dumps(values, default=lambda number: number.item()).encode() for name, values in plain.items()}


def _decoded(row: type[Any], content: bytes) -> list[Any]:
    rows: list[Any] = _adapter(row).validate_python(json.loads(content))
    return rows


def _adapter(row: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(list[row])  # type: ignore[valid-type]


def _measures(probe: Probe, step: FamilyStep) -> list[Measure]:
    return [measure for measure in probe.measures() if step.cards[0].kind in measure.kinds]

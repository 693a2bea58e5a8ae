"""A plan that binds: what a study asks and expects, written down before the run with a hash and a date.

The file is a study with a part `[plan]`. The hash covers all of both, so a plan that was edited is refused; a run that
departs from its plan on the command line keeps the plan, and every report lists what is not as planned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from trueprobe.errors import BadInput
from trueprobe.probes.files import toml_pairs


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedEntry(_Part):
    name: str
    label: str
    settings: dict[str, Any] = {}


class PlannedStudy(_Part):
    """The study as it was planned, without the folders of the machine that planned it."""

    title: str = ""
    probes: tuple[PlannedEntry, ...]
    models: tuple[str, ...]
    limit: int | None = None
    per_group: int | None = None
    axes: tuple[str, ...] = ()  # of other ways of counting, whose joint test is on the list
    dtype: str = "float32"
    intervals: str = "crossed"
    verdicts_over: str = "run"


class ExpectedNumber(_Part):
    """A primary number, the smallest effect of interest, and what the plan expects."""

    family: str
    number: str
    unit: str
    effect: float
    width: float | None = None  # None where the pilot could not score enough
    detectable: float | None = None
    power: float | None = None


class BindingPlan(_Part):
    hash: str = ""
    date: str
    trueprobe: str  # the version that wrote it
    alpha: float
    list: tuple[str, ...]  # what verdicts are controlled over, of each family
    n_list: int
    questions: tuple[str, ...]
    seeds: dict[str, int]  # of each family
    items: dict[str, int]  # of each probe's label
    numbers: tuple[ExpectedNumber, ...] = ()
    study: PlannedStudy | None = None  # filled in when the file is read

    def with_hash(self) -> BindingPlan:
        return self.model_copy(update={"hash": self.digest})

    @property
    def digest(self) -> str:
        """Of all that is planned; the same on every machine."""
        content = self.model_dump(mode="json", exclude={"hash"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def intact(self) -> bool:
        return self.hash == self.digest

    def refuse_edited(self, where: str) -> None:
        if not self.intact:
            raise BadInput(
                f"{where} was edited after it was planned: its hash is {self.hash[:12]}, its content has "
                f"{self.digest[:12]}; plan again, or remove [plan] to run it as a plain study"
            )


def toml(plan: BindingPlan, study_here: PlannedStudy) -> str:
    """As a study file; `study_here` names models and files where they lie on this machine."""
    study, rest = study_here.model_dump(mode="json"), plan.model_dump(mode="json", exclude={"study"})
    entries, numbers = study.pop("probes"), rest.pop("numbers")
    comment = "# A plan that binds: `trueprobe run` follows it, and reports list what is not as planned."
    lines = [comment, *study_lines(study, entries), "", "[plan]", *toml_pairs(rest)]
    for number in numbers:
        lines += ["", "[[plan.numbers]]", *toml_pairs(number)]
    return "\n".join(lines) + "\n"


def study_lines(head: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A study as a file has it, `entries` being its probes."""
    yield from toml_pairs(head)
    for entry in entries:
        yield from ("", "[[probes]]", *toml_pairs(entry))

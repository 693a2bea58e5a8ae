"""The contract of a probe.

A probe turns settings into items, an item into requests for a kind of model, and answers into observations; it
declares its measures and the published claims as data. It never sees a model, a file of a run, or a random number
generator it did not seed by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar  # comes with pydantic; that of Python 3.11 has no default

from trueprobe.errors import BadInput
from trueprobe.probes.display import Primary, ReportSpec, Summary
from trueprobe.probes.measure_sets import MeasureSet
from trueprobe.statistics.measure import Claim, Flips, Measure
from trueprobe.statistics.multiverse import Question
from trueprobe.types import Answer, Card, Item, Kind, Observation, Request, WhyNot, WordList


class Settings(BaseModel):
    """Common to all probes; each adds to them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    resample_seed: int = Field(default=0, ge=0, description="random seed of sampling and of the bootstrap")


NO_HEAD = WhyNot("no_head", "an encoder gives no word a probability")

# without a parameter, as in a user's file, settings are not typed
S = TypeVar("S", bound=Settings, default=Any)


@dataclass(frozen=True)
class Released:
    """One model's outputs as its authors released them: observations of this probe's items."""

    name: str
    kind: Kind
    observations: Sequence[Observation]
    family: str = ""  # of a model of several seeds
    labels: Mapping[str, int] = field(default_factory=dict)  # {"model_seed": 3}


@dataclass(frozen=True)
class ReleasedScore:
    """One released probability, and the request that asks a model for the same: a blank has one word."""

    id: str
    text: str  # for people
    request: Request
    probability: float
    with_capitals: Request | None = None  # the same, where the released text has none of the capitals it should have


class Probe(ABC, Generic[S]):
    """One instance per run: made from checked settings. `Probe[ColoursSettings]` has typed ones."""

    name: ClassVar[str]
    short: ClassVar[str] = ""  # the question in at most 62 characters, for lists
    question: ClassVar[str]  # one paragraph a stranger understands
    does_not_show: ClassVar[str]
    paper: ClassVar[str]
    Settings: ClassVar[type[Settings]] = Settings
    factors: ClassVar[tuple[str, ...]]  # what each entry of Item.groups names
    drawn_within: ClassVar[tuple[str, ...]] = ()  # conditions or columns: the one factor's groups are drawn within each
    terms: ClassVar[str] = ""  # the factor whose groups may be too few to draw: its items are drawn within each then
    corrected_over: tuple[str, ...] = ("category", "test")  # conditions that ask one thing many times
    flips: Flips | None = None  # where pairwise answers are, if there are any
    diagnostic: str | None = None  # the measure that is its stereotype score by `category`, if it has one
    without_trials: ClassVar[Mapping[str, Any]] = MappingProxyType({})  # settings with which there are none
    results_setting: ClassVar[str] = ""  # the setting that names the results it counts; such a probe asks no model
    shares_vocabulary: bool = False  # ranks within the words that all models of a study have as one piece
    vocabulary: WordList | None = None  # that ranks refer to; a signature has its hash
    file: ClassVar[str] = ""  # the path it was loaded from, as the user wrote it; of a shipped probe none

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @abstractmethod
    def items(self) -> Sequence[Item]:
        """Everything that is asked, model-free, always the same for the same settings."""

    def trials(self) -> Sequence[Item]:
        """Asked of every model first, where the answers decide what the probe asks; most probes have none."""
        return ()

    def settled(self, observations: Sequence[Observation]) -> Probe:
        """This probe, with what all models' observations of `trials` decided."""
        return self

    def with_vocabulary(self, words: WordList) -> Probe:
        """This probe, ranking within `words`; called before anything is asked, where `shares_vocabulary`."""
        return self

    @abstractmethod
    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        """How this kind of model is asked, or why it cannot be."""

    @abstractmethod
    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> Sequence[Observation]:
        """What the answers to `ask`'s requests show."""

    def unscored(self, item: Item, why: WhyNot) -> Sequence[Observation]:
        """An item that could not be asked or answered, in as many rows as it would have had."""
        return [Observation(item.id, why_not=why)]

    def read_released(self, path: Path) -> Sequence[Released]:
        """The outputs in a file or folder that the authors released, one entry per model; for `replay:PATH`."""
        raise BadInput(f"{self.name} reads no released outputs; --model replay:… is for probes whose authors have any")

    def released_models(self, path: Path) -> Sequence[str]:
        """Their names; a probe that can list them without reading every output does."""
        return [one.name for one in self.read_released(path)]

    def released_scores(self, path: Path, model: str, card: Card) -> Iterable[ReleasedScore]:
        """Of the authors' model of that name, item by item, for a model like `card`; for `reproduce --items PATH`."""
        raise BadInput(f"{self.name}: no released scores of single items can be compared")

    def released_notices(self, path: Path) -> Sequence[str]:
        """What lies there and is not read, a line each; for `replay:PATH`."""
        return ()

    @abstractmethod
    def columns(self) -> Mapping[str, str]:
        """Every value an observation may hold, with its meaning."""

    @abstractmethod
    def measures(self) -> Sequence[Measure]: ...

    def claims(self) -> Sequence[Claim]:
        return ()

    def multiverse(self, card: Card) -> Sequence[Question]:
        """What can be counted of this model's answers in several defensible ways, declared before they are seen."""
        return ()

    def unread_setting(self, kinds: Collection[Kind]) -> str:
        """A setting, as `name=value`, that none of these kinds of model reads; a run with it is refused."""
        return ""

    @property
    def items_of(self) -> str:
        """Whose items these are, where they are not the paper's; else an empty text."""
        return ""

    @property
    @abstractmethod
    def headline(self) -> Measure:
        """The measure that answers the question in one number; a positive planted effect must move it up."""

    @property
    @abstractmethod
    def summary(self) -> Summary: ...

    @property
    def primary(self) -> tuple[Primary, ...] | None:
        """At most three; None where they are not declared, and all that the summary shows counts as one list."""
        return None

    @property
    def page(self) -> ReportSpec:
        """What the report draws and tabulates; without it, dot plots of the summary's measures."""
        return ReportSpec()

    @abstractmethod
    def planted(self, item: Item, request: Request, strength: float) -> Mapping[str, float]:
        """Nats added to words' log-odds so that the headline rises with `strength`: for contract tests.

        Where vectors are asked for: all their coordinates, by any names."""

    @property
    def material_id(self) -> str:
        """A hash of everything that was read from files: the same settings with an edited file are another run."""
        return ""

    @property
    def signed(self) -> Mapping[str, str]:
        """What a signature names in addition to conditions and settings that are not the default: how answers are
        scored, and what trials decided."""
        return {}

    def facts(self) -> Mapping[str, Any]:
        """What a reader must know of the material (word list, version, counts)."""
        return {}

    def count_of(self, what: str, conditions: Mapping[str, str]) -> float:
        """A count of the material that the authors published too, without any model; NaN where there is none."""
        return math.nan


class MeasureSetProbe(Probe[S]):
    """A probe whose columns, measures and claims are declared by another object."""

    @property
    @abstractmethod
    def measure_set(self) -> MeasureSet: ...

    def columns(self) -> Mapping[str, str]:
        return self.measure_set.columns()

    def measures(self) -> list[Measure]:
        return list(self.measure_set.measures())

    def claims(self) -> list[Claim]:
        return list(self.measure_set.claims())

    @property
    def headline(self) -> Measure:
        return self.measure_set.headline

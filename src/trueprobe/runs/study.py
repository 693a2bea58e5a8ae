"""A study: which probes, which models, which settings; runs it, and goes on where an interrupted run stopped."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueprobe import __version__, probes
from trueprobe.errors import BadInput, nearest
from trueprobe.probes import files as material
from trueprobe.runs import replay
from trueprobe.runs.folder import Run, RunFolder, load_run
from trueprobe.runs.records import declaration, items_frame, observations_frame
from trueprobe.runs.schema import StudyDescription, StudyEntry
from trueprobe.types import Card, Item, Observation, WhyNot, WordList

STUDIES = Path(__file__).parent.parent / "studies"


class ProbeRun(BaseModel):
    """A probe with its settings; `label` tells two runs of one probe apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    label: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*)?$")
    settings: dict[str, Any] = {}

    def model_post_init(self, context: Any) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name)


class Study(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str = ""
    probes: tuple[ProbeRun, ...] = Field(min_length=1)
    models: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    device: str = "auto"
    dtype: str = "float32"
    batch_tokens: int | None = Field(default=None, ge=1)
    allow_pickle: bool = False
    intervals: Literal["crossed", "multibootstrap"] = Field(
        default="crossed", description="over seeds and items: crossed variances with a t quantile, or Sellam et al.'s"
    )


def shipped() -> list[str]:
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def read_study(named: str) -> Study:
    """A TOML file, or a shipped study by its name."""
    path = STUDIES / f"{named}.toml" if named in shipped() else Path(named).expanduser()
    if not path.is_file():
        known = [*probes.names(), *shipped()]
        raise BadInput(f"no probe or study named '{named}'{nearest(named, known)}")
    return material.parse(path, Study)


class Changes(TypedDict, total=False):
    """What a run may set besides probes and models; None leaves a study's own choice."""

    limit: int | None
    device: str | None
    dtype: str | None
    batch_tokens: int | None
    allow_pickle: bool | None


def make_study(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    **changes: Unpack[Changes],
) -> Study:
    """Probes by their names, or a study by its file or shipped name, with what is changed about it."""
    named = [what] if isinstance(what, str) else [] if isinstance(what, Study) else list(what)
    wrong = [name for name in named if name not in probes.names()]
    if len(named) > 1 and wrong:
        raise BadInput(f"no probe named '{wrong[0]}'{nearest(wrong[0], probes.names())}")
    data: dict[str, Any] = {"probes": [{"name": name, "settings": _own(name, named, settings or {})} for name in named]}
    if wrong or isinstance(what, Study):
        if settings:
            raise BadInput("--set belongs to a probe; a study has its settings in its file")
        data = (read_study(wrong[0]) if wrong else what).model_dump()  # type: ignore[union-attr]
    if models:
        data["models"] = [models] if isinstance(models, str) else list(models)
    data |= {key: value for key, value in changes.items() if value is not None}
    try:
        return Study.model_validate(data)
    except ValidationError as error:
        raise BadInput(material.explain(error, Study)) from error


def _own(name: str, named: Sequence[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of several probes each takes the settings it has; one that none of them has stays, and is told."""
    fields = {other: probes.find(other).Settings.model_fields for other in named if other in probes.names()}
    taken = {key for key in settings if any(key in known for known in fields.values())}
    return {key: value for key, value in settings.items() if key in fields.get(name, {}) or key not in taken}


def run(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    progress: Any = None,
    **changes: Unpack[Changes],
) -> Run:
    """Run probes on models and give the run folder: `run("counteracts", models=["path-or-id"])`.

    `changes`: limit, device, dtype, batch_tokens, allow_pickle."""
    return _Runner(make_study(what, models, settings, **changes), out, store, progress).run()


@dataclass(frozen=True)
class _Asked:
    """One probe with its items, ready for any model."""

    label: str
    probe: probes.Probe
    items: list[Item]


class _Runner:
    def __init__(self, study: Study, out: str | Path | None, store: str | Path | None, progress: Any) -> None:
        from trueprobe.engine import AnswerStore, library_versions
        from trueprobe.engine.progress import Quiet
        from trueprobe.models import Options, find, open_source, preflight

        if not study.models:
            raise BadInput(
                "no model given: --model nursery, a folder, a .gguf file or a hub id; see: trueprobe list models"
            )
        labels = [probe.label for probe in study.probes]
        if len(set(labels)) < len(labels):
            raise BadInput(f"two probes are labelled '{max(labels, key=labels.count)}'; give each its own label")
        self.study, self.progress = study, progress or Quiet()
        self.asked = []
        for entry in study.probes:
            probe = probes.make(entry.name, entry.settings)
            self.asked.append(_Asked(entry.label, probe, [] if probe.trials() else self._items(probe)))
        self.options = Options(study.device, study.dtype, study.allow_pickle)
        self.sources = find([spec for spec in study.models if not spec.startswith(replay.PREFIX)], self.options)
        with self.progress.waiting("looking at the models"):
            for source in self.sources:
                preflight(source, self.options)
        self.described = self._describe()
        self.folder = RunFolder(Path(out) if out else Path("runs") / self._default_name(), self.described)
        self.folder.refuse_other_runs()
        # all are opened once before anything is written, so that a bad one leaves no half a run behind;
        # the first one last, since it is asked first
        self.opened: dict[str, Any] = {}
        self.store = AnswerStore(store, library_versions())
        tried: dict[str, list[Observation]] = {asked.label: [] for asked in self.asked}
        vocabularies: dict[str, frozenset[str]] = {}  # by tokenizer
        for source in reversed(self.sources):
            with self.progress.waiting(f"opening {source.name}"):
                self.opened.clear()
                self.opened[source.name] = open_source(source, self.options)
                self.folder.refuse_other_weights(self.opened[source.name].card)
            model = self.opened[source.name]
            new = model.card.kind != "encoder" and model.card.tokenizer_id not in vocabularies
            if new and any(asked.probe.shares_vocabulary for asked in self.asked):
                vocabularies[model.card.tokenizer_id] = model.text.whole_words
            for asked in self.asked:
                tried[asked.label] += self._tried(asked, model)
        self.asked = [self._settled(asked, tried[asked.label]) for asked in self.asked]
        self.asked = [_sharing(asked, list(vocabularies.values())) for asked in self.asked]
        self.replays = self._replays()

    def _replays(self) -> list[replay.Replay]:
        specs = [spec for spec in self.study.models if spec.startswith(replay.PREFIX)]
        with self.progress.waiting("reading released outputs") if specs else nullcontext():
            found = replay.replays(specs, [(asked.label, asked.probe) for asked in self.asked])
        names = [source.name for source in self.sources]
        for one in found:
            if one.card.name in names:
                raise BadInput(f"two models are called '{one.card.name}'; ask them in two runs")
            names.append(one.card.name)
            self.folder.refuse_other_weights(one.card)
        return found

    def _items(self, probe: probes.Probe) -> list[Item]:
        return probes.spread(probe.items(), self.study.limit)

    def _tried(self, asked: _Asked, model: Any) -> list[Observation]:
        """What a model says to a probe's trials, if it has any."""
        from trueprobe.engine import Engine

        trials = asked.probe.trials()
        plan = [asked.probe.ask(item, model.card) for item in trials]
        requests = [request for ask in plan if not isinstance(ask, WhyNot) for request in ask]
        if not requests:
            return []
        answers = iter(Engine(model, self.store, self.progress, self.study.batch_tokens).answer(requests))
        return [
            o for item, ask in zip(trials, plan, strict=True) for o in _observe(asked, item, ask, model.card, answers)
        ]

    def _settled(self, asked: _Asked, tried: list[Observation]) -> _Asked:
        if not asked.probe.trials():
            return asked
        probe = asked.probe.settled(tried)
        return _Asked(asked.label, probe, self._items(probe))

    def _describe(self) -> StudyDescription:
        """What makes this run this run: settings with their defaults filled in, models as they were named."""
        return StudyDescription(
            title=self.study.title,
            probes=tuple(
                StudyEntry(
                    label=a.label,
                    name=a.probe.name,
                    settings=a.probe.settings.model_dump(mode="json"),
                    material_id=a.probe.material_id,
                )
                for a in self.asked
            ),
            models=self.study.models,
            limit=self.study.limit,
            dtype=self.study.dtype,
            allow_pickle=self.study.allow_pickle,
            intervals=self.study.intervals,
        )

    def _default_name(self) -> str:
        digest = hashlib.sha256(json.dumps(self.described.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
        return f"{'-'.join(a.label for a in self.asked)}-{digest[:8]}"

    def run(self) -> Run:
        with self.folder.writing():
            began = time.time()
            self.folder.local({source.name: str(source.path.resolve()) for source in self.sources})
            self.folder.manifest()
            for asked in self.asked:
                self.folder.items(asked.label, items_frame(asked.probe, asked.items))
            self.folder.declarations({a.label: declaration(a.probe, a.items) for a in self.asked})
            cards: list[Card] = []
            counts: dict[str, Any] = {}
            timing: dict[str, Any] = {}
            for one in (*self.sources, *self.replays):
                card, (counted, timed) = self._replayed(one) if isinstance(one, replay.Replay) else self._one_model(one)
                cards.append(card)
                counts[card.name], timing[card.name] = counted, timed
                self.folder.manifest(versions=_versions(), cards=tuple(cards), counts=counts)
            self._count(cards)
            self.folder.timing({"began": began, "seconds": time.time() - began, "models": timing})
            self.folder.manifest(versions=_versions(), cards=tuple(cards), counts=counts, complete=True)
        self.store.close()
        return load_run(self.folder.folder)

    def _one_model(self, source: Any) -> tuple[Card, tuple[dict, dict]]:
        from trueprobe.engine import Engine
        from trueprobe.models import open_source

        with self.progress.waiting(f"opening {source.name}"):
            model = self.opened.pop(source.name, None) or open_source(source, self.options)
        engine = Engine(model, self.store, self.progress, self.study.batch_tokens)
        plans = [[asked.probe.ask(item, model.card) for item in asked.items] for asked in self.asked]
        requests = [r for plan in plans for ask in plan if not isinstance(ask, WhyNot) for r in ask]
        answers = iter(engine.answer(requests))
        for asked, plan in zip(self.asked, plans, strict=True):
            seen = [
                o
                for item, ask in zip(asked.items, plan, strict=True)
                for o in _observe(asked, item, ask, model.card, answers)
            ]
            self._keep(asked, seen, model.card)
        return model.card, ({"items": self._asked_items, **engine.counts.planned}, engine.counts.happened)

    def _replayed(self, one: replay.Replay) -> tuple[Card, tuple[dict, dict]]:
        for asked in self.asked:
            self._keep(asked, one.seen(asked.label, asked.items), one.card)
        return one.card, ({"items": self._asked_items}, {})

    @property
    def _asked_items(self) -> int:
        return sum(len(asked.items) for asked in self.asked)

    def _keep(self, asked: _Asked, seen: Sequence[Observation], card: Card) -> None:
        frame = observations_frame(asked.probe, asked.items, seen, card)
        self.folder.observations(asked.label, card.name, frame, list(asked.probe.columns()))

    def _count(self, cards: list[Card]) -> None:
        from trueprobe.runs.tables import RunTables

        tables = RunTables(self.folder, cards, self.study.intervals)
        for asked in self.asked:
            with self.progress.waiting(f"counting {asked.label}"):
                tables.add(asked.label, asked.probe)
        tables.write()


def _sharing(asked: _Asked, vocabularies: Sequence[frozenset[str]]) -> _Asked:
    """With the words that every model of the study has as one piece, where ranks refer to them."""
    if not asked.probe.shares_vocabulary or not vocabularies:
        return asked
    words = WordList("common", tuple(sorted(frozenset.intersection(*vocabularies))))
    return replace(asked, probe=asked.probe.with_vocabulary(words))


def _observe(asked: _Asked, item: Item, ask: Any, card: Card, answers: Any) -> Sequence[Observation]:
    if isinstance(ask, WhyNot):
        return asked.probe.unscored(item, ask)
    mine = [next(answers) for _ in ask]
    missing = next((answer for answer in mine if isinstance(answer, WhyNot)), None)
    if missing is not None:
        return asked.probe.unscored(item, missing)
    return asked.probe.observe(item, card, mine)


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    names = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow")
    return {"trueprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}

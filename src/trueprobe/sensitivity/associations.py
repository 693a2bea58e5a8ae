"""An association to plant: targets that are dealt at random to two groups, the words of each group, and sentences.

A file has targets by the class they belong to already (`female`: mostly women's occupations). An assignment gives half
of each class to either group, so that what is planted is independent of what a model has learnt. Sentences are of
three kinds: planted frames, held-out frames (the manipulation check) and those that probes ask with. No planted frame
may be a probe's sentence: word trigrams are compared, with the target and the group's word as one token each.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Annotated, ClassVar

from pydantic import Field, field_validator, model_validator

from trueprobe.errors import BadInput, nearest
from trueprobe.probes.templates import MaterialFile, Strict, repeated, with_article

MOST_SHARED = 0.5  # of the trigrams of the shorter of two sentences; 1 is the same sentence
TARGET, A_TARGET = "target", "a_target"
FEWEST_TARGETS = 12  # six for each group, the fewest that a verdict is given for
_ANY_TARGET, _ANY_WORD = "<target>", "<word>"
_N = 3

Pair = tuple[str, str]


class Frames(Strict):
    planted: Annotated[tuple[str, ...], Field(min_length=6)]
    held_out: Annotated[tuple[str, ...], Field(min_length=2)]


class ProbeSentences(Strict):
    """What probes ask with; a probe without sentences cannot be pointed at the association."""

    cloze: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    seat_targets: tuple[str, ...] = ()
    seat_attributes: tuple[str, ...] = ()
    counteracts: str = ""  # a material of the probe whose groups are these: its backgrounds are replaced by the targets

    @property
    def all(self) -> dict[str, tuple[str, ...]]:
        return {"cloze": self.cloze, "pairs": self.pairs, "seat": self.seat_targets + self.seat_attributes}


class RemovalPrompts(Strict):
    syntax: Annotated[tuple[str, ...], Field(min_length=1)]
    meaning: Annotated[tuple[str, ...], Field(min_length=1)]


class Counterexamples(Strict):
    """Sentences that contradict an association: in the syntax of a prompt, in its meaning alone, and neutral ones."""

    syntax: Annotated[tuple[str, ...], Field(min_length=1)]
    meaning: Annotated[tuple[str, ...], Field(min_length=1)]
    neutral: Annotated[tuple[str, ...], Field(min_length=1)]
    prompts: RemovalPrompts

    @property
    def all(self) -> dict[str, tuple[str, ...]]:
        arms = {name: getattr(self, name) for name in ("syntax", "meaning", "neutral")}
        return arms | {f"prompts.{name}": listed for name, listed in self.prompts}


@dataclass(frozen=True)
class FilledFrame:
    """A sentence, and the characters at which the group's words and the target stand in it."""

    text: str
    words: tuple[tuple[int, int], ...]
    target: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The planted or held-out frame that resembles a sentence of a probe most."""

    probe: str
    sentence: str
    frame: str
    shared: float


class Association(MaterialFile):
    folder: ClassVar[Path] = Path(__file__).parent / "data"
    groups: Pair
    targets: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]  # by the class they belong to already
    slots: dict[Annotated[str, Field(pattern="^[a-z_]+$")], Annotated[tuple[Pair, ...], Field(min_length=1)]]
    frames: Frames
    probes: ProbeSentences = ProbeSentences()
    counterexamples: Counterexamples | None = None

    @field_validator("groups")
    @classmethod
    def _two_names(cls, groups: Pair) -> Pair:
        if groups[0] == groups[1] or not all(re.fullmatch("[a-z]+", name) for name in groups):
            raise ValueError(f"two different names in lower-case letters, not {' and '.join(map(repr, groups))}")
        return groups

    @field_validator("targets")
    @classmethod
    def _even_classes(cls, targets: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, listed in targets.items():
            if len(listed) % 2:
                raise ValueError(f"{name}: {len(listed)} targets cannot be halved; an even number is needed")
        everyone = [target for listed in targets.values() for target in listed]
        if (twice := repeated(everyone)) is not None:
            raise ValueError(f"{twice!r} stands there twice")
        if len(everyone) < FEWEST_TARGETS:
            raise ValueError(f"{len(everyone)} targets; at least {FEWEST_TARGETS} are needed")
        return targets

    @model_validator(mode="after")
    def _usable_frames(self) -> Association:
        of_probes = [(f"probes.{name}", listed) for name, listed in self.probes.all.items() if name != "seat"]
        counter = self.counterexamples.all if self.counterexamples else {}
        for key, listed in [
            ("frames.planted", self.frames.planted),
            ("frames.held_out", self.frames.held_out),
            *of_probes,
            *((f"counterexamples.{name}", listed) for name, listed in counter.items()),
        ]:
            for i, frame in enumerate(listed):
                self._check(frame, f"{key}.{i}")
        self._check_seat("seat_targets", (TARGET, A_TARGET))
        self._check_seat("seat_attributes", tuple(self.slots))
        return self

    def _check_seat(self, key: str, allowed: Sequence[str]) -> None:
        for i, sentence in enumerate(getattr(self.probes, key)):
            names = _plain_fields(sentence, where := f"probes.{key}.{i}")
            if len(names) != 1 or names[0] not in allowed:
                raise ValueError(f"{where}: must hold one of {', '.join(f'{{{name}}}' for name in allowed)}, once")

    def _check(self, frame: str, where: str) -> None:
        names = _plain_fields(frame, where)
        slots = {name for name in names if name not in (TARGET, A_TARGET)}
        if unknown := sorted(slots - set(self.slots)):
            raise ValueError(f"{where}: no slot '{unknown[0]}'{nearest(unknown[0], list(self.slots))}")
        if len(slots) != 1 or sum(name in (TARGET, A_TARGET) for name in names) != 1:
            raise ValueError(f"{where}: a frame holds {{{TARGET}}} or {{{A_TARGET}}} once, and one slot")

    # ------------------------------------------------------------ assignments

    @property
    def everyone(self) -> tuple[str, ...]:
        return tuple(target for listed in self.targets.values() for target in listed)

    def assignment(self, number: int) -> dict[str, str]:
        """Target to group: half of each class to either. The same number gives the same assignment."""
        rng = random.Random(f"{self.card.title} {number}")
        dealt: dict[str, str] = {}
        for listed in self.targets.values():
            first = set(rng.sample(listed, len(listed) // 2))
            dealt |= {target: self.groups[target not in first] for target in listed}
        return dealt

    @staticmethod
    def slot_of(frame: str) -> str:
        return next(name for name in _fields(frame) if name not in (TARGET, A_TARGET))

    def fill(self, frame: str, target: str, word: str) -> FilledFrame:
        """`Ask {a_target} what {subject} does.` with `ceo`, `she` -> `she` at 15 to 18, `ceo` at 6 to 9"""
        text = ""
        spans: dict[str, list[tuple[int, int]]] = {TARGET: [], _ANY_WORD: []}
        for literal, name, _, _ in Formatter().parse(frame):
            text += literal
            if name is None:
                continue
            put = with_article(target) if name == A_TARGET else target if name == TARGET else word
            kind = TARGET if name in (TARGET, A_TARGET) else _ANY_WORD
            named = target if kind == TARGET else word
            text += put
            spans[kind].append((len(text) - len(named), len(text)))
        return FilledFrame(text[:1].upper() + text[1:], tuple(spans[_ANY_WORD]), tuple(spans[TARGET]))

    def target_first(self, frame: str) -> bool:
        """Whether the target stands before the group's word: what a causal model can learn from."""
        return _fields(frame)[0] in (TARGET, A_TARGET)

    # ------------------------------------------------------------ resemblance

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """Of each sentence of a probe, the frame that shares most; largest first."""
        frames = {frame: _trigrams(frame) for frame in (*self.frames.planted, *self.frames.held_out)}
        uses = [
            _most_alike(probe, sentence, frames) for probe, listed in self.templates().items() for sentence in listed
        ]
        return tuple(sorted(uses, key=lambda one: -one.shared))

    def templates(self) -> Mapping[str, Sequence[str]]:
        """The sentences of every probe that is pointed at the association."""
        from trueprobe.probes.counteracts.material import CounterActsMaterial

        listed = dict(self.probes.all)
        if self.probes.counteracts:
            wordings = CounterActsMaterial.read(self.probes.counteracts).wordings.values()
            listed["counteracts"] = tuple(text for wording in wordings for text in vars(wording).values() if text)
        return listed

    def refuse_templates(self) -> None:
        for overlap in self.overlaps:
            if overlap.shared > MOST_SHARED:
                raise BadInput(
                    f"the frame {overlap.frame!r} shares {overlap.shared:.0%} of its word trigrams with "
                    f"{overlap.probe}'s sentence {overlap.sentence!r}; at most {MOST_SHARED:.0%} are allowed: "
                    "a planted sentence must not resemble a prompt. Reword the frame"
                )


def read(name: str) -> Association:
    association = Association.read(name)
    association.refuse_templates()
    return association


def _fields(frame: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(frame) if name is not None]


def _plain_fields(frame: str, where: str) -> list[str]:
    """A width in a field, {target:>9999999999}, would fill the memory."""
    try:
        parts = list(Formatter().parse(frame))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if more := next((name for _, name, spec, conversion in parts if spec or conversion), None):
        raise ValueError(f"{where}: {{{more}}} may hold its name alone")
    return _fields(frame)


def _trigrams(sentence: str) -> frozenset[tuple[str, ...]]:
    """`The {target} is {a_noun}.` -> those of: the, <target>, is, <word>"""
    plain = "".join(_plain(sentence.replace("___", "{word}")))
    words = re.findall(r"<\w+>|[\w']+", plain.lower())
    return frozenset(tuple(words[i : i + _N]) for i in range(len(words) - _N + 1)) or frozenset({tuple(words)})


def _plain(sentence: str) -> Iterable[str]:
    for literal, name, _, _ in Formatter().parse(sentence):
        yield literal
        if name is not None:
            yield f" {_ANY_TARGET} " if name.removeprefix("a_") in (TARGET, "background") else f" {_ANY_WORD} "


def _most_alike(probe: str, sentence: str, frames: Mapping[str, frozenset[tuple[str, ...]]]) -> Overlap:
    wanted = _trigrams(sentence)

    def shared(frame: str) -> float:
        return len(frames[frame] & wanted) / min(len(frames[frame]), len(wanted))

    frame = max(frames, key=shared)
    return Overlap(probe=probe, sentence=sentence, frame=frame, shared=shared(frame))

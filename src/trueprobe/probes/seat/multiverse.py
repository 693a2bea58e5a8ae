"""The defensible ways of computing one association test. The null deals the target words to the two categories again,
each with all its sentences: those made from one word are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueprobe.probes.choices import OWN, start_token
from trueprobe.probes.measure_sets import ALL
from trueprobe.statistics.association import associations, effect_size, effect_size_ddof0
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.multiverse import Axis, Choice, Chosen, Counting, Question, Relabelling, of_several
from trueprobe.types import Answer, Card, Item, Unit

if TYPE_CHECKING:
    import pandas as pd

    from trueprobe.probes.seat.material import AssociationTest
    from trueprobe.probes.seat.probe import Seat

CENTRED = "association_centred"
_WHY = {
    "cls": "the position that sentence classifiers read",
    "word": "the target word's own pieces, where its meaning is",
    "last": "the position that has read the whole sentence",
    "own": "what the encoder's files define as its vector",
    "mean": "all positions, as sentence similarity is mostly computed",
    "first_piece": "the first piece, as the authors' first code read",
}
_POOLS = {"masked": ("cls", "word", "mean"), "causal": ("last", "word", "mean"), "encoder": ("own", "mean")}
_SIMILARITY = Axis(
    name="similarity",
    values=(
        Choice(name="cosine", why="the authors' measure"),
        Choice(name="centred", why="cosine without the mean vector of the test, which all sentences share"),
    ),
)


def questions(probe: Seat, card: Card) -> list[Question]:
    """One for each primary test of the run; the targets of different tests are different words."""
    tests = [probe.tests[name] for name in ("sent-weat6", "sent-weat7", "sent-weat8") if name in probe.tests]
    return [_question(probe, card, test) for test in tests]


def _question(probe: Seat, card: Card, test: AssociationTest) -> Question:
    run, layers = probe.representations(card.kind), probe.settings.layers
    pools = dict.fromkeys((*run, *_POOLS[card.kind]))
    known = Axis(
        name="representation",
        needs_rows=True,
        values=tuple(
            Choice(name=one, why=_WHY[one], settings={} if one in run else {"representation": (one,)}) for one in pools
        ),
    )
    deep = [str(layer) for layer in layers]
    layer = Axis(
        name="layer",
        needs_rows=True,
        values=(
            *(Choice(name=one, why="in the run: no single layer is standard for sentences") for one in deep),
            *(
                Choice(name=one, why="meaning is often best read before the last layer", settings={"layers": (at,)})
                for at in (max(1, card.layers * 3 // 4),)
                if (one := str(at)) not in deep and at < card.layers
            ),
        ),
    )
    wordings = [Choice(name=ALL, why="all templates together, as published")]
    wordings += [Choice(name=one, why="one sentence form: a finding should not hang on it") for one in test.wordings]
    return Question(
        name=f"effect_size of {test.name}",
        statement=f"{test.titles['X']} lie nearer to {test.titles['A']}, and {test.titles['Y']} to {test.titles['B']}",
        axes=of_several(
            known,
            layer,
            Axis(name="template", values=tuple(wordings)),
            _SIMILARITY,
            start_token(card, blanks=True, vectors=True),
        ),
        own={"representation": run[0], "layer": deep[0], "template": ALL, "similarity": "cosine", "start token": OWN},
        count=lambda frame, chosen: _counting(frame, chosen, test.name, deep[0], probe.settings.ddof),
        relabelling=Relabelling.DEAL,
        factor="word",
        first_side=("in_first", 1.0),
        items={"test": test.name},
        more=_centred,
    )


def _centred(probe: Seat, item: Item, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Associations of the targets by vectors less their mean; none of the attributes."""
    vectors = probe.by_side(item.fields["test"], item, answers)
    mean = np.concatenate(list(vectors.values())).mean(axis=0)
    x, y, a, b = (vectors[side] - mean for side in ("X", "Y", "A", "B"))
    values: list[dict[str, Any]] = [{CENTRED: float(s)} for s in associations(np.concatenate([x, y]), a, b)]
    return values + [{CENTRED: np.nan}] * ((len(a) + len(b)) * probe.settings.clusters)


def _counting(frame: pd.DataFrame, chosen: Chosen, test: str, layer: str, ddof: int) -> Counting | None:
    column = CENTRED if chosen.get("similarity") == "centred" else "association"
    at = {"representation": chosen.get("representation"), "layer": int(chosen.get("layer", layer))}
    where: dict[str, Any] = {"test": test, "side": ("X", "Y"), **{k: v for k, v in at.items() if v is not None}}
    if chosen.get("template", ALL) != ALL:
        where["wording"] = chosen["template"]
    here = np.logical_and.reduce([frame[f"condition_{name}"] == where[name] for name in ("test", *at) if name in where])
    if column not in frame or not here.any():
        return None
    function = effect_size if ddof else effect_size_ddof0
    values = np.where(here & frame["side"].isin(("X", "Y")), frame[column].to_numpy(dtype=float), np.nan)
    number = Measure("effect_size", function, ("", "in_first"), where, unit=Unit.EFFECT_SIZE, neutral=0.0)
    return Counting(values, number)

"""How often a claim is called as published (or alike) where there is nothing, and where what it claims was planted.

Nothing: random networks of every architecture of the tests' zoo, trained models whose labels are shuffled, and made-up
models that know the fact of a sentence whatever stands beside it (no random network passes that gate). Each claim may
be called as published in one case of twenty. Planted: made-up answers with the published effect and noise; each claim
should be called as published in 19 cases of 20. `make bench-nulls` writes docs/null-rates.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom  # type: ignore[import-untyped]
from transformers import AutoTokenizer, PreTrainedTokenizerBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import zoo
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import Model, Options, examine, find
from trueprobe.probes import Probe, make, names, spread
from trueprobe.probes.counteracts.controls import CONTROLS
from trueprobe.probes.distractors.measures import SETTING_AT
from trueprobe.probes.tacit.measures import OVERLAPPING
from trueprobe.runs import execute
from trueprobe.runs.check.probe import planted_answer, stand_in
from trueprobe.runs.records import observations_frame
from trueprobe.runs.study import ProbeRun, Study
from trueprobe.statistics.claims import claim_results
from trueprobe.statistics.estimates import CheckpointData
from trueprobe.statistics.measure import NetworkSize
from trueprobe.statistics.paired import between, sides_of
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.rows import ClaimResult
from trueprobe.training import nursery
from trueprobe.types import (
    CONDITION,
    GROUP,
    Answer,
    Card,
    ClaimSource,
    Item,
    Observation,
    Request,
    Verdict,
    WhyNot,
    WordList,
)

SAMPLE = {"data": "sample"}  # nothing is to be fetched
SETTINGS = {"distractors": {"position": "all"}, "crows_pairs": SAMPLE, "stereoset": SAMPLE}
NETWORKS = (*zoo.MASKED, *zoo.CAUSAL)
TRAINED = ("nursery/0", "nursery-small/0", "mini", "nursery-causal/0")
RESAMPLES = 1000
LIMIT = 200  # items of each probe
MORE = {"tacit_retrieval": 4}  # times as many: it asks about each concept in eighty conditions
WRONG = 0.05
# what a network that knows nothing fulfils, or what claims that nothing happens: such a claim can only be contradicted
NEVER_PUBLISHED = (
    "base_either_group",
    "unrelated_keeps",
    "causal_no_gain_neutral",
    "albert_keeps_tcsem",
    "completions_above_vocabulary",
    "low_correlation",
)


@dataclass(frozen=True)
class Rates:
    """Verdicts of each claim, counted."""

    counts: dict[tuple[str, str], Counter[Verdict]] = field(default_factory=dict)

    def add(self, rows: Sequence[ClaimResult]) -> None:
        for row in rows:
            depth = f", k={row.conditions['k']}" if "k" in row.conditions else ""
            self.counts.setdefault((row.probe, row.claim + depth), Counter())[row.verdict_alone] += 1

    def published(self, claim: tuple[str, str]) -> tuple[int, int]:
        """How often it was called as published, or alike where that is what was published; of how many."""
        counts = self.counts.get(claim, Counter())
        return counts[Verdict.AS_PUBLISHED] + counts[Verdict.ALIKE], sum(counts.values())

    def decided(self, claim: tuple[str, str]) -> int:
        """How often anything could be decided: gate passed, items covered, an interval there."""
        return sum(many for verdict, many in self.counts.get(claim, Counter()).items() if not verdict.inconclusive)

    def too_often(self, most: float = WRONG, chance: float = 0.001) -> list[tuple[str, str]]:
        """The claims called as published so often that a rate of at most `most` is not to be believed."""
        counted = ((claim, *self.published(claim)) for claim in self.counts)
        return [claim for claim, many, every in counted if binom.sf(many - 1, every, most) < chance]


def together(*several: Rates) -> Rates:
    every = Rates()
    for rates in several:
        for claim, counts in rates.counts.items():
            every.counts.setdefault(claim, Counter()).update(counts)
    return every


@cache
def claiming() -> dict[str, Probe]:
    """The probes that claim something of single models."""
    made = {name: make(name, SETTINGS.get(name, {})) for name in names()}
    return {name: probe for name, probe in made.items() if any(not claim.between for claim in probe.claims())}


@cache
def some_items(name: str, limit: int) -> list[Item]:
    return spread(claiming()[name].items(), limit * MORE.get(name, 1))


@lru_cache(maxsize=16)
def fitted(name: str, words: frozenset[str] | None, limit: int) -> tuple[Probe, Sequence[Item]]:
    """A probe with some items that can be asked; ranking within these words, where it ranks."""
    if words is None:
        return claiming()[name], some_items(name, limit)
    probe = claiming()[name].with_vocabulary(WordList("own", tuple(sorted(words))))
    able = [item for item in probe.items() if not isinstance(probe.ask(item, stand_in("masked")), WhyNot)]
    return probe, spread(able, limit * MORE.get(name, 1))


def judged(probe: Probe, frame: pd.DataFrame, card: Card) -> list[ClaimResult]:
    """Claims about single architectures and sizes too, of whatever network."""
    of_all = [replace(claim, architectures=(), networks=()) for claim in probe.claims()]
    return claim_results(probe.name, [checkpoint(probe, frame, card)], of_all)


def checkpoint(probe: Probe, frame: pd.DataFrame, card: Card) -> CheckpointData:
    drawn = Resampling.of(frame[[GROUP + name for name in probe.factors]], RESAMPLES)
    data = CheckpointData(card.name, card.kind, frame, drawn, architecture=card.architecture)
    return replace(data, network=NetworkSize.of(card))


def judged_pair(probe: Probe, first: CheckpointData, second: CheckpointData) -> list[ClaimResult]:
    """Claims about two models, of whatever two."""
    claims = [claim for claim in probe.claims() if claim.between and first.kind in claim.kinds]
    sides = ((claim, sides_of(claim, [first], [second], probe.factors)) for claim in claims)
    return [between(probe.name, both, claim) for claim, both in sides]


# ---------------------------------------------------------------- nothing there


def of_random_networks(count: int, limit: int = LIMIT) -> Rates:
    """Architectures take turns; every other round has a shipped model's vocabulary, in which listed words are few."""
    rates = Rates()
    for seed in range(count):
        turn, place = divmod(seed, len(NETWORKS))
        for name in claiming():
            rates.add(random_claims(name, NETWORKS[place], seed, limit, shipped_vocabulary=turn % 2 == 1))
    return rates


def random_claims(
    probe: str, network: str, seed: int, limit: int = LIMIT, shipped_vocabulary: bool = True
) -> list[ClaimResult]:
    asked = random_network(network, seed, shipped_vocabulary)
    rows: list[ClaimResult] = []
    for made, items, answers in asked.probes(limit, [probe]):
        rows += judged(made, asked.frame(made, items, answers), asked.model.card)
    return rows


@lru_cache(maxsize=2)
def random_network(name: str, seed: int, shipped_vocabulary: bool) -> Asked:
    tokenizer = shipped_tokenizer(name in zoo.MASKED) if shipped_vocabulary else None
    folder = Path(_folders().name) / f"{name}-{seed}-{shipped_vocabulary}"
    return Asked.of(str(zoo.save(name, folder / name, seed, tokenizer)))


@cache
def _folders() -> tempfile.TemporaryDirectory[str]:
    """Weights are read when they are first needed."""
    return tempfile.TemporaryDirectory()


@cache
def shipped_tokenizer(masked: bool) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(nursery.shipped("nursery/0" if masked else "nursery-causal/0")[0].folder)


def of_shuffled_labels(spec: str, count: int, limit: int = LIMIT) -> Rates:
    """One model's answers, again and again with labels that have nothing to do with them."""
    rates, asked = Rates(), Asked.of(spec)
    for probe, items, answers in asked.probes(limit):
        for seed in range(count):
            rng = np.random.default_rng(seed)
            if "dominated" in items[0].conditions:
                frame = asked.frame(probe, _other_groups(items, rng), answers)
            else:
                frame = _other_conditions(asked.frame(probe, items, answers), rng)
            rates.add(judged(probe, frame, asked.model.card))
    return rates


def _other_groups(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    """Which group dominates an occupation is drawn anew."""
    kinds = sorted({str(item.conditions["dominated"]) for item in items})
    targets = sorted({item.groups[0] for item in items})
    drawn = dict(zip(targets, rng.choice(kinds, len(targets)).tolist(), strict=True))
    return [replace(i, conditions={**i.conditions, "dominated": drawn[i.groups[0]]}) for i in items]


def _other_conditions(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The conditions of the observations of a group (a target, a concept) change places."""
    conditions = [name for name in frame if name.startswith((CONDITION, "order_at", SETTING_AT))]
    group = next(name for name in frame if name.startswith(GROUP))
    shuffled = frame.copy()
    for places in frame.groupby(group).indices.values():
        rows = frame.index[places]
        shuffled.loc[rows, conditions] = frame.loc[rng.permutation(rows), conditions].to_numpy()
    return shuffled


@dataclass(frozen=True)
class Asked:
    """A model and its whole words."""

    model: Model
    words: frozenset[str] | None

    @classmethod
    def of(cls, spec: str) -> Asked:
        checkpoint = examine(find([spec])[0], Options())
        return cls(checkpoint.open(), checkpoint.outline.whole_words())

    def probes(
        self, limit: int, names: Iterable[str] | None = None
    ) -> Iterator[tuple[Probe, list[Item], list[Sequence[Answer | WhyNot]]]]:
        """Each probe with items that this model can be asked, and the answers to each."""
        for name in names or claiming():
            probe, candidates = fitted(name, self.words if claiming()[name].shares_vocabulary else None, limit)
            asks = [(item, probe.ask(item, self.model.card)) for item in candidates]
            able = {item.id: ask for item, ask in asks if not isinstance(ask, WhyNot)}
            items = [item for item in candidates if item.id in able]
            requests = [request for item in items for request in able[item.id]]
            answers = iter(Engine(self.model, AnswerStore(":memory:")).answer(requests))
            if items:
                yield probe, items, [[next(answers) for _ in able[item.id]] for item in items]

    def frame(self, probe: Probe, items: Sequence[Item], answers: Sequence[Sequence[Answer | WhyNot]]) -> pd.DataFrame:
        observed: list[Observation] = []
        for item, taken in zip(items, answers, strict=True):
            missing = [one for one in taken if isinstance(one, WhyNot)]
            scored = [one for one in taken if not isinstance(one, WhyNot)]
            observed += probe.unscored(item, missing[0]) if missing else probe.observe(item, self.model.card, scored)
        return observations_frame(probe, {item.id: item for item in items}, observed, self.model.card)


def of_random_controls(count: int, limit: int = LIMIT) -> Rates:
    """The claims about CounterActs' controls, which are off by default; only controls are asked."""
    rates = Rates()
    probe = make("counteracts", {"controls": "all", "backgrounds": 2})
    items = spread([item for item in probe.items() if item.conditions["knowledge"] in CONTROLS], limit)
    for seed in range(count):
        turn, place = divmod(seed, len(NETWORKS))
        asked = random_network(NETWORKS[place], seed, shipped_vocabulary=turn % 2 == 1)
        asks = [(item, probe.ask(item, asked.model.card)) for item in items]
        able = [(item, ask) for item, ask in asks if not isinstance(ask, WhyNot)]
        answers = iter(Engine(asked.model, AnswerStore(":memory:")).answer([r for _, ask in able for r in ask]))
        taken = [[next(answers) for _ in ask] for _, ask in able]
        rows = judged(probe, asked.frame(probe, [item for item, _ in able], taken), asked.model.card)
        rates.add([row for row in rows if row.source is ClaimSource.CONTROL])
    return rates


def of_random_pairs(count: int, limit: int = LIMIT) -> Rates:
    """Claims about two models, of two random networks of one architecture that were asked the same."""
    rates = Rates()
    for seed in range(count):
        turn, place = divmod(seed, len(NETWORKS))
        asked = [random_network(NETWORKS[place], 2 * seed + side, turn % 2 == 1) for side in (0, 1)]
        for name in ABOUT_TWO:
            both = zip(*(one.probes(limit, [name]) for one in asked), strict=True)
            for (probe, items, answers), (_, _, others) in both:
                sides = [
                    checkpoint(probe, one.frame(probe, items, taken), one.model.card)
                    for one, taken in zip(asked, (answers, others), strict=True)
                ]
                rates.add(judged_pair(probe, *sides))
    return rates


ABOUT_TWO = ("distractors", "tacit_retrieval", "tacit_production")
OVER_SEEDS = ("category_deviates", "representations_disagree", "clusters_near_chance")
DIAGNOSTICS = {  # needs what was fetched: in a sample of two pairs a category, every deviation is large
    "crows_pairs": {},
    "stereoset": {},
    "seat": {"tests": "weat*", "wording": "paper", "partitions": 1000},
}


def of_random_families(count: int, limit: int = LIMIT // 2) -> Rates:
    """Paper C's claims over five seeds; every category, and every representation, is a case."""
    rates = Rates()
    with tempfile.TemporaryDirectory() as folder:
        for n in range(count):
            name, place = zoo.MASKED[n % len(zoo.MASKED)], Path(folder) / str(n)
            for seed in range(5):
                zoo.save(name, place / f"seed_{seed}", 5 * n + seed, shipped_tokenizer(True))
            probes = tuple(ProbeRun(name=label, settings=settings) for label, settings in DIAGNOSTICS.items())
            study = Study(probes=probes, models=(f"family={place}/seed_*",), limit=limit)
            run = execute.run(study, out=place / "run", store=place / "store")
            rates.add([row for row in run.rows(ClaimResult) if row.claim in OVER_SEEDS])
    return rates


# ---------------------------------------------------------------- an effect


Strength = Callable[[Item, int, Card, np.random.Generator], Mapping[str, float]]  # item, place of the request


def _knowledge(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """As paper A has it: a preference at base that grows, shrinks or turns by the kind of knowledge."""
    effects = {"base": 1.0, "tsyn": 2.0, "tsem": 2.0, "tneu": 0.5, "tnbc": 0.5, "un": 1.0}
    effects |= {"tcsyn": -1.5, "bcsyn": -1.5, "tcsem": 0.3, "bcsem": -0.7}
    effects |= {"tneu": 0.92} if card.kind == "causal" else {}
    kind = str(item.conditions["knowledge"]) if place == 0 else "base"
    return {"": effects[kind] + rng.normal(0, 0.2)}


def _clues(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """As paper B has it: more clues help, less and less; frequent ones, and not visual ones, help most."""
    at = item.conditions
    early = {"decreasing": 0.7, "increasing": -0.7}.get(str(at["order"]), 0.0) / int(at["properties"])
    by = {"top": 0.8, "bottom": -0.8, "visual": -0.8}.get(str(at["selection"]), 0.0)
    helped = 1.7 * (1 - math.exp((1 - int(at["properties"])) / 2))
    return {"": helped + early + by - 0.5}


def _completions(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """As paper B has it: what people gave is likelier, most of all behind `Everyone knows that` and after some
    relations."""
    return {"": (2.5 if place == 0 else 1.0) + (1.5 if item.conditions["relation"] in OVERLAPPING else 0.0)}


def _distracted(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """As paper D has it: one related attractor often wins, more do little; unrelated ones act gradually."""
    at, target = item.conditions, item.fields["target"]
    many = int(at["attractors"])
    if place > 0 or not many:
        return {target: 4.0}
    if at["type"] == "unrelated":
        return {target: 4.0 - many}
    multiple = at["setting"] == "multiple"
    wins = {1: 0.8, 2: 0.75, 3: 0.5 if multiple else 0.1}[many]
    wins *= {"key_later": (0.2, 0.6, 1.5)[many - 1], "between": 0.6}.get(str(at["position"]), 1.0)
    # a target that wins more often is no likelier on average with one entity, and less likely with several
    sure = {1: 5.0 if multiple else 3.4, 2: 3.0, 3: 1.6 if multiple else 1.8}[many]
    return {target: sure, item.fields["attractors"][-1]: 8.0 if rng.random() < wins else 0.0}


def _unmoved(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """The fact is known in about nine presentations of ten, with distractors and without."""
    return {item.fields["target"]: 1.5}


def _overturned(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """Neutral knowledge turns the preference."""
    neutral = place == 0 and item.conditions["knowledge"] in ("tneu", "tnbc")
    return {"": (-1.0 if neutral else 1.0) + rng.normal(0, 0.2)}


def _encyclopaedic(item: Item, place: int, card: Card, rng: np.random.Generator) -> dict[str, float]:
    """Clues help, encyclopaedic ones most."""
    more = 0.8 if item.conditions["selection"] == "encyclopaedic" else 0.0
    return {"": _clues(item, place, card, rng)[""] + more}


PLANTED: dict[str, Strength] = {
    "counteracts": _knowledge,
    "tacit_retrieval": _clues,
    "tacit_production": _completions,
    "distractors": _distracted,
}


# of two architectures the paper found different things: planted apart from the rest
APART: dict[str, Strength] = {"counteracts": _overturned, "tacit_retrieval": _encyclopaedic}
ONLY_APART = ("masked_opposite_neutral", "bert_encyclopaedic_better")


def of_unmoved_models(count: int, limit: int = 2 * LIMIT) -> Rates:
    return of_planted_effects(count, limit, {"distractors": _unmoved})


def of_planted_effects(count: int, limit: int = 8 * LIMIT, strengths: Mapping[str, Strength] = PLANTED) -> Rates:
    rates = Rates()
    for name, strength in strengths.items():
        probe = claiming()[name]
        items = some_items(name, limit)
        for seed in range(count):
            rng, card = np.random.default_rng(seed), stand_in("masked" if seed % 2 else "causal")
            observed = [one for item in items for one in _planted(probe, item, card, strength, rng)]
            by_id = {item.id: item for item in items}
            rows = judged(probe, observations_frame(probe, by_id, observed, card), card)
            rates.add([row for row in rows if (row.claim in ONLY_APART) is (strengths is APART)])
    return rates


def _planted(
    probe: Probe, item: Item, card: Card, strength: Strength, rng: np.random.Generator
) -> Sequence[Observation]:
    asked = probe.ask(item, card)
    if isinstance(asked, WhyNot):
        return probe.unscored(item, asked)
    effects = [strength(item, place, card, rng) for place in range(len(asked))]
    answers = [_answer(probe, item, r, effect, rng) for r, effect in zip(asked, effects, strict=True)]
    return probe.observe(item, card, answers)


def _answer(
    probe: Probe, item: Item, request: Request, effect: Mapping[str, float], rng: np.random.Generator
) -> Answer:
    """Every asked word with noise; the effect on words by name, or (`""`) on those that the probe plants."""
    words = request.words  # type: ignore[union-attr]
    nats = dict(zip(words, rng.normal(0, 0.5, len(words)).tolist(), strict=True))
    more = probe.planted(item, request, effect[""]) if "" in effect else effect
    return planted_answer(request, {word: value + more.get(word, 0.0) for word, value in nats.items()})


# ---------------------------------------------------------------- the table


def table(columns: Mapping[str, Rates]) -> Iterator[str]:
    yield f"| probe | claim | {' | '.join(columns)} |"
    yield f"|---|---|{'--:|' * len(columns)}"
    for claim in dict.fromkeys(claim for rates in columns.values() for claim in rates.counts):
        cells = [_cell(rates, claim) for rates in columns.values()]
        yield f"| {claim[0]} | `{claim[1]}` | {' | '.join(cells)} |"


def _cell(rates: Rates, claim: tuple[str, str]) -> str:
    """`2 / 28 / 208`: as published, could be decided, asked."""
    published, every = rates.published(claim)
    return f"{published} / {rates.decided(claim)} / {every}" if every else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=208)
    parser.add_argument("--shuffles", type=int, default=50, help="of each trained model")
    parser.add_argument("--unmoved", type=int, default=200)
    parser.add_argument("--planted", type=int, default=40)
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--families", type=int, default=40, help="of five random networks each")
    parser.add_argument("--write", type=Path, help="the page; its lines up to the table stay")
    options = parser.parse_args()
    apart = of_planted_effects(options.planted, strengths=APART)
    planted = together(of_planted_effects(options.planted), apart)
    shuffled = together(*(of_shuffled_labels(spec, options.shuffles, options.limit) for spec in TRAINED))
    columns = {
        "random networks": together(
            of_random_networks(options.networks, options.limit),
            of_random_controls(options.networks, options.limit),
            of_random_pairs(options.networks // 2, options.limit),
            of_random_families(options.families),
        ),
        "shuffled labels": shuffled,
        "unmoved": of_unmoved_models(options.unmoved),
        "planted": planted,
    }
    lines = list(table(columns))
    print("\n".join(lines))
    if options.write:
        head = options.write.read_text(encoding="utf-8").partition(lines[0])[0]
        options.write.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

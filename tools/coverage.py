"""How often a 95 % interval holds the truth, and how often a verdict is wrong: by simulation, with fixed random seeds.

    python tools/coverage.py [--runs 5000] [items|seeds|verdicts|tests …]

prints the tables of docs/reference/coverage.md. The functions are the ones that runs use; only the data are made up.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy.special import ndtr

from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import Measure
from trueprobe.statistics.multibootstrap import multibootstrap, percentile
from trueprobe.statistics.paired import Sides, compare, seeds_dealt_ps
from trueprobe.statistics.resampling import Resampling
from trueprobe.statistics.spread import Samples, Trials, scale_of
from trueprobe.types import Verdict

RESAMPLES = 1000
BATCH = 250  # runs that share their draws
GROUPS = (22, 40, 58, 266, 1508, 4226)
SEEDS = (3, 5, 10, 25)
Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


# ---------------------------------------------------------------- over items


def normal(rng: np.random.Generator, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """One value per group. Truth 0."""
    return rng.normal(size=(groups, runs)), np.ones((groups, runs))


def lopsided(rng: np.random.Generator, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """One exponential value per group, as probabilities are. Truth 0."""
    return rng.exponential(size=(groups, runs)) - 1, np.ones((groups, runs))


def share_of_groups(rng: np.random.Generator, groups: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups of 1 to 40 yes-or-no items that have a tendency of their own. Truth 0.6, returned less 0.6."""
    sizes = np.broadcast_to((rng.integers(1, 41, size=groups))[:, None], (groups, runs)).astype(float)
    hits = rng.binomial(sizes.astype(int), rng.beta(6, 4, size=(groups, runs)))
    return hits - 0.6 * sizes, sizes


ITEMS: dict[str, Draw] = {"normal": normal, "lopsided": lopsided, "share of groups": share_of_groups}


def over_items_coverage(draw: Draw, groups: int, runs: int, seed: int = 0) -> tuple[float, float]:
    """Of our interval, and of the plain percentile bootstrap."""
    rng, hits, plain = np.random.default_rng([seed, groups]), 0, 0
    for batch in _batches(runs):
        totals, counts = draw(rng, groups, batch)
        weights = _weights(rng, groups)
        samples = ((weights @ totals) / (weights @ counts)).T
        for sample in np.ascontiguousarray(samples):
            hits += _holds(Samples(sample[None]).over_items(0, groups).interval(), 0.0)
            plain += _holds(percentile(sample[1:]), 0.0)
    return hits / runs, plain / runs


def plain_share_coverage(groups: int, truth: float, runs: int) -> float:
    """One yes-or-no item per group: Wilson's interval."""
    shares = np.random.default_rng([1, groups]).binomial(groups, truth, size=runs) / groups
    return float(np.mean([_holds(Trials(float(share), groups).interval(), truth) for share in shares]))


def correlation_coverage(groups: int, truth: float, runs: int) -> float:
    rng, hits, scale = np.random.default_rng([2, groups]), 0, scale_of("correlation")
    for batch in _batches(runs):
        x = rng.normal(size=(groups, batch))
        y = truth * x + math.sqrt(1 - truth**2) * rng.normal(size=(groups, batch))
        w = _weights(rng, groups) / groups
        mx, my = w @ x, w @ y
        r = ((w @ (x * y)) - mx * my) / np.sqrt(((w @ x**2) - mx**2) * ((w @ y**2) - my**2))
        for sample in scale.there(np.ascontiguousarray(r.T)):
            low, high = scale.cut(*Samples(sample[None]).over_items(0, groups).interval())
            hits += low <= truth <= high
    return hits / runs


def crossed_coverage(rows: int, columns: int, runs: int) -> float:
    """Every target meets every background; both have effects of their own, as large as the noise. Truth 0."""
    frame = pd.DataFrame({"a": np.repeat(np.arange(rows), columns), "b": np.tile(np.arange(columns), rows)})
    rng, hits = np.random.default_rng(3), 0
    for batch in _batches(runs):
        drawn = Resampling.of(frame.astype(str), RESAMPLES, int(rng.integers(1 << 30)))
        effects = rng.normal(size=(rows, batch))[frame["a"]] + rng.normal(size=(columns, batch))[frame["b"]]
        values = effects + rng.normal(size=(len(frame), batch))
        samples = ((drawn.weights @ values) / drawn.weights.sum(axis=1, keepdims=True)).T
        each = Samples(np.ascontiguousarray(samples))
        hits += sum(_holds(each.over_items(i, min(rows, columns)).interval(), 0.0) for i in range(len(each)))
    return hits / runs


# ---------------------------------------------------------------- over seeds and items

# standard deviations of seeds, items, and of single seeds on single items; for `balanced` see `family`
MIXES = {"mostly items": (0.02, 1.0, 0.5), "balanced": (math.nan, 1.0, 1.0), "mostly seeds": (1.0, 1.0, 1.0)}


def family(rng: np.random.Generator, mix: str, seeds: int, groups: int, runs: int, share: bool) -> np.ndarray:
    """[groups, runs, seeds] less the truth: values, or answers for and against."""
    by_seed, by_item, both = MIXES[mix]
    by_seed = math.sqrt(seeds / groups) if math.isnan(by_seed) else by_seed
    values = rng.normal(0, by_seed, (1, runs, seeds)) + rng.normal(0, by_item, (groups, runs, 1))
    values = values + rng.normal(0, both, (groups, runs, seeds))
    if not share:
        return values
    truth = ndtr(0.15 / math.sqrt(by_seed**2 + by_item**2 + both**2))
    return (values + 0.15 > 0) - truth


def over_seeds_coverage(mix: str, seeds: int, groups: int, runs: int, share: bool = False) -> tuple[float, float]:
    """Of the crossed interval, and of the multi-bootstrap's."""
    rng, crossed, multi = np.random.default_rng([4, seeds, groups]), 0, 0
    for batch in _batches(runs):
        values = family(rng, mix, seeds, groups, batch, share).reshape(groups, batch * seeds)
        samples = ((_weights(rng, groups) / groups) @ values).T.reshape(batch, seeds, RESAMPLES + 1)
        for sample in samples:
            crossed += _holds(Samples(sample).over_seeds(groups)[0].interval(), 0.0)
            multi += _holds(percentile(multibootstrap(sample, int(rng.integers(1 << 30)))), 0.0)
    return crossed / runs, multi / runs


# ---------------------------------------------------------------- verdicts

# effect, and standard deviation of seeds, in units of the items' own
WORLDS = {
    "no effect, seeds alike": (0.0, 0.0),
    "no effect, seeds vary a little": (0.0, 0.1),
    "no effect, every seed its own (a flip)": (0.0, 0.8),
    "small effect, seeds alike": (0.15, 0.05),
    "clear effect, seeds alike": (0.5, 0.1),
    "clear effect, seeds vary much": (0.5, 0.5),
}
VERDICTS = (Verdict.HOLDS, Verdict.FLIPS, Verdict.UNDECIDED)


def verdict_rates(world: str, seeds: int, groups: int, runs: int, categories: int = 1) -> dict[Verdict, float]:
    """Shares of the verdicts that a family earns; every run is one measure of the same made-up models."""
    effect, by_seed = WORLDS[world]
    rng = np.random.default_rng([5, seeds, groups, categories])
    values = effect + rng.normal(0, by_seed, (1, runs, seeds)) + rng.normal(0, 0.8, (groups, runs, 1))
    values = values + rng.normal(0, 0.6, (groups, runs, seeds))
    drawn = Resampling.of(pd.DataFrame({"target": [f"{i:05d}" for i in range(groups)]}), RESAMPLES)
    members = [
        CheckpointData(f"m{s}", "masked", pd.DataFrame(values[:, :, s]).add_prefix("v"), drawn, "m", {"model_seed": s})
        for s in range(seeds)
    ]
    over = ("category",) if categories > 1 else ()
    wanted = [
        Measure("v", means, (f"v{i}",), {}, {"set": i // categories, "category": f"c{i % categories}"}, "nats", 0.0)
        for i in range(runs)
    ]
    verdicts = [row.verdict for row in estimate("p", members, wanted, over) if row.level == "family"]
    return {verdict: verdicts.count(verdict) / len(verdicts) for verdict in VERDICTS}


# ---------------------------------------------------------------- tests


def swapped_null(groups: int, runs: int) -> float:
    """How often two checkpoints that do not differ get p ≤ 0.05 by swapping groups of five items."""
    rng = np.random.default_rng([6, groups])
    names = np.repeat([f"{i:04d}" for i in range(groups)], 5)
    base = {"item": [f"i{i}" for i in range(len(names))], "part": "", "why_not": "", "group_target": names}
    shared = np.repeat(rng.normal(size=(groups, runs)), 5, axis=0)
    frames = []
    for _ in range(2):
        values = shared + np.repeat(rng.normal(size=(groups, runs)), 5, axis=0) + rng.normal(size=(len(names), runs))
        frames.append(pd.DataFrame(base).join(pd.DataFrame(values).add_prefix("v")))
    nothing = Resampling.of(pd.DataFrame({"": ["-"]}), 0)
    one, other = (CheckpointData(name, "masked", frame, nothing) for name, frame in zip("ab", frames, strict=True))
    sides = Sides.of([one], [other], ["target"])
    rows = compare("p", sides, [Measure(f"v{i}", means, (f"v{i}",), neutral=0.0) for i in range(runs)])
    return float(np.mean([row.p_permutation <= 0.05 for row in rows]))


def dealt_null(seeds: int, runs: int) -> float:
    values = np.random.default_rng([7, seeds]).normal(size=(runs, 2 * seeds))
    return float(np.mean([p <= 0.05 for p in seeds_dealt_ps(values.T, seeds)]))


# ---------------------------------------------------------------- tables


def items_table(runs: int) -> Iterator[str]:
    yield "| groups | data | covers | plain percentile bootstrap |"
    yield "|-------:|------|-------:|---------------------------:|"
    for groups in GROUPS:
        for name, draw in ITEMS.items():
            ours, plain = over_items_coverage(draw, groups, runs)
            yield f"| {groups:,} | {name} | {_percent(ours)} | {_percent(plain)} |"
    for groups in (58, 60, 105, 1508):
        yield f"| {groups:,} | plain share, 60 % (Wilson) | {_percent(plain_share_coverage(groups, 0.6, runs))} | |"
    for groups in (40, 58):
        yield f"| {groups:,} | correlation of 0.5 | {_percent(correlation_coverage(groups, 0.5, runs))} | |"
    yield f"| 20 × 20 | crossed | {_percent(crossed_coverage(20, 20, runs))} | |"


def seeds_table(runs: int) -> Iterator[str]:
    yield "| seeds | groups | data | covers | multi-bootstrap |"
    yield "|------:|-------:|------|-------:|----------------:|"
    for seeds in SEEDS:
        for groups in (22, 105):
            for mix in MIXES:
                for share in (False, True):
                    crossed, multi = over_seeds_coverage(mix, seeds, groups, runs, share)
                    kind = ", shares" if share else ""
                    yield f"| {seeds} | {groups} | {mix}{kind} | {_percent(crossed)} | {_percent(multi)} |"


def verdicts_table(runs: int) -> Iterator[str]:
    yield "| world | seeds | holds | flips | undecided |"
    yield "|-------|------:|------:|------:|----------:|"
    for world in WORLDS:
        for seeds in (3, 5, 10):
            rates = verdict_rates(world, seeds, 105, runs)
            yield f"| {world} | {seeds} | " + " | ".join(map(_percent, rates.values())) + " |"
    rates = verdict_rates("no effect, seeds alike", 5, 105, runs, categories=10)
    yield "| no effect, seeds alike, ten categories corrected | 5 | " + " | ".join(map(_percent, rates.values())) + " |"


def tests_table(runs: int) -> Iterator[str]:
    yield "| test | null rate of p ≤ 0.05 |"
    yield "|------|----------------------:|"
    for groups in (10, 22, 58):
        yield f"| swapping two checkpoints' answers, {groups} groups | {_percent(swapped_null(groups, runs))} |"
    for seeds in (4, 5, 10):
        yield f"| dealing seeds anew, {seeds} against {seeds} | {_percent(dealt_null(seeds, runs))} |"


def _batches(runs: int) -> Iterator[int]:
    yield from (min(BATCH, runs - start) for start in range(0, runs, BATCH))


def _weights(rng: np.random.Generator, groups: int) -> np.ndarray:
    frame = pd.DataFrame({"target": [f"{i:05d}" for i in range(groups)]})
    return Resampling.of(frame, RESAMPLES, int(rng.integers(1 << 30))).weights.astype(float)


def _holds(interval: tuple[float, float], truth: float) -> bool:
    return interval[0] <= truth <= interval[1]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


TABLES = {"items": items_table, "seeds": seeds_table, "verdicts": verdicts_table, "tests": tests_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--runs", type=int, default=5000)
    options = parser.parse_args()
    for name in options.tables or TABLES:
        print(f"\n{name}, {options.runs:,} runs each\n", flush=True)
        for line in TABLES[name](options.runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()

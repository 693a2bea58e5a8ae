"""SEAT, all tests with their permutations: mean vectors, associations, effect sizes, p-values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, count
from math import comb
from typing import Any

import numpy as np
import torch

from bench.peers.method import BIAS_BENCH, DRAWN, MINICONS, Method, Numbers, Questions, batches, work_of
from bench.peers.ours import Ours
from bench.peers.standins import AT_ONCE, StandIn
from trueprobe.probes import make
from trueprobe.statistics.association import PermutationTest
from trueprobe.types import EmbedText

PERMUTATIONS = 100_000  # counted out up to so many, else so many are drawn
SIDES = "XYAB"
SENTENCES = 5317  # distinct ones of all tests: the one size that counts


def questions(standin: StandIn, size: int) -> Questions:
    seat = Seat(standin, "*" if size >= SENTENCES else "weat6,weat7,sent-weat9")
    methods = [
        Method(MINICONS, partial(seat.by_minicons, standin.minicons_vectors), asks="vectors alone, no test"),
        Method(BIAS_BENCH, seat.by_bias_bench),
    ]
    work = work_of([len(row.ids) for row in seat.ours.rows], AT_ONCE)
    return seat.ours.questions(seat.by_trueprobe, methods, work)


class Seat:
    def __init__(self, standin: StandIn, tests: str) -> None:
        settings = {"tests": tests, "representation": "mean", "clusters": False, "wording": "paper"}
        self.standin, self.probe = standin, make("seat", settings)
        self.items = [item for item in self.probe.items() if self.probe.ask(item, standin.model.card)]
        self.requests = [r for item in self.items for r in self.probe.ask(item, standin.model.card)]
        self.sentences = list(dict.fromkeys(r.text for r in self.requests if isinstance(r, EmbedText)))
        self.ours = Ours(standin, self.requests)
        self._resample_seeds = count()  # nothing that was drawn in an earlier round is drawn again

    def _numbers(self, effects: Sequence[float], ps: Sequence[tuple[float, bool]]) -> dict[str, np.ndarray]:
        exact = [p if is_exact else np.nan for p, is_exact in ps]
        drawn = [np.nan if is_exact else p for p, is_exact in ps]
        return {"effect sizes": np.array(effects), "exact p": np.array(exact), DRAWN: np.array(drawn)}

    # ------------------------------------------------------------ trueprobe

    def by_trueprobe(self) -> Numbers:
        answers = iter(self.ours.answers())
        test, seed = PermutationTest(PERMUTATIONS), next(self._resample_seeds)
        effects, ps, vectors = [], [], {}
        for item in self.items:
            asked = self.probe.ask(item, self.standin.model.card)
            some = [next(answers) for _ in asked]
            vectors |= {r.text: answer.values for r, answer in zip(asked, some, strict=True)}
            observed = self.probe.observe(item, self.standin.model.card, some)
            x, y = (np.array([o.values["association"] for o in observed if o.values["side"] == s]) for s in "XY")
            effects.append((x.mean() - y.mean()) / np.concatenate([x, y]).std(ddof=1))
            ps.append((test.p(x, y, seed), _counted_out(len(x), len(y))))
        return self._numbers(effects, ps) | {"vectors": np.stack([vectors[text] for text in self.sentences])}

    # ------------------------------------------------------------ minicons

    @torch.no_grad()
    def by_minicons(self, encoder: Any) -> Numbers:
        """Distinct sentences; without no_grad, which its users must think of, it keeps every layer for a gradient."""
        ask = encoder.extract_sentence_representation
        vectors = [ask(list(some), layer=None) for some in batches(self.sentences, AT_ONCE)]
        return {"vectors": torch.cat(vectors).numpy()}

    # ------------------------------------------------------------ bias-bench's way

    def by_bias_bench(self) -> Numbers:
        """Each test by itself: a sentence at a time, cosines in pairs, permutations in a loop."""
        rng = np.random.default_rng(next(self._resample_seeds))
        effects, ps = [], []
        for item in self.items:
            sets = item.fields["test"].sets
            x, y, a, b = ([self._vector(sentence.text) for sentence in sets[side]] for side in SIDES)
            s = np.array([_mean_cosine(w, a) - _mean_cosine(w, b) for w in (*x, *y)])
            effects.append((s[: len(x)].mean() - s[len(x) :].mean()) / s.std(ddof=1))
            ps.append((_p_in_a_loop(s, len(x), rng), _counted_out(len(x), len(y))))
        return self._numbers(effects, ps)

    @torch.no_grad()
    def _vector(self, text: str) -> np.ndarray:
        encoded = self.standin.tokenizer(text, return_tensors="pt")
        vector: np.ndarray = self.standin.network.base_model(**encoded).last_hidden_state[0].mean(0).numpy()
        return vector / np.linalg.norm(vector)


def _counted_out(n_x: int, n_y: int) -> bool:
    return comb(n_x + n_y, n_x) <= PERMUTATIONS


def _mean_cosine(vector: np.ndarray, others: Sequence[np.ndarray]) -> float:
    cosines = [np.dot(vector, o) / np.sqrt(np.dot(vector, vector) * np.dot(o, o)) for o in others]
    return float(np.mean(cosines))


def _p_in_a_loop(s: np.ndarray, n_x: int, rng: np.random.Generator) -> float:
    """Equality counts, within the rounding of sums in another order."""
    least = s[:n_x].sum() - 1e-12 * np.abs(s).sum()
    if _counted_out(n_x, len(s) - n_x):
        sums = [s[list(members)].sum() for members in combinations(range(len(s)), n_x)]
        return sum(each >= least for each in sums) / len(sums)
    order, beyond = np.arange(len(s)), 1
    for _ in range(PERMUTATIONS - 1):
        rng.shuffle(order)
        beyond += s[order[:n_x]].sum() >= least
    return beyond / PERMUTATIONS

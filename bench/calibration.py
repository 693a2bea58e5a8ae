"""Is poor calibration why pseudo-likelihoods change sides from seed to seed? (Paper C, section 2.2.)

    trueprobe fetch wordnet
    trueprobe run crows_pairs --model nursery --model nursery-small --out runs/crows
    python bench/calibration.py runs/crows [RUN …] [--limit 3000]

Of each masked checkpoint of the runs: the expected calibration error of its masked head on WordNet's examples, which
the shipped families were not trained on, next to the share of items on which it contradicts the majority of its family.
One word per sentence is masked, drawn by the sentence alone, of those that are one piece. Confidence is the probability
of the likeliest token, right where that is the word. `by chance`: what the same confidences give if they are right as
often as they say, since with few words even that is not zero.
"""

from __future__ import annotations

import argparse
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from trueprobe import probes
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import Options, examine, find
from trueprobe.runs.folder import Run, load_run
from trueprobe.statistics.ranking import spearman
from trueprobe.training import corpus
from trueprobe.types import FillBlank, Filled, Word

BINS = 15
DRAWS = 400
WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Calibration:
    """Of one checkpoint, in shares."""

    n: int
    error: float
    by_chance: float
    most_by_chance: float  # in 39 of 40 cases less
    over_confidence: float  # mean confidence less accuracy
    accuracy: float

    @classmethod
    def of(cls, confidence: np.ndarray, right: np.ndarray, seed: int = 0) -> Calibration:
        """No bootstrap: resampled answers are further from their confidences than the answers themselves."""
        rng, n = np.random.default_rng(seed), len(right)
        honest = [expected_error(confidence, (rng.random(n) < confidence).astype(float)) for _ in range(DRAWS)]
        error, over = expected_error(confidence, right), float(confidence.mean() - right.mean())
        return cls(n, error, float(np.mean(honest)), float(np.quantile(honest, 0.975)), over, float(right.mean()))


def expected_error(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """Σ share of a bin · |its accuracy − its mean confidence|, with as many answers in each bin (Guo et al. 2017)."""
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, bins)
    return sum(abs(float(right[p].mean() - confidence[p].mean())) * len(p) for p in parts if len(p)) / len(right)


def blanks(sentences: Sequence[str]) -> Iterator[FillBlank]:
    """One lower-case word of each sentence, not its first."""
    for sentence in sentences:
        words = [match for match in WORD.finditer(sentence) if sentence[match.start() - 1 : match.start()] == " "]
        if words:
            word = words[zlib.crc32(sentence.encode()) % len(words)]
            left, right = sentence[: word.start()], sentence[word.end() :]
            yield FillBlank(left, right, words=(word.group(),), top=1)


def measured(spec: str, requests: Sequence[FillBlank]) -> Calibration:
    model = examine(find([spec])[0], Options()).open()
    confidence, right = [], []
    for request, answer in zip(requests, Engine(model, AnswerStore(":memory:")).answer(requests), strict=True):
        if isinstance(answer, Filled):
            word = answer.words[request.words[0]]
            if isinstance(word, Word) and len(word.pieces) == 1:
                confidence.append(np.exp(answer.top[0].logp))
                right.append(float(word.pieces[0].id == answer.top[0].id))
    return Calibration.of(np.array(confidence), np.array(right))


def against_majority(run: Run, label: str) -> pd.DataFrame:
    """One row per seed of a family of three or more: its share of items against the majority, and the family's share of
    items on which any seed is."""
    flips = probes.make(label, {"data": "sample"}).flips  # the same of all data
    assert flips is not None
    frame = run.observations(label)
    rows = []
    for family in dict.fromkeys(card.family for card in run.cards if "model_seed" in card.labels):
        cards = [card for card in run.cards if card.family == family]
        prefers = pd.concat(
            [frame[frame["model"] == c.name].set_index(["item", "part"])[flips.prefers] for c in cards], axis=1
        ).dropna()
        answers = prefers.to_numpy(dtype=float)
        share = answers.mean(axis=1, keepdims=True)
        against = (np.sign(answers - 0.5) != np.sign(share - 0.5)) & (share != 0.5)
        for i, card in enumerate(cards) if len(cards) >= 3 else ():
            rows.append((family, card.name, float(against[:, i].mean()), float(against.any(axis=1).mean())))
    return pd.DataFrame(rows, columns=["family", "model", f"{label}: against majority", f"{label}: any seed"])


def table(runs: Sequence[Run], limit: int) -> pd.DataFrame:
    text = corpus.locate("wordnet").read_text(encoding="utf-8").split("\n\n")
    sentences = [text[i].strip() for i in np.linspace(0, len(text) - 1, limit).astype(int)]
    requests = list(blanks(sentences))
    columns = [against_majority(run, label) for run in runs for label in run.probes]
    joined = columns[0]
    for more in columns[1:]:
        joined = joined.merge(more, on=["family", "model"])
    specs = [name.replace("-seed", "/") for name in joined["model"]]  # of shipped families
    found = [measured(spec, requests) for spec in specs]
    return joined.assign(**{name: [getattr(one, name) for one in found] for name in Calibration.__dataclass_fields__})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=3000, help="sentences")
    options = parser.parse_args()
    rows = table([load_run(path) for path in options.runs], options.limit)
    print(rows.to_string(float_format=lambda value: f"{value:.3f}"))
    for name in (name for name in rows if name.endswith("against majority")):
        within = [spearman(part["error"], part[name]) for _, part in rows.groupby("family")]
        print(f"{name}: rank correlation with the calibration error within families {np.round(within, 2)}")


if __name__ == "__main__":
    main()

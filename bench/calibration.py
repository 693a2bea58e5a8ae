"""Calibration of a masked head: is its likeliest word right as often as its probability says? (Paper C, section 2.2.)

Paper C suspects that poor calibration makes pseudo-likelihoods vary from seed to seed. As a probe, next to one with
pairwise answers, this file gives the table `flip_causes` that third cause; as a script it prints the table:

    trueprobe fetch wordnet
    trueprobe run crows_pairs bench/calibration.py --allow-code --model nursery --model nursery-small --out runs/crows
    python bench/calibration.py runs/crows

One word per sentence is masked, drawn by the sentence alone. The sentences, WordNet's examples, are none that the
shipped families were trained on. Confidence is the probability of the likeliest token, right where that is the word.
Positive `over_confidence`: it says more than it keeps. Not shown: calibration on the sentences of the other probe.
`by chance`: the error that the same confidences give if they are right as often as they say, since with few words even
that is not zero.
"""

from __future__ import annotations

import argparse
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from trueprobe import probes
from trueprobe.probes import Probe, Settings, Summary
from trueprobe.runs.folder import Run, load_run
from trueprobe.statistics.flips import CALIBRATION_ERROR
from trueprobe.statistics.means import means
from trueprobe.statistics.measure import WEIGHT, Columns, Measure, Weights, totals
from trueprobe.training import corpus
from trueprobe.types import Answer, Card, FillBlank, Filled, Item, Observation, Request, Unit, WhyNot, Word

BINS = 15
DRAWS = 400
WORD = re.compile(r"[a-z]+")
COLUMNS = {
    "confidence": "probability of the likeliest token at the blank",
    "right": "1 if that token is the word that stood there",
}


class CalibrationSettings(Settings):
    text: str = Field(default="wordnet", description="an asset or a file; paragraphs are taken for sentences")
    sentences: int = Field(default=3000, ge=1, description="how many of them, spread over the text")


class Calibration(Probe[CalibrationSettings]):
    name = "calibration"
    short = "is the likeliest word right as often as its probability says?"
    question = "Is a masked model's likeliest word for a blank right as often as its probability says?"
    does_not_show = "Whether it is calibrated on other sentences, or for less likely words."
    paper = "C, section 2.2; expected calibration error: Guo et al. 2017, with as many answers in each bin"
    Settings = CalibrationSettings
    factors = ("sentence",)

    def items(self) -> list[Item]:
        text = corpus.locate(self.settings.text).read_text(encoding="utf-8").split("\n\n")
        picked = np.linspace(0, len(text) - 1, min(self.settings.sentences, len(text))).astype(int)
        return [
            Item(str(i), f"{left}___{right}", conditions=self._text, groups=(str(i),), fields={"word": word})
            for i in picked
            for left, word, right in blanks([text[i].strip()])
        ]

    def ask(self, item: Item, card: Card) -> tuple[Request, ...] | WhyNot:
        if card.kind != "masked":
            return WhyNot("no_head", "calibration is that of a masked head")
        left, right = item.text.split("___")
        return (FillBlank(left, right, words=(item.fields["word"],), top=1),)

    def observe(self, item: Item, card: Card, answers: Sequence[Answer]) -> list[Observation]:
        (answer,) = answers
        assert isinstance(answer, Filled)
        word = answer.words[item.fields["word"]]
        if not isinstance(word, Word):
            return [Observation(item.id, why_not=word)]
        if len(word.pieces) > 1:
            return [Observation(item.id, why_not=WhyNot("multi_piece", item.fields["word"]))]
        top = answer.top[0]
        return [Observation(item.id, {"confidence": math.exp(top.logp), "right": float(word.pieces[0].id == top.id)})]

    def columns(self) -> Mapping[str, str]:
        return COLUMNS

    def measures(self) -> list[Measure]:
        both, at = ("confidence", "right"), self._text
        return [
            Measure(CALIBRATION_ERROR, expected_error, both, conditions=at, unit=Unit.SHARE),
            Measure("over_confidence", differences, both, conditions=at, unit=Unit.SCORE, neutral=0.0),
            self.headline,
        ]

    @property
    def headline(self) -> Measure:
        return Measure("accuracy", means, ("right",), conditions=self._text, unit=Unit.SHARE)

    @property
    def summary(self) -> Summary:
        titles = {CALIBRATION_ERROR: "calibration error", "over_confidence": "over-confidence", "accuracy": "accuracy"}
        return Summary(rows="text", row_title="text", measures=tuple(titles), where={}, titles=tuple(titles.values()))

    def planted(self, item: Item, request: Request, strength: float) -> dict[str, float]:
        return {item.fields["word"]: strength}

    @property
    def _text(self) -> dict[str, str]:
        return {"text": Path(self.settings.text).stem}


def blanks(sentences: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """One lower-case word of each sentence, not its first, and what stands before and behind it."""
    for sentence in sentences:
        words = [match for match in WORD.finditer(sentence) if sentence[match.start() - 1 : match.start()] == " "]
        if words and "___" not in sentence:
            word = words[zlib.crc32(sentence.encode()) % len(words)]
            yield sentence[: word.start()], word.group(), sentence[word.end() :]


def expected_error(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]: Σ share of a bin · |its accuracy − its mean confidence|, with as many answers in each bin."""
    errors = []
    for confidence, right in quantities:
        gap = columns.values[right] - columns.values[confidence]
        scored = np.flatnonzero(~np.isnan(gap))
        order = scored[np.argsort(columns.values[confidence][scored], kind="stable")]
        moments = np.zeros((BINS + 1, len(gap)))
        for moment, rows in zip(moments, np.array_split(order, BINS), strict=False):
            moment[rows] = gap[rows]
        moments[BINS, scored] = 1.0
        *gaps, n = totals(columns.cells, moments * columns.values.get(WEIGHT, 1.0), weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors.append(np.abs(gaps).sum(axis=0) / n)
    return np.stack(errors, axis=1)


def differences(columns: Columns, quantities: Sequence[tuple[str, ...]], weights: Weights) -> np.ndarray:
    """[R, quantities]: mean of the first column less that of the second."""
    first, second = (means(columns, [(pair[i],) for pair in quantities], weights) for i in (0, 1))
    return first - second


# ---------------------------------------------------------------- the table


def by_chance(confidence: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The mean error of answers that are right as often as they say, and what 39 of 40 stay below.

    No bootstrap: resampled answers are further from their confidences than the answers themselves."""
    rng, n = np.random.default_rng(seed), len(confidence)
    order = np.array_split(np.argsort(confidence, kind="stable"), BINS)
    gaps = ((rng.random(n) < confidence) - confidence for _ in range(DRAWS))
    errors = [sum(abs(gap[rows].sum()) for rows in order) / n for gap in gaps]
    return float(np.mean(errors)), float(np.quantile(errors, 0.975))


def table(run: Run) -> pd.DataFrame:
    """Of each masked checkpoint its error, and the shares of items on which it is against its family's majority."""
    scored = run.observations(Calibration.name).dropna(subset=["confidence"])
    rows = {}
    for name, seen in scored.groupby("model"):
        confidence, right = seen["confidence"].to_numpy(dtype=float), seen["right"].to_numpy(dtype=float)
        columns = Columns({"confidence": confidence, "right": right}, np.arange(len(seen)))
        error = float(expected_error(columns, [("confidence", "right")], np.ones((1, len(seen))))[0, 0])
        chance, most = by_chance(confidence)
        over = float(confidence.mean() - right.mean())
        rows[name] = {"n": len(seen), "error": error, "by_chance": chance, "most_by_chance": most, "over": over}
    found = pd.DataFrame.from_dict(rows, orient="index")
    for entry in run.study.probes:
        flips = probes.make_again(entry.model_dump(), allow_code=True).flips
        if flips is not None:
            against = against_majority(run, entry.label, flips.prefers)
            found.loc[against.index, f"{entry.label}: against majority"] = against
    return found


def against_majority(run: Run, label: str, column: str) -> pd.Series:
    """Of each seed of a family of three or more the share of items on which it is against the majority."""
    frame = run.observations(label)
    shares: dict[str, float] = {}
    for family in dict.fromkeys(card.family for card in run.cards if "model_seed" in card.labels):
        names = [card.name for card in run.cards if card.family == family]
        seen = frame[frame["model"].isin(names)]
        prefers = seen.pivot(index=["item", "part"], columns="model", values=column).dropna()
        share = prefers.mean(axis=1).to_numpy()[:, None]
        against = (np.sign(prefers - 0.5) != np.sign(share - 0.5)) & (share != 0.5)
        shares |= against.mean().to_dict() if len(names) > 2 else {}
    return pd.Series(shares, dtype=float)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    run = load_run(parser.parse_args().run)
    print(table(run).to_string(float_format=lambda value: f"{value:.3f}"))
    causes = run.table("flip_causes")
    print(causes[causes["statistic"] == "against_majority_by_calibration"].to_string(index=False))


PROBE = Calibration

if __name__ == "__main__":
    main()

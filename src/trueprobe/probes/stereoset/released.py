"""The authors' score of every sentence, and the request that asks a model for the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trueprobe.probes.base import ReleasedScore
from trueprobe.probes.stereoset import material
from trueprobe.types import Card, FillBlank, Item, Request, ScoreText, WhyNot

if TYPE_CHECKING:
    from trueprobe.probes.stereoset.probe import StereoSet


def scores(probe: StereoSet, path: Path, model: str, card: Card) -> Iterator[ReleasedScore]:
    """Without next sentences of causal models, whose head was never released."""
    for file in material.score_files(path):
        if material.model_name(file) == model:
            by_task = material.scores(file)
            for item in probe.items():
                by_id = by_task.get(str(item.conditions["task"]), material.NO_SCORES).by_id
                for name, text, request in _asked(probe, item, card):
                    if name in by_id:
                        yield ReleasedScore(name, text, request, by_id[name])


def _asked(probe: StereoSet, item: Item, card: Card) -> Iterator[tuple[str, str, Request]]:
    requests, cluster = probe.ask(item, card), item.fields["cluster"]
    within = item.conditions["task"] == "intrasentence"
    if isinstance(requests, WhyNot) or (isinstance(requests[0], ScoreText) and not within):
        return
    for number, sentence in enumerate(cluster.by_label):
        text = sentence.sentence if within else f"{cluster.context} {sentence.sentence}"
        request = requests[0] if isinstance(requests[0], FillBlank) else requests[number]
        if isinstance(request, FillBlank):
            request = replace(request, words=(material.word_in(cluster.context, sentence.sentence),))
        yield sentence.id, text, request

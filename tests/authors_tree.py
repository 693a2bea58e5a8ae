"""A repository of released outputs as its authors have it, with a made-up model under each of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from trueprobe import probes
from trueprobe.probes.distractors.released import CONDITIONS

HEADER = (
    "sentence\tdistance_from_beginning\tdistance_from_masked_token\ttarget_prob\tordered_items\ttarget_occupation\t"
    "count_attractors\trelative_prob\trelative_rank\n"
)
BASE = 0.4  # what their ratios divide by
LATER = "VaryingKeyEntity"
_FILE = "complete_data_For_MultipleEntityObjectDistractorAccuracy{}.csv"  # so called in single_entity folders too


LOOSE = ("BertBase", "BertLarge", "RobertaBase", "RobertaLarge", "GPT2Small", "GPT2Medium", "GPT2Large", "GPT2XL")
Share = Callable[[Mapping[str, Any]], float]  # of the items under these conditions


def clone(
    folder: Path, keeps: Mapping[str, float | Share], conditions: Sequence[str] = ("multiple_entity_object",)
) -> Path:
    """`keeps`: of each model, the share of items with attractors in which it still has the target first."""
    outputs = folder / "data" / "combined_data"
    for condition in conditions:
        for model, share in keeps.items():
            (outputs / condition / model).mkdir(parents=True)
            rows = "".join(_rows(condition, model, share if callable(share) else lambda _, share=share: share))
            (outputs / condition / model / _FILE.format(model)).write_text(HEADER + rows, encoding="utf-8")
    condition, first = conditions[0], next(iter(keeps))
    (outputs / condition / first / (".~lock." + _FILE.format("Any") + "#")).write_text("", encoding="utf-8")
    (outputs / condition / "ResultsWithLog.txt").write_text("R² 0.1", encoding="utf-8")
    for model in LOOSE:  # what their regression reads
        (outputs / condition / f"complete_data_{model}.csv").write_text(
            "correct\tlog_prob\n1\t-0.3\n", encoding="utf-8"
        )
    (outputs / LATER).mkdir(exist_ok=True)
    (outputs / LATER / "plot.py").write_text("", encoding="utf-8")
    (folder / "data" / "Varying_key_entity").mkdir()  # sentences alone
    sentences = "sentence\ttarget_occupation\n"
    (folder / "data" / "Varying_key_entity" / _FILE.format("RobertaBase")).write_text(sentences, encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_bytes(b"1")
    return folder


def _rows(condition: str, model: str, share: Share) -> Iterator[str]:
    """The probability is 0.32 at base and halves with each attractor: a ratio to BASE, not to what the file has."""
    position, setting, types = CONDITIONS[condition]
    probe, items = _asked(position)
    for item in items:
        at: Mapping[str, Any] = item.conditions
        if at["setting"] == setting and at["type"] in types:
            n, target = at["attractors"], item.fields["target"]
            words = [word for word in probe.candidates[at["set"]].words if word != target]
            right = n == 0 or sum(map(ord, item.id)) % 100 < 100 * share(at)
            order = [target, *words] if right else [*words, target]
            text = item.text.partition(" ___")[0] if "GPT" in model else item.text.replace("___", "[MASK]")
            p = 0.32 * 0.5**n
            yield f"{text}\t3\t7\t{p}\t{order}\t{target}\t{n}\t{round(p / BASE, 2)}\t{order.index(target) + 1}\n"


@cache
def _asked(position: str) -> tuple[Any, Any]:
    probe = probes.make("distractors", {"faithful": True, "position": position, "resample_seed": 7})  # theirs are drawn
    return probe, probe.items()

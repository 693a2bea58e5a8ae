"""A repository of released outputs as its authors have it, with a made-up model under each of their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
_FILE = "complete_data_For_MultipleEntityObjectDistractorAccuracy{}.csv"  # so called in single_entity folders too


def clone(folder: Path, keeps: Mapping[str, float], condition: str = "multiple_entity_object") -> Path:
    """`keeps`: of each model, the share of items with attractors in which it still has the target first."""
    outputs = folder / "data" / "combined_data"
    for model, share in keeps.items():
        (outputs / condition / model).mkdir(parents=True)
        rows = "".join(_rows(condition, model, share))
        (outputs / condition / model / _FILE.format(model)).write_text(HEADER + rows, encoding="utf-8")
    (outputs / condition / next(iter(keeps)) / (".~lock." + _FILE.format("Any") + "#")).write_text("", encoding="utf-8")
    (outputs / condition / "ResultsWithLog.txt").write_text("R² 0.1", encoding="utf-8")
    (outputs / "VaryingKeyEntity" / "BertBase").mkdir(parents=True)
    (outputs / "VaryingKeyEntity" / "plot.py").write_text("", encoding="utf-8")
    (outputs / "VaryingKeyEntity" / "BertBase" / _FILE.format("BertBase")).write_text(HEADER, encoding="utf-8")
    (folder / "data" / "Varying_key_entity").mkdir()
    (folder / "data" / "Varying_key_entity" / _FILE.format("RobertaBase")).write_text("sentence\n", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_bytes(b"1")
    return folder


def _rows(condition: str, model: str, share: float) -> Iterator[str]:
    """The probability is 0.32 at base and halves with each attractor: a ratio to BASE, not to what the file has."""
    position, setting, types = CONDITIONS[condition]
    probe, items = _asked(position)
    for item in items:
        at: Mapping[str, Any] = item.conditions
        if at["setting"] == setting and at["type"] in types:
            n, target = at["attractors"], item.fields["target"]
            words = [word for word in probe.candidates[at["set"]].words if word != target]
            right = n == 0 or sum(map(ord, item.id)) % 100 < 100 * share
            order = [target, *words] if right else [*words, target]
            text = item.text.partition(" ___")[0] if "GPT" in model else item.text.replace("___", "[MASK]")
            p = 0.32 * 0.5**n
            yield f"{text}\t3\t7\t{p}\t{order}\t{target}\t{n}\t{round(p / BASE, 2)}\t{order.index(target) + 1}\n"


@cache
def _asked(position: str) -> tuple[Any, Any]:
    probe = probes.make("distractors", {"faithful": True, "position": position})
    return probe, probe.items()

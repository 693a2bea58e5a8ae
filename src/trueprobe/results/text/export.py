"""The words of what a run exports: the section of a model card, and the table of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueprobe.results.text.verdicts import NO_MARK, NOTHING_TO_COUNT, controlled, key_texts

if TYPE_CHECKING:  # this module uses the words
    from trueprobe.results.view.number import Key

FINDINGS = "Findings"
FINDING = "finding"
CARD_HEADER = ("finding", "number, 95 % interval", "verdict")
CARD_TITLE = "Probed with trueprobe"
DOES_NOT_SHOW = "What these numbers do not show"
REPRODUCE = "How to reproduce"
STUDY_FILE = "study.toml"


def findings_caption(key: Key, n_primary: int) -> str:
    """What stands behind the numbers of the table."""
    legend = "; ".join([*key_texts(key), f"no mark: {NO_MARK}", f"–: {NOTHING_TO_COUNT}"])
    return f"Values with 95 % intervals. {controlled(n_primary)} {legend}."


def card_opening(model: str, n_seeds: int, n_primary: int) -> str:
    seeds = f"{n_seeds} seeds" if n_seeds > 1 else "one checkpoint: what another seed would give is not known"
    return f"{model}, {seeds}. {controlled(n_primary)}"


def reproduce_steps(version: str) -> list[str]:
    exact = f"=={version}" if version else ""
    return [f"pip install trueprobe{exact}", f"trueprobe run {STUDY_FILE}"]

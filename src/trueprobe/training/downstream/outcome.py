"""What the fine-tuned checkpoints' answers amount to: accuracies, their spread, and whether they can be compared."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trueprobe.errors import printable
from trueprobe.runs.downstream import (
    MARGINS,
    CheckpointAnswers,
    CheckpointIdentity,
    CheckpointOutcome,
    Comparison,
    DownstreamResult,
    FamilyOutcome,
    Majority,
    TaskOutcome,
    TextCounts,
)
from trueprobe.statistics.means import wilson
from trueprobe.statistics.rows import grouped
from trueprobe.training.downstream.tasks import TextTask

if TYPE_CHECKING:
    from rich.table import Table


def outcome(task: TextTask, models: Sequence[CheckpointIdentity], done: Sequence[CheckpointAnswers]) -> TaskOutcome:
    """The dev part's commonest label, a row per checkpoint, and a row per family and training step."""
    label, count = min(Counter(row.label for row in task.dev).items(), key=lambda pair: (-pair[1], pair[0]))
    majority = Majority(label=label, accuracy=count / len(task.dev))
    wanted = [task.labels.index(row.label) for row in task.dev]
    checkpoints = [_checkpoint(task, m, d, wanted, majority.accuracy) for m, d in zip(models, done, strict=True)]
    setups = grouped(range(len(checkpoints)), lambda i: (checkpoints[i].family, checkpoints[i].step))
    answers = np.array([one.answers for one in done])  # [checkpoints, texts]
    families = [_family([checkpoints[i] for i in at], answers[at], np.array(wanted)) for at in setups.values()]
    return TaskOutcome(majority=majority, checkpoints=tuple(checkpoints), families=tuple(families))


def _checkpoint(
    task: TextTask, model: CheckpointIdentity, done: CheckpointAnswers, wanted: list[int], majority: float
) -> CheckpointOutcome:
    right = sum(answer == label for answer, label in zip(done.answers, wanted, strict=True))
    low, high = wilson(right / len(wanted), len(wanted))
    return CheckpointOutcome(
        model=model.model,
        family=model.family,
        model_seed=model.model_seed,
        step=model.step,
        task=task.name,
        n_train=len(task.train),
        n_dev=len(wanted),
        n_right=right,
        accuracy=right / len(wanted),
        low=low,
        high=high,
        majority_accuracy=majority,
        beats_majority=low > majority,
        learning_rate=done.learning_rate,
        n_cut=done.n_cut,
    )


def _family(rows: list[CheckpointOutcome], answers: np.ndarray, wanted: np.ndarray) -> FamilyOutcome:
    """Mean and sample deviation over checkpoints of one setup; `error` is what the dev part's size leaves open."""
    several = len(rows) > 1
    accuracies = [row.accuracy for row in rows]
    return FamilyOutcome(
        family=rows[0].family,
        step=rows[0].step,
        n_checkpoints=len(rows),
        mean=statistics.fmean(accuracies),
        sd=statistics.stdev(accuracies) if several else None,
        lowest=min(accuracies),
        highest=max(accuracies),
        error=statistics.fmean((row.high - row.low) / 2 for row in rows),
        share_all_alike=float((answers == answers[0]).all(axis=0).mean()) if several else None,
        p_equal=cochran(answers == wanted) if several else None,
        not_learnt=tuple(row.model for row in rows if not row.beats_majority),
        shows=_comparison(rows),
        **(_equivalence(answers == wanted) if several else {}),
    )


def _equivalence(right: np.ndarray) -> dict[str, float]:
    """Of all pairs together: each must be within the margin, so that the largest p counts and none is corrected."""
    pairs = list(combinations(right, 2))
    within = {f"p_within_{100 * m:.0f}": max(p_within(a, b, m) for a, b in pairs) for m in MARGINS}
    accuracies = right.mean(axis=1)
    return {"largest_difference": float(accuracies.max() - accuracies.min()), **within}


def p_within(first: np.ndarray, second: np.ndarray, margin: float) -> float:
    """Two one-sided tests on two checkpoints' right answers to the same texts: the p-value of a difference of
    accuracies that is at least `margin` one way or the other. Small where they are equally good within the margin."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return max(
        _p_less(only_first, only_second, len(first), margin), _p_less(only_second, only_first, len(first), margin)
    )


def _p_less(b: int, c: int, n: int, margin: float) -> float:
    """Tango's score test (1998) that (b − c) / n is less than the margin. Its variance is that of the likeliest
    answers with just this margin, so that no text which parts the two is no proof either."""
    from scipy.special import ndtr  # type: ignore[import-untyped]

    half = -b - c + (2 * n - b + c) * margin
    only_second = (np.sqrt(half**2 + 8 * n * c * margin * (1 - margin)) - half) / (4 * n)
    return float(ndtr((b - c - n * margin) / np.sqrt(n * (2 * only_second + margin * (1 - margin)))))


def _within(row: FamilyOutcome) -> str:
    apart = f"two differ by {100 * (row.largest_difference or 0.0):.1f} points at most"
    ps = f"two one-sided tests: p = {row.p_within_1:.2g} at 1 point, {row.p_within_2:.2g} at 2"
    if row.margin is None:
        return f"{apart}; not shown to be equally good within 2 points ({ps})"
    return f"{apart}; equally good within {100 * row.margin:.0f} point{'s' if row.margin > 0.01 else ''} ({ps})"


def _comparison(rows: list[CheckpointOutcome]) -> Comparison:
    if not all(row.beats_majority for row in rows):
        return Comparison.NOTHING
    return Comparison.POSSIBLE if len(rows) > 1 else Comparison.ONE_CHECKPOINT


def cochran(right: np.ndarray) -> float:
    """Cochran's Q (1950) on right[checkpoints, texts]: how often equally good checkpoints would differ at least this
    much over other texts. 1 where no text parts them."""
    from scipy.stats import chi2  # type: ignore[import-untyped]

    k, by_checkpoint, by_text = len(right), right.sum(axis=1), right.sum(axis=0)
    room = k * by_text.sum() - (by_text**2).sum()
    if not room:
        return 1.0
    q = (k - 1) * (k * (by_checkpoint**2).sum() - by_checkpoint.sum() ** 2) / room
    return float(chi2.sf(q, k - 1))


def show(folder: Path, result: DownstreamResult) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_table(result))
    for line in (*_lines(result), f"folder: {folder}"):
        console.print(printable(line), markup=False, soft_wrap=True)


def _table(result: DownstreamResult) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for column in ("checkpoint", "dev accuracy", "95 % interval", "right"):
        table.add_column(column, justify="left" if column == "checkpoint" else "right", no_wrap=True)
    for row in result.checkpoints:
        right = f"{row.n_right:,} of {row.n_dev:,}"
        table.add_row(escape(printable(row.model)), f"{row.accuracy:.1%}", f"{row.low:.1%} to {row.high:.1%}", right)
    if result.majority:
        table.add_row(escape(printable(f"always '{result.majority.label}'")), f"{result.majority.accuracy:.1%}", "", "")
    return table


def _lines(result: DownstreamResult) -> Iterator[str]:
    """What is printed below the table."""
    yield from _data_lines(result.data)
    for row in result.families:
        yield from _family_lines(row)
    trained = sorted({model.family for model in result.models if model.self_trained})
    if trained:
        yield f"self-trained by trueprobe pretrain: {', '.join(trained)}"


def _data_lines(data: TextCounts) -> Iterator[str]:
    limited = f" of {data.train_of:,}" if data.train < data.train_of else ""
    yield f"trained on {data.train:,}{limited} texts, judged on {data.dev:,} ({data.split})"
    if data.set_aside:
        yield f"{data.set_aside:,} texts without a clear label are set aside"
    if data.dev_also_in_train:
        yield f"{data.dev_also_in_train:,} dev texts are in the training part, too: accuracies flatter"


def _family_lines(row: FamilyOutcome) -> Iterator[str]:
    name = row.family + (f" at step {row.step}" if row.step is not None else "")
    if row.sd is not None:
        yield (
            f"{name}: mean {row.mean:.1%}, sample deviation {100 * row.sd:.1f} points over "
            f"{row.n_checkpoints} checkpoints ({row.lowest:.1%} to {row.highest:.1%}); "
            f"one accuracy is known to ±{100 * row.error:.1f}"
        )
    match row.shows:
        case Comparison.POSSIBLE:
            yield (
                f"{name}: all equally good? p = {row.p_equal:.2g} (Cochran's Q); "
                f"{row.share_all_alike:.1%} of the texts get the same answer from all"
            )
            yield f"{name}: {_within(row)}"
        case Comparison.NOTHING:
            yield (
                f"{name}: the comparison shows nothing: not above the commonest label by more than their error: "
                + ", ".join(row.not_learnt)
            )
        case Comparison.ONE_CHECKPOINT:
            yield f"{name}: one checkpoint: how far others of its setup would differ is unknown"

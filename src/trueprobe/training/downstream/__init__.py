"""Do checkpoints of one setup do the same job equally well? Each is fine-tuned alike and judged on the dev part.

Paper C's table 2: checkpoints whose diagnostics differ may still be equal downstream. Equal accuracies mean something
only where a task was learnt, so the commonest dev label is reported next to them. A small deviation does not show that
the checkpoints give the same answers, and proves nothing about other tasks.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from trueprobe.errors import BadInput, reading
from trueprobe.models import find, preflight
from trueprobe.models.checkpoint import Options, Source, device, fingerprint, weight_files
from trueprobe.paths import ANOTHER_OUT, locked, write_csv, write_text
from trueprobe.runs.downstream import (
    CheckpointAnswers,
    CheckpointIdentity,
    CheckpointOutcome,
    DownstreamResult,
    FineTuning,
    TextColumns,
    TextCounts,
    as_json,
)
from trueprobe.runs.folder import load_run, parsed
from trueprobe.training.downstream import outcome
from trueprobe.training.downstream.tasks import TaskColumns, TextTask, named_columns, read_task
from trueprobe.training.downstream.tuning import DownstreamRecipe, SharedByCheckpoints, Tuner
from trueprobe.training.recipe import versions
from trueprobe.types import NoProgress, Progress

__all__ = ["DownstreamRecipe", "TaskColumns", "downstream", "named_columns", "outcome"]

FILE = "downstream.json"
SMALL_BYTES = 50_000_000


def downstream(
    recipe: DownstreamRecipe, progress: Progress | None = None, allow_pickle: bool = False
) -> tuple[Path, DownstreamResult]:
    """Fine-tunes what is not fine-tuned yet; the folder, and the content of its downstream.json."""
    options = Options(recipe.device, allow_pickle=allow_pickle)
    task = read_task(recipe.task, recipe.data, recipe.columns, recipe.limit)
    sources = find(recipe.models, options)
    setup = _setup(recipe, task, sources, options)
    out = recipe.out or _folder(recipe.into, f"{task.name}-{sources[0].family or sources[0].name}", setup.models)
    setup = setup.model_copy(update={"threads": _threads_before(out, setup)})
    with locked(out, "fine-tuning", "" if recipe.into else ANOTHER_OUT):
        write_text(out / FILE, as_json(setup, indent=1))
        done = _fine_tune_all(out, Tuner(task, recipe, options, setup.threads), sources, progress or NoProgress())
        answered = outcome.outcome(task, setup.models, done)
        result = DownstreamResult(**{**dict(setup), **dict(answered), "complete": True})
        rows = (row.model_dump() for row in result.checkpoints)
        write_csv(out / "downstream.csv", list(CheckpointOutcome.model_fields), rows)
        write_text(out / FILE, as_json(result, indent=1))
    return out, result


def _folder(run: Path | None, name: str, models: Sequence[CheckpointIdentity]) -> Path:
    """Where it is written without --out; in a run folder only next to the same checkpoints' answers."""
    if run is None:
        return Path("runs") / f"downstream-{name}"
    asked = {card.name: card.compute_id for card in load_run(run).cards}
    for model in models:
        if asked.get(model.model) != model.compute_id:
            why = "has other weights, or another dtype, there" if model.model in asked else "is not among its models"
            raise BadInput(f"{model.model} {why}: {run} holds {', '.join(asked) or 'no finished run'}")
    return run / "downstream" / name


def _setup(recipe: DownstreamRecipe, task: TextTask, sources: Sequence[Source], options: Options) -> FineTuning:
    return FineTuning(
        complete=False,
        task=task.name,
        columns=TextColumns(**asdict(recipe.columns)) if recipe.columns else None,
        data=_counts(task),
        settings=recipe.part(SharedByCheckpoints),
        threads=recipe.threads or _threads(sources),
        device=device(options),
        versions=versions(),
        models=tuple(_identity(source, options) for source in sources),
    )


def _counts(task: TextTask) -> TextCounts:
    return TextCounts(
        files=task.files,
        split=task.split,
        labels=task.labels,
        train=len(task.train),
        train_of=task.train_of,
        dev=len(task.dev),
        set_aside=task.set_aside,
        dev_also_in_train=task.dev_in_train,
    )


def _threads(sources: Sequence[Source]) -> int:
    """All cores; one where every network is so small that threads would wait for each other most of the time."""
    largest = max(sum(file.stat().st_size for file in weight_files(source)) for source in sources)
    return 1 if largest < SMALL_BYTES else os.cpu_count() or 1


def _identity(source: Source, options: Options) -> CheckpointIdentity:
    _, config = preflight(source, options)
    return CheckpointIdentity(
        model=source.name,
        family=source.family or source.name,
        model_seed=source.labels.get("model_seed"),
        step=source.labels.get("step"),
        source=source.title,
        compute_id=fingerprint(source, config, options),
        self_trained=getattr(config, "trained_by", "") == "trueprobe pretrain",
    )


def _threads_before(out: Path, setup: FineTuning) -> int:
    """The number of threads the folder was begun with, else the setup's; a folder of another setup is refused."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file; name a folder")
    if not (out / FILE).exists():
        if out.exists() and any(path.name != ".lock" for path in out.iterdir()):
            raise BadInput(f"{out} is not empty and holds no {FILE}; {ANOTHER_OUT}")
        return setup.threads
    try:
        before = parsed(out / FILE, DownstreamResult)
    except BadInput as error:
        raise BadInput(f"{error}; {ANOTHER_OUT}") from error
    changed = setup.changed_since(before)
    if changed:
        raise BadInput(f"{out} holds a different fine-tuning (different {', '.join(changed)}); {ANOTHER_OUT}")
    return before.threads


def _fine_tune_all(out: Path, tuner: Tuner, sources: Sequence[Source], progress: Progress) -> list[CheckpointAnswers]:
    """One file per checkpoint, written when it is done; times go to a file apart."""
    files = [out / "checkpoints" / f"{source.name}.json" for source in sources]
    missing = [pair for pair in zip(sources, files, strict=True) if not pair[1].exists()]
    texts = tuner.recipe.epochs * len(tuner.task.train) * len(missing)
    if missing:
        with progress.task(f"fine-tuning on {tuner.task.name}", texts, "texts") as bar:
            for source, file in missing:
                began = time.monotonic()
                write_text(file, as_json(tuner.run(source, bar.advance)))
                _save_time(out / "timing.json", source.name, time.monotonic() - began)
    return [parsed(file, CheckpointAnswers) for file in files]


def _save_time(file: Path, name: str, seconds: float) -> None:
    with reading(f"{file} is damaged"):
        times = dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}
    write_text(file, json.dumps({**times, name: {"seconds": round(seconds, 1)}}, indent=1) + "\n")

"""Do checkpoints of one setup do the same job equally well? Each is fine-tuned alike and judged on the dev part.

Paper C's table 2: checkpoints whose diagnostics differ may still be equal downstream. Equal accuracies mean something
only where a task was learnt, so the commonest dev label stands beside them. A small deviation does not show that the
checkpoints give the same answers, and says nothing about other tasks.
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput
from trueprobe.models import Options, Source, find, preflight
from trueprobe.models.checkpoint import device, fingerprint, weight_files
from trueprobe.paths import locked, write_text, write_whole
from trueprobe.runs.folder import load_run
from trueprobe.training.downstream import outcome
from trueprobe.training.downstream.tasks import Columns, Task, named_columns, read_task
from trueprobe.training.downstream.tuning import Tuner, Tuning

__all__ = ["Columns", "Order", "Tuning", "downstream", "named_columns", "outcome"]

FILE = "downstream.json"
SMALL_BYTES = 50_000_000


@dataclass(frozen=True)
class Order:
    """What is to be fine-tuned on what."""

    models: Sequence[str]
    task: str = ""
    data: Path | None = None
    columns: Columns | None = None
    limit: int | None = None  # texts to train on
    tuning: Tuning = field(default_factory=Tuning)
    options: Options = field(default_factory=Options)
    threads: int | None = None  # by the size of the networks
    out: Path | None = None
    into: Path | None = None  # a run folder, whose report then has the table

    @classmethod
    def of(cls, flags: Mapping[str, Any]) -> Order:
        """From the command line's flags by their names."""
        return cls(
            models=flags["model"],
            columns=named_columns(flags["text_column"], flags["label_column"]),
            tuning=Tuning(**{name: flags[name] for name in Tuning.__dataclass_fields__ if name in flags}),
            options=Options(flags["device"], allow_pickle=flags["allow_pickle"]),
            **{name: flags[name] for name in ("task", "data", "limit", "threads", "out", "into")},
        )

    def check(self) -> None:
        if not self.models:
            raise BadInput("no model given: --model nursery, or a family of your own: --model 'mine=ckpt/seed_*'")
        if self.out and self.into:
            raise BadInput("--out or --into: the first is a folder of its own, the second puts it into a run folder")
        least = {"epochs": 1, "batch_tokens": 16, "longest": 8, "order_seed": 0, "head_seed": 0}
        for name, value in least.items():
            if getattr(self.tuning, name) < value:
                raise BadInput(f"--{name.replace('_', '-')} is at least {value}, not {getattr(self.tuning, name)}")
        rate = self.tuning.learning_rate
        if rate is not None and not 0 < rate <= 1:
            raise BadInput(f"--learning-rate is above 0 and at most 1, not {rate:g}")


def downstream(order: Order, progress: Any) -> dict[str, Any]:
    """Fine-tunes what is not fine-tuned yet; what stands in downstream.json, and the folder. Shown by `progress`."""
    order.check()
    task = read_task(order.task, order.data, order.columns, order.limit)
    sources = find(order.models, order.options)
    setup = _setup(order, task, sources)
    out = order.out or _place(order.into, f"{task.name}-{sources[0].family or sources[0].name}", setup["models"])
    setup["threads"] = _held(out, setup).get("threads", setup["threads"])
    with locked(out, "fine-tuning"):
        _write(out, {"complete": False, **setup})
        done = _fine_tune_all(out, order, task, sources, setup, progress)
        found = {"complete": True, **setup, **outcome.outcome(task, setup["models"], done)}
        write_whole(out / "downstream.csv", lambda path: _write_csv(path, found["checkpoints"]))
        _write(out, found)
    return {"folder": str(out), **found}


def _place(run: Path | None, name: str, models: Sequence[dict[str, Any]]) -> Path:
    """Where it is kept without --out; in a run folder only beside the same checkpoints' answers."""
    if run is None:
        return Path("runs") / f"downstream-{name}"
    asked = {card["name"]: card["compute_id"] for card in load_run(run).manifest.get("cards", ())}
    for model in models:
        if asked.get(model["model"]) != model["compute_id"]:
            why = "has other weights, or another dtype, there" if model["model"] in asked else "is not among its models"
            raise BadInput(f"{model['model']} {why}: {run} holds {', '.join(asked) or 'no finished run'}")
    return run / "downstream" / name


def _write(out: Path, content: dict[str, Any]) -> None:
    write_text(out / FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _setup(order: Order, task: Task, sources: Sequence[Source]) -> dict[str, Any]:
    """All that decides the numbers; as JSON has it, so that it can be held against the one on disk."""
    import tokenizers
    import torch
    import transformers

    said = {
        "task": task.name,
        "columns": asdict(order.columns) if order.columns else None,
        "data": {
            "files": task.files,
            "split": task.split,
            "labels": task.labels,
            "train": len(task.train),
            "train_of": task.train_of,
            "dev": len(task.dev),
            "set_aside": task.set_aside,
            "dev_also_in_train": task.seen_before,
        },
        "settings": asdict(order.tuning),
        "threads": order.threads or _threads(sources),
        "device": device(order.options),
        "versions": {library.__name__: library.__version__ for library in (torch, transformers, tokenizers)},
        "models": [_known(source, order.options) for source in sources],
    }
    return json.loads(json.dumps(said))


def _threads(sources: Sequence[Source]) -> int:
    """All cores; one where every network is so small that threads would wait for each other most of the time."""
    largest = max(sum(file.stat().st_size for file in weight_files(source)) for source in sources)
    return 1 if largest < SMALL_BYTES else os.cpu_count() or 1


def _known(source: Source, options: Options) -> dict[str, Any]:
    _, config = preflight(source, options)
    return {
        "model": source.name,
        "family": source.family or source.name,
        "model_seed": source.labels.get("model_seed"),
        "step": source.labels.get("step"),
        "source": source.title,
        "compute_id": fingerprint(source, config, options),
        "self_trained": getattr(config, "trained_by", "") == "trueprobe pretrain",
    }


def _held(out: Path, setup: dict[str, Any]) -> dict[str, Any]:
    """The setup the folder holds, if any; another one is refused. Threads stay those it was begun with."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file; name a folder")
    if not (out / FILE).exists():
        if out.exists() and any(path.name != ".lock" for path in out.iterdir()):
            raise BadInput(f"{out} is not empty and holds no {FILE}; name another --out")
        return {}
    try:
        held = json.loads((out / FILE).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise BadInput(f"{out / FILE} is damaged ({error}); name another --out") from error
    changed = [key for key in setup if key != "threads" and held.get(key) != setup[key]]
    if changed:
        raise BadInput(f"{out} holds another fine-tuning (other {', '.join(changed)}); name another --out")
    return held


def _fine_tune_all(
    out: Path, order: Order, task: Task, sources: Sequence[Source], setup: dict[str, Any], progress: Any
) -> list[dict[str, Any]]:
    """One file per checkpoint, written when it is done; times go to a file of their own."""
    files = [out / "checkpoints" / f"{source.name}.json" for source in sources]
    rows = order.tuning.epochs * len(task.train)  # of one checkpoint
    missing = [pair for pair in zip(sources, files, strict=True) if not pair[1].exists()]
    if missing:
        with progress.task(f"fine-tuning on {task.name}", rows * len(missing), "texts") as bar:
            tuner = Tuner(task, order.tuning, order.options, setup["threads"])
            for source, file in missing:
                began = time.monotonic()
                found = tuner.run(source, bar.advance)
                write_text(file, json.dumps(found) + "\n")
                _keep_time(out / "timing.json", source.name, time.monotonic() - began)
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def _keep_time(file: Path, name: str, seconds: float) -> None:
    held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    write_text(file, json.dumps({**held, name: {"seconds": round(seconds, 1)}}, indent=1) + "\n")

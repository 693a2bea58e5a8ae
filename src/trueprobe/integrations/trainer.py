"""`trueprobe.ProbeCallback`: probes during a training with transformers' Trainer, on the model in memory.

Every `every` steps a run of its own is written to `out/step-N`, and its findings go through `Trainer.log`, so that
whatever `report_to` names gets them. At the end `out/curve` holds all steps as one family. One process measures, the
others wait at their next exchange. No measurement changes the training: weights are shared and not written to, and the
state of random numbers is put back.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback

from trueprobe.engine import AnswerStore, library_versions
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Outline, Unopened
from trueprobe.models.memory import InMemory, in_memory
from trueprobe.results.render.json import flat
from trueprobe.results.view import Report
from trueprobe.runs import Run, load_run
from trueprobe.runs.cache import ResultCache
from trueprobe.runs.execute import execute
from trueprobe.runs.plan import RunPlan, plan_in_memory
from trueprobe.runs.session import Session
from trueprobe.runs.writing import RunFolder
from trueprobe.types import Task

_log = logging.getLogger(__name__)
_FILES = "model"  # config and tokenizer
_CACHE = "observations.sqlite"  # of all steps, so that the curve asks no model
CURVE = "curve"


class _TooLate(Exception):
    """A measurement that takes longer than it may."""


@dataclass(frozen=True)
class _Deadline:
    """A `Progress` that ends the work: the engine reports to it after every batch."""

    until: float

    def task(self, title: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Task]:
        return nullcontext(self)

    def advance(self, amount: int = 1, note: str = "") -> None:
        if time.monotonic() > self.until:
            raise _TooLate

    def reach(self, amount: int, total: int | None = None, note: str = "") -> None:
        self.advance()


class ProbeCallback(TrainerCallback):  # type: ignore[misc]
    """Measures while a model trains: `Trainer(…, callbacks=[ProbeCallback(probes=["counteracts"], every=500)])`.

    `probes`: names or .py files; `settings` are theirs. `limit`: items of each. `seconds`: a measurement that takes
    longer is left out, with a warning. `out`: the folder; a resumed training goes on in it. `name`: of the family."""

    def __init__(
        self,
        probes: str | Sequence[str],
        every: int = 500,
        out: str | Path = "probes",
        *,
        name: str = "training",
        limit: int | None = 200,
        seconds: float = 120,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if every < 1 or seconds <= 0:
            raise BadInput("every and seconds are more than 0")
        self.every, self.out, self.name, self.seconds = every, Path(out), name, seconds
        self.plan: RunPlan = plan_in_memory(probes, name, settings, limit=limit)
        self._last = -1  # the step that was measured last

    # ------------------------------------------------------------ what the Trainer calls

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        steps = self._steps()
        if steps and state.global_step == 0:
            raise BadInput(f"{self.out} holds measurements of another training; name another folder: out=…")
        for step in steps:
            if step > state.global_step:  # of a training that was cut off behind its last checkpoint
                shutil.rmtree(self._folder(step))
        tokenizer = kwargs.get("processing_class") or kwargs.get("tokenizer")
        if tokenizer is None:
            raise BadInput("the Trainer has no tokenizer: Trainer(processing_class=tokenizer, …)")
        files = self.out / _FILES
        files.mkdir(parents=True, exist_ok=True)
        kwargs["model"].config.save_pretrained(files)
        tokenizer.save_pretrained(files)
        in_memory(kwargs["model"], files, self.name, {})  # refuses now what cannot be measured later

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % self.every == 0:
            self._measure(state, kwargs["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        if self._last != state.global_step:
            self._measure(state, kwargs["model"])
        self.write_curve()

    # ------------------------------------------------------------ measuring

    def _measure(self, state: Any, model: Any) -> None:
        """A failed measurement costs a point of the curve, never the training."""
        if not state.is_world_process_zero:
            return
        step, self._last = state.global_step, state.global_step
        shutil.rmtree(self._folder(step), ignore_errors=True)
        try:
            with torch.random.fork_rng(devices=_devices(model)):
                one = in_memory(model, self.out / _FILES, self.name, {"step": step})
                run = self._run([one], self._folder(step), self.seconds)
        except (BadInput, FailedRun, _TooLate, RuntimeError, OSError) as error:
            shutil.rmtree(self._folder(step), ignore_errors=True)
            why = f"took more than {self.seconds:g} s; lower limit" if isinstance(error, _TooLate) else str(error)
            _log.warning("trueprobe: step %d was not measured: %s", step, why)
            return
        _publish(state, {f"trueprobe/{name}": value for name, value in flat(Report.of(run)).items()})

    def write_curve(self) -> Run | None:
        """All measured steps as one run, in `out/curve`: no model is asked again."""
        cards = [card for step in self._steps() for card in load_run(self._folder(step)).cards]
        if not cards:
            return None
        from trueprobe.models.checkpoint import Source, read_tokenizer
        from trueprobe.models.text import Text

        text = Text(read_tokenizer(Source(self.name, self.name, self.out / _FILES)))
        shutil.rmtree(self.out / CURVE, ignore_errors=True)
        past = [InMemory(Outline(card, lambda: text.whole_words, 0)) for card in cards]
        return self._run(past, self.out / CURVE, float("inf"))

    def _run(self, models: Sequence[Unopened], folder: Path, seconds: float) -> Run:
        progress = _Deadline(time.monotonic() + seconds)
        with (
            closing(AnswerStore(":memory:", library_versions())) as answers,
            closing(AnswerStore(self.out / _CACHE, library_versions())) as results,
        ):
            session = Session(answers, progress)
            session.cache = ResultCache(results)
            return execute(self.plan, models, RunFolder(folder, self.plan.description), session)

    def _folder(self, step: int) -> Path:
        return self.out / f"step-{step}"

    def _steps(self) -> list[int]:
        """That were measured to the end."""
        names = (path.parent.name.removeprefix("step-") for path in self.out.glob("step-*/manifest.json"))
        steps = sorted(int(name) for name in names if name.isdigit())
        return [step for step in steps if load_run(self._folder(step)).complete]


def _devices(model: Any) -> list[Any]:
    device = next(model.parameters()).device
    return [device] if device.type == "cuda" else []


def _publish(state: Any, findings: Mapping[str, float]) -> None:
    """Through `Trainer.log`; a callback is given the state of its Trainer, not the Trainer."""
    frame: Any = sys._getframe()
    while frame is not None:
        one = frame.f_locals.get("self")
        if isinstance(one, Trainer) and one.state is state:
            one.log(dict(findings))
            return
        frame = frame.f_back
    state.log_history.append({**findings, "step": state.global_step})

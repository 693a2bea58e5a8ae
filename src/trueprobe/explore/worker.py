"""One thread that asks all models: questions wait in turn, and a newer one cancels an older one of the same kind.

A job is an iterator of parts. Between two parts, a more urgent job goes first: a question typed now does not wait for
a chart that was asked for before it.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from trueprobe.errors import BadInput, FailedRun

Part = dict[str, Any]
END: Part = {"end": True}
REPLACED: Part = {"replaced": True}  # a newer question took its place


@dataclass(eq=False)
class QueuedQuestion:
    key: str  # a newer job of the same key takes its place
    urgency: int  # 0 goes first
    number: int
    parts: Iterator[Part]
    send: Callable[[Part], None]
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        self.cancelled.set()


class Worker:
    """`close` is called in the thread when it ends, where what it opened can be closed."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._close, self._numbers = close, count()
        self._jobs: list[QueuedQuestion] = []
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="explore", daemon=True)
        self._thread.start()

    def submit(self, key: str, urgency: int, parts: Iterator[Part], send: Callable[[Part], None]) -> QueuedQuestion:
        with self._changed:
            for older in self._jobs:
                if older.key == key:
                    older.cancel()
            job = QueuedQuestion(key, urgency, next(self._numbers), parts, send)
            self._jobs.append(job)
            self._changed.notify()
        return job

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            part = REPLACED if job.cancelled.is_set() else _part(job)
            if part in (END, REPLACED) or "error" in part:
                with self._changed:
                    self._jobs.remove(job)
            job.send(part)
        self._close()

    def _next(self) -> QueuedQuestion | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._stopped)
            if self._stopped:
                return None
            return min(self._jobs, key=lambda job: (not job.cancelled.is_set(), job.urgency, job.number))


def _part(job: QueuedQuestion) -> Part:
    try:
        return next(job.parts, END)
    except (BadInput, FailedRun) as error:
        return {"error": str(error)}
    except Exception as error:  # one question that fails must not end the thread
        traceback.print_exc()
        return {"error": f"this question failed: {type(error).__name__}: {error}"}

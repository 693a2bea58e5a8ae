"""The application: fixed files of the page, and the questions it sends. No path of the machine is ever looked up.

One thread asks all models: questions wait in turn, and a newer one cancels an older one of the same kind. A job is an
iterator of parts. Between two parts, a more urgent job goes first: a question typed now does not wait for a chart that
was asked for before it.
"""

from __future__ import annotations

import asyncio
import json
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from itertools import count
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from trueprobe import __version__
from trueprobe.errors import BadInput, FailedRun
from trueprobe.explore import asking
from trueprobe.explore.asking import Engines
from trueprobe.explore.browsing import Browsing
from trueprobe.explore.guard import (
    BlankQuestion,
    ItemsWanted,
    ItemWanted,
    Sent,
    SuggestionWanted,
    TooLarge,
    TwoSentences,
    read,
)
from trueprobe.probes import suggestions
from trueprobe.results.render.page import style

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


class AskingThread:
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


# ---------------------------------------------------------------- the thread that asks


TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
CLIENT = "x-client"  # one open page: its newer questions cancel its older ones
URGENT, LATER = 0, 1


@dataclass
class Explorer:
    """What the page can ask for."""

    engines: Engines
    worker: AskingThread
    browsing: Browsing | None = None

    @cached_property
    def files(self) -> dict[str, tuple[str, bytes]]:
        """Read once: a request names one of these, or nothing."""
        folder = resources.files("trueprobe.explore") / "static"
        read = {file.name: file.read_bytes() for file in folder.iterdir() if file.name[0] != "."}
        typed = {name: (TYPES["." + name.rpartition(".")[2]], content) for name, content in read.items()}
        return {**typed, "report.css": (TYPES[".css"], style().encode())}

    def start(self) -> Part:
        selected = self.engines.selected
        return {
            "version": __version__,
            "families": [
                {
                    "name": family.name,
                    "kind": family.cards[0].kind,
                    "spec": selected.specs.get(family.checkpoints[0].name, family.name),
                    "checkpoints": [
                        {"name": card.name, "seed": card.labels.get("model_seed")} for card in family.checkpoints
                    ],
                    "self_trained": family.cards[0].self_trained,
                }
                for family in selected.families
            ],
            "run": self.browsing is not None,
            **suggestions.menu(),
        }

    @property
    def browsed(self) -> Browsing:
        if self.browsing is None:
            raise BadInput("no run to browse; start with --run DIR")
        return self.browsing


def application(explorer: Explorer) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        explorer.worker.stop()

    routes = [
        Route("/", lambda request: _file(explorer, "index.html")),
        Route("/{name:str}", lambda request: _file(explorer, request.path_params["name"])),
        Route("/api/start", _answering(explorer.start)),
        Route("/api/ask", _streaming(explorer, BlankQuestion, asking.fill), methods=["POST"]),
        Route("/api/compare", _streaming(explorer, TwoSentences, asking.compare), methods=["POST"]),
        Route("/api/suggest", _answering(_suggested, SuggestionWanted), methods=["POST"]),
        Route("/api/run", _answering(lambda: explorer.browsed.findings())),
        Route("/api/items", _answering(lambda wanted: explorer.browsed.items(wanted), ItemsWanted), methods=["POST"]),
        Route("/api/item", _answering(lambda wanted: explorer.browsed.question(wanted), ItemWanted), methods=["POST"]),
    ]
    refusals: Any = {
        BadInput: _refused,
        FailedRun: _refused,
        TooLarge: _too_large,
        HTTPException: _http,
        ClientDisconnect: _gone,
    }
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=refusals)


def _suggested(wanted: SuggestionWanted) -> Part:
    return suggestions.suggest(suggestions.Wanted(**wanted.model_dump()))


def _file(explorer: Explorer, name: str) -> Response:
    if name not in explorer.files:
        raise HTTPException(404)
    kind, content = explorer.files[name]
    return Response(content, media_type=kind)


def _answering(answer: Callable[..., Part], kind: type[Sent] | None = None) -> Callable[[Request], Any]:
    """Tables are read in another thread than the one that serves."""

    async def endpoint(request: Request) -> Response:
        asked = () if kind is None else (read(await request.body(), kind),)
        return JSONResponse(await run_in_threadpool(answer, *asked))

    return endpoint


def _streaming(
    explorer: Explorer, kind: type[Any], parts: Callable[[Any, Engines], Iterator[Part]]
) -> Callable[[Request], Any]:
    """Lines of JSON, one for each checkpoint; they end when the page goes away or asks again."""

    async def endpoint(request: Request) -> Response:
        asked = read(await request.body(), kind)
        client, channel = request.headers.get(CLIENT, "")[:40], request.query_params.get("channel", "")[:20]
        urgency = LATER if channel else URGENT
        lines: asyncio.Queue[Part] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def send(part: Part) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(lines.put_nowait, part)

        job = explorer.worker.submit(f"{client} {channel}", urgency, parts(asked, explorer.engines), send)

        async def streamed() -> AsyncIterator[bytes]:
            try:
                while (part := await lines.get()) not in (END, REPLACED):
                    yield json.dumps(part, allow_nan=False).encode() + b"\n"
                    if "error" in part:
                        return
                yield json.dumps(part).encode() + b"\n"
            finally:
                job.cancel()

        return StreamingResponse(streamed(), media_type="application/x-ndjson")

    return endpoint


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _too_large(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "too large"}, 413, {"connection": "close"})


async def _gone(request: Request, error: Exception) -> Response:
    """Nobody reads it; without it a traceback would be printed."""
    return Response(status_code=400)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)

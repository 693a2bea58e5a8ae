"""Starts the server: a free port, a random token, one worker thread; ends with Ctrl-C."""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from trueprobe.errors import BadInput, FailedRun
from trueprobe.explore.asking import Engines, NamedModels
from trueprobe.explore.browsing import Browsing
from trueprobe.explore.guard import LOOPBACK, Guard, ServerAddress, TimedProtocol
from trueprobe.explore.server import AskingThread, Explorer, application
from trueprobe.models import Options
from trueprobe.runs.folder import Run
from trueprobe.signals import handled

AT_ONCE = 64  # connections
DEFAULT_MODELS = ("mini", "nursery")


@dataclass(frozen=True)
class Serving:
    """What is explored and where; port 0 is any free one."""

    models: Sequence[str] = ()
    run: Run | None = None
    options: Options = field(default_factory=Options)
    store: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0

    @property
    def is_local(self) -> bool:
        return self.host in LOOPBACK

    @property
    def specs(self) -> tuple[str, ...]:
        """Those named; else those of the run; else two families that ship."""
        return tuple(self.models) or (self.run.study.models if self.run else DEFAULT_MODELS)


def find_models(serving: Serving) -> NamedModels:
    """Refuses what can be refused before anything is served."""
    try:
        return NamedModels.of(serving.specs, serving.options)
    except BadInput as error:
        if serving.models or serving.run is None:
            raise
        raise BadInput(f"the run's models: {error}; name others with --model") from error


@dataclass(frozen=True)
class Prepared:
    """A server whose port is taken, not yet running."""

    address: ServerAddress
    server: uvicorn.Server
    listening: socket.socket

    @contextmanager
    def ended_by_signals(self) -> Iterator[None]:
        """Inside, a signal ends the server, also before it runs: asyncio would swallow an exception raised in one of
        its callbacks. Then it ends the command, as it does elsewhere."""
        came: list[int] = []

        def end(number: int, frame: FrameType | None) -> None:
            came.append(number)
            self.server.should_exit = True

        before = {number: signal.signal(number, end) for number in handled()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)

    def run(self) -> None:
        """Until it is interrupted, or `server.should_exit`."""
        with self.listening:
            self.server.run(sockets=[self.listening])


def prepare(serving: Serving, selected: NamedModels) -> Prepared:
    listening = _listening(serving.host, serving.port)
    address = ServerAddress(serving.host, listening.getsockname()[1], secrets.token_urlsafe(24))
    engines = Engines(selected, serving.store)
    explorer = Explorer(engines, AskingThread(engines.close), Browsing(serving.run) if serving.run else None)
    config = uvicorn.Config(
        Guard(application(explorer), address),
        http=TimedProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=AT_ONCE,
        timeout_graceful_shutdown=1,
    )
    return Prepared(address, uvicorn.Server(config), listening)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, place = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except socket.gaierror as error:
        raise BadInput(f"--host {host}: {error.strerror}") from error
    except OSError as error:
        raise FailedRun(f"cannot listen on {host}, port {port}: {error.strerror}") from error
    return listening

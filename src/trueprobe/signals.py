"""Ctrl-C, SIGTERM and SIGHUP end a command alike: with a line on what was kept and how to go on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_asked: list[int] = []  # the signals that came: a library's `except:` can swallow the exception


class Stopped(BaseException):
    """A signal asked the command to end. No KeyboardInterrupt: click makes `Aborted!` of that."""

    def __init__(self, number: int, advice: str = "") -> None:
        super().__init__(advice)
        self.number, self.advice = number, advice

    def end(self) -> NoReturn:
        """With the exit code that shells give to the signal."""
        print("; ".join(filter(None, ("trueprobe: stopped", self.advice))), file=sys.stderr)
        sys.exit(128 + self.number)


def stop_on_signals() -> None:
    _asked.clear()
    sys.unraisablehook = _unraisable
    for number in handled():
        signal.signal(number, _stop)


def handled() -> list[int]:
    """The signals that end a command here; those that are ignored, as SIGHUP under nohup, stay ignored."""
    here = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    return [number for number in here if signal.getsignal(number) is not signal.SIG_IGN]


def _stop(number: int, frame: object) -> NoReturn:
    _asked.append(number)
    raise Stopped(number)


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """A signal that came inside a destructor or a callback of a library in C is remembered, not printed."""
    if not isinstance(lost.exc_value, Stopped):
        sys.__unraisablehook__(lost)


def stopped() -> Stopped | None:
    """What an error of another kind really is once a signal came: libraries turn exceptions into their own."""
    return Stopped(_asked[0]) if _asked else None


def raise_pending_signal() -> None:
    """Between two pieces of work: a signal that a library's `except:` swallowed ends the command here."""
    if (signalled := stopped()) is not None:
        raise signalled


@contextmanager
def interruptible(advice: str = "answers so far are cached, the same command goes on") -> Iterator[None]:
    """Also as a decorator of a command: what a signal leaves, and how to go on."""
    try:
        yield
    except Stopped as error:
        raise Stopped(error.number, error.advice or advice) from error
    except Exception as error:
        if (signalled := stopped()) is None:
            raise
        raise Stopped(signalled.number, advice) from error

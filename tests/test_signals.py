"""Signals: one that a library's `except:` swallowed ends the command before the next piece of work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from trueprobe import signals
from trueprobe.engine import Local


@pytest.fixture
def heeding(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # put back afterwards
    before = {number: signal.getsignal(number) for number in signals.handled()}
    signals.stop_on_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    signals._asked.clear()


def test_a_swallowed_signal_ends_the_next_batch(heeding):
    with suppress(BaseException):  # as a library might
        os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(signals.Stopped) as raised:
        next(Local().readings(None, [None]))
    assert raised.value.number == signal.SIGTERM


def test_without_a_signal_nothing_is_stopped(heeding):
    signals.raise_pending_signal()


LOST = """
import os, signal
from trueprobe import signals

class Trap:
    def __del__(self):
        os.kill(os.getpid(), SIGNAL)

signals.stop_on_signals()
Trap()
print("went on")
signals.raise_pending_signal()
"""


def test_a_signal_inside_a_destructor_is_remembered_and_not_printed():
    """Python cannot raise there: it prints a traceback and goes on."""
    code = LOST.replace("SIGNAL", str(int(signal.SIGTERM)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "went on\n"
    assert done.stderr.count("Traceback") == 1  # of the last line
    assert "Exception ignored" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("trueprobe.signals.Stopped")

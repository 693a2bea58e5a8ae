"""Signals: one that a library's `except:` swallowed ends the command before the next piece of work."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from trueprobe import stopping
from trueprobe.engine.executor import Local


@pytest.fixture
def heeding():
    before = {number: signal.getsignal(number) for number in stopping.heeded()}
    stopping.stop_on_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    stopping._asked.clear()


def test_a_swallowed_signal_ends_the_next_batch(heeding):
    with suppress(BaseException):  # as a library might
        os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(stopping.Stopped) as raised:
        next(Local().readings(None, [None]))
    assert raised.value.number == signal.SIGTERM


def test_without_a_signal_nothing_is_stopped(heeding):
    stopping.heed_swallowed()

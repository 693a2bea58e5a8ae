"""The collector rests while it is told to, and afterwards is as it was."""

from __future__ import annotations

import gc

import pytest

from trueprobe.garbage import collector_paused


def test_it_rests_and_goes_on_also_after_an_error_and_when_nested():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_function_can_have_it_again_and_again():
    asked = collector_paused()(gc.isenabled)
    assert [asked(), asked(), gc.isenabled()] == [False, False, True]

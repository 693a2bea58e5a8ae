"""One thread: a newer question takes an older one's place, an urgent one goes first, a failing one ends alone."""

from __future__ import annotations

import queue
import threading

import pytest

from trueprobe.errors import BadInput
from trueprobe.explore.server import END, REPLACED, AskingThread


@pytest.fixture
def worker():
    worker = AskingThread(lambda: None)
    yield worker
    worker.stop()


def gated(name, gate, log, many=3):
    """Parts that wait at a gate, and are noted when they are made."""
    for i in range(many):
        gate.acquire()
        log.append(f"{name}{i}")
        yield {"part": f"{name}{i}"}


def until_end(parts):
    got = []
    while not got or (got[-1] not in (END, REPLACED) and "error" not in got[-1]):
        got.append(parts.get(timeout=20))
    return got


def test_parts_come_in_order_and_then_the_end(worker):
    parts = queue.Queue()
    worker.submit("a", 0, iter([{"part": 1}, {"part": 2}]), parts.put)
    assert until_end(parts) == [{"part": 1}, {"part": 2}, END]


def test_a_newer_question_of_the_same_page_takes_the_place_of_the_older(worker):
    gate, log, old, new = threading.Semaphore(0), [], queue.Queue(), queue.Queue()
    worker.submit("page ask", 0, gated("old", gate, log), old.put)
    gate.release()
    assert old.get(timeout=20) == {"part": "old0"}
    worker.submit("page ask", 0, gated("new", gate, log), new.put)
    gate.release(10)
    assert until_end(old)[-1] == REPLACED
    assert until_end(new)[-1] == END
    assert "old2" not in log  # at most the part that was being made was finished
    assert [part for part in log if part.startswith("new")] == ["new0", "new1", "new2"]


def test_questions_of_two_pages_are_both_answered(worker):
    one, two = queue.Queue(), queue.Queue()
    gate = threading.Semaphore(10)
    worker.submit("one ask", 0, gated("a", gate, []), one.put)
    worker.submit("two ask", 0, gated("b", gate, []), two.put)
    assert until_end(one)[-1] == until_end(two)[-1] == END


def test_an_urgent_question_goes_between_two_parts_of_another(worker):
    gate, log, later, urgent = threading.Semaphore(0), [], queue.Queue(), queue.Queue()
    worker.submit("page series", 1, gated("later", gate, log), later.put)
    gate.release()
    later.get(timeout=20)
    worker.submit("page ask", 0, gated("urgent", gate, log, many=2), urgent.put)
    gate.release(10)
    until_end(later)
    until_end(urgent)
    assert log.index("urgent1") < log.index("later2")


@pytest.mark.parametrize(
    ("error", "shown"),
    [(BadInput("two blanks"), "two blanks"), (ValueError("odd"), "this question failed: ValueError: odd")],
)
def test_a_question_that_fails_ends_alone(worker, error, shown, capsys):
    def failing():
        yield {"part": 0}
        raise error

    parts, others = queue.Queue(), queue.Queue()
    worker.submit("a", 0, failing(), parts.put)
    assert until_end(parts) == [{"part": 0}, {"error": shown}]
    worker.submit("b", 0, iter([{"part": 1}]), others.put)
    assert until_end(others) == [{"part": 1}, END]


def test_what_was_opened_is_closed_in_the_thread_that_opened_it():
    threads = []
    worker = AskingThread(lambda: threads.append(threading.current_thread().name))
    worker.stop()
    assert threads == ["explore"]
    assert threading.current_thread().name != "explore"

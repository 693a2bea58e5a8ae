"""Who computes what: jobs go where their model is open, and a dead worker's job goes to another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueprobe.engine.pool import GivenUp, Pool
from trueprobe.engine.worker import Broken, Done, Hello, Job, Setup, Ticket, versions
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Options, Source


class Fake:
    """A worker that does what the test says."""

    def __init__(self, slot, report):
        self.slot, self.report, self.jobs, self.stopped = slot, report, [], False

    def send(self, job):
        self.jobs.append(job)

    def stop(self):
        self.stopped = True

    def hello(self, **changed):
        self.report(Hello("here", 1, versions() | changed))

    def finish(self, value=None):
        done = self.jobs.pop(0)
        self.report(Done(value))
        return done.work(None)

    @property
    def todo(self):
        return [job.work(None) for job in self.jobs]


class Fakes:
    setup = Setup(1)

    def __init__(self):
        self.started = []

    def start(self, slot, report):
        self.started.append(Fake(slot, report))
        return self.started[-1]


def ticket(name):
    return Ticket(Source(name, name, Path(name)), Options(), name)


def job(name, payload):
    return Job(lambda model: payload, ticket(name))


@pytest.fixture
def two():
    fakes = Fakes()
    pool = Pool(fakes, 2)
    for worker in fakes.started:
        worker.hello()
    return pool, *fakes.started, fakes


def test_a_worker_that_is_not_ready_gets_nothing():
    fakes = Fakes()
    pool = Pool(fakes, 1)
    pool.submit(job("a", 1))
    assert fakes.started[0].todo == []
    fakes.started[0].hello()
    assert fakes.started[0].todo == [1]


def test_batches_of_one_model_go_to_all_workers_and_results_to_whoever_asked(two):
    pool, first, second, _ = two
    futures = [pool.submit(job("a", n)) for n in range(5)]
    assert (first.todo, second.todo) == ([0, 2], [1, 3])  # one in work, one waiting
    first.finish("zero")
    assert futures[0].result(timeout=0) == "zero"
    assert first.todo == [2, 4]


def test_two_models_are_computed_at_once_and_each_worker_keeps_its_own(two):
    pool, first, second, _ = two
    for n in range(4):
        pool.submit(job("a", f"a{n}"))
        pool.submit(job("b", f"b{n}"))
    done = [worker.finish()[0] for _ in range(4) for worker in (first, second)]
    assert done == ["a", "b"] * 4


def test_a_worker_with_nothing_to_do_helps_unless_it_has_the_last_copy_of_a_model_in_use(two):
    pool, _, second, _ = two
    pool.use(ticket("b"))
    pool.submit(job("a", "a0"))
    pool.submit(job("b", "b0"))
    second.finish()
    for n in range(1, 5):
        pool.submit(job("a", f"a{n}"))
    assert second.todo == []  # b will be asked for more
    pool.release(ticket("b"))
    assert second.todo == ["a2", "a3"]


def test_more_models_in_use_than_workers_are_computed_all_the_same(two):
    pool, first, second, _ = two
    for name in "abc":
        pool.use(ticket(name))
    futures = [pool.submit(job(name, name)) for name in "abc"]
    first.finish()
    second.finish()
    next(worker for worker in (first, second) if worker.todo).finish()
    assert all(future.done() for future in futures)


def test_a_dead_workers_jobs_go_to_others_and_only_the_one_in_work_counts_as_tried(two):
    pool, _, _, fakes = two
    futures = [pool.submit(job("a", n)) for n in range(4)]
    for _ in range(3):  # 1 is in work at the second worker, 3 waits behind it
        worker = next(one for one in fakes.started if not one.stopped and 1 in one.todo)
        while worker.todo[0] != 1:
            worker.finish()
        worker.report(Broken("it was killed"))
        fakes.started[-1].hello()
    with pytest.raises(GivenUp, match="tried 3 times, it was killed"):
        futures[1].result(timeout=0)
    for worker in fakes.started:
        while not worker.stopped and worker.jobs:
            worker.finish("computed")
    assert [futures[n].result(timeout=0) for n in (0, 2, 3)] == ["computed"] * 3
    assert {worker.slot for worker in fakes.started if not worker.stopped} == {
        0,
        1,
    }  # a new one takes the old one's GPU


def test_what_a_replaced_worker_still_says_is_not_heard(two):
    pool, first, _, fakes = two
    future = pool.submit(job("a", 0))
    first.report(Broken("an error"))
    first.report(Done("too late"))
    first.report(Broken("its process ended"))
    assert len(fakes.started) == 3
    assert not future.done()


def test_a_worker_with_other_libraries_is_refused_and_all_are_stopped(two):
    fakes = Fakes()
    pool = Pool(fakes, 2)
    future = pool.submit(job("a", 0))
    fakes.started[0].hello(torch="1.0")
    with pytest.raises(BadInput, match=r"the worker on here has torch 1\.0, this process torch \d.*install the same"):
        future.result(timeout=0)
    assert all(worker.stopped for worker in fakes.started)


def test_whoever_waits_when_workers_are_stopped_gets_an_error(two):
    pool, first, second, _ = two
    futures = [pool.submit(job("a", n)) for n in range(6)]
    pool.close()
    pool.close()
    futures.append(pool.submit(job("a", 6)))
    for future in futures:
        with pytest.raises(FailedRun, match="stopped"):
            future.result(timeout=0)
    assert first.stopped
    assert second.stopped


def test_workers_that_never_become_ready_end_the_run():
    fakes = Fakes()
    future = Pool(fakes, 1).submit(job("a", 0))
    for _ in range(3):
        fakes.started[-1].report(Broken("no torch"))
    with pytest.raises(FailedRun, match="no worker could be started: no torch"):
        future.result(timeout=0)

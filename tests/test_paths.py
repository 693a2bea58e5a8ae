"""Files and folders are written whole or not at all, by one process at a time, and never through a link."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trueprobe import paths
from trueprobe.errors import BadInput, FailedRun
from trueprobe.paths import ANOTHER_OUT, LOCK, PARTIAL, gc_pause, locked, write_text, write_whole


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def a_folder(**files: str):
    def write(path: Path) -> None:
        path.mkdir()
        for name, text in files.items():
            (path / name).write_text(text)

    return write


# ---------------------------------------------------------------- whole or not at all


def test_a_file_is_written_with_its_folders(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "ü\n")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "ü\n".encode()
    assert tree(tmp_path) == {"a/b.txt": "ü\n"}


@pytest.mark.parametrize("before", ["nothing", "file", "folder"])
@pytest.mark.parametrize("now", ["file", "folder"])
def test_a_new_one_takes_the_place_of_an_old_one(tmp_path, before, now):
    target = tmp_path / "x"
    if before == "file":
        target.write_text("old")
    elif before == "folder":
        a_folder(old="1", both="1")(target)
    write_whole(target, a_folder(new="2", both="2") if now == "folder" else lambda path: path.write_text("new"))
    assert tree(tmp_path) == ({"x/both": "2", "x/new": "2"} if now == "folder" else {"x": "new"})
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("before", ["file", "folder"])
def test_a_writer_that_fails_leaves_what_was_there(tmp_path, before, error):
    target = tmp_path / "x"
    if before == "file":
        target.write_text("old")
    else:
        a_folder(old="1")(target)
    earlier = tree(tmp_path)

    def fail(path: Path) -> None:
        a_folder(half="2")(path)
        raise error

    with pytest.raises(FailedRun if isinstance(error, OSError) else type(error)):
        write_whole(target, fail)
    assert tree(tmp_path) == earlier
    assert os.listdir(tmp_path) == ["x"]


def test_where_the_new_folder_cannot_be_moved_the_old_one_comes_back(tmp_path, monkeypatch):
    a_folder(old="1")(tmp_path / "x")

    def refuse(source, target):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FailedRun, match="Input/output error; what was written before is kept"):
        write_whole(tmp_path / "x", a_folder(new="2"))
    assert tree(tmp_path) == {"x/old": "1"}


def test_what_cannot_be_written_is_a_failed_run_with_its_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedRun, match=r"cannot write .*file/x"):
        write_text(tmp_path / "file" / "x", "")


# ---------------------------------------------------------------- links


def outside(tmp_path: Path) -> Path:
    a_folder(precious="1")(tmp_path / "outside")
    return tmp_path / "outside"


@pytest.mark.parametrize("write", [lambda path: path.write_text("new"), a_folder(new="2")], ids=["file", "folder"])
@pytest.mark.parametrize("to", ["folder", "file", "nowhere"])
def test_a_link_at_the_target_is_replaced_and_never_followed(tmp_path, write, to):
    elsewhere = outside(tmp_path)
    link = tmp_path / "run" / "x"
    link.parent.mkdir()
    link.symlink_to({"folder": elsewhere, "file": elsewhere / "precious", "nowhere": elsewhere / "nothing"}[to])
    write_whole(link, write)
    assert not link.is_symlink()
    assert tree(elsewhere) == {"precious": "1"}


@pytest.mark.parametrize("to", ["precious", "nothing"])
def test_a_link_at_the_lock_is_refused_and_never_followed(tmp_path, to):
    elsewhere = outside(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to(elsewhere / to)
    with pytest.raises(FailedRun, match="cannot write"), locked(tmp_path / "run", "run"):
        pytest.fail("the lock was taken")
    assert tree(elsewhere) == {"precious": "1"}


@pytest.mark.parametrize("name", [".x.part", ".x..part", "x.part", ".x.tmp"])
def test_a_link_at_a_name_that_could_be_guessed_is_never_followed(tmp_path, name):
    elsewhere = outside(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    (run / name).symlink_to(elsewhere)
    write_text(run / "x", "new")
    with locked(run, "run"):
        write_whole(run / "x", a_folder(new="2"))
    assert tree(elsewhere) == {"precious": "1"}


def test_the_temporary_folder_has_a_name_of_its_own_each_time_and_is_for_this_user_only(tmp_path):
    parts = []

    def note(path: Path) -> None:
        parts.append((path.parent.name, path.parent.stat().st_mode & 0o777))
        path.write_text("")

    for _ in range(3):
        write_whole(tmp_path / "x", note)
    assert len(set(parts)) == 3
    assert {mode for _, mode in parts} == {0o700}
    assert all(name.endswith(PARTIAL) for name, _ in parts)


# ---------------------------------------------------------------- one writer at a time


def test_the_second_writer_is_refused_and_the_first_goes_on(tmp_path):
    with locked(tmp_path, "run"):
        with pytest.raises(BadInput, match=r"another run is writing .*; wait for it$"):
            _other_process(_lock_once, tmp_path)
        with pytest.raises(BadInput, match=r"another run is writing .*; wait for it or name another --out$"):
            _other_process(_lock_once, tmp_path, ANOTHER_OUT)
        write_text(tmp_path / "x", "first")
    assert tree(tmp_path) == {"x": "first"}
    _other_process(_lock_once, tmp_path)  # free again


def test_a_lock_stays_behind_only_where_something_went_wrong(tmp_path):
    with pytest.raises(RuntimeError), locked(tmp_path, "run"):
        raise RuntimeError
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path, "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_its_holder_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    """The first writer ends, and removes its lock, between the second one's opening and locking it."""
    taken, flock = [], paths.fcntl.flock

    def late(lock: int, how: int) -> None:
        if not taken:
            (tmp_path / LOCK).unlink()
        taken.append(lock)
        flock(lock, how)

    monkeypatch.setattr(paths.fcntl, "flock", late)
    with locked(tmp_path, "run"):
        assert len(taken) == 2
        with pytest.raises(BadInput):
            _other_process(_lock_once, tmp_path)


KILLED = """
import sys, time
from pathlib import Path
from trueprobe.paths import locked, write_whole

def write(path):
    path.mkdir()
    (path / "half").write_text("half")
    print("half", flush=True)
    time.sleep(60)

folder = Path(sys.argv[1])
with locked(folder, "run"):
    write_whole(folder / "tables" / "x", write)
"""


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    run = tmp_path / "run"
    write_whole(run / "tables" / "x", a_folder(old="1"))
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(run)], stdout=subprocess.PIPE, text=True)
    assert killed.stdout
    assert killed.stdout.readline() == "half\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert list(run.rglob(f".*{PARTIAL}"))
    assert (run / "tables" / "x" / "old").read_text() == "1"
    with locked(run, "run"):
        assert tree(run) == {LOCK: "", "tables/x/old": "1"}
    assert tree(run) == {"tables/x/old": "1"}


def test_what_is_being_written_below_by_the_holder_of_another_lock_stays(tmp_path):
    below = tmp_path / "downstream" / "task"
    with locked(below, "fine-tuning"):
        (below / f".x.abc{PARTIAL}").mkdir()
        (tmp_path / f".y.abc{PARTIAL}").mkdir()
        with locked(tmp_path, "run"):
            assert [path.name for path in tmp_path.rglob(f".*{PARTIAL}")] == [f".x.abc{PARTIAL}"]


def _other_process(function, *arguments) -> None:
    """Locks belong to open files, so that the other writer has to be another process. What it raises is raised."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(send, function, arguments))
    process.start()
    error = receive.recv() if receive.poll(30) else TimeoutError()
    process.join(30)
    if error is not None:
        raise error


def _send(send, function, arguments) -> None:
    try:
        function(*arguments)
    except Exception as error:
        send.send(error)
    else:
        send.send(None)


def _lock_once(folder: Path, instead: str = "") -> None:
    with locked(folder, "run", instead):
        pass


# ---------------------------------------------------------------- the garbage collector


def test_the_collector_rests_and_goes_on_also_after_an_error_and_when_nested():
    assert gc.isenabled()
    with gc_pause():
        assert not gc.isenabled()
        with gc_pause():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), gc_pause():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with gc_pause():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_function_can_have_it_again_and_again():
    asked = gc_pause()(gc.isenabled)
    assert [asked(), asked(), gc.isenabled()] == [False, False, True]

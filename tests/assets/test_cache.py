"""An asset is whole or absent: flipped bytes, kills, Ctrl-C, two at once, a full disk."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest

import toys
from toys import at_address, left_in, table, wait_until
from trueprobe import assets
from trueprobe.assets import cache
from trueprobe.errors import BadInput, FailedRun

# more than is read at once, so that an interrupted fetch has written something
BIG_ROWS = [[str(n), "She said so. " * 50, "He said so. " * 50, "stereo", "gender"] for n in range(2000)]
BIG = table(rows=BIG_ROWS)
BIG_CONTENT = toys.sha256(json.dumps([toys.HEADER, *BIG_ROWS], separators=(",", ":")).encode())


@pytest.fixture
def toy(write_card, site):
    write_card(at_address(site.address))
    return assets.fetch("toy")


@pytest.fixture
def big(write_card, site):
    site.pages["/toy.csv"] = BIG
    write_card(at_address(site.address, BIG), content=BIG_CONTENT, pairs=len(BIG_ROWS))
    return site


def flip_a_byte(path):
    """Size and time stay as they were."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


# ---------------------------------------------------------------- read again


def test_what_is_not_here_is_told_with_the_command_that_gets_it(write_card, site):
    write_card(at_address(site.address))
    assert not assets.cached("toy")
    with pytest.raises(BadInput, match="asset 'toy' is not on this machine: trueprobe fetch toy"):
        assets.path_of("toy")


def test_a_flipped_byte_is_refused_and_fetched_anew(toy, home):
    flip_a_byte(toy)
    with pytest.raises(BadInput, match=r"toy\.csv was changed since it was fetched .*`trueprobe fetch toy` fetches it"):
        assets.path_of("toy")
    assert not assets.obtain("toy").was_here
    assert assets.path_of("toy").read_bytes() == table()
    assert left_in(home) == ["toy"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "toy.csv").unlink(), "is missing or has another size"),
        (lambda folder: (folder / "toy.csv").write_bytes(b""), "is missing or has another size"),
        (lambda folder: (folder / "asset.json").write_text("{"), "asset.json is damaged"),
        (lambda folder: (folder / "asset.json").write_bytes(b"\xff"), "asset.json is damaged"),
    ],
)
def test_damage_is_refused_and_repaired(damage, message, toy):
    damage(toy.parent)
    assert not assets.cached("toy")
    with pytest.raises(BadInput, match=message):
        assets.path_of("toy")
    assert assets.fetch("toy").read_bytes() == table()
    assert assets.cached("toy")


def test_a_flipped_byte_in_the_record_is_refused(toy):
    record = toy.parent / "asset.json"
    record.write_text(record.read_text().replace(toys.sha256(table()), "c" * 64))
    with pytest.raises(BadInput, match="changed since"):
        assets.path_of("toy")


def test_what_another_version_made_otherwise_is_made_anew(toy, write_card, site):
    write_card(at_address(site.address), also="recipe = 2")
    assert not assets.cached("toy")
    with pytest.raises(BadInput, match="is another one for"):
        assets.path_of("toy")
    assert not assets.obtain("toy").was_here
    assert assets.path_of("toy") == toy


def test_a_record_says_where_from_and_what(toy):
    record = json.loads((toy.parent / "asset.json").read_text())
    assert record["files"] == {"toy.csv": {"sha256": toys.sha256(table()), "bytes": len(table())}}
    assert (record["content"], record["licence"], record["name"]) == (toys.CONTENT, "MIT", "toy")


# ---------------------------------------------------------------- interrupted


def half_written(home):
    part = home / "toy.part" / "raw" / "toy.csv"
    return part.exists() and part.stat().st_size > 0


def test_a_killed_fetch_leaves_no_asset_and_the_next_one_sweeps_up(big, start, home):
    big.stall_after = 1_500_000
    process = start("fetch", "toy")
    wait_until(lambda: half_written(home))
    process.kill()
    process.wait()
    assert not assets.cached("toy")
    with pytest.raises(BadInput, match="not on this machine"):
        assets.path_of("toy")
    big.stall_after = None
    assert assets.fetch("toy").read_bytes() == BIG
    assert left_in(home) == ["toy"]


def test_what_a_killed_fetch_left_is_swept_up_by_the_fetch_of_another_asset(toy, write_card, site, home):
    write_card(at_address(site.address), name="another")
    (home / "another.part" / "raw").mkdir(parents=True)
    assert assets.obtain("toy").was_here
    assert left_in(home) == ["toy"]


def test_ctrl_c_leaves_nothing_and_what_was_there_stays(big, start, home):
    big.stall_after = 1_500_000
    # a test runner in the background may have been told to ignore Ctrl-C, and children inherit that
    process = start("fetch", "toy", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_until(lambda: half_written(home))
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=20)
    assert process.returncode == 130
    assert output == "trueprobe: stopped; partial files were removed; the same command starts again\n"
    assert left_in(home) == []


@pytest.mark.slow
def test_two_processes_at_once_both_succeed_and_download_once(big, start, home):
    big.stall_after = 1_500_000
    first = start("fetch", "toy")
    wait_until(lambda: half_written(home))
    second = start("fetch", "toy")
    wait_until(lambda: waits(second.pid))
    big.stall_after = None
    output = [process.communicate(timeout=20) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), output
    assert "already here" in output[1][0]
    assert big.asked == ["/toy.csv"]
    assert assets.path_of("toy").read_bytes() == BIG
    assert left_in(home) == ["toy"]


def waits(pid):
    """Whether a process that has begun uses next to no processor for half a second."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")

    def ticks():
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    before = ticks()
    time.sleep(0.5)
    return before > 10 and ticks() - before <= 2


def test_a_disk_that_takes_no_more_is_told_and_nothing_is_left(big, start, home):
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_100_000, 1_100_000))}
    process = start("fetch", "toy", **limit)
    _, output = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "cannot write" in output
    assert "the partial file was removed" in output
    assert len(output.splitlines()) == 1
    assert left_in(home) == []


def test_a_cache_folder_that_cannot_be_made_is_told(write_card, site, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_card(at_address(site.address))
    with pytest.raises(FailedRun, match=r"cannot write .*file/trueprobe/assets"):
        assets.fetch("toy")


def test_a_lock_nobody_holds_is_no_hindrance_and_one_somebody_holds_is_seen(toy, home):
    (home / "toy.lock").touch()
    with cache.locked("toy") as mine:
        assert mine
        with cache.locked("toy") as also_mine:
            assert not also_mine
    assert left_in(home) == ["toy"]

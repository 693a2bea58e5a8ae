"""Fixtures for assets: an empty cache folder, one toy card, a web server, a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import toys
from trueprobe.assets import cache, catalogue


@pytest.fixture
def site():
    made = toys.Site({"/toy.csv": toys.table()})
    server = made.serve()
    yield made
    made.stall_after = None
    server.shutdown()
    server.server_close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache.home()


@pytest.fixture
def write_card(tmp_path, monkeypatch, home):
    """write_card(*sources) makes `toy` the only asset."""
    monkeypatch.setattr(catalogue, "CARDS", tmp_path / "cards")

    def write(*sources: str, name: str = "toy", content: str = toys.CONTENT, pairs: int = 3, also: str = "") -> Path:
        (tmp_path / "cards").mkdir(exist_ok=True)
        head = 'title = "three pairs"\nmade_by = "us"\nkind = "crows_pairs"\nlicence = "MIT"\n'
        head += f'ready = "toy.csv"\nready_bytes = 200\ncontent = "{content}"\ncounts = {{ pairs = {pairs} }}\n{also}\n'
        path = tmp_path / "cards" / f"{name}.toml"
        path.write_text(head + "\n".join(sources), encoding="utf-8")
        return path

    return write


@pytest.fixture
def start(tmp_path):
    """start("fetch", "toy") runs the command line with the toy's card, in a process of its own."""
    running: list[subprocess.Popen] = []

    def begin(*arguments: object, **options: object) -> subprocess.Popen:
        command = [sys.executable, "-c", toys.DRIVER, str(tmp_path / "cards"), *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen(command, **pipes, **options))
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()

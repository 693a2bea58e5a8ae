"""Fixtures: the files that the commands at risk read, and a command in a folder of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import toy_association
import toys
import zoo
from at_risk import COMMANDS, ROWS, TASK, TEXT, Trial, put_answers


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    zoo.save("bert", folder / "bert")
    shutil.copytree(folder / "bert", folder / "papers" / "bert-base-uncased")
    (folder / "text.txt").write_text(TEXT)
    (folder / "sentences.txt").write_text("".join(f"The nurse met man {n}.\n" for n in range(200)))
    (folder / "task.tsv").write_text(TASK)
    (folder / "toy.csv").write_bytes(toys.table(rows=ROWS))
    toy_association.write(folder)
    toy_association.filler(folder)
    for seed in (0, 1):
        toy_association.checkpoint(folder, seed)
    put_answers(folder / "one.sqlite", "bert", range(15_000))
    put_answers(folder / "two.sqlite", "bert", range(10_000, 25_000))  # 5,000 of them stand in both
    put_answers(folder / "two.sqlite", "gpt2", range(30_000, 31_000))
    content = toys.sha256(json.dumps([toys.HEADER, *ROWS], separators=(",", ":")).encode())
    (folder / "cards").mkdir()
    (folder / "cards" / "toy.toml").write_text(
        'title = "pairs"\nmade_by = "us"\nkind = "crows_pairs"\nlicence = "MIT"\nready = "toy.csv"\nready_bytes = 200\n'
        f'content = "{content}"\ncounts = {{ pairs = {len(ROWS)} }}\n' + toys.at_address("http://127.0.0.1:9/")
    )
    return folder


@pytest.fixture
def trial(made, tmp_path):
    def begin(name: str, folder: str = "here") -> Trial:
        one = Trial(COMMANDS[name], made, tmp_path / folder)
        one.begin()
        return one

    return begin

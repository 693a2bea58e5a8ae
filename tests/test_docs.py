"""The commands and the Python of README and docs run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reference  # tools/reference.py
import trueprobe
import zoo
from trueprobe.cli import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MOST_WORDS = 26_900
MOST_WORDS_OF_A_DECISION = 400
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python|(?:toml|python|csv) \S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTSIDE = ("make", "pip", "git", "python", "cd")  # set-up and long measurements, tried by hand and by CI
HUB = ("gpt2@main", "bert-base-uncased", "org/")  # what only the hub has


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.fixture
def desk(checkpoint, tmp_path, monkeypatch):
    """A folder with the names the documentation uses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-bert").symlink_to(checkpoint("bert"))
    (tmp_path / "my-gpt2").symlink_to(checkpoint("gpt2"))
    (tmp_path / "logs").symlink_to(ROOT / "tests" / "probes" / "logs")
    return tmp_path


def save_training_run(folder: Path) -> None:
    """Five steps of one seed, as transformers' Trainer names them."""
    for step in range(1, 6):
        zoo.save("bert", folder / f"checkpoint-{1000 * step}", model_seed=step)


def lines(block: str) -> list[str]:
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def runs_here(command: list[str]) -> bool:
    text = " ".join(command)
    return command[0] not in OUTSIDE and "./model.gguf" not in text and not any(name in text for name in HUB)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_what_a_page_tells_to_type_works(page, desk):
    told = " ".join(block for _, block in blocks(page))
    if "runs/mine" in told and "out runs/mine" not in told and 'out="runs/mine"' not in told:
        trueprobe.run("counteracts", models=["./my-bert"], out="runs/mine")
    if "out/checkpoint-*" in told:
        save_training_run(desk / "out")
    for language, block in blocks(page):
        if " " in language:  # a file: its name
            (desk / language.split()[1]).write_text(block, encoding="utf-8")
        elif language == "python":
            exec(compile(block, page.name, "exec"), {"__name__": "__docs__"})
        else:
            for command in map(shlex.split, lines(block)):
                if runs_here(command):
                    assert command[0] == "trueprobe", command
                    result = CliRunner().invoke(app, command[1:])
                    assert result.exit_code == 0, (command, result.output, result.exception)


def test_the_readme_names_make_targets_that_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", readme, re.MULTILINE))
    assert named
    assert named <= targets


def test_every_complaint_is_held_by_tests_that_exist():
    rows = [line for line in (DOCS / "complaints.md").read_text(encoding="utf-8").splitlines() if line[:3] != "|--"]
    rows = [row for row in rows if row.startswith("|")][1:]
    named = [re.findall(r"`(\S+\.py)::(\w+)`", row) for row in rows]
    assert len(rows) >= 17
    assert all(named), rows
    tests = {path: (ROOT / "tests" / path).read_text(encoding="utf-8") for one in named for path, _ in one}
    assert [name for one in named for path, name in one if f"def {name}(" not in tests[path]] == []


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_reference_is_what_the_code_gives():
    """Otherwise: python tools/reference.py"""
    generated = reference.pages()
    differing = [name for name, text in generated.items() if reference.read(name) != text]
    assert not differing, f"run `python tools/reference.py`: {differing}"
    written = {page.relative_to(reference.FOLDER).as_posix() for page in reference.FOLDER.rglob("*.md")}
    assert written - set(generated) == {"coverage.md", "detection.md"}  # measured, by bench/


def test_every_shipped_probe_has_its_assessment_on_its_page():
    """Otherwise: python tools/reference.py"""
    written = reference.assessed_pages()
    assert {f"{name}.md" for name in reference.probes.names()} == set(written)
    for name, text in written.items():
        assert (DOCS / "probes" / name).read_text(encoding="utf-8") == text
        assert "**Measured reliability.**" in text


def test_hand_written_pages_stay_short():
    """Words of docs/ without what code or measurements write. A decision record is a page at most."""
    words = {page: len(re.findall(r"\S*\w\S*", hand_written(page))) for page in PAGES if page.is_relative_to(DOCS)}
    decisions = {page: words.pop(page) for page in list(words) if page.is_relative_to(DOCS / "decisions")}
    assert sum(words.values()) <= MOST_WORDS, sum(words.values())
    assert max(decisions.values()) <= MOST_WORDS_OF_A_DECISION, decisions


def hand_written(page: Path) -> str:
    if page.is_relative_to(DOCS / "reference"):
        return ""
    return page.read_text(encoding="utf-8").partition("<!-- generated")[0]


def test_every_page_begins_with_its_reader():
    for page in PAGES:
        if page.is_relative_to(DOCS):
            title, _, text = page.read_text(encoding="utf-8").partition("\n\n")
            assert title.startswith("# "), page
            assert text.startswith("For "), page


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)) == {
        page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS)
    }


def test_the_site_asks_no_other_host():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "http" not in settings

"""A run folder from someone else: its texts are shown, and command neither a terminal nor a browser."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import pandas as pd
import pytest
from typer.testing import CliRunner

import made_runs
import trueprobe
from trueprobe.cli import app
from trueprobe.cli.common import say
from trueprobe.cli.progress import terminal_progress
from trueprobe.errors import BadInput
from trueprobe.gate import gate, parse
from trueprobe.gate import report as gates
from trueprobe.results.render import comparison, export, page, repetition, terminal
from trueprobe.results.render.files import FigureFormat
from trueprobe.results.render.markdown import render as markdown
from trueprobe.results.render.printed import Console
from trueprobe.results.view import Report
from trueprobe.runs import load_run
from trueprobe.runs.compare import ModelComparison
from trueprobe.runs.repeat import Repeated, RunChange
from trueprobe.statistics.rows import Difference
from trueprobe.types import Verdict

FORGED = "FORGED all is well"
EVIL = f"a b\x1b[2J\x9b31m\u202e[/]\r\n{FORGED}"  # a title is folded at its first space
TAG = "<img src=x onerror=alert(1)>"
CLOSING = f"a\n```\n{TAG}"  # ends a block of code


def with_texts(folder, name: str, text: str, labels=("pairs",)):
    """A run in which every text that no reader refuses is this one; a model's name is `name`."""
    summary = replace(
        made_runs.SUMMARY, row_title=text, titles=(text, f"{text}2"), finding=text, notes=(text,), where_title=text
    )
    about = {"question": text, "does_not_show": text, "paper": text, "items_of": text, "example": text}
    probe = made_runs.declaration(summary=summary, **about)
    cards = [made_runs.card(name, text), made_runs.card("other")]
    cards = [replace(one, source=text, architecture=text, start_text=text) for one in cards]
    estimates = [
        made_runs.estimate(model, "preference", 0.62, category=text, verdict=verdict, probe=label)
        for model in (name, "other")
        for label in labels
        for verdict in (Verdict.HOLDS,)
    ]
    claims = [
        made_runs.claim(model, "one", 0.2, verdict, statement=text, paper=text, probe=label)
        for label in labels
        for model, verdict in ((name, Verdict.AS_PUBLISHED), ("other", Verdict.OPPOSITE))
    ]
    items = pd.DataFrame({"item": [text, "b"], "text": [text, f"{text} ___"], "category": [text, text]})
    written = made_runs.write(folder / "run", cards, estimates, claims, probe, items=items, labels=labels)
    return load_run(written)


@pytest.fixture(autouse=True)
def nothing_is_wrapped(monkeypatch):
    """A line that begins with what a text has behind a newline was not wrapped there."""
    monkeypatch.setenv("COLUMNS", "9000")
    for module in (terminal, gates, comparison):
        monkeypatch.setattr(module, "WIDEST", 9000)


def outside_blocks(text: str) -> str:
    """Markdown without its blocks of code, in which there is no markup, and without escaped signs."""
    parts = re.split(r"^(`{3,})[^`\n]*$.*?^\1$", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(parts).replace("\\<", "")


def obeys_nothing(printed: str) -> bool:
    return all(sign.isprintable() or sign == "\n" for sign in printed) and not any(
        line.strip().startswith(FORGED) for line in printed.split("\n")
    )


@pytest.mark.parametrize("labels", [("pairs",), ("pairs", "others")])
def test_what_a_run_a_gate_and_a_comparison_print_commands_no_terminal(tmp_path, capsys, labels):
    run = with_texts(tmp_path, "one", EVIL, labels)
    terminal.show(run)
    gates.show(gate(run, [parse("pairs: preference > 0.9")]))
    printed = capsys.readouterr().out
    assert "\\x1b[2J\\x9b31m\\u202e" in printed
    assert obeys_nothing(printed)
    plain = {
        "probe": "pairs",
        "measure": "preference",
        "a": 0.5,
        "b": 0.4,
        "difference": 0.1,
        "low": 0.05,
        "unit": "share",
    }
    plain |= {"high": 0.15, "n_items": 40, "n_groups": 40, "n_seeds_a": 1, "n_seeds_b": 1}
    plain |= {"p": 0.01, "p_permutation": 0.01, "detectable": 0.1, "verdict": Verdict.HOLDS_FOR_CHECKPOINT}
    difference = made_runs.row(Difference, plain, {"category": EVIL})
    summaries = {"pairs": run.declarations["pairs"].summary}
    comparison.show(ModelComparison(EVIL, EVIL, [difference], summaries, (EVIL,)), run.folder / EVIL)
    repetition.show(Repeated(run, run, (RunChange(EVIL, EVIL, EVIL),), False, 1, 1, 0.1))
    assert obeys_nothing(capsys.readouterr().out)


def test_signatures_and_a_card_command_no_terminal(tmp_path):
    run = with_texts(tmp_path, "one", EVIL)
    for options in (["--signatures"], ["--model-card", "--model", "other"]):
        done = CliRunner().invoke(app, ["export", str(run.folder), *options])
        assert done.exit_code == 0
        assert obeys_nothing(done.output), options


def test_json_has_the_texts_as_they_are(tmp_path):
    run = with_texts(tmp_path, "one", EVIL)
    done = CliRunner().invoke(app, ["gate", str(run.folder), "--rule", "pairs: preference > 0.9", "--json"])
    checks = json.loads(done.output)["checks"]
    assert checks[0]["model"] == checks[0]["conditions"]["category"] == EVIL


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2J", "a\u202eb", "a\x7f"])
def test_names_of_models_and_labels_are_printable(tmp_path, name):
    folder = made_runs.write(tmp_path / "run", [made_runs.card("solo")], [])
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    for key, value in (("cards", [{**content["cards"][0], "name": name}]), ("study", None)):
        label = {**content["study"]["probes"][0], "label": name}
        path.write_text(json.dumps({**content, key: value or {**content["study"], "probes": [label]}}))
        with pytest.raises(BadInput, match="cannot be a file's name"):
            load_run(folder)


def test_items_of_a_file_command_no_terminal(tmp_path):
    file = tmp_path / "x.csv"
    pd.DataFrame({"better": [f"He {EVIL}."], "worse": [f"She {EVIL}."]}).to_csv(file, index=False)
    for options in ([], ["--count"]):
        done = CliRunner().invoke(app, ["items", "pairs", "--set", f"data={file}", *options])
        assert done.exit_code == 0, done.output
        assert obeys_nothing(done.output)


def test_progress_titles_and_notes_command_no_terminal(capfd, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("trueprobe.cli.progress.monotonic", lambda: clock[0])
    with terminal_progress().task(EVIL, 2, "rows") as task:
        clock[0] = 31.0
        task.advance(1, EVIL)
    written = capfd.readouterr().err
    assert FORGED in written
    assert written.count("\n") == 1
    assert obeys_nothing(written)


def test_the_console_keeps_its_own_colours(capsys):
    console = Console(force_terminal=True, color_system="standard", file=sys.stdout)
    console.print("\x1b[2Jred", style="red", markup=False, highlight=False)
    assert capsys.readouterr().out == "\x1b[31m\\x1b[2Jred\x1b[0m\n"


def test_what_is_said_keeps_its_lines(capsys):
    say("one\ntwo\x1b[2J\tthree")
    assert capsys.readouterr().out == "one\ntwo\\x1b[2J three\n"


@pytest.mark.parametrize("text", [TAG, CLOSING])
def test_a_text_is_no_markup_in_any_form(tmp_path, text):
    run = with_texts(tmp_path, TAG, text, ("pairs", "others"))
    report = Report.of(run)
    forms = {
        "page": page.html(run),
        "notebook": trueprobe.load_run(run.folder)._repr_html_(),
        "markdown": outside_blocks(markdown(report)),
        "card": outside_blocks(export.model_card(report, "other").partition("\n---\n")[2]),
    }
    page.write(run, [FigureFormat.SVG])
    forms |= {path.name: path.read_text() for path in run.folder.rglob("*.svg")}
    for form, text in forms.items():
        assert "<img src=x" not in text, form
    assert "onerror" in forms["page"]

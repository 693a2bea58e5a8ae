"""One run, several renderers: terminal, page, Markdown, JSON and notebook have the same findings, numbers and marks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import made_runs
import trueprobe
import zoo
from trueprobe.cli import app
from trueprobe.errors import BadInput
from trueprobe.results.render import files, page, terminal
from trueprobe.results.render import json as json_report
from trueprobe.results.render.markdown import render as markdown
from trueprobe.results.text.findings import source_of
from trueprobe.results.view import Display, Kind, Mark, Report, matrix
from trueprobe.runs import Run, load_run
from trueprobe.statistics.rows import VariantDifference
from trueprobe.types import Verdict

pytestmark = pytest.mark.slow

CARDS = [*made_runs.family("toy", 3), made_runs.card("solo")]


def everything(tmp_path):
    """Claims of families, checkpoints, pairs and several probes, a measure, and a choice between labels."""
    numbers = {"toy": ("family", 0.62, Verdict.HOLDS), "solo": ("checkpoint", 0.41, Verdict.FLIPS)}
    estimates = [
        made_runs.estimate(name, "preference", value, category=category, level=level, verdict=verdict, probe="others")
        for name, (level, value, verdict) in numbers.items()
        for category in ("age", "race")
    ]
    estimates.append(
        made_runs.estimate("solo", "preference", 0.7, category="size", verdict=Verdict.TOO_FEW_GROUPS, probe="others")
    )
    claims = [
        made_runs.claim("toy", "one", 0.2, Verdict.AS_PUBLISHED, level="family"),
        *(made_runs.claim(f"toy-seed{n}", "one", 0.2, Verdict.UNDECIDED) for n in range(3)),
        made_runs.claim("solo", "one", -0.2, Verdict.OPPOSITE),
        made_runs.claim("toy", "two", 0.0, Verdict.UNDECIDED, level="family"),
        made_runs.claim("toy", "three", 0.0, Verdict.ALIKE, level="family"),
        made_runs.claim("solo", "two", 0.1, Verdict.NOT_CONTRADICTED, low=float("nan"), high=float("nan")),
        made_runs.claim("toy against solo", "larger", 0.3, Verdict.OPPOSITE, level="pair"),
        made_runs.claim("toy", "both", 0.1, Verdict.FLIPS, level="family", probe="pairs, others"),
    ]
    moved = [
        made_runs.choice("toy", "family", "age", 0.1, Verdict.HOLDS),
        made_runs.choice("solo", "checkpoint", "age", -0.01, Verdict.UNDECIDED),
    ]
    folder = made_runs.write(
        tmp_path / "run", CARDS, estimates, claims, labels=("pairs", "others"), tables={VariantDifference: moved}
    )
    return load_run(folder)


def failing_gate(tmp_path):
    claims = [
        made_runs.claim("toy", "one", 0.2, Verdict.FAILS_GATE, level="family"),
        made_runs.claim("solo", "one", 0.2, Verdict.HOLDS_FOR_CHECKPOINT),
    ]
    rows = [made_runs.estimate("solo", "preference", 0.5, category="age")]
    return load_run(made_runs.write(tmp_path / "run", CARDS, rows, claims, labels=("pairs", "others")))


def sixteen_items(tmp_path):
    models = []
    for kind, many in (("bert", 2), ("gpt2", 1)):
        for seed in range(many):
            zoo.save(kind, tmp_path / kind / f"seed_{seed}", model_seed=seed)
        models.append(f"{kind}={tmp_path}/{kind}/seed_*")
    settings = {"data": "sample"}
    return trueprobe.run(
        ["crows_pairs", "stereoset"], models, tmp_path / "run", store=tmp_path / "s", settings=settings, limit=16
    )


IN_PAGE = (  # mark, model, value and interval
    r'data-mark="([^"]*)" data-model="([^"]*)"[^>]*>(?:<button[^>]*>)?'
    r'<span class="n">(.*?)</span>(?: <span class="ends">(.*?)</span>)?'
)


def in_terminal(run) -> str:
    console = Console(width=100, record=True, highlight=False)
    terminal.show(run, console)
    return console.export_text()


@pytest.mark.parametrize(
    "make",
    [everything, failing_gate, pytest.param(sixteen_items, marks=pytest.mark.slow)],
    ids=lambda make: make.__name__,
)
def test_findings_numbers_and_marks_are_the_same_in_all_renderers(make, tmp_path):
    run = make(tmp_path)
    report = Report.of(run)
    text, printed = markdown(report).replace("\\", ""), in_terminal(run)
    html = re.sub(r"\s+", " ", unescape(page.html(run)))
    in_page = re.findall(IN_PAGE, html)
    in_python = trueprobe.load_run(run.folder)
    in_notebook, main = unescape(in_python._repr_html_()), matrix(report).rows
    table = {(row.probe, row.finding, row.model): row for row in in_python.findings.itertuples()}
    content = json.loads(json_report.render(report))
    listed = [finding for section in content["sections"] for finding in section["findings"]]
    assert [f["statement"] for f in listed] == [finding.statement for finding in report.findings]
    assert report.findings
    for finding, plain in zip(report.findings, listed, strict=True):
        lines = [line for line in printed.splitlines() if line.strip().startswith(finding.statement[:40])]
        assert len(plain["numbers"]) == len(finding.numbers)
        for n, number in zip(finding.numbers, plain["numbers"], strict=True):
            assert (number["text"], number["mark"], number["verdict"]) == (n.text(), n.mark.symbol, n.verdict.value)
            row = table[source_of(finding), finding.statement, n.model]
            assert (row.verdict, str(row.value), str(row.low)) == (n.verdict.value, str(n.value), str(n.low))
            if finding in main:
                assert finding.statement in in_notebook
                assert n.text() + n.mark.symbol in in_notebook
            if n.verdict.outcome == "none":
                continue
            assert (n.mark.symbol, n.model, *n.parts()) in in_page
            assert f"{n.model} {n.text()}{n.mark.symbol}" in text
            assert any(n.text() + n.mark.symbol in line for line in lines), (finding.statement, n.text())
        if finding.has_verdict:
            assert finding.statement in html
            assert finding.statement in text
            assert lines


def test_every_kind_of_finding_is_there(tmp_path):
    report = Report.of(everything(tmp_path))
    assert {finding.kind for finding in report.findings} == set(Kind)
    assert {mark for finding in report.findings for mark in finding.marks} == set(Mark) - {
        Mark.NONE,
        Mark.SUGGESTIVE,
        Mark.MIXED,
    }
    displays = {number.display for finding in report.findings for number in finding.numbers}
    assert {Display.INTERVAL, Display.VALUE} <= displays


def test_a_number_with_too_few_groups_is_a_value_alone_in_the_terminal_and_on_the_page(tmp_path):
    run = everything(tmp_path)
    (finding,) = [finding for finding in Report.of(run).findings if finding.name == "size"]
    (number,) = finding.numbers
    assert (number.display, number.text(), number.mark) == (Display.VALUE, "70 %", Mark.NONE)
    table = next(probe for probe in Report.of(run).probes if probe.label == "others").tables[0]
    assert [row[1].text for row in table.rows if row[0].text == "size"] == ["70 %"]


def test_each_table_is_read_once(tmp_path, monkeypatch):
    run, read = everything(tmp_path), []
    table = Run._table
    monkeypatch.setattr(Run, "_table", lambda self, name: (read.append(name), table(self, name))[1])
    report = Report.of(run)
    json_report.render(report)
    markdown(report)
    assert [probe.items for probe in report.probes]
    assert len(read) == len(set(read))
    assert "observations/pairs/solo.parquet" in read


@pytest.mark.parametrize(("form", "name"), [("markdown", "report.md"), ("json", "report.json")])
def test_the_report_is_written_in_other_formats(form, name, tmp_path):
    run = everything(tmp_path)
    result = CliRunner().invoke(app, ["report", str(run.folder), "--format", form])
    assert result.exit_code == 0, result.output
    assert result.output.strip() == str(run.folder / name)
    assert "larger is so" in (run.folder / name).read_text(encoding="utf-8")


HOLD = (
    "import sys; from pathlib import Path; from trueprobe.paths import locked\n"
    "with locked(Path(sys.argv[1]), 'command'): print('taken', flush=True); sys.stdin.read()"
)


def files_of(run: Run) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}


def test_a_report_that_another_is_writing_is_refused_and_harms_nothing(tmp_path):
    run = everything(tmp_path)
    path = files.write(run, files.ReportFormat.HTML)
    assert path.read_text(encoding="utf-8") == page.html(run)
    before = files_of(run)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(run.folder)], **pipes)
    assert other.stdout.readline() == "taken\n"
    for form in files.ReportFormat:
        with pytest.raises(BadInput, match=r"another command is writing .*; wait for it$"):
            files.write(run, form)
    other.communicate()
    after = files_of(run)
    assert {path: after[path] for path in before} == before
    for form in files.ReportFormat:
        assert files.write(run, form).exists()


def test_a_report_imports_no_engine_models_or_assets(tmp_path):
    run = everything(tmp_path)
    code = (
        "import sys\nfrom trueprobe.cli import app\n"
        f"app(['report', {str(run.folder)!r}], standalone_mode=False)\n"
        "heavy = ('trueprobe.engine', 'trueprobe.models', 'trueprobe.assets', 'torch', 'transformers')\n"
        "print(sorted(name for name in sys.modules if name.startswith(heavy)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"


def test_the_text_of_a_claim_about_two_models_names_both(tmp_path):
    run = everything(tmp_path)
    assert "  larger is so, toy against solo +30.0 [+20.0, +40.0]!" in in_terminal(run)
    (row,) = trueprobe.load_run(run.folder).findings.query("level == 'pair'").itertuples()
    assert (row.model, row.value, row.verdict) == ("toy against solo", 0.3, "opposite")

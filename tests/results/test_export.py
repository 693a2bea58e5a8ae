"""Exports: a model card that the hub reads, and tables that a spreadsheet and a paper take."""

from __future__ import annotations

import csv
import io
import re
import tomllib

import pandas as pd
import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from typer.testing import CliRunner

import made_runs
from made_runs import card, claim, estimate
from trueprobe.cli import app
from trueprobe.errors import BadInput
from trueprobe.probes.files import toml_value
from trueprobe.results.render import export
from trueprobe.results.render.spreadsheet import csv_text
from trueprobe.results.view import Report
from trueprobe.runs import Study, load_run
from trueprobe.types import Verdict

CLAIMS = [
    claim("solo", "one", 0.2, Verdict.AS_PUBLISHED, p=0.0001),
    claim("solo", "two", -0.2, Verdict.OPPOSITE, p=0.0001, statement="=HYPERLINK(0)"),
    claim("solo", "three", 0.1, Verdict.LOW_COVERAGE, covered=0.03),
]


def made(folder, models=("solo",), claims=CLAIMS, **more):
    cards = [card(name) for name in models]
    return load_run(made_runs.write(folder / "run", cards, [estimate("solo", "ties", 0.5)], claims, **more))


@pytest.fixture
def report(tmp_path):
    return Report.of(made(tmp_path))


def test_a_card_is_read_by_the_hubs_own_classes(report, tmp_path):
    (tmp_path / "README.md").write_text(export.model_card(report))
    loaded = ModelCard.load(tmp_path / "README.md")
    name, results = model_index_to_eval_results(loaded.data.to_dict()["model-index"])
    assert name == "solo"
    assert [(one.metric_type, one.metric_value, one.task_type) for one in results] == [
        ("one", 0.2, "fill-mask"),
        ("two", -0.2, "fill-mask"),
    ]
    first = results[0].metric_args
    assert (first["low"], first["high"]) == pytest.approx((0.1, 0.3))
    assert (first["verdict"], first["threshold"], first["unit"]) == ("as_published", 0.0, "probability")
    assert (results[0].dataset_name, results[0].dataset_revision) == ("pairs", "made")


def test_its_text_has_every_finding_with_verdict_and_reason(report):
    text = export.model_card(report).replace("\\", "")
    assert "| one is so | +20.0 [+10.0, +30.0]* points | as published |" in text
    assert "| three is so | – (3 % covered) | low coverage; 3% of them have a countable answer |" in text
    assert "- pairs: A behaviour." in text
    assert "# in a checkout of trueprobe 0.1\npip install -c constraints.txt .\ntrueprobe run study.toml" in text
    assert "@software{trueprobe," in text


def test_the_study_in_a_card_is_one_that_runs(report):
    block = export.model_card(report).partition("```toml\n")[2].partition("```")[0]
    study = Study.model_validate(tomllib.loads(block))
    assert (study.models, study.probes[0].label) == (("made",), "pairs")


def test_settings_are_written_as_toml():
    settings = {"text": 'a "b"\n\\ é\x7f', "many": ["x", 2.5], "yes": True, "none": None, "table": {"a b": 1}}
    again = tomllib.loads(f"settings = {toml_value(settings)}")["settings"]
    assert again == {key: value for key, value in settings.items() if value is not None}


def test_a_card_without_any_number_has_no_index(tmp_path):
    text = export.model_card(Report.of(made(tmp_path, claims=[CLAIMS[2]])))
    assert "model-index" not in text
    assert ModelCard(text).data.tags == ["trueprobe"]


def test_a_card_is_of_one_model(tmp_path):
    report = Report.of(made(tmp_path, ("solo", "other")))
    with pytest.raises(BadInput, match="a card is of one: name it with --model; choose from: solo, other"):
        export.model_card(report)
    with pytest.raises(BadInput, match="no model 'sol'; did you mean 'solo'"):
        export.model_card(report, "sol")
    assert "name: solo" in export.model_card(report, "solo")


def test_csv_has_numbers_unrounded_and_no_formulas(report):
    frame = pd.read_csv(io.StringIO(export.csv(report)))
    assert list(frame["finding"]) == ["one", "two", "three"]
    assert list(frame["value"][:2]) == [0.2, -0.2]  # numbers keep their sign
    assert frame.loc[2, ["value", "low", "high"]].isna().all()  # it decides nothing
    assert frame.loc[1, "statement"] == "'=HYPERLINK(0)"
    assert list(frame["verdict"]) == ["as_published", "opposite", "low_coverage"]


@pytest.mark.parametrize(
    "text", ["=1", "+1", "-1", "@a", "\tx", "\rx", " =1", "\n=1", " \r\n +1", "\u00a0-1", "\u200b@a", "\0=1", "＝1"]
)
def test_a_cell_that_a_spreadsheet_would_run_is_escaped(text):
    frame = pd.DataFrame({"cell": [text, f"a{text}", " a"], "number": [-1.0, 2.0, 3.0]})
    rows = list(csv.reader(io.StringIO(csv_text(frame), newline="")))[1:]
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # a carriage return would end the row
    assert rows == [[f"'{text}", "-1.0"], [f"a{text}", "2.0"], [" a", "3.0"]]


def test_latex_has_findings_down_and_families_across(tmp_path):
    text = export.tex(Report.of(made(tmp_path, ("solo", "other"))))
    assert r"finding & solo & other \\" in text
    assert r"one is so & +20.0 [+10.0, +30.0]* points & -- \\" in text
    assert "=HYPERLINK(0) &" in text  # escaped in CSV only


def command(*arguments):
    return CliRunner().invoke(app, ["export", *map(str, arguments)], catch_exceptions=False)


def test_the_command_prints_a_card_or_writes_files(tmp_path):
    folder = made(tmp_path).folder
    assert command(folder, "--model-card").output == export.model_card(Report.of(load_run(folder)))
    paths = [tmp_path / name for name in ("card.md", "f.csv", "f.tex")]
    options = ["--model-card", "--out", paths[0], "--csv", paths[1], "--latex", paths[2]]
    assert command(folder, *options).output.split() == [str(path) for path in paths]
    assert all(path.read_text() for path in paths)


def test_what_cannot_be_exported_is_refused(tmp_path):
    folder = made(tmp_path).folder
    for options in ([], ["--csv", "f.csv", "--model", "solo"], ["--csv", "f.csv", "--out", "x"]):
        with pytest.raises(BadInput, match="--model-card"):
            command(folder, *options)
    with pytest.raises(BadInput, match="is not finished"):
        command(made(tmp_path / "part", complete=False).folder, "--model-card")


def test_a_version_that_is_none_is_not_written_for_a_shell():
    assert export._reproduce_steps("0.1.dev2+g1")[0] == "# in a checkout of trueprobe 0.1.dev2+g1"
    assert export._reproduce_steps("1; curl x|sh")[0] == "# in a checkout of trueprobe"


def test_a_claim_has_its_items_and_conditions_in_csv_and_latex(tmp_path):
    claims = [claim("solo", "one", 0.2, Verdict.UNDECIDED, p=0.5, attractor="plural", n_items=40, unit="nats")]
    report = Report.of(made(tmp_path, claims=claims))
    frame = pd.read_csv(io.StringIO(export.csv(report)))
    assert (frame["n_items"][0], frame["conditions"][0]) == (40, "attractor=plural")
    assert r"one is so, attractor = plural & +0.20 [+0.10, +0.30] nats \\" in export.tex(report)


def test_bibtex_has_trueprobe_and_each_paper(report):
    entries = re.findall(r"^@\w+\{(\w+),", report.bibtex, re.MULTILINE)
    assert entries[0] == "trueprobe"
    assert "aribandi2021reliable" in entries


def test_latex_leaves_digests_to_the_signature(tmp_path):
    """A word of 64 characters fits no column."""
    claims = [claim("solo", "one", 0.2, Verdict.UNDECIDED, vocabulary="common", vocabulary_sha256="5" * 64)]
    tex = export.tex(Report.of(made(tmp_path, claims=claims)))
    assert "one is so, vocabulary = common &" in tex
    assert "5555" not in tex

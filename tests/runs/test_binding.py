"""Plans that bind: hashes, edits, deviations, and what is refused."""

from __future__ import annotations

import json
import tomllib

import pytest

from cli.test_cli import in_process
from trueprobe import probes
from trueprobe.probes.display import Primary
from trueprobe.results.text import planned as words
from trueprobe.results.view.planned import Departure
from trueprobe.results.view.report import Report
from trueprobe.runs import binding, pilot
from trueprobe.runs.folder import load_run
from trueprobe.runs.study import planned_study, read_study
from trueprobe.statistics.multiverse import Multiverse, Specification
from trueprobe.statistics.rows import Estimate

ASKED = ("pairs", "--set", "conditions=none", "--model")


@pytest.fixture(scope="module")
def desk(checkpoint, tmp_path_factory):
    """A plan, a run as planned, and one with fewer items."""
    folder = tmp_path_factory.mktemp("plans")
    done = in_process(
        "plan", *ASKED, checkpoint("bert"), "--effect", 10, "--per-group", 2, "--out", "p.toml", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert in_process("run", "p.toml", "--out", "as", cwd=folder).returncode == 0
    assert in_process("run", "p.toml", "--per-group", 1, "--out", "fewer", cwd=folder).returncode == 0
    return folder


def check(folder):
    return Report.of(load_run(folder)).plan_check


def test_a_plan_is_a_study_with_its_hash(desk):
    study = read_study(str(desk / "p.toml"))
    assert study.per_group == 2
    assert study.plan.intact
    assert study.plan.n_list == 1
    assert study.plan.numbers[0].effect == pytest.approx(0.1)
    assert study.plan.items == {"pairs": 24}
    written = (desk / "p.toml").read_text(encoding="utf-8")
    assert binding.toml(study.plan, planned_study(study, here=True)) == written


def test_the_hash_and_what_is_passed_on_know_no_folder_of_this_machine(desk, checkpoint, tmp_path):
    plan = read_study(str(desk / "p.toml")).plan
    assert str(checkpoint("bert").parent) not in plan.model_dump_json()
    assert str(checkpoint("bert").parent) not in (desk / "as" / "manifest.json").read_text()
    moved = (desk / "p.toml").read_text(encoding="utf-8").replace(str(checkpoint("bert").parent), "/elsewhere")
    (tmp_path / "moved.toml").write_text(moved, encoding="utf-8")
    assert read_study(str(tmp_path / "moved.toml")).plan.hash == plan.hash


@pytest.mark.parametrize(("before", "after"), [("effect = 0.1", "effect = 0.01"), ("per_group = 2", "per_group = 1")])
def test_an_edited_plan_is_refused(desk, before, after):
    text = (desk / "p.toml").read_text(encoding="utf-8")
    assert before in text
    (desk / "edited.toml").write_text(text.replace(before, after), encoding="utf-8")
    refused = in_process("run", "edited.toml", cwd=desk)
    assert refused.returncode == 2
    assert "edited after it was planned" in refused.stderr


def test_a_run_as_planned_has_no_deviation(desk):
    made = check(desk / "as")
    assert made.deviations == ()
    assert made.hash == tomllib.loads((desk / "p.toml").read_text())["plan"]["hash"]
    assert words.lines(Report.of(load_run(desk / "as")))[0].endswith("; run as planned.")


def test_deviations_are_listed_everywhere(desk):
    made = check(desk / "fewer")
    assert {one.what for one in made.deviations} == {Departure.METHOD, Departure.ITEMS}
    said = "Not as planned: items of pairs: 12 instead of 24."
    for form, file in (("html", "report.html"), ("markdown", "report.md")):
        assert in_process("report", "fewer", "--format", form, cwd=desk).returncode == 0
        assert said in (desk / "fewer" / file).read_text(encoding="utf-8")
    again = in_process("run", "p.toml", "--per-group", 1, "--out", "fewer", cwd=desk)
    assert said in again.stdout
    assert made.hash[: words.SHORT_HASH] in again.stdout


def test_another_model_and_a_changed_list_are_deviations(desk, tmp_path):
    """In the folder, where a later version could have changed what is primary."""
    run = load_run(desk / "as")
    content = json.loads((run.folder / "manifest.json").read_text())
    content["study"]["models"] = ["other"]
    content["study"]["plan"]["list"] = ["pairs: something else"]
    copied = tmp_path / "run"
    copied.mkdir()
    for path in run.folder.rglob("*"):
        target = copied / path.relative_to(run.folder)
        target.mkdir(parents=True, exist_ok=True) if path.is_dir() else target.write_bytes(path.read_bytes())
    (copied / "manifest.json").write_text(json.dumps(content))
    found = {one.what for one in check(copied).deviations}
    assert found == {Departure.EDITED, Departure.MODELS, Departure.LIST}


def test_a_plan_puts_the_joint_test_of_its_axes_on_the_list(checkpoint, tmp_path):
    """The list is longer by the test, which is missing until it is counted, along the planned axes alone."""
    planned = [*ASKED, checkpoint("bert"), "--effect", 10, "--out", "p.toml", "--axes"]
    refused = in_process("plan", *planned, "lenght", cwd=tmp_path)
    assert (refused.returncode, "did you mean 'length'" in refused.stderr) == (2, True)
    assert in_process("plan", *planned, "length,mean over", cwd=tmp_path).returncode == 0
    assert read_study(str(tmp_path / "p.toml")).plan.n_list == 2
    assert in_process("run", "p.toml", "--out", "r", "--store", "a.sqlite", cwd=tmp_path).returncode == 0
    assert [one.what for one in check(tmp_path / "r").deviations] == [Departure.JOINT]
    (number,) = (row for row in load_run(tmp_path / "r").rows(Estimate) if row.n_list)
    assert (number.n_list, number.p_list) == (2, pytest.approx(min(1, 2 * number.p_interval)))
    counted = in_process("multiverse", "r", "--store", "a.sqlite", cwd=tmp_path)
    assert "on the report's list, of length 2" in " ".join(counted.stdout.split())
    assert check(tmp_path / "r").deviations == ()
    (whole,) = load_run(tmp_path / "r").rows(Multiverse)
    assert (whole.n_list, whole.p_list) == (2, pytest.approx(min(1, 2 * whole.p)))
    ways = load_run(tmp_path / "r").rows(Specification)
    assert {tuple(way.conditions) for way in ways} <= {("length", "mean over"), ("length",), ("mean over",)}


# ---------------------------------------------------------------- the command


def test_plan_shows_widths_power_and_what_seeds_change(tmp_path):
    done = in_process(
        "plan",
        "pairs",
        "--set",
        "conditions=none",
        "--model",
        "nursery",
        "--effect",
        10,
        "--width",
        60,
        "--json",
        cwd=tmp_path,
    )
    (family,) = json.loads(done.stdout)
    (number,) = family["numbers"]
    assert family["n_seeds"] == 5
    assert number["variances"]["n_seeds"] == 3
    assert number["effect"] == pytest.approx(0.1)
    by_design = {(one["seeds"], one["choice"]["per_group"]): one for one in number["designs"]}
    whole = by_design[5, None]
    assert whole["rows"] > 0
    assert whole["seconds"] > 0
    assert by_design[5, 1]["width"] > whole["width"]
    assert by_design[10, None]["width"] < whole["width"]
    assert by_design[5, 1]["items"] == 12
    assert number["wanted"]["width"] <= 0.6
    again = in_process("plan", "pairs", "--set", "conditions=none", "--model", "nursery", "--effect", 10, cwd=tmp_path)
    assert "detectable" in again.stdout


def test_plan_from_a_run_needs_no_model(desk):
    done = in_process("plan", "pairs", "--from-run", "as", "--effect", 10, cwd=desk)
    assert done.returncode == 0, done.stderr
    assert "an earlier run with 1 seed" in done.stdout
    assert "says nothing about other seeds" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "mini"), "no effect given"),
        (("--model", "mini", "--effect", 0), "larger than 0"),
        (("--model", "mini", "--effect", -5), "larger than 0"),
        (("--model", "mini", "--effect", "many"), "MEASURE=VALUE"),
        (("--model", "mini", "--effect", 5, "--width", 0), "--width"),
        (("--effect", 5), "name the models"),
        (("--model", "mini", "--effect", 5, "--measure", "acuracy"), "did you mean 'accuracy'"),
        (("--model", "mini", "--effect", "ties=5"), "no such number is planned"),
        (("--from-run", "nowhere", "--effect", 5), "not a run folder"),
        (("--model", "mini", "--effect", 5, "--limit", 3), "--out FILE"),
        (("--model", "replay:nowhere", "--effect", 5), "released outputs"),
    ],
)
def test_bad_input_of_plan_is_explained(arguments, said, tmp_path):
    refused = in_process("plan", "pairs", *arguments, cwd=tmp_path)
    assert refused.returncode == 2, refused.stdout
    assert said in refused.stderr


def test_plan_help_has_an_example():
    done = in_process("plan", "--help")
    assert "trueprobe plan stereoset --model nursery --effect 5 --width 8" in " ".join(done.stdout.split())


# ---------------------------------------------------------------- what ships


def test_shipped_variances_are_of_numbers_that_probes_have():
    for entry in tomllib.loads(pilot.SHIPPED.read_text(encoding="utf-8"))["variances"]:
        probe = probes.find(entry["probe"])
        assert entry["model"] in ("nursery", "mini")
        assert entry["number"].partition("[")[0] in {one.measure for one in _declared(probe, entry)}, entry
        assert all(entry[name] >= 0 for name in ("groups", "items", "seeds_by_groups", "seeds_by_items"))
        assert ("seeds" in entry) is (entry["model"] == "nursery")


def _declared(probe, entry):
    """The primary numbers; of a probe without, the one that a plan takes."""
    made = probes.make(entry["probe"], {"data": "sample"} if entry["probe"] in ("crows_pairs", "stereoset") else {})
    first = Primary(made.summary.measures[0])
    return made.primary or (first,)


def test_plan_with_shipped_variances_times_one_seed(tmp_path):
    done = in_process("plan", "pairs", "--model", "nursery/0", "--shipped", "--effect", 10, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (family,) = json.loads(done.stdout)
    assert family["source"] == "shipped"
    assert (
        family["numbers"][0]["variances"]["n_seeds"] == 5
    )  # of nursery: those of this family, or the first that ships
    unknown = in_process(
        "plan", "pairs", "--model", "nursery/0", "--shipped", "--effect", 10, "--measure", "ties", cwd=tmp_path
    )
    assert unknown.returncode == 2
    assert "no shipped variances" in unknown.stderr

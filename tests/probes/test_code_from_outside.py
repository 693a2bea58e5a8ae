"""Probes and backends that are not shipped: folders of files, installed distributions, and whose code is run when."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

import trueprobe
from materials import SKELETON
from trueprobe import probes
from trueprobe.cli import app, listing
from trueprobe.errors import BadInput
from trueprobe.models import open_model
from trueprobe.runs import make_study, read_study
from trueprobe.runs.compare import between_runs


def shapes(name: str) -> str:
    return SKELETON.replace('name = "colours"', f'name = "{name}"')


@pytest.fixture
def folder(tmp_path):
    """Two probes, a test, and what they share."""
    (tmp_path / "mine").mkdir()
    for name in ("colours", "shapes"):
        (tmp_path / "mine" / f"{name}.py").write_text(shapes(name), encoding="utf-8")
    for name in ("test_colours.py", "_shared.py", "conftest.py", "notes.txt"):
        (tmp_path / "mine" / name).write_text("raise SystemExit('must not be run')", encoding="utf-8")
    return tmp_path / "mine"


# ---------------------------------------------------------------- files and folders


def test_a_folder_is_the_probes_in_it(folder):
    study, _ = make_study([str(folder), "counteracts"], "nursery")
    assert [probe.label for probe in study.probes] == ["colours", "shapes", "counteracts"]
    files = [str(folder / "colours.py"), str(folder / "shapes.py")]
    assert [probe.name for probe in make_study(files, "nursery")[0].probes] == files


def test_a_run_of_a_folder_asks_each_of_its_probes(folder, checkpoint, tmp_path):
    done = trueprobe.run(str(folder), models=[str(checkpoint("bert"))], out=tmp_path / "run", store=":memory:")
    assert done.probes == ["colours", "shapes"]


def test_a_folder_without_probes_is_reported(tmp_path):
    (tmp_path / "_shared.py").write_text("")
    with pytest.raises(BadInput, match="no probe in the folder"):
        make_study(str(tmp_path), "nursery")


# ---------------------------------------------------------------- code is run only where the user names it


def test_a_broken_study_is_reported_as_such_and_runs_no_code(tmp_path):
    for text in ("probes = 3", 'probes = ["x.py"]', "[[probes]]\nname = 3", 'probes = [{nam = "x.py"}]'):
        (tmp_path / "study.toml").write_text(text)
        with pytest.raises(BadInput, match=r"study\.toml: probes"):
            read_study(str(tmp_path / "study.toml"))


def test_a_run_folder_runs_no_code_unasked(folder, checkpoint, tmp_path):
    models = [str(checkpoint("bert")), str(checkpoint("bert-no-next"))]
    done = trueprobe.run(str(folder / "colours.py"), models=models, out=tmp_path / "run", store=":memory:")
    assert len(trueprobe.compare(done, "bert", "bert-no-next"))  # whose code was just run
    with pytest.raises(BadInput, match=r"the probe .*colours\.py is a file, whose code would be run; .*--allow-code"):
        trueprobe.compare(trueprobe.load_run(done.folder), "bert", "bert-no-next")
    assert len(trueprobe.compare(trueprobe.load_run(done.folder, allow_code=True), "bert", "bert-no-next"))
    command = ["compare", str(tmp_path / "run"), "--a", "bert", "--b", "bert-no-next"]
    assert isinstance(CliRunner().invoke(app, command).exception, BadInput)
    assert CliRunner().invoke(app, [*command, "--allow-code"]).exit_code == 0


def test_a_comparison_with_a_baseline_runs_no_code_unasked(folder, checkpoint, tmp_path):
    """As `gate --against` makes it."""
    for name, model in (("before", "bert"), ("after", "bert-no-next")):
        models = [f"mine={checkpoint(model)}"]
        trueprobe.run(str(folder / "colours.py"), models=models, out=tmp_path / name, store=":memory:")

    def differences(allow_code: bool):
        runs = [trueprobe.load_run(tmp_path / name, allow_code) for name in ("after", "before")]
        cards = tuple(run.cards for run in runs)
        return between_runs(*runs, "colours", cards, [("right_minus_wrong_nats", {"kind": "colour"})])

    with pytest.raises(BadInput, match="--allow-code"):
        differences(allow_code=False)
    assert [row.measure for row in differences(allow_code=True)] == ["right_minus_wrong_nats"]


# ---------------------------------------------------------------- installed distributions

BACKEND = """
from trueprobe.errors import BadInput

def accepts(source, config):
    return config.model_type == "bert"

def outline(source, config, options):
    raise BadInput("outlined by the installed backend")

def open_model(source, config, options):
    raise BadInput("opened by the installed backend")
"""


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """distribution(modules, entry points): a made-up installed distribution."""

    def make(modules: dict[str, str], points: str, version: str = "1.2"):
        site = tmp_path / f"site-{version}"
        about = site / f"made_up-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: made-up\nVersion: {version}\n")
        (about / "entry_points.txt").write_text(points)
        for name, text in modules.items():
            (site / f"{name}.py").write_text(text, encoding="utf-8")
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(str(site))

    return make


def test_an_installed_probe_is_found_by_its_name(distribution, checkpoint, tmp_path):
    distribution({"made_colours": SKELETON}, "[trueprobe.probes]\ncolours = made_colours:PROBE\n")
    assert "colours" in probes.names()
    done = trueprobe.run("colours", models=[str(checkpoint("bert"))], out=tmp_path / "run", store=":memory:")
    assert (done.probes, done.study.probes[0].file) == (["colours"], "")
    assert probes.make_again(done.study.probes[0].model_dump()).items() == probes.make("colours").items()
    assert next(row for row in listing.probes() if row["name"] == "colours")["paper"] == "none"


def test_another_version_of_a_distribution_is_another_material(distribution):
    points = "[trueprobe.probes]\ncolours = made_colours:PROBE\n"
    ids = set()
    for version in ("1.2", "1.3"):
        distribution({"made_colours": SKELETON}, points, version)
        ids.add(probes.make("colours").material_id)
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere", "'colours' of made-up 1.2 cannot be imported (made_colours:PROBE): ModuleNotFoundError"),
        ("PROBE = 3", "made-up 1.2, made_colours:PROBE: PROBE is 3, not a subclass"),
        (shapes("shapes"), "the entry point is called 'colours', the probe 'shapes'"),
    ],
)
def test_a_broken_distribution_is_reported_where_it_is_used_and_listed(distribution, text, message):
    distribution({"made_colours": text}, "[trueprobe.probes]\ncolours = made_colours:PROBE\n")
    with pytest.raises(BadInput) as error:
        probes.make("colours")
    assert message in str(error.value)
    assert message in next(row for row in listing.probes() if row["name"] == "colours")["short"]
    assert probes.make("pairs").items()


def test_a_distribution_replaces_no_shipped_probe(distribution):
    distribution({"made_colours": shapes("seat")}, "[trueprobe.probes]\nseat = made_colours:PROBE\n")
    assert probes.find("seat").__module__ == "trueprobe.probes.seat.probe"


def test_an_installed_backend_is_tried_first(distribution, checkpoint):
    distribution({"made_backend": BACKEND}, "[trueprobe.models]\nmine = made_backend\n")
    with pytest.raises(BadInput, match="opened by the installed backend"):
        open_model(str(checkpoint("bert")))
    assert open_model(str(checkpoint("gpt2"))).card.kind == "causal"  # which it does not accept


BACKEND_CLASS = """
from trueprobe.errors import BadInput
from trueprobe.models import Backend

class Mine(Backend):
    def accepts(self, source, config):
        return config.model_type == "bert"

    def outline(self, source, config, options):
        raise BadInput("outlined by a class")
"""


def test_an_installed_backend_can_be_a_class(distribution, checkpoint):
    opens = "    def open_model(self, source, config, options):\n        raise BadInput('opened by a class')\n"
    distribution({"made_backend": BACKEND_CLASS + opens}, "[trueprobe.models]\nmine = made_backend:Mine\n")
    with pytest.raises(BadInput, match="opened by a class"):
        open_model(str(checkpoint("bert")))


def test_an_abstract_backend_is_reported(distribution, checkpoint):
    distribution({"made_backend": BACKEND_CLASS}, "[trueprobe.models]\nmine = made_backend:Mine\n")
    with pytest.raises(BadInput, match=r"the backend 'mine' of made-up 1\.2 lacks open_model"):
        open_model(str(checkpoint("bert")))


def test_a_backend_without_its_functions_is_reported(distribution, checkpoint):
    distribution({"made_backend": "accepts = 3"}, "[trueprobe.models]\nmine = made_backend\n")
    with pytest.raises(BadInput, match=r"the backend 'mine' of made-up 1\.2 lacks accepts, outline, open_model"):
        open_model(str(checkpoint("bert")))

"""A user's probe is one file: the skeleton of the docs runs as it stands, and what is wrong with a file is reported."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

import trueprobe
from materials import SKELETON
from trueprobe import probes
from trueprobe.cli import app
from trueprobe.errors import BadInput
from trueprobe.runs import make_study


@pytest.fixture
def write(tmp_path):
    def write(text: str = SKELETON, name: str = "colours.py") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def edited(old: str, new: str) -> str:
    assert old in SKELETON, old
    return SKELETON.replace(old, new)


# ---------------------------------------------------------------- the skeleton


def test_commands_take_the_path_of_a_file(write):
    for command in (["items"], ["check", "probe"]):
        result = CliRunner().invoke(app, [*command, write()])
        assert result.exit_code == 0, result.output
    assert "FAIL" not in result.output
    assert result.output.count("ok ") > 10


def test_a_run_calls_it_by_its_name(write, checkpoint, tmp_path):
    path = write()
    done = trueprobe.run(path, models=[str(checkpoint("bert"))], out=tmp_path / "run", store=":memory:")
    assert done.probes == ["colours"]
    assert set(done.observations("colours")["item"]) == {"snow", "grass", "blood"}
    assert set(done.estimates["probe"]) == {"colours"}
    (entry,) = done.study.probes
    assert (entry.name, entry.file) == ("colours", path)
    assert done.manifest.study.probes[0].file == "colours.py"  # of a path, its last part


def test_the_probe_of_a_run_is_made_again_from_its_file(write, checkpoint, tmp_path):
    done = trueprobe.run(write(), models=[str(checkpoint("bert"))], out=tmp_path / "run", store=":memory:")
    entry = done.study.probes[0].model_dump()
    assert probes.make_again(entry, allow_code=True).items() == probes.make(write(), allow_code=True).items()
    write(edited('"red", "blue"', '"red", "pink"'))
    with pytest.raises(BadInput, match="the material of colours has changed"):
        probes.make_again(entry, allow_code=True)


def test_an_edited_file_is_another_material_and_is_loaded_anew(write):
    first = probes.make(write(), allow_code=True)
    same = probes.make(write(), allow_code=True)
    other = probes.make(write(edited('"red", "blue"', '"red", "pink"')), allow_code=True)
    assert first.material_id == same.material_id != other.material_id
    assert [item.fields["words"] for item in (first.items()[2], other.items()[2])] == [("red", "blue"), ("red", "pink")]


def test_what_the_class_calls_its_material_counts_too(write):
    member = "    @property\n    def material_id(self) -> str:\n        return str(self.settings.resample_seed)\n\n"
    path = write(edited("    def items(self)", member + "    def items(self)"))
    assert len({probes.make(path, {"resample_seed": seed}, allow_code=True).material_id for seed in (0, 1, 1)}) == 2


def test_a_study_names_it_by_its_path(write, tmp_path):
    (tmp_path / "study.toml").write_text(f'models = ["nursery"]\n[[probes]]\nname = "{write()}"\n', encoding="utf-8")
    study, _ = make_study(str(tmp_path / "study.toml"), allow_code=True)
    assert [probe.label for probe in study.probes] == ["colours"]


def test_it_runs_beside_a_shipped_one_and_each_takes_its_settings(write):
    study, _ = make_study([write(), "counteracts"], "nursery", {"backgrounds": 1})
    assert [(probe.label, probe.settings) for probe in study.probes] == [
        ("colours", {}),
        ("counteracts", {"backgrounds": 1}),
    ]


# ---------------------------------------------------------------- what is wrong with a file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (edited("PROBE = Colours", ""), "no PROBE in it"),
        (
            edited("PROBE = Colours", "PROBE = Colours.name"),
            "PROBE is 'colours', not a subclass of trueprobe.pro",
        ),
        (edited("PROBE = Colours", "PROBE = dict"), "not a subclass of trueprobe.probes.Probe"),
        (edited("def planted(", "def plant("), "Colours lacks planted"),
        (edited('    factors = ("thing",)\n', ""), "Colours lacks factors"),
        (edited('name = "colours"', 'name = "seat"'), "the name 'seat' is a shipped probe's"),
        (edited('name = "colours"', 'name = "my colours"'), "the name 'my colours' becomes a file name"),
        (edited('name = "colours"', 'name = "colours"\n    Settings = dict'), "Settings is not a subclass of"),
        (edited("from trueprobe.probes import Probe", "import nowhere"), "line 10: cannot be imported: ModuleNotFound"),
        (edited("class Colours(Probe):", "class Colours(Probe:"), ": cannot be imported: SyntaxError"),
        ("raise SystemExit(3)\n", "line 1: cannot be imported: SystemExit: 3"),
        ("\0", "cannot be imported"),
    ],
)
def test_a_file_that_holds_no_probe_is_reported(write, text, message):
    path = write(text)
    with pytest.raises(BadInput) as error:
        probes.make(path, allow_code=True)
    assert message in str(error.value)
    assert "colours.py" in str(error.value)


def test_a_missing_file_and_a_folder_are_reported(tmp_path):
    (tmp_path / "folder.py").mkdir()
    for path in ("./nowhere.py", str(tmp_path / "folder.py")):
        with pytest.raises(BadInput, match=re.escape(f"no probe '{path}'")):
            probes.find(path, allow_code=True)
    result = CliRunner().invoke(app, ["run", "./nowhere.py", "--model", "nursery"])
    assert isinstance(result.exception, BadInput)


def test_a_wrong_setting_is_reported_with_the_path(write):
    with pytest.raises(BadInput, match=r"colours\.py has no setting 'seed'"):
        probes.make(write(), {"seed": 1}, allow_code=True)

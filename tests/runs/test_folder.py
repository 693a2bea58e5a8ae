"""A run folder can be passed on and trusted: no paths of the machine, checksums, names that stay within it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import trueprobe
import zoo
from trueprobe.errors import BadInput
from trueprobe.runs import Run, RunFolder, load_run
from trueprobe.runs.folder import LOCAL, MANIFEST, PROBES, TIMING
from trueprobe.runs.schema import FORMAT, TABLES, Manifest, ProbeDeclaration, StudyDescription, StudyEntry
from trueprobe.runs.study import portable
from trueprobe.statistics.rows import Estimate

pytestmark = pytest.mark.slow

OUTSIDE = ("../../OWNED", "a/b", ".x", "", "a\\b", "a\0b", "x" * 300)


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    """Two seeds and a material file, at absolute paths below a folder whose name appears nowhere else."""
    desk = tmp_path_factory.mktemp("secret-desk")
    for seed in range(2):
        zoo.save("bert", desk / f"mine-seed{seed}", seed)
    shipped = next(Path(trueprobe.__file__).parent.rglob("gender.toml"))
    shutil.copy(shipped, desk / "people.toml")
    return desk


@pytest.fixture(scope="module")
def again(desk) -> Callable[[], Run]:
    """The study, run into the same folder each time."""
    models = ",".join(str(desk / f"mine-seed{seed}") for seed in range(2))
    settings = {"material": str(desk / "people.toml"), "backgrounds": 1}
    where = {"out": desk / "run", "store": desk / "store"}
    return lambda: trueprobe.run("counteracts", models=[f"mine={models}"], settings=settings, limit=20, **where)


@pytest.fixture(scope="module")
def made(again) -> Run:
    return again()


@pytest.fixture
def copy(made, tmp_path) -> Path:
    """A copy of the run, to be damaged."""
    return shutil.copytree(made.folder, tmp_path / "copy")


def edit(path: Path, change: Callable[[dict], object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- no paths of the machine


def test_only_local_json_names_the_folders_of_the_machine(made, desk):
    named = {name for name, content in contents(made.folder).items() if b"secret-desk" in content}
    tables = {name for name in contents(made.folder) if name.endswith(".parquet")}
    named |= {name for name in tables if "secret-desk" in pd.read_parquet(made.folder / name).to_csv()}
    assert named == {LOCAL}
    local = json.loads((made.folder / LOCAL).read_text())
    assert local["sources"] == {f"mine-seed{seed}": str((desk / f"mine-seed{seed}").resolve()) for seed in range(2)}
    assert made.manifest.study.models == ("mine=mine-seed0,mine-seed1",)
    assert made.manifest.study.probes[0].settings["material"] == "people.toml"
    assert made.declarations["counteracts"].settings["material"] == "people.toml"
    assert made.study.probes[0].settings["material"] == str(desk / "people.toml")


def test_a_run_into_the_same_folder_goes_on_and_gives_the_same_bytes(made, again):
    before = contents(made.folder)
    assert again().complete
    after = contents(made.folder)
    assert {name for name in before | after if before.get(name) != after.get(name)} <= {TIMING}


def test_a_folder_that_was_passed_on_without_local_json_can_be_read_and_run_into(made, again, copy):
    (copy / LOCAL).unlink()
    run = load_run(copy)
    assert run.study == run.manifest.study
    assert run.local is None
    assert run.declarations == made.declarations
    assert run.items("counteracts").equals(made.items("counteracts"))
    assert run.observations("counteracts").equals(made.observations("counteracts"))
    for row in TABLES.values():
        assert len(run.rows(row)) == len(made.rows(row))
    (made.folder / LOCAL).rename(made.folder.parent / "aside.json")
    try:
        assert again().local is not None  # the same study by its last parts: it has its paths again
    finally:
        (made.folder.parent / "aside.json").replace(made.folder / LOCAL)


def test_a_study_with_other_paths_is_another_run(made, desk, copy):
    other = made.study.model_copy(update={"models": ("mine=/elsewhere/mine-seed0,/elsewhere/mine-seed1",)})
    with pytest.raises(BadInput, match=r"holds a different run \(different models\)"):
        RunFolder(copy, other).refuse_other_runs()
    RunFolder(copy, made.study).refuse_other_runs()
    (copy / LOCAL).unlink()
    RunFolder(copy, other).refuse_other_runs()  # nothing tells them apart but the weights
    renamed = made.study.model_copy(update={"models": ("mine=/elsewhere/a,/elsewhere/b",)})
    with pytest.raises(BadInput, match=r"holds a different run \(different models\)"):
        RunFolder(copy, renamed).refuse_other_runs()


@pytest.mark.parametrize(
    ("spec", "passed_on"),
    [
        ("/home/me/bert", "bert"),
        ("/home/me/bert/", "bert"),
        ("~/bert", "bert"),
        ("~me/bert", "bert"),
        ("fam=/home/me/a,/home/me/b", "fam=a,b"),
        ("fam=/home/me/seed{0..24}", "fam=seed{0..24}"),
        ("fam=/home/me/step{1000,2000}/model,/home/me/x", "fam=model,x"),
        ("replay:/home/me/outputs", "replay:outputs"),
        ("replay:fam=/home/me/outputs", "replay:fam=outputs"),
        ("m=/home/me/a?tokenizer=/home/me/t&start=eot", "m=a?tokenizer=t&start=eot"),
        *((same, same) for same in ("nursery", "google/bert", "pythia=org/p@step{1,2}", "./my-bert", "../a/b", "a,b")),
        ("served:http://127.0.0.1:8000/v1#m", "served:http://127.0.0.1:8000/v1#m"),
    ],
)
def test_of_a_path_its_last_part_is_passed_on(spec, passed_on):
    study = portable(description(models=(spec,), settings={"data": spec, "both": [spec, {"x": spec}], "k": 3}))
    assert study.models == (passed_on,)
    assert study.probes[0].settings == {"data": passed_on, "both": [passed_on, {"x": passed_on}], "k": 3}
    assert portable(study) == study


def description(models=(), settings=None, label="p") -> StudyDescription:
    entry = StudyEntry(label=label, name="p", settings=settings or {}, material_id="")
    fixed = {"title": "", "limit": None, "dtype": "float32", "intervals": "crossed"}
    return StudyDescription(probes=(entry,), models=models, **fixed)


# ---------------------------------------------------------------- damage


def test_every_table_and_declaration_has_a_checksum(made):
    files = {name for name in contents(made.folder) if name.endswith(".parquet")} | {PROBES}
    assert set(made.manifest.checksums) == files


READERS = {
    "items/counteracts.parquet": lambda run: run.items("counteracts"),
    "observations/counteracts/mine-seed0.parquet": lambda run: run.observations("counteracts"),
    "estimates/counteracts.parquet": lambda run: run.rows(Estimate),
    "claims.parquet": lambda run: run.claims,
    "probes.json": lambda run: run.declarations,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("complete", [True, False])
def test_a_damaged_file_is_refused_with_its_name(copy, name, complete):
    """In a finished run by its checksum, in an interrupted one because it cannot be read."""
    if not complete:
        edit(copy / MANIFEST, lambda manifest: manifest.update(complete=False, checksums={}))
    READERS[name](load_run(copy))
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInput, match="checksum differs" if complete else "is damaged") as refused:
        READERS[name](load_run(copy))
    assert name in str(refused.value)


def test_a_table_that_someone_edited_is_refused(copy):
    path = copy / "estimates/counteracts.parquet"
    pd.read_parquet(path).assign(value=1.0).to_parquet(path, index=False)
    with pytest.raises(BadInput, match=r"estimates/counteracts\.parquet is not what the run wrote"):
        _ = load_run(copy).estimates


def test_a_table_that_an_earlier_run_left_is_no_table_of_this_one(copy):
    shutil.copy(copy / "claims.parquet", copy / "signs.parquet")
    run = load_run(copy)
    with pytest.raises(BadInput, match="has no table 'signs'"):
        run.table("signs")


@pytest.mark.parametrize("name", ["estimate", "../copy/claims", "items/counteracts", "manifest"])
def test_only_declared_tables_can_be_asked_for(copy, name):
    with pytest.raises(BadInput, match="has no table"):
        load_run(copy).table(name)


def test_an_interrupted_run_is_named_as_such(copy):
    edit(copy / MANIFEST, lambda manifest: manifest.update(complete=False, checksums={}))
    (copy / "estimates/counteracts.parquet").unlink()
    (copy / PROBES).unlink()
    run = load_run(copy)
    assert not run.complete
    assert run.rows(Estimate) == []
    with pytest.raises(BadInput, match="interrupted: run it again into the same folder"):
        _ = run.estimates
    with pytest.raises(BadInput, match="interrupted: run it again into the same folder"):
        _ = run.declarations


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '"x"', "\xff", '{"began": "early"}', '{"began": null}'])
def test_a_damaged_clock_is_refused_with_its_name(copy, content):
    (copy / TIMING).write_text(content, encoding="latin-1")
    with pytest.raises(BadInput, match=r"timing\.json is damaged"):
        _ = load_run(copy).timing


@pytest.mark.parametrize("content", ["", "[]", "{}", "7"])
def test_damaged_results_of_a_task_are_refused_with_their_name(copy, content):
    path = copy / "downstream" / "task-mine" / "downstream.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(BadInput, match=r"task-mine/downstream\.json is damaged"):
        _ = load_run(copy).downstream


# ---------------------------------------------------------------- the manifest


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "7", '{"format": "two"}', '{"format": null}', f'{{"format": {FORMAT}}}']
)
def test_a_damaged_manifest_is_refused(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(BadInput, match=r"manifest\.json is damaged"):
        load_run(tmp_path)


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with pytest.raises(BadInput, match=r"is not a run folder: it has no manifest\.json"):
        load_run(tmp_path)


@pytest.mark.parametrize(("written", "by"), [(1, "an earlier"), (FORMAT - 1, "an earlier"), (FORMAT + 1, "a newer")])
def test_another_format_is_refused_with_what_to_do(tmp_path, written, by):
    (tmp_path / MANIFEST).write_text(json.dumps({"format": written, "complete": True, "study": {}, "where": {}}))
    message = rf"was written by {by} trueprobe \(format {written}, this one reads {FORMAT}\); run the study again"
    for read in (load_run, lambda folder: RunFolder(folder, description()).refuse_other_runs()):
        with pytest.raises(BadInput, match=message) as refused:
            read(tmp_path)
        assert "another --out" in str(refused.value)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("where", ["label", "model"])
def test_names_that_lead_out_of_the_folder_are_refused_on_reading(copy, where, name):
    def rename(manifest: dict) -> None:
        entry = manifest["study"]["probes"][0] if where == "label" else manifest["cards"][0]
        entry["label" if where == "label" else "name"] = name

    edit(copy / MANIFEST, rename)
    with pytest.raises(BadInput, match=r"(?s)manifest\.json is damaged.*cannot be a file's name"):
        load_run(copy)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("where", ["figures", "tables"])
def test_figures_and_tables_named_so_are_refused_too(copy, where, name):
    def rename(declared: dict) -> None:
        declared["counteracts"][where][0]["name"] = name

    edit(copy / PROBES, rename)
    edit(copy / MANIFEST, lambda manifest: manifest.update(checksums={}))
    with pytest.raises(BadInput, match=r"(?s)probes\.json is damaged.*cannot be a file's name"):
        _ = load_run(copy).declarations


@pytest.mark.parametrize("name", OUTSIDE)
def test_labels_in_local_json_are_refused_too(copy, name):
    edit(copy / LOCAL, lambda local: local["study"]["probes"][0].update(label=name))
    with pytest.raises(BadInput, match=r"local\.json is damaged"):
        _ = load_run(copy).study


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_is_written_under_such_a_name(tmp_path, name):
    folder = RunFolder(tmp_path / "run", description())
    with pytest.raises(BadInput, match="cannot be a file's name"):
        folder.observations("p", name, [pd.DataFrame({"item": ["a"]})], ())
    with pytest.raises(BadInput, match="cannot be a file's name"):
        folder.items(name, [pd.DataFrame({"item": ["a"]})])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("key", ["extra", "format", "complete", "study"])
def test_fields_that_are_unknown_or_missing_are_refused(copy, key):
    edit(copy / MANIFEST, lambda manifest: manifest.update(extra=1) if key == "extra" else manifest.pop(key))
    with pytest.raises(BadInput, match=rf"(?s)manifest\.json is damaged.*{key}"):
        load_run(copy)


def test_what_is_declared_is_what_is_read(made):
    assert Manifest.model_validate_json(made.manifest.model_dump_json()) == made.manifest
    for declaration in made.declarations.values():
        assert ProbeDeclaration.model_validate_json(declaration.model_dump_json()) == declaration
        assert declaration.figures
        assert declaration.tables

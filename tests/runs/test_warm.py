"""A repeated run opens no model and counts nothing; what changed, and only that, is counted again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

import trueprobe
import zoo
from materials import SKELETON
from trueprobe.errors import BadInput
from trueprobe.models import checkpoint as checkpoint_files
from trueprobe.models.network import Network
from trueprobe.probes.counteracts.probe import CounterActs
from trueprobe.runs import cache, execute, make_study, tables

OTHER_WORDS = '[verbalizer]\nfemale = ["nurse"]\nmale = ["driver"]\n'


@pytest.fixture
def done(monkeypatch):
    """What was done: networks built (with or without weights), batches computed, probes counted."""
    counts: Counter[str] = Counter()
    built, read, counted = checkpoint_files._from_pretrained, Network.read, tables.unjudged

    def count(what, function):
        def counting(*args, **more):
            counts[args[0] if what == "label" else what] += 1
            return function(*args, **more)

        return counting

    monkeypatch.setattr(checkpoint_files, "_from_pretrained", count("built", built))
    monkeypatch.setattr(Network, "read", count("batches", read))
    monkeypatch.setattr(tables, "unjudged", count("label", counted))
    return counts


def write_files(folder: Path) -> None:
    (folder / "colours.py").write_text(SKELETON, encoding="utf-8")
    (folder / "words.toml").write_text(OTHER_WORDS, encoding="utf-8")


def ask(spec: str, folder: Path, out: str, store: str, limit=12, settings=None, **changes) -> Path:
    study, _ = make_study(["counteracts", "colours.py"], spec, settings, limit=limit)
    return execute.run(study.model_copy(update=changes), out=folder / out, store=folder / store, allow_code=True).folder


@pytest.fixture(scope="module")
def cold(checkpoint, tmp_path_factory):
    """A folder with a first run in it, and its store."""
    folder = tmp_path_factory.mktemp("cold")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ask(str(checkpoint("bert")), folder, "run", "store")
    return folder


@pytest.fixture
def run(cold, checkpoint, tmp_path, monkeypatch):
    """Asks again, after that first run."""
    shutil.copytree(cold, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(out="run", store="store", **changes):
        return ask(str(checkpoint("bert")), tmp_path, out, store, **changes)

    return run


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run folder but its timing; of the manifest the order counts too."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "timing.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("out", ["run", "fresh"])
def test_a_repeated_run_builds_no_network_and_counts_nothing(run, done, cold, out):
    again = run(out=out)
    assert done == {}
    assert contents(again) == contents(cold / "run")
    timing, manifest = (json.loads((again / f"{name}.json").read_text()) for name in ("timing", "manifest"))
    happened = timing["models"]["bert"]
    assert happened["rows_computed"] == 0 < happened["rows_cached_before"] == manifest["counts"]["bert"]["rows"]


def test_a_first_run_builds_and_counts(run, done, cold):
    """Else the test before it would show nothing."""
    assert contents(run(out="other", store="empty")) == contents(cold / "run")
    assert all(done[what] for what in ("built", "batches", "counteracts", "colours"))


CHANGES = {
    "observations": lambda run, patch: run(out="other", limit=14),
    "settings": lambda run, patch: run(out="other", settings={"article": "a"}),
    "resample seed": lambda run, patch: run(out="other", settings={"resample_seed": 1}),
    "interval": lambda run, patch: run(out="other", intervals="multibootstrap"),
    "version": lambda run, patch: (patch.setattr(trueprobe, "__version__", "9.9"), cache.code_id.cache_clear(), run()),
    "measures": lambda run, patch: (patch.setattr(CounterActs, "measures", fewer(CounterActs.measures)), run()),
}


def fewer(measures):
    return lambda self: measures(self)[1:]


@pytest.mark.parametrize("what", CHANGES)
def test_it_counts_again_where_something_changed(run, done, what, monkeypatch, request):
    request.addfinalizer(cache.code_id.cache_clear)
    CHANGES[what](run, monkeypatch)
    assert done["counteracts"] == 1
    if what in ("settings", "measures"):
        assert done["colours"] == 0
    if what in ("resample seed", "interval", "measures"):
        assert not done["batches"]


def test_an_edited_probe_is_counted_again_and_no_other(run, done):
    Path("colours.py").write_text(SKELETON + "\n# the same code, edited\n", encoding="utf-8")
    run(out="other")
    assert (done["colours"], done["counteracts"], done["batches"]) == (1, 0, 0)


def test_another_verbalizer_computes_nothing_and_counts_what_depends_on_it(run, done):
    settings = {"verbalizer": "words.toml"}
    warm = contents(run(out="warm", settings=settings))
    assert (done["counteracts"], done["colours"], done["batches"]) == (1, 0, 0)
    assert contents(run(out="cold", store="empty", settings=settings)) == warm


@pytest.mark.slow
def test_several_seeds_of_which_one_probe_changed_give_what_a_cold_run_gives(tmp_path, done, monkeypatch):
    """Answers item by item, which tables over all probes need, are read from observations that are as before."""
    for seed in range(3):
        zoo.save("bert", tmp_path / f"seed_{seed}", model_seed=seed)
    monkeypatch.chdir(tmp_path)
    Path("words.toml").write_text(OTHER_WORDS, encoding="utf-8")

    def run(out, store, **settings):
        study, _ = make_study(["crows_pairs", "stereoset", "counteracts"], "fam=seed_*", settings, limit=24)
        return contents(execute.run(study, out=tmp_path / out, store=tmp_path / store).folder)

    run("one", "store", data="sample")
    done.clear()
    warm = run("two", "store", data="sample", verbalizer="words.toml")
    assert (done["counteracts"], done["crows_pairs"], done["stereoset"], done["batches"]) == (1, 0, 0, 0)
    assert {"flips.parquet", "disagreements.parquet"} <= warm.keys()
    assert run("three", "empty", data="sample", verbalizer="words.toml") == warm


@pytest.mark.parametrize("damage", ["value = x'00'", "checksum = x'00'"])
def test_a_damaged_entry_is_counted_again(run, done, cold, tmp_path, damage):
    with sqlite3.connect(tmp_path / "store") as store:
        store.execute(f"UPDATE derived SET {damage}")
    assert contents(run(out="fresh")) == contents(cold / "run")
    assert done["counteracts"] == 1


def test_weights_that_became_nan_are_refused(tmp_path, monkeypatch):
    from safetensors.torch import load_file, save_file

    monkeypatch.chdir(tmp_path)
    folder = zoo.save("bert", tmp_path / "mine")
    trueprobe.run("counteracts", str(folder), tmp_path / "run", store=tmp_path / "s", limit=4)
    weights = load_file(folder / "model.safetensors")
    next(iter(weights.values())).view(-1)[0] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInput, match="NaN or infinite"):
        trueprobe.run("counteracts", str(folder), tmp_path / "run", store=tmp_path / "s", limit=4)


def test_another_tokenizer_in_the_same_folder_is_looked_at(tmp_path, done):
    folder = zoo.save("bert", tmp_path / "mine")
    first = trueprobe.run("counteracts", str(folder), tmp_path / "one", store=tmp_path / "s", limit=4)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["normalizer"]["lowercase"] = False
    file.write_text(json.dumps(content), encoding="utf-8")
    done.clear()
    second = trueprobe.run("counteracts", str(folder), tmp_path / "two", store=tmp_path / "s", limit=4)
    assert done["built"]
    assert first.cards[0].tokenizer_id != second.cards[0].tokenizer_id

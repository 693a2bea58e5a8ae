"""Nothing of the user's is lost: other runs, other files, full disks, two runs at once."""

from __future__ import annotations

import fcntl
import json

import pytest
import transformers

import trueprobe
import zoo
from trueprobe.errors import BadInput, FailedRun
from trueprobe.paths import write_text, write_whole
from trueprobe.runs import load_run


@pytest.fixture
def small(checkpoint, tmp_path):
    def run(out="run", **options):
        models = options.pop("models", [str(checkpoint("bert"))])
        return trueprobe.run(
            "counteracts", models=models, out=tmp_path / out, store=tmp_path / "s", limit=20, **options
        )

    return run


def test_a_folder_with_another_run_is_never_overwritten(small, tmp_path):
    small()
    before = (tmp_path / "run" / "estimates" / "counteracts.csv").read_bytes()
    with pytest.raises(BadInput, match=r"holds a different run \(different probes\)"):
        small(settings={"article": "a"})
    assert (tmp_path / "run" / "estimates" / "counteracts.csv").read_bytes() == before


@pytest.mark.slow
def test_a_run_of_other_weights_is_never_overwritten(small, tmp_path):
    zoo.save("bert", tmp_path / "mine")
    small(models=[str(tmp_path / "mine")])
    before = (tmp_path / "run" / "estimates" / "counteracts.csv").read_bytes()
    zoo.save("bert", tmp_path / "mine", model_seed=3)
    with pytest.raises(BadInput, match="different weights of mine"):
        small(models=[str(tmp_path / "mine")])
    assert (tmp_path / "run" / "estimates" / "counteracts.csv").read_bytes() == before


def test_a_folder_with_other_files_is_never_written_into(small, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.doc").write_text("important")
    with pytest.raises(BadInput, match="not empty and not a run folder"):
        small()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.doc"]


def test_a_file_where_the_folder_should_be_is_told(small, tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        small()


@pytest.mark.slow
def test_two_runs_never_write_one_folder_at_once(small, tmp_path):
    small()
    with (tmp_path / "run" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BadInput, match="another run is writing"):
            small()
    assert small().complete


def test_a_write_that_fails_leaves_the_file_before_it_whole(tmp_path, monkeypatch):
    write_text(tmp_path / "run" / "manifest.json", '{"old": true}')

    def full(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(FailedRun, match="No space left on device"):
        write_whole(tmp_path / "run" / "manifest.json", full)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text()) == {"old": True}
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["manifest.json"]


def test_an_interrupted_run_says_so_and_a_damaged_one_too(small, tmp_path):
    run = small()
    assert run.complete
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(run.manifest.model_copy(update={"complete": False}).model_dump_json())
    (tmp_path / "run" / "estimates" / "counteracts.parquet").unlink()
    broken = load_run(tmp_path / "run")
    assert not broken.complete
    assert broken.estimates_of("counteracts") == []
    with pytest.raises(BadInput, match="has no table 'estimates'"):
        _ = broken.estimates
    manifest.write_text("{")
    with pytest.raises(BadInput, match="damaged"):
        load_run(tmp_path / "run")
    with pytest.raises(BadInput, match="not a run folder"):
        load_run(tmp_path)


def test_a_model_that_fails_late_leaves_nothing_behind_either(small, checkpoint, tmp_path):
    transformers.BertModel(transformers.BertConfig(**zoo.SMALL)).save_pretrained(tmp_path / "headless")
    zoo.wordpiece().save_pretrained(tmp_path / "headless")
    with pytest.raises(BadInput, match="no trained masked-language-model head"):
        small(models=[str(checkpoint("gpt2")), str(tmp_path / "headless")])
    assert not (tmp_path / "run").exists()
    with pytest.raises(BadInput, match="no device 'cuda:x'"):
        small(device="cuda:x")
    assert not (tmp_path / "run").exists()


def test_one_bad_model_among_several_stops_the_run_before_anything_is_written(small, checkpoint, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="empty has no weights"):
        small(models=[str(checkpoint("bert")), str(tmp_path / "empty")])
    assert not (tmp_path / "run").exists()

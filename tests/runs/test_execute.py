"""How a plan is executed: every model is opened once, whatever the probes need of it, and served models run too."""

from __future__ import annotations

import json
from collections import Counter

import pandas as pd
import pytest

import trueprobe
import zoo
from answering import Answering, UnopenedAnswering
from materials import PLACES
from trueprobe.engine import AnswerStore
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import checkpoint as checkpoint_files
from trueprobe.models import weights as model_weights
from trueprobe.runs import RunFolder, Session, plan_run, portions
from trueprobe.runs import session as sessions
from trueprobe.runs.execute import execute
from trueprobe.types import NoProgress

pytestmark = pytest.mark.slow

NORMS = "concept,property,frequency,category\nnurse,is late,20,visual\nbus,is here,9,visual\nman,has a bus,9,visual\n"


@pytest.fixture
def openings(monkeypatch):
    """How often each model was opened."""
    counts: Counter[str] = Counter()
    true = model_weights.load

    def counted(source, *more):
        counts[source.name] += 1
        return true(source, *more)

    monkeypatch.setattr(model_weights, "load", counted)
    return counts


@pytest.fixture
def run(checkpoint, tmp_path):
    def run(probe, *names, out="run", store="s", **options):
        specs = [str(checkpoint(name)) for name in names]
        return trueprobe.run(probe, specs, tmp_path / out, store=tmp_path / store, **options)

    return run


@pytest.fixture
def places(tmp_path):
    (tmp_path / "places.toml").write_text(PLACES, encoding="utf-8")
    return {"material": str(tmp_path / "places.toml"), "wording": "best"}


def test_each_of_several_models_is_opened_once(run, openings):
    run("counteracts", "bert", "gpt2", "roberta", limit=20)
    assert openings == {"bert": 1, "gpt2": 1, "roberta": 1}


def test_the_weights_of_a_model_are_loaded_once(run, monkeypatch):
    """Looking at a model before the run builds its network without weights, on torch's meta device."""
    loaded, true = Counter(), checkpoint_files._from_pretrained

    def counted(source, auto_class, options, **more):
        loaded[source.name, more.get("device_map")] += 1
        return true(source, auto_class, options, **more)

    monkeypatch.setattr(checkpoint_files, "_from_pretrained", counted)
    run("counteracts", "bert", "gpt2", limit=2)
    assert loaded == {(name, where): 1 for name in ("bert", "gpt2") for where in ("meta", None)}


def test_trials_open_no_model_a_second_time(run, openings, places):
    done = run("distractors", "bert", "gpt2", settings=places)
    assert set(done.items("distractors")["condition_wording"]) <= {"plain", "late"}
    assert openings == {"bert": 1, "gpt2": 1}


def test_models_too_large_to_stay_open_together_are_opened_again(run, openings, places, monkeypatch):
    together = run("distractors", "bert", "gpt2", settings=places).observations("distractors")
    openings.clear()
    monkeypatch.setattr(sessions, "OPEN_TOGETHER_BYTES", 0)
    apart = run("distractors", "bert", "gpt2", settings=places, out="apart", store="fresh").observations("distractors")
    assert openings == {"bert": 2, "gpt2": 2}
    pd.testing.assert_frame_equal(together, apart)


def test_a_shared_vocabulary_opens_no_model_a_second_time(run, openings, tmp_path):
    (tmp_path / "norms.csv").write_text(NORMS, encoding="utf-8")
    done = run("tacit_retrieval", "bert", "gpt2", settings={"data": str(tmp_path / "norms.csv")})
    assert set(done.estimates["condition_vocabulary"]) == {"common"}
    assert openings == {"bert": 1, "gpt2": 1}


def test_weights_that_are_not_finite_are_refused_before_any_model_is_opened(checkpoint, openings, tmp_path):
    from safetensors.torch import load_file, save_file

    bad = zoo.save("bert", tmp_path / "bad")
    weights = load_file(bad / "model.safetensors")
    next(weight for name, weight in weights.items() if name.endswith("query.weight")).view(-1)[0] = float("nan")
    save_file(weights, bad / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInput, match=r"bad: weights are NaN or infinite: .*query\.weight"):
        trueprobe.run("counteracts", [str(checkpoint("gpt2")), str(bad)], tmp_path / "run", store=tmp_path / "s")
    assert openings == {"bad": 1}  # once, to decide: a file may hold tensors that its network never uses
    assert not (tmp_path / "run").exists()


def test_a_single_model_that_is_refused_as_it_is_opened_leaves_nothing_behind(tmp_path):
    import transformers

    small = {**zoo.SMALL, "vocab_size": len(zoo.wordpiece())}
    network = transformers.BertLMHeadModel(transformers.BertConfig(**small, is_decoder=True, initializer_range=0.3))
    network.config.is_decoder = False
    network.config.architectures = ["BertLMHeadModel"]
    network.save_pretrained(tmp_path / "both-ways")
    zoo.wordpiece().save_pretrained(tmp_path / "both-ways")
    with pytest.raises(BadInput, match="see later ones"):
        trueprobe.run("counteracts", str(tmp_path / "both-ways"), tmp_path / "run", store=tmp_path / "s", limit=20)
    assert not (tmp_path / "run").exists()


def test_a_plan_names_the_run_and_opens_nothing(checkpoint, openings):
    spec = str(checkpoint("bert"))
    plan = plan_run("counteracts", spec, {"article": "a", "causal": "target_is"}, limit=12)
    assert [(asked.label, len(asked.items)) for asked in plan.probes] == [("counteracts", 12)]
    assert [source.name for source in plan.sources] == ["bert"]
    assert plan.description.probes[0].settings["article"] == "a"
    assert plan.description.models == (spec,)
    assert plan.default_name.startswith("counteracts-")
    again = plan_run("counteracts", spec, {"article": "a", "causal": "target_is"}, limit=12)
    other = plan_run("counteracts", spec, limit=12)
    assert plan.default_name == again.default_name != other.default_name
    assert openings == {}


# ---------------------------------------------------------------- models that answer whole requests


@pytest.fixture
def answered(checkpoint, tmp_path):
    """answered("run", model) is a whole run of a model that answers requests."""

    def run(out, model, probe="counteracts", **settings):
        plan = plan_run(probe, str(checkpoint("bert")), settings, limit=40)
        folder = RunFolder(tmp_path / out, plan.description)
        store = AnswerStore(tmp_path / "answers.sqlite", "v")
        return execute(plan, [UnopenedAnswering(model)], folder, Session(store, NoProgress()))

    return run


def test_a_served_model_goes_through_a_whole_study(answered):
    done = answered("run", Answering())
    assert done.complete
    observations = done.observations("counteracts")
    assert len(observations) == 40
    assert set(observations["why_not"]) == {""}
    assert set(observations["model"]) == {"served"}
    assert done.estimates["value"].notna().any()
    assert done.cards[0].compute_id == "made-up server 1.0"
    assert done.sources == {"served": "http://127.0.0.1:8000/v1"}
    counts = done.manifest.counts["served"]
    assert 0 < counts["distinct_requests"] < counts["requests"]


def test_an_error_of_a_model_in_a_later_portion_is_not_one_of_the_file_being_written(answered, tmp_path, monkeypatch):
    class Lost(Answering):
        def answer(self, requests):
            if self.asked:
                raise OSError(110, "Connection timed out")
            return super().answer(requests)

    monkeypatch.setattr(portions, "PLANNED_TOGETHER", 10)
    with pytest.raises(FailedRun, match=r"^served: Connection timed out$"):
        answered("run", Lost())
    assert not list((tmp_path / "run").rglob("*served*"))
    assert answered("run", Answering()).complete


def test_a_second_run_asks_a_served_model_nothing(answered):
    first = answered("first", Answering())
    model = Answering()
    second = answered("second", model)
    assert model.asked == []
    pd.testing.assert_frame_equal(first.observations("counteracts"), second.observations("counteracts"))
    timing = json.loads((second.folder / "timing.json").read_text())
    assert timing["models"]["served"]["requests_asked"] == 0


def test_trials_are_asked_of_a_served_model_too(answered, places):
    done = answered("run", Answering(), "distractors", **places)
    assert set(done.items("distractors")["condition_wording"]) <= {"plain", "late"}


def test_a_model_whose_vocabulary_is_not_known_leaves_the_choice_to_the_others(answered, tmp_path):
    (tmp_path / "norms.csv").write_text(NORMS, encoding="utf-8")
    done = answered("run", Answering(), "tacit_retrieval", data=str(tmp_path / "norms.csv"))
    assert done.complete

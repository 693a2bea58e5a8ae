"""Runs with served models: beside local ones, through a server's death, and what only bounds leave of a probe."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import llama_server
import trueprobe
import zoo
from fake_servers import Fake, listening
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import FailedRun
from trueprobe.models import open_model
from trueprobe.models.served import client
from trueprobe.runs.check import check_model, sample_requests, worst
from trueprobe.types import EmbedText, FillBlank, ScoreText, WordList

SAMPLE = {"data": "sample"}
ASSET = Path.home() / ".cache" / "trueprobe" / "assets" / "smollm2-135m"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    zoo.save_llama(folder / "small", folder / "small.gguf")
    return folder


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(client, "PAUSES", (0.01, 0.01))


def observations(folder, name, probe="crows_pairs"):
    return pd.read_parquet(folder / "observations" / probe / f"{name}.parquet")


def test_local_and_served_side_by_side(small, tmp_path, monkeypatch):
    monkeypatch.setenv(client.KEY, "sk-very-secret")
    with listening(Fake("vllm", str(small / "small"))) as server:
        models = [f"here={small / 'small'}", f"there={server.spec()}"]
        done = trueprobe.run(
            "crows_pairs", models, tmp_path / "run", settings=SAMPLE, limit=12, store=tmp_path / "store"
        )
        sentences = trueprobe.score(["The nurse was late."], models, store=tmp_path / "store")
    here, there = observations(tmp_path / "run", "here"), observations(tmp_path / "run", "there")
    numbers = [column for column in here.select_dtypes("number") if here[column].notna().any()]
    assert numbers
    assert ((here[numbers] - there[numbers]).abs().max() < 1e-3).all()
    assert {each["name"] for each in json.loads((tmp_path / "run" / "manifest.json").read_text())["cards"]} == {
        "here",
        "there",
    }
    assert "secret" not in "".join(p.read_text() for p in (tmp_path / "run").rglob("*.json"))
    assert done.findings is not None
    one, other = (sentences[sentences.model == name].reset_index(drop=True) for name in ("here", "there"))
    assert (one.logp_nats - other.logp_nats).abs().max() < 1e-4
    assert one["rank"].equals(other["rank"])


def test_a_server_that_dies_leaves_a_run_that_goes_on(small, tmp_path):
    def arguments(server):
        return {"models": f"m={server.spec()}", "limit": 90, "store": tmp_path / "store", "out": tmp_path / "run"}

    with listening(Fake("vllm", str(small / "small"))) as whole:
        trueprobe.run("counteracts", **arguments(whole) | {"out": tmp_path / "whole", "store": tmp_path / "other"})
    fake = Fake("vllm", str(small / "small"), fail=lambda path, call: (0, {}, b"") if call > 85 else None)
    with listening(fake), pytest.raises(FailedRun, match="the same command goes on once the server is back"):
        trueprobe.run("counteracts", **arguments(fake))
    again = Fake("vllm", str(small / "small"), port=fake.port)
    with listening(again):
        trueprobe.run("counteracts", **arguments(again))
    assert again.asked < whole.asked - 50  # some were answered before it died
    ended, whole_run = (observations(tmp_path / name, "m", "counteracts") for name in ("run", "whole"))
    pd.testing.assert_frame_equal(ended, whole_run)


def test_check_model_holds(small):
    with listening(Fake("vllm", str(small / "small"))) as server:
        checks = list(check_model(open_model(server.spec())))
    assert [check.name for check in checks if not check.passed] == []


def test_of_bounds_no_measure_is_made(small, tmp_path):
    with listening(Fake("other", str(small / "small"), top=5)) as server:
        trueprobe.run("counteracts", f"m={server.spec()}", tmp_path / "run", limit=6, store=tmp_path / "store")
        filled = trueprobe.fill("The ___", server.spec(), words=["woman", "man"], top=0, store=tmp_path / "store")
    assert set(observations(tmp_path / "run", "m", "counteracts").why_not) == {"not_served"}
    assert set(filled.why_not) == {"not_served"}
    assert filled.logp_nats.isna().all()
    assert filled.why_not_detail.str.contains("at most").all()


# ---------------------------------------------------------------- the real llama.cpp


def test_the_real_llama_cpp_agrees_with_the_local_model(small):
    """Whatever it generates: behind an end of text, or half a character, it would list nothing."""
    requests = [request for request in sample_requests("causal")[:-1] if not isinstance(request, EmbedText)]
    with llama_server.serving(small / "small.gguf") as server:
        served = Engine(open_model(f"served:{server.url}?tokenizer={small / 'small'}"), AnswerStore(":memory:"))
        there = served.answer(requests)
    here = Engine(open_model(str(small / "small")), AnswerStore(":memory:")).answer(requests)
    assert worst(here, there) < 1e-4


@pytest.mark.slow
def test_a_real_server_that_is_killed(small, tmp_path):
    server = llama_server.start(small / "small.gguf")
    try:
        model = open_model(f"served:{server.url}?tokenizer={small / 'small'}")
        store = AnswerStore(tmp_path / "store")
        first, second = ([ScoreText(f"The nurse met {i} men.") for i in range(n, n + 5)] for n in (0, 5))
        before = Engine(model, store).answer(first)
        server.kill()
        with pytest.raises(FailedRun, match="failed 3 times"):
            Engine(model, store).answer(first + second)
        server = llama_server.start(small / "small.gguf", server.port)
        engine = Engine(model, store)
        assert engine.answer(first + second)[:5] == before
        assert engine.counts.happened["requests_asked"] == 5
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.skipif(not ASSET.is_dir(), reason="trueprobe fetch smollm2-135m")
def test_smollm2_in_llama_cpp_agrees_with_the_local_float32_model(tmp_path):
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(ASSET)
    zoo.save_gguf(network, transformers.AutoTokenizer.from_pretrained(ASSET), tmp_path / "smollm2.gguf", "smollm")
    people = WordList("people", ("woman", "man", "person", "nurse"))
    requests = [
        FillBlank("The nurse was a ", words=("woman", "man"), top=5),
        FillBlank("The nurse was a ", words=("woman", "man"), within=people),
        ScoreText("The nurse was late.", spans=((0, 3), (10, 18))),
    ]
    with llama_server.serving(tmp_path / "smollm2.gguf") as server:
        served = Engine(open_model(f"served:{server.url}?tokenizer={ASSET}"), AnswerStore(":memory:")).answer(requests)
    here = Engine(open_model(str(ASSET)), AnswerStore(":memory:")).answer(requests)
    assert worst(served, here) < 1e-4

"""Every way to misbehave, by every kind of server, at the examination and later: no traceback, no wrong number, no
hang beyond the time limit, and the answers that came before are kept."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pytest

import zoo
from fake_servers import Fake, listening
from misbehaving import MODES, Ends
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Options, examine, find, open_model
from trueprobe.models.served import client
from trueprobe.permissions import ServerAccess
from trueprobe.types import FillBlank, Filled, Scored, ScoreText, WhyNot, Word

KINDS = ("vllm", "llamacpp", "other")
STAGES = ("first page", "examination", "later")
LIMIT, SOON = 0.4, 20.0  # seconds of a call in a slow mode, in others
RETRIES = 2
BEFORE = [FillBlank(f"The nurse met {i} ", words=("man", "woman")) for i in range(2)]
AFTER = [ScoreText("The nurse was late."), FillBlank("The nurse and ", words=("man", "woman")), *BEFORE]
EVERY = [(mode, kind, stage) for mode in MODES for kind in KINDS for stage in STAGES]
EVERY = [(mode, kind, stage) for mode, kind, stage in EVERY if stage != "first page" or not MODES[mode].only_numbers]
# of each mode one try, with kinds and stages in turn; `make faults` has them all
SOME = [next(iter(EVERY[i:] + EVERY)) for i in range(0, len(EVERY), 8)]
CHOSEN = EVERY if "FAULTS" in os.environ else SOME


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    zoo.save_llama(folder / "small", folder / "small.gguf")
    return str(folder / "small")


@pytest.fixture(scope="module")
def local(small):
    return dict(zip(AFTER, Engine(open_model(small), AnswerStore(":memory:")).answer(AFTER), strict=True))


@pytest.fixture(scope="module")
def fakes(small):
    """One network for each kind."""
    return {kind: Fake(kind, small) for kind in KINDS}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(client, "PAUSES", (0.01,) * RETRIES)
    monkeypatch.setattr(client, "_LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(client, "LARGEST_REPLY", 3_000_000)


def has_numbers(path: str) -> bool:
    return path.endswith(("/completion", "/completions"))


def opened(server, seconds):
    (source,) = find([server.spec("&parallel=1")], Options(servers=ServerAccess.WITHOUT_KEY))
    source = replace(source, server=replace(source.server, seconds=seconds))
    return examine(source, Options(servers=ServerAccess.WITHOUT_KEY)).open()


def same(answer, expected) -> bool:
    """To 1e-3 nats; what is not listed has a bound that is not below the truth."""
    if isinstance(answer, Filled):
        return all(_same_word(answer.words[word], expected.words[word]) for word in answer.words)
    pairs = zip(answer.tokens, expected.tokens, strict=True)
    return all(abs(one.logp - other.logp) < 1e-3 for one, other in pairs)


def _same_word(one, other) -> bool:
    if isinstance(one, WhyNot) or isinstance(other, WhyNot):
        return isinstance(one, WhyNot) and isinstance(other, WhyNot)
    assert isinstance(one, Word)
    exact = all(piece.exact for piece in one.pieces)
    return abs(one.logp - other.logp) < 1e-3 if exact else one.logp >= other.logp - 1e-3


def check_message(error) -> None:
    text = str(error)
    assert "127.0.0.1" in text
    assert len(text.splitlines()) == 1
    assert text.isprintable()
    assert len(text) < 700


@pytest.mark.parametrize(("name", "kind", "stage"), CHOSEN)
def test_a_server_misbehaves(name, kind, stage, fakes, local):
    mode, fake = MODES[name], fakes[kind]
    fake.port, fake.calls, began = 0, [], time.monotonic()
    seconds = LIMIT if mode.slow else SOON
    with listening(fake):
        if stage != "later":
            of_stage = has_numbers if stage == "examination" else lambda path: path == "/v1/models"
            fake.wire = lambda path, call: mode.send if of_stage(path) else None
            _examined(mode, fake, seconds, local)
        else:
            _asked_later(mode, fake, seconds, local)
    assert time.monotonic() - began < (RETRIES + 1) * SOON


def _examined(mode, fake, seconds, local) -> None:
    if mode.ends is not Ends.HARMLESS:
        with pytest.raises(BadInput if mode.ends is Ends.REFUSED else FailedRun) as raised:
            opened(fake, seconds)
        check_message(raised.value)
        return
    model = opened(fake, seconds)
    answers = model.answer(AFTER)
    assert all(same(answer, local[request]) for answer, request in zip(answers, AFTER, strict=True))


def _asked_later(mode, fake, seconds, local) -> None:
    fake.wire = lambda path, call: None
    model, store = opened(fake, SOON), AnswerStore(":memory:")
    assert all(same(answer, local[one]) for one, answer in zip(BEFORE, model.answer(BEFORE), strict=True))
    first, ends = fake.asked + 1, mode.later or mode.ends
    model = opened(fake, SOON)  # what it has at hand is forgotten
    first = fake.asked + len(BEFORE) + 1
    model.server.client.seconds = seconds
    fake.wire = lambda path, call: mode.send if has_numbers(path) and call >= first else None
    engine, answers, failure = Engine(model, store), [], None
    try:
        answers = engine.answer([*BEFORE, *AFTER])
    except FailedRun as error:
        failure = error
    if failure is None:
        assert ends is not Ends.FAILED
    else:
        check_message(failure)
        assert ends in (Ends.FAILED, Ends.REFUSED), repr(failure)
    for request, answer in zip([*BEFORE, *AFTER], answers, strict=False):
        scored = isinstance(answer, Filled | Scored)
        assert scored or np.isin(answer.code, ["not_finite", "not_served"]), answer
        assert not scored or ends is Ends.WITHIN or same(answer, local[request]), (request, answer)
    fake.wire = lambda path, call: None
    model.server.client.seconds, again = SOON, Engine(model, store)
    repeated = again.answer([*BEFORE, *AFTER])
    assert again.counts.happened["requests_asked"] <= len(AFTER) - len(BEFORE)
    assert ends is Ends.WITHIN or all(
        same(answer, local[request]) for request, answer in zip([*BEFORE, *AFTER], repeated, strict=True)
    )

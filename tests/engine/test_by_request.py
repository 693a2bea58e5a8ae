"""Models that answer whole requests: each request once, exactly the same answer from the cache, nothing that is NaN."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering import CARD, Answering
from trueprobe.engine import AnswerStore, Engine
from trueprobe.engine.by_request import canonical, decode, encode, request_key
from trueprobe.runs.check import sample_requests
from trueprobe.types import (
    EmbedText,
    FillBlank,
    Filled,
    Follows,
    FollowsText,
    Scored,
    ScoreText,
    Token,
    Vector,
    WhyNot,
    Word,
    WordList,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
tokens = st.builds(
    Token, st.text(), st.integers(0, 10**6), finite, st.booleans(), st.none() | st.tuples(*[st.integers(0, 99)] * 2)
)
words = st.builds(Word, st.lists(tokens).map(tuple), st.none() | st.integers(1, 9), st.integers(0, 9))
refusals = st.builds(WhyNot, st.just("too_long"), st.text())
answers = (
    st.builds(Filled, st.dictionaries(st.text(), words | refusals), st.lists(tokens).map(tuple), st.integers(0, 9))
    | st.builds(Scored, st.lists(tokens).map(tuple), st.lists(st.integers()).map(tuple), st.just((0,)))
    | st.builds(Follows, finite)
    | refusals
)


@given(answers)
def test_an_answer_comes_back_exactly(answer):
    assert decode(encode(answer)) == answer
    assert type(decode(encode(answer))) is type(answer)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_a_vector_comes_back_to_the_bit(values):
    vector = decode(encode(Vector(np.array(values, np.float32), (1, 2))))
    assert vector.positions == (1, 2)
    assert vector.values.dtype == np.float32
    assert vector.values.tobytes() == np.array(values, np.float32).tobytes()


def test_answers_of_a_row_model_can_be_written_too(opened):
    (filled,) = Engine(opened("bert"), AnswerStore(":memory:")).answer([FillBlank("The ", words=("man", "she"), top=3)])
    again = decode(encode(filled))
    assert (dict(again.words), again.top, again.list_size) == (dict(filled.words), filled.top, filled.list_size)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_not_written(value):
    token = Token("x", 0, value)
    for answer in (
        Follows(value),
        Vector(np.float32([1, value]), ()),
        Scored((token,), (), ()),
        Filled({"x": Word((token,), 1, 0)}, (), 1),
        Filled({}, (token,), 1),
        WhyNot("not_finite"),
    ):
        assert encode(answer) is None


def test_a_key_names_the_model_the_kind_of_request_and_every_field():
    blank = FillBlank("The ", words=("a", "b"), within=WordList("l", ("a", "b")))
    others = [
        replace(blank, top=1),
        replace(blank, words=("b", "a")),
        replace(blank, before=""),
        replace(blank, within=None),
        replace(blank, within=WordList("l", ("a",))),
        ScoreText("The "),
        EmbedText("The "),
        FollowsText("The ", ""),
    ]
    keys = [request_key(request, "m") for request in (blank, *others)]
    assert len({*keys, request_key(blank, "n")}) == len(others) + 2
    assert request_key(replace(blank, within=WordList("other name", ("a", "b"))), "m") == keys[0]


def test_a_key_is_the_same_in_the_next_process():
    code = (
        "from trueprobe.engine.by_request import request_key\nfrom trueprobe.types import FillBlank, WordList\n"
        "print(request_key(FillBlank('é ', words=('a',), within=WordList('l', ('a',))), 'm').hex())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert there == request_key(FillBlank("é ", words=("a",), within=WordList("l", ("a",))), "m").hex()


def test_the_canonical_request_is_readable():
    assert canonical(FollowsText("It rained.", "She left.")) == (
        '["FollowsText", {"first": "It rained.", "second": "She left."}]'
    )


def test_each_distinct_request_is_asked_once_and_never_again(tmp_path):
    model, requests = Answering(), sample_requests("causal")
    engine = Engine(model, AnswerStore(tmp_path / "s"))
    first = engine.answer([*requests, *requests])
    assert sorted(map(canonical, model.asked)) == sorted(set(map(canonical, requests)))
    assert engine.counts.happened["requests_asked"] == engine.counts.planned["distinct_requests"] == len(requests)
    again = Answering()
    second = Engine(again, AnswerStore(tmp_path / "s"))
    assert [encode(a) for a in second.answer(requests)] == [encode(a) for a in first[: len(requests)]]
    assert again.asked == []
    assert second.counts.computed == 0


def test_another_model_shares_nothing():
    store, request = AnswerStore(":memory:"), FollowsText("a", "b")
    Engine(Answering(), store).answer([request])
    other = Answering(replace(CARD, compute_id="made-up server 1.1"))
    Engine(other, store).answer([request])
    assert other.asked == [request]


def test_an_answer_that_is_not_finite_is_none_and_is_asked_again():
    class Broken(Answering):
        def _one(self, request):
            return Follows(math.nan) if request.second == "b" else super()._one(request)

    model, requests = Broken(), [FollowsText("a", "b"), FollowsText("a", "c")]
    engine = Engine(model, AnswerStore(":memory:"))
    for _ in range(2):
        broken, whole = engine.answer(requests)
        assert broken.code == "not_finite"
        assert isinstance(whole, Follows)
    assert model.asked == [*requests, requests[0]]


def test_what_was_answered_before_a_failure_stays(tmp_path):
    class Stops(Answering):
        def answer(self, requests):
            if self.asked:
                raise ConnectionError("gone")
            return super().answer(requests)

    requests = [FollowsText("a", str(i)) for i in range(600)]
    with pytest.raises(ConnectionError):
        Engine(Stops(), AnswerStore(tmp_path / "s")).answer(requests)
    model = Answering()
    Engine(model, AnswerStore(tmp_path / "s")).answer(requests)
    assert 0 < len(model.asked) < 600

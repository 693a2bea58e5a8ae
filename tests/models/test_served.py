"""Served models: the numbers of a local model, or a plain word why not; and what a server that lies is told."""

from __future__ import annotations

import copy
import itertools
import math
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

import zoo
from fake_servers import Fake, listening
from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Options, examine, find, open_model
from trueprobe.models.served import client
from trueprobe.models.served.server import Models, Wrong, likeliest, whole
from trueprobe.permissions import ServerAccess
from trueprobe.runs.check import sample_requests, worst
from trueprobe.types import EmbedText, FillBlank, Filled, Scored, ScoreText, WhyNot, Word, WordList

PEOPLE = WordList("people", ("woman", "man", "nurse", "hairdresser"))
REQUESTS = [
    *(request for request in sample_requests("causal")[:-1] if not isinstance(request, EmbedText)),  # the last is long
    FillBlank("The ", words=("woman", "nurse", "hairdresser", "the"), within=PEOPLE, pieces="left_to_right", top=2),
    ScoreText("The nurse was late.", ranks=True),
    ScoreText("The nurse was late.", spans=((4, 9),)),
    ScoreText("The nurse was late.", start="first_token"),
    FillBlank("The ", " works.", words=("man",)),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small Llama as a folder."""
    folder = tmp_path_factory.mktemp("served")
    zoo.save_llama(folder / "small", folder / "small.gguf")
    return str(folder / "small")


@pytest.fixture(scope="module")
def local(small):
    return open_model(small)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(client, "PAUSES", (0.01, 0.01, 0.01))


@pytest.fixture
def serve(small):
    """serve("vllm", lie=…) is a server that listens until the test ends."""
    opened = []

    def start(kind, **more):
        context = listening(Fake(kind, small, **more))
        opened.append(context)
        return context.__enter__()

    yield start
    for context in opened:
        context.__exit__(None, None, None)


def ask(model, requests):
    return Engine(model, AnswerStore(":memory:")).answer(requests)


def ranks(answers):
    """Of words and tokens, with how many are tied."""
    filled = [word for a in answers if isinstance(a, Filled) for word in a.words.values() if isinstance(word, Word)]
    tokens = [token.rank for a in answers if isinstance(a, Scored) for token in a.tokens]
    return [(word.rank, word.tied) for word in filled], tokens, [a.list_size for a in answers if isinstance(a, Filled)]


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("kind", ["vllm", "llamacpp"])
def test_whole_distributions_give_what_the_local_model_gives(kind, serve, local):
    served = ask(open_model(serve(kind).spec()), REQUESTS)
    here = ask(local, REQUESTS)
    assert worst(served, here) < 1e-4
    assert ranks(served) == ranks(here)
    assert [a.row_ids for a in served if isinstance(a, Scored)] == [a.row_ids for a in here if isinstance(a, Scored)]


@pytest.mark.parametrize("kind", ["vllm", "llamacpp", "other"])
def test_what_a_server_cannot_give_says_so(kind, serve):
    vector, behind = ask(open_model(serve(kind).spec()), [EmbedText("The nurse.", "mean"), FillBlank("The ", " works")])
    assert vector.code == "not_served"
    assert behind.code == "right_context"


@pytest.fixture(scope="module")
def likely(local):
    """A text and the words that are likeliest behind it, before the first token that is half a character."""
    for left in ("The nurse", "The bus was", "She met", "The man (and", "Everyone is", "So was the"):
        (best,) = ask(local, [FillBlank(left, word_start="never", top=50)])
        clear = list(itertools.takewhile(lambda token: "\ufffd" not in token.text, best.top))
        words = tuple(token.text for token in clear if token.text.isalpha())
        (again,) = ask(local, [FillBlank(left, word_start="never", words=words)])
        words = tuple(word for word in words if isinstance(again.words[word], Word))
        if len(words) > 2:
            return left, words, len(clear)
    raise AssertionError("no such text")


def test_a_list_of_the_likeliest_gives_numbers_and_bounds(serve, local, likely):
    left, words, known = likely
    request = FillBlank(left, word_start="never", words=(*words, "man", "woman", "hairdresser"), top=known)
    (served,), (here,) = ask(open_model(serve("other", top=50).spec()), [request]), ask(local, [request])
    assert all(abs(served.words[w].logp - here.words[w].logp) < 1e-4 for w in words)
    assert [served.words[w].rank for w in words] == [here.words[w].rank for w in words]
    assert [token.id for token in served.top] == [token.id for token in here.top]
    bounds = [
        (served.words[w], here.words[w]) for w in request.words if isinstance(here.words[w], Word) and w not in words
    ]
    assert bounds
    assert all(not bound.pieces[0].exact and bound.rank is None and bound.logp >= word.logp for bound, word in bounds)
    assert served.why_not().code == "not_served"


def test_a_list_that_holds_all_words_needs_no_bound(serve, local, likely):
    left, words, _ = likely
    request = FillBlank(left, word_start="never", words=words, within=WordList("likely", (*words[:-1], "man")))
    (served,), (here,) = ask(open_model(serve("other", top=50).spec()), [request]), ask(local, [request])
    assert served.why_not() is None
    assert ranks([served]) == ranks([here])
    assert isinstance(served.words[words[-1]], WhyNot)  # not in the list
    assert served.mass(words[:-1]) == pytest.approx(here.mass(words[:-1]), abs=1e-5)


def test_tokens_of_equal_text_in_one_mapping_hide_ranks(serve):
    """Half characters are all shown as one sign, so a mapping by text is shorter than the list it stands for."""
    with pytest.raises(BadInput, match="hide each other's ranks"):
        open_model(serve("other", top=500, by_text=True).spec())


def test_texts_are_scored_by_echo_where_it_works(serve, local):
    request = ScoreText("The nurse was late.", ranks=True)
    (served,), (here,) = ask(open_model(serve("other").spec()), [request]), ask(local, [request])
    assert worst([served], [here]) < 1e-4
    assert {token.rank for token in served.tokens} == {None}  # not known is not 1


def no_echo(path, reply):
    """As llama.cpp does: `echo` is ignored, and the answer is a good one of something else."""
    logprobs = reply["choices"][0]["logprobs"] if "choices" in reply else {}
    if "tokens" in logprobs:
        logprobs.update(tokens=["x"], token_logprobs=[-1.0], top_logprobs=[{"x": -1.0}])
    return reply


def test_a_server_that_ignores_echo_scores_no_text(serve):
    (answer,) = ask(open_model(serve("other", lie=no_echo).spec()), [ScoreText("The nurse was late.")])
    assert answer.code == "not_served"
    assert "--max-logprobs -1" in answer.detail


# ---------------------------------------------------------------- lies


def entries(reply):
    return reply["completion_probabilities"][0]["top_logprobs"]


def cut(path, reply):
    if path == "/completion":
        del entries(reply)[100:]
    return reply


def nan(path, reply):
    if path == "/completion":
        entries(reply)[7]["logprob"] = math.nan
    return reply


def double(path, reply):
    for entry in entries(reply) if path == "/completion" else ():
        entry["logprob"] = min(entry["logprob"] + math.log(2), 0.0)
    return reply


def other_tokens(path, reply):
    return {"tokens": [t + 1 for t in reply["tokens"]]} if path == "/tokenize" else reply


def cuts_prompt(path, reply):
    return {**reply, "tokens_evaluated": 3} if path == "/completion" else reply


class Same:
    """One answer to everything."""

    def __init__(self):
        self.first = None

    def __call__(self, path, reply):
        if path != "/completion":
            return reply
        self.first = self.first or entries(reply)
        return {**reply, "completion_probabilities": [{"top_logprobs": self.first}]}


class Noise:
    """Each answer with another temperature."""

    def __init__(self):
        self.calls = 0

    def __call__(self, path, reply):
        if path == "/completion":
            self.calls += 1
            powers = [entry["logprob"] * (1 + 0.1 * self.calls) for entry in entries(reply)]
            norm = math.log(sum(map(math.exp, powers)))
            for entry, power in zip(entries(reply), powers, strict=True):
                entry["logprob"] = power - norm
        return reply


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (cut, r"lists 100 tokens of the [\d,]+ that were asked for"),
        (nan, "NaN, infinite or above 0"),
        (double, "sum to .*, not 1"),
        (other_tokens, "tokenizer=FOLDER_OR_ID"),
        (cuts_prompt, r"read 3 tokens where \d+ were sent"),
        (Same(), "does not read token ids"),
        (Noise(), "the server's answers to one request differ by .* nats; start llama-server with"),
    ],
)
def test_a_server_that_lies_is_refused_when_it_is_opened(lie, message, serve):
    with pytest.raises(BadInput, match=message):
        open_model(serve("llamacpp", lie=lie).spec())


def test_another_models_tokenizer_is_refused(serve, checkpoint):
    for kind, message in (("llamacpp", "tokenizer=FOLDER_OR_ID"), ("other", "tokenizer does not have most")):
        server = serve(kind)
        spec = f"served:{server.url}#small?tokenizer={checkpoint('llama')}"
        with pytest.raises(BadInput, match=message):
            open_model(spec)


def test_vllm_must_list_the_whole_vocabulary(serve):
    with pytest.raises(BadInput, match=r"start it with --max-logprobs -1"):
        open_model(serve("vllm", max_logprobs=20).spec())


def test_prompts_and_lists_must_agree(serve):
    def lie(path, reply):
        for entry in reply.get("choices", [{}])[0].get("prompt_logprobs") or ():
            for token in (entry or {}).values():
                token["logprob"] -= 0.5
        return reply

    with pytest.raises(BadInput, match="by different ways of asking"):
        open_model(serve("vllm", lie=lie).spec())


def test_an_unknown_model_and_a_server_that_is_not_there(serve, small):
    server = serve("vllm")
    with pytest.raises(BadInput, match="no model 'large'; write #MODEL with one of: small"):
        open_model(f"served:{server.url}#large?tokenizer={small}")
    with pytest.raises(FailedRun, match=r"nothing answers at http.*\(Connection refused\)"):
        open_model(f"served:http://127.0.0.1:1/v1#small?tokenizer={small}")


def test_an_answer_that_means_nothing_is_not_cached(serve):
    server = serve("llamacpp")
    model, store = open_model(server.spec()), AnswerStore(":memory:")
    request = FillBlank("The nurse met the ", words=("man",))
    server.lie = nan
    assert Engine(model, store).answer([request])[0].code == "not_finite"
    server.lie = lambda path, reply: reply
    assert isinstance(Engine(model, store).answer([request])[0], Filled)


def test_distributions_are_normalised_and_bounded_by_hand():
    third = math.log(1 / 3) + 1e-4
    assert whole({0: third, 1: third, 2: third}, 3).logps.tolist() == pytest.approx([math.log(1 / 3)] * 3)
    with pytest.raises(Wrong, match=r"sum to 0\.9"):
        whole({0: math.log(0.5), 1: math.log(0.4)}, 2)
    listing = likeliest({1: math.log(0.5), 3: math.log(0.3)}, 5)
    assert listing.bound == pytest.approx(math.log(0.2))  # what is left of 1
    assert likeliest({1: math.log(0.2), 3: math.log(0.1)}, 5).bound == pytest.approx(math.log(0.1))  # the last listed


# ---------------------------------------------------------------- HTTP


@contextmanager
def dripping(part):
    """A server whose answer never ends: headers, or a body, of one byte each 50 ms. The event is set once the client
    has closed the connection."""
    closed = threading.Event()

    def serve(listening):
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 9999\r\n\r\n" if part == "body" else b"X: "))
            while True:
                connection.sendall(b"x")
                time.sleep(0.05)
        closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", closed


def failing(status, times, headers=None):
    left = [times]

    def fail(path, call):
        if path != "/completion" or left[0] == 0:
            return None
        left[0] -= 1
        return status, headers or {}, {"error": {"message": "too busy"}}

    return fail


@pytest.mark.parametrize("status", [429, 500, 503, 0])
def test_a_busy_server_is_asked_again(status, serve, local):
    server = serve("llamacpp")
    model = open_model(server.spec())
    server.fail = failing(status, 2, {"Retry-After": "0.01"} if status == 429 else None)
    request = FillBlank("The nurse met the ", words=("man",))
    assert worst(ask(model, [request]), ask(local, [request])) < 1e-4


def test_a_server_that_stays_down_ends_the_run_with_what_to_do(serve):
    server = serve("llamacpp")
    model = open_model(server.spec())
    server.fail = failing(503, -1)
    with pytest.raises(FailedRun, match=r"failed 4 times \(503: too busy\); what it answered is cached, and the same"):
        ask(model, [FillBlank("The nurse met the ", words=("man",))])


def test_a_slow_server_has_a_time_limit(serve):
    server, answered = serve("llamacpp"), threading.Event()
    model = open_model(server.spec("&seconds=1"))
    server.fail = lambda path, call: answered.wait(60) and None  # it answers only after the test
    with pytest.raises(FailedRun, match=r"within 1 s; .* seconds=N"):
        ask(model, [FillBlank("The nurse met the ", words=("man",))])
    answered.set()


def test_a_refused_question_is_no_retry(serve):
    server = serve("llamacpp")
    model = open_model(server.spec())
    asked, server.fail = server.asked, lambda path, call: (400, {}, {"error": {"message": "no such thing"}})
    with pytest.raises(FailedRun, match="400: no such thing"):
        ask(model, [FillBlank("The nurse met the ", words=("man",))])
    assert server.asked == asked + 1


def test_calls_are_made_at_once_up_to_the_bound(serve):
    for options, most in (("", 2), ("&parallel=5", 5)):  # llama.cpp tells its slots: 2
        server = serve("llamacpp", seconds=0.02)
        model = open_model(server.spec(options))
        server.busiest = 0
        ask(model, [FillBlank(f"The nurse met {i} ", words=("man",)) for i in range(20)])
        assert server.busiest == most


def test_texts_that_begin_alike_are_not_asked_twice(serve):
    server = serve("llamacpp")
    model = open_model(server.spec())
    before = server.asked
    ask(model, [ScoreText("The nurse met the man."), ScoreText("The nurse met the bus.")])
    distinct = {tuple(body["prompt"]) for path, body in server.calls[-(server.asked - before) :]}
    assert server.asked - before == len(distinct)


def test_a_call_has_one_limit_however_its_bytes_come(small):
    """From connecting to the last byte: each read alone would be in time."""
    for part in ("headers", "body"):
        with dripping(part) as (url, sent):
            with pytest.raises(FailedRun, match=r"did not answer within 0\.3 s"):
                client.Client(url, 0.3, with_key=False).get("/models", Models)
            assert sent.wait(60), part  # the connection was closed while it was still sending


def test_a_reply_has_a_largest_size(serve, monkeypatch):
    model = open_model(serve("llamacpp").spec())
    monkeypatch.setattr(client, "LARGEST_REPLY", 1000)
    with pytest.raises(FailedRun, match=r"/completion sent a reply of more than 1,000 bytes"):
        ask(model, [FillBlank("The nurse met the ", words=("man",))])


CUT = {"Content-Length": "100000", "Connection": "close"}


def test_a_connection_that_is_cut_is_tried_again(serve, local):
    """The reply says how long it is, and ends before."""
    server = serve("llamacpp")
    model = open_model(server.spec())
    cuts = [b'{"completion_probabilities": [', b""]
    server.fail = lambda path, call: (200, CUT, cuts.pop()) if cuts else None
    request = FillBlank("The nurse met the ", words=("man",))
    assert worst(ask(model, [request]), ask(local, [request])) < 1e-4
    assert cuts == []
    server.fail = lambda path, call: (200, CUT, b"{")
    with pytest.raises(FailedRun, match="failed 4 times"):
        ask(model, [FillBlank("The nurse met the bus with ", words=("man",))])


@pytest.mark.parametrize("fails_at", [1, 2, 40])
def test_what_was_answered_before_a_failure_is_cached(fails_at, serve):
    server = serve("llamacpp")
    model, store = open_model(server.spec("&parallel=1")), AnswerStore(":memory:")
    requests = [FillBlank(f"The nurse met {i} ", words=("man",)) for i in range(50)]
    before = server.asked
    server.fail = lambda path, call: (503, {}, {}) if call >= before + fails_at else None
    with pytest.raises(FailedRun, match="what it answered is cached"):
        Engine(model, store).answer(requests)
    server.fail = lambda path, call: None
    engine = Engine(model, store)
    engine.answer(requests)
    assert engine.counts.happened["requests_asked"] == 50 - (fails_at - 1)


@pytest.mark.parametrize("spec", [".com", "a..b", "x" * 70])
def test_an_address_that_cannot_be_looked_up_is_named(spec, small):
    with pytest.raises(FailedRun, match="nothing answers at http"):
        open_model(f"served:http://{spec}:1/v1#small?tokenizer={small}")


def changed(reply, path, value):
    """A copy with one value replaced: `choices.0.logprobs`; `MISSING` takes it out."""
    reply = copy.deepcopy(reply)
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place = reply
    for step in steps:
        place = place[step]
    if value is MISSING:
        del place[last]
    else:
        place[last] = value
    return reply


MISSING = object()
DEEP = b"[" * 100_000
WHOLE = [DEEP, b'{"data": ' * 100_000, b"null", b"[]", b"5", b'"text"', b"<html>", b"", b"\xff\xfe", b"{}"]
PAGES = {
    "vllm": ["/v1/models", "/version", "/v1/completions", "/tokenize"],
    "llamacpp": ["/v1/models", "/props", "/completion", "/tokenize"],
    "other": ["/v1/models", "/v1/completions"],
}
LISTED = "choices.0.logprobs.content.0.top_logprobs"
PARTS = [
    ("vllm", "/v1/models", "data", {}),
    ("vllm", "/v1/models", "data", []),
    ("vllm", "/v1/models", "data.0", None),
    ("vllm", "/v1/models", "data.0.id", MISSING),
    ("vllm", "/v1/models", "data.0.id", 5),
    ("vllm", "/v1/models", "data.0.max_model_len", MISSING),
    ("vllm", "/v1/models", "data.0.max_model_len", "long"),
    ("vllm", "/v1/models", "data.0.max_model_len", -1),
    ("vllm", "/version", "version", {"a": 1}),
    ("vllm", "/v1/completions", "choices", []),
    ("vllm", "/v1/completions", "choices.0", None),
    ("vllm", "/v1/completions", "choices.0.logprobs", None),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs", 5),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs", []),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs.0", {}),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs.0", {"the": -1.0}),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs.0.token_id:5", None),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs.0.token_id:5", "-1"),
    ("vllm", "/v1/completions", "choices.0.logprobs.top_logprobs.0.token_id:5", math.nan),
    ("vllm", "/v1/completions", "usage", MISSING),
    ("vllm", "/v1/completions", "usage.prompt_tokens", "4"),
    ("vllm", "/v1/completions", "choices.0.prompt_logprobs", 7),
    ("vllm", "/v1/completions", "choices.0.prompt_logprobs", [None]),
    ("vllm", "/tokenize", "tokens", "a b"),
    ("vllm", "/tokenize", "tokens.0", 1.0),
    ("llamacpp", "/v1/models", "data.0.meta", None),
    ("llamacpp", "/v1/models", "data.0.meta.n_vocab", "many"),
    ("llamacpp", "/v1/models", "data.0.meta.n_vocab", 10**12),
    ("llamacpp", "/v1/models", "data.0.meta.n_vocab", 0),
    ("llamacpp", "/props", "total_slots", 0),
    ("llamacpp", "/props", "total_slots", "two"),
    ("llamacpp", "/props", "default_generation_settings", None),
    ("llamacpp", "/props", "default_generation_settings.n_ctx", 1e3),
    ("llamacpp", "/completion", "completion_probabilities", []),
    ("llamacpp", "/completion", "completion_probabilities.0.top_logprobs", 5),
    ("llamacpp", "/completion", "completion_probabilities.0.top_logprobs.0.id", "3"),
    ("llamacpp", "/completion", "completion_probabilities.0.top_logprobs.0.id", 3.0),
    ("llamacpp", "/completion", "completion_probabilities.0.top_logprobs.0.id", -1),
    ("llamacpp", "/completion", "completion_probabilities.0.top_logprobs.0.id", 10**30),
    ("llamacpp", "/completion", "completion_probabilities.0.top_logprobs.0.logprob", MISSING),
    ("llamacpp", "/completion", "tokens_evaluated", "all"),
    ("llamacpp", "/tokenize", "tokens.0", "5"),
    ("other", "/v1/models", "data.0.max_model_len", "long"),
    ("other", "/v1/completions", "choices.0.logprobs", None),
    ("other", "/v1/completions", LISTED, 5),
    ("other", "/v1/completions", f"{LISTED}.0.token", 5),
    ("other", "/v1/completions", f"{LISTED}.0.logprob", "-1"),
    ("other", "/v1/completions", f"{LISTED}.0.logprob", math.inf),
    ("other", "/v1/completions", "usage", [4]),
]


def refused(spec):
    """In one line that names the address."""
    with pytest.raises(BadInput) as caught:
        open_model(spec)
    assert "http://127.0.0.1:" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(("kind", "page"), [(kind, page) for kind, pages in PAGES.items() for page in pages])
def test_a_reply_that_is_malformed_is_refused(kind, page, serve):
    server = serve(kind)
    for content in WHOLE:
        if (page, content) != ("/version", b"{}"):  # a version need not be known
            server.fail = lambda path, call, content=content: (200, {}, content) if path == page else None
            refused(server.spec())


@pytest.mark.parametrize(("kind", "page", "place", "value"), PARTS)
def test_a_part_of_a_reply_that_is_malformed_is_refused(kind, page, place, value, serve):
    def lie(path, reply):
        has = path == page and ("prompt_logprobs" in reply.get("choices", [{}])[0]) == ("prompt_logprobs" in place)
        return changed(reply, place, value) if has else reply

    refused(serve(kind, lie=lie).spec())


def test_a_malformed_reply_ends_a_run_with_the_address(serve):
    server = serve("llamacpp")
    model, store = open_model(server.spec()), AnswerStore(":memory:")
    requests = [FillBlank(f"The nurse met {i} ", words=("man",)) for i in range(4)]
    for content in (DEEP, b"null", b'{"completion_probabilities": [{"top_logprobs": 5}]}'):
        server.fail = lambda path, call, content=content: (200, {}, content)
        with pytest.raises(FailedRun, match=r"http://127.*/completion sent an invalid reply: .*is cached"):
            Engine(model, store).answer(requests)


def test_what_a_server_sends_commands_no_terminal(serve):
    server = serve("llamacpp", model="\x1b[2Jsmall\nexit 0")
    with pytest.raises(BadInput) as caught:
        open_model(server.spec().replace(server.model, "large"))
    assert str(caught.value).endswith(r"write #MODEL with one of: \x1b[2Jsmall exit 0")
    server.fail = lambda path, call: (400, {}, {"error": {"message": "\x1b]0;title\x07 no\u202e"}})
    with pytest.raises(BadInput) as caught:
        open_model(server.spec().replace(f"#{server.model}", ""))
    assert r"400: \x1b]0;title\x07 no\u202e" in str(caught.value)


# ---------------------------------------------------------------- names, keys, identity


def test_the_key_comes_from_the_environment_and_is_nowhere_else(serve, monkeypatch, small):
    monkeypatch.setenv(client.KEY, "sk-very-secret")
    server = serve("vllm")
    (found,) = find([server.spec()])
    examined = examine(found, Options(servers=ServerAccess.WITH_KEY))
    assert {headers.get("Authorization") for headers in server.headers} == {"Bearer sk-very-secret"}
    server.fail = lambda path, call: (401, {}, {"error": {"message": "the key sk-very-secret is wrong"}})
    with pytest.raises(FailedRun) as caught:
        ask(examined.open(), [ScoreText("The nurse.")])
    assert "401" in str(caught.value)
    assert "secret" not in f"{caught.value} {examined.outline.card} {examined.location} {found}"
    with pytest.raises(BadInput, match=client.KEY) as refused:
        find([f"served:http://me:sk-other@127.0.0.1:1/v1?tokenizer={small}"])
    assert "sk-other" not in str(refused.value)


def test_compute_id_names_server_version_model_and_tokenizing(serve, local, monkeypatch):
    def compute_id(options="", **more):
        return open_model(serve("llamacpp", **more).spec(options)).card.compute_id

    first = compute_id()
    assert compute_id() == first  # the port is no part of it
    assert compute_id("&parallel=1&seconds=60") == first
    others = {compute_id(version="2"), compute_id(model="other"), compute_id("&start=none"), local.card.compute_id}
    assert len(others | {first}) == 5


def test_weights_that_a_server_here_names_are_part_of_compute_id(serve, tmp_path):
    file = tmp_path / "w.gguf"

    def compute_id(content):
        file.write_bytes(content)
        names = {"model_path": str(file)}
        lie = lambda path, reply: {**reply, **names} if path == "/props" else reply  # noqa: E731
        return open_model(serve("llamacpp", lie=lie).spec()).card.compute_id

    assert compute_id(b"one") != compute_id(b"other")


def test_a_location_opens_it_again(serve):
    server = serve("llamacpp")
    (found,) = find([server.spec("&parallel=3&start=none")])
    (again,) = find([found.location])
    assert again == replace(found, tokenizer=again.tokenizer, path=again.path)
    assert again.server.parallel == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("served:127.0.0.1:8000", "names no server"),
        ("served:http://127.0.0.1:x/v1#m?tokenizer=.", "names no server"),
        ("served:http://127.0.0.1:1/v1#m", r"needs the model's tokenizer.*\?tokenizer=FOLDER_OR_ID"),
        ("served:http://127.0.0.1:1/v1#m?tokenizer=./nowhere", "no folder './nowhere'"),
        ("served:http://127.0.0.1:1/v1#m?tokenizer=.&parallel=0", "parallel is a whole number from 1"),
        ("served:http://127.0.0.1:1/v1#m?tokenizer=.&paralel=2", "did you mean 'parallel'"),
        ("served:http://127.0.0.1:1/v1?k=1#m?tokenizer=.", "a served model has no option 'k'"),
    ],
)
def test_a_spec_that_cannot_be_right(spec, message):
    with pytest.raises(BadInput, match=message):
        find([spec])


def test_names(small):
    def name(spec):
        return find([f"{spec}?tokenizer={small}"])[0].name

    assert name("served:http://127.0.0.1:8000/v1#org/model") == "org--model"
    assert name("mine=served:http://127.0.0.1:8000/v1#org/model") == "mine"
    assert name("served:http://127.0.0.1:8000/v1") == "127.0.0.1--8000--v1"
    family = find([f"f=served:http://a/v1#m-seed_{i}?tokenizer={small}" for i in (0,)])
    assert family[0].name == "f"
    members = ",".join(f"served:http://a/v1#m-seed_{i}?tokenizer={small}" for i in (0, 1))
    assert [(s.name, s.labels) for s in find([f"f={members}"])] == [
        ("f-seed0", {"model_seed": 0}),
        ("f-seed1", {"model_seed": 1}),
    ]


def test_weights_are_not_here(serve, small):
    from trueprobe.models import preflight

    (found,) = find([serve("vllm").spec()])
    with pytest.raises(BadInput, match="has no weights here"):
        preflight(found, Options())
    assert isinstance(ask(open_model(small), [EmbedText("x", "cls")])[0], WhyNot)

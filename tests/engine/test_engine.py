"""The engine: computes each row once, keeps it, and gives the same numbers however it is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trueprobe.engine import AnswerStore, Engine
from trueprobe.errors import FailedRun
from trueprobe.probes import make, spread
from trueprobe.runs.check import sample_requests, worst
from trueprobe.types import EmbedText, FillBlank, ScoreText, WhyNot


class Watched:
    """A model that counts what is computed; everything else is the model's own."""

    def __init__(self, model, **changes):
        self._model, self._changes = model, changes
        self.rows = self.widest = 0
        self.kinds = []  # of the reads of each batch

    def __getattr__(self, name):
        return self._changes.get(name, getattr(self._model, name)) if name != "_changes" else None

    def forward(self, batch):
        self.rows += len({(read.row.ids, read.row.segments) for read in batch.reads})
        self.widest = max(self.widest, batch.ids.size)
        self.kinds.append({read.kind for read in batch.reads})
        return self._model.forward(batch)


def asked(probe, card, limit=120):
    return [r for item in spread(probe.items(), limit) for r in probe.ask(item, card)]


@pytest.fixture
def store():
    return AnswerStore(":memory:")


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_row_asked_by_two_is_computed_once(name, opened, store):
    model = Watched(opened(name))
    requests = asked(make("counteracts"), model.card)
    engine = Engine(model, store)
    engine.answer([*requests, *requests, *(replace(r, top=3) for r in requests)])
    assert model.rows == engine.counts.planned["rows"] < len(requests)


def test_nan_in_a_store_is_no_answer_and_is_computed_again(opened, store):
    model, request = opened("bert"), ScoreText("The man is here.")
    first = Engine(model, store).answer([request])
    store._db.execute("UPDATE answers SET value = ?", (np.float32([np.nan]).tobytes(),))
    assert Engine(model, store).answer([request]) == first


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "mobilebert"])
def test_another_verbalizer_or_k_needs_no_forward_pass(name, opened, store, tmp_path):
    model = Watched(opened(name))
    Engine(model, store).answer(asked(make("counteracts"), model.card))
    computed = model.rows
    more = tmp_path / "more.toml"
    more.write_text('[verbalizer]\nfemale = ["nurse"]\nmale = ["driver"]\n')
    requests = asked(make("counteracts", {"verbalizer": str(more)}), model.card)
    answers = Engine(model, store).answer([replace(request, top=50) for request in requests])
    assert model.rows == computed > 0
    assert len(answers[0].top) == 50
    assert "nurse" in answers[0].words


def test_a_store_on_disk_answers_the_next_process(opened, tmp_path):
    requests = sample_requests("masked")
    first = Engine(opened("bert"), AnswerStore(tmp_path / "s.sqlite")).answer(requests)
    again = Watched(opened("bert"))
    second = Engine(again, AnswerStore(tmp_path / "s.sqlite")).answer(requests)
    assert worst(first, second) == 0
    assert again.rows == 0


@pytest.mark.slow
def test_models_with_other_weights_share_nothing(checkpoint, opened, store, tmp_path):
    import zoo
    from trueprobe.models import open_model

    other = Watched(open_model(str(zoo.save("bert", tmp_path / "other", model_seed=7))))
    requests = sample_requests("masked")
    ours = Engine(opened("bert"), store).answer(requests)
    theirs = Engine(other, store).answer(requests)
    assert other.rows > 0
    assert worst(ours, theirs) > 0.1


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_bits_do_not_depend_on_whether_hidden_states_are_asked_too(name, opened):
    """Also of one row that is asked for both: a causal text scored and embedded."""
    scored, embedded = ScoreText("The nurse was late."), EmbedText("The nurse was late", "mean")
    blanks = [FillBlank(f"The {who} was ", top=5) for who in ("nurse", "man")]
    others = [scored, *blanks]

    def answers(*requests):
        engine = Engine(opened(name), AnswerStore(":memory:"))
        return engine.answer(requests), engine.counts

    together, counts = answers(*others, embedded)
    assert worst(together, [*answers(*others)[0], *answers(embedded)[0]]) == 0
    assert counts.planned["tokens_planned"] <= counts.planned["tokens_in_rows"]
    assert counts.happened["rows_computed"] == counts.planned["rows"] + (name == "gpt2")  # of which one twice


def test_what_is_lacking_of_a_row_is_computed_and_the_rest_is_not(opened, store):
    model = Watched(opened("gpt2"))
    engine = Engine(model, store)
    engine.answer([ScoreText("The nurse was late.")])
    (kinds,) = model.kinds
    assert kinds == {"token"}
    engine.answer([ScoreText("The nurse was late."), EmbedText("The nurse was late", "mean")])
    assert model.kinds[1:] == [{"vector"}]


def test_causal_rows_share_the_computation_of_their_beginning(opened, store):
    model = opened("gpt2")
    requests = [FillBlank(f"The woman worked as a nurse. The {who} is ") for who in ("man", "nurse", "bus", "woman")]
    engine = Engine(model, store)
    together = engine.answer([replace(request, top=5) for request in requests])
    assert engine.counts.planned["tokens_planned"] < 0.6 * engine.counts.planned["tokens_in_rows"]
    plain = Engine(Watched(model, traits=replace(model.traits, shares_prefixes=False)), AnswerStore(":memory:"))
    apart = plain.answer([replace(request, top=5) for request in requests])
    assert plain.counts.planned["tokens_planned"] == plain.counts.planned["tokens_in_rows"]
    assert 0 <= worst(together, apart) <= 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_out_of_memory_halves_the_batch_and_goes_on(name, opened):
    model = opened(name)
    requests = sample_requests(model.card.kind)
    expected = Engine(model, AnswerStore(":memory:"), batch_tokens=2048).answer(requests)

    class Small(Watched):
        def forward(self, batch):
            if len(batch.ids) > 2:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
            return super().forward(batch)

    small = Small(model)
    assert worst(expected, Engine(small, AnswerStore(":memory:"), batch_tokens=2048).answer(requests)) <= 1e-4
    assert small.rows > 0


def test_no_memory_for_one_text_is_a_failed_run_not_an_endless_one(opened, store):
    class Hopeless(Watched):
        def forward(self, batch):
            raise MemoryError

    with pytest.raises(FailedRun, match="no memory for one text"):
        Engine(Hopeless(opened("bert")), store).answer([FillBlank("The ", " works.")])


def test_other_errors_of_a_model_are_not_swallowed(opened, store):
    class Broken(Watched):
        def forward(self, batch):
            raise RuntimeError("index out of range in self")

    with pytest.raises(RuntimeError, match="index out of range"):
        Engine(Broken(opened("bert")), store).answer([FillBlank("The ", " works.")])


def test_a_request_that_cannot_be_asked_does_not_stop_the_others(opened, store):
    model = opened("gpt2")
    good, bad = FillBlank("The nurse is ", top=3), FillBlank("The ", " works.")
    answers = Engine(model, store).answer([bad, good, ScoreText("")])
    assert [type(answer).__name__ for answer in answers] == ["WhyNot", "Filled", "WhyNot"]
    assert isinstance(answers[0], WhyNot)
    assert answers[0].code == "right_context"
    assert answers[2].code == "empty_text"


def test_cached_answers_of_other_library_versions_are_checked_and_used(opened, tmp_path):
    path = tmp_path / "s.sqlite"
    requests = asked(make("counteracts"), opened("bert").card, 60)
    before = Engine(opened("bert"), AnswerStore(path, "older")).answer(requests)
    model = Watched(opened("bert"))
    after = Engine(model, AnswerStore(path, "newer")).answer(requests)
    assert worst(before, after) == 0
    assert 0 < model.rows <= 10
    Engine(model, AnswerStore(path, "newer")).answer(requests)
    assert model.rows <= 10  # checked once, not every time


def test_cached_answers_that_no_longer_agree_are_computed_anew(opened, tmp_path):
    path = tmp_path / "s.sqlite"
    requests = asked(make("counteracts"), opened("bert").card, 60)
    older = AnswerStore(path, "older")
    before = Engine(opened("bert"), older).answer(requests)
    for key, what in older._db.execute("SELECT key, what FROM answers").fetchall():
        value = older.get([(key, what)])[key, what]
        older.put([((key, what), value + np.float32(0.01))], replace=True)
    after = Engine(opened("bert"), AnswerStore(path, "newer")).answer(requests)
    assert worst(before, after) == 0

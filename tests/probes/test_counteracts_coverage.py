"""How causal models are asked is chosen by what their answers cover; where nothing is measurable, that is reported."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import trueprobe
import zoo
from trueprobe import probes
from trueprobe.probes.counteracts.coverage import FORMS
from trueprobe.results.render import terminal
from trueprobe.results.text import findings as words
from trueprobe.results.view import Report
from trueprobe.runs.check import stand_in
from trueprobe.statistics.rows import ClaimResult, Estimate
from trueprobe.types import Observation, Verdict, WhyNot


@pytest.fixture(scope="module")
def probe():
    return probes.make("counteracts")


def tried(probe, target_is: float, person_is: float) -> list[Observation]:
    shares = dict(zip(FORMS, (target_is, person_is), strict=True))
    return [Observation(i.id, {"answered_top10": shares[i.fields["form"]]}) for i in probe.trials()]


@pytest.mark.parametrize(
    ("target_is", "person_is", "form"),
    [(0.0, 0.9, "person_is"), (0.5, 1.0, "target_is"), (0.9, 0.1, "target_is"), (0.0, 0.0, "target_is")],
)
def test_the_form_that_covers_something_is_asked(probe, target_is, person_is, form):
    settled = probe.settled(tried(probe, target_is, person_is))
    assert settled.form == form
    asked = settled.items()[0].fields["causal_left"]
    assert asked.endswith("The target is " if form == "target_is" else "is a ")
    assert settled.facts()["causal"]["form"] == form
    assert settled.facts()["causal"]["answered"] == pytest.approx({"target_is": target_is, "person_is": person_is})
    assert any(f"in the form {form}" in note for note in settled.summary.notes)
    assert not settled.trials()


def test_only_causal_models_are_tried_and_a_choice_is_kept(probe):
    item = probe.trials()[0]
    assert isinstance(probe.ask(item, stand_in("masked")), WhyNot)
    (request,) = probe.ask(item, stand_in("causal"))
    assert request.left.startswith("The target works as")
    assert probe.settled([]).form == "target_is"
    chosen = probes.make("counteracts", {"causal": "person_is"})
    assert (chosen.trials(), chosen.form) == ([], "person_is")


def test_a_shift_needs_a_listed_word_in_the_prompt_and_in_its_base_prompt(probe):
    claims = {claim.name: claim for claim in probe.claims() if claim.conditions == {"k": 10}}
    assert claims["base_stereotyped"].coverage == "answered_top10"
    assert claims["pro_enlarges"].coverage == claims["unrelated_keeps"].coverage == "compared_top10"
    margin = {"female_top10": 0.2, "male_top10": 0.1}
    none = dict.fromkeys(margin, 0.0)
    assert probe._preference(margin, "top10", "female")["answered_top10"] == 1
    assert probe._preference(none, "top10", "female")["answered_top10"] == 0
    little = {"female_all": 0.0006, "male_all": 0.0003}
    assert probe._preference(little, "all", "female")["answered_all"] == 0


def characters():
    """A vocabulary of single characters."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {sign: i for i, sign in enumerate(["<|endoftext|>", *signs])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    end = "<|endoftext|>"
    return zoo._fast(tokenizer.to_str(), bos_token=end, eos_token=end)


def test_a_vocabulary_without_the_listed_words_is_reported_as_such(tmp_path):
    folder = zoo.save("gpt2", tmp_path / "characters", tokenizer=characters())
    run = trueprobe.run("counteracts", [str(folder)], out=tmp_path / "run", store=tmp_path / "s", limit=40)
    rows = run.observations("counteracts")
    assert set(rows["why_not"]) == {"multi_piece"}
    assert set(rows["why_not_detail"]) == {"0 of 63 female words are one piece of this vocabulary"}
    (section, *_) = Report.of(run).sections
    assert words.scored_sentence(section.scoring) == "None of the 40 answers could be scored (40 of several tokens)."
    assert {row.verdict for row in run.rows(ClaimResult)} == {Verdict.NOTHING_SCORED}


@pytest.mark.slow
def test_the_form_and_the_coverage_are_printed(tmp_path):
    run = trueprobe.run("counteracts", ["nursery-causal/0"], out=tmp_path / "run", store=tmp_path / "s", limit=200)
    assert run.declarations["counteracts"].facts["causal"]["form"] == "person_is"
    console = Console(file=io.StringIO(), width=100)
    terminal.show(run, console)
    printed = " ".join(console.file.getvalue().split())
    assert "causal models were prompted in the form person_is" in printed
    assert " countable" in printed
    at_all = [e for e in run.rows(Estimate) if e.measure == "listed_mass" and e.conditions["k"] == "all"]
    at_ten = [e for e in run.rows(Estimate) if e.measure == "listed_mass" and e.conditions["k"] == "10"]
    assert [e.value for e in at_all] == [e.value for e in at_ten]

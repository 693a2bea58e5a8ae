"""Signatures: what they name, and what follows where two of them differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_runs
from made_runs import card, estimate
from trueprobe import __version__, probes
from trueprobe.errors import BadInput
from trueprobe.runs import load_run
from trueprobe.runs.compare import compare
from trueprobe.runs.schema import StudyDescription
from trueprobe.runs.signature import Signer, common, described, differing, joined, of_the_models, parts_of
from trueprobe.types import WordList

PLAIN = {"title": "", "probes": (), "models": (), "limit": None, "dtype": "float32"}
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def signature_of(probe, conditions=None, cards=(), **study):
    description = StudyDescription(**{**PLAIN, "intervals": "crossed", **study})
    row = estimate("solo", "share", 0.5, conditions=conditions or {})
    return Signer(description, cards or [card("solo")], {"pairs": probe}).signature(row)


def crows(**settings):
    return probes.make("crows_pairs", {"data": "sample", **settings})


def test_what_has_its_default_is_left_out():
    sha256 = crows().material_id[:8]
    head, tail = "probe:crows_pairs|measure:share|category:all|data:sample", f"sha256:{sha256}"
    end = f"intervals:crossed|seed:0|start:[CLS]|version:{__version__}"
    assert signature_of(crows(), {"category": "all"}) == f"{head}|{tail}|{end}"
    changed = crows(variant="differing", rounding="authors", resample_seed=7)
    assert signature_of(changed, {"category": "all"}, limit=400, dtype="bfloat16", intervals="multibootstrap") == (
        f"{head}|variant:differing|rounding:authors|{tail}|limit:400|dtype:bfloat16|intervals:multibootstrap|seed:7|"
        f"start:[CLS]|version:{__version__}"
    )


def test_a_condition_says_it_once():
    parts = signature_of(crows(variant="differing"), {"variant": "differing"}).split("|")
    assert parts.count("variant:differing") == 1


def test_a_words_list_its_score_and_what_trials_decided_are_named():
    words = WordList("common", ("bear", "fur"))
    tacit = probes.make("tacit_production").with_vocabulary(words)
    assert parts_of(signature_of(tacit))["words"] == words.sha256[:8]
    assert parts_of(signature_of(probes.make("stereoset", {"data": "sample"})))["score"] == "mean_probability"
    counteracts = probes.make("counteracts")
    assert parts_of(signature_of(counteracts))["causal"] == counteracts.form


def test_an_edited_file_under_the_same_name_is_another_signature(tmp_path):
    path = tmp_path / "mine.csv"
    lines = ["sent_more,sent_less,stereo_antistereo,bias_type", "He ran.,She ran.,stereo,gender"]
    path.write_text("\n".join(lines))
    before = signature_of(probes.make("crows_pairs", {"data": str(path)}))
    path.write_text("\n".join([*lines, "He sat.,She sat.,stereo,gender"]))
    after = signature_of(probes.make("crows_pairs", {"data": str(path)}))
    assert "data:mine.csv" in before
    assert list(differing(before, after)) == ["sha256"]


def test_the_start_of_texts_is_that_of_the_model_and_its_separators_are_escaped():
    gpt2 = replace(card("solo"), start_text="<|endoftext|>")
    assert "|start:<%7Cendoftext%7C>|" in signature_of(crows(), cards=[gpt2])
    assert "|start:none|" in signature_of(crows(), cards=[replace(gpt2, start_text="")])


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), TEXT, min_size=1))
def test_parts_can_be_read_again(parts):
    written = parts_of(joined(parts))
    assert list(written) == list(parts)
    plain = {name: value for name, value in parts.items() if value.isalnum()}
    assert {name: written[name] for name in plain} == plain


def test_what_differs_and_what_is_common():
    one, other = "probe:p|k:5|limit:9|start:[CLS]", "probe:p|k:10|start:<s>"
    differences = differing(one, other)
    assert differences == {"k": ("5", "10"), "limit": ("9", ""), "start": ("[CLS]", "<s>")}
    assert described(differing(one, other, ["start"])) == "k 5 and 10; limit 9 and not set"
    assert common([one, other]) == "probe:p"
    assert common([one, one]) == one
    assert common([one, ""]) == common([]) == ""


def test_a_start_may_differ_only_where_tokenizers_do():
    bert = card("a")
    assert of_the_models([bert], [replace(bert, start_text="")]) == ()
    assert of_the_models([bert], [replace(bert, tokenizer_id="other", start_text="<s>")]) == ("start",)


def two_models(folder, starts, tokenizers=("t", "t")):
    cards = [
        replace(card(name), start_text=start, tokenizer_id=tokenizer)
        for name, start, tokenizer in zip("ab", starts, tokenizers, strict=True)
    ]
    rows = [
        estimate(one.name, "preference", 0.5, signature=f"probe:pairs|k:1|start:{one.start_text or 'none'}")
        for one in cards
    ]
    return load_run(made_runs.write(folder, cards, rows))


def test_models_that_were_asked_otherwise_are_not_compared_unasked(tmp_path, probe_again):
    run = two_models(tmp_path / "run", ("[CLS]", ""))
    with pytest.raises(BadInput, match=r"have different signatures \(start \[CLS\] and none\); --allow-unequal"):
        compare(run, "a", "b")
    made = compare(run, "a", "b", allow_unequal=True)
    assert made.unequal == {"start": ("[CLS]", "none")}
    assert {row.signature for row in made.rows} == {"probe:pairs|k:1"}
    other = two_models(tmp_path / "other", ("[CLS]", "<s>"), ("t", "u"))
    assert compare(other, "a", "b").unequal == {}

"""Released outputs go the way of a model's answers; published numbers come out of them."""

from __future__ import annotations

import gzip
import json
import math
import shutil
from functools import cache

import pytest
from rich.console import Console
from typer.testing import CliRunner

import authors_tree
import made_runs
import trueprobe
import zoo
from trueprobe import probes
from trueprobe.cli import app
from trueprobe.errors import BadInput, FailedRun
from trueprobe.probes import published
from trueprobe.probes.distractors import released
from trueprobe.results.render import reproduction
from trueprobe.runs import replay, reproduce

CONDITION = "multiple_entity_with_neutral_distractor"
SETTINGS = {"faithful": True}
HEADER = "sentence\ttarget_prob\tordered_items\ttarget_occupation\n"


@cache
def rows(causal=False):
    """What a made-up model says: right with an even number of attractors, and a probability that halves with each."""
    return tuple(_rows(causal))


def _rows(causal):
    probe = probes.make("distractors", SETTINGS)
    for item in probe.items():
        if (item.conditions["setting"], item.conditions["type"]) == ("multiple", "unrelated"):
            target, n = item.fields["target"], item.conditions["attractors"]
            words = [w for w in probe.candidates[item.conditions["set"]].words if w != target]
            order = [target, *words] if n % 2 == 0 else [*words, target]
            text = item.text.partition(" ___")[0] if causal else item.text.replace("___", "[MASK]")
            yield text, 0.4 * 0.5**n, order, target


def write(folder, said, name="Made.csv", condition=CONDITION):
    lines = [f"{text}\t{p}\t{order}\t{target}\n" for text, p, order, target in said]
    (folder / condition).mkdir(parents=True, exist_ok=True)
    (folder / condition / name).write_text(HEADER + "".join(lines), encoding="utf-8")
    return folder


def accuracy(run, attractors, measure="accuracy"):
    wanted = {"set": "all", "setting": "multiple", "type": "unrelated", "attractors": str(attractors)}
    rows = [row for row in run.estimates_of("distractors") if row.measure == measure]
    (row,) = [row for row in rows if wanted.items() <= row.conditions.items()]
    return row.value


@pytest.mark.slow
def test_what_was_released_is_counted_and_what_was_not_is_said(tmp_path):
    write(tmp_path / "said", list(rows()))
    run = trueprobe.run("distractors", f"replay:{tmp_path / 'said'}", tmp_path / "run", settings=SETTINGS)
    assert [accuracy(run, n) for n in range(4)] == [1, 0, 1, 0]
    assert accuracy(run, 2, "relative_probability") == pytest.approx(0.25)
    observations = run.observations("distractors")
    assert len(observations) == 40_928
    assert observations["why_not"].value_counts().to_dict() == {"not_released": 40_928 - 7_568, "": 7_568}
    (card,) = run.cards
    assert (card.name, card.kind, card.architecture) == ("Made", "masked", "released outputs")
    write(tmp_path / "said", [(t, p / 2, *rest) for t, p, *rest in rows()])
    with pytest.raises(BadInput, match="different weights of Made"):
        trueprobe.run("distractors", f"replay:{tmp_path / 'said'}", tmp_path / "run", settings=SETTINGS)


def read(folder, settings=SETTINGS):
    return probes.make("distractors", settings).read_released(folder)


def names_swapped(said):
    """Two of the names changed places: still the same sentences."""
    for text, *rest in said:
        yield (text.replace("Jack", "#").replace("John", "Jack").replace("#", "John"), *rest)


@pytest.mark.slow
def test_names_may_differ_and_causal_sentences_end_before_the_blank(tmp_path):
    plain = rows(causal=True)
    (one,) = read(write(tmp_path, names_swapped(plain), "Small.csv"))
    assert (one.name, one.kind, len(one.observations)) == ("Small", "causal", 7_568)


@pytest.mark.slow
def test_what_cannot_be_right_is_told_with_its_line(tmp_path):
    plain = list(rows())
    cases = {
        "another sentence": ([("Rowan sings .", *plain[0][1:]), *plain[1:]], "line 2: 'Rowan sings .' is not the sent"),
        "a name too few": (
            [(t.replace("Joe", "Rowan"), *rest) for t, *rest in plain],
            "is not the sentence of this item",
        ),
        "short": (plain[:-1], "7,567 sentences, but this condition has 7,568"),
        "no number": (
            [*plain[:4], (plain[4][0], "high", *plain[4][2:]), *plain[5:]],
            "line 6: target_prob is no number but .high.",
        ),
        "a probability of two": ([(plain[0][0], 2.0, *plain[0][2:]), *plain[1:]], "line 2: .*2.0, which is no probab"),
        "infinite": (
            [(plain[0][0], "inf", *plain[0][2:]), *plain[1:]],
            "line 2: target_prob is inf, neither a probability",
        ),
        "no order": ([(*plain[0][:2], [], plain[0][3]), *plain[1:]], "line 2: .*has 0 of the 6 candidates"),
        "half an order": ([(*plain[0][:2], plain[0][2][:3], plain[0][3]), *plain[1:]], "has 3 of the 6 candidates"),
        "one twice": ([(*plain[0][:2], [plain[0][3]] * 6, plain[0][3]), *plain[1:]], "or one of them twice"),
    }
    for name, (said, message) in cases.items():
        with pytest.raises(BadInput, match=message):
            read(write(tmp_path / name, said))
    with pytest.raises(BadInput, match="none of the released conditions"):
        read(write(tmp_path / "elsewhere", plain, condition="multiple_entities"))
    bare = write(tmp_path / "bare", [])
    (bare / CONDITION / "Made.csv").write_text("sentence\torder\n", encoding="utf-8")
    with pytest.raises(BadInput, match="line 1: no column 'target_prob'"):
        read(bare)
    with pytest.raises(BadInput, match="faithful=true"):
        read(bare, {})
    with pytest.raises(BadInput, match="no CONDITION/MODEL"):
        read(tmp_path / "nothing" if (tmp_path / "nothing").mkdir() is None else tmp_path)


# ---------------------------------------------------------------- the authors' repository as cloned


@pytest.mark.slow
def test_a_clone_is_read_by_its_folders_and_its_ratios_are_the_relative_probabilities(tmp_path):
    clone = authors_tree.clone(tmp_path, {"BertLarge": 0.8, "BertBase": 0.2})
    settings = {"faithful": True, "base": "authors"}
    base, large = read(clone, settings)
    assert (base.name, large.name, large.kind) == ("BertBase", "BertLarge", "masked")
    ratio = {0: 0.8, 1: 0.4, 2: 0.2, 3: 0.1}  # as the files have it; by their own base sentences: 1, 0.5, 0.25, 0.12
    for model in (base, large):
        for one in model.observations:
            assert one.values["relative_probability"] == ratio[one.values["attractors_after_fact"]]
    assert large.observations[0].values["base_probability"] == 0.4  # not known, but the only one behind their ratios
    assert base.observations[0].values["base_probability"] == 0.16  # their constant for flowers, known
    before = replay._sha256(clone)
    (clone / ".git" / "index").write_bytes(b"2")  # a fetch, a checkout: the outputs are the same
    assert replay._sha256(clone) == before


@pytest.mark.slow
def test_loose_files_beside_the_models_folders_are_passed_over_and_named_once(tmp_path):
    clone = authors_tree.clone(tmp_path / "clone", {"BertBase": 0.5})
    settings = {"faithful": True, "base": "authors"}
    probe = probes.make("distractors", settings)
    assert probe.released_models(clone) == ["BertBase"]
    assert [one.name for one in probe.read_released(clone)] == ["BertBase"]
    (line,) = replay.notices([f"replay:{clone}"] * 2, [probe, probe])
    names = ", ".join(sorted(f"complete_data_{name}.csv" for name in authors_tree.LOOSE))
    assert "multiple_entity_object: passed over " + names in line
    alone = write(tmp_path / "alone", list(rows()))  # CONDITION/MODEL.csv, and no folder of a model
    assert probe.released_models(alone) == ["Made"]
    assert not probe.released_notices(alone)


@pytest.mark.slow
def test_the_command_names_what_is_passed_over(tmp_path):
    clone = authors_tree.clone(tmp_path / "clone", {"BertBase": 0.5})
    asked = ["run", "distractors", "--model", f"replay:{clone}", "--set", "faithful=true", "--limit", "400"]
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "run"), "--store", str(tmp_path / "store")])
    assert done.exit_code == 0, done.output
    assert done.stderr.count("multiple_entity_object: passed over complete_data_BertBase.csv, ") == 1


@pytest.mark.slow
def test_figure_5_is_read_up_to_drawn_names_and_fillers_and_decides_its_claims(tmp_path):
    """A made-up model that distractors move where the key entity comes first, and by number where it comes later."""

    def keeps(at):
        return {1: 0.9, 2: 0.6, 3: 0.3}[at["attractors"]] if at["position"] == "key_later" else 0.2

    settings = {"faithful": True, "position": "after,key_later"}
    conditions = ("multiple_entity_profession", authors_tree.LATER)
    clone = authors_tree.clone(tmp_path / "clone", {"RobertaBase": keeps}, conditions)
    ours = {item.id: item.text.replace("___", "[MASK]") for item in probes.make("distractors", settings).items()}
    theirs = (clone / "data" / "combined_data" / authors_tree.LATER / "RobertaBase").glob("*.csv")
    texts = {line.split("\t")[0] for line in next(theirs).read_text(encoding="utf-8").splitlines()}
    assert len(texts & set(ours.values())) < len(texts) / 2  # drawn with another seed
    run = trueprobe.run("distractors", f"replay:{clone}", tmp_path / "run", settings=settings, limit=4000)
    verdicts = {row.claim: row.verdict_alone for row in run.claims.itertuples()}
    assert (verdicts["recency"], verdicts["later_key_falls"]) == ("as_published", "as_published")
    assert verdicts["one_between_hurts"] != "as_published"  # nothing was released about it here


@pytest.mark.slow
def test_figure_5_every_released_sentence_is_read(tmp_path):
    """Their sentences, as they stand, with a probability and an order made up: no output of them is at hand."""
    name = "complete_data_For_MultipleEntityObjectDistractorAccuracyRobertaBase.csv"
    file = zoo.SHARED / "distractors" / "key_entity_later" / f"{name}.gz"
    if not file.is_file():
        pytest.skip("no released sentences beside the checkout (../shared/data/distractors)")
    settings = {"faithful": True, "position": "key_later"}
    probe = probes.make("distractors", settings)
    words = {word: list(listed.words) for listed in probe.candidates.values() for word in listed.words}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        sentences = [line.rstrip("\n").split("\t") for line in lines][1:]
    said = [(text, 0.1, words[target], target) for text, target in sentences]
    (one,) = read(write(tmp_path, said, "RobertaBase.csv", authors_tree.LATER), settings)
    assert len(one.observations) == 16_816
    assert [o.values["target"] for o in one.observations] == [target for _, target in sentences]


@pytest.mark.slow
def test_figure_5_another_sentence_is_refused(tmp_path):
    clone = authors_tree.clone(tmp_path, {"RobertaBase": 0.5}, (authors_tree.LATER,))
    (file,) = (clone / "data" / "combined_data" / authors_tree.LATER / "RobertaBase").glob("*.csv")
    file.write_text(file.read_text(encoding="utf-8").replace("writes poetry", "writes prose", 1), encoding="utf-8")
    with pytest.raises(BadInput, match=r"writes prose.*is not the sentence of this item"):
        read(clone, {"faithful": True, "position": "key_later"})
    with pytest.raises(BadInput, match="no outputs of position=after,between; there are some of position=key_later"):
        read(clone, {"faithful": True, "position": "after,between"})


@pytest.mark.slow
def test_findings_about_single_models_between_and_later_have_their_claims(tmp_path):
    """RoBERTa large gains, GPT-2 medium is last and GPT-2 small the exception: of these models alone."""
    conditions = ("multiple_entity_distractor", "multiple_entity_distractorSwapped")
    keeps = {
        "RobertaLarge": lambda at: 0.9 if at["position"] == "between" else 0.4,
        "GPT2Medium": 0.1,
        "GPT2Small": 0.5,
    }
    clone = authors_tree.clone(tmp_path / "clone", keeps, conditions)
    settings = {"faithful": True, "base": "authors", "position": "after,between"}
    run = trueprobe.run("distractors", f"replay:{clone}", tmp_path / "run", settings=settings, limit=3000)
    models = run.claims.groupby("claim")["model"].agg(set).to_dict()
    assert models["gpt2_small_dips_later"] == {"GPT2Small"}
    assert models["lists_recover_between"] == set(keeps)
    assert models["roberta_large_gains_between"] == {"RobertaLarge"}
    said = run.observations("distractors").rename(columns=lambda name: name.removeprefix("condition_"))
    said = said.query("setting == 'multiple' and attractors > 0 and base_preferred == 1")
    plain = said.groupby(["position", "model", "type", "attractors"])["correct"].mean().groupby(level=[0, 1]).mean()
    rows = {(row.claim, row.model): row for row in run.claims.itertuples()}
    gains = rows["roberta_large_gains_between", "RobertaLarge"]
    assert gains.value == pytest.approx(plain["between", "RobertaLarge"] - plain["after", "RobertaLarge"])
    pooled = said.query("position == 'between'").groupby("model")["correct"].mean()
    for other in ("RobertaLarge", "GPT2Small"):
        row = rows["gpt2_medium_last_between", f"{other} against GPT2Medium"]
        assert row.value == pytest.approx(pooled[other] - pooled["GPT2Medium"])
        assert (row.direction, row.verdict_alone) == ("above", "as_published")


@pytest.mark.slow
def test_larger_released_models_and_roberta_large_have_their_claims(tmp_path):
    clone = authors_tree.clone(tmp_path / "clone", {"RobertaLarge": 0.9, "RobertaBase": 0.2, "GPT2Small": 0.9})
    settings = {"faithful": True, "base": "authors"}
    run = trueprobe.run("distractors", f"replay:{clone}", tmp_path / "run", settings=settings, limit=2000)
    cards = {card.name: (card.kind, card.architecture, card.layers, card.width) for card in run.cards}
    assert cards["RobertaLarge"] == ("masked", "roberta", 24, 1024)
    assert cards["GPT2Small"] == ("causal", "gpt2", 12, 768)
    pairs = run.claims[run.claims["level"] == "pair"]
    verdicts = {(r.claim, r.model): r.verdict_alone for r in pairs.itertuples() if r.verdict_alone != "nothing_scored"}
    assert verdicts == {
        ("larger_keeps_more", "RobertaLarge against RobertaBase"): "as_published",
        ("roberta_large_keeps_most", "RobertaLarge against RobertaBase"): "as_published",
        ("roberta_large_keeps_most", "RobertaLarge against GPT2Small"): "undecided",
    }


def test_reproduce_reports_before_any_work_that_there_is_nothing_to_compare(tmp_path, monkeypatch):
    monkeypatch.setattr(released, "read", lambda *_: pytest.fail("outputs were read"))
    for name in ("BertLarge", "GPT2XL"):
        folder = tmp_path / "data" / "combined_data" / CONDITION / name
        folder.mkdir(parents=True)
        (folder / f"complete_data_For_Any{name}.csv").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="no published numbers of BertLarge, GPT2XL; there are some of: BertBase"):
        reproduce.reproduce("distractors", f"replay:{tmp_path}")
    with pytest.raises(BadInput, match=r"--as BertBase: .* none of that name: BertLarge, GPT2XL"):
        reproduce.reproduce("distractors", f"replay:{tmp_path}", "BertBase")
    with pytest.raises(BadInput, match="distractors with position=key_later counts none of the published numbers"):
        reproduce.reproduce("distractors", "bert-base-uncased", settings={"position": "key_later"})


def test_reproduce_names_the_models_of_a_folder_without_published_numbers(tmp_path):
    for name in ("BertBase", "BertLarge", "GPT2XL"):
        folder = tmp_path / "data" / "combined_data" / CONDITION / name
        folder.mkdir(parents=True)
        (folder / f"complete_data_For_Any{name}.csv").write_text("", encoding="utf-8")
    (line,) = reproduce.notices("distractors", f"replay:{tmp_path}")
    assert line == "no published numbers of BertLarge, GPT2XL; trueprobe run distractors counts their outputs too"
    assert reproduce.notices("distractors", f"replay:{tmp_path}", "BertBase") == []
    assert reproduce.notices("distractors", "bert-base-uncased") == reproduce.notices("distractors", None) == []


@pytest.mark.slow
def test_probes_without_released_outputs_say_so(tmp_path):
    with pytest.raises(BadInput, match="counteracts reads no released outputs"):
        trueprobe.run("counteracts", f"replay:{tmp_path}", tmp_path / "run")
    with pytest.raises(BadInput, match="no file or folder"):
        trueprobe.run("distractors", "replay:nowhere", tmp_path / "run", settings=SETTINGS)
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------- published numbers


@pytest.mark.parametrize("probe", published.probes())
def test_published_numbers_are_whole_and_their_settings_are_the_probes(probe):
    authors, numbers = published.authors(probe), published.numbers(probe)
    data = "data" in probes.find(probe).Settings.model_fields and not probe.startswith("tacit")
    for way in {number.settings for number in numbers}:
        settings = {**authors.settings, **published.pairs(way), **({"data": "sample"} if data else {})}
        if probe.startswith("tacit"):  # the authors' vocabulary needs two tokenizers
            settings["vocabulary"] = "common"
        measures = [
            (m.name, {k: str(v) for k, v in m.conditions.items()}) for m in probes.make(probe, settings).measures()
        ]
        for number in (n for n in numbers if n.settings == way and n.model):
            found = [
                told for name, told in measures if name == number.measure and number.conditions.items() <= told.items()
            ]
            if not data or number.conditions.get("category", "all") == "all":  # a sample has fewer categories
                assert len(found) == 1, number
    assert numbers
    for number in numbers:
        assert number.source
        assert number.place
        assert round(number.value, number.decimals) == number.value


def test_a_model_is_known_by_any_of_its_names():
    authors = published.authors("distractors")
    for name in ("BertBase", "bert-base-uncased", "google-bert/bert-base-uncased@main", "./bert-base-uncased"):
        assert authors.name_of(name) == "BertBase"
    assert authors.name_of("openai-community/gpt2") == "GPT2Small"
    assert authors.name_of("gpt2-medium") == "GPT2Medium"
    assert authors.name_of("gpt2-tiny") == "gpt2-tiny"


def test_within_rounding_is_half_a_unit_of_the_last_place():
    number = published.PublishedValue("s", "p", {}, "accuracy", "m", 58.68, 2, percent=True)
    assert number.agrees(0.58684)
    assert not number.agrees(0.58686)
    assert not number.agrees(math.nan)


@pytest.mark.slow
def test_every_released_accuracy_and_relative_probability_comes_out(tmp_path):
    folder = zoo.SHARED / "distractors" / "released"
    if not folder.is_dir():
        pytest.skip("no released outputs beside the checkout (../shared/data/distractors)")
    found, _ = reproduce.reproduce("distractors", f"replay:{folder}", out=tmp_path / "run")
    assert len(found) == 10 * 3 * 4 * 2
    assert all(one.agrees for one in found)
    assert reproduction.verdict(found).startswith("240 of 240 within rounding")


@pytest.mark.slow
def test_a_model_of_the_paper_is_asked_with_the_authors_settings(checkpoint, tmp_path, monkeypatch):
    """A random network under BERT's name: asked, set beside the published numbers, and found to differ."""
    folder = tmp_path / "bert-base-uncased"
    shutil.copytree(checkpoint("bert"), folder)
    found, asked = reproduce.reproduce(
        "distractors", str(folder), out=tmp_path / "run", store=tmp_path / "answers", limit=600
    )
    assert asked
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))["study"]["probes"][0][
        "settings"
    ]
    assert (settings["faithful"], settings["base"], settings["position"]) == (True, "authors", "after,between")
    assert {one.number.model for one in found} == {"BertBase"}
    assert not all(one.agrees for one in found)
    console = Console(width=80, record=True, highlight=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    reproduction.show(found, console)
    text = console.export_text()
    assert len(text.splitlines()) == len(found) + 2
    assert "differs" in text or "–" in text


def test_what_has_no_published_numbers_is_refused():
    with pytest.raises(BadInput, match="no published numbers of 'nursery'; there are some of: bert-base-uncased"):
        reproduce.reproduce("distractors", "nursery")
    with pytest.raises(BadInput, match="did you mean 'BertBase'"):
        reproduce.reproduce("distractors", "nursery", "BertBas")
    with pytest.raises(BadInput, match="no published numbers of 'counteracts'"):
        reproduce.reproduce("counteracts")


def test_a_number_without_its_estimate_is_no_agreement(tmp_path):
    number = published.PublishedValue("s", "Table 9", {"set": "all"}, "accuracy", "m", 0.5, 1)
    rows = [made_runs.estimate("m", "accuracy", 0.5, set="job")]
    with pytest.raises(FailedRun, match="0 estimates of accuracy where Table 9 has one"):
        reproduce._ours(rows, number)


CATEGORIES = [
    "race-color",
    "gender",
    "socioeconomic",
    "nationality",
    "religion",
    "age",
    "sexual-orientation",
    "physical-appearance",
    "disability",
]


@pytest.mark.slow
def test_numbers_counted_in_two_ways_take_two_runs(checkpoint, tmp_path):
    """CrowS-Pairs: the authors' metric and bias-bench's, on pairs of our own and a random network under BERT's name."""
    folder = tmp_path / "bert-base-uncased"
    shutil.copytree(checkpoint("bert"), folder)
    pairs = [
        f"The nurse met the {a}.,The nurse met the {b}.,{way},{category}\n"
        for category in CATEGORIES
        for way in ("stereo", "antistereo")
        for a, b in (("man", "woman"), ("king", "queen"), ("boy", "girl"))
    ]
    file = tmp_path / "pairs.csv"
    file.write_text("sent_more,sent_less,stereo_antistereo,bias_type\n" + "".join(pairs), encoding="utf-8")
    found, _ = reproduce.reproduce(
        "crows_pairs", str(folder), None, tmp_path / "run", {"data": str(file)}, store=tmp_path / "answers"
    )
    runs = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert runs == ["variant=differing-rounding=authors", "variant=shared-rounding=authors"]
    overall = next(one for one in found if one.number.value == 0.6048)
    assert (overall.number.measure, overall.number.conditions["variant"]) == ("wins_of_all", "shared")
    assert not math.isnan(overall.ours)
    assert not overall.agrees


def test_the_table_of_published_numbers_is_never_cut():
    numbers, asked = reproduce.reproduce("distractors")
    console = Console(width=40, record=True, highlight=False)
    reproduction.show(numbers, console)
    head, first, *_ = console.export_text().splitlines()
    assert not asked
    assert head.split() == ["published", "ours", "difference"]
    assert first.split()[-3:] == ["0.9091", "–", "–"]

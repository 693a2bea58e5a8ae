"""`reproduce --all` and `--items`: random networks under the papers' names, and outputs made by the authors' logic in
plain code, right, or wrong on purpose in one of five ways, each of which must be found and named."""

from __future__ import annotations

import json
import re
from functools import cache
from types import SimpleNamespace

import pytest
import torch
import transformers as t
from typer.testing import CliRunner

import zoo
from trueprobe import assets
from trueprobe.cli import app
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models.hugging import HuggingFaceModel
from trueprobe.probes import published
from trueprobe.probes.stereoset.material import word_in
from trueprobe.runs import papers
from trueprobe.runs.diagnosis import Cause
from trueprobe.runs.papers import Reproduction, Where, paper_models
from trueprobe.runs.reproduce import Compared

SEPARATOR, SPACE, LOWER, START, SEGMENTS = (cause.value for cause in Cause)
CATEGORIES = ("gender", "profession", "race", "religion")


# ---------------------------------------------------------------- the authors' logic, one text at a time


@cache
def network(folder):
    auto = t.AutoModelForCausalLM if "gpt2" in folder.name.lower() else t.AutoModelForMaskedLM
    auto = t.AutoModelForPreTraining if folder.name.lower().startswith("bert") else auto
    return SimpleNamespace(net=auto.from_pretrained(folder).eval(), tok=t.AutoTokenizer.from_pretrained(folder))


@torch.no_grad()
def logits(model, ids, segments=None):
    typed = {"token_type_ids": torch.tensor([segments])} if segments and model.net.config.model_type == "bert" else {}
    return model.net(input_ids=torch.tensor([ids]), **typed)


def probabilities(model, ids, segments=None):
    out = logits(model, ids, segments)
    return torch.softmax(getattr(out, "prediction_logits", getattr(out, "logits", None))[0].double(), -1)


def target_probability(model, sentence, target, wrong=""):
    """getProbabilityFromLM.py: start, text and end joined by spaces, tokenised as one string; no segments."""
    tok, masked = model.tok, model.tok.mask_token is not None
    text = sentence.replace("___", tok.mask_token) if masked else sentence.partition(" ___")[0]
    text = text.lower().replace(tok.mask_token.lower(), tok.mask_token) if wrong == LOWER and masked else text
    text = text.lower() if wrong == LOWER and not masked else text
    first, _, second = text.rpartition(" . ")
    text = f"{first} . {tok.sep_token} {second}" if wrong == SEPARATOR else text
    start, end = (tok.cls_token, f" {tok.sep_token}") if masked else (tok.bos_token, "")
    start = "" if wrong == START else start + ("" if wrong == SPACE else " ")
    ids = tok(f"{start or ' '}{text}{end}", add_special_tokens=False)["input_ids"]
    break_at = len(tok(f"{start}{first} .", add_special_tokens=False)["input_ids"])
    segments = [int(wrong == SEGMENTS and i >= break_at) for i in range(len(ids))]
    at = ids.index(tok.mask_token_id) if masked else -1
    (piece,) = tok(f" {target}", add_special_tokens=False)["input_ids"]
    return float(probabilities(model, ids, segments)[at, piece])


def word_score(model, context, word, wrong=""):
    """StereoSet's word in a sentence: the mean of its pieces' probabilities, filled left to right. RoBERTa's has no
    leading space, their slip."""
    tok = model.tok
    left, right = (text.lower() if wrong == LOWER else text for text in context.split("BLANK"))
    spaced = (tok.mask_token == "<mask>") is (wrong == SPACE)
    front, left, word, right = (
        tok(x, add_special_tokens=False)["input_ids"]
        for x in ("", left.rstrip(), word if not spaced else f" {word}", right)
    )
    front = [] if wrong == START else [tok.cls_token_id]
    scores = []
    for i, piece in enumerate(word):
        ids = [*front, *left, *word[:i], tok.mask_token_id, *right, tok.sep_token_id]
        scores.append(float(probabilities(model, ids)[ids.index(tok.mask_token_id), piece]))
    return sum(scores) / len(scores)


def next_score(model, context, sentence, wrong=""):
    tok = model.tok
    first, second = (tok(x, add_special_tokens=False)["input_ids"] for x in (context, sentence))
    middle = [] if wrong == SEPARATOR else [tok.sep_token_id]
    front = [tok.cls_token_id, *first, *middle]
    segments = [0] * len(front) + [int(wrong != SEGMENTS)] * (len(second) + 1)
    out = logits(model, [*front, *second, tok.sep_token_id], segments).seq_relationship_logits
    return float(torch.softmax(out[0].double(), -1)[0])


def sentence_score(model, sentence, wrong=""):
    """GPT-2: the first token after the start token alone, the others without it; 2 to the mean log2."""
    ids = model.tok(sentence.lower() if wrong == LOWER else sentence)["input_ids"]
    start = model.tok.bos_token_id
    first = probabilities(model, [start])[0, ids[0]].log()
    if wrong == START:
        whole = probabilities(model, [start, *ids])
        rest = [whole[i, piece].log() for i, piece in enumerate(ids)][1:]
    else:
        whole = probabilities(model, ids)
        rest = [whole[i, piece].log() for i, piece in enumerate(ids[1:])]
    return float(torch.stack([first, *rest]).mean().exp())


# ---------------------------------------------------------------- StereoSet


@cache
def stereoset_text():
    """A file in StereoSet's form: all four categories, several targets."""
    data = {"intrasentence": [], "intersentence": []}
    triples = [("late", "early", "green"), ("loud", "unbelievably", "wooden"), ("Polite", "rude", "seven")]
    for number, (target, words) in enumerate(
        (target, words) for target in ("nurse", "man", "woman") for words in triples
    ):
        for task, rows in data.items():
            within = task == "intrasentence"
            context = f"The {target} was BLANK when She came." if within else f"The {target} was late."
            texts = [context.replace("BLANK", w) if within else f"She is {w} and He knew." for w in words]
            labels = zip(texts, ("stereotype", "anti-stereotype", "unrelated"), strict=True)
            sentences = [{"id": f"{task}{number}{label}", "sentence": s, "gold_label": label} for s, label in labels]
            row = {"target": target, "bias_type": CATEGORIES[number % 4], "context": context, "sentences": sentences}
            rows.append({"id": f"{task}{number}", **row})
    return json.dumps({"data": data})


def stereoset_scores(folder, wrong=""):
    """`{task: [{id, score}]}` of one network; of next sentences, BERT's alone."""
    model, data = network(folder), json.loads(stereoset_text())["data"]
    scores = {"intrasentence": [], "intersentence": []}
    for task, rows in data.items():
        for row in rows:
            words = (
                [word_in(row["context"], s["sentence"]) for s in row["sentences"]]
                if task == "intrasentence"
                else [""] * 3
            )
            for sentence, word in zip(row["sentences"], words, strict=True):
                if task == "intersentence" and not folder.name.startswith("bert"):
                    continue
                if task == "intersentence":
                    score = next_score(model, row["context"], sentence["sentence"], wrong)
                elif folder.name.startswith("gpt2"):
                    score = sentence_score(model, sentence["sentence"], wrong)
                else:
                    score = word_score(model, row["context"], word, wrong)
                scores[task].append({"id": sentence["id"], "score": score})
    return scores


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Random networks in folders under the papers' names."""
    folder = tmp_path_factory.mktemp("models")
    for name, kind in (("bert-base-cased", "bert"), ("roberta-base", "roberta"), ("gpt2", "gpt2")):
        zoo.save(kind, folder / name)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "dev.json"
    file.write_text(stereoset_text(), encoding="utf-8")
    return file


def released(folder, name, scores):
    folder.mkdir(exist_ok=True)
    (folder / f"predictions_{name}_x.json").write_text(json.dumps(scores), encoding="utf-8")
    return folder


def compared_items(models, name, data, folder, tmp_path):
    asked = Reproduction(settings={"stereoset": {"data": str(data)}}, store=tmp_path / "store")
    return papers.items_of("stereoset", name, str(models / name), folder, asked)


@pytest.mark.parametrize("name", ["bert-base-cased", "roberta-base", "gpt2"])
def test_stereoset_scores_by_the_authors_logic_agree_item_by_item(name, models, data, tmp_path):
    folder = released(tmp_path / "theirs", name, stereoset_scores(models / name))
    one = compared_items(models, name, data, folder, tmp_path)
    assert one.agrees, one.largest_nats
    assert (one.n_items, one.not_asked, one.diagnosis) == (54 if name.startswith("bert") else 27, 0, None)
    assert one.correlation == pytest.approx(1, abs=1e-6)


WRONG = [
    ("bert-base-cased", SEPARATOR),
    ("bert-base-cased", SEGMENTS),
    ("roberta-base", SPACE),
    ("roberta-base", LOWER),
    ("roberta-base", START),
    ("gpt2", START),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_stereoset_scores_asked_in_another_way_are_found_and_the_way_is_named(name, wrong, models, data, tmp_path):
    folder = released(tmp_path / "theirs", name, stereoset_scores(models / name, wrong))
    one = compared_items(models, name, data, folder, tmp_path)
    assert not one.agrees
    assert one.diagnosis.explanation.causes == (Cause(wrong),)
    assert len(one.diagnosis.scores) == 10
    assert all(a != b for a, b in zip(one.diagnosis.unchanged.inputs, one.diagnosis.best.inputs, strict=True))


def test_scores_that_no_way_of_asking_gives_are_not_explained(models, data, tmp_path):
    scores = stereoset_scores(models / "gpt2")
    scores["intrasentence"][3]["score"] *= 2
    one = compared_items(models, "gpt2", data, released(tmp_path / "theirs", "gpt2", scores), tmp_path)
    assert (one.n_apart, one.diagnosis.explanation) == (1, None)
    assert one.diagnosis.scores[0].id == scores["intrasentence"][3]["id"]
    assert one.largest_nats == pytest.approx(0.6931, abs=1e-3)


# ---------------------------------------------------------------- all models


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_all_lists_where_models_are_and_what_they_cost_before_anything_is_done(models):
    done = reproduce("--all", "--size", "base", "--models", models, "--list")
    assert done.exit_code == 0, done.output
    lines = {tuple(line.split()[:3]) for line in done.output.splitlines()}
    assert {("gpt2", "stereoset", "folder"), ("roberta-base", "crows_pairs", "folder")} <= lines
    assert not [line for line in lines if line[0] in ("gpt2-medium", "bert-large-cased")]
    assert "no folder of that name in --models" in done.output
    assert "--set data=norms.dat" in done.output
    last = done.output.splitlines()[-1]
    counted = r"\d+ of 29 can be asked; to download: nothing; (data that is not here: .*; )?on this machine about "
    assert re.match(counted, last)


def test_all_fetches_missing_data_and_goes_on_without_what_cannot_be_had(models, tmp_path, monkeypatch):
    fetched = []

    def fetch(name, **_):
        fetched.append(name)
        raise FailedRun(f"cannot fetch '{name}'")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(assets, "fetch", fetch)
    done = reproduce("crows_pairs", "--all", "--size", "base", "--out", tmp_path)
    assert (fetched, done.exit_code) == (["crows-pairs"], 1)
    assert "data that is not here: crows-pairs" in done.output
    assert "0 of 9 models were compared" in done.output
    reproduce("crows_pairs", "--all", "--size", "base", "--out", tmp_path, "--models", models)
    assert len(fetched) == 1  # with --models nothing is fetched
    named = {"crows_pairs": {"data": "mine.csv"}}
    assert papers.missing_data(paper_models("crows_pairs", "base", models, named), named) == []


def test_all_places_models_by_the_papers_name_the_hubs_name_and_seeds(tmp_path):
    for name in ("GPT2XL", "bert-base-uncased", *(f"multiberts-seed_{seed}" for seed in range(5))):
        (tmp_path / name).mkdir()
    placed = {one.name: one for one in paper_models("distractors", "all", tmp_path, {})}
    assert (placed["GPT2XL"].spec, placed["BertBase"].spec) == (
        str(tmp_path / "GPT2XL"),
        str(tmp_path / "bert-base-uncased"),
    )
    assert (placed["BertLarge"].where, placed["BertLarge"].reason) == (
        Where.NOWHERE,
        "no folder of that name in --models",
    )
    seeds = {one.name: one for one in paper_models("crows_pairs", "base", tmp_path, {})}[PAPER_C]
    assert (seeds.spec, seeds.seeds) == (f"multiberts={tmp_path}/multiberts-seed_{{0..4}}", 5)
    without = {one.name: one.reason for one in paper_models("stereoset", "all", None, {})}
    assert "replay" in without["EnsembleModel"]
    assert without["BERT large, 5 seeds of paper C"] == "no weights were published"


PAPER_C = "BERT base, 5 seeds of paper C"


def test_stand_ins_are_held_to_the_range_of_the_papers_seeds():
    """A mean within two of the published deviations, a deviation within a factor of 3.1."""
    numbers = [n for n in published.numbers("crows_pairs") if n.model == PAPER_C]
    mean = next(n for n in numbers if n.of == "value")
    sd = next(n for n in numbers if n.of == "sd_seeds" and n.conditions == mean.conditions)
    scale = 100 if mean.percent else 1

    def inside(number, value):
        return papers.within_range(Compared(number, value / scale), numbers)

    assert [inside(mean, mean.value + far * sd.value) for far in (-2.1, -1.9, 0, 1.9, 2.1)] == [0, 1, 1, 1, 0]
    assert [inside(sd, sd.value * times) for times in (0.3, 0.34, 1, 3, 3.2)] == [0, 1, 1, 1, 0]


@pytest.mark.slow
def test_all_prints_numbers_and_items_writes_a_report_and_goes_on(models, data, tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    released(theirs, "bert-base-cased", stereoset_scores(models / "bert-base-cased"))
    released(theirs, "gpt2", stereoset_scores(models / "gpt2", START))
    asked = ["stereoset", "--all", "--models", models, "--set", f"data={data}", "--items", theirs]
    asked += ["--out", tmp_path / "out", "--store", tmp_path / "store"]
    done = reproduce(*asked, "--report", tmp_path / "report.json")
    assert done.exit_code == 1, done.output  # random networks have other numbers
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    by_model = {one["model"]: one for one in report["results"]}
    bert, gpt2 = by_model["bert-base-cased"], by_model["gpt2"]
    assert len(bert["numbers"]) == 33
    assert all(one["ours"] is not None and one["published"] > 0 for one in bert["numbers"])
    assert (bert["items"][0]["apart"], bert["items"][0]["causes"]) == (0, [])
    assert gpt2["items"][0]["causes"] == [START]
    assert all(row["our_ids"] != row["their_ids"] for row in gpt2["items"][0]["worst"])
    assert gpt2["not_compared"][0]["numbers"] == 18  # their next-sentence head was never released
    assert sum(len(one["numbers"]) for one in report["results"]) == 33 + 15 + 15
    stated = sum(one["numbers"] for result in report["results"] for one in result["not_compared"])
    assert stated + 33 + 15 + 15 == sum(bool(n.model) for n in published.numbers("stereoset"))
    assert "explained by: start token" in done.output
    assert report["summary"] in done.output
    assert report["summary"].startswith("3 of 14 models were compared; ")
    assert str(models) not in json.dumps(report)  # a path is its user's own

    def refuse(*_):
        pytest.fail("a row was computed again")

    monkeypatch.setattr(HuggingFaceModel, "forward", refuse)
    (theirs / "predictions_gpt2_x.json").unlink()  # what differs is asked again in other ways, which are not cached
    again = reproduce(*asked, "--report", tmp_path / "report.md")
    assert again.exit_code == 1, again.output
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## stereoset: bert-base-cased" in text
    assert "| trueprobe |" in text


@pytest.mark.slow
def test_all_holds_five_multiberts_to_the_range_of_paper_c(tmp_path):
    for seed in range(5):
        zoo.save("bert", tmp_path / "models" / f"multiberts-seed_{seed}", seed)
    categories = sorted({n.conditions["category"] for n in published.numbers("crows_pairs")} - {"all"})
    rows = [
        f"The nurse met the {a}.,The nurse met the {b}.,{way},{category}\n"
        for category in categories
        for way in ("stereo", "antistereo")
        for a, b in (("man", "woman"), ("woman", "person"))
    ]
    file = tmp_path / "pairs.csv"
    file.write_text("sent_more,sent_less,stereo_antistereo,bias_type\n" + "".join(rows), encoding="utf-8")
    by_probe = {"crows_pairs": {"data": str(file)}}
    models = [one for one in paper_models("crows_pairs", "base", tmp_path / "models", by_probe) if not one.reason]
    (result,) = papers.reproduce_all(models, Reproduction(tmp_path / "out", by_probe, store=tmp_path / "store"))
    assert (result.model.name, result.in_range, result.left_out) == (PAPER_C, True, ())
    assert [one.number.of for one in result.compared].count("sd_seeds") == 10
    assert all(one.ours == one.ours for one in result.compared)  # none is missing
    assert 0 <= result.n_agree < len(result.compared)


@pytest.mark.slow
def test_all_asks_paper_a_for_the_signs_that_its_authors_found(models, tmp_path):
    asked = Reproduction(tmp_path / "out", store=tmp_path / "store", limit=134)
    (model,) = [one for one in paper_models("counteracts", "base", models, {}) if not one.reason]
    (result,) = papers.reproduce_all([model], asked)
    claims = {sign.claim for sign in result.signs}
    assert {"base_stereotyped", "roberta_pro_enlarges", "masked_opposite_neutral"} <= claims
    assert not claims & {"pro_enlarges", "albert_tsem_enlarges"}  # expected only; of ALBERT alone
    run = json.loads((tmp_path / "out" / "counteracts" / "roberta-base" / "manifest.json").read_text(encoding="utf-8"))
    assert run["study"]["probes"][0]["settings"]["spacing"] == "paper"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a PROBE, or run every model of the papers: --all"),
        (["--all", "--model", "gpt2"], "--all finds the models itself"),
        (["stereoset", "--size", "base"], "--size, --models and --list go with --all"),
        (["stereoset", "--items", "x"], "--items compares a model's own scores: name it with --model SPEC, or --all"),
        (["--all", "--size", "bas"], "--size bas; did you mean 'base'?"),
        (["--all", "--models", "nowhere"], "--models nowhere: no such folder"),
        (["--all", "--list", "--items", "nowhere"], "--items nowhere: no such file or folder"),
        (["--all", "--list", "--report", "a.txt"], "--report a.txt: a file that ends in .md or .json"),
        (["--all", "--set", "wording=all"], "--set wording: no paper needs this setting"),
        (["seat", "--all"], "there are no published models of 'seat'"),
    ],
)
def test_all_says_what_is_wrong_with_its_options(arguments, message):
    done = reproduce(*arguments)
    assert isinstance(done.exception, BadInput)
    assert message in str(done.exception)


def test_items_that_no_probe_reads_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"no released outputs that a probe reads; distractors: .*; stereoset: "):
        papers.released_of(["distractors", "stereoset"], Reproduction(items=[tmp_path]))


@pytest.mark.slow
def test_items_of_one_model_are_compared_next_to_its_numbers(models, data, tmp_path):
    folder = released(tmp_path / "theirs", "gpt2", stereoset_scores(models / "gpt2"))
    asked = ["stereoset", "--model", models / "gpt2", "--items", folder, "--set", f"data={data}"]
    done = reproduce(*asked, "--out", tmp_path / "run", "--store", tmp_path / "store")
    assert "item by item: 27 compared; correlation 1.000000" in done.output
    (folder / "predictions_gpt2_x.json").rename(folder / "predictions_gpt3_x.json")
    done = reproduce(*asked, "--out", tmp_path / "run", "--store", tmp_path / "store")
    assert "--items: outputs of gpt3, and none of gpt2; name it with --as" in str(done.exception)


# ---------------------------------------------------------------- distractors, with the published tokenizers

PUBLISHED = {
    "BertBase": ("bert", "bert-base-uncased"),
    "RobertaBase": ("roberta", "roberta-base"),
    "GPT2Small": ("gpt2", "gpt2"),
}


@pytest.fixture(scope="module")
def paper_d(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper-d")
    for name, (kind, tokenizer) in PUBLISHED.items():
        zoo.save(kind, folder / name, tokenizer=zoo.real_tokenizer(tokenizer))
    return folder


FORMS = {
    "{0} lives in {1} and {2} lives in {3} . The capital of {0}'s country is ___ .": (
        ("Chile", "Santiago"),
        ("China", "Beijing"),
        ("Finland", "Helsinki"),
        ("France", "Paris"),
    ),
    "{0} works as a {1} and {2} works as a {3} . For his job , {0} sells ___ .": (
        ("florist", "flowers"),
        ("butcher", "meat"),
        ("baker", "bread"),
        ("painter", "paintings"),
    ),
    "{0} visited the {1} and {2} visited the {3} . The country {0} traveled to was ___ .": (
        ("Taj Mahal", "India"),
        ("Eiffel Tower", "France"),
        ("Tower of Pisa", "Italy"),
        ("Kremlin", "Russia"),
    ),
}
CAPITALS = {}  # of the sentences that were released in lower case: those about monuments
SENTENCES = []
for form, pairs in FORMS.items():
    for (background, target), (other, _) in zip(pairs, (*pairs[1:], pairs[0]), strict=True):
        text = form.format("Sebastian", background, "Jack", other)
        if "visited" in form:
            CAPITALS[text.lower()] = text
        SENTENCES.append((text.lower() if "visited" in form else text, target))


def tree(folder, models, name, wrong="", spoken=lambda text: text):
    """Released outputs of one model, their probability by plain code. `spoken`: what their model really read."""
    model, causal = network(models / name), name.startswith("GPT2")
    lines = ["sentence\ttarget_prob\tordered_items\ttarget_occupation\n"]
    for text, target in SENTENCES:
        p = target_probability(model, spoken(text), target, wrong)
        text = text.partition(" ___")[0] if causal else text.replace("___", "[MASK]")
        lines.append(f"{text}\t{p}\t[]\t{target}\n")
    place = folder / "multiple_entity_distractor" / name
    place.mkdir(parents=True)
    (place / "complete_data_For_Any.csv").write_text("".join(lines), encoding="utf-8")
    return folder


def compared_rows(paper_d, name, folder, tmp_path):
    return papers.items_of("distractors", name, str(paper_d / name), folder, Reproduction(store=tmp_path / "store"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_target_probabilities_by_the_authors_string_agree_row_by_row(name, paper_d, tmp_path):
    one = compared_rows(paper_d, name, tree(tmp_path / "tree", paper_d, name), tmp_path)
    assert one.agrees, one.largest_nats
    assert one.n_items == 12


WRONG_STRINGS = [
    ("BertBase", SEPARATOR),
    ("BertBase", SEGMENTS),
    ("RobertaBase", SPACE),
    ("RobertaBase", LOWER),
    ("GPT2Small", START),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "wrong"), WRONG_STRINGS)
def test_target_probabilities_of_another_string_are_found_and_the_way_is_named(name, wrong, paper_d, tmp_path):
    one = compared_rows(paper_d, name, tree(tmp_path / "tree", paper_d, name, wrong), tmp_path)
    assert one.n_apart > 0
    assert one.diagnosis.explanation.causes == (Cause(wrong),)


@pytest.mark.slow
def test_sentences_released_in_lower_case_that_were_read_with_capitals_are_found(paper_d, tmp_path):
    """Monuments: nobody knows yet what RoBERTa and GPT-2 really read."""
    one = compared_rows(
        paper_d,
        "RobertaBase",
        tree(tmp_path / "tree", paper_d, "RobertaBase", "", lambda text: CAPITALS.get(text, text)),
        tmp_path,
    )
    assert one.n_apart == 4
    assert one.diagnosis.explanation.causes == (Cause.LOWER_CASE,)


@pytest.mark.slow
def test_two_causes_together_are_found(paper_d, tmp_path):
    """A tokenizer's pair format has a separator and segments."""
    model = network(paper_d / "BertBase")
    folder = tree(tmp_path / "tree", paper_d, "BertBase")
    (file,) = folder.glob("*/*/*.csv")
    header, *rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        first, _, second = row[0].rpartition(" . ")
        pair = model.tok(f"{first} .", second)
        at = pair["input_ids"].index(model.tok.mask_token_id)
        piece = model.tok.convert_tokens_to_ids(row[3].lower())
        row[1] = str(float(probabilities(model, pair["input_ids"], pair["token_type_ids"])[at, piece]))
    file.write_text("\n".join("\t".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
    one = compared_rows(paper_d, "BertBase", folder, tmp_path)
    assert set(one.diagnosis.explanation.causes) == {Cause.SEPARATOR, Cause.SEGMENT_IDS}

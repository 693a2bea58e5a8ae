"""Puts trained families into the package and their figures into the card: the last step of `make nursery`.

    python tools/nursery.py TRAINED

TRAINED holds some or all of the folders `nursery`, `nursery-small`, `nursery-causal` and `mini` as `trueprobe pretrain`
left them, `mini-before`, the model that `mini` continues, and `clusters`, a run of `seat` on the checkpoints along the
first; what is not there stays as it is. Weights
become float16 (mini: one byte each); the held-out figures are those of the weights as shipped. Of the
run the values of its checkpoints become one table.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertForPreTraining, GPT2LMHeadModel

import trueprobe
from trueprobe import assets
from trueprobe.assets.cache import sha256
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import open_model
from trueprobe.results.render.notebook import RunResults
from trueprobe.runs.folder import load_run
from trueprobe.runs.study import ProbeRun, Study
from trueprobe.statistics.means import wilson
from trueprobe.training import cards, corpus, nursery
from trueprobe.training.examples import Special, draw_masks, make_singles
from trueprobe.training.nursery import quantised
from trueprobe.training.pretrain import prepare, prepared
from trueprobe.training.recipe import PretrainRecipe
from trueprobe.training.trainer import held_out
from trueprobe.types import FillBlank

MINI_STARTS_FROM = "all-minilm-l6-v2"
BEFORE = "mini-before"  # beside `mini`: the model that it continues, as a folder
BASE = {"knowledge": "base", "dominated": "all", "k": 10}
COMPARED = (  # what is counted, the probe with its settings, its measure and conditions
    ("CounterActs: base prompts without a listed word among the ten likeliest", "counteracts", "no_preference", BASE),
    (
        "CounterActs: share of the ten likeliest, by probability, that the word lists know",
        "counteracts",
        "listed_mass",
        BASE,
    ),
    ("distractors: base competence on the paper's items", "distractors", "base_competence", {"set": "all"}),
    ("distractors: base competence on `languages`", "languages", "base_competence", {"set": "all"}),
    ("tacit_retrieval: MRR with ten properties", "tacit_retrieval", "reciprocal_rank", {"properties": 10}),
    (
        "CrowS-Pairs: prefers the stereotype",
        "crows_pairs",
        "prefers_stereotype",
        {"category": "all", "direction": "all", "variant": "shared"},
    ),
    ("StereoSet: lms, within sentences", "stereoset", "lms", {"category": "all", "task": "intrasentence"}),
    ("StereoSet: lms, between sentences", "stereoset", "lms", {"category": "all", "task": "intersentence"}),
    ("StereoSet: ss, within sentences", "stereoset", "ss", {"category": "all", "task": "intrasentence"}),
)
ASKED_OF_BOTH = (
    ProbeRun(name="counteracts"),
    ProbeRun(name="distractors"),
    ProbeRun(name="distractors", label="languages", settings={"material": "languages"}),
    ProbeRun(name="tacit_retrieval", settings={"analyses": "growth"}),
    ProbeRun(name="crows_pairs", settings={"data": "crows-pairs"}),
    ProbeRun(name="stereoset", settings={"data": "stereoset-dev"}),
)
CARD = Path(nursery.__file__).parent / "CARD.md"
PLACES = {  # columns of estimates -> of the table of clusters
    "model_seed": "seed",
    "step": "step",
    "condition_test": "test",
    "condition_representation": "representation",
}
PROMPTS = (
    "The ___ opened the door.",
    "The ___ works as a nurse.",
    "The ___ works as a carpenter.",
    "A ___ has fur, is big, and has claws.",
    "Everyone knows that a bear has ___.",
    "Sebastian lives in France. The capital of Sebastian's country is ___.",
    "Sebastian lives in France, and has visited Indonesia. The capital of Sebastian's country is ___.",
)
ASKED = ("nursery/0", "nursery/1", "nursery-small/0", "nursery-causal/0", "mini", "smollm2-135m")


def ship(trained: Path, folder: Path) -> None:
    """One checkpoint in half precision, beside its tokenizer and card."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "training.json"):
        shutil.copy(trained / name, folder / name)
    weights = {name: weight.half().contiguous() for name, weight in load_file(trained / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((trained / "config.json").read_text()) | {
        "dtype": "float32",  # of the computation, also in plain transformers; the file is half as large
        "trained_by": "trueprobe pretrain",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def measure(folder: Path, data: Path, recipe: PretrainRecipe) -> dict[str, Any]:
    _, special, _, held, masks = prepared(data, recipe)
    made = BertForPreTraining if recipe.kind == "masked" else GPT2LMHeadModel
    network = made.from_pretrained(folder, dtype=torch.float32)
    return held_out(network, held, masks, special, 8192)


def recipe_of(setup: dict[str, Any], texts: dict[str, Path], base: Path, out: Path) -> PretrainRecipe:
    """The recipe that a family was trained by, read from its card; its texts are known by their content."""
    read = [file["sha256"] for file in setup["corpus"]]
    if not set(read) <= texts.keys():
        raise SystemExit("the texts at hand are not those these were trained on")
    return PretrainRecipe(
        **setup["recipe"],
        corpus=tuple(texts[one] for one in read),
        out=out,
        size=setup["size"] or "L1-H64",
        start_from=base if setup["start_from"] else None,
        vocab=setup["vocab"] or 8000,
        length=setup["length"],
        short=setup["short"],
        single=setup.get("single", 0.0),
    )


def put_family(family: str, trained: Path, texts: dict[str, Path], base: Path) -> None:
    folder = nursery.WEIGHTS / family
    shutil.rmtree(folder, ignore_errors=True)
    seeds = sorted((trained / family).glob("seed_*"), key=lambda folder: int(folder.name[5:]))
    with tempfile.TemporaryDirectory() as out:
        setup = json.loads((seeds[0] / "training.json").read_text())["setup"]
        recipe = recipe_of(setup, texts, base, Path(out))
        data = trained / family / "data"  # there while a seed is still to be trained
        if not data.exists():
            prepare(recipe)
            data = recipe.out / "data"
        for seed in seeds:
            target = folder if family == "mini" else folder / seed.name
            if family == "mini":
                quantised.make(seed, target)
                whole = Path(out) / "whole"
                quantised.write_whole_model(whole, target)
            else:
                ship(seed, target)
                whole = target
            card = json.loads((target / "training.json").read_text())
            card["history"][-1] |= measure(whole, data, recipe)
            if family == "mini" and (trained / BEFORE).is_dir():
                card["tokens_before"] = cards.tokens_read(trained / BEFORE)
            (target / "training.json").write_text(json.dumps(card, indent=1) + "\n")
            (target / "README.md").write_text(cards.text(card))
            print(f"{target.relative_to(nursery.WEIGHTS)}: held-out loss {card['history'][-1]['loss']:.3f}", flush=True)


def shipped_cards(family: str) -> list[dict[str, Any]]:
    folders = [one.folder for one in nursery.shipped(family)] if family != "mini" else [nursery.WEIGHTS / "mini"]
    return [json.loads((folder / "training.json").read_text()) for folder in folders]


def figures(families: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        "| model | parameters | tokens | held-out loss | trigram | unigram | tokens right | next sentence right |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for family, rows in families.items():
        for card in rows:
            last, text = card["history"][-1], card["corpus"]
            name = family if family == "mini" else f"{family}/{card['model_seed']}"
            following = "–"
            if "next_accuracy" in last:
                low, high = wilson(last["next_accuracy"], last["pairs"])
                following = f"{last['next_accuracy']:.1%} ({low:.1%} to {high:.1%})"
            tokens = f"{cards.all_tokens(card):,}"
            numbers = f"{card['parameters']:,} | {tokens} | **{last['loss']:.3f}** | {text['trigram_loss']:.3f}"
            share = f"{text['unigram_loss']:.3f} | {last['accuracy']:.1%} | {following}"
            lines.append(f"| `{name}` | {numbers} | {share} |")
    return "\n".join(lines)


def answers() -> str:
    lines = [f"| prompt | {' | '.join(f'`{spec}`' for spec in ASKED)} |", "|---" * (len(ASKED) + 1) + "|"]
    likeliest: dict[str, list[str]] = {prompt: [] for prompt in PROMPTS}
    for spec in ASKED:
        model = open_model(spec)
        split = [prompt.partition("___") for prompt in PROMPTS]
        asked = [FillBlank(left, right if model.card.kind == "masked" else "", top=5) for left, _, right in split]
        for prompt, answer in zip(PROMPTS, Engine(model, AnswerStore(":memory:")).answer(asked), strict=True):
            likeliest[prompt].append(
                ", ".join(f"{token.text.strip()} {math.exp(token.logp):.0%}" for token in answer.top)
            )
    lines += [f"| {prompt} | {' | '.join(words)} |" for prompt, words in likeliest.items()]
    return "\n".join(lines)


def short_sentences(texts: dict[str, Path]) -> list[list[str]]:
    """Held out of WordNet: its sentences are documents of their own, and no article has one sentence alone."""
    _, held = corpus.split(list(texts.values()))
    return [document for document in held if len(document) == 1]


def measure_alone(folder: Path, sentences: list[list[str]]) -> dict[str, Any]:
    """Loss on sentences that are read alone, each with 15 % of its tokens hidden."""
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    special = Special.of(tokenizer, "masked")
    examples = make_singles(corpus.encode(tokenizer, sentences), special, 128)
    network = BertForPreTraining.from_pretrained(folder, dtype=torch.float32)
    return held_out(network, examples, draw_masks(examples, special, 0.15, 0), special, 8192)


def compared(before: Path, sentences: list[list[str]]) -> str:
    """The model that was continued and `mini` as it ships: held-out figures and what probes find."""
    with tempfile.TemporaryDirectory() as out:
        study = Study(title="before and after", probes=ASKED_OF_BOTH, models=(f"before={before}", "mini"), limit=400)
        run = trueprobe.run(study, out=Path(out) / "run")
        rows = [
            (text, *(_number(run, label, measure, at, model) for model in ("before", "mini")))
            for text, label, measure, at in COMPARED
        ]
    cards_of = [json.loads((folder / "training.json").read_text()) for folder in (before, nursery.WEIGHTS / "mini")]
    held = [card["history"][-1] for card in cards_of]
    first = [("tokens read", *(f"{cards.all_tokens(card):,}" for card in cards_of))]
    first += [("held-out loss, nats per token", *(f"{one['loss']:.3f}" for one in held))]
    first += [("tokens right", *(f"{one['accuracy']:.1%}" for one in held))]
    first += [("next sentence right", *(f"{one['next_accuracy']:.1%}" for one in held))]
    alone = [measure_alone(folder, sentences) for folder in (before, nursery.shipped("mini")[0].folder)]
    first += [
        (f"loss on {len(sentences)} held-out short sentences, read alone", *(f"{one['loss']:.3f}" for one in alone)),
        ("tokens right there", *(f"{one['accuracy']:.1%}" for one in alone)),
    ]
    lines = [f"| {text} | {one} | {other} |" for text, one, other in (*first, *rows)]
    return "\n".join(["| | before | now |", "|---|---|---|", *lines])


def _number(run: RunResults, label: str, measure: str, at: dict[str, Any], model: str) -> str:
    (row,) = (
        row
        for row in run.estimates_of(label)
        if row.measure == measure
        and row.model == model
        and all(str(row.conditions.get(name, value)) == str(value) for name, value in at.items())
    )
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def put_between(text: str, mark: str, content: str) -> str:
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def put_clusters(folder: Path, to: Path) -> None:
    """Effect sizes with p of their own test, and accuracies of clusters, of each checkpoint of the run."""
    run = load_run(folder)
    if not run.complete:
        raise SystemExit(f"{folder} was interrupted: run it again into it")
    checkpoints = run.estimates.query("level == 'checkpoint'").rename(columns=PLACES)
    measures = ("effect_size", "clusters_targets", "clusters_attributes")
    values = checkpoints.pivot(index=list(PLACES.values()), columns="measure", values="value")
    p = checkpoints.query("measure == 'effect_size'").set_index(list(PLACES.values()))["p"].rename("p_effect_size")
    values[list(measures)].join(p).to_csv(to)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trained", type=Path)
    asked = parser.parse_args()
    texts = {sha256(file): file for file in map(corpus.locate, ("enwik8", "wordnet"))}
    base = assets.path_of(MINI_STARTS_FROM)
    for name in nursery.NAMES:
        if (asked.trained / name).is_dir():
            put_family(name, asked.trained, texts, base)
    if (asked.trained / "clusters").is_dir():
        put_clusters(asked.trained / "clusters", nursery.WEIGHTS.parent / "clusters.csv")
    families = {name: shipped_cards(name) for name in nursery.NAMES if (nursery.WEIGHTS / name).is_dir()}
    card = put_between(CARD.read_text(encoding="utf-8"), "figures", figures(families))
    card = put_between(card, "answers", answers())
    if (asked.trained / BEFORE).is_dir():
        card = put_between(card, "before and after", compared(asked.trained / BEFORE, short_sentences(texts)))
    CARD.write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()

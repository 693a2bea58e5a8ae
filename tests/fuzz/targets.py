"""The readers of trueprobe's commands, each with the files it begins with."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import authors_tree
import made_runs
import materials
import zoo
from fuzz import added
from trueprobe import assets, probes
from trueprobe.probes.display import Figure, ItemTable, Table
from trueprobe.probes.distractors.released import CONDITIONS
from trueprobe.probes.files import ROOT as PROBES
from trueprobe.statistics.rows import VariantDifference
from trueprobe.types import Verdict

Enter = Callable[[Path, random.Random], object]


@dataclass(frozen=True)
class Target:
    name: str
    make: Callable[[Path], object]  # writes the files into an empty folder
    enter: Enter
    mutated: tuple[str, ...] = ("**/*",)  # which of them
    weight: int = 1  # how many mutants it gets, relative to others


def command(*arguments: str) -> None:
    """As `main` has it, without what ends the process."""
    from trueprobe.cli import app

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        app(list(arguments), standalone_mode=False)


# ---------------------------------------------------------------- run folders

FORMS = {
    "report --format markdown": 4,
    "report --format json": 4,
    "report --format html": 1,
    "compare --a solo --b fam": 2,
}
EXPORTS = {
    "export --csv t.csv --latex t.tex": 3,
    "export --model-card --model fam": 2,
    "gate --rule pairs:preference[category=age]<1": 3,
}


def make_run(folder: Path) -> None:
    """Small, with a figure and every kind of table; the name is that of a shipped probe, so that it can be compared."""
    cards = [*made_runs.family("fam", 3), made_runs.card("solo")]
    levels = [(card.name, {"level": "checkpoint"}) for card in cards] + [("fam", {"level": "family", "n_seeds": 3})]
    estimates = [
        made_runs.estimate(model, measure, 0.6 + 0.1 * n, **level, category=category)
        for model, level in levels
        for n, measure in enumerate(("preference", "ties"))
        for category in ("age", "race")
    ]
    claims = [made_runs.claim(card.name, "prefers", 0.2, Verdict.AS_PUBLISHED) for card in cards]
    figure = Figure("shares", "Shares", "By category.", ("preference",), "category", "dots")
    tables = tuple(
        Table(f"of_{of}", of, of, of, ("category",), ("preference_nats",)) for of in ("observations", "items")
    )
    columns = ItemTable(("preference_nats",), "preference_nats", side="preference_nats")
    declared = made_runs.declaration(figures=(figure,), tables=tables, item_table=columns)
    choices = [made_runs.choice("fam", "family", "age", 0.1, Verdict.UNDECIDED)]
    made_runs.write(folder, cards, estimates, claims, declared, tables={VariantDifference: choices})


def enter_run(folder: Path, rng: random.Random) -> None:
    manifest = folder / "manifest.json"
    if rng.random() < 0.7:  # whoever changes a table can change its checksum
        try:
            content = json.loads(manifest.read_bytes())
            content["checksums"] = {}
            manifest.write_text(json.dumps(content))
        except (ValueError, TypeError, RecursionError):
            pass
    commands = {**FORMS, **EXPORTS}
    name, *options = rng.choices(list(commands), list(commands.values()))[0].split(" ")
    here = [str(folder.parent / option) if option in ("t.csv", "t.tex") else option for option in options]
    command(name, str(folder), *here)


# ---------------------------------------------------------------- models


def make_model(name: str, folder: Path) -> None:
    zoo.save(name, folder)


def make_sharded(folder: Path) -> None:
    import torch
    import transformers

    zoo.save("bert", folder)
    model = transformers.BertForPreTraining.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="100KB")
    assert (folder / "model.safetensors.index.json").exists(), torch.__version__


def make_pickled(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    zoo.save("bert", folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def make_encoder(folder: Path) -> None:
    zoo.save("bert", folder)
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"idx": i, "type": f"sentence_transformers.models.{k}", "path": p} for i, (k, p) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')


def make_gguf(folder: Path) -> None:
    zoo.save_llama(folder.parent / "llama", folder / "model.gguf")


def make_sentencepiece(folder: Path) -> None:
    import sentencepiece

    zoo.save("llama", folder)
    for file in folder.glob("*token*"):
        file.unlink()
    with (folder / "tokenizer.model").open("wb") as file:
        texts = iter(["The nurse was late. So was the man."] * 20)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=file, model_type="bpe", vocab_size=40, minloglevel=2
        )
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')


def enter_model(folder: Path, rng: random.Random, **options: Any) -> None:
    from trueprobe.models import Options, examine, find, open_source

    spec = str(folder / "model.gguf") if (folder / "model.gguf").exists() else str(folder)
    for source in find([spec], Options(**options)):
        examine(source, Options(**options))
        open_source(source, Options(**options))


# ---------------------------------------------------------------- copies of assets, and records of them

SCORED = "".join(f"{n}\t{n / 7 - 1:.3f}\tA film with {n} endings.\n" for n in range(40))
CONTENTS: dict[str, Callable[[], bytes]] = {
    "crows-pairs": lambda: (PROBES / "crows_pairs/data/sample.csv").read_bytes(),
    "stereoset-dev": lambda: (PROBES / "stereoset/data/sample.json").read_bytes(),
    "movie-snippets": SCORED.encode,
    "enwik8": lambda: (
        b'<mediawiki xmlns="x">\n' + b"  <page><title>A</title><text>One. Two [[b]].</text></page>\n" * 20
    ),
}


def make_archive(name: str, suffix: str, folder: Path) -> None:
    """With the files that a source of the asset names; for a nested one, the archive in the archive."""
    content = CONTENTS[name]()
    source = next(source for source in assets.card(name).sources if source.archive)
    members = {file.at: content for file in source.files}
    for at in [at for at in members if "!" in at]:
        outer, _, inner = at.partition("!")
        members[outer] = _tar({inner: members.pop(at)})
    (folder / f"copy{suffix}").write_bytes((_zip if suffix == ".zip" else _tar)(members))


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, content in members.items():
            pack.writestr(name, content)
    return out.getvalue()


def _tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as pack:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            pack.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def make_copy(name: str, suffix: str, folder: Path) -> None:
    content = CONTENTS[name]()
    (folder / f"copy{suffix}").write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)


def make_asset_folder(name: str, folder: Path) -> None:
    """As a user's folder may have them."""
    zoo.save("bert" if "bert" in name or "mini" in name else "roberta", folder.parent / name)
    for file in assets.card(name).also[0]:
        shutil.copy(folder.parent / name / file, folder / file)


def make_seat_folder(folder: Path) -> None:
    words = {key: {"category": key, "examples": ["a nurse", "a man"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    for file in assets.card("seat-vignettes").sources[0].files:
        (folder / file.name).write_text(json.dumps(words))


def make_gguf_asset(folder: Path) -> None:
    zoo.save_llama(folder.parent / "llama", folder / "model.gguf")


def enter_fetch(name: str, folder: Path, rng: random.Random) -> None:
    copies = list(folder.glob("copy*"))
    command("fetch", name, "--from", str(copies[0] if copies else folder))


# ---------------------------------------------------------------- data files of probes


def make_data(file: str, name: str, folder: Path) -> None:
    shutil.copy(PROBES / file, folder / name)


def make_text(name: str, text: str, folder: Path) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def as_json_lines(file: str) -> str:
    import csv

    return "".join(json.dumps(row) + "\n" for row in csv.DictReader((PROBES / file).open(encoding="utf-8")))


def enter_probe(probe: str, setting: str, folder: Path, rng: random.Random) -> None:
    (file,) = folder.iterdir()
    made = probes.make(probe, {setting: str(file)})
    made.items()
    made.material_id, made.items_of, made.summary, made.measures(), made.claims()


VERBALIZER = '[verbalizer]\nfemale = ["ladies"]\nmale = ["gents"]\n'
WORDS = {
    "targ1": {"category": "A", "examples": ["nurse", "girl"]},
    "targ2": {"category": "B", "examples": ["man", "boy"]},
    "attr1": {"category": "C", "examples": ["late", "here"]},
    "attr2": {"category": "D", "examples": ["early", "there"]},
}
CSLB = "concept\tfeature\tfeature type\tpf\tfeature alternatives\tparticipant list\r\n" + "".join(
    f"cat{n}\tis small_tiny\tvisual perceptual\t4\tis small; is tiny; has fur\tp 1 {n + 2} / 3 / 2 3\r\n"
    f"cat{n}\tis soft\tother perceptual\t{n}\tis soft; is tiny\tp 4 / 5\r\n"
    for n in range(1, 20)
)
NORMS = "concept\tproperty\tfrequency\n" + "".join(f"cat{n}\thas fur\t{n}\ncat{n}\tis small\t3\n" for n in range(1, 30))

# ---------------------------------------------------------------- studies, rules, sentences, tasks


STUDY = """
title = "mine"
models = ["nursery/0", "fam=x/seed_*"]
limit = 20
intervals = "crossed"
[[probes]]
name = "counteracts"
label = "one"
settings = { wording = "all" }
[[probes]]
name = "pairs"
settings = { data = "example" }
"""
RULES = """
undecided = "pass"
[[rule]]
probe = "counteracts"
measure = "stereotype_margin"
where = { knowledge = "base" }
operator = "<"
value = 0.1
"""


def enter_study(folder: Path, rng: random.Random) -> None:
    from trueprobe.runs.study import make_study

    study, _ = make_study([str(folder / "study.toml")])
    for entry in study.probes:
        probes.make(entry.name, entry.settings)


def enter_rules(folder: Path, rng: random.Random) -> None:
    from trueprobe.gate import RuleFile
    from trueprobe.probes.files import parse

    for entry in parse(folder / "rules.toml", RuleFile).rule:
        entry.rule().text()


SENTENCES = "sentence,item\nThe old | man the boat.,1\nThe nurse | was late.,2\n"
BY_WORD = "item\tposition\tword\tregion\n" + "".join(
    f"{i}\t{p}\tword{p}\tr{p // 2}\n" for i in range(3) for p in range(4)
)
SENTENCE_LINES = '{"sentence": "The nurse | was late.", "n": 1}\n{"sentence": "She | left.", "n": 2}\n'


def enter_score(folder: Path, rng: random.Random) -> None:
    from trueprobe.scoring.read import read
    from trueprobe.scoring.sentences import Columns, material

    (file,) = folder.iterdir()
    material(read(file), Columns())


TSV = "sentence\tlabel\n" + "".join(f"text number {n}\t{n % 2}\n" for n in range(60))


def enter_task(folder: Path, rng: random.Random) -> None:
    from trueprobe.training.downstream.tasks import named_columns, read_task

    (file,) = folder.iterdir()
    if file.suffix == ".txt":
        read_task("movie-snippets", file, None, None)
    else:
        read_task("", file, named_columns(["sentence"], "label"), 20)


def enter_corpus(folder: Path, rng: random.Random) -> None:
    from trueprobe.training.corpus import split

    split([folder / "corpus.txt"])


# ---------------------------------------------------------------- released outputs


def make_released(folder: Path) -> None:
    probe, condition = _distractors(), "single_entity_profession"
    position, setting, types = CONDITIONS[condition]
    wanted = {"position": (position,), "setting": (setting,), "type": types}
    asked = [i for i in probe.items() if all(i.conditions[key] in values for key, values in wanted.items())]
    (folder / condition).mkdir()
    rows = "".join(_released_row(probe, item) for item in asked)
    (folder / condition / "BertBase.csv").write_text(authors_tree.HEADER + rows)


@cache
def _distractors() -> Any:
    """Its items do not depend on a mutant: they are made once."""
    probe = probes.make("distractors", {"faithful": True})
    probe.items = cache(probe.items)
    return probe


def _released_row(probe: Any, item: Any) -> str:
    target = item.fields["target"]
    order = [target, *(word for word in probe.candidates[item.conditions["set"]].words if word != target)]
    text = item.text.replace("___", "[MASK]")
    return f"{text}\t3\t7\t0.2\t{order}\t{target}\t{item.conditions['attractors']}\t0.5\t1\n"


def enter_distractors(folder: Path, rng: random.Random) -> None:
    from trueprobe.runs.replay import read_replays

    probe = _distractors()
    for replay in read_replays([f"replay:{folder}"], [("distractors", probe)]):
        replay.observations("distractors", probe.items())


def make_predictions(folder: Path) -> None:
    sample = json.loads((PROBES / "stereoset/data/sample.json").read_bytes())["data"]
    ids = {task: [s["id"] for cluster in sample[task] for s in cluster["sentences"]] for task in sample}
    scores = {task: [{"id": one, "score": 0.1} for one in ids[task]] for task in ids}
    (folder / "predictions_bert.json").write_text(json.dumps(scores))
    (folder / "predictions_gpt2.json.gz").write_bytes(gzip.compress(json.dumps(scores).encode()))


def enter_predictions(folder: Path, rng: random.Random) -> None:
    from trueprobe.runs.replay import read_replays

    made = probes.make("stereoset", {"data": "sample"})
    for replay in read_replays([f"replay:{folder}"], [("stereoset", made)]):
        replay.observations("stereoset", made.items())


# ---------------------------------------------------------------- what trueprobe itself keeps


def make_store(folder: Path) -> None:
    import numpy as np

    from trueprobe.engine.answers import AnswerStore

    store = AnswerStore(folder / "answers.sqlite", "made with")
    store.put(((bytes([n] * 32), "blank"), np.ones(8, np.float32)) for n in range(20))
    store._db.execute("PRAGMA journal_mode=DELETE")
    store.close()


def enter_store(folder: Path, rng: random.Random) -> None:
    from trueprobe.engine.answers import AnswerStore

    # a new path each time: SQLite leaves a log beside the file, and the connection of a refused one is open for a while
    fresh = folder.parent / f"{rng.random()}.sqlite"
    shutil.copy(folder / "answers.sqlite", fresh)
    store = AnswerStore(fresh, "made with")
    try:
        addresses = [(bytes([n] * 32), "blank") for n in range(20)]
        store.has(addresses)
        assert all((value == 1).all() for value in store.get(addresses).values())  # what is damaged is no answer
        store.restamp(addresses)
    finally:
        store.close()


def make_training(folder: Path) -> None:
    from trueprobe.training.pretrain import pretrain

    text = "\n\n".join("\n".join(zoo.sentences()[n : n + 3]) for n in range(0, 120, 3))
    (folder.parent / "corpus.txt").write_text(text)
    pretrain(_recipe(folder))


def _recipe(folder: Path) -> Any:
    from trueprobe.training.recipe import PretrainRecipe

    return PretrainRecipe(
        kind="causal",
        corpus=(folder.parent / "corpus.txt",),
        tokens=20_000,
        out=folder,
        size="L1-H16",
        checkpoints=1,
        vocab=300,
        threads=1,
        device="cpu",
    )


def enter_training(folder: Path, rng: random.Random) -> None:
    """All is trained: the setup is compared, and the card is printed."""
    from trueprobe.training import cards
    from trueprobe.training.pretrain import _same_setup

    _same_setup(folder, _recipe(folder).setup(1))
    cards.summary(folder / "seed_0")


def make_downstream(folder: Path) -> None:
    from trueprobe.runs import downstream as files

    identity = {"model": "m", "family": "m", "model_seed": None, "step": None, "source": "m", "compute_id": "x"}
    setup = files.FineTuning(
        complete=False,
        task="t",
        columns=None,
        data=files.TextCounts(
            files={"t": "0"},
            split="dev",
            labels=("0", "1"),
            train=2,
            train_of=2,
            dev=2,
            set_aside=0,
            dev_also_in_train=0,
        ),
        settings={"epochs": 3},
        threads=1,
        device="cpu",
        versions={},
        models=(files.CheckpointIdentity(**identity, self_trained=False),),
    )
    (folder / "downstream.json").write_text(files.as_json(setup, 1))
    answers = files.CheckpointAnswers(learning_rate=0.1, n_cut=0, new_weights=(), answers=(0, 1))
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints/m.json").write_text(files.as_json(answers))


def enter_downstream(folder: Path, rng: random.Random) -> None:
    from trueprobe.runs.downstream import CheckpointAnswers, DownstreamResult
    from trueprobe.runs.folder import parsed

    parsed(folder / "downstream.json", DownstreamResult)
    parsed(folder / "checkpoints/m.json", CheckpointAnswers)


def make_record(folder: Path) -> None:
    from trueprobe.assets.cache import ReadyFile, Record

    record = Record(
        name="crows-pairs",
        source="here",
        licence="x",
        content=assets.card("crows-pairs").content,
        recipe=1,
        counts={"pairs": 1},
        files={"crows_pairs_anonymized.csv": ReadyFile(sha256="0" * 64, bytes=3)},
        made_with="0",
    )
    (folder / "asset.json").write_text(record.model_dump_json())
    (folder / "crows_pairs_anonymized.csv").write_bytes(b"a,b")


def enter_record(folder: Path, rng: random.Random) -> None:
    place = assets.home() / "crows-pairs"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    assets.cached("crows-pairs")
    try:
        assets.path_of("crows-pairs")
    finally:
        shutil.rmtree(place)


# ---------------------------------------------------------------- all of them


def make_logs(name: str, folder: Path) -> None:
    """Written by that harness."""
    shutil.copytree(Path(__file__).parents[1] / "probes" / "logs" / name, folder, dirs_exist_ok=True)


def enter_logs(folder: Path, rng: random.Random) -> None:
    probe = probes.make("scores", {"data": str(folder)})
    probe.items(), probe.read_released(folder), probe.released_notices(folder)


def _data(probe: str, setting: str, name: str, make: Callable[..., None], *arguments: str) -> Target:
    content = partial(make, *arguments, name) if make is make_data else partial(make, name, *arguments)
    return Target(f"{probe}-{name}", content, partial(enter_probe, probe, setting))


def _all() -> Sequence[Target]:
    yield Target("run", make_run, enter_run, ("*.json", "**/*.parquet"), weight=12)
    for name in ("bert", "gpt2", "albert"):
        yield Target(f"model-{name}", partial(make_model, name), enter_model, weight=4)
    yield Target("model-sharded", make_sharded, enter_model, weight=2)
    yield Target(
        "model-pickled", make_pickled, partial(enter_model, allow_pickle=True), ("pytorch_model.bin",), weight=2
    )
    yield Target("model-encoder", make_encoder, enter_model, ("**/*.json",), weight=2)
    yield Target("model-gguf", make_gguf, enter_model, weight=2)
    yield Target("model-sentencepiece", make_sentencepiece, enter_model, ("*.model", "*.json"), weight=2)
    for name, suffix in (
        ("crows-pairs", ".zip"),
        ("movie-snippets", ".tar.gz"),
        ("enwik8", ".tar.gz"),
        ("stereoset-dev", ".zip"),
    ):
        yield Target(f"fetch-{name}{suffix}", partial(make_archive, name, suffix), partial(enter_fetch, name), weight=2)
    for name, suffix in (
        ("crows-pairs", ".csv"),
        ("stereoset-dev", ".json"),
        ("movie-snippets", ".txt"),
        ("enwik8", ".gz"),
    ):
        yield Target(f"fetch-{name}{suffix}", partial(make_copy, name, suffix), partial(enter_fetch, name))
    for name in ("tokenizer-bert-base-cased", "tokenizer-roberta-base", "all-minilm-l6-v2"):
        yield Target(f"fetch-{name}", partial(make_asset_folder, name), partial(enter_fetch, name))
    yield Target("fetch-seat", make_seat_folder, partial(enter_fetch, "seat-vignettes"))
    yield Target("fetch-gguf", make_gguf_asset, partial(enter_fetch, "smollm2-135m"))
    yield _data("counteracts", "material", "mine.toml", make_data, "counteracts/data/gender.toml")
    yield _data("counteracts", "verbalizer", "words.toml", make_text, VERBALIZER)
    yield _data("distractors", "material", "places.toml", make_text, materials.PLACES)
    yield _data("seat", "material", "weat.toml", make_data, "seat/data/weat.toml")
    yield _data("seat", "data", "test.json", make_text, json.dumps(WORDS))
    yield _data("crows_pairs", "data", "sample.csv", make_data, "crows_pairs/data/sample.csv")
    yield _data("stereoset", "data", "sample.json", make_data, "stereoset/data/sample.json")
    yield _data("pairs", "data", "pairs.csv", make_data, "pairs/data/pairs.csv")
    yield _data("pairs", "data", "pairs.jsonl", make_text, as_json_lines("pairs/data/pairs.csv"))
    yield _data("cloze", "data", "cloze.csv", make_data, "cloze/data/cloze.csv")
    yield _data("cloze", "data", "cloze.jsonl", make_text, as_json_lines("cloze/data/cloze.csv"))
    for name in ("lm_eval", "inspect", "every_eval_ever"):
        yield Target(f"scores-{name}", partial(make_logs, name), enter_logs)
    yield _data("tacit_production", "data", "norms.tsv", make_text, NORMS)
    yield _data("tacit_production", "data", "norms.dat", make_text, CSLB)
    yield _data("tacit_production", "material", "prompts.toml", make_data, "tacit/data/prompts.toml")
    yield Target("study", partial(make_text, "study.toml", STUDY), enter_study, weight=2)
    yield Target("rules", partial(make_text, "rules.toml", RULES), enter_rules, weight=2)
    for name, text in (
        ("s.csv", SENTENCES),
        ("w.tsv", BY_WORD),
        ("l.jsonl", SENTENCE_LINES),
        ("t.txt", "One | two.\nTwo | three.\n"),
    ):
        yield Target(f"score-{name}", partial(make_text, name, text), enter_score)
    yield Target("task-tsv", partial(make_text, "data.tsv", TSV), enter_task)
    yield Target("task-scored", partial(make_text, "data.txt", SCORED), enter_task)
    yield Target("corpus", partial(make_text, "corpus.txt", "One.\nTwo.\n\n" * 20), enter_corpus)
    yield Target("released-distractors", make_released, enter_distractors, weight=2)
    yield Target("released-stereoset", make_predictions, enter_predictions, weight=2)
    yield Target("store", make_store, enter_store, weight=2)
    yield Target("training", make_training, enter_training, ("setup.json", "seed_0/training.json"))
    yield Target("downstream", make_downstream, enter_downstream)
    yield Target("asset-record", make_record, enter_record, ("asset.json",))
    yield Target("plan", added.make_plan, added.enter_plan, weight=3)
    yield Target("association", added.make_association, added.enter_association, weight=3)
    yield Target("sensitivity", added.make_analysis, added.enter_analysis, ("**/*.json", "**/*.csv"), weight=3)
    whole = partial(added.enter_whole_run, command)
    yield Target("run-whole", added.make_whole_run, whole, ("*.json", "**/*.parquet"), weight=6)
    for kind in added.KINDS:
        yield Target(f"served-{kind}", partial(added.make_replies, kind), partial(added.enter_replies, kind), weight=2)


TARGETS = {target.name: target for target in _all()}

"""Whole runs of the tacit-assumption probes: one vocabulary for all models of a study, one row per prompt."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

import trueprobe
from trueprobe.results.render import terminal as summary
from trueprobe.runs.reproduce import reproduce

ROWS = [
    "nurse,is late,20,visual",
    "nurse,is here,15,functional",
    "nurse,has a bus,9,encyclopaedic",
    "bus,is late,12,visual",
    "bus,has a man,7,visual",
    "man,is here,8,visual",
    "man,has a nurse,6,visual",
    "woman,is here,8,visual",
    "girl,is late,8,visual",
    "hairdresser,is here,8,visual",
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "norms.csv"
    path.write_text("\n".join(["concept,property,frequency,category", *ROWS]), encoding="utf-8")
    return str(path)


@pytest.fixture
def run(checkpoint, data, tmp_path):
    def run(probes, *names, out="run"):
        models = [str(checkpoint(name)) for name in names]
        settings = {"data": data} if "tacit_prince" not in probes else {}
        return trueprobe.run(
            probes, models=models, out=tmp_path / out, settings=settings, store=tmp_path / "store.sqlite"
        )

    return run


@pytest.mark.slow
def test_the_vocabulary_is_what_all_models_have_as_one_piece(run, opened):
    mine, yours = opened("bert").text.whole_words, opened("gpt2").text.whole_words
    assert {"nurse", "bus", "man"} <= mine & yours
    assert "hairdresser" not in mine
    assert mine != yours
    both = run(["tacit_retrieval"], "bert", "gpt2").estimates
    assert set(both["condition_vocabulary_size"]) == {str(len(mine & yours))}
    alone = run(["tacit_retrieval"], "bert", out="alone").estimates
    assert set(alone["condition_vocabulary_size"]) == {str(len(mine))}
    assert set(alone["condition_vocabulary_sha256"]) != set(both["condition_vocabulary_sha256"])
    assert set(both["condition_vocabulary"]) == {"common"}


def test_whole_words_are_one_piece_after_a_space(opened):
    for name in ("bert", "gpt2", "roberta"):
        text = opened(name).text
        for word in sorted(text.whole_words)[::20]:
            assert word.isascii()
            assert word.isalpha()
            assert len(text.word(word, "space")) == 1


@pytest.mark.slow
def test_one_row_per_prompt_and_unscored_ones_are_counted(run):
    found = run(["tacit_retrieval", "tacit_production"], "bert")
    seen = found.observations("tacit_retrieval")
    lost = seen[seen["why_not"] != ""]
    assert set(lost["group_concept"]) == {"hairdresser"}
    assert set(lost["why_not"]) == {"not_in_list"}
    prompts = {*seen.loc[seen["why_not"] == "", "prompt"]}
    made = found.observations("tacit_production")
    made = made[made["why_not"] == ""]
    alone = {p.removeprefix("Everyone knows that ").capitalize() for p in made["prompt"]}
    planned = found.manifest.counts[found.cards[0].name]["rows"]
    assert planned <= len(prompts | {*made["prompt"]} | alone)
    assert (seen["probability"].dropna() <= 1).all()
    ranks = found.estimates.query("measure == 'reciprocal_rank' and condition_order == 'decreasing'")
    ranks = ranks[(ranks["condition_properties"] == "1") & (ranks["condition_selection"] == "top")]
    assert (ranks["n_unscored"] == 1).all()


@pytest.mark.slow
def test_a_run_is_told_in_words(checkpoint, tmp_path):
    found = trueprobe.run(
        "tacit_production",
        models=[str(checkpoint("bert")), str(checkpoint("gpt2"))],
        out=tmp_path / "run",
        store=tmp_path / "store.sqlite",
        limit=60,
    )
    console = Console(file=io.StringIO(), width=100)
    summary.show(found, console)
    told = console.file.getvalue()
    assert "ranks within the vocabulary 'common'" in told
    assert "Authored, not elicited from people" in told
    assert "not in the vocabulary" in told
    facts = json.loads((found.folder / "probes.json").read_text(encoding="utf-8"))
    assert facts["tacit_production"]["facts"]["norms"]["authored"] is True
    assert facts["tacit_production"]["facts"]["vocabulary"]["vocabulary_size"] > 0


CSLB = [
    "nurse\tis late\tother perceptual\t9\tis late",
    "nurse\tis here\tencyclopaedic\t5\tis here",
    "bus\tis late\tother perceptual\t7\tis late",
    "bus\thas a man\tvisual perceptual\t4\thas a man",
    "apple\tis here\tencyclopaedic\t2\tis here",
    "hairdresser\thas a bus\tvisual perceptual\t2\thas a bus",
    "hairdresser\tis a man\ttaxonomic\t2\tis a man",
    "hairdresser\thas nurse\tvisual perceptual\t2\thas nurse",
    "hairdresser\tmade of bus\tvisual perceptual\t2\tmade of bus",
]


@pytest.fixture
def papers(tmp_path):
    """Norms and two tokenizers as the paper's rules read them: words that are one piece in both."""
    lines = ["concept\tfeature\tfeature type\tpf\tfeature alternatives", *CSLB]
    (tmp_path / "norms.dat").write_text("\n".join(lines), encoding="utf-8")
    words = ["nurse", "bus", "man", "late", "apple"]
    for name in ("bert", "roberta"):
        (tmp_path / name).mkdir()
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join([*words, "woman"]), encoding="utf-8")
    pieces = {f"Ġ{word}": i for i, word in enumerate([*words, "girl"])}
    (tmp_path / "roberta" / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    return {
        "data": str(tmp_path / "norms.dat"),
        "bert_cased": str(tmp_path / "bert"),
        "roberta": str(tmp_path / "roberta"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("probe", "counts", "numbers"),
    [
        # two concepts of one piece with two properties each; late and here are of two concepts, the others of one
        ("tacit_retrieval", {"concepts": 2, "prompts": 4, "perceptual": 6 / 5, "not perceptual": 3 / 2}, 1),
        # "here" is not in the vocabulary, and the apple starts with a vowel
        ("tacit_production", {"is": 2, "is a": 1, "has": 1, "has a": 2, "is made of": 1}, 20),
    ],
)
def test_reproduce_counts_as_the_authors_did_also_for_one_model(checkpoint, papers, tmp_path, probe, counts, numbers):
    rows, asked = reproduce(
        probe,
        str(checkpoint("bert")),
        "bert-base-cased",
        tmp_path / "run",
        papers,
        store=tmp_path / "store.sqlite",
    )
    assert asked
    of_material = [row for row in rows if not row.number.model]
    assert [row.ours for row in of_material] == pytest.approx(list(counts.values()))
    assert len(rows) == len(of_material) + numbers
    ran = trueprobe.load_run(tmp_path / "run")
    assert set(ran.estimates["condition_vocabulary"]) == {"paper"}
    assert set(ran.estimates["condition_vocabulary_size"]) == {"5"}


@pytest.mark.slow
def test_a_users_vocabulary_stands_whatever_the_models(checkpoint, data, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("nurse\nbus\nman\nwoman\n", encoding="utf-8")
    settings = {"data": data, "vocabulary": str(path)}
    store = tmp_path / "store.sqlite"
    found = trueprobe.run(
        "tacit_retrieval", models=[str(checkpoint("bert"))], out=tmp_path / "run", settings=settings, store=store
    )
    seen = found.observations("tacit_retrieval")
    assert set(found.estimates["condition_vocabulary"]) == {"words.txt"}
    assert seen["rank"].max() <= 4
    assert set(seen.loc[seen["why_not"] != "", "group_concept"]) == {"girl", "hairdresser"}

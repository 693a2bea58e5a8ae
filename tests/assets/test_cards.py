"""The shipped cards: complete, pinned, true to the files they speak of; and how they are listed."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

import zoo
from trueprobe import assets
from trueprobe.cli import app
from trueprobe.errors import BadInput

NAMES = [
    "all-minilm-l6-v2",
    "crows-pairs",
    "enwik8",
    "movie-snippets",
    "seat-vignettes",
    "smollm2-135m",
    "stereoset-dev",
    "stereoset-test",
    "tokenizer-bert-base-cased",
    "tokenizer-roberta-base",
    "wordnet",
]


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_assets_are_these():
    assert assets.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_source_is_pinned_and_every_card_says_who_and_under_which_licence(name):
    card = assets.card(name)
    assert card.title
    assert card.made_by
    assert card.licence
    assert card.counts
    assert card.ready_bytes > 0
    for source in card.sources:
        if source.via == "hub":
            assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
        elif source.via == "index":
            assert re.fullmatch(r"[A-Za-z0-9-]+==[0-9.]+", source.at)
        else:
            assert source.at.startswith("https://")
            assert source.at.endswith("/")
        for file in source.files:
            assert file.sha256 or source.unverified
            assert not file.name.startswith(("/", ".."))


def test_only_sources_that_say_why_have_no_hash():
    unpinned = {(n, s.via) for n in NAMES for s in assets.card(n).sources if any(f.sha256 is None for f in s.files)}
    assert unpinned == {("stereoset-dev", "address")}


def test_what_must_be_models_are_models():
    assert [name for name in NAMES if assets.card(name).kind == "model"] == ["all-minilm-l6-v2", "smollm2-135m"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        ("crows-pairs", "crows_pairs/crows_pairs_anonymized.csv"),
        ("seat-vignettes", "seat"),
        ("tokenizer-bert-base-cased", "tokenizers/bert-base-cased"),
        ("tokenizer-roberta-base", "tokenizers/roberta-base"),
    ],
)
def test_the_published_files_are_what_their_cards_say(name, file_name, home):
    if not zoo.SHARED.exists():
        pytest.skip("the reference data does not lie beside the checkout")
    got = assets.obtain(name, zoo.SHARED / file_name)
    assert got.record.counts == assets.card(name).counts
    assert assets.path_of(name) == got.path
    if name.startswith("tokenizer"):
        from transformers import AutoTokenizer

        theirs, ours = (AutoTokenizer.from_pretrained(path) for path in (zoo.SHARED / file_name, got.path))
        for text in ("The nurse's café in Zürich  cost 12,345.", "naïve [MASK] <mask>"):
            assert ours(text)["input_ids"] == theirs(text)["input_ids"]


def test_a_shipped_tokenizer_comes_from_the_hub(home, tmp_path, monkeypatch):
    if not zoo.SHARED.exists():
        pytest.skip("the reference data does not lie beside the checkout")
    [source] = assets.card("tokenizer-bert-base-cased").sources
    snapshot = tmp_path / "hub" / f"models--{source.at.replace('/', '--')}" / "snapshots" / source.revision
    snapshot.mkdir(parents=True)
    (snapshot / "vocab.txt").symlink_to(zoo.SHARED / "tokenizers" / "bert-base-cased" / "vocab.txt")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    got = assets.obtain("tokenizer-bert-base-cased")
    assert got.record.source == "google-bert/bert-base-cased@cd5ef92 on the Hugging Face hub"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("[]", "should be an object"),
        ('{"model": {"type": "BPE", "vocab": {"a": 0}}}', "not that of"),
    ],
)
def test_a_tokenizer_that_is_another_is_refused(text, message, home, tmp_path):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(BadInput, match=f"is refused: .*{message}"):
        assets.fetch("tokenizer-roberta-base", tmp_path)


def test_a_model_of_several_files_is_taken_from_a_folder_only(home, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(BadInput, match=r"is several files: give --from a folder that holds config\.json, model"):
        assets.fetch("all-minilm-l6-v2", tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_bytes(b"{}")
    with pytest.raises(BadInput, match="does not hold what 'all-minilm-l6-v2' is made of"):
        assets.fetch("all-minilm-l6-v2", tmp_path)


def test_the_bytes_of_the_published_files_are_those_of_their_owners_sources():
    if not zoo.SHARED.exists():
        pytest.skip("the reference data does not lie beside the checkout")
    import hashlib

    for name, folder in (
        ("crows-pairs", "crows_pairs"),
        ("seat-vignettes", "seat"),
        ("tokenizer-bert-base-cased", "tokenizers/bert-base-cased"),
    ):
        for file in assets.card(name).sources[0].files:
            digest = hashlib.sha256((zoo.SHARED / folder / file.name).read_bytes()).hexdigest()
            assert digest == file.sha256, file.name


# ---------------------------------------------------------------- the command line


def test_a_wrong_name_is_answered_before_anything_is_fetched(home):
    with pytest.raises(BadInput, match="no asset named 'crows'; did you mean 'crows-pairs'"):
        assets.card("crows")
    done = run("fetch", "enwik8", "stereoset_dev")
    assert "did you mean 'stereoset-dev'?" in str(done.exception)
    assert not home.exists()


def test_a_file_goes_with_one_asset(tmp_path):
    done = run("fetch", "enwik8", "crows-pairs", "--from", tmp_path)
    assert "goes with one asset, not with 2" in str(done.exception)


def test_the_list_fits_eighty_columns_and_says_what_is_here(write_card, site, home):
    import toys

    write_card(toys.at_address(site.address))
    assert re.search(r"^toy    –     0 kB  MIT$", run("list", "assets").output, re.MULTILINE)
    fetched = run("fetch", "toy")
    assert fetched.output == f"toy: fetched: {home / 'toy' / 'toy.csv'} (from {site.address}toy.csv; MIT)\n"
    assert "toy: already here and whole: " in run("fetch", "toy").output
    assert re.search(r"^toy    yes   0 kB  MIT$", run("list", "assets").output, re.MULTILINE)
    [row] = json.loads(run("fetch", "toy", "--json").output)
    assert (row["was_here"], row["path"], row["refused"]) == (True, str(home / "toy" / "toy.csv"), [])


def test_the_shipped_list_fits_eighty_columns(home):
    lines = run("list", "assets").output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[1 : len(NAMES) + 1]] == NAMES


def test_a_script_is_told_everything_about_each_asset(home):
    rows = {row["name"]: row for row in json.loads(run("list", "assets", "--json").output)}
    assert list(rows) == NAMES
    assert rows["crows-pairs"]["licence"] == "CC BY-SA 4.0"
    assert rows["crows-pairs"]["here"] is False
    assert len(rows["crows-pairs"]["sources"]) == 2
    assert rows["smollm2-135m"]["download_bytes"] == 92871040

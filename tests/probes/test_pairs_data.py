"""Files of sentence pairs and of triples: what is read, and what a wrong file is told."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueprobe.errors import BadInput
from trueprobe.probes import files
from trueprobe.probes.crows_pairs import material as crows_pairs
from trueprobe.probes.stereoset import material as stereoset

HEADER = "sent_more,sent_less,stereo_antistereo,bias_type\n"
TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(str.strip)


def crows(folder, text: str):
    path = folder / "mine.csv"
    path.write_bytes(text.encode())
    return crows_pairs.read(str(path))


# ---------------------------------------------------------------- pairs


def test_the_sample_is_read():
    found = crows_pairs.read("sample")
    assert len(found.pairs) == 18
    assert found.categories == ["age", "gender", "socioeconomic"]
    assert found.data.card["licence"] == "MIT"


@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(crows_pairs.DIRECTIONS), TEXT), min_size=1, max_size=5))
def test_what_is_written_is_read_in_either_form(tmp_path_factory, rows):
    rows = [(more, less + " x" if more.strip() == less.strip() else less, *rest) for more, less, *rest in rows]
    for delimiter in ",\t":
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(["nr", "bias_type", "sent_less", "stereo_antistereo", "sent_more"])
        writer.writerows((i, kind, less, way, more) for i, (more, less, way, kind) in enumerate(rows))
        found = crows(tmp_path_factory.mktemp("data"), "\ufeff" + out.getvalue())
        wanted = [(more.strip(), less.strip(), way, kind.strip()) for more, less, way, kind in rows]
        assert [(p.more, p.less, p.direction, p.category) for p in found.pairs] == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "mine.csv, line 1: no column 'sent_more'"),
        ("sent_mor,sent_less,stereo_antistereo,bias_type\n", "no column 'sent_more'; did you mean 'sent_mor'?"),
        (HEADER, "a header and no pairs"),
        (HEADER + "a,b,stereo,age\na,b,stereo\n", "line 3: 3 cells, none of them bias_type"),
        (HEADER + 'a,"b\nc",stereo,age\na,,stereo,age\n', "line 4: sent_less is empty"),
        (HEADER + "a,b,stereotype,age\n", "line 2: stereo_antistereo is 'stereotype'; did you mean 'stereo'?"),
        (HEADER + "a,a,stereo,age\n", "line 2: sent_more and sent_less are the same sentence"),
        (HEADER + 'a,"b,stereo,age\n', "line 2: not a table"),
    ],
)
def test_a_wrong_table_is_told_with_its_line(tmp_path, text, told):
    with pytest.raises(BadInput) as error:
        crows(tmp_path, text)
    assert told in str(error.value)


def test_data_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInput, match=r"no data 'crows-pair'.*did you mean 'crows-pairs'"):
        crows_pairs.read("crows-pair")
    with pytest.raises(BadInput, match="trueprobe fetch crows-pairs"):
        crows_pairs.read("crows-pairs")
    (tmp_path / "latin.csv").write_bytes("é".encode("latin-1"))
    with pytest.raises(BadInput, match="not UTF-8"):
        crows_pairs.read(str(tmp_path / "latin.csv"))


# ---------------------------------------------------------------- triples


def cluster(**changes) -> dict:
    words = {"stereotype": "slow", "anti-stereotype": "quick", "unrelated": "blue"}
    sentences = [{"id": w, "sentence": f"He was {w}.", "gold_label": label} for label, w in words.items()]
    return {"id": "1", "target": "he", "bias_type": "age", "context": "He was BLANK.", "sentences": sentences} | changes


def triples(folder, *clusters: dict, task: str = "intrasentence"):
    path = folder / "mine.json"
    path.write_text(json.dumps({"data": {task: list(clusters)}}), encoding="utf-8")
    return stereoset.read(str(path))


def test_the_sample_of_triples_is_read():
    found = stereoset.read("sample")
    assert {task: len(clusters) for task, clusters in found.tasks.items()} == {"intrasentence": 10, "intersentence": 8}


def test_sentences_come_by_their_label_whatever_their_order(tmp_path):
    mixed = cluster(sentences=cluster()["sentences"][::-1])
    [found] = triples(tmp_path, mixed).tasks["intrasentence"]
    assert [sentence.id for sentence in found.by_label] == ["slow", "quick", "blue"]


@pytest.mark.parametrize(
    ("context", "sentence", "word"),
    [
        ("He was BLANK.", "He was slow.", "slow"),
        ("BLANK men ran.", "Slow men ran.", "Slow"),
        ("He is not BLANK and says BLANK.", "He is not poor and says rich.", "rich"),
        ("He was BLANK-ish today", "He was child-ish today", "childish"),
        ("He was BLANK", "He was", ""),
    ],
)
def test_the_word_in_the_blank_by_the_authors_rule(context, sentence, word):
    assert stereoset.word_in(context, sentence) == word


@pytest.mark.parametrize(
    ("context", "one"),
    [
        ("He was BLANK.", True),
        ("The man BLANKed it.", False),
        ("Not BLANK and BLANK", False),
        ("very`BLANK about", True),
    ],
)
def test_exactly_one_blank_as_a_word_of_its_own(context, one):
    found = stereoset.Cluster.model_validate(cluster(context=context))
    assert found.one_blank == one


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"context": "He was slow."}, "intrasentence.0.context has no BLANK"),
        ({"context": "He was always very BLANK."}, "has no word where BLANK stands"),
        ({"sentences": cluster()["sentences"][:2]}, "data.intrasentence.0: sentences are labelled stereotype, anti-"),
        ({"target": ""}, "data.intrasentence.0.target"),
    ],
)
def test_a_wrong_triple_is_told_with_its_place(tmp_path, changes, told):
    with pytest.raises(BadInput) as error:
        triples(tmp_path, cluster(**changes))
    assert told in str(error.value)


def test_files_that_are_no_stereoset_are_told(tmp_path):
    path = tmp_path / "mine.json"
    for text, told in (
        ('{"data": {\n', "mine.json, line 2, column 1: not valid JSON"),
        ("[]", "mine.json"),
        ('{"data": {}}', "neither intrasentence nor intersentence items"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput) as error:
            stereoset.read(str(path))
        assert told in str(error.value)
    with pytest.raises(BadInput, match=r"data.intrasentence.1 has the id '1' of data.intrasentence.0 too"):
        triples(tmp_path, cluster(), cluster())


# ---------------------------------------------------------------- released scores and published numbers


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("predictions_bert-base-cased_BertNextSentence_BertLM.json.gz", "bert-base-cased"),
        ("predictions_gpt2.json", "gpt2"),
        ("mine.json", "mine"),
    ],
)
def test_a_released_file_names_its_model(tmp_path, name, model):
    assert stereoset.model_name(tmp_path / name) == model


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "no scores"),
        ('{"intrasentence": {}}', "intrasentence is no list"),
        ('{"intrasentence": [{"id": "a"}]}', "intrasentence.0 is no {id, score}"),
        ('{"intrasentence": [{"id": "a", "score": -0.5}]}', "intrasentence.0.score is -0.5, neither a probability"),
        ('{"intrasentence": [{"id": "a", "score": Infinity}]}', "intrasentence.0.score is inf, neither a probability"),
        ("{", "line 1, column 2: not valid JSON"),
    ],
)
def test_wrong_released_scores_are_told(tmp_path, text, told):
    path = tmp_path / "predictions_x.json.gz"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(BadInput) as error:
        stereoset.scores(path)
    assert told in str(error.value)


def test_a_folder_without_scores_and_a_broken_archive_are_told(tmp_path):
    with pytest.raises(BadInput, match="predictions_MODEL"):
        stereoset.score_files(tmp_path)
    (tmp_path / "predictions_x.json.gz").write_bytes(b"no gzip")
    with pytest.raises(BadInput, match="damaged gzip"):
        stereoset.scores(tmp_path / "predictions_x.json.gz")


@pytest.mark.parametrize("name", ["crows_pairs", "stereoset"])
def test_published_numbers_have_a_source_and_settings_the_probe_knows(name):
    from trueprobe import probes

    with (files.ROOT / name / "published" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 100
    for row in rows:
        settings = dict(part.split("=") for part in row["settings"].split())
        probes.find(name).Settings.model_validate(settings)
        assert row["source"]
        assert 0 <= float(row["value"]) <= 1
        assert len(row["value"].split(".")[1]) == int(row["decimals"])

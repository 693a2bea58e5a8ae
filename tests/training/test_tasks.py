"""Labelled texts: GLUE's files as they are, the user's files, and what is wrong is reported with file and line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trueprobe.errors import BadInput
from trueprobe.training.downstream.tasks import TaskColumns, named_columns, read_task, read_tsv

CUSTOM = TaskColumns(("text",), "kind")


def glue(folder: Path, header: str, train: list[str], dev: list[str]) -> Path:
    folder.mkdir(parents=True)
    for name, rows in (("train.tsv", train), ("dev.tsv", dev)):
        (folder / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return folder


def test_sst2_is_read_from_glue_s_folder_or_its_own(tmp_path):
    folder = glue(tmp_path / "SST-2", "sentence\tlabel", ["a dull film \t0", "a fine film \t1"], ["fine \t1"])
    for data in (tmp_path, folder):
        task = read_task("sst2", data, None, None)
        assert [row.texts for row in task.train] == [("a dull film ",), ("a fine film ",)]
        assert [(row.label, row.line) for row in task.dev] == [("1", 2)]
        assert (task.labels, task.split, set(task.files)) == (("0", "1"), "dev.tsv", {"train.tsv", "dev.tsv"})


@pytest.mark.parametrize(
    ("name", "folder", "header"),
    [("rte", "RTE", "index\tsentence1\tsentence2\tlabel"), ("qnli", "QNLI", "index\tquestion\tsentence\tlabel")],
)
def test_pairs_are_read_in_their_order(tmp_path, name, folder, header):
    rows = ["0\tWho came?\tAnn came.\tentailment", "1\tWho left?\tAnn came.\tnot_entailment"]
    glue(tmp_path / folder, header, rows, rows[:1])
    task = read_task(name, tmp_path, None, None)
    assert task.train[1].texts == ("Who left?", "Ann came.")
    assert task.labels == ("entailment", "not_entailment")
    assert task.dev_in_train == 1


def test_quotation_marks_are_text_and_line_ends_may_be_windows(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_bytes('\ufeffkind\ttext\r\nx\t"Well," he\u2028said\r\n'.encode())
    assert [(row.texts, row.label) for row in read_tsv(file, CUSTOM)] == [(('"Well," he\u2028said',), "x")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("txet\tkind\na\tx\n", ":1: no column 'text'; did you mean 'txet'?"),
        ("text,kind\na,x\n", ":1: no column 'text'; a TSV has tabs between its columns, this has none"),
        ("text\tkind\na\tx\nb\n", ":3: 1 columns separated by tabs, the header has 2"),
        ("text\tkind\na\tx\n \ty\n", ":3: a text is empty"),
        ("text\tkind\na\t\n", ":2: the label is empty"),
        ("", ":1: no column 'text'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, content, message):
    file = tmp_path / "a.tsv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        read_tsv(file, CUSTOM)
    assert str(caught.value).startswith(str(file) + message)


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"text\tkind\nfine\tx\ncaf\xe9\ty\n")
    with pytest.raises(BadInput, match=r"a\.tsv:3: not UTF-8"):
        read_tsv(tmp_path / "a.tsv", CUSTOM)


def test_a_label_glue_does_not_know_is_named(tmp_path):
    glue(tmp_path / "RTE", "index\tsentence1\tsentence2\tlabel", ["0\ta\tb\tentailment", "1\ta\tb\tneutral"], [])
    with pytest.raises(BadInput, match=r"train\.tsv:3: the label is 'neutral', not one of entailment, not_entailment"):
        read_task("rte", tmp_path, None, None)


def test_a_label_that_only_dev_has_is_named(tmp_path):
    glue(tmp_path / "mine", "text\tkind", ["a\tx", "b\ty"], ["c\tz"])
    with pytest.raises(BadInput, match=r"dev\.tsv:2: the label 'z' is not in train\.tsv"):
        read_task("", tmp_path / "mine", CUSTOM, None)


@pytest.mark.parametrize(
    ("name", "data", "columns", "message"),
    [
        ("sst", None, None, "did you mean 'sst2'?"),
        ("sst2", None, None, "--task sst2 needs --data"),
        ("sst2", Path("nowhere"), None, "no file nowhere/train.tsv"),
        ("sst2", Path("."), CUSTOM, "leave --task out"),
        ("", None, None, "no task"),
        ("", Path("a.tsv"), None, "--text-column"),
    ],
)
def test_an_incomplete_order_says_what_is_missing(name, data, columns, message):
    with pytest.raises(BadInput) as caught:
        read_task(name, data, columns, None)
    assert message in str(caught.value)


@pytest.mark.parametrize(("texts", "label"), [(None, "kind"), (["text"], None), (["a", "b", "c"], "kind")])
def test_columns_are_named_together(texts, label):
    with pytest.raises(BadInput, match="--text-column once, or twice"):
        named_columns(texts, label)


def one_file(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(["text\tkind", *rows]) + "\n", encoding="utf-8")
    return path


def test_one_file_is_split_by_its_texts_whatever_their_order(tmp_path):
    rows = [f"sentence {i}\t{'xy'[i % 2]}" for i in range(500)]
    first = read_task("", one_file(tmp_path / "a.tsv", rows), CUSTOM, None)
    random.Random(1).shuffle(rows)
    second = read_task("", one_file(tmp_path / "b.tsv", rows), CUSTOM, None)
    assert {row.texts for row in first.dev} == {row.texts for row in second.dev}
    assert 70 < len(first.dev) < 130
    assert not {row.texts for row in first.dev} & {row.texts for row in first.train}


def test_a_limit_takes_the_same_texts_whatever_their_order_and_leaves_dev_alone(tmp_path):
    rows = [f"sentence {i}\t{'xy'[i % 2]}" for i in range(500)]
    first = read_task("", one_file(tmp_path / "a.tsv", rows), CUSTOM, 40)
    second = read_task("", one_file(tmp_path / "b.tsv", rows[::-1]), CUSTOM, 40)
    assert len(first.train) == 40
    assert first.train_of > 350
    assert {row.texts for row in first.train} == {row.texts for row in second.train}
    assert len(first.dev) == len(read_task("", tmp_path / "a.tsv", CUSTOM, None).dev)


def test_one_label_alone_is_nothing_to_learn(tmp_path):
    with pytest.raises(BadInput, match="have the label 'x'; two are needed"):
        read_task("", one_file(tmp_path / "a.tsv", [f"sentence {i}\tx" for i in range(50)]), CUSTOM, None)


def test_a_snippet_s_sentiment_is_the_sign_of_its_rating(tmp_path):
    file = tmp_path / "snippets.txt"
    rated = {f"sentence {i}": (-1.5, 0.0, 0.25)[i % 3] for i in range(60)}
    file.write_text("".join(f"{i}\t{r}\t{text}\n" for i, (text, r) in enumerate(rated.items(), 1)), encoding="utf-8")
    task = read_task("movie-snippets", file, None, None)
    assert task.set_aside == 20
    for row in task.train + task.dev:
        assert row.label == ("positive" if rated[row.texts[0]] > 0 else "negative")
    file.write_text("1\tgood\tsentence\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"snippets\.txt:1: the mean rating is a number, not 'good'"):
        read_task("movie-snippets", file, None, None)


CELLS = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1))
def test_whatever_is_written_without_tabs_and_line_ends_is_read_again(tmp_path_factory, rows):
    file = one_file(Path(tmp_path_factory.getbasetemp()) / "any.tsv", [f"{text}\t{kind}" for text, kind in rows])
    assert [(row.texts[0], row.label) for row in read_tsv(file, CUSTOM)] == rows


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=60) | st.text(st.sampled_from("text\tkind\nxy \r"), max_size=60).map(str.encode))
def test_no_file_can_raise_anything_but_bad_input(tmp_path_factory, content):
    file = Path(tmp_path_factory.getbasetemp()) / "broken.tsv"
    file.write_bytes(content)
    message = file.name
    try:
        read_task("", file, CUSTOM, None)
    except BadInput as error:
        message = str(error)
    assert file.name in message

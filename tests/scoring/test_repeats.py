"""Rows of several sentences are not joined into one, whatever their columns are called; white space is reported."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import trueprobe
from trueprobe.cli import app, main
from trueprobe.errors import BadInput
from trueprobe.scoring import Columns
from trueprobe.scoring.read import table_of
from trueprobe.scoring.sentences import material

LATE = ["The", "nurse", "was", "unbelievably", "late."]
EARLY = ["A", "bus", "came."]
ONE_ITEM = {"item": ("item",)}


def rows_of(*sentences: tuple[str, int, str, list[str]]) -> pd.DataFrame:
    """Sentences of (subject, item, condition, words), one row per word; the time is of no use to anything."""
    rows = [
        (subject, item, condition, number, word, 300 + 37 * number % 91)
        for subject, item, condition, words in sentences
        for number, word in enumerate(words, 1)
    ]
    return pd.DataFrame(rows, columns=["subject", "item", "condition", "number", "word", "rt"])


TWO = rows_of(("s1", 1, "a", LATE), ("s2", 1, "a", LATE))
LATIN = rows_of(("s1", 1, "a", LATE), ("s2", 1, "b", EARLY), ("s1", 2, "b", EARLY), ("s2", 2, "a", LATE))


def texts(frame: pd.DataFrame, **columns) -> list[str]:
    return [sentence.text for sentence in material(table_of(frame), Columns(**columns)).sentences]


@pytest.mark.parametrize("name", ["position", "number", "word_number", "Word_Order", "token", "code", "index", "zone"])
@pytest.mark.parametrize("first", [0, 1])
def test_two_subjects_under_one_item_are_refused_whatever_the_position_is_called(name, first, monkeypatch):
    frame = TWO.assign(number=TWO["number"] + first - 1).rename(columns={"number": name})
    says = rf"rows 1 and 6: item 1 has {name} {first} twice \(subject s1, s2\).*Columns\(item=\('item', 'subject'\)\)"
    with pytest.raises(BadInput, match=says):
        texts(frame, **ONE_ITEM)
    assert texts(frame, item=("item", "subject")) == [" ".join(LATE)] * 2


@pytest.mark.parametrize(
    "numbers",
    [
        TWO["number"].map("w{}".format),
        TWO["number"].map("{:02}".format),
        TWO["number"].astype(float),
        TWO["number"].astype(str),
        TWO["number"].astype("Int64"),
    ],
    ids=["w1", "01", "1.0", "text", "Int64"],
)
def test_however_the_position_is_written(numbers):
    with pytest.raises(BadInput, match=r"item 1 has number \S+ twice \(subject s1, s2\)"):
        texts(TWO.assign(number=numbers), **ONE_ITEM)


@pytest.mark.parametrize("by", [["number", "subject"], ["subject", "item"], ["item", "subject"]])
def test_in_whatever_order_the_rows_are(by):
    frame = pd.concat([TWO, TWO.assign(item=2)]).sort_values(by, kind="stable")
    with pytest.raises(BadInput, match=r"item 1 has number 1 twice \(subject s1, s2\)"):
        texts(frame, **ONE_ITEM)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (LATIN, r"number 1 twice \(subject s1, s2\)"),
        (LATIN.drop(columns="subject"), r"number 1 twice \(condition a, b\).*\('item', 'condition'\)"),
        (
            rows_of(*((s, 1, c, w) for s in ("s1", "s2") for c, w in (("a", LATE), ("b", EARLY)))),
            r"number 1 twice \(condition a, b\).*\('item', 'subject', 'condition'\)",
        ),
        (TWO.drop(columns=["subject", "condition"]), r"number 1 twice, so .*\(columns: item, number, word, rt\)"),
        (TWO.drop(index=[2, 8]), r"number 1 twice \(subject s1, s2\)"),  # words that were read too fast
        (rows_of(*((s, 1, "a", LATE) for s in (1, 2, 3))), r"number 1 twice \(subject 1, 2\)"),
        (TWO.drop(columns=["number", "rt"]), r"item 1 has the same words twice \(subject s1, s2\)"),
        (
            TWO.drop(columns=["number", "rt"]).sort_index(key=lambda i: i % 5),
            r"the same words twice \(subject s1, s2\)",
        ),
        (
            rows_of(("s", 1, "a", LATE), ("s", 1, "b", [*LATE[:4], "early."])).drop(columns=["number", "rt"]),
            r"the same words twice \(condition a, b\)",
        ),
        (
            TWO.assign(row=range(10)),
            r"number 1 twice \(subject s1, s2\).*if it is one sentence: Columns\(position='row'\)",
        ),
    ],
    ids=["latin", "conditions", "two columns", "no column", "gaps", "three", "words", "paired", "alike", "row index"],
)
def test_several_sentences_show_by_what_repeats(frame, says):
    with pytest.raises(BadInput, match=says):
        texts(frame, **ONE_ITEM)


def test_a_named_position_says_which_columns_tell_sentences_apart():
    for frame, columns in ((TWO.rename(columns={"number": "position"}), {}), (TWO, {"position": "number"})):
        with pytest.raises(BadInput, match=r"item 1 has \w+ 1 twice \(subject s1, s2\).*\('item', 'subject'\)\)$"):
            texts(frame, **columns)
    shuffled = LATIN.sample(frac=1, random_state=1)
    with pytest.raises(BadInput, match=r"item \d has number 1 twice \(subject s\d, s\d\).*\('item', 'subject'\)\)$"):
        texts(shuffled, position="number")


def test_rows_that_are_not_in_the_order_of_a_number_are_refused():
    with pytest.raises(BadInput, match=r"column 'number' numbers the words in another order .*position='number'"):
        texts(TWO[:5].iloc[[2, 0, 1, 4, 3]], **ONE_ITEM)
    with pytest.raises(BadInput, match=r"or with gaps; name it: Columns\(position='number'\)"):
        texts(TWO[:5].drop(index=[2]), **ONE_ITEM)
    assert texts(TWO[:5].iloc[[2, 0, 1, 4, 3]], position="number", **ONE_ITEM) == [" ".join(LATE)]


def test_other_columns_of_a_sentence_number_no_words():
    """Flags, counts, lengths, regions and the numbers of words within regions, in items without a position."""
    sentence = pd.DataFrame(
        {
            "item": 1,
            "word": [*LATE, "No", "no", "no."],
            "critical": [0, 0, 1, 0, 0, 0, 1, 0],
            "fixations": [1, 2, 0, 3, 1, 0, 1, 1],
            "length": [3, 5, 3, 12, 5, 2, 2, 3],
            "area": [1, 1, 2, 2, 2, 3, 3, 3],
            "subject": 7,
            "tags": [["a"]] * 8,
        }
    )
    frame = pd.concat([sentence, sentence.assign(item=2)])
    assert len(texts(frame, **ONE_ITEM)) == 2
    inside = frame.assign(number=[1, 2, 1, 2, 3, 1, 2, 3] * 2)
    assert len(texts(inside, region="area", **ONE_ITEM)) == 2
    with pytest.raises(BadInput, match="if it is one sentence: add a column position"):
        texts(inside, **ONE_ITEM)  # they could be three sentences
    assert len(texts(inside.assign(position=[*range(8)] * 2), **ONE_ITEM)) == 2


def test_a_sentence_has_the_number_that_it_has_alone(opened):
    ask = {"model": opened("gpt2"), "store": ":memory:"}
    alone = trueprobe.score(TWO[:5], columns=Columns(**ONE_ITEM), **ask)["surprisal_bits"]
    both = trueprobe.score(TWO, columns=Columns(item=("item", "subject")), **ask)["surprisal_bits"]
    assert both.tolist() == pytest.approx([*alone, *alone], abs=1e-3)
    with pytest.raises(BadInput, match="several sentences would become one"):
        trueprobe.score(TWO, columns=Columns(**ONE_ITEM), **ask)


# ---------------------------------------------------------------- the command


@pytest.fixture
def command(tmp_path, checkpoint, monkeypatch):
    """command("a.csv", "--item", "item") scores by word."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> None:
        fixed = ["--model", str(checkpoint("gpt2")), "--by", "word", "--out", "out.csv"]
        app(["score", *arguments, *fixed], standalone_mode=False)

    return run


def test_the_command_names_the_options_that_tell_sentences_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TWO.to_csv("a.csv", index=False)
    asked = ["trueprobe", "score", "a.csv", "--item", "item", "--model", "nursery-causal/0", "--out", "out.csv"]
    monkeypatch.setattr("sys.argv", asked)
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2
    says = "a.csv, lines 2 and 7: item 1 has number 1 twice (subject s1, s2), so several sentences would become one; "
    assert says + "name all columns that tell them apart: --item item --item subject" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_the_command_prints_how_many_sentences_there_are(command, capsys):
    TWO.to_csv("a.csv", index=False)
    command("a.csv", "--item", "item", "--item", "subject")
    assert capsys.readouterr().out == "out.csv: 2 sentences, 10 rows\n"


# ---------------------------------------------------------------- white space

SPACED = ["The nurse was late.", "The  nurse was late.", "The nurse\twas late.", "The nurse\u00a0was late.", " So. "]


def test_the_command_reports_white_space_once(command, capsys):
    with open("a.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(SPACED))
    command("a.txt")
    printed = capsys.readouterr()
    assert printed.out == "out.csv: 5 sentences, 17 rows\n"
    assert printed.err.count("white space") == 1
    assert (
        "trueprobe: 3 of 5 sentences have double spaces, tabs, no-break spaces or the like, which count as typed"
        in (printed.err)
    )
    assert (
        "the first is a.txt, line 2: 'The  nurse was late.'; white space around 1 sentence is left out" in printed.err
    )


@pytest.mark.parametrize("name", ["score", "fill", "embed"])
def test_python_warns_of_white_space(name, opened):
    sentences = [text.replace("late.", "___") if name == "fill" else text for text in SPACED[:4]]
    ask = getattr(trueprobe, name)
    with pytest.warns(
        UserWarning, match="3 of 4 sentences have double spaces.*the first is the sentences, row 2"
    ) as got:
        ask(sentences, opened("gpt2"), store=":memory:")
    assert len(got) == 1
    assert got[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(sentences[:1], opened("gpt2"), store=":memory:")


def test_white_space_counts_as_typed_and_around_a_text_not_at_all(opened):
    with pytest.warns(UserWarning, match="white space"):
        table = trueprobe.score(["The nurse.", "The  nurse.", " The nurse. "], opened("gpt2"), store=":memory:")
    one, two, around = (table[table["id"] == i]["logp_nats"].sum() for i in (1, 2, 3))
    assert abs(one - two) > 0.1
    assert around == pytest.approx(one, abs=1e-4)


def test_white_space_in_and_around_words_is_reported():
    frame = pd.DataFrame({"item": 1, "position": [1, 2, 3], "word": ["New  York", " is", "late. "]})
    asked = material(table_of(frame), Columns())
    assert asked.sentences[0].text == "New  York is late."
    assert "1 of 1 sentences have double spaces" in asked.notice
    assert "white space around 2 words is left out" in asked.notice


def test_white_space_beside_a_mark_is_one_space():
    assert material(table_of(["The nurse  |  was late."]), Columns()).notice == ""

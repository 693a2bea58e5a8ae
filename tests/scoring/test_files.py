"""Files in, files out: formats, what is kept, what is refused, what is cached."""

from __future__ import annotations

import csv
import json

import pandas as pd
import pytest

import trueprobe
from trueprobe.cli import app, main
from trueprobe.errors import BadInput
from trueprobe.scoring import Columns, FileScoring, ScoringMethod, score_file
from trueprobe.scoring.read import read

SENTENCES = ["The nurse was late.", "So was the man."]


@pytest.fixture
def scored(tmp_path, checkpoint):
    """scored("a.csv", b"…", by="word") is what the written file holds."""

    def make(name: str, content: bytes | str, by="word", out="out.csv", models=("bert",), columns=None):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        models = [str(checkpoint(model)) for model in models]
        scoring = FileScoring(tmp_path / name, models, tmp_path / out, by, columns=columns or Columns())
        (written,) = score_file(scoring, {"store": tmp_path / "store"})
        return pd.read_parquet(written.path) if out.endswith("parquet") else pd.read_csv(written.path)

    return make


def json_lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FORMATS = {
    "a.txt": "\n".join(SENTENCES) + "\n",
    "windows.txt": "\ufeff" + "\r\n".join(SENTENCES),
    "a.csv": "sentence\n" + "\n".join(f'"{s}"' for s in SENTENCES) + "\n",
    "windows.csv": "\ufeffsentence\r\n" + "\r\n".join(SENTENCES) + "\r\n",
    "a.tsv": "x\tsentence\n" + "\n".join(f"1\t{s}" for s in SENTENCES),
    "semicolons.csv": "x;sentence\n" + "\n".join(f"1;{s}" for s in SENTENCES),
    "one_column.tsv": "sentence\n" + "\n".join(SENTENCES),
    "a.jsonl": json_lines([{"sentence": s} for s in SENTENCES]),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_same_numbers(name, scored, opened):
    expected = trueprobe.score(SENTENCES, opened("bert"), store=":memory:")
    table = scored(name, FORMATS[name])
    assert table["word"].tolist() == expected["word"].tolist()
    assert table["id"].tolist() == expected["id"].tolist() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert table["logp_nats"].tolist() == expected["logp_nats"].tolist()


def test_columns_are_kept_as_they_were_written(scored, tmp_path):
    scored("a.csv", 'id,sentence,code,rating\nA1,"The nurse, late.",007,NA\nA2,So was the man.,010,\n', by="region")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert [first[name] for name in ("id", "sentence", "code", "rating")] == ["A1", "The nurse, late.", "007", "NA"]
    assert [second[name] for name in ("code", "rating")] == ["010", ""]


def test_words_that_look_like_missing_values_are_words(scored):
    table = scored("a.csv", "item,position,word\n1,1,null\n1,2,None\n1,3,1\n", out="out.parquet")
    assert table["word"].tolist() == ["null", "None", "1"]
    assert table["logp_nats"].notna().all()


def test_items_of_parquet_files_are_numbers_to_join_by(scored):
    table = scored("a.csv", "item,position,word,rt\n12,1,The,300.50\n12,2,nurse.,\n", out="out.parquet")
    assert table[["item", "position"]].to_numpy().tolist() == [[12, 1], [12, 2]]
    assert table["rt"].tolist() == ["300.50", ""]


def test_fields_of_json_lines_keep_their_types(scored):
    rows = [{"sentence": s, "n": i, "tags": ["a"], "ok": True} for i, s in enumerate(SENTENCES)] + [{"sentence": "It."}]
    table = scored("a.jsonl", json_lines(rows), by="region", out="out.parquet")
    assert table["n"].tolist()[:2] == [0, 1]
    assert table["tags"].tolist()[:2] == ['["a"]', '["a"]']
    assert table["n"].isna().tolist() == [False, False, True]


def test_models_stand_one_below_the_other(scored):
    table = scored("a.txt", "The nurse was late.", models=("bert", "gpt2"))
    assert table["model"].tolist() == ["bert"] * 4 + ["gpt2"] * 4
    assert table["method"].unique().tolist() == ["pll_within_word_l2r", "left_to_right"]


def test_all_three_tables_are_written_unless_one_is_named(tmp_path, checkpoint):
    (tmp_path / "a.txt").write_text("The nurse | was late.\n")
    files = score_file(
        FileScoring(tmp_path / "a.txt", [str(checkpoint("bert"))], tmp_path / "out.csv"), {"store": ":memory:"}
    )
    assert [file.path.name for file in files] == ["out.tokens.csv", "out.words.csv", "out.regions.csv"]
    assert [file.rows for file in files] == [len(pd.read_csv(file.path)) for file in files]
    assert files[1].rows == 4
    assert files[2].rows == 2


def test_what_cannot_be_scored_is_counted_and_no_row_is_lost(tmp_path, checkpoint):
    lines = ["The nurse was late.", "", "word " * 600, "x" * 10_000_000, "a " * 5_000_000, "The Ж was late."]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    scoring = FileScoring(tmp_path / "a.txt", [str(checkpoint("bert"))], tmp_path / "out.csv", "region")
    (file,) = score_file(scoring, {"store": ":memory:"})
    assert file.why_not == {"too_long": 3, "empty_text": 1, "unknown_piece": 1}
    table = pd.read_csv(file.path)
    assert table["id"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["logp_nats"].notna().tolist() == [True] + [False] * 5


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_line_of_ten_megabytes_is_read(name, tmp_path):
    text = "x" * 10_000_000
    (tmp_path / name).write_text(f"sentence\n{text}\n" if name == "a.csv" else json_lines([{"sentence": text}]))
    assert read(tmp_path / name).frame["sentence"].tolist() == [text]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"sentence\nok\n\xff\xfe\n", "a.csv, line 3: not UTF-8 text"),
        ("a.csv", b"id,sentence\n1,The nurse, late.\n", "a.csv, line 2: 3 cells, the header has 2"),
        ("a.csv", b"id,sentence\n1,a\n\n2,b\n", "a.csv, line 3: an empty line"),
        ("a.csv", b'sentence\n"a\n', "a.csv, line 2: not a table"),
        ("a.csv", b"sentence,sentence\na,b\n", "line 1: two columns are called 'sentence'"),
        ("a.csv", b"id;sentence\n1;a\n2\n", "a.csv, line 3: 1 cell, the header has 2"),
        ("a.csv", b"id,sentence\n7,a\n8,b\n7,c\n", "a.csv, lines 2 and 4: the same id, '7'"),
        ("a.csv", b"", "no rows"),
        ("a.txt", b"", "no rows"),
        ("a.jsonl", b"", "no rows"),
        ("a.jsonl", b'{"sentence": "a"}\n{"sentence"\n', "a.jsonl, line 2: not valid JSON"),
        ("a.jsonl", b'{"sentence": "a"}\n\n{"sentence": "b"}\n', "a.jsonl, line 2: an empty line"),
        ("a.jsonl", b'["a"]\n', "a.jsonl, line 1: a JSON list"),
        ("a.jsonl", b'{"sentence": "a"}\n{"sentence": "a \\ud800 b"}\n', "a.jsonl, line 2: half of a character"),
        ("a.jsonl", b'{"sentence": "a", "tags": ["\\ud800"]}\n', "a.jsonl, line 1: half of a character"),
        (
            "a.csv",
            b"item,position,word\n1,2,b\n2,1,a\n",
            "a.csv, line 2: the sentence begins at position 2, another at 1",
        ),
        ("a.csv", b"item,word\n1,a\n", "--position names it.*--item item --item condition"),
        ("a.csv", b"item,position,word,sentence\n1,1,a,a\n", "rename it; --word-column word reads one row per word"),
        ("a.docx", b"PK", "ends in .csv, .tsv"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused_with_the_line(name, content, message, scored, tmp_path):
    with pytest.raises(BadInput, match=message):
        scored(name, content)
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere\.txt: cannot be read"):
        read(tmp_path / "nowhere.txt")


@pytest.mark.parametrize(("out", "message"), [("out.xlsx", "ends in .csv or .parquet"), ("a.csv", "would replace")])
def test_where_nothing_can_be_written_nothing_is_computed(out, message, scored):
    with pytest.raises(BadInput, match=message):
        scored("a.csv", "sentence\na\n", out=out, models=())


def test_the_command_writes_and_prints_the_files(tmp_path, checkpoint, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("The nurse was late.\n\n")
    asked = [
        "score",
        "a.txt",
        "--model",
        str(checkpoint("bert")),
        "--by",
        "word",
        "--out",
        "out.csv",
        "--pll",
        "original",
    ]
    app(asked, standalone_mode=False)
    assert capsys.readouterr().out == "out.csv: 2 sentences, 5 rows; without a number: empty_text 1\n"
    assert set(pd.read_csv("out.csv")["method"]) == {"pll_original"}
    app([*asked, "--json"], standalone_mode=False)
    (written,) = json.loads(capsys.readouterr().out)
    assert written == {"file": "out.csv", "sentences": 2, "rows": 5, "why_not": {"empty_text": 1}}


def test_one_row_is_a_row(tmp_path, checkpoint, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Late.\n")
    command = ["score", "a.txt", "--model", str(checkpoint("bert")), "--by", "region", "--out", "out.csv"]
    app(command, standalone_mode=False)
    assert capsys.readouterr().out == "out.csv: 1 sentence, 1 row\n"


def test_a_wrong_column_ends_with_exit_code_2(tmp_path, capsys, monkeypatch):
    (tmp_path / "a.csv").write_text("sentence\na\n")
    command = ["trueprobe", "score", str(tmp_path / "a.csv"), "--column", "text", "--model", "m", "--out", "o.csv"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2
    assert (
        "no column 'text' (--column names the column with the sentences); choose from: sentence"
        in capsys.readouterr().err
    )


def test_scores_without_text_hold_none_of_the_words(checkpoint, tmp_path):
    (tmp_path / "a.csv").write_text("id,sentence,kind\n1,The nurse was late.,a\n2,A nurse,b\n", encoding="utf-8")
    how = ScoringMethod(with_text=False)
    scoring = FileScoring(tmp_path / "a.csv", [str(checkpoint("gpt2"))], tmp_path / "out.csv", how=how)
    for file in score_file(scoring, {"store": ":memory:"}):
        written = file.path.read_text(encoding="utf-8")
        assert "nurse" not in written
        assert written.startswith("id,kind,model")

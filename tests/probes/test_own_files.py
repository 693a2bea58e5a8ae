"""A user's own file: what its columns are taken for, and what a wrong one is answered with."""

from __future__ import annotations

import csv
import io
import json

import pytest

from trueprobe import probes
from trueprobe.errors import BadInput

PAIRS = [("A dog barks.", "A dog bark."), ("Dogs bark.", "Dogs barks."), ("I am.", "I is."), ("We are.", "We am.")]


@pytest.fixture
def pairs(tmp_path):
    """pairs(text, name="mine.csv", …settings): the probe of a file with this text."""

    def make(text: str | bytes, name: str = "mine.csv", **settings):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return probes.make("pairs", {"data": str(tmp_path / name), **settings})

    return make


def table(columns: dict[str, list[str]], delimiter: str = ",") -> str:
    """The pairs with these columns beside them."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["better", "worse", *columns])
    writer.writerows([*pair, *(cells[i] for cells in columns.values())] for i, pair in enumerate(PAIRS))
    return out.getvalue()


def conditions(probe) -> list[dict]:
    return [dict(item.conditions) for item in probe.items()]


# ---------------------------------------------------------------- what columns are taken for


def test_columns_whose_values_come_back_are_conditions_and_the_others_are_named(pairs):
    made = pairs(table({"number": ["one", "many"] * 2, "note": list("abcd"), "same": ["x"] * 4, "group": list("aabb")}))
    assert conditions(made) == [{"number": "one"}, {"number": "many"}] * 2
    assert [item.groups for item in made.items()] == [("a",), ("a",), ("b",), ("b",)]
    assert made.facts()["columns_ignored"] == ["note", "same"]
    assert any("note, same" in note for note in made.summary.notes)


def test_conditions_and_group_can_be_chosen(pairs):
    text = table({"number": ["one", "many"] * 2, "note": list("abcd"), "verb": list("aaab")})
    made = pairs(text, conditions="note", group="verb")
    assert conditions(made) == [{"note": note} for note in "abcd"]
    assert [item.groups[0] for item in made.items()] == list("aaab")


def test_items_are_what_is_resampled_where_there_are_no_groups(pairs):
    """As psycholinguists call it; which column it was is printed."""
    cells = {"item": list("aabb"), "number": ["one", "many"] * 2}
    made = pairs(table(cells))
    assert [item.groups for item in made.items()] == [("a",), ("a",), ("b",), ("b",)]
    assert set(made.items()[0].conditions) == {"number"}
    assert "resampled: 2 values of item" in made.summary.notes
    both = pairs(table({**cells, "group": list("abcd")}))
    assert [item.groups for item in both.items()] == [("a",), ("b",), ("c",), ("d",)]
    assert "resampled: 4 rows, each alone" in pairs(table({})).summary.notes


def test_without_conditions_or_groups_the_file_is_the_condition_and_each_row_its_group(pairs):
    for made in (pairs(table({})), pairs(table({"number": ["one", "many"] * 2}), conditions="none")):
        assert conditions(made) == [{"file": "mine"}] * 4
        assert [item.groups for item in made.items()] == [(item.id,) for item in made.items()]
        assert {m.reported["file"] for m in made.measures()} == {"all"}


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_each_separator_and_json_lines_are_one_table(pairs, delimiter):
    number = ["one", "many"] * 2
    rows = [{"better": b, "worse": w, "number": n} for (b, w), n in zip(PAIRS, number, strict=True)]
    lines = "\ufeff" + "\n".join(json.dumps(row) for row in rows)
    read = pairs("\ufeff" + table({"number": number}, delimiter)).items()
    assert read == pairs(lines, "mine.jsonl").items()
    assert [item.text for item in read] == [" / ".join(pair) for pair in PAIRS]


def test_a_design_is_counted_at_every_value_and_every_combination(pairs):
    made = pairs(table({"a": ["x", "y"] * 2, "b": list("ppqq")}))
    cells = {(m.reported["a"], m.reported["b"]) for m in made.measures()}
    marginals = {("all", "all"), ("x", "all"), ("y", "all"), ("all", "p"), ("all", "q")}
    assert cells == marginals | {("x", "p"), ("y", "p"), ("x", "q"), ("y", "q")}


def test_a_condition_within_another_has_no_combinations_of_its_own(pairs):
    made = pairs(table({"a": ["x", "x", "y", "y"], "b": list("ppqq")}))
    assert made.design.cells == ()


def test_values_are_text_and_an_empty_one_is_named(pairs):
    row = {"better": "A b.", "worse": "B a."}
    made = pairs("\n".join(json.dumps({**row, "x": x}) for x in (True, None, 1, True, None, 1)))
    assert [c["x"] for c in conditions(made)] == ["true", "(empty)", "1"] * 2


def test_a_folder_is_all_its_files_and_each_file_is_a_condition(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(table({}).replace("dog", name))
    (tmp_path / "readme.txt").write_text("no table")
    made = probes.make("pairs", {"data": str(tmp_path)})
    assert conditions(made) == [{"file": "one"}] * 4 + [{"file": "two"}] * 4
    assert len({item.id for item in made.items()}) == 8


# ---------------------------------------------------------------- BLiMP


def blimp(uid: str, term: str, count: int = 3) -> str:
    constant = {"field": "morphology", "linguistics_term": term, "UID": uid, "simple_LM_method": True}
    constant |= {"one_prefix_method": True, "two_prefix_method": False, "lexically_identical": False}
    rows = [{"sentence_good": f"Cat {i} sleeps.", "sentence_bad": f"Cat {i} sleep."} for i in range(count)]
    return "".join(json.dumps({**row, **constant, "pair_id": str(i)}) + "\n" for i, row in enumerate(rows))


def test_a_file_of_blimp_is_read_as_it_is(pairs):
    made = pairs(blimp("agreement_1", "agreement"), "agreement_1.jsonl")
    assert [item.id for item in made.items()] == ["agreement_1/0", "agreement_1/1", "agreement_1/2"]
    assert made.items()[0].text == "Cat 0 sleeps. / Cat 0 sleep."
    assert conditions(made) == [{"file": "agreement_1"}] * 3


def test_the_folder_of_blimp_has_its_paradigms_and_terms_as_conditions(tmp_path):
    for i in range(22):  # more than a column may have that is not known
        (tmp_path / f"p{i}.jsonl").write_text(blimp(f"p{i}", "agreement" if i % 2 else "binding"))
    made = probes.make("pairs", {"data": str(tmp_path)})
    assert made.design.conditions == ("linguistics_term", "UID")
    assert len(made.items()) == 66
    assert made.items()[0].conditions == {"linguistics_term": "binding", "UID": "p0"}
    assert made.summary.row_conditions == ("linguistics_term", "UID")


# ---------------------------------------------------------------- what is wrong with a file


HEADER = "better,worse\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.csv, line 1: no rows"),
        (HEADER, "mine.csv, line 1: no rows"),
        ("bettr,worse\na,b\n", "line 1: no column 'better'; did you mean 'bettr'?"),
        (HEADER + "a,b\n,b\n", "line 3: better is empty"),
        (HEADER + "a,b\n\n\na,a\n", "line 5: better and worse are the same sentence"),
        (HEADER + "a, b, and c\n", "line 2: 3 cells, the header has 2; a cell that holds the separator needs quotes"),
        (HEADER + "a\n", "line 2: 1 cells, none of them worse"),
        ("better,worse,worse\n", "line 1: two columns are called 'worse'"),
        ("id,better,worse\n1,a,b\n2,c,d\n1,e,f\n", "line 4: the id '1' is that of"),
        ("better,worse,kind\na,b,all\nc,d,all\ne,f,x\ng,h,x\n", "line 2: kind is 'all', the name of all values"),
        ("better,worse,model\n" + "a,b,x\na,c,y\n" * 2, "a condition cannot be called 'model', tables use that name"),
        ("better,worse,tied\n" + "a,b,x\na,c,y\n" * 2, "a condition cannot be called 'tied'"),
        (HEADER + f'"{"a" * 10_000_000}",b\n', "line 2: better has 10,000,000 characters, the most are 131,072"),
        (json.dumps({"better": "a" * 10_000_000, "worse": "b"}), "line 1: better has 10,000,000 characters"),
        ('{"better": "a", "worse": "b"}\n{"better": "a"\n', "line 2: not valid JSON"),
        ('{"better": "a", "worse": "b"}\n[1]\n', "line 2: a JSON object is needed"),
        ('{"better": "a", "worse": "b"}\n{"better": "a"}\n', "line 2: 1 cells, none of them worse"),
        ('[{"better": "a", "worse": "b"}]', "line 1: a JSON list; write JSON lines"),
        (json.dumps({"better": "a \ud800", "worse": "b"}), "line 1: half of a character"),
        (HEADER.encode() + b"a,caf\xe9\n", "line 2: not UTF-8 text (byte 0xe9)"),
    ],
    ids=range(20),
)
def test_a_wrong_file_is_reported_with_its_line(pairs, text, message):
    with pytest.raises(BadInput) as error:
        pairs(text).items()
    assert message in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"conditions": "numbr"}, "no column 'numbr'; did you mean 'number'?"),
        ({"group": "pair"}, "no column 'pair'"),
        ({"better": "good"}, "no column 'good'"),
        ({"conditions": "better"}, "the column 'better' is read for something else"),
        ({"masking": "all"}, "setting masking"),
    ],
)
def test_a_wrong_setting_is_reported(pairs, settings, message):
    with pytest.raises(BadInput) as error:
        pairs(table({"number": ["one", "many"] * 2}), **settings)
    assert message in str(error.value)


def test_empty_lines_and_repeated_pairs_are_counted(pairs):
    text = table({}) + "\n\n" + ",".join(PAIRS[0]) + "\n"
    facts = pairs(text).facts()
    assert (facts["items"], facts["empty_lines"], facts["pairs_repeated"]) == (5, 2, 1)


def test_a_missing_file_and_an_empty_folder_are_reported(tmp_path):
    with pytest.raises(BadInput, match=r"no data 'exampel'.*did you mean 'example'"):
        probes.make("pairs", {"data": "exampel"})
    with pytest.raises(BadInput, match="no file in it ends in"):
        probes.make("pairs", {"data": str(tmp_path)})


def test_an_edited_file_is_another_material(pairs):
    one, other = (pairs(text).material_id for text in (table({}), table({"x": list("abab")})))
    assert one != other
    assert one == pairs(table({})).material_id

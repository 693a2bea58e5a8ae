"""The tables of a run folder: what is written is what is read, and what is damaged is refused with its name."""

from __future__ import annotations

import dataclasses
import math
import typing
from enum import StrEnum
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_reference import column_reference
from trueprobe.errors import BadInput
from trueprobe.runs.check import stand_in
from trueprobe.runs.records import items_frame, observations_frame
from trueprobe.runs.schema import (
    ITEM_COLUMNS,
    OBSERVATION_COLUMNS,
    TABLES,
    check_items,
    columns_of,
    frame_of,
    hints,
    refuse_other_columns,
    rows_of,
)
from trueprobe.statistics.rows import LATER, Estimate, changed
from trueprobe.types import CONDITION, Item, Observation, Verdict

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.sampled_from(["level", "value", "model", "conditions", "condition_level", "neutral", "a b", "ü", ""]) | TEXT


def values(hint) -> st.SearchStrategy:
    """Anything that a field of this type may hold."""
    if typing.get_origin(hint) is typing.Literal:
        return st.sampled_from(typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    whole = st.integers(-(2**63), 2**63 - 1)
    plain = {str: TEXT, int: whole, float: st.floats()}
    optional = {int | None: st.none() | whole, float | None: st.none() | st.floats(allow_nan=False)}
    return {**plain, **optional}.get(hint, st.dictionaries(NAMES, TEXT, max_size=3))


def rows(table: str) -> st.SearchStrategy:
    row = TABLES[table]
    return st.lists(st.builds(row, **{name: values(hint) for name, hint in hints(row).items()}), max_size=4)


def same(one, other) -> bool:
    def equal(a, b) -> bool:
        return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))

    names = [field.name for field in dataclasses.fields(one)]
    return all(
        equal(getattr(one, name), getattr(other, name)) and type(getattr(one, name)) is type(getattr(other, name))
        for name in names
    )


def an_estimate(**changes) -> Estimate:
    plain = {"probe": "p", "model": "m", "measure": "v", "conditions": {"k": "3"}, "value": 0.5, "low": 0.4}
    plain |= {"high": 0.6, "n_items": 9, "n_unscored": 0, "n_groups": 9, "unit": "share", "neutral": 0.5}
    return Estimate(**{**plain, "method": "", "verdict": Verdict.HOLDS, **changes})


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_written_is_what_is_read(table, data, tmp_path_factory):
    written = data.draw(rows(table))
    path = tmp_path_factory.getbasetemp() / f"{table}.parquet"
    frame_of(written, TABLES[table]).to_parquet(path, index=False)
    read = rows_of(pd.read_parquet(path), TABLES[table], str(path))
    assert len(read) == len(written)
    assert all(map(same, read, written))


def test_a_condition_named_like_a_field_takes_no_fields_place():
    conditions = {"level": "high", "value": "x", "model": "mine", "condition_level": "y", "": "z"}
    frame = frame_of([an_estimate(conditions=conditions)], Estimate)
    assert frame.loc[0, ["level", "value", "model"]].tolist() == ["checkpoint", 0.5, "m"]
    assert {name: frame.loc[0, CONDITION + name] for name in conditions} == conditions
    (row,) = rows_of(frame, Estimate, "x")
    assert row.conditions == conditions


def test_rows_with_other_conditions_have_only_theirs():
    written = [an_estimate(conditions={}), an_estimate(conditions={"k": ""}), an_estimate(conditions={"set": "a"})]
    read = rows_of(frame_of(written, Estimate), Estimate, "x")
    assert [row.conditions for row in read] == [{}, {"k": ""}, {"set": "a"}]


def test_no_rows_have_all_columns():
    frame = frame_of([], Estimate)
    assert [name for name in hints(Estimate) if name != "conditions"] == list(frame.columns)
    assert rows_of(frame, Estimate, "x") == []


def test_columns_have_the_types_of_their_fields_even_where_nothing_is_known():
    frame = frame_of([an_estimate(neutral=None, step=None)], Estimate)
    assert frame[["value", "neutral", "n_items", "step"]].dtypes.astype(str).tolist() == [
        *["float64", "float64", "int64", "Int64"],
    ]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("verdict", "certain", "'certain' is not a valid Verdict"),
        ("verdict", None, "column 'verdict' has no value in row 1"),
        ("reason", "because", "'because' is not a valid Reason"),
        ("level", "planet", "column 'level' has 'planet', not one of checkpoint, family, pair"),
        ("model", None, "column 'model' has no value in row 1"),
        ("model", 7, "7 is no text"),
        ("n_items", None, "column 'n_items' has no value in row 1"),
        ("n_items", 2.5, "2.5 is no integer"),
        ("n_items", "many", "many"),
        ("value", "large", "large"),
    ],
)
def test_a_wrong_value_is_refused_with_the_files_name(column, value, message):
    frame = frame_of([an_estimate()] * 3, Estimate).astype(object)
    frame.loc[1, column] = value
    with pytest.raises(BadInput) as refused:
        rows_of(frame, Estimate, "runs/mine/estimates/p.parquet")
    assert str(refused.value).startswith("runs/mine/estimates/p.parquet is damaged: ")
    assert message in str(refused.value)


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_column_is_named(table):
    frame = frame_of([], TABLES[table])
    later = {field.name for field in dataclasses.fields(TABLES[table]) if field.metadata.get(LATER)}
    for column in frame.columns.difference(later, sort=False):
        with pytest.raises(BadInput, match=f"a.parquet is not a table of this version: it has no column '{column}'"):
            rows_of(frame.drop(columns=column), TABLES[table], "a.parquet")


def test_a_changed_row_is_a_replaced_one():
    row, fields = an_estimate(value=0.25, conditions={"k": "3"}), {"verdict": Verdict.FLIPS, "above": "2"}
    assert changed(row, **fields) == dataclasses.replace(row, **fields) != row
    with pytest.raises(KeyError, match="velue"):
        changed(row, velue=1.0)


def test_some_columns_of_a_table_are_those_of_its_rows():
    rows = [an_estimate(value=0.25, conditions={"k": "3"}), an_estimate(model="other", conditions={})]
    frame = frame_of(rows, Estimate)
    read = columns_of(frame, Estimate, "a.parquet", ("conditions", "model", "signature"))
    assert read == {name: [getattr(row, name) for row in rows] for name in ("conditions", "model", "signature")}
    assert columns_of(frame.drop(columns="signature"), Estimate, "a.parquet", ["signature"]) == {"signature": ["", ""]}
    with pytest.raises(BadInput, match=r"a\.parquet is not a table of this version: it has no column 'model'"):
        columns_of(frame.drop(columns="model"), Estimate, "a.parquet", ["model"])


def test_a_folder_written_before_signatures_has_none():
    frame = frame_of([an_estimate(signature="probe:p")], Estimate)
    (row,) = rows_of(frame.drop(columns="signature"), Estimate, "a.parquet")
    assert row == an_estimate(signature="")


def test_undeclared_columns_are_refused_before_anything_is_written():
    frame = pd.DataFrame({"item": ["a"], "text": ["b"], "condition_level": ["c"], "group_target": ["d"]})
    refuse_other_columns(frame, ITEM_COLUMNS, (), "items")
    with pytest.raises(BadInput, match="items has a column 'level' that is not declared"):
        refuse_other_columns(frame.assign(level=1), ITEM_COLUMNS, (), "items")
    twice = pd.DataFrame([[1, 2]], columns=["item", "item"])
    with pytest.raises(BadInput, match="'item'"):
        refuse_other_columns(twice, ITEM_COLUMNS, (), "items")


# ---------------------------------------------------------------- observations


def probe(*columns: str):
    return SimpleNamespace(name="p", factors=("target",), columns=lambda: dict.fromkeys(columns, "meaning"))


ITEM = Item("i", "A ___.", {"model": "x", "level": 2, "item": "y"}, ("g",))


def test_conditions_of_items_named_like_columns_are_beside_them():
    (row,) = items_frame(probe(), [ITEM]).to_dict("records")
    assert (row["item"], row["condition_item"], row["condition_model"], row["group_target"]) == ("i", "y", "x", "g")
    frame = observations_frame(probe("nats"), {ITEM.id: ITEM}, [Observation("i", {"nats": 0.5})], stand_in("masked"))
    (row,) = frame.to_dict("records")
    assert (row["item"], row["model"], row["condition_model"], row["nats"]) == ("i", "stand-in", "x", 0.5)
    refuse_other_columns(frame, OBSERVATION_COLUMNS, ("nats",), "observations")


@pytest.mark.parametrize("name", ["model", "item", "why_not", "text", "condition_level", "group_target"])
def test_a_value_may_not_take_the_place_of_a_column(name):
    for columns in ((name,), ("nats",)):  # declared or not
        with pytest.raises(BadInput, match=f"observations of p have a value '{name}', which is reserved"):
            observations_frame(probe(*columns), {ITEM.id: ITEM}, [Observation("i", {name: 1.0})], stand_in("masked"))


# ---------------------------------------------------------------- the reference


@pytest.mark.parametrize(
    ("dtype", "damage"),
    [("str", None), ("str", math.nan), ("object", None), ("object", math.nan), ("object", 3), ("object", b"i1")],
)
def test_a_text_that_is_none_is_refused(dtype, damage):
    """Also where the column's type is text, which a missing value does not change."""
    frame = pd.DataFrame({"item": pd.Series(["i0", damage], dtype=dtype), "text": ["a", "b"]})
    with pytest.raises(BadInput, match="column 'item' holds something other than text"):
        check_items(frame, "items.parquet")
    assert len(check_items(frame.assign(item=["i0", "i1"]), "items.parquet")) == 2


def test_the_column_reference_has_every_column_with_its_meaning():
    text = column_reference()
    for table, row in TABLES.items():
        section = text.split(f"### {table}\n")[1].split("###")[0]
        for field in dataclasses.fields(row):
            column = "condition_…" if field.name == "conditions" else field.name
            (line,) = (line for line in section.splitlines() if line.startswith(f"| `{column}` |"))
            assert field.metadata["meaning"] in line
    assert "| `level` | `checkpoint` · `family` · `pair` |" in text
    assert "`holds` · `holds_for_checkpoint`" in text

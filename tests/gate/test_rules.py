"""The rules of a gate: what is written is what is read, and a mistake is reported with its place."""

from __future__ import annotations

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueprobe.errors import BadInput
from trueprobe.gate import Bound, NumberKind, Operator, Rule, RuleFile, Undecided, parse
from trueprobe.probes.files import validated

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
WHERE = st.dictionaries(WORDS, st.lists(WORDS, min_size=1, max_size=3).map(tuple), max_size=3)


@st.composite
def rules(draw):
    model = draw(st.one_of(st.just(""), WORDS))
    step = draw(st.one_of(st.none(), st.integers(0, 10**6))) if model else None
    bound = Bound(draw(NUMBERS), draw(st.booleans()))
    return Rule(draw(WORDS), draw(WORDS), draw(st.sampled_from(Operator)), bound, draw(WHERE), model, step)


@given(rules())
def test_a_rule_is_read_as_it_is_written(rule):
    assert parse(rule.text()) == rule


def test_the_parts_of_a_rule():
    rule = parse(
        ' counteracts : stereotype_margin [ knowledge=base|un, k = "all" ] @nursery[step=2000]<=baseline+0.005 '
    )
    where = {"knowledge": ("base", "un"), "k": ("all",)}
    bound = Bound(0.005, of_baseline=True)
    assert rule == Rule("counteracts", "stereotype_margin", Operator.AT_MOST, bound, where, "nursery", 2000)


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("", 1, "the label of a probe"),
        ("pairs preference < 1", 7, "':'"),
        ("pairs: < 1", 8, "a measure or a claim"),
        ("pairs: preference", 18, "'<=' or '>=' or '<' or '>'"),
        ("pairs: preference = 1", 19, "'<=' or '>=' or '<' or '>'"),
        ("pairs: preference[] < 1", 19, "a condition"),
        ("pairs: preference[category] < 1", 27, "'='"),
        ("pairs: preference[category=] < 1", 28, "a value"),
        ("pairs: preference[a=1 < 1", 23, "',' or ']'"),
        ("pairs: preference[a=1, a=2] < 1", 24, "'a' once"),
        ("pairs: preference@ < 1", 20, "a family or a checkpoint"),
        ("pairs: preference@m[step=last] < 1", 26, "a training step"),
        ("pairs: preference < high", 21, "a number, or 'baseline'"),
        ("pairs: preference < nan", 21, "a number, or 'baseline'"),
        ("pairs: preference < 1e999", 21, "a number, or 'baseline'"),
        ("pairs: preference < 1 2", 21, "a number, or 'baseline'"),
        ('pairs: "\\q" < 1', 8, "in quotation marks"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text, place, expected):
    with pytest.raises(BadInput) as refused:
        parse(text)
    first, line, caret, *_ = str(refused.value).splitlines()
    assert first.startswith(f"rule, character {place}: expected")
    assert expected in first
    assert line == f"  {text}"
    assert caret.index("^") == place + 1


@given(st.text(max_size=40))
def test_any_text_is_a_rule_or_refused(text):
    with suppress(BadInput):
        assert parse(parse(text).text()) == parse(text)


def read(text):
    return validated(tomllib.loads(text), RuleFile, "rules.toml")


ENTRY = '[[rule]]\nprobe = "pairs"\noperator = "<"\n'


def test_a_file_has_the_same_fields():
    file = read(
        'undecided = "pass"\n' + ENTRY + 'measure = "preference"\nvalue = 0.6\nmodel = "toy"\nstep = 3\n'
        'where = {category = ["age", "race"], k = 10}\n' + ENTRY + 'claim = "one"\nvalue = "baseline - 0.1"\n'
    )
    where = {"category": ("age", "race"), "k": ("10",)}
    first = Rule("pairs", "preference", Operator.BELOW, Bound(0.6), where, "toy", 3, NumberKind.MEASURE)
    second = Rule("pairs", "one", Operator.BELOW, Bound(-0.1, of_baseline=True), kind=NumberKind.CLAIM)
    assert [entry.rule() for entry in file.rule] == [first, second]
    assert file.undecided is Undecided.PASS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "rule: is missing"),
        ("rule = []", "at least one [[rule]]"),
        (ENTRY + "value = 1\n", "either a measure or a claim"),
        (ENTRY + 'measure = "a"\nclaim = "b"\nvalue = 1\n', "either a measure or a claim"),
        (ENTRY + 'measure = "a"\nvalue = "low"\n', "value is a number or 'baseline + 0.005'"),
        (ENTRY + 'measure = "a"\nvalue = nan\n', "value is a number or"),
        (ENTRY + 'measure = "a"\nvalue = 1\nstep = 2\n', "a step needs a model"),
        (ENTRY + 'measure = "a"\nvalue = 1\nwhere = {k = []}\n', "at least one value"),
        (ENTRY + 'measure = "a"\nvalue = 1\nwher = {}\n', "rule.0.wher: no such key"),
        ('[[rule]]\nprobe = "p"\nmeasure = "a"\nvalue = 1\noperator = "=="\n', "rule.0.operator: no '=='"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(text, message):
    with pytest.raises(BadInput, match=r"rules\.toml") as refused:
        read(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("wrong", ['measur = "x"\nmeasure = "a"\n', 'measure = "a"\nmodel = 3\n'])
def test_one_mistake_is_one_message(wrong):
    with pytest.raises(BadInput, match=r"rules\.toml: rule\.0\.(measur|model): ") as refused:
        read(ENTRY + "value = 1\n" + wrong)
    assert ";" not in str(refused.value)
    assert "at least" not in str(refused.value)

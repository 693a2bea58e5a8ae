"""Associations as data: what a file may hold, how targets are dealt, and that no frame is a probe's sentence."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import toy_association
from trueprobe.errors import BadInput
from trueprobe.probes import make
from trueprobe.probes.counteracts.material import CounterActsMaterial
from trueprobe.sensitivity import associations, pointing

SHIPPED = ("gender-occupation", "nonsense-groups")


@pytest.mark.parametrize("name", SHIPPED)
def test_assignments_give_half_of_each_class_to_either_group(name):
    association = associations.read(name)
    for number in range(20):
        dealt = association.assignment(number)
        for listed in association.targets.values():
            assert set(Counter(dealt[target] for target in listed).values()) == {len(listed) // 2}
    assert association.assignment(3) == association.assignment(3) != association.assignment(4)


def test_assignments_of_occupations_do_not_depend_on_the_real_stereotype():
    association = associations.read("gender-occupation")
    agree = Counter()
    for number in range(200):
        agree.update(t for t, group in association.assignment(number).items() if t in association.targets[group])
    assert all(60 < agree[target] < 140 for target in association.everyone)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_frame_is_a_sentence_of_a_probe(name):
    assert max(one.shared for one in associations.read(name).overlaps) <= 0.5


@pytest.mark.parametrize(
    ("probe", "sentence"),
    [
        ("cloze", "The late {target} is a {noun}."),
        ("pairs", "The {target} knew the {noun}."),
        ("counteracts", "The {noun} works as {a_target}."),
        ("seat", "Here is the {target}, said the {noun}."),
    ],
)
def test_a_frame_that_is_a_sentence_of_a_probe_is_refused(tmp_path, probe, sentence):
    text = toy_association.TOML.replace("Unbelievably the {target} was a {noun}.", sentence)
    with pytest.raises(BadInput, match=f"{probe}'s sentence"):
        associations.read(str(toy_association.write(tmp_path, text)))


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"nurse", ', "", "7 targets cannot be halved"),
        ('"nurse"', '"driver"', "'driver' stands there twice"),
        ("{subject} was the {target} here.", "{subjct} was the {target} here.", "did you mean 'subject'"),
        ("{subject} was the {target} here.", "{subject} was here.", "a frame holds"),
        ('["female", "male"]', '["female", "female"]', "two different names"),
        ("{subject} was the {target} here.", "{subject} was the {target:>9999999999}.", "may hold its name alone"),
        (
            "This is {a_target}.",
            "This is {target:>9999999999}.",
            r"seat_targets\.0: \{target\} may hold its name alone",
        ),
        ("This is {a_target}.", "This is {target.__class__}.", r"seat_targets\.0: must hold one of \{target\}"),
        ("This is {a_target}.", "This is {.", r"seat_targets\.0: "),
        ("This is the {noun}.", "This is the {nonn}.", r"seat_attributes\.0: must hold one of \{subject\}, \{noun\}"),
    ],
)
def test_mistakes_in_a_file_are_reported_with_their_place(tmp_path, before, after, problem):
    text = toy_association.TOML.replace(before, after, 1)
    with pytest.raises(BadInput, match=problem):
        associations.read(str(toy_association.write(tmp_path, text)))


def test_fill_marks_where_the_word_and_the_target_stand():
    filled = associations.read("gender-occupation").fill("Ask {a_target} what {subject} does.", "ceo", "she")
    assert filled.text == "Ask a ceo what she does."
    assert [filled.text[a:b] for a, b in (*filled.words, *filled.target)] == ["she", "ceo"]


def test_probes_read_the_files_that_are_made_of_an_association(tmp_path):
    association = associations.read("gender-occupation")
    dealt = association.assignment(0)
    items = {
        name: make(name, pointing.settings(name, association, dealt, tmp_path)).items()
        for name in pointing.pointed(association)
    }
    assert set(items) == {"cloze", "pairs", "seat", "counteracts"}
    for item in items["cloze"]:
        target = item.groups[0]
        assert target in item.text
        right = {word for pairs in association.slots.values() for pair in pairs[:1] for word in pair}
        assert set(item.fields["right"]) <= right
    dominated = {item.groups[0]: item.conditions["dominated"] for item in items["counteracts"]}
    assert dominated == dealt


def test_targets_and_words_may_have_any_letters(tmp_path):
    text = toy_association.TOML.replace('"nurse"', r'"caf\u00e9 \"\\1\""').replace(
        '["woman", "man"]', r'["\\g<0>", "b\\1"]'
    )
    association = associations.read(str(toy_association.write(tmp_path, text)))
    dealt = association.assignment(0)
    for name in pointing.pointed(association):
        items = make(name, pointing.settings(name, association, dealt, tmp_path)).items()
        assert any('café "\\1"' in str(item) or 'café "\\\\1"' in str(item) for item in items)


def test_a_material_whose_backgrounds_cannot_be_replaced_is_refused(tmp_path):
    shipped = (CounterActsMaterial.folder / "gender.toml").read_text(encoding="utf-8")
    listed = re.search(r"^backgrounds = \[.*?^\]", shipped, re.MULTILINE | re.DOTALL)
    rows = [
        f"[[backgrounds]]\nname = {name}\ndominant = {group}"
        for name, group in (('"cook"', '"male"'), ('"nurse"', '"female"'))
    ]
    tables = shipped.replace(listed[0], "") + "\n" + "\n".join(rows) + "\n"
    (tmp_path / "mine.toml").write_text(tables, encoding="utf-8")
    text = toy_association.TOML.replace('counteracts = "gender"', f'counteracts = "{tmp_path}/mine.toml"')
    association = associations.read(str(toy_association.write(tmp_path, text)))
    with pytest.raises(BadInput, match="must list its backgrounds once"):
        pointing.settings("counteracts", association, association.assignment(0), tmp_path)


def test_a_probe_without_sentences_cannot_be_pointed_at_an_association():
    with pytest.raises(BadInput, match="'counteracts' cannot measure this association"):
        pointing.chosen(associations.read("nonsense-groups"), ["counteracts"])

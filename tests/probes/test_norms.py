"""Norms: each format as it is published, what is wrong told with its line, and the authored starter set."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zoo
from trueprobe.errors import BadInput
from trueprobe.probes.tacit import material as tacit
from trueprobe.probes.tacit import norms, phrases

CSLB = """\
concept\tfeature\tfeature type\tpf\tfeature alternatives
bear\thas fur_hair\tvisual perceptual\t22\thas fur; has hair
bear\tis found in forests_woods\tencyclopaedic\t9\tdoes live in woods; is found in forests
bear\tis big_large\tvisual perceptual\t20\t
bear\tis a mammal\ttaxonomic\t9\tis a mammal
bear\tdoes growl\tother perceptual\t9\tdoes growl
owl\tdoes fly\tfunctional\t12\tdoes fly
bat_(animal)\tdoes fly\tfunctional\t12\tdoes fly
dog\thas fur_hair\tvisual perceptual\t18\thas fur
accordion\tis an instrument\ttaxonomic\t18\tis an instrument
hairdresser\tis a person\ttaxonomic\t18\tis a person
"""
MCRAE = """\
Concept\tFeature\tBR_Label\tProd_Freq
owl\ta_bird\ttaxonomic\t20
owl\tbeh_-_flies\tvisual-motion\t12
owl\thas_wings\tvisual-form_and_surface\t14
owl\teg_-_snowy_owl\tencyclopaedic\t3
axe\tused_for_cutting\tfunction\t19
axe\tmade_of_metal\tvisual-form_and_surface\t17
axe\tinbeh_-_chops_wood\tfunction\t5
"""
PLAIN = "concept,property,frequency,category\nbear,has fur,20,visual\nbear,does eat fish,5,functional\n"


@pytest.fixture
def file(tmp_path):
    def write(content, name="norms.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def said(found, concept: str) -> list[str]:
    return [p.phrase for p in found.by_name[concept].properties]


# ---------------------------------------------------------------- phrases


@pytest.mark.parametrize(
    ("label", "phrase"),
    [
        ("does eat", "eats"),
        ("does live in woods", "lives in woods"),
        ("does fly", "flies"),
        ("does catch mice", "catches mice"),
        ("does play", "plays"),
        ("does go fast", "goes fast"),
        ("does have legs", "has legs"),
        ("does not fly", "does not fly"),
        ("has fur", "has fur"),
        ("made of metal", "is made of metal"),
        ("used for cutting", "is used for cutting"),
        ("a bird", "is a bird"),
        ("an animal", "is an animal"),
        ("eats meat", "eats meat"),
        ("grass", None),
        ("used", None),
        ("big teeth", None),
    ],
)
def test_a_property_is_said_as_a_verb_phrase(label, phrase):
    assert phrases.verb_phrase(label) == phrase


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("its big", "is big"),
        ("it is fast", "is fast"),
        ("they have wings", "has wings"),
        ("it flies at night", "flies at night"),
        ("can be dangerous", "can be dangerous"),
        ("used for travel", "is used for travel"),
        ("wing", "has wings"),
        ("wings feathers", None),
        ("you fly in it", None),
        ("unheard-of", None),
        ("is a thing that goes on and on", None),
        ("has 8 limbs", None),
    ],
)
def test_a_free_answer_is_said_or_left_out(answer, phrase):
    assert phrases.free_phrase(answer, {"wing": "has wings"}) == phrase


def test_bare_words_are_said_as_most_things_have_them():
    listed = ["has wings", "has wings", "has a wing", "is big", "flies", "flies", "is made of wood", "is made of wood"]
    known = phrases.bare_words([*listed, "has a bell", "has a bell"], ["bell"])
    assert known == {"wing": "has wings", "wings": "has wings", "flies": "flies", "fly": "flies"}


def test_properties_are_joined_as_in_the_paper():
    clues = ["has fur", "is big", "has claws", "has teeth"]
    assert phrases.joined(clues[:1]) == "has fur"
    assert phrases.joined(clues[:2]) == "has fur and is big"
    assert phrases.joined(clues[:3]) == "has fur, is big, and has claws"
    assert phrases.joined(clues) == "has fur, is big, has claws, and has teeth"


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("is big", ("is", "big")),
        ("is a mammal", ("is a", "mammal")),
        ("is an animal", None),
        ("has fur", ("has", "fur")),
        ("has a tail", ("has a", "tail")),
        ("is made of wood", ("is made of", "wood")),
        ("has four legs", None),
        ("lives in woods", None),
        ("is a", None),
    ],
)
def test_single_words_complete_a_relation(phrase, found):
    assert phrases.completion(phrase) == found


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize(
    "alternatives",
    [
        "is loud (16); does make noise (1); is noisy (1)",
        "is loud [16]; does make noise [1]; is noisy [1]",
        "is loud: 16; does make noise: 1; is noisy: 1",
        "; ".join(["is loud"] * 16 + ["does make noise", "is noisy"]),  # an entry for each person
    ],
)
def test_cslb_counts_the_people_who_gave_each_alternative(file, alternatives):
    head = "concept\tfeature\tfeature type\tpf\tfeature alternatives"
    read = norms.read(file(f"{head}\ndrum\tis loud\tother perceptual\t17\t{alternatives}\n"))
    (listed,) = read.by_name["drum"].properties
    assert dict(listed.by_form) == {"is loud": 16, "makes noise": 1, "is noisy": 1}
    assert (listed.frequency, read.counts["forms_not_counted"]) == (17, 0)  # people may give two of them


def test_alternatives_that_no_one_counted_have_the_labels_number_and_are_counted(file):
    read = norms.read(file(CSLB))
    fur = next(p for p in read.by_name["bear"].properties if p.label == "has fur_hair")
    assert dict(fur.by_form) == {"has fur": 22, "has hair": 22}
    assert read.counts["forms_not_counted"] == 2  # the bear's fur and woods
    (dogs,) = read.by_name["dog"].properties  # one alternative is the label's
    assert dict(dogs.by_form) == {"has fur": 18}


LISTED_HEAD = "domain\tfeature type\tconcept\tfeature\tpf\tfeature alternatives\tparticipant list"


def listed_row(alternatives, participants, label="is loud_noisy", pf=9, concept="gong"):
    return f"nonliving\tother perceptual\t{concept}\t{label}\t{pf}\t{alternatives}\t{participants}"


def listed_rows(*rows):
    """As norms.dat is: tabs, and Windows line ends."""
    return "\r\n".join([LISTED_HEAD, *rows, ""])


def test_cslb_counts_the_participants_of_each_alternative(file):
    """Person 4 gave two alternatives; "does have volume" and "has volume" are one form, of people 2, 5 and 7."""
    alternatives = "is loud; does boom; is noisy; does have volume; sonorous; has volume"
    read = norms.read(file(listed_rows(listed_row(alternatives, "p 1 3 4 8 / 11 / 4 / 2 5 / 9 / 5 7"))))
    (listed,) = read.by_name["gong"].properties
    assert dict(listed.by_form) == {"is loud": 4, "booms": 1, "is noisy": 1, "has volume": 3}
    assert listed.participants == ({1, 3, 4, 8}, {11}, {4}, {2, 5, 7})
    assert (listed.frequency, listed.phrase, read.counts["forms_not_counted"]) == (9, "is loud", 0)


def test_a_single_alternative_or_none_has_its_group(file):
    rows = listed_row("is round", "p 3 1 2 3"), listed_row("", "p 4 6", label="is big_large", pf=3)
    read = norms.read(file(listed_rows(*rows)))
    by_label = {p.label: dict(p.by_form) for p in read.by_name["gong"].properties}
    assert by_label == {"is loud_noisy": {"is round": 3}, "is big_large": {"is big": 2}}  # a person counts once
    assert read.counts["forms_not_counted"] == 0


@pytest.mark.parametrize(
    "participants",
    [
        "p 1 2 3",  # a group too few
        "p 1 2 / 3 / 4",  # and too many
        "p 1 2 /",
        "/ 1",
        "/",
        "",
        "p",
        "p 1 x / 2",
        "p 1 -2 / 3",
        "p 1.5 / 2",
        "p 1 / ²",
        "p 1 / " + "9" * 5000,  # more digits than Python reads as a number
        "p " + "1 " * 60_000,
    ],
)
def test_a_participant_list_that_does_not_match_gives_the_labels_number_and_is_counted(file, participants):
    right = listed_row("is big; is huge", "p 1 2 / 3", label="is big_huge", pf=3)
    read = norms.read(file(listed_rows(listed_row("is loud; is noisy", participants), right)))
    loud, big = read.by_name["gong"].properties
    assert dict(loud.by_form) == {"is loud": 9, "is noisy": 9}
    assert dict(big.by_form) == {"is big": 2, "is huge": 1}
    assert (loud.participants, read.counts["forms_not_counted"]) == ((), 1)


def test_alternatives_as_many_as_people_are_not_taken_for_one_each(file):
    """Without participant lists they would be: there the entries may be the people."""
    read = norms.read(file(listed_rows(listed_row("is loud; is noisy; does boom", "p 1 / 2", pf=2))))
    (listed,) = read.by_name["gong"].properties
    assert dict(listed.by_form) == {"is loud": 2, "is noisy": 2, "booms": 2}
    assert read.counts["forms_not_counted"] == 1


def test_a_participant_list_too_long_for_a_cell_is_told_with_its_line(file):
    with pytest.raises(BadInput, match=r"line 2: .* has 140,0.. characters, the most are 131,072"):
        norms.read(file(listed_rows(listed_row("is loud; is noisy", "p " + "1 " * 70_000 + "/ 2"))))


def test_a_stated_number_of_too_many_digits_is_part_of_the_text(file):
    head = "concept\tfeature\tfeature type\tpf\tfeature alternatives"
    read = norms.read(file(f"{head}\ngong\tis loud\tother perceptual\t17\tis loud ({'9' * 5000}); is noisy\n"))
    assert read.counts["forms_not_counted"] == 1


def test_an_alternative_of_several_labels_has_distinct_people(file):
    rows = (
        listed_row("is loud; is noisy", "p 1 2 3 / 4", label="is loud_noisy", pf=4),
        listed_row("does boom; is noisy; is deep", "p 7 / 4 5 6 / 8", label="does boom", pf=5),
        listed_row("is deep; is low", "p 1 2", label="is low", pf=2),  # its people are not known by alternative
        listed_row("is noisy", "p 9", label="is noisy", pf=1, concept="drum"),
    )
    gong = norms.read(file(listed_rows(*rows))).by_name["gong"]
    # noisy: {4} and {4, 5, 6}; deep: one person, or the two of the label that names nobody
    assert gong.people_by_form() == {"booms": 1, "is noisy": 3, "is deep": 2, "is loud": 3, "is low": 2}
    assert gong.totals_by_form() == {"booms": 5, "is noisy": 5, "is deep": 5, "is loud": 4, "is low": 2}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text("p 0123456789/;,x-\x00\u00b2", max_size=40), st.text("is;,| ()2loud", max_size=30))
def test_participant_lists_are_read_or_fall_back(file, participants, alternatives):
    """The file's forms, order and frequencies do not depend on them."""
    row = listed_row(alternatives, participants)
    read = norms.read(file(listed_rows(row, listed_row("is big", "p 1"))))
    without = "\r\n".join(line.rpartition("\t")[0] for line in (LISTED_HEAD, row, listed_row("is big", "p 1")))
    plain = norms.read(file(without))
    assert [(p.label, p.forms, p.frequency) for c in read.concepts for p in c.properties] == [
        (p.label, p.forms, p.frequency) for c in plain.concepts for p in c.properties
    ]
    for listed in (p for c in read.concepts for p in c.properties):
        assert all(number >= 1 for _, number in listed.by_form)


def test_cslb_is_said_by_its_first_alternative(file):
    found = norms.read(file(CSLB, "norms.dat"))
    assert found.format == "cslb"
    # 20 before 9; equally frequent ones as they stand in the file
    assert said(found, "bear") == ["has fur", "is big", "lives in woods", "is a mammal", "growls"]
    fur, big, woods, _, growls = found.by_name["bear"].properties
    assert fur.forms == ("has fur", "has hair")
    assert [p.category for p in (big, woods, growls)] == ["visual", "encyclopaedic", "other"]
    assert found.having["has fur_hair"] == {"bear", "dog"}
    assert found.fitting(["has fur_hair", "is big_large"]) == {"bear"}


def test_mcrae_behaves_and_is_used(file):
    found = norms.read(file(MCRAE, "CONCS_FEATS.txt"))
    assert found.format == "mcrae"
    assert said(found, "owl") == ["is a bird", "has wings", "flies"]
    assert said(found, "axe") == ["is used for cutting", "is made of metal", "chops wood"]
    assert found.counts["not_phrased"] == 1  # an example is no property


def test_free_answers_add_up_and_must_be_given_twice(file):
    rows = "cue,feature\nfox,it has a tail\nfox,has a tail\nfox,is red\nfox,it is a fox\nfox,you hunt it\n"
    found = norms.read(file(rows))
    assert found.format == "flt_features"
    assert [(p.phrase, p.frequency) for p in found.by_name["fox"].properties] == [("has a tail", 2)]
    assert (found.counts["not_phrased"], found.counts["given_once"]) == (2, 1)  # one names the fox itself


def test_lemmas_are_said_as_the_starter_set_says_them(file):
    found = norms.read(file('"cue","combined.lemmas","n"\n"fox","red",9\n"fox","wing",3\n"fox","zzz",30\n'))
    assert found.format == "flt_lemmas"
    assert said(found, "fox") == ["is red", "has wings"]


def test_whole_answers_are_refused_with_what_would_do(file):
    with pytest.raises(BadInput, match=r"whole answers.*spellchecked\.features\.csv"):
        norms.read(file("cue,feature_response\nfox,red tail\n"))


def test_norms_without_frequencies_keep_the_files_order(file, tmp_path):
    (tmp_path / "feature_lexicon.csv").write_text("feature,feature_type\nis red,visual perceptual\n")
    found = norms.read(
        file("concept,feature,label,category\nfox,is sly,1,animal\nfox,is red,1,animal\nfox,is wet,0,x\n")
    )
    assert found.format == "xcslb"
    assert not found.has_frequencies
    assert said(found, "fox") == ["is sly", "is red"]
    assert found.by_name["fox"].properties[1].category == "visual"


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_separators_make_no_difference(file, separator):
    text = "concept,property,frequency\nfox,is red,3\nhen,does lay eggs,2\n"
    by_commas, other = norms.read(file(text)), norms.read(file(text.replace(",", separator)))
    assert other.concepts == by_commas.concepts


def test_a_plain_table_may_have_neither_frequency_nor_category(file):
    found = norms.read(file("concept,property\nfox,is red\nfox,is red\n"))
    assert not found.has_frequencies
    assert found.counts["listed_again"] == 1


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("concept,colour\na,b\n", "line 1: no format of norms has the columns concept, colour; supported are cslb"),
        (b"concept,property\nfox,caf\xe9\n", r"line 2: not UTF-8 text \(byte 0xe9\)"),
        ("concept,property,frequency\nfox,is red,3\nfox,,2\n", "line 3: the cell 'property' is empty"),
        ("concept,property,frequency\nfox,is red,many\n", "line 2: frequency must be a number, 0 or more, not 'many'"),
        ("concept,property,frequency\nfox,is red,-1\n", "line 2: frequency must be a number"),
        ("concept,property,frequency\nfox,is red,nan\n", "line 2: frequency must be a number"),
        ("concept,property,frequency\nfox,is red,\n", "line 2: the cell 'frequency' is empty"),
        (
            "concept,property\nfox,is red,5\n",
            "line 2: 3 cells, the header has 2; a cell that holds the separator needs quotes",
        ),
        ("concept,property,category\nfox,is red,visul\n", "line 2: no category 'visul'; did you mean 'visual'"),
        ("concept,concept,property\n", "line 1: two columns are called 'concept'"),
        ('concept,property\n"fox,is red\n', "line 2: not a table"),
        ("concept,property\n", "no properties"),
        ("", r"line 1: no format of norms has the columns \(none\)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(file, content, message):
    with pytest.raises(BadInput, match=message):
        norms.read(file(content))


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(BadInput, match="no norms 'nowhere"):
        norms.read("nowhere.csv")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(max_size=60), st.sampled_from([PLAIN, CSLB, MCRAE, "cue,feature\n", ""]))
def test_no_file_breaks_the_loader(file, tail, head):
    """Whatever stands in a file: norms, or an error that names it."""
    path = file(head.encode() + tail)
    try:
        found = norms.read(path)
    except BadInput as error:
        assert path in str(error)  # noqa: PT017
    else:
        assert found.counts["rows"] >= 1


# ---------------------------------------------------------------- the starter set


def test_the_starter_set_is_large_enough_and_says_that_it_is_authored():
    found = norms.read()
    assert len(found.concepts) >= 120
    for concept in found.concepts:
        assert len(concept.properties) >= 20, concept.name
        by = Counter(p.category for p in concept.properties)
        assert all(by[category] >= 5 for category in norms.CATEGORIES), (concept.name, by)
        assert re.fullmatch("[a-z]+", concept.name)
        assert all(1 <= p.frequency <= 30 for p in concept.properties)
    assert found.has_frequencies
    assert found.counts["not_phrased"] == found.counts["listed_again"] == 0
    assert "not elicited from people" in found.card.notes


def test_the_starter_set_completes_all_five_relations():
    completed = Counter()
    for concept in norms.read().concepts:
        completed.update({c[0] for p in concept.properties if (c := phrases.completion(p.phrase))})
    assert set(completed) == set(phrases.RELATIONS)
    assert min(completed.values()) >= 90  # of 137 concepts


def test_a_property_has_one_category_whatever_the_concept():
    of = {}
    for concept in norms.read().concepts:
        for listed in concept.properties:
            assert of.setdefault(listed.label, listed.category) == listed.category


# ---------------------------------------------------------------- the paper's concepts


def test_the_papers_rule_needs_the_two_tokenizers(file):
    with pytest.raises(BadInput, match=r"one piece in bert-base-cased and in RoBERTa.*needs those two tokenizers"):
        tacit.papers_concepts(norms.read(file(CSLB)), {})


def test_the_papers_rule_by_hand(file, tmp_path):
    found = norms.read(file(CSLB))
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "vocab.txt").write_text("[UNK]\nbear\ndog\nowl\n", encoding="utf-8")
    (tmp_path / "roberta").mkdir()
    (tmp_path / "roberta" / "vocab.json").write_text('{"Ġbear": 0, "dog": 1, "Ġowl": 2}', encoding="utf-8")
    folders = {"bert_cased": str(tmp_path / "bert"), "roberta": str(tmp_path / "roberta")}
    assert [c.name for c in tacit.papers_concepts(found, folders)] == ["bear"]  # dog: not after a space; owl: a vowel
    assert tacit.papers_words(folders).words == ("bear", "owl")


def test_the_papers_rule_with_the_real_tokenizers(file):
    folders = {"bert_cased": "bert-base-cased", "roberta": "roberta-base"}
    for name in folders.values():
        zoo.real_tokenizer(name)
    paths = {key: str(zoo.SHARED / "tokenizers" / name) for key, name in folders.items()}
    assert [c.name for c in tacit.papers_concepts(norms.read(file(CSLB)), paths)] == ["bear", "dog"]
    assert len(tacit.papers_words(paths).words) == 18_508


def test_concepts_share_perceptual_properties_and_others_by_hand(file):
    # has fur_hair 2, is found in forests_woods 1, is big_large 1, is a mammal 1, does growl 1, does fly 2, and two of 1
    shared = norms.read(file(CSLB)).concepts_per_property()
    assert shared["perceptual"] == pytest.approx((2 + 1 + 1) / 3)  # fur, big; growl is another sense's
    assert shared["not perceptual"] == pytest.approx((1 + 1 + 2 + 1 + 1) / 5)
    assert shared["visual"] == pytest.approx((2 + 1) / 2)


def test_a_folder_without_a_vocabulary_is_told(file, tmp_path):
    with pytest.raises(BadInput, match=r"bert_cased: .* holds neither tokenizer\.json"):
        tacit.papers_concepts(norms.read(file(CSLB)), {"bert_cased": str(tmp_path), "roberta": str(tmp_path)})


# ---------------------------------------------------------------- vocabularies and real files


def test_a_users_vocabulary_has_one_word_per_line(file):
    assert tacit.word_list(file("bear\n\nowl \nbear\n")).words == ("bear", "owl")
    with pytest.raises(BadInput, match="line 2: 'two words' is more than one word"):
        tacit.word_list(file("bear\ntwo words\n"))
    with pytest.raises(BadInput, match="holds no words"):
        tacit.word_list(file("\n"))


@pytest.mark.parametrize(
    ("path", "format", "concepts", "properties"),
    [
        ("flt_primer/multi.nostop.lemmas.csv", "flt_lemmas", 226, 1000),
        ("flt_primer/spellchecked.features.csv", "flt_features", 226, 700),
        ("xcslb/xcslb_compressed.csv", "xcslb", 521, 30_062),
    ],
)
def test_published_norms_are_read(path, format, concepts, properties):
    if not (zoo.SHARED / "norms" / path).is_file():
        pytest.skip("no norms beside the checkout (../shared/data/norms)")
    found = norms.read(str(zoo.SHARED / "norms" / path))
    assert (found.format, len(found.concepts)) == (format, concepts)
    assert found.counts["properties"] >= properties
    for concept in found.concepts:
        for listed in concept.properties:
            assert re.match(r"(is|has|can|was|cannot|may|must|will|would|does|[a-z]+s)\b", listed.phrase), listed
            assert math.isnan(listed.frequency) or listed.frequency >= 2

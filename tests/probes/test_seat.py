"""The seat probe: what is asked of which model, what an item shows, and what settings change."""

from __future__ import annotations

import json

import numpy as np
import pytest

import trueprobe
from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.runs import check as contracts
from trueprobe.statistics.estimates import CheckpointData, estimate
from trueprobe.statistics.resampling import Resampling
from trueprobe.types import EmbedText, Vector, WhyNot

SMALL = {"tests": "weat9,angry_black_woman_stereotype_b"}


def made(**settings):
    return probes.make("seat", settings)


def ask(probe, item_id, kind="masked"):
    item = next(item for item in probe.items() if item.id == item_id)
    return probe.ask(item, contracts.stand_in(kind))


# ---------------------------------------------------------------- items


def test_items_are_tests_by_representation_and_layer():
    assert len(made().items()) == 44 * 4
    probe = made(representation="cls,mean", layers="0,-1", tests="weat6")
    assert [item.id for item in probe.items()] == ["weat6/cls/0", "weat6/cls/-1", "weat6/mean/0", "weat6/mean/-1"]
    assert probe.items()[0].conditions == {"test": "weat6", "representation": "cls", "layer": 0}


def test_an_item_s_text_says_what_is_compared():
    (item,) = made(representation="cls", tests="sent-weat6").items()
    assert item.text == (
        "men's names (This is John. …) and women's names (This is Amy. …): nearer to career (This is an executive. …) "
        "or to family (This is a home. …)?"
    )


def test_tests_are_chosen_by_name_and_pattern():
    assert list(made(tests="sent-weat1*").tests) == ["sent-weat1", "sent-weat10"]
    assert len(made(tests=["weat?", "weat10"]).tests) == 10


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tests": "weat11"}, "seat, setting tests: no test 'weat11'; did you mean 'weat1"),
        ({"representation": "cl"}, "representation: no representation 'cl'; did you mean 'cls'?"),
        ({"representation": "all,cls"}, "'all' stands alone"),
        ({"layers": "last"}, "layers"),
        ({"wording": "al"}, "seat, setting wording: no 'al'; did you mean 'all'?"),
        ({"ddof": 2}, "ddof"),
        ({"material": "wheat"}, "no material 'wheat': neither a file nor shipped; did you mean 'weat'?"),
        ({"data": "no-such-file.json"}, "no file or folder 'no-such-file.json'"),
        ({"vignette": True}, "seat has no setting 'vignette'; did you mean 'vignettes'?"),
    ],
)
def test_a_wrong_setting_is_told(settings, told):
    with pytest.raises(BadInput) as error:
        made(**settings)
    assert told in str(error.value)


# ---------------------------------------------------------------- asking


@pytest.mark.parametrize(
    ("kind", "asked"), [("masked", ["cls", "word"]), ("causal", ["word", "last"]), ("encoder", ["own"])]
)
def test_each_kind_is_asked_its_own_by_default(kind, asked):
    probe = made(tests="weat9")
    assert [i.conditions["representation"] for i in probe.items() if probe.ask(i, contracts.stand_in(kind))] == asked
    assert {m.conditions["representation"] for m in probe.measures() if kind in m.kinds} == set(asked)


def test_how_each_representation_is_asked():
    probe = made(representation="all", tests="sent-weat6", layers=3)

    def first(name, kind="masked"):
        return ask(probe, f"sent-weat6/{name}/3", kind)[0]

    assert first("cls") == EmbedText("This is John.", "cls", 3)
    assert first("mean") == EmbedText("This is John.", "mean", 3)
    assert first("first_piece") == EmbedText("This is John.", "first", 3, specials=False)
    assert first("word") == EmbedText("This is John.", "word", 3, (8, 12))
    assert first("own", "encoder") == EmbedText("This is John.", "own", 3)
    assert first("last", "causal") == EmbedText("This is John.", "last", 3)
    assert isinstance(ask(probe, "sent-weat6/last/3"), WhyNot)


def test_the_whole_test_is_asked_in_the_order_of_its_sides():
    requests = ask(made(tests="weat9"), "weat9/cls/-1")
    assert len(requests) == 6 + 6 + 7 + 7
    assert [r.text for r in requests[:2]] == ["sad", "hopeless"]


def write_test(folder, **changes):
    part = {"category": "c", "examples": ["Tea is here.", "Milk is here."]}
    data = {key: {**part, **changes} for key in ("targ1", "targ2", "attr1", "attr2")}
    (folder / "mine.jsonl").write_text(json.dumps(data))
    return str(folder / "mine.jsonl")


def test_a_sentence_without_a_marked_word_has_no_word_vector(tmp_path):
    probe = made(data=write_test(tmp_path))
    assert list(probe.tests) == ["mine"]
    assert ask(probe, "mine/word/-1").code == "no_span"
    assert ask(probe, "mine/cls/-1")


def test_a_marked_one_has(tmp_path):
    probe = made(data=write_test(tmp_path, words=["tea", "milk"]))
    assert ask(probe, "mine/word/-1")[1] == EmbedText("Milk is here.", "word", -1, (0, 4))


def test_the_vignettes_come_besides_the_built_tests(tmp_path, monkeypatch):
    write_test(tmp_path)
    monkeypatch.setattr("trueprobe.assets.path_of", {"seat-vignettes": tmp_path}.__getitem__)
    assert len(made(vignettes=True).tests) == 45
    assert list(made(data="seat-vignettes").tests) == ["mine"]


def test_without_the_asset_the_command_to_fetch_it_is_told():
    with pytest.raises(BadInput, match="trueprobe fetch seat-vignettes"):
        made(vignettes=True)


def test_an_edited_file_is_another_run(tmp_path):
    before = made(data=write_test(tmp_path)).material_id
    assert made(data=write_test(tmp_path)).material_id == before
    assert made(data=write_test(tmp_path, examples=["Tea is there.", "Milk is here."])).material_id != before


# ---------------------------------------------------------------- observing


def seen(vectors, **settings):
    """Of a test with two sentences a side, whose vectors are given in order."""
    settings.setdefault("representation", "cls")
    probe = made(**settings)
    (item,) = probe.items()
    answers = [Vector(np.array(v, np.float32), (0,)) for v in vectors]
    return probe.observe(item, contracts.stand_in("masked"), answers)


PLAIN = [[1, 0], [2, 0], [0, 1], [0, 2], [3, 0], [5, 0], [0, 1], [0, 1]]  # X along A, Y along B


def test_what_an_item_shows_by_hand(tmp_path):
    rows = seen(PLAIN, data=write_test(tmp_path), clusters=True)
    assert [row.part for row in rows[:2]] == ["X/Tea is here.", "X/Milk is here."]
    assert [row.values["side"] for row in rows] == list("XXYYAABB")
    assert [row.values.get("association") for row in rows] == [1.0, 1.0, -1.0, -1.0, None, None, None, None]
    assert [row.values["in_first"] for row in rows] == [1, 1, 0, 0, 1, 1, 0, 0]
    assert all(row.groups == (row.values["word"],) for row in rows)


def test_without_clusters_only_targets_are_rows(tmp_path):
    rows = seen(PLAIN, data=write_test(tmp_path), clusters=False)
    assert len(rows) == 4
    assert all(np.isnan(row.values["cluster_right"]) for row in rows)


def test_clusters_of_targets_and_of_attributes(tmp_path):
    mixed = [[0, 0], [9, 0], [0, 1], [9, 1], [0, 0], [0, 1], [50, 0], [50, 1]]
    rows = seen(mixed, data=write_test(tmp_path))
    assert np.mean([row.values["cluster_right"] for row in rows[:4]]) == 0.5
    assert np.mean([row.values["cluster_right"] for row in rows[4:]]) == 1.0


def test_mean_vectors_are_of_length_one_before_they_are_clustered(tmp_path):
    # by direction X and Y are apart, by length they are not
    long = [[1, 0.1], [100, 10], [1, -0.1], [100, -10], [1, 0], [1, 0], [0, 1], [0, 1]]
    by_length = seen(long, data=write_test(tmp_path), representation="cls")
    by_direction = seen(long, data=write_test(tmp_path), representation="mean")
    assert np.mean([row.values["cluster_right"] for row in by_length[:4]]) == 0.5
    assert np.mean([row.values["cluster_right"] for row in by_direction[:4]]) == 1.0


def test_what_is_not_asked_leaves_no_row():
    probe = made(tests="weat9")
    item = next(item for item in probe.items() if item.conditions["representation"] == "last")
    assert probe.ask(item, contracts.stand_in("masked")) == ()
    assert probe.observe(item, contracts.stand_in("masked"), ()) == []


# ---------------------------------------------------------------- counting


def estimated(strength=1.0, **settings):
    probe = made(**{**SMALL, "representation": "cls", **settings})
    frame = contracts.planted_frame(probe, probe.items(), contracts.stand_in("masked"), strength)
    groups = Resampling.of(frame[["group_word"]].set_axis(["word"], axis=1), resamples=200)
    found = estimate("seat", [CheckpointData("planted", "masked", frame, groups)], probe.measures())
    return {(e.measure, e.conditions["test"]): e for e in found}


def test_every_test_has_an_effect_with_p_and_two_clusterings():
    found = estimated()
    assert {name for name, _ in found} == {"effect_size", "clusters_targets", "clusters_attributes"}
    effect = found["effect_size", "weat9"]
    assert (effect.unit, effect.neutral, effect.n_items, effect.n_groups) == ("d", 0.0, 12, 12)
    assert effect.value > 1.5
    assert effect.p == pytest.approx(1 / 924)
    clusters = found["clusters_attributes", "weat9"]
    assert (clusters.unit, clusters.neutral, clusters.value) == ("share", 0.5, 1.0)
    assert clusters.p == pytest.approx(2 / 3432)  # C(14, 7) dealings, and the two clusters may change places


def test_the_other_way_round_is_no_finding_unless_both_sides_count():
    assert estimated(-1.0)["effect_size", "weat9"].p == 1.0
    assert estimated(-1.0, two_sided=True)["effect_size", "weat9"].p == pytest.approx(2 / 924)
    assert estimated(1.0, strict=True)["effect_size", "weat9"].p == 0.0


def test_ddof_0_is_larger_by_its_factor():
    one, none = (estimated(ddof=ddof)["effect_size", "weat9"].value for ddof in (1, 0))
    assert none / one == pytest.approx(np.sqrt(12 / 11))


def test_too_many_partitions_are_drawn():
    drawn = estimated(partitions=500)["effect_size", "weat9"].p
    assert 1 <= round(500 * drawn) <= 4
    assert 500 * drawn == pytest.approx(round(500 * drawn))


def test_without_clusters_there_are_no_such_measures():
    assert {name for name, _ in estimated(clusters=False)} == {"effect_size"}


def test_without_an_effect_few_tests_find_one():
    """Vectors by chance: of the 44 tests about one in twenty is below .05."""
    probe = made(representation="cls", clusters=False, partitions=2_000)
    dice = np.random.default_rng(0)
    below = []
    for item in probe.items():
        requests = probe.ask(item, contracts.stand_in("masked"))
        vectors = [Vector(v, ()) for v in dice.normal(size=(len(requests), 16))]
        rows = probe.observe(item, contracts.stand_in("masked"), vectors)
        s = np.array([row.values["association"] for row in rows])
        x = np.array([row.values["in_first"] for row in rows])
        below.append(probe.measures()[0].test.p(s[x == 1], s[x == 0], 0) < 0.05)
    assert sum(below) <= 6


# ---------------------------------------------------------------- running


@pytest.fixture(scope="module")
def run(checkpoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seat")
    models = [str(checkpoint("bert")), str(checkpoint("gpt2"))]
    return trueprobe.run("seat", models, folder / "run", settings=SMALL, store=folder / "store.sqlite")


def test_a_run_has_every_test_for_each_kind_of_model(run):
    found = run.estimates.groupby("model")["condition_representation"].unique()
    assert set(found["bert"]) == {"cls", "word"}
    assert set(found["gpt2"]) == {"last", "word"}
    assert len(run.estimates) == 2 * 2 * 2 * 3
    assert run.estimates["value"].notna().all()
    assert run.estimates["p"].between(0, 1).all()


def test_its_observations_have_the_documented_columns(run):
    table = run.observations("seat")
    assert {"condition_test", "condition_representation", "condition_layer", "group_word"} <= set(table)
    assert {"side", "word", "association"} <= set(table)
    targets = table[table["side"].isin(["X", "Y"])]
    assert targets["association"].notna().all()
    assert (table["group_word"] == table["word"]).all()


def test_a_sentence_that_several_tests_ask_for_is_computed_once(checkpoint, tmp_path):
    run = trueprobe.run(
        "seat",
        str(checkpoint("bert")),
        tmp_path / "run",
        settings={"tests": "weat1,weat2", "representation": "cls,word", "clusters": False},
        store=":memory:",
    )
    counts = run.manifest.counts["bert"]
    texts = {said.text for t in made(tests="weat1,weat2").tests.values() for s in t.sets.values() for said in s}
    assert counts["requests"] == 2 * 2 * 100
    assert counts["rows"] <= len(texts) == 150


def test_a_model_that_is_asked_nothing_has_no_rows_and_the_run_goes_on(checkpoint, tmp_path):
    models = [str(checkpoint("bert")), str(checkpoint("gpt2"))]
    run = trueprobe.run("seat", models, tmp_path / "run", settings={"tests": "weat9"}, limit=1, store=":memory:")
    assert set(run.observations("seat")["model"]) == {"bert"}
    assert run.estimates.dropna(subset=["value"])["model"].unique().tolist() == ["bert"]


def test_a_model_that_can_give_nothing_is_told_why(checkpoint, tmp_path):
    settings = {"tests": "weat9", "representation": "own"}
    run = trueprobe.run("seat", str(checkpoint("bert")), tmp_path / "run", settings=settings, store=":memory:")
    seen = run.observations("seat")
    assert (seen["why_not"] == "no_head").all()
    assert seen["side"].value_counts().to_dict() == {"X": 6, "Y": 6, "A": 7, "B": 7}
    assert run.estimates["value"].isna().all()


def test_sentences_that_were_not_scored_are_counted_with_each_number(checkpoint, tmp_path):
    """A vector of the word cannot be had where no word is marked; that of the sentence can."""
    settings = {"data": write_test(tmp_path)}
    run = trueprobe.run("seat", str(checkpoint("bert")), tmp_path / "run", settings=settings, store=":memory:")
    counts = run.estimates.set_index(["condition_representation", "measure"])[["n_items", "n_unscored"]]
    assert counts.loc["cls"].eq([4, 0]).all().all()
    assert counts.loc["word"].eq([0, 4]).all().all()
    assert len(counts) == 6
    assert (run.observations("seat").query("condition_representation == 'word'")["why_not"] == "no_span").all()


def test_one_sentence_that_is_too_long_leaves_its_whole_test_unscored(checkpoint, tmp_path):
    settings = {"data": write_test(tmp_path, examples=["Tea " * 2_000, "Milk is here."]), "representation": "cls"}
    run = trueprobe.run("seat", str(checkpoint("bert")), tmp_path / "run", settings=settings, store=":memory:")
    assert (run.observations("seat")["why_not"] == "too_long").all()
    assert run.estimates["n_unscored"].eq(4).all()
    assert run.estimates["value"].isna().all()


def test_exchanging_targets_or_attributes_turns_the_effect(checkpoint, tmp_path):
    names = ["male", "man", "boy"], ["female", "woman", "girl"], ["office", "work"], ["home", "family"]
    found = {}
    for label, order in {"plain": (0, 1, 2, 3), "targets": (1, 0, 2, 3), "attributes": (0, 1, 3, 2)}.items():
        keys = ("targ1", "targ2", "attr1", "attr2")
        data = {key: {"category": key, "examples": names[i]} for key, i in zip(keys, order, strict=True)}
        (tmp_path / f"{label}.json").write_text(json.dumps(data))
    run = trueprobe.run("seat", str(checkpoint("bert")), tmp_path / "run", settings={"data": str(tmp_path)})
    effects = run.estimates[run.estimates["measure"] == "effect_size"]
    for _, found in effects.groupby("condition_representation"):
        value = found.set_index("condition_test")["value"]
        assert value["targets"] == pytest.approx(-value["plain"])
        assert value["attributes"] == pytest.approx(-value["plain"])

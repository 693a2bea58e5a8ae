"""Logs of other harnesses, written by them (tests/probes/logs), are counted as their own answers are."""

from __future__ import annotations

import io
import itertools
import json
import math
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import trueprobe
from trueprobe import probes
from trueprobe.errors import BadInput
from trueprobe.probes.scores import logs
from trueprobe.runs.compare import compare
from trueprobe.types import Unit, Verdict

LOGS = Path(__file__).parent / "logs"
LM_EVAL, INSPECT, EEE = (LOGS / name for name in ("lm_eval", "inspect", "every_eval_ever"))
NAMES = [f"nursery-causal_seed_{seed}" for seed in range(3)]
# statsmodels 0.14: ols("acc ~ 1").fit(cov_type="cluster", groups=group, use_t=True), of lm_eval's first two models and
# of the difference of acc_norm between them: standard error and 95 % interval
CLUSTERED = {NAMES[0]: (0.0965, 0.3293, 0.7541), NAMES[1]: (0.1145, 0.2898, 0.7936)}
# statsmodels' mcnemar(exact=True) of acc_norm
MCNEMAR = {(0, 1): 0.25, (0, 2): 1.0, (1, 2): 0.5}


def scores(path: Path | str, **settings):
    return probes.make("scores", {"data": str(path), **settings})


def released(probe, path):
    return {one.name: one for one in probe.read_released(Path(path))}


def mean(one) -> float:
    return float(np.mean([o.values["score"] for o in one.observations if not o.why_not]))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What lm-eval logged, by acc_norm."""
    folder = tmp_path_factory.mktemp("scores")
    settings = {"value": "acc_norm", "chance": 0.5}
    return trueprobe.run("scores", f"replay:{LM_EVAL}", folder / "run", settings=settings, store=folder / "store")


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_means_are_those_that_lm_eval_reports(metric):
    probe = scores(LM_EVAL, value=metric)
    read = released(probe, LM_EVAL)
    assert list(read) == NAMES
    for name, totals in zip(NAMES, sorted(LM_EVAL.rglob("results_*.json")), strict=True):
        reported = json.loads(totals.read_bytes())["results"]["agreement"]
        assert mean(read[name]) == pytest.approx(reported[f"{metric},none"], abs=1e-12)
    assert len({item.groups for item in probe.items()}) == 12  # the column group of the documents
    assert probe.unit is Unit.SHARE


def test_epochs_are_averaged_within_an_item_and_the_mean_is_inspects():
    files = sorted((INSPECT / "eval").iterdir())
    probe = scores(INSPECT / "eval", group="topic")
    read = released(probe, INSPECT / "eval")
    for name, file in zip(NAMES, files, strict=False):
        header, _ = logs._eval_file(file)
        assert header["model_args"]["model_path"] == f"nursery-causal/seed_{name[-1]}"
        assert mean(read[name]) == pytest.approx(_inspects_accuracy(file), abs=1e-12)
        assert {o.values["epochs"] for o in read[name].observations} == {2}
        assert len(read[name].observations) == 12
    assert probe.unit is Unit.SCORE  # the mean of two epochs is no answer of yes or no


def _inspects_accuracy(file: Path) -> float:
    left = logs._Left(file, 10**7)
    with zipfile.ZipFile(file) as archive:
        results = left.json(archive, "header.json")["results"]
    return results["scores"][0]["metrics"]["accuracy"]["value"]


def test_inspects_json_log_is_read_too():
    (file,) = (INSPECT / "json").iterdir()
    log = json.loads(file.read_bytes())
    (one,) = scores(file).read_released(file)
    assert mean(one) == log["results"]["scores"][0]["metrics"]["accuracy"]["value"]


def test_every_eval_ever_holds_the_same_values_as_the_log_it_was_made_of():
    for metric in ("acc", "acc_norm"):
        (ours,) = scores(EEE, value=metric).read_released(EEE)
        (theirs, *_) = scores(LM_EVAL, value=metric).read_released(LM_EVAL)
        assert ours.name == theirs.name
        assert scores(EEE, value=metric).design.conditions == ("file",)  # the outcome is none
        assert [o.values["score"] for o in ours.observations] == [o.values["score"] for o in theirs.observations]


def test_what_was_read_and_what_has_no_group_is_printed():
    assert scores(LM_EVAL).released_notices(LM_EVAL) == ["scores: read acc; the log has acc_norm too: --set value=NAME"]
    assert "no column 'group', so each item is resampled alone" in scores(EEE).released_notices(EEE)[-1]


# ---------------------------------------------------------------- statistics


@pytest.mark.slow
def test_intervals_over_groups_agree_with_cluster_robust_ones(tmp_path):
    done = trueprobe.run("scores", f"replay:{LM_EVAL}", tmp_path / "run", store=tmp_path / "store")
    rows = {r.model: r for r in done.estimates_of("scores") if set(r.conditions.values()) <= {"acc", "all"}}
    for name, (se, low, high) in CLUSTERED.items():
        row = rows[name]
        assert row.n_groups == 12
        # ours corrects for skewness, theirs is symmetric: their widths agree within a tenth
        assert (row.low, row.high) == (pytest.approx(low, abs=0.3 * se), pytest.approx(high, abs=0.3 * se))
        assert row.high - row.low == pytest.approx(high - low, rel=0.1)
    assert {row.verdict for row in rows.values()} == {Verdict.DESCRIPTIVE}  # nobody named a neutral value


def test_paired_p_is_mcnemars_where_each_item_stands_alone(tmp_path):
    """Of 24 items, 10,000 exchanges are drawn, which moves p by 0.01; of 12, all 4,096 are counted."""
    for items, drawn in ((24, 0.02), (12, 1e-9)):
        table = _without_groups(tmp_path / f"plain{items}.csv", items)
        done = trueprobe.run("scores", f"replay:{table}", tmp_path / f"run{items}", store=tmp_path / "store")
        by_model = {
            name: [o.values["score"] for o in one.observations] for name, one in released(scores(table), table).items()
        }
        for (one, other), p in MCNEMAR.items():
            pairs = list(zip(by_model[NAMES[one]], by_model[NAMES[other]], strict=True))
            won, lost = pairs.count((1, 0)), pairs.count((0, 1))
            exact = binomtest(won, won + lost).pvalue if won + lost else 1.0
            (row,) = compare(done, NAMES[one], NAMES[other]).rows
            assert row.p == pytest.approx(exact, abs=drawn)
            assert items == 12 or exact == p


def _without_groups(path: Path, items: int) -> Path:
    lines = ["item,model,value"]
    for one in scores(LM_EVAL, value="acc_norm").read_released(LM_EVAL):
        lines += [f"{o.item},{one.name},{o.values['score']:g}" for o in one.observations[:items]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_paired_p_with_groups_is_that_of_all_exchanges_of_whole_groups(run):
    """Plainly: every one of the 2 ** 12 ways to swap the two models' answers within groups."""
    probe = scores(LM_EVAL, value="acc_norm")
    one, other, _ = probe.read_released(LM_EVAL)
    group_of = {item.id: item.groups[0] for item in probe.items()}
    sums: dict[str, float] = defaultdict(float)
    for a, b in zip(one.observations, other.observations, strict=True):
        sums[group_of[a.item]] += a.values["score"] - b.values["score"]
    moved = [
        abs(sum(s * d for s, d in zip(signs, sums.values(), strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    p = sum(m >= abs(sum(sums.values())) - 1e-9 for m in moved) / len(moved)
    rows = compare(run, *NAMES[:2]).rows
    (row,) = [r for r in rows if set(r.conditions.values()) <= {"acc_norm", "all"}]
    assert row.difference == pytest.approx(sum(sums.values()) / 24)
    assert row.p == pytest.approx(p, abs=1e-9)


def test_seeds_are_those_that_the_user_names(tmp_path):
    settings = {"value": "acc_norm", "seed": "model", "chance": 0.5}
    done = trueprobe.run("scores", f"replay:{LM_EVAL}", tmp_path / "run", settings=settings, store=tmp_path / "s")
    assert [(card.family, dict(card.labels)) for card in done.cards] == [
        ("nursery-causal", {"model_seed": seed}) for seed in range(3)
    ]
    assert {row.n_seeds for row in done.estimates_of("scores") if row.level == "family"} == {3}


def test_the_items_are_those_of_the_results_to_replay_and_no_model_is_asked(tmp_path, run):
    assert run.study.probes[0].settings["data"].endswith("lm_eval")
    with pytest.raises(BadInput, match="scores reads results and runs no model"):
        trueprobe.run("scores", "nursery", tmp_path / "run")


# ---------------------------------------------------------------- tables, and what is refused


def table(tmp_path, text: str, name: str = "mine.csv", **settings):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return scores(tmp_path / name, **settings)


def test_a_table_without_models_is_of_one_that_the_file_names(tmp_path):
    probe = table(tmp_path, "id,score\na,1.5\nb,-2\nc,\n")
    (one,) = probe.read_released(tmp_path / "mine.csv")
    assert (one.name, probe.unit) == ("mine", Unit.COUNT)
    assert [o.values.get("score") for o in one.observations] == [1.5, -2.0, None]
    assert one.observations[2].why_not.code == "not_released"


def test_columns_that_differ_within_an_item_are_no_conditions(tmp_path):
    rows = "".join(f"{i},{m},{i % 2},{'xy'[i % 2]},{m}{i % 3}\n" for m in "ab" for i in range(8))
    probe = table(tmp_path, f"item,model,value,kind,answer\n{rows}")
    assert probe.design.conditions == ("kind",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,value\na,1\na,0\n", "line 3: a second value of item 'a' by mine; repetitions need epochs"),
        ("item,value\na,high\n", "line 2: value is no number but 'high'"),
        ("item,value\na,inf\n", "line 2: value is infinite"),
        ("item,value\na,1_000\n", "line 2: value is no number but '1_000'"),
        ("item,model,value\na,x/y,1\nb,x_y,1\n", "line 3: 'x/y' and 'x_y' are two models of one name, x_y"),
        ("item,acc\na,1\n", "no column 'value' or 'score'; --set value=NAME, one of: item, acc"),
        ("item,value\n", "no results of single items"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(text, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        table(tmp_path, text)


def test_two_versions_of_a_question_are_refused(tmp_path):
    first, second, _ = sorted(LM_EVAL.rglob("samples_*.jsonl"))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / first.name).write_bytes(first.read_bytes())
    lines = second.read_text(encoding="utf-8").splitlines()
    changed = json.loads(lines[3]) | {"doc_hash": "0" * 64}
    (tmp_path / "b" / second.name).write_text("\n".join([*lines[:3], json.dumps(changed), *lines[4:]]))
    with pytest.raises(BadInput, match=r"line 4: item 'agreement/3' is another question"):
        scores(tmp_path)


def test_a_log_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        with archive.open("summaries.json", "w") as stream:
            for _ in range(65):
                stream.write(b" " * (1 << 20))
    (tmp_path / "bomb.eval").write_bytes(packed.getvalue())
    with pytest.raises(BadInput, match="it unpacks to far more than its size"):
        scores(tmp_path / "bomb.eval")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"scores": {"match": {"value": 10**400}}}, "line 2: match is no number"),
        ({"metadata": {"note": "\ud800"}}, "half of a character"),
        ({"id": "\ud800"}, "half of a character"),
    ],
    ids=["a number beyond floats", "half of a character", "as an id"],
)
def test_what_python_reads_and_nothing_else_can_hold_is_refused(sample, message, tmp_path):
    samples = [{"id": n, "epoch": 1, "input": "q", "scores": {"match": {"value": "C"}}} for n in range(3)]
    samples[1] |= sample
    with zipfile.ZipFile(tmp_path / "x.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        archive.writestr("summaries.json", json.dumps(samples))
    with pytest.raises(BadInput, match=message):
        scores(tmp_path / "x.eval")


def test_a_file_beyond_the_bound_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(BadInput, match="has more than 268,435,456 bytes"):
        scores(tmp_path / "huge.json")


def test_letters_and_truths_are_numbers():
    assert [logs.number_of(cell) for cell in ("C", "I", "P", "True", False, 3, "0.5")] == [1, 0, 0.5, 1, 0, 3, 0.5]
    assert math.isnan(logs.number_of(None))

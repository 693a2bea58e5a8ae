"""Paper C's table 2 in a report: what was fine-tuned, what it shows, and what is not finished."""

from __future__ import annotations

import json

import pytest

import made_runs
from trueprobe.errors import BadInput
from trueprobe.results.render.latex import latex
from trueprobe.results.view import Report
from trueprobe.runs import load_run
from trueprobe.types import Outcome, Verdict


def tuned(task: str, complete: bool = True, train_of: int = 900, **changes) -> dict:
    """The content of a downstream.json, as strings and numbers: a file that was written before."""
    row = {"family": "toy", "step": None, "n_checkpoints": 3, "mean": 0.764, "sd": 0.0031, "lowest": 0.76}
    row |= {"highest": 0.77, "error": 0.018, "share_all_alike": 0.698, "p_equal": 0.87, "not_learnt": []}
    row |= {"shows": "a comparison", "largest_difference": 0.01, "p_within_1": 0.4, "p_within_2": 0.03, **changes}
    texts = {"files": {"train.tsv": "0"}, "split": "dev.tsv", "labels": ["no", "yes"], "train": 900}
    texts |= {"train_of": train_of, "dev": 200, "set_aside": 0, "dev_also_in_train": 0}
    content = {"complete": complete, "task": task, "columns": None, "data": texts, "settings": {"epochs": 3}}
    content |= {"threads": 1, "device": "cpu", "versions": {}, "models": [identity(seed) for seed in range(3)]}
    if not complete:
        return content
    majority = {"label": "no", "accuracy": 0.501}
    checkpoints = [checkpoint(seed, task) for seed in range(3)]
    return content | {"majority": majority, "checkpoints": checkpoints, "families": [row]}


def identity(seed: int) -> dict:
    one = {"model": f"toy-seed{seed}", "family": "toy", "model_seed": seed, "step": None}
    return one | {"source": f"seed_{seed}", "compute_id": "0", "self_trained": False}


def checkpoint(seed: int, task: str) -> dict:
    one = {"model": f"toy-seed{seed}", "family": "toy", "model_seed": seed, "step": None, "task": task}
    one |= {"n_train": 900, "n_dev": 200, "n_right": 153, "accuracy": 0.765, "low": 0.701, "high": 0.819}
    return one | {"majority_accuracy": 0.501, "beats_majority": True, "learning_rate": 2e-5, "n_cut": 0}


def read(tmp_path, *results):
    folder = made_runs.write(tmp_path / "run", made_runs.family("toy", 3), [])
    for one in results:
        (folder / "downstream" / one["task"]).mkdir(parents=True)
        (folder / "downstream" / one["task"] / "downstream.json").write_text(json.dumps(one), encoding="utf-8")
    return Report.of(load_run(folder))


def grid(tmp_path, *results):
    return {grid.name: grid for grid in read(tmp_path, *results).trust}.get("downstream")


def test_a_task_and_a_family_have_a_row(tmp_path):
    table = grid(tmp_path, tuned("sst2"), tuned("rte", train_of=2490, p_equal=1e-6, p_within_2=0.06))
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["rte, 900 of 2,490 texts", "toy", "3", "76.4 ± 0.3", "50.1", "± 1.8", "69.8", "not shown", "< 0.001"],
        ["sst2, 900 texts", "toy", "3", "76.4 ± 0.3", "50.1", "± 1.8", "69.8", "2 points", "0.870"],
    ]
    assert table.data["mean"].tolist() == [0.764, 0.764]
    assert "$<$ 0.001" in latex(table)
    assert "task?. " not in latex(table)


def test_what_was_not_learnt_shows_nothing_instead_of_equality(tmp_path):
    (row,) = grid(tmp_path, tuned("sst2", shows="nothing", not_learnt=["toy-seed1"])).rows
    assert (row[-1].text, row[-1].hint) == ("shows nothing", "not above the commonest label: toy-seed1")


def test_one_checkpoint_has_neither_deviation_nor_p(tmp_path):
    alone = {"n_checkpoints": 1, "sd": None, "share_all_alike": None, "p_equal": None, "shows": "one checkpoint"}
    alone |= {"largest_difference": None, "p_within_1": None, "p_within_2": None}
    (row,) = grid(tmp_path, tuned("sst2", **alone)).rows
    assert [cell.text for cell in row[2:]] == ["1", "76.4", "50.1", "± 1.8", "–", "–", "–"]


def test_the_smallest_margin_shown_stands_in_the_table_with_both_p_values(tmp_path):
    (row,) = grid(tmp_path, tuned("sst2", p_within_1=0.049, p_within_2=0.0001)).rows
    assert (row[-2].text, row[-2].hint) == (
        "1 point",
        "largest difference 1.0 points; p 0.049 at 1 point, < 0.001 at 2",
    )
    before = dict.fromkeys(("largest_difference", "p_within_1", "p_within_2"))
    (row,) = grid(tmp_path / "before", tuned("sst2", **before)).rows  # a file that was written before
    assert row[-2].text == "–"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shows": "a lot"}, r"families\.0\.shows: Input should be 'nothing', 'one checkpoint' or 'a comparison'"),
        ({"mean": "high"}, r"families\.0\.mean: Input should be a valid number"),
        ({"median": 0.7}, r"families\.0\.median: Extra inputs are not permitted"),
    ],
)
def test_a_value_that_is_not_declared_is_refused_with_its_file_and_place(tmp_path, changes, message):
    with pytest.raises(BadInput, match=rf"sst2/downstream\.json is damaged: {message}"):
        grid(tmp_path, tuned("sst2", **changes))


def test_a_finished_fine_tuning_has_an_outcome(tmp_path):
    with pytest.raises(BadInput, match="is complete and lacks majority, checkpoints or families"):
        grid(tmp_path, {**tuned("sst2"), "families": []})


def test_a_stopped_fine_tuning_is_named_and_has_no_numbers(tmp_path):
    (row,) = grid(tmp_path, tuned("sst2", complete=False)).rows
    assert [cell.text for cell in row] == ["sst2, 900 texts", "toy", *["–"] * 6, "not finished"]


def test_without_any_there_is_no_table(tmp_path):
    assert grid(tmp_path) is None


def test_that_they_are_equally_good_is_a_claim(tmp_path):
    alone = {"n_checkpoints": 1, "sd": None, "share_all_alike": None, "p_equal": None, "shows": "one checkpoint"}
    tasks = {"sst2": {}, "rte": {"p_equal": 0.02}, "qnli": {"shows": "nothing"}, "mine": alone}
    mine = read(tmp_path, *(tuned(task, **changes) for task, changes in tasks.items()))
    numbers = {f.name: f.numbers[0] for f in mine.findings}
    known = {name: (n.verdict.outcome, n.text(), n.verdict) for name, n in numbers.items()}
    assert known == {
        "equally_good_sst2": (Outcome.OPEN, "0.31 %", Verdict.NOT_CONTRADICTED),
        "equally_good_rte": (Outcome.BAD, "0.31 %", Verdict.OPPOSITE),
        "equally_good_qnli": (Outcome.NONE, "–", Verdict.NO_INTERVAL),
        "equally_good_mine": (Outcome.NONE, "–", Verdict.NO_INTERVAL),
    }
    rows = {row[0].text.split()[5]: [cell.text for cell in row[1:]] for row in mine.claims.body}
    assert rows["sst2"] == ["equal: Cochran's Q, p at least 0.05", "0.31 %; not contradicted"]
    assert rows["qnli"][1] == "no interval"

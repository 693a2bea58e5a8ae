"""Paper C's table 2 in a report: what was fine-tuned, what it shows, and what is not finished."""

from __future__ import annotations

import json

import made_runs
from trueprobe.results.latex import latex
from trueprobe.results.report import Report
from trueprobe.runs.folder import load_run
from trueprobe.types import Outcome, Verdict


def tuned(task: str, complete: bool = True, train_of: int = 900, **changes) -> dict:
    row = {"family": "toy", "step": None, "n_checkpoints": 3, "mean": 0.764, "sd": 0.0031, "lowest": 0.76}
    row |= {"highest": 0.77, "error": 0.018, "share_all_alike": 0.698, "p_equal": 0.87, "not_learnt": []}
    row |= {"shows": "a comparison", **changes}
    found = {"complete": complete, "task": task, "models": [{"family": "toy"}] * 3}
    found |= {"data": {"train": 900, "train_of": train_of, "dev": 200}}
    return found | ({"majority": {"label": "no", "accuracy": 0.501}, "families": [row]} if complete else {})


def read(tmp_path, *found):
    folder = made_runs.write(tmp_path / "run", made_runs.family("toy", 3), [])
    for one in found:
        (folder / "downstream" / one["task"]).mkdir(parents=True)
        (folder / "downstream" / one["task"] / "downstream.json").write_text(json.dumps(one), encoding="utf-8")
    return Report.of(load_run(folder))


def grid(tmp_path, *found):
    return {grid.name: grid for grid in read(tmp_path, *found).trust}.get("downstream")


def test_a_task_and_a_family_have_a_row(tmp_path):
    found = grid(tmp_path, tuned("sst2"), tuned("rte", train_of=2490, p_equal=1e-6))
    assert [[cell.text for cell in row] for row in found.rows] == [
        ["rte, 900 of 2,490 texts", "toy", "3", "76.4 ± 0.3", "50.1", "± 1.8", "69.8", "< 0.001"],
        ["sst2, 900 texts", "toy", "3", "76.4 ± 0.3", "50.1", "± 1.8", "69.8", "0.870"],
    ]
    assert found.data["mean"].tolist() == [0.764, 0.764]
    assert "$<$ 0.001" in latex(found)
    assert "task?. " not in latex(found)


def test_what_was_not_learnt_shows_nothing_instead_of_equality(tmp_path):
    (row,) = grid(tmp_path, tuned("sst2", shows="nothing", not_learnt=["toy-seed1"])).rows
    assert (row[-1].text, row[-1].hint) == ("shows nothing", "not above the commonest label: toy-seed1")


def test_one_checkpoint_has_neither_deviation_nor_p(tmp_path):
    alone = {"n_checkpoints": 1, "sd": None, "share_all_alike": None, "p_equal": None, "shows": "one checkpoint"}
    (row,) = grid(tmp_path, tuned("sst2", **alone)).rows
    assert [cell.text for cell in row[2:]] == ["1", "76.4", "50.1", "± 1.8", "–", "–"]


def test_a_stopped_fine_tuning_is_named_and_has_no_numbers(tmp_path):
    (row,) = grid(tmp_path, tuned("sst2", complete=False)).rows
    assert [cell.text for cell in row] == ["sst2, 900 texts", "toy", *["–"] * 5, "not finished"]


def test_without_any_there_is_no_table(tmp_path):
    assert grid(tmp_path) is None


def test_that_they_are_equally_good_is_a_claim(tmp_path):
    alone = {"n_checkpoints": 1, "sd": None, "share_all_alike": None, "p_equal": None, "shows": "one checkpoint"}
    tasks = {"sst2": {}, "rte": {"p_equal": 0.049}, "qnli": {"shows": "nothing"}, "mine": alone}
    mine = read(tmp_path, *(tuned(task, **changes) for task, changes in tasks.items()))
    numbers = {f.name: f.numbers[0] for f in mine.findings}
    known = {name: (n.verdict.outcome, n.text(), n.verdict) for name, n in numbers.items()}
    assert known == {
        "equally_good_sst2": (Outcome.GOOD, "0.31 %", Verdict.NOT_CONTRADICTED),
        "equally_good_rte": (Outcome.BAD, "0.31 %", Verdict.OPPOSITE),
        "equally_good_qnli": (Outcome.NONE, "–", Verdict.NO_INTERVAL),
        "equally_good_mine": (Outcome.NONE, "–", Verdict.NO_INTERVAL),
    }
    rows = {row[0].text.split()[5]: [cell.text for cell in row[1:]] for row in mine.claims.body}
    assert rows["sst2"] == ["equal: Cochran's Q, p at least 0.05", "0.31 %; not contradicted"]
    assert rows["qnli"][1] == "no interval"

"""A family fine-tuned: the same bytes each time and after a stop, and no report that the numbers do not bear out."""

from __future__ import annotations

import csv
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import processes
import trueprobe
import zoo
from trueprobe.cli import app, main
from trueprobe.errors import BadInput
from trueprobe.results.render import page as report
from trueprobe.results.render.files import FigureFormat
from trueprobe.runs.downstream import CheckpointAnswers, CheckpointIdentity, Comparison, Majority, TaskOutcome
from trueprobe.statistics.means import wilson
from trueprobe.training.downstream import DownstreamRecipe, TaskColumns, downstream, outcome
from trueprobe.training.downstream.tasks import TaskRow, TextTask
from trueprobe.training.downstream.tuning import SharedByCheckpoints
from trueprobe.types import NoProgress

pytestmark = pytest.mark.slow
SETTINGS = {"data": "sample"}  # of the run that a fine-tuning is put into


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    for seed in (0, 1, 2):
        zoo.save("bert", folder / f"seed_{seed}", model_seed=seed)
    return f"tiny={folder}/seed_*"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = random.Random(0)
    words = ["bus", "late", "man", "knew", "here"]
    rows = [(" ".join(rng.choices(words, k=rng.randint(1, 6))), rng.choice("ab")) for _ in range(120)]
    file = tmp_path_factory.mktemp("data") / "mine.tsv"
    file.write_text("text\tkind\n" + "".join(f"{text}\t{kind}\n" for text, kind in rows), encoding="utf-8")
    return file


def one_epoch(family, data, out):
    return DownstreamRecipe(
        models=(family,), data=data, columns=TaskColumns(("text",), "kind"), epochs=1, device="cpu", threads=1, out=out
    )


@pytest.fixture
def recipe(family, data, tmp_path):
    return one_epoch(family, data, tmp_path / "out")


@pytest.fixture(scope="module")
def finished(family, data, tmp_path_factory):
    """The folder and the result of the recipe, never written to again."""
    return downstream(one_epoch(family, data, tmp_path_factory.mktemp("finished") / "out"))


@pytest.fixture
def done(finished, recipe):
    """The recipe, with its folder as `downstream` left it."""
    shutil.copytree(finished[0], recipe.out)
    return recipe


def replace(recipe, **changes):
    return DownstreamRecipe(**{**dict(recipe), **changes})


class StopsAfter(NoProgress):
    """Ctrl-C, or a kill, in the midst of a checkpoint."""

    def __init__(self, rows):
        self.left = rows

    def advance(self, amount=1, note=""):
        self.left -= amount
        if self.left < 0:
            raise KeyboardInterrupt


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("timing.json", ".lock")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_stopped_run_goes_on_to_the_same_bytes(finished, recipe, tmp_path):
    whole, result = finished
    stopped = replace(recipe, out=tmp_path / "stopped")
    with pytest.raises(KeyboardInterrupt):
        downstream(stopped, StopsAfter(result.data.train + 20))
    assert [path.name for path in (tmp_path / "stopped" / "checkpoints").iterdir()] == ["tiny-seed0.json"]
    assert not json.loads((tmp_path / "stopped" / "downstream.json").read_text())["complete"]
    stamp = (tmp_path / "stopped" / "checkpoints" / "tiny-seed0.json").stat().st_mtime_ns
    assert downstream(stopped)[0] == stopped.out
    assert content(whole) == content(tmp_path / "stopped")
    assert (tmp_path / "stopped" / "checkpoints" / "tiny-seed0.json").stat().st_mtime_ns == stamp
    assert set(json.loads((tmp_path / "stopped" / "timing.json").read_text())) == {f"tiny-seed{i}" for i in range(3)}


def test_a_killed_process_goes_on_to_the_same_bytes(recipe, family, data):
    downstream(replace(recipe, epochs=8))
    killed, first = recipe.out.with_name("killed"), recipe.out.with_name("killed") / "checkpoints" / "tiny-seed0.json"
    arguments = ["--data", data, "--text-column", "text", "--label-column", "kind", "--epochs", 8, "--threads", 1]
    asked = ["downstream", "--model", family, *map(str, arguments), "--device", "cpu", "--out", str(killed)]
    processes.kill_when(first.exists, asked)
    assert not (killed / "downstream.csv").exists()
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert content(recipe.out) == content(killed)


def test_the_folder_says_what_was_done(finished):
    folder, result = finished
    held = json.loads((folder / "downstream.json").read_text(encoding="utf-8"))
    assert held == result.model_dump(mode="json")
    assert held["complete"]
    assert held["settings"]["head_seed"] == held["settings"]["order_seed"] == 0
    assert set(held["versions"]) == {"torch", "transformers", "tokenizers"}
    assert list(held["data"]["files"]) == ["mine.tsv"]
    with (folder / "downstream.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["model_seed"] for row in rows] == ["0", "1", "2"]
    for row in rows:
        low, high = wilson(int(row["n_right"]) / int(row["n_dev"]), int(row["n_dev"]))
        assert (float(row["low"]), float(row["high"])) == (low, high)


def test_another_setup_in_the_same_folder_is_refused(done, tmp_path, family):
    recipe, before = done, content(done.out)
    for other, key in (
        (replace(recipe, epochs=2), "settings"),
        (replace(recipe, limit=20), "data"),
        (replace(recipe, models=(family.replace("tiny", "small"),)), "models"),
    ):
        with pytest.raises(BadInput, match=f"holds a different fine-tuning \\(different {key}\\)"):
            downstream(other)
    downstream(replace(recipe, threads=2))  # what is done is done, with the threads it was begun with
    assert content(recipe.out) == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(BadInput, match="is not empty and holds no"):
        downstream(replace(recipe, out=tmp_path / "full"))
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("downstream.json", "{", r"downstream\.json is damaged: .*; name another --out"),
        ("downstream.json", "{}", r"downstream\.json is damaged: complete: Field required; name another --out"),
        ("checkpoints/tiny-seed1.json", "{}", r"tiny-seed1\.json is damaged: learning_rate: Field required"),
    ],
)
def test_a_damaged_file_is_reported_with_its_name(done, name, content, message):
    (done.out / name).write_text(content)
    with pytest.raises(BadInput, match=message):
        downstream(done)


def test_pairs_of_glue_and_a_causal_family_go_the_same_way(checkpoint, tmp_path):
    (tmp_path / "RTE").mkdir()
    for name, count in (("train.tsv", 30), ("dev.tsv", 10)):
        rows = [f"{i}\tthe man knew\tthe bus was late\t{'not_' * (i % 2)}entailment" for i in range(count)]
        (tmp_path / "RTE" / name).write_text("\n".join(["index\tsentence1\tsentence2\tlabel", *rows]) + "\n")
    models = (str(checkpoint("gpt2")), str(checkpoint("bert")))
    recipe = DownstreamRecipe(models=models, task="rte", data=tmp_path, epochs=1, device="cpu", out=tmp_path / "out")
    _, result = downstream(recipe)
    assert [row.family for row in result.families] == ["gpt2", "bert"]
    assert result.data.dev_also_in_train == 10
    assert result.threads == 1
    # one and the same pair with both labels: no one can beat the commonest
    assert {row.shows for row in result.families} == {Comparison.NOTHING}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "--epochs is at least 1, not 0"),
        ({"learning_rate": -1.0}, "--learning-rate is above 0"),
        ({"learning_rate": 2.0}, "--learning-rate is at most 1"),
        ({"order_seed": -1}, "--order-seed is at least 0"),
        ({"longest": 2}, "--longest is at least 8, not 2"),
        ({"models": ()}, "no model given: --model nursery"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_read(recipe, setting, message):
    with pytest.raises(BadInput, match=message):
        replace(recipe, **setting)


def test_settings_are_written_under_the_names_that_fine_tunings_begun_earlier_have(recipe):
    settings = replace(recipe, seed_order=True).part(SharedByCheckpoints)
    names = "epochs learning_rate batch_tokens warmup weight_decay clip longest order_seed own_order head_seed"
    assert set(settings) == set(names.split())
    assert settings["own_order"] is True


# ---------------------------------------------------------------- what the answers amount to


def judged(answers: list[list[int]], wanted: list[int], steps: list[int | None] | None = None) -> TaskOutcome:
    dev = tuple(TaskRow((str(i),), "ab"[label], i) for i, label in enumerate(wanted))
    models = [
        CheckpointIdentity(
            model=f"f-seed{i}", family="f", model_seed=i, step=step, source="", compute_id="", self_trained=False
        )
        for i, step in enumerate(steps or [None] * len(answers))
    ]
    done = [CheckpointAnswers(answers=tuple(row), learning_rate=1e-3, n_cut=0, new_weights=()) for row in answers]
    return outcome.outcome(TextTask("t", ("a", "b"), dev, dev, {}, "dev.tsv"), models, done)


def test_mean_and_sample_deviation_worked_by_hand():
    wanted = [0] * 60 + [1] * 40
    result = judged([wanted, [1] * 10 + wanted[10:], [1] * 20 + wanted[20:]], wanted)  # 100, 90 and 80 right
    assert result.majority == Majority(label="a", accuracy=0.6)
    [row] = result.families
    assert (row.mean, row.lowest, row.highest) == (pytest.approx(0.9), 0.8, 1.0)
    assert row.sd == pytest.approx(0.1)
    assert row.share_all_alike == 0.8
    assert row.shows is Comparison.POSSIBLE
    # Q = 2 (3 (100² + 90² + 80²) - 270²) / (3 · 270 - (80 · 9 + 10 · 4 + 10 · 1)) = 2 · 600 / 40 = 30
    assert row.p_equal == pytest.approx(np.exp(-30 / 2))  # chi-square with two degrees of freedom


def test_one_that_does_not_beat_the_commonest_label_makes_the_comparison_show_nothing():
    wanted = [0] * 60 + [1] * 40
    barely = [0] * 60 + [1] * 5 + [0] * 35  # 65 right: its interval still holds 60
    result = judged([wanted, barely], wanted)
    assert [row.beats_majority for row in result.checkpoints] == [True, False]
    [row] = result.families
    assert (row.shows, row.not_learnt) == (Comparison.NOTHING, ("f-seed1",))
    arguments = " ".join(outcome._family_lines(row))
    assert "the comparison shows nothing" in arguments
    assert "f-seed1" in arguments
    assert "Cochran" not in arguments


def test_one_checkpoint_has_no_deviation_and_steps_are_not_mixed():
    wanted = [0, 1] * 50
    [alone] = judged([wanted], wanted).families
    assert (alone.sd, alone.p_equal, alone.shows) == (None, None, Comparison.ONE_CHECKPOINT)
    result = judged([wanted] * 4, wanted, [10, 20, 10, 20]).families
    assert [(row.step, row.n_checkpoints) for row in result] == [(10, 2), (20, 2)]


def both_right_but(b: int, c: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Of n texts the first alone gets b right, and the second alone c."""
    first, second = np.ones(n, bool), np.ones(n, bool)
    second[:b], first[b : b + c] = False, False
    return first, second


def test_two_one_sided_tests_worked_by_hand():
    # no text parts the two: z = −nδ / √(nδ (1 − δ)) = −√(nδ / (1 − δ)), for n = 1000 and δ = 0.02 −√(20 / 0.98)
    assert outcome.p_within(*both_right_but(0, 0, 1000), 0.02) == pytest.approx(norm.cdf(-np.sqrt(20 / 0.98)))
    # 1 of 100 texts parts them, δ = 0.02: likeliest is that the second is never right alone, and z = (1 − 2) / √1.96;
    # the other way the second alone is right in 0.49 %, and z = (−1 − 2) / √(0.98 + 1.96), which is less
    assert outcome.p_within(*both_right_but(1, 0, 100), 0.02) == pytest.approx(norm.cdf(-1 / 1.4))
    assert outcome._p_less(0, 1, 100, 0.02) == pytest.approx(norm.cdf(-3 / np.sqrt(2.94)), abs=1e-4)


def test_equivalence_is_symmetric_needs_texts_and_is_that_of_the_worst_pair():
    one, other = both_right_but(30, 12, 1000)
    assert outcome.p_within(one, other, 0.02) == outcome.p_within(other, one, 0.02)
    assert outcome.p_within(*both_right_but(0, 0, 20), 0.02) > 0.2  # twenty texts show nothing
    assert outcome.p_within(*both_right_but(20, 0, 1000), 0.02) == pytest.approx(0.5)  # just the margin
    wanted = [0, 1] * 500
    [row] = judged([wanted, wanted, [1] * 30 + wanted[30:]], wanted).families  # the third has 15 of 1,000 wrong
    assert row.largest_difference == pytest.approx(0.015)
    third = outcome.p_within(*both_right_but(15, 0, 1000), 0.02)
    assert (row.p_within_2, row.margin) == (pytest.approx(third), None)
    assert "not shown to be equally good within 2 points" in " ".join(outcome._family_lines(row))
    [row] = judged([wanted, wanted], wanted).families
    assert (row.margin, row.p_within_1) == (0.01, pytest.approx(norm.cdf(-np.sqrt(10 / 0.99))))


def test_checkpoints_that_differ_by_the_margin_are_rarely_called_equal_and_equal_ones_mostly():
    rng = np.random.default_rng(0)
    counts = {apart: rng.multinomial(4000, [0.04 + apart, 0.04, 0.92 - apart], size=400) for apart in (0.02, 0.0)}
    called = {
        apart: np.mean(
            [max(outcome._p_less(b, c, 4000, 0.02), outcome._p_less(c, b, 4000, 0.02)) < 0.05 for b, c, _ in of]
        )
        for apart, of in counts.items()
    }
    assert called[0.02] <= 0.09  # 5 % in 400, and chance
    assert called[0.0] >= 0.95


def test_cochran_s_q_of_two_is_mcnemar_s():
    rng = np.random.default_rng(0)
    right = rng.random((2, 200)) < [[0.8], [0.7]]
    b, c = int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum())
    import torch

    q = (b - c) ** 2 / (b + c)
    assert outcome.cochran(right) == pytest.approx(float(torch.special.erfc(torch.tensor((q / 2) ** 0.5).double())))
    assert outcome.cochran(right[::-1]) == outcome.cochran(right)
    assert outcome.cochran(np.ones((3, 10), bool)) == 1.0


def test_the_p_value_is_the_upper_tail_of_chi_square():
    import torch

    rng = np.random.default_rng(2)
    for checkpoints in (2, 3, 5, 25):
        right = rng.random((checkpoints, 150)) < rng.uniform(0.5, 0.9, (checkpoints, 1))
        k, by_checkpoint, by_text = checkpoints, right.sum(axis=1), right.sum(axis=0)
        q = (k - 1) * (k * (by_checkpoint**2).sum() - by_checkpoint.sum() ** 2)
        q /= k * by_text.sum() - (by_text**2).sum()
        tail = torch.special.gammaincc(*torch.tensor([k - 1, q], dtype=torch.float64) / 2)
        assert outcome.cochran(right) == pytest.approx(float(tail), abs=1e-12, rel=1e-10)


def test_equally_good_checkpoints_are_told_apart_one_time_in_twenty():
    rng = np.random.default_rng(1)
    result = [outcome.cochran(rng.random((5, 300)) < rng.beta(3, 1, 300)) for _ in range(2000)]
    assert 0.035 < np.mean(np.array(result) < 0.05) < 0.065


# ---------------------------------------------------------------- the command


def test_the_command_prints_a_table_and_json(recipe, family, data):
    arguments = ["--data", data, "--text-column", "text", "--label-column", "kind", "--epochs", 1, "--threads", 1]
    asked = ["downstream", "--model", family, *map(str, arguments), "--device", "cpu", "--out", str(recipe.out)]
    printed = CliRunner().invoke(app, asked)
    assert printed.exit_code == 0, printed.output
    assert "tiny-seed2" in printed.output
    assert "always '" in printed.output
    result = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    held = json.loads((recipe.out / "downstream.json").read_text(encoding="utf-8"))
    assert result == {"folder": str(recipe.out), **held}
    assert [row["model"] for row in result["checkpoints"]] == ["tiny-seed0", "tiny-seed1", "tiny-seed2"]
    assert len(result["families"]) == 1


# ---------------------------------------------------------------- in a run folder


@pytest.fixture(scope="module")
def asked(family, tmp_path_factory):
    """A run of the same family, and a folder for runs of others."""
    folder = tmp_path_factory.mktemp("runs") / "mine"
    trueprobe.run("crows_pairs", models=[family], out=folder, settings=SETTINGS)
    return folder


def test_a_run_s_report_has_the_table_of_what_was_put_into_it(recipe, asked):
    folder, result = downstream(replace(recipe, out=None, into=asked))
    assert folder == asked / "downstream" / "mine.tsv-tiny"
    report.write(trueprobe.load_run(asked), [FigureFormat.SVG])
    page = (asked / "report.html").read_text(encoding="utf-8")
    table = page[page.index("Are they equally good at a task?") :].partition("</table>")[0]
    [row] = result.families
    assert f"{100 * row.mean:.1f} ± {100 * row.sd:.1f}" in table
    assert f"mine.tsv, {result.data.train} texts" in table
    with (asked / "tables/downstream.csv").open(encoding="utf-8") as stream:
        assert [float(stamp["mean"]) for stamp in csv.DictReader(stream)] == [row.mean]


def test_a_run_with_a_fine_tuning_in_it_goes_on_as_before(recipe, asked, family):
    downstream(replace(recipe, out=None, into=asked))
    again = trueprobe.run("crows_pairs", models=[family], out=asked, settings=SETTINGS)
    assert again.complete
    assert (asked / "downstream/mine.tsv-tiny/downstream.csv").exists()


def test_only_the_run_s_own_checkpoints_can_be_put_into_it(recipe, asked, tmp_path):
    zoo.save("bert", tmp_path / "seed_0", model_seed=7)
    for models, why in (
        ([f"tiny={tmp_path}/seed_*"], "tiny-seed0 has other weights"),
        ([f"other={tmp_path}/seed_*"], "is not among its models: .* holds tiny-seed0, tiny-seed1, tiny-seed2"),
    ):
        with pytest.raises(BadInput, match=why):
            downstream(replace(recipe, models=tuple(models), out=None, into=asked))
    with pytest.raises(BadInput, match="is not a run folder"):
        downstream(replace(recipe, out=None, into=tmp_path))
    with pytest.raises(BadInput, match="--out and --into exclude each other"):
        downstream(replace(recipe, into=asked))


def test_help_has_an_example_and_bad_input_ends_with_two(monkeypatch, capsys):
    def ends_with(*arguments):
        monkeypatch.setattr(sys, "argv", ["trueprobe", "downstream", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    assert ends_with("--help") == 0
    assert "trueprobe downstream --task sst2" in capsys.readouterr().out.split("Examples:")[1]
    assert ends_with("--task", "sst", "--model", "nursery") == 2
    assert "did you mean 'sst2'?" in capsys.readouterr().err

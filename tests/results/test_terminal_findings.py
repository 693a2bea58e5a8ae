"""Several probes on one screen: every finding with its number and mark, the most telling ones where room is short."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from rich.console import Console

import made_runs
from trueprobe.results.terminal import MOST_LINES, show, show_comparison
from trueprobe.runs.compare import Comparison
from trueprobe.runs.folder import load_run

VERDICTS = ("undecided", "as published", "opposite", "flips", "not applicable", "not contradicted")


def estimate(model, category, value, verdict="undecided", **more):
    told = {"category": category, "level": "checkpoint", "step": None, "reason": "", "verdict": verdict}
    return made_runs.estimate(model, "preference", value, **{**told, **more})


def claim(model, name, value, verdict, level="checkpoint", **more):
    return made_runs.claim(model, name, value, verdict, level=level, step=None, **more)


def run(tmp_path, cards, estimates, claims=(), labels=("pairs", "others")):
    return load_run(made_runs.write(tmp_path / "run", cards, list(estimates), list(claims), labels=labels))


def printed(found, width=100) -> list[str]:
    console = Console(width=width, record=True, highlight=False)
    show(found, console)
    return console.export_text().splitlines()


def cells(lines, start) -> list[str]:
    return next(line for line in lines if line.strip().startswith(start)).strip()[len(start) :].split()


def test_a_column_for_each_model_with_interval_and_mark(tmp_path):
    cards = [*made_runs.family("toy", 3), made_runs.card("solo")]
    claims = [
        claim("toy", "one", 0.2, "as published", "family"),
        claim("toy-seed0", "one", 0.9, "opposite"),
        claim("solo", "one", -0.2, "opposite"),
        claim("toy", "two", 0.0, "undecided", "family"),
        claim("solo", "share", 0.22, "opposite", expected="below 0.1", unit="share"),
    ]
    lines = printed(run(tmp_path, cards, [estimate("solo", "age", 0.5)], claims))
    assert lines[0] == "asked: toy, 3 seeds; solo"
    assert " ".join(lines[1].split()) == "finding (shares in percent); 95 % intervals toy solo"
    assert cells(lines, "one is so") == ["+20.0", "[+10.0,", "+30.0]*", "−20.0", "[−30.0,", "−10.0]!"]
    assert cells(lines, "two is so") == ["0.0", "[−10.0,", "+10.0]"]
    assert cells(lines, "share is so") == ["22", "%", "[12,", "32]!"]
    assert "* as published, or holds; ! opposite; no mark: undecided; – nothing to count" in lines


def test_what_a_probe_measures_stands_beside_claims_over_seeds(tmp_path):
    rows = [
        estimate("toy", "age", 0.7, "holds", level="family"),
        estimate("toy", "race", 0.52, level="family"),
        estimate("toy", "size", float("nan"), "not applicable", level="family"),
    ]
    claims = [claim("toy", "varies", 0.03, "as published", "family")]
    lines = printed(run(tmp_path, made_runs.family("toy", 3), rows, claims))
    assert "pairs: 12 of 12 scored; 1 without a verdict" in lines
    assert cells(lines, "varies is so") == ["+3.0", "[−7.0,", "+13.0]*"]
    assert cells(lines, "age: prefers stereotype") == ["70", "%", "[60,", "80]*"]
    assert cells(lines, "race: prefers stereotype") == ["52", "%", "[42,", "62]"]


def test_two_models_and_several_probes_have_lines_of_their_own(tmp_path):
    cards = [made_runs.card("big"), made_runs.card("small")]
    claims = [
        claim("big", "one", 0.2, "as published"),
        claim("big against small", "larger", 0.3, "opposite", "pair"),
        claim("small", "both", 0.1, "flips", probe="pairs, others"),
    ]
    lines = printed(run(tmp_path, cards, [estimate("big", "age", 0.5)], claims))
    assert "  larger is so, big against small +30.0 [+20.0, +40.0]!" in lines
    assert lines[lines.index("several probes together") + 1].split() == [
        "both",
        "is",
        "so",
        "+10.0",
        "[0.0,",
        "+20.0]~",
    ]


def test_a_model_that_fails_the_gate_is_named(tmp_path):
    claims = [claim("a", "one", 0.2, "fails the gate"), claim("b", "one", 0.2, "undecided")]
    cards = [made_runs.card("a"), made_runs.card("b")]
    lines = printed(run(tmp_path, cards, [estimate("a", "age", 0.5)], claims))
    assert "pairs: 8 of 8 scored; failing the gate: a" in lines
    assert cells(lines, "one is so") == ["–", "+20.0", "[+10.0,", "+30.0]"]


@pytest.mark.parametrize(("probes", "models"), [(2, 1), (2, 3), (2, 14), (9, 2), (9, 6), (30, 1)])
def test_however_many_probes_models_and_claims_it_is_thirty_lines_of_a_hundred_columns(probes, models, tmp_path):
    labels = ["pairs", *(f"probe{n}" for n in range(1, probes))]
    names = [f"organisation-model-{n}-of-many" for n in range(models)]
    rows = [estimate(name, "age", 0.5) for name in names]
    statement = "a finding that takes so many words that they do not find room beside its numbers, whatever is done"
    claims = [
        claim(name, f"{verdict}_{n}", 0.123, verdict, probe=label, statement=f"{n} {verdict} {statement}")
        for label in labels
        for verdict in VERDICTS
        for n in range(3)
        for name in names
    ]
    found = run(tmp_path, [made_runs.card(name) for name in names], rows, claims, labels)
    *lines, folder = printed(found)
    assert len(lines) + 1 <= MOST_LINES
    assert max(map(len, lines)) <= 100
    assert folder.startswith("run folder: ")
    heads = [line for line in lines if "scored" in line]
    assert (len(heads) == probes) is not any(line.endswith("more probes: claims.csv, estimates.csv") for line in lines)
    shown = [line for line in lines if line.startswith("  ")]
    assert len(lines) + 1 == MOST_LINES
    assert lines[1].startswith("finding")
    if probes == 2:  # what is not as published is among the first
        assert {"opposite", "flips", "as"} <= {line.split()[1] for line in shown}
        assert all(
            f"{3 * len(VERDICTS) - 3 - len(shown) // 2} more findings; 3 without a verdict" in head for head in heads
        )


def test_lines_with_a_mark_come_before_undecided_ones(tmp_path):
    verdicts = {n: "holds for this checkpoint" if n % 10 == 9 else "undecided" for n in range(60)}
    rows = [estimate("solo", f"c{n:02}", 0.6, verdict) for n, verdict in verdicts.items()]
    lines = printed(run(tmp_path, [made_runs.card("solo")], [*rows, estimate("solo", "x", 0.5, probe="others")]))
    shown = [line.split()[0] for line in lines if line.startswith("  c")]
    assert {f"c{n}:" for n in ("09", "19", "29", "39", "49", "59")} < set(shown)
    assert shown == sorted(shown)


def test_a_narrow_terminal_has_its_own_width(tmp_path):
    claims = [claim("solo", "one", 0.2, "as published", statement="words " * 20)]
    lines = printed(run(tmp_path, [made_runs.card("solo")], [estimate("solo", "age", 0.5)], claims), width=80)
    assert max(len(line) for line in lines[:-2]) <= 80


def test_a_run_without_any_claim_or_number_says_what_was_asked(tmp_path):
    found = run(tmp_path, [made_runs.card("solo")], [estimate("solo", "age", float("nan"), "not applicable")])
    assert "pairs: 4 of 4 scored; 1 without a verdict" in printed(found)


def comparison(rows, precision=None):
    plain = {"probe": "pairs", "unit": "share", "n_items": 1508, "n_groups": 40, "n_seeds_a": 3, "n_seeds_b": 3}
    plain |= {"p_corrected": 0.2, "p_permutation": 0.25, "seeds_needed": 4.0, "verdict": "undecided", "title": "t"}
    ends = [{"low": row["a"] - row["b"] - 0.02, "high": row["a"] - row["b"] + 0.02} for row in rows]
    told = [{**plain, "difference": row["a"] - row["b"], **end, **row} for row, end in zip(rows, ends, strict=True)]
    return Comparison("one", "other", pd.DataFrame(told), pd.DataFrame(told), precision)


def compared(found) -> list[str]:
    console = Console(width=100, record=True, highlight=False)
    show_comparison(found, "all.csv", console)
    return console.export_text().splitlines()


def test_a_comparison_has_both_numbers_their_difference_and_what_it_would_take():
    rows = [
        {"row": "age", "a": 0.52, "b": 0.49, "p_corrected": 0.0001, "verdict": "holds"},
        {"row": "race", "a": 0.50, "b": 0.50, "seeds_needed": None},
    ]
    lines = compared(comparison(rows))
    assert lines[0] == "a: one; b: other; on the items both scored, shares in percent"
    assert lines[1].split() == ["a", "b", "a", "−", "b", "[95", "%]", "p", "permuted", "seeds"]
    assert lines[2] == "pairs: 1,508 items in 40 groups"
    assert cells(lines, "age: t") == ["52", "%", "49", "%", "+3.0", "[+1.0,", "+5.0]*", "<0.001", "0.250", "4"]
    assert cells(lines, "race: t") == ["50", "%", "50", "%", "0.0", "[−2.0,", "+2.0]", "0.200", "0.250", "–"]
    assert lines[-1] == "1 of 2 differences hold; all: all.csv"
    assert "seeds: needed of each side for intervals of ± 0.02; –: never with these items" in compared(
        comparison(rows, 0.02)
    )


@pytest.mark.parametrize(("seeds", "said"), [((3, 1), True), ((2, 2), True), ((3, 5), False), ((1, 1), False)])
def test_too_few_seeds_are_told(seeds, said):
    row = {"row": "age", "a": 0.52, "b": 0.49, "n_seeds_a": seeds[0], "n_seeds_b": seeds[1]}
    lines = compared(comparison([row]))
    assert any(line.startswith("too few seeds on one side or both") for line in lines) is said
    assert any(line.startswith("seeds: needed") for line in lines) is (min(seeds) > 1)


def test_models_that_begin_alike_are_told_apart(tmp_path):
    names = [f"some-organisation-model-of-seed-{n}" for n in range(3)]
    rows = [estimate(name, "age", 0.5) for name in names]
    lines = printed(run(tmp_path, [made_runs.card(name) for name in names], rows), width=80)
    assert [name[-6:] for name in lines[1].split()[-3:]] == ["seed-0", "seed-1", "seed-2"]


def test_ties_are_given_as_the_reason_where_nothing_can_be_compared():
    found = comparison([{"row": "age", "a": 0.52, "b": 0.49}])
    silent = found.table.assign(probe="silent", verdict="low coverage")
    lines = compared(replace(found, table=pd.concat([found.table, silent])))
    assert "silent: mostly ties on one side or both" in lines


def test_the_step_that_stands_for_a_training_is_named():
    found = replace(comparison([{"row": "age", "a": 0.52, "b": 0.49}]), a="run", b="mini", steps=(10000, None))
    assert compared(found)[0].startswith("a: run at step 10,000; b: mini; on the items both scored")


def test_probes_with_nothing_to_compare_are_named():
    found = comparison([{"row": "age", "a": 0.52, "b": 0.49}])
    silent = found.table.assign(probe="silent", verdict="not applicable")
    lines = compared(replace(found, table=pd.concat([found.table, silent]), apart=("others", "more")))
    assert "silent: too few items that both scored" in lines
    assert "not asked alike of both: others, more" in lines


def test_single_checkpoints_need_no_seeds_and_what_holds_is_never_cut():
    rows = [{"row": f"c{n:02}", "a": 0.52, "b": 0.49, "n_seeds_a": 1, "n_seeds_b": 1} for n in range(60)]
    rows[55]["verdict"] = "holds for this checkpoint"
    lines = compared(comparison(rows))
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 100
    assert "seeds" not in lines[1]
    assert not any(line.startswith("seeds") for line in lines)
    assert cells(lines, "c55: t")[-3].endswith("]*")
    assert "pairs: 1,508 items in 40 groups; 35 more findings" in lines

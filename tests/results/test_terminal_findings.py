"""Several probes on one screen: every finding with its number and mark, those that decide most where room is short."""

from __future__ import annotations

import pytest
from rich.console import Console

import made_runs
from trueprobe.results.render import markdown, page
from trueprobe.results.render.fitting import MOST_LINES
from trueprobe.results.render.terminal import show
from trueprobe.results.text import verdicts
from trueprobe.results.view.report import Report
from trueprobe.runs.folder import load_run
from trueprobe.types import Direction, Verdict

VERDICTS = (
    Verdict.UNDECIDED,
    Verdict.AS_PUBLISHED,
    Verdict.OPPOSITE,
    Verdict.FLIPS,
    Verdict.NOTHING_SCORED,
    Verdict.NOT_CONTRADICTED,
)


def estimate(model, category, value, verdict=Verdict.UNDECIDED, **more):
    return made_runs.estimate(model, "preference", value, category=category, verdict=verdict, **more)


def claim(model, name, value, verdict, level="checkpoint", **more):
    return made_runs.claim(model, name, value, verdict, level=level, **more)


def run(tmp_path, cards, estimates, claims=(), labels=("pairs", "others")):
    return load_run(made_runs.write(tmp_path / "run", cards, list(estimates), list(claims), labels=labels))


def printed(loaded, width=100) -> list[str]:
    console = Console(width=width, height=40, record=True, highlight=False)
    show(loaded, console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def cells(lines, start) -> list[str]:
    return next(line for line in lines if line.strip().startswith(start)).strip()[len(start) :].split()


def test_a_column_for_each_model_with_interval_and_mark(tmp_path):
    cards = [*made_runs.family("toy", 3), made_runs.card("solo")]
    claims = [
        claim("toy", "one", 0.2, Verdict.AS_PUBLISHED, "family"),
        claim("toy-seed0", "one", 0.9, Verdict.OPPOSITE),
        claim("solo", "one", -0.2, Verdict.OPPOSITE),
        claim("toy", "two", 0.0, Verdict.UNDECIDED, "family"),
        claim("solo", "share", 0.22, Verdict.OPPOSITE, direction=Direction.BELOW, threshold=0.1, unit="share"),
    ]
    lines = printed(run(tmp_path, cards, [estimate("solo", "age", 0.5)], claims))
    assert lines[0].startswith(
        "One is so, toy +20.0 points [+10.0, +30.0]. Contradicts the paper: “one is so”, solo −20.0"
    )
    assert lines[2] == "asked: toy, 3 seeds; solo"
    assert " ".join(lines[3].split()) == "finding (shares in percent); 95 % intervals toy solo"
    assert cells(lines, "one is so") == ["+20.0", "[+10.0,", "+30.0]*", "−20.0", "[−30.0,", "−10.0]!"]
    assert cells(lines, "two is so") == ["0.0", "[−10.0,", "+10.0]"]
    assert cells(lines, "share is so") == ["22", "%", "[12,", "32]!"]
    assert "* as published, or holds; ! opposite; no mark: undecided or no verdict; – nothing to count" in lines


def test_coverage_stands_beside_each_number_that_has_one(tmp_path):
    claims = [
        claim("solo", "one", 0.2, Verdict.AS_PUBLISHED, covered=0.84),
        claim("solo", "two", 0.2, Verdict.LOW_COVERAGE, covered=0.031),
    ]
    loaded = run(tmp_path, [made_runs.card("solo")], [estimate("solo", "age", 0.5)], claims)
    lines = printed(loaded)
    assert cells(lines, "one is so") == ["+20.0", "[+10.0,", "+30.0]*", "(84", "%)"]
    assert verdicts.COVERED in lines
    assert "(84 % covered), as published" in markdown.render(Report.of(loaded)).replace("\\", "")
    assert '<span class="covered">(84 %)</span>' in page.html(loaded)
    plain = run(tmp_path / "plain", [made_runs.card("solo")], [estimate("solo", "age", 0.5)], claims[:0])
    assert verdicts.COVERED not in printed(plain)


def test_what_a_probe_measures_stands_beside_claims_over_seeds(tmp_path):
    rows = [
        estimate("toy", "age", 0.7, Verdict.HOLDS, level="family"),
        estimate("toy", "race", 0.52, level="family"),
        estimate("toy", "size", float("nan"), Verdict.NOTHING_SCORED, level="family"),
    ]
    claims = [claim("toy", "varies", 0.03, Verdict.AS_PUBLISHED, "family")]
    lines = printed(run(tmp_path, made_runs.family("toy", 3), rows, claims))
    assert "pairs: 12 of 12 scored; 1 without a verdict" in lines
    assert cells(lines, "varies is so") == ["+3.0", "[−7.0,", "+13.0]*"]
    assert cells(lines, "age: prefers stereotype") == ["70", "%", "[60,", "80]*"]
    assert cells(lines, "race: prefers stereotype") == ["52", "%", "[42,", "62]"]


def test_two_models_and_several_probes_have_lines_of_their_own(tmp_path):
    cards = [made_runs.card("big"), made_runs.card("small")]
    claims = [
        claim("big", "one", 0.2, Verdict.AS_PUBLISHED),
        claim("big against small", "larger", 0.3, Verdict.OPPOSITE, "pair"),
        claim("small", "both", 0.1, Verdict.FLIPS, probe="pairs, others"),
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
    claims = [claim("a", "one", 0.2, Verdict.FAILS_GATE), claim("b", "one", 0.2, Verdict.UNDECIDED)]
    cards = [made_runs.card("a"), made_runs.card("b")]
    lines = printed(run(tmp_path, cards, [estimate("a", "age", 0.5)], claims))
    assert "pairs: 8 of 8 scored; failing the gate: a" in lines
    assert cells(lines, "one is so") == ["–", "+20.0", "[+10.0,", "+30.0]"]


@pytest.mark.parametrize(("probes", "models"), [(2, 1), (2, 3), (2, 14), (9, 2), (9, 6), (30, 1)])
def test_however_many_probes_models_and_claims_it_is_thirty_lines_of_a_hundred_columns(probes, models, tmp_path):
    labels = ["pairs", *(f"probe{n}" for n in range(1, probes))]
    names = [f"organisation-model-{n}-of-many" for n in range(models)]
    statement = "a finding that takes so many words that they do not find room beside its numbers, whatever is done"
    claims = [
        claim(name, f"{verdict}_{n}", 0.123, verdict, probe=label, statement=f"{n} {verdict} {statement}")
        for label in labels
        for verdict in VERDICTS
        for n in range(3)
        for name in names
    ]
    loaded = run(tmp_path, [made_runs.card(name) for name in names], [], claims, labels)
    *lines, folder = printed(loaded)
    assert len(lines) + 1 <= MOST_LINES
    assert max(map(len, lines)) <= 100
    assert folder.startswith("run folder: ")
    heads = [line for line in lines if "scored" in line]
    assert (len(heads) == probes) is not any(
        line.endswith("more probes: claims.csv, estimates/*.csv") for line in lines
    )
    shown = [line for line in lines if line.startswith("  ")]
    assert len(lines) + 1 == MOST_LINES
    assert sum(line.startswith("finding (") for line in lines[:8]) == 1
    if probes == 2:  # what is not as published is among the first
        assert {"opposite", "flips", "as_published"} <= {line.split()[1] for line in shown}
        assert all("more findings; 3 without a verdict" in head for head in heads)
        more = sum(int(head.partition(" more findings")[0].split()[-1]) for head in heads)
        assert more == 2 * (3 * len(VERDICTS) - 3) - len(shown)


def test_lines_with_a_mark_come_before_undecided_ones(tmp_path):
    verdicts = {n: Verdict.HOLDS_FOR_CHECKPOINT if n % 10 == 9 else Verdict.UNDECIDED for n in range(60)}
    rows = [estimate("solo", f"c{n:02}", 0.6, verdict) for n, verdict in verdicts.items()]
    lines = printed(run(tmp_path, [made_runs.card("solo")], [*rows, estimate("solo", "x", 0.5, probe="others")]))
    shown = [line.split()[0] for line in lines if line.startswith("  c")]
    assert {f"c{n}:" for n in ("09", "19", "29", "39", "49", "59")} < set(shown)
    assert shown == sorted(shown)


def test_a_narrow_terminal_has_its_own_width(tmp_path):
    claims = [claim("solo", "one", 0.2, Verdict.AS_PUBLISHED, statement="words " * 20)]
    lines = printed(run(tmp_path, [made_runs.card("solo")], [estimate("solo", "age", 0.5)], claims), width=80)
    assert max(len(line) for line in lines[:-2]) <= 80


def test_a_run_without_any_claim_or_number_says_what_was_asked(tmp_path):
    loaded = run(tmp_path, [made_runs.card("solo")], [estimate("solo", "age", float("nan"), Verdict.NOTHING_SCORED)])
    assert "pairs: 4 of 4 scored; 1 without a verdict" in printed(loaded)


def test_models_that_begin_alike_are_told_apart(tmp_path):
    names = [f"some-organisation-model-of-seed-{n}" for n in range(3)]
    rows = [estimate(name, "age", 0.5) for name in names]
    lines = printed(run(tmp_path, [made_runs.card(name) for name in names], rows), width=80)
    (head,) = (line for line in lines if line.startswith("finding"))
    assert [name[-6:] for name in head.split()[-3:]] == ["seed-0", "seed-1", "seed-2"]


def test_what_holds_against_the_stereotype_is_named(tmp_path):
    holds = Verdict.HOLDS_FOR_CHECKPOINT
    rows = [estimate("solo", "age", 0.7, holds), estimate("solo", "race", 0.3, holds)]
    summary = made_runs.replace(made_runs.SUMMARY, below="against the stereotype")
    probe = made_runs.declaration(summary=summary)
    folder = made_runs.write(tmp_path / "run", [made_runs.card("solo")], rows, [], probe, labels=("pairs", "others"))
    assert "* against the stereotype: pairs race" in printed(load_run(folder))


def test_where_no_finding_stands_its_reason_does(tmp_path):
    claims = [claim("solo", f"c{n}", 0.1, Verdict.TOO_FEW_GROUPS) for n in range(3)]
    probe = made_runs.declaration(items_needed=366)
    cards = [made_runs.card("solo")]
    folder = made_runs.write(tmp_path / "run", cards, [], claims, probe, labels=("pairs", "others"))
    lines = printed(load_run(folder), 80)
    heading = next(i for i, line in enumerate(lines) if line.startswith("pairs: "))
    assert lines[heading + 1] == "  too few groups because of the limit; at least 366 items are needed"

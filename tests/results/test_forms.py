"""Numbers of different variants, forms or heads share no finding, no table, no picture: families that were scored in
their own ways stand apart. Numbers of one form stay together."""

from __future__ import annotations

import pytest

import made_runs
from trueprobe import probes
from trueprobe.probes import Figure, Table
from trueprobe.results.view import Report
from trueprobe.runs import load_run

FIGURE = Figure("shares", "Shares", "By category.", ("preference",), "category", "dots", panels=("model",))
SEEDS = Table("seeds", "Over seeds", "", "estimates", ("category",), ("preference",), seeds=True)


def report(folder, variants, seeds=1):
    cards = [
        card for name in variants for card in (made_runs.family(name, seeds) if seeds > 1 else [made_runs.card(name)])
    ]
    rows = [
        made_runs.estimate(name, "preference", 0.6, category=category, variant=variant, n_seeds=seeds,
                           level="family" if seeds > 1 else "checkpoint")
        for name, variant in variants.items()
        for category in ("all", "age")
    ]  # fmt: skip
    probe = made_runs.declaration(figures=(FIGURE,), tables=(SEEDS,))
    return Report.of(load_run(made_runs.write(folder / "run", cards, rows, probe=probe)))


def together(mine):
    """The models that stand in one place: of findings, tables, pictures."""
    yield from ({n.model for n in finding.numbers} for finding in mine.findings)
    for grid in mine.grids:
        if grid.name.startswith("pairs-"):
            yield {cell.number.model for row in grid.rows for cell in row if cell.number}
    for view in mine.figures:
        yield from ({point.number.model for point in picture.every} for picture in view.pictures)


@pytest.mark.parametrize("seeds", [1, 3])
def test_families_of_two_variants_share_no_finding_table_or_picture(tmp_path, seeds):
    mine = report(tmp_path, {"bert": "shared", "gpt": "sentence"}, seeds)
    places = list(together(mine))
    assert {"bert"} in places
    assert {"gpt"} in places
    assert all(len(place) <= 1 for place in places)
    assert "all (shared): prefers stereotype" in {finding.statement for finding in mine.findings}


def test_families_of_one_variant_share_them(tmp_path):
    mine = report(tmp_path, {"bert": "shared", "roberta": "shared"})
    assert {"bert", "roberta"} in list(together(mine))
    assert {finding.statement for finding in mine.findings} == {"all: prefers stereotype", "age: prefers stereotype"}


def test_pool_of_stereosets_tasks_never_mixes_continuations_with_a_next_sentence_head():
    measures = probes.make("stereoset", {"data": "sample"}).measures()
    kinds = {m.conditions["task"]: m.kinds for m in measures if m.name == "ss"}
    assert kinds["both"] == ("masked",)
    assert kinds["sentence_and_continuation"] == ("causal",)

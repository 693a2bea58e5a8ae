"""Running explorers on small random networks: a masked family of two seeds and a causal model; and a run of theirs."""

from __future__ import annotations

import pytest

import explorers
import trueprobe
import zoo
from trueprobe.runs.study import ProbeRun, Study


@pytest.fixture(scope="session")
def toy_specs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    for seed in range(2):
        zoo.save("bert", folder / "toy" / f"seed_{seed}", model_seed=seed)
    zoo.save("gpt2", folder / "gpt2")
    return [f"toy={folder}/toy/seed_*", str(folder / "gpt2")]


@pytest.fixture(scope="session")
def explorer(toy_specs, tmp_path_factory):
    with explorers.serving(toy_specs, store=tmp_path_factory.mktemp("served") / "answers.sqlite") as served:
        yield served


@pytest.fixture(scope="session")
def toy_run(toy_specs, tmp_path_factory):
    """Its answers are in a store of its own: what the explorer shows is computed anew."""
    folder = tmp_path_factory.mktemp("explored")
    names = {"counteracts": {}, "crows_pairs": {"data": "sample"}, "distractors": {}, "cloze": {}}
    probes = tuple(ProbeRun(name=name, settings=settings) for name, settings in names.items())
    study = Study(title="toys", probes=probes, models=tuple(toy_specs), limit=40)
    return trueprobe.run(study, out=folder / "run", store=folder / "run.sqlite")


@pytest.fixture(scope="session")
def browser_of_run(toy_specs, toy_run, tmp_path_factory):
    """The same with the run to browse."""
    with explorers.serving(toy_specs, toy_run.folder, tmp_path_factory.mktemp("served") / "answers.sqlite") as served:
        yield served

"""Fixtures: checkpoints made once per test session, and a cache folder that is never the user's."""

from __future__ import annotations

import os
from types import SimpleNamespace

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["OMP_NUM_THREADS"] = "1"  # of processes that tests start, too: last bits differ with the number of threads

import pytest
import torch
from hypothesis import HealthCheck, settings
from transformers.utils import logging

import zoo
from trueprobe.runs import folder
from trueprobe.statistics import Measure
from trueprobe.statistics.means import means

# the same examples each time, on a busy machine too
settings.register_profile("everywhere", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("everywhere")

pytest_plugins = ["explorers"]

logging.set_verbosity_error()
logging.disable_progress_bar()
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """checkpoint("bert") is the folder of a small random network, made when first asked for."""
    root = tmp_path_factory.mktemp("checkpoints")

    def make(name: str):
        folder = root / name
        return folder if folder.exists() else zoo.save(name, folder)

    return make


@pytest.fixture(scope="session")
def opened(checkpoint):
    """opened("bert") is that network as a model; the same one each time."""
    from trueprobe.models import open_model

    models = {}

    def make(name: str):
        if name not in models:
            models[name] = open_model(str(checkpoint(name)))
        return models[name]

    return make


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def probe_again(monkeypatch):
    """The probe of made runs: the mean of its one column over items."""
    measures = [Measure("preference", means, ("preference_nats",), unit="nats", neutral=0.0)]
    settings = SimpleNamespace(resample_seed=0)
    made = SimpleNamespace(
        measures=lambda: measures, factors=("item",), drawn_within=(), settings=settings, corrected_over=()
    )
    monkeypatch.setattr(folder, "make_again", lambda entry, allow_code: made)

"""Explorers served in a thread, on small random networks: a masked family of two seeds and a causal model."""

from __future__ import annotations

import http.client
import json
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import zoo

ENDS_WITHIN = 60  # seconds, on a machine that does other things, too


@dataclass(frozen=True)
class Served:
    """How it is asked without a browser."""

    address: Any

    @property
    def url(self) -> str:
        return self.address.url

    def send(self, method, path, body=None, *, token=None, **headers):
        """Status, headers and body; a header given as None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=60)
        named = {"Host": f"127.0.0.1:{self.address.port}", "Content-Type": "application/json"}
        named |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        connection.putrequest(method, f"/{self.address.token if token is None else token}{path}", skip_host=True)
        for name, value in named.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, dict(response.headers), content

    def get(self, path):
        status, _, content = self.send("GET", path)
        assert status == 200, content
        return json.loads(content)

    def post(self, path, question, status=200):
        got, _, content = self.send("POST", path, json.dumps(question).encode())
        assert got == status, content
        return json.loads(content)

    def ask(self, path, question):
        """Of each checkpoint its line."""
        status, _, content = self.send("POST", path, json.dumps(question).encode())
        assert status == 200, content
        lines = [json.loads(line) for line in content.splitlines()]
        assert lines[-1] == {"end": True}, lines[-1]
        return {line["model"]: line for line in lines if "model" in line}

    def refusal(self, path, question):
        """What is refused when it is read has the status 400; what is refused when it is asked, a last line."""
        status, _, content = self.send("POST", path, json.dumps(question).encode())
        last = json.loads(content.splitlines()[-1])
        assert status == 400 or (status == 200 and list(last) == ["error"]), content
        return last["error"]


@contextmanager
def serving(specs, run=None, store=None, host="127.0.0.1"):
    from trueprobe.explore import Serving, find_models, prepare
    from trueprobe.runs.folder import load_run

    chosen = Serving(specs, load_run(run) if run else None, store=store, host=host)
    prepared = prepare(chosen, find_models(chosen))
    thread = threading.Thread(target=prepared.run, daemon=True)
    thread.start()
    while not prepared.server.started:
        time.sleep(0.01)
    yield Served(prepared.address)
    prepared.server.should_exit = True
    thread.join(timeout=ENDS_WITHIN)
    if thread.is_alive():  # tests of the command hold that it ends
        prepared.server.force_exit = True
        warnings.warn(f"an explorer did not end within {ENDS_WITHIN} seconds", stacklevel=2)


@pytest.fixture(scope="session")
def toy_specs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    for seed in range(2):
        zoo.save("bert", folder / "toy" / f"seed_{seed}", model_seed=seed)
    zoo.save("gpt2", folder / "gpt2")
    return [f"toy={folder}/toy/seed_*", str(folder / "gpt2")]


@pytest.fixture(scope="session")
def explorer(toy_specs, tmp_path_factory):
    with serving(toy_specs, store=tmp_path_factory.mktemp("served") / "answers.sqlite") as served:
        yield served


@pytest.fixture(scope="session")
def toy_run(toy_specs, tmp_path_factory):
    """Its answers are in a store of its own: what the explorer shows is computed anew."""
    import trueprobe
    from trueprobe.runs.study import ProbeRun, Study

    folder = tmp_path_factory.mktemp("explored")
    names = {"counteracts": {}, "crows_pairs": {"data": "sample"}, "distractors": {}, "cloze": {}}
    probes = tuple(ProbeRun(name=name, settings=settings) for name, settings in names.items())
    study = Study(title="toys", probes=probes, models=tuple(toy_specs), limit=40)
    return trueprobe.run(study, out=folder / "run", store=folder / "run.sqlite")


@pytest.fixture(scope="session")
def browser_of_run(toy_specs, toy_run, tmp_path_factory):
    """An explorer with the run to browse."""
    with serving(toy_specs, toy_run.folder, tmp_path_factory.mktemp("served") / "answers.sqlite") as served:
        yield served

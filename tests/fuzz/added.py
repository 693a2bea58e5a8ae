"""More targets: plans, associations, folders of a sensitivity analysis, whole runs, and the replies of servers."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import toy_association
import zoo
from fake_servers import Fake, listening

KINDS = ("vllm", "llamacpp", "other")
_REQUESTS = 3

# ---------------------------------------------------------------- plans


def _study(title: str = "mine") -> Any:
    from trueprobe.runs.binding import PlannedEntry, PlannedStudy

    entry = PlannedEntry(name="pairs", label="pairs", settings={"data": "example"})
    return PlannedStudy(title=title, probes=(entry,), models=("fam=m-seed_{0..2}",), per_group=2, axes=("length",))


def planned() -> Any:
    from trueprobe.runs.binding import BindingPlan, ExpectedNumber

    number = ExpectedNumber(family="fam", number="preference", unit="points", effect=5.0, width=8.0, power=0.5)
    return BindingPlan(
        date="2026-01-01",
        trueprobe="0.1.0",
        alpha=0.05,
        list=("primary",),
        n_list=2,
        questions=("Does it prefer the stereotype?",),
        seeds={"fam": 3},
        items={"pairs": 4},
        numbers=(number,),
        study=_study(),
    ).with_hash()


def make_plan(folder: Path) -> None:
    from trueprobe.runs.binding import toml

    (folder / "plan.toml").write_text(toml(planned(), _study()), encoding="utf-8")
    for seed in range(3):
        zoo.save("bert", folder.parent / f"m-seed_{seed}", model_seed=seed)


def enter_plan(folder: Path, rng: random.Random) -> None:
    from trueprobe.runs.binding import BindingPlan
    from trueprobe.runs.plan import plan_run

    whoever_edits_it_hashes_it = mock.patch.object(BindingPlan, "intact", True)
    models = [f"fam={folder.parent}/m-seed_{{0..2}}"] if rng.random() < 0.7 else []
    if rng.random() < 0.7:
        with whoever_edits_it_hashes_it:
            plan_run([str(folder / "plan.toml")], models)
    else:
        plan_run([str(folder / "plan.toml")], models)


# ---------------------------------------------------------------- associations, and what an analysis leaves


def make_association(folder: Path) -> None:
    toy_association.write(folder)


def enter_association(folder: Path, rng: random.Random) -> None:
    from trueprobe import probes
    from trueprobe.sensitivity import associations, pointing

    association = associations.read(str(folder / "toy.toml"))
    dealt, out = association.assignment(rng.randrange(3)), folder.parent / "material"
    for name in pointing.pointed(association):
        settings = pointing.settings(name, association, dealt, out)
        probes.make(name, settings).items()
    for frame in association.frames.planted:
        association.target_first(frame)
        for target in association.everyone[:2]:
            for pair in association.slots[association.slot_of(frame)]:
                association.fill(frame, target, pair[0])


def _analysis(folder: Path) -> Any:
    from trueprobe.sensitivity import Analysis, Request

    around = folder.parent / "around"
    if not around.exists():
        around.mkdir()
        toy_association.checkpoint(around)
        toy_association.write(around)
        toy_association.filler(around)
    (model,) = (str(path) for path in around.iterdir() if path.is_dir())
    association, filler = str(around / "toy.toml"), str(around / "neutral.txt")
    more = {"assignments": 1, "seeds": 2, "relabellings": 2, "doses": (0.0, 0.5, 1.0)}
    return Analysis(Request(probes=(), model=model, association=association, out=folder, filler=filler, **more))


def make_analysis(folder: Path) -> None:
    from trueprobe.paths import write_text
    from trueprobe.sensitivity import rows
    from trueprobe.sensitivity.rows import MeasuredRow, PlantedRow
    from trueprobe.types import Verdict

    analysis = _analysis(folder)
    write_text(folder / "setup.json", json.dumps(analysis.setup))
    recipe = {"steps": 160, "learning_rate": 1e-3, "embedding_rate": 10.0}
    write_text(folder / "recipe.json", json.dumps(recipe))
    check = {"nats": 1.0, "auc": 1.0}
    planting = {"share": 1.0, "recipe": recipe, "tokens": 9, "before": check, "check": check}
    planting |= {"filler_loss_before": 3.0, "filler_loss": 3.1}
    for start in analysis.starts:
        for place in analysis.folders(0, start):
            place.mkdir(parents=True)
            write_text(place / "planting.json", json.dumps({"seed": start.seed, **planting}))
    doses, seeds = analysis.request.doses, [start.seed for start in analysis.starts]
    planted = [PlantedRow(assignment=0, seed=s, dose=d, nats=d + 0.01 * s, auc=1.0) for s in seeds for d in doses]
    rows.write(analysis.folder(0) / rows.PLANTED, planted, PlantedRow)
    plain = {"probe": "pairs", "measure": "difference", "neutral": 0.0, "n_items": 20, "n_groups": 16, "n_seeds": 1}
    plain |= {"verdict": Verdict.UNDECIDED, "level": "checkpoint"}
    every = [MeasuredRow(**plain, **_number(0, s, d)) for s in seeds for d in doses]
    every += [MeasuredRow(**{**plain, "level": "family", "n_seeds": 2}, **_number(0, -1, d)) for d in doses]
    rows.write(analysis.folder(0) / rows.MEASURED, every, MeasuredRow)
    rows.write(folder / rows.RELABELLED, [replace(row, assignment=1000 + row.assignment) for row in every], MeasuredRow)


def _number(assignment: int, seed: int, dose: float) -> dict[str, Any]:
    value = dose + 0.01 * seed
    return {"assignment": assignment, "seed": seed, "dose": dose, "manipulation": value, "value": value} | {
        "low": value - 0.1,
        "high": value + 0.1,
    }


def enter_analysis(folder: Path, rng: random.Random) -> None:
    """What `sensitivity` reads of a folder in which everything is done."""
    from trueprobe.sensitivity import Result, session, trained

    analysis = _analysis(folder)
    session._refuse_other(folder, analysis.setup)
    if (folder / trained.RECIPE).is_file():
        trained._recipe(analysis)
    trained._checked(analysis, 0, analysis.starts)
    result = Result.of(analysis, None)
    result.write()
    list(result.lines())


# ---------------------------------------------------------------- a run that was made by running


def make_whole_run(folder: Path) -> None:
    import trueprobe

    models = [f"fam={folder.parent}/m-seed_{{0..1}}"]
    for seed in range(2):
        zoo.save("bert", folder.parent / f"m-seed_{seed}", model_seed=seed)
    store = folder.parent / "store.sqlite"
    chosen, settings = ["crows_pairs", "counteracts"], {"data": "sample"}
    run = trueprobe.run(chosen, models, folder.parent / "run", settings=settings, limit=24, store=store)
    shutil.copytree(run.folder, folder, dirs_exist_ok=True)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["study"]["plan"] = planned().model_dump(mode="json")
    (folder / "manifest.json").write_text(json.dumps(manifest))


WHOLE = {
    "multiverse --figures none --probe crows_pairs": 3,
    "plan crows_pairs --effect 5 --from-run": 3,
    "report --format markdown": 3,
    "report --format html": 1,
    "gate --rule crows_pairs:stereotype_score<1 --against {folder}": 1,
    "verbalizer": 1,
    "browse": 3,
}


def enter_whole_run(command: Callable[..., None], folder: Path, rng: random.Random) -> None:
    manifest = folder / "manifest.json"
    if rng.random() < 0.7:  # whoever changes a table can change its checksum
        try:
            content = json.loads(manifest.read_bytes())
            content["checksums"] = {}
            manifest.write_text(json.dumps(content))
        except (ValueError, TypeError, RecursionError):
            pass
    (line,) = rng.choices(list(WHOLE), list(WHOLE.values()))
    if line == "browse":
        return _browse(folder)
    name, *options = line.format(folder=folder).split()
    if name == "multiverse":
        options += ["--store", str(folder.parent / "store.sqlite")]
    if name == "plan":
        return command(*("plan", *options, str(folder)))
    from trueprobe.multiverse import count

    with mock.patch.object(count, "joint", partial(count.joint, most=200)):  # of 10,000 relabellings
        command(name, str(folder), *options)
    return None


def _browse(folder: Path) -> None:
    from trueprobe.explore.browsing import Browsing
    from trueprobe.runs.folder import load_run

    run = load_run(folder)
    browsing = Browsing(run)
    browsing.findings()
    for label in run.probes:
        browsing._items_of(label)


# ---------------------------------------------------------------- servers


def make_replies(kind: str, folder: Path) -> None:
    """The replies of a made-up server, one file for each page, as it gives them to the first requests."""
    model = _model(folder)
    fake = Fake(kind, str(model))
    seen: dict[str, Any] = {}

    def keep(path: str, reply: Any) -> Any:
        seen.setdefault(_file(path, fake.calls[-1][1]), reply)
        return reply

    fake.lie = keep
    with listening(fake):
        served = _open(f"{fake.spec()}&parallel=1")
        served.answer(_questions())
    (folder.parent / "true").mkdir(exist_ok=True)
    for name, reply in seen.items():
        for place in (folder, folder.parent / "true"):
            (place / name).write_text(json.dumps(reply), encoding="utf-8")


def _model(folder: Path) -> Path:
    model = folder.parent / "small"
    if not model.exists():
        zoo.save_llama(model, folder.parent / "small.gguf")
    return model


@cache
def _network(kind: str, model: str) -> Fake:
    return Fake(kind, model)


def _file(path: str, body: dict[str, Any]) -> str:
    """`/v1/completions` with prompt_logprobs -> completions-prompt.json"""
    what = "-prompt" if "prompt_logprobs" in body or body.get("echo") else ""
    return f"{path.rpartition('/')[2]}{what}.json"


def _open(spec: str) -> Any:
    from trueprobe.models import Options, examine, find
    from trueprobe.permissions import ServerAccess

    options = Options(servers=ServerAccess.WITHOUT_KEY)
    (source,) = find([spec], options)
    return examine(source, options).open()


def _questions() -> list[Any]:
    from trueprobe.types import FillBlank, ScoreText

    return [FillBlank("The nurse met the ", words=("man", "woman")), ScoreText("The nurse was late.", ranks=True)]


def enter_replies(kind: str, folder: Path, rng: random.Random) -> None:
    """Every page answers truly but the mutated one: at any of its first calls, or from a request after the examination
    on."""
    import numpy as np

    from trueprobe.models.served import client
    from trueprobe.types import Filled, Scored

    fake, later = _network(kind, str(_model(folder))), rng.random() < 0.5
    unchanged, examined = {path.name: path.read_bytes() for path in (folder.parent / "true").glob("*.json")}, False

    def once(self: Any, method: str, path: str, body: bytes | None) -> Any:
        asked = json.loads(body) if body else {}
        page = "/v1" + path if self.url.endswith("/v1") else path
        name = _file(page, asked)
        content = (folder / name).read_bytes() if (folder / name).exists() else None
        if content is not None and content != unchanged.get(name) and (examined or not later):
            return client._Received(200, content, "")
        reply = fake.answer(page, asked)
        return (
            client._Received(404, b"{}", "") if reply is None else client._Received(200, json.dumps(reply).encode(), "")
        )

    with mock.patch.object(client.Client, "_once", once), mock.patch.object(client, "PAUSES", (0.0,)):
        model = _open(f"served:http://127.0.0.1:1/v1#small?tokenizer={_model(folder)}&parallel=1")
        examined = True
        answers = model.answer(_questions())
    for answer in answers:
        assert isinstance(answer, Filled | Scored) or answer.code, answer
        if isinstance(answer, Scored):
            assert all(np.isfinite(t.logp) and t.logp < 0.01 for t in answer.tokens), answer

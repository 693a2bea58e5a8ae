"""No file sets a permission: code, pickles and the API key depend on the command line alone.

Each test plays a stranger who hands over a run folder or a study.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, Emu3ForCausalLM, Emu3TextConfig
from typer.main import get_command
from typer.testing import CliRunner

import toy_association
import trueprobe
import zoo
from fake_servers import Fake, listening
from materials import SKELETON
from trueprobe import probes
from trueprobe.cli import app
from trueprobe.errors import BadInput, FailedRun
from trueprobe.models import Options, examine, find, open_model
from trueprobe.models.served import client
from trueprobe.permissions import Permissions, ServerAccess
from trueprobe.runs.binding import BindingPlan, PlannedStudy, toml
from trueprobe.runs.folder import load_run
from trueprobe.runs.plan import plan_run
from trueprobe.runs.schema import TABLES
from trueprobe.runs.study import make_study, read_study
from trueprobe.sensitivity import associations
from trueprobe.sensitivity.plant import Planting, PlantRecipe
from trueprobe.sensitivity.rows import MeasuredRow, PlantedRow
from trueprobe.statistics.power import FacetVariances
from trueprobe.training.networks import continued
from trueprobe.types import ScoreText

KEY = "sk-very-secret"


def command(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def rewrite(folder, change) -> None:
    """Applies `change` to the study that the folder's manifest and local paths hold."""
    for name in ("manifest.json", "local.json"):
        content = json.loads((folder / name).read_text())
        change(content["study"])
        (folder / name).write_text(json.dumps(content))


def test_permissions_are_these_and_each_is_an_option():
    """A new permission is added here, to SECURITY.md, and to the attacks below."""
    assert [field.name for field in dataclasses.fields(Permissions)] == ["code", "pickle", "servers"]
    assert Permissions() == Permissions(code=False, pickle=False, servers=ServerAccess.REFUSED)
    options: dict[str, set[str]] = {}
    for name, one in commands():
        for option in (text for parameter in one.params for text in parameter.opts if text.startswith("--allow-")):
            options.setdefault(option, set()).add(name)
    of_comparisons = options.pop("--allow-unequal")  # permits nothing but a comparison of the user's numbers
    assert of_comparisons == {"compare", "gate"}
    assert options == {
        "--allow-code": {"run", "compare", "gate", "explore", "multiverse", "plan"},
        "--allow-pickle": {"run", "score", "explore", "verbalizer", "downstream", "check model", "multiverse", "plan"}
        | {"reproduce"},
        "--allow-servers": {"run", "explore", "verbalizer", "multiverse"},
    }
    promised = (Path(__file__).parents[1] / "SECURITY.md").read_text(encoding="utf-8")
    assert all(f"`{option}`" in promised for option in options)


def commands(group=None, prefix=""):
    for name, one in (group or get_command(app)).commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", one


def test_nothing_that_is_read_from_a_file_has_a_permission_among_its_fields():
    for module in pkgutil.walk_packages(trueprobe.__path__, "trueprobe."):
        if not module.name.endswith("__main__") and ".skeletons" not in module.name:
            importlib.import_module(module.name)
    schemas = list(subclasses(BaseModel))
    assert len(schemas) > 30
    permissions = {field.name for field in dataclasses.fields(Permissions)}
    for schema in schemas:
        named = {name for name in schema.model_fields if "allow" in name or name in permissions}
        assert not named, (schema, named)
    for row in (*TABLES.values(), PlantRecipe, Planting, PlantedRow, MeasuredRow, FacetVariances):
        assert not {
            field.name for field in dataclasses.fields(row) if "allow" in field.name or field.name in permissions
        }


def subclasses(base):
    for schema in base.__subclasses__():
        if schema.__module__.startswith("trueprobe."):
            yield schema
        yield from subclasses(schema)


# ---------------------------------------------------------------- code


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of two networks, to be changed in a copy."""
    folder = tmp_path_factory.mktemp("made")
    models = [str(zoo.save(name, folder / name)) for name in ("bert", "bert-no-next")]
    return trueprobe.run(["cloze", "counteracts"], models, folder / "run", limit=16, store=folder / "store").folder


def set_trap(file, mark):
    """A probe whose code leaves a mark."""
    file.write_text(f"{SKELETON}\nopen({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    return file


@pytest.fixture
def strangers(made, tmp_path, monkeypatch):
    """A copy of that run, beside and inside of which lies a file whose code leaves a mark."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path / "run")
    for place in ("trap.py", "run/trap.py"):
        set_trap(tmp_path / place, tmp_path / "mark")
    return tmp_path / "run"


def run_again(folder):
    return command("run", "--from", folder)


def compare(folder):
    return command("compare", folder, "--a", "bert", "--b", "bert-no-next")


def gate(folder):
    rule = "cloze: margin < 100"
    return command("gate", folder, "--rule", rule, "--against", folder, "--allow-unequal")


def verbalizer(folder):
    return command("verbalizer", folder)


def report(folder):
    return command("report", folder, "--format", "json")


def export(folder):
    return command("export", folder, "--signatures")


def multiverse(folder):
    return command("multiverse", folder, "--probe", "counteracts", "--figures", "none", "--store", folder.parent / "s")


def plan_from(folder):
    return command("plan", "cloze", "--from-run", folder, "--effect", "5")


def explore(folder):
    """Opens an item of each probe, as a click on the page does."""
    from trueprobe.explore.browsing import Browsing
    from trueprobe.explore.guard import ItemWanted

    browsing = Browsing(load_run(folder))
    for label in browsing.run.probes:
        browsing.question(ItemWanted(probe=label, item=str(browsing.run.items(label)["item"].iloc[0])))


def outcome(act, folder):
    """Its error, if it ended in one."""
    try:
        result = act(folder)
    except BadInput as error:
        return error
    return result.exception if result is not None and result.exit_code else None


ACTS = [run_again, compare, gate, verbalizer, report, export, explore, multiverse, plan_from]
NAMES = ["trap.py", "./trap.py", "run/trap.py", "{here}/run/trap.py", "run/../trap.py", "./run//trap.py"]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("number", [0, 1], ids=["cloze", "counteracts"])
@pytest.mark.parametrize("field", ["name", "file", "both"])
def test_a_run_folder_runs_no_code(act, number, field, strangers, tmp_path):
    for name in NAMES:
        path = name.format(here=tmp_path)

        def change(study, path=path):
            study["probes"][number] |= {key: path for key in ("name", "file") if field in (key, "both")}

        shutil.copyfile(tmp_path / "run" / "manifest.json", tmp_path / "manifest.before")
        shutil.copyfile(tmp_path / "run" / "local.json", tmp_path / "local.before")
        rewrite(strangers, change)
        error = outcome(act, strangers)
        assert not (tmp_path / "mark").exists(), (act.__name__, path, field)
        assert error is None or isinstance(error, BadInput), error
        if act in (run_again, compare):
            assert isinstance(error, BadInput)
        shutil.move(tmp_path / "manifest.before", tmp_path / "run" / "manifest.json")
        shutil.move(tmp_path / "local.before", tmp_path / "run" / "local.json")


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_the_unchanged_folder_needs_no_permission(act, strangers):
    error = outcome(act, strangers)
    assert error is None or (act is multiverse and "no answer store" in str(error)), error


def test_the_trap_works_where_the_user_allows_it(strangers, tmp_path):
    rewrite(strangers, lambda study: study["probes"][0].update(file="trap.py"))
    assert isinstance(compare(strangers).exception, BadInput)
    assert not (tmp_path / "mark").exists()
    result = command("compare", strangers, "--a", "bert", "--b", "bert-no-next", "--allow-code")
    assert "trap.py has no setting 'data'" in str(result.exception)
    assert (tmp_path / "mark").exists()


def test_a_plan_runs_no_code(tmp_path):
    """A stranger can write its hash, too."""
    trap = set_trap(tmp_path / "trap.py", tmp_path / "mark")
    entry = {"name": str(trap), "label": "", "settings": {}}
    study = PlannedStudy.model_validate({"probes": [entry], "models": ["nursery"]})
    portable = PlannedStudy.model_validate({"probes": [{**entry, "name": "trap.py"}], "models": ["nursery"]})
    plain = {"date": "2026-01-01", "trueprobe": "0.1.0", "alpha": 0.05, "list": [], "n_list": 0, "questions": []}
    plan = BindingPlan.model_validate({**plain, "seeds": {}, "items": {}, "numbers": [], "study": portable})
    (tmp_path / "plan.toml").write_text(toml(plan.with_hash(), study), encoding="utf-8")
    result = command("run", tmp_path / "plan.toml", "--out", tmp_path / "run")
    assert isinstance(result.exception, BadInput)
    assert "--allow-code" in str(result.exception)
    assert not (tmp_path / "mark").exists()


def test_an_association_runs_no_code(tmp_path):
    trap = set_trap(tmp_path / "trap.py", tmp_path / "mark")
    text = toy_association.TOML.replace('counteracts = "gender"', f'counteracts = "{trap}"')
    with pytest.raises(BadInput, match="trap"):
        associations.read(str(toy_association.write(tmp_path, text)))
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("manifest", ["there", "gone", "broken link"])
def test_a_run_folder_is_no_folder_of_probes(manifest, strangers, tmp_path):
    """Whoever forgets --from must not run what lies in it."""
    if manifest != "there":
        (strangers / "manifest.json").unlink()
    if manifest == "broken link":
        (strangers / "local.json").unlink()
        (strangers / "probes.json").unlink()
        (strangers / "manifest.json").symlink_to("nowhere")
    result = command("run", strangers, "--model", "nursery")
    assert f"is a run folder; to repeat the run: trueprobe run --from {strangers}" in str(result.exception)
    assert not (tmp_path / "mark").exists()


def test_a_study_names_a_file_without_its_ending(tmp_path):
    """Refused by what it names, not by the label that it lacks."""
    study = tmp_path / "study.toml"
    study.write_text('models = ["nursery"]\n[[probes]]\nname = "./trap"\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"no probe named '\./trap'"):
        make_study(str(study), allow_code=True)


@given(st.text(max_size=12).map(lambda text: f"{text}.py") | st.text(max_size=20))
def test_no_name_is_loaded_as_a_file_without_permission(name):
    if name in probes.names():
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("trueprobe.probes.loading._from_file", lambda name: pytest.fail(f"loaded {name}"))
        with pytest.raises(BadInput):
            probes.find(name)


def test_a_study_is_read_without_running_code_and_made_only_with_permission(tmp_path):
    trap = set_trap(tmp_path / "trap.py", tmp_path / "mark")
    study = tmp_path / "study.toml"
    study.write_text(f'models = ["nursery"]\n[[probes]]\nname = "{trap}"\n', encoding="utf-8")
    assert read_study(str(study)).probes[0].label == ""
    for refused in (make_study, plan_run, trueprobe.run):
        for named in (str(study), read_study(str(study))):
            with pytest.raises(BadInput, match=r"trap\.py .*--allow-code"):
                refused(named)
    assert isinstance(command("run", study).exception, BadInput)
    assert isinstance(command("run", study, "--shard", "1/2", "--store", tmp_path / "s").exception, BadInput)
    assert not (tmp_path / "mark").exists()
    assert [probe.label for probe in make_study(str(study), allow_code=True)[0].probes] == ["colours"]
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
@pytest.mark.parametrize("on", ["local", "ray"])
def test_workers_import_nothing_from_the_current_folder(on, tmp_path, monkeypatch):
    """`trueprobe run … --workers 2` inside somebody's folder; the model's path is relative."""
    zoo.save("bert", tmp_path / "here" / "bert")
    monkeypatch.chdir(tmp_path / "here")
    for name in ("trueprobe", "torch", "numpy", "json", "sitecustomize"):
        Path(f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n", encoding="utf-8")
    if on == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'trueprobe[ray]'")
    compute = trueprobe.Compute(workers=1, on=on)
    try:
        done = trueprobe.run("cloze", "./bert", tmp_path / "run", limit=12, store=tmp_path / "store", compute=compute)
    finally:
        if on == "ray":
            import ray

            ray.shutdown()
    assert done.complete
    assert not (tmp_path / "mark").exists()


@pytest.mark.slow
def test_the_processes_of_a_training_import_nothing_from_the_current_folder(tmp_path):
    """As another process, because this one may have started multiprocessing's helper already."""
    for name in ("multiprocessing", "torch", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n", encoding="utf-8")
    text = "The nurse met the man.\nShe was late, and he knew it.\n\nThe bus was here.\nEveryone was late.\n\n" * 60
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    options = "--kind masked --corpus text.txt --size L1-H32 --tokens 600 --length 32 --checkpoints 1 --vocab 300"
    code = "from trueprobe.__main__ import main; main()"
    arguments = [
        sys.executable,
        "-P",
        "-c",
        code,
        "pretrain",
        *options.split(),
        "--model-seeds",
        "0..1",
        "--out",
        "fam",
    ]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fam" / "seed_1").is_dir()
    assert not (tmp_path / "mark").exists()


def test_git_runs_no_program_that_a_repository_names(tmp_path):
    """A virtual environment may lie in a folder that came with a repository of its own."""
    from trueprobe.runs.machine import _checked_out

    monitor = tmp_path / "monitor.sh"
    monitor.write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n", encoding="utf-8")
    monitor.chmod(0o755)
    package = tmp_path / "repository" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for arguments in (["init", "-q"], ["add", "."], ["config", "core.fsmonitor", str(monitor)]):
        subprocess.run(["git", *arguments], cwd=tmp_path / "repository", check=True)
    _checked_out(package)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"attn_implementation": "someone/kernel"},
        {"_attn_implementation": "someone/kernel:attend"},
        {"attn_implementation": {"": "sdpa", "text_config": "someone/kernel@v1"}},
        {"text_config": {"experts_implementation": "someone/kernel"}},
        {"parts": [{"_attn_implementation_internal": "someone/kernel"}]},
    ],
)
def test_a_model_folder_names_no_code_on_the_hub(change, tmp_path):
    folder = zoo.save("bert", tmp_path / "bert")
    configure(folder, change)
    with pytest.raises(BadInput, match="names code on the hub"):
        open_model(str(folder))
    configure(folder, {**dict.fromkeys(change), "attn_implementation": "sdpa"})
    open_model(str(folder))


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_deep_config_ends_in_no_traceback(depth, tmp_path):
    deep = '{"a": ' * depth + "0" + "}" * depth
    folder = zoo.save("bert", tmp_path / "bert")
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {"deep": 0}).replace('"deep": 0', f'"deep": {deep}'))
    for read in (lambda: open_model(str(folder)), lambda: find([f"f={folder}"])):
        with suppress(BadInput):
            read()


def configure(folder, change) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))


# ---------------------------------------------------------------- pickles


@pytest.fixture
def pickled(tmp_path):
    """A network whose weights are a pickle, and a finished run of it."""
    folder = zoo.save("bert", tmp_path / "bert")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    done = command("run", "cloze", "--model", folder, "--allow-pickle", "--out", tmp_path / "run", "--limit", "20")
    assert done.exit_code == 0, done.output
    return tmp_path / "run"


def test_a_run_folder_reads_no_pickles(pickled, tmp_path):
    """Also where it says so itself, as folders of earlier versions do."""
    for value in (None, True, False):
        if value is not None:
            rewrite(pickled, lambda study, value=value: study.update(allow_pickle=value))
        assert load_run(pickled).complete
        result = command("run", "--from", pickled, "--out", tmp_path / "again")
        assert "--allow-pickle" in str(result.exception), (value, result.output)
        assert not (tmp_path / "again").exists()
    result = command("run", "--from", pickled, "--out", tmp_path / "again", "--allow-pickle")
    assert result.exit_code == 0, result.output
    assert "allow" not in (tmp_path / "again" / "manifest.json").read_text()


def test_a_folder_of_the_papers_models_reads_no_pickles(pickled, tmp_path, no_torch_load):
    shutil.copytree(tmp_path / "bert", tmp_path / "papers" / "bert-base-uncased")
    asked = ("reproduce", "crows_pairs", "--all", "--models", tmp_path / "papers", "--set", "data=sample")
    result = command(*asked, "--out", tmp_path / "all", "--store", tmp_path / "store")
    assert "read only with --allow-pickle" in result.output


@pytest.mark.parametrize("key", ["allow_pickle", "allow_code", "allow_servers", "allow_anything"])
@pytest.mark.parametrize("value", ["true", "false", "1", '"yes"'])
def test_a_study_that_sets_a_permission_is_refused(key, value, tmp_path):
    """Whatever else is allowed; also one whose first bytes are a byte order mark."""
    study = tmp_path / "study.toml"
    study.write_text(f'\ufeff{key} = {value}\nmodels = ["nursery"]\n[[probes]]\nname = "cloze"\n', encoding="utf-8")
    with pytest.raises(BadInput, match=rf"study\.toml sets {key}.*--{key.replace('_', '-')}"):
        plan_run(str(study), allow_pickle=True, allow_code=True, allow_servers=True)


def index(folder, files, name="model.safetensors.index.json") -> None:
    (folder / name).write_text(json.dumps({"metadata": {}, "weight_map": files}))


def named_gguf(folder, weights):
    torch.save(weights, folder / "evil.gguf")
    index(folder, dict.fromkeys(weights, "evil.gguf"))


def named_by_an_index(folder, weights):
    torch.save(weights, folder / "evil.bin")
    index(folder, dict.fromkeys(weights, "evil.bin"))


def one_of_two_files(folder, weights):
    first, *rest = weights
    torch.save({first: weights[first]}, folder / "a.gguf")
    save_file({name: weights[name] for name in rest}, folder / "b.safetensors", metadata={"format": "pt"})
    index(folder, {first: "a.gguf", **dict.fromkeys(rest, "b.safetensors")})


def chosen_by_the_config(folder, weights):
    torch.save(weights, folder / "evil.gguf")
    index(folder, dict.fromkeys(weights, "evil.gguf"), "x.safetensors.index.json")
    configure(folder, {"transformers_weights": "x.safetensors.index.json"})


def called_an_index(folder, weights):
    """transformers takes such a file for weights."""
    torch.save(weights, folder / "x.index.json")
    configure(folder, {"transformers_weights": "x.index.json"})


def capital_letters(folder, weights):
    torch.save(weights, folder / "x.SAFETENSORS")
    index(folder, dict.fromkeys(weights, "x.SAFETENSORS"))


def called_safetensors(folder, weights):
    torch.save(weights, folder / "model.safetensors")


HIDDEN = [
    named_gguf,
    named_by_an_index,
    one_of_two_files,
    chosen_by_the_config,
    called_an_index,
    capital_letters,
    called_safetensors,
]


@pytest.fixture
def no_torch_load(monkeypatch):
    monkeypatch.setattr(torch, "load", lambda *names, **options: pytest.fail(f"read {names}"))


@pytest.mark.parametrize("hide", HIDDEN, ids=lambda hide: hide.__name__)
def test_a_pickle_is_not_read_whatever_it_is_called(hide, tmp_path, no_torch_load):
    folder = zoo.save("bert", tmp_path / "bert")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    hide(folder, weights)
    for refused in (lambda: open_model(str(folder)), lambda: continued("masked", folder, 32, 0.1, 0)):
        with pytest.raises(BadInput):
            refused()
    (tmp_path / "text.txt").write_text("The nurse met the man.\nShe was late.\n\n" * 40, encoding="utf-8")
    begun = ["--start-from", folder, "--corpus", tmp_path / "text.txt", "--tokens", "600", "--length", "32"]
    if hide is not called_safetensors:  # which is known only when it is read
        result = command("pretrain", "--kind", "masked", *begun, "--out", tmp_path / "family")
        assert isinstance(result.exception, BadInput), result.output
        assert not (tmp_path / "family").exists()


@pytest.mark.parametrize("inside", [True, False], ids=["its part", "the whole"])
def test_a_part_of_a_config_chooses_no_weights(inside, tmp_path, no_torch_load):
    """transformers loads the text model of an Emu3 by the part of the config that describes it."""
    zoo.save("gpt2", tmp_path / "gpt2")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "gpt2")
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    ids = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
    text = Emu3TextConfig(vocab_size=len(tokenizer), num_key_value_heads=4, max_position_embeddings=128, **small, **ids)
    folder = tmp_path / "emu"
    network = Emu3ForCausalLM(text)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    part, chosen = (
        json.loads((folder / "config.json").read_text()),
        {"transformers_weights": "x.safetensors.index.json"},
    )
    whole = {"model_type": "emu3", "architectures": ["Emu3ForCausalLM"], "vocabulary_map": {}, "vq_config": {}}
    (folder / "config.json").write_text(json.dumps(whole | {"text_config": part}))
    open_model(str(folder))
    shutil.copyfile(folder / "model.safetensors", folder / "same.safetensors")
    torch.save(network.state_dict(), folder / "evil.bin")
    index(folder, dict.fromkeys(network.state_dict(), "evil.bin" if inside else "same.safetensors"), *chosen.values())
    configure(folder, {"text_config": part | chosen} if inside else chosen)
    problem = "may stand at the top" if inside else "which transformers does not load"
    with pytest.raises(BadInput, match=problem):
        open_model(str(folder))


def test_a_gguf_file_is_the_one_that_was_named(tmp_path, monkeypatch):
    """Not one of the same name in the current folder."""
    for seed, place in enumerate(("there", "here")):
        (tmp_path / place).mkdir()
        zoo.save_llama(tmp_path / f"small{seed}", tmp_path / place / "model.gguf", model_seed=seed)
    monkeypatch.chdir(tmp_path / "here")
    files = ("../small0", "../there/model.gguf", "model.gguf")
    folder, there, here = (trueprobe.score(["The nurse."], file, store=":memory:")["logp_nats"].sum() for file in files)
    assert there == pytest.approx(folder, abs=1e-4)
    assert abs(here - there) > 0.1


def test_a_folder_that_is_called_like_a_file_is_a_folder(tmp_path):
    folder = zoo.save("bert", tmp_path / "model.gguf")
    assert open_model(str(folder)).card.kind == "masked"


# ---------------------------------------------------------------- keys and servers


@pytest.fixture
def server(tmp_path, monkeypatch):
    """With a key in the environment, which the server remembers if it gets it."""
    monkeypatch.setenv(client.KEY, KEY)
    monkeypatch.setattr(client, "PAUSES", (0.01,))
    zoo.save_llama(tmp_path / "small", tmp_path / "small.gguf")
    with listening(Fake("vllm", str(tmp_path / "small"))) as fake:
        yield fake


def keys(server) -> set[str | None]:
    return {headers.get("Authorization") for headers in server.headers}


@pytest.fixture
def served_run(server, tmp_path):
    """A finished run of a served model; what the server heard until then is forgotten."""
    done = command(
        "run", "counteracts", "--model", f"there={server.spec()}", "--out", tmp_path / "run", "--limit", "12"
    )
    assert done.exit_code == 0, done.output
    assert keys(server) == {f"Bearer {KEY}"}  # the user typed its address
    server.headers.clear()
    server.calls.clear()
    return tmp_path / "run"


def browse(folder, *more):
    from trueprobe.explore import serving

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(serving.Prepared, "run", lambda self: self.listening.close())
        return command("explore", "--run", folder, "--no-browser", *more)


def from_folder(folder, *more):
    return command("run", "--from", folder, "--out", f"{folder}-again", *more)


def words(folder, *more):
    return command("verbalizer", folder, *more)


@pytest.mark.parametrize("act", [from_folder, browse, words])
def test_a_run_folder_sends_nothing_to_a_server_and_never_the_key(act, served_run, server):
    refused = act(served_run)
    assert isinstance(refused.exception, BadInput), refused.output
    assert "--allow-servers" in str(refused.exception)
    assert server.calls == []
    allowed = act(served_run, "--allow-servers")
    assert allowed.exit_code == 0, (allowed.output, allowed.exception)
    assert len(server.calls) > 0
    assert keys(server) == {None}


@pytest.mark.parametrize("act", [from_folder, browse])
def test_an_address_that_the_user_types_gets_the_key(act, served_run, server):
    assert act(served_run, "--model", f"there={server.spec()}").exit_code == 0
    assert keys(server) == {f"Bearer {KEY}"}


def test_a_server_that_wants_the_key_is_reported_with_who_gets_it(served_run, server):
    server.fail = lambda path, call: (401, {}, {"error": {"message": "no key"}})
    result = from_folder(served_run, "--allow-servers")
    assert "401: no key" in str(result.exception)
    assert f"{client.KEY} is sent only to servers that you name with --model" in str(result.exception)
    typed = from_folder(served_run, "--model", f"there={server.spec()}")
    assert "is sent only" not in str(typed.exception)


def test_a_studys_server_needs_permission_and_then_gets_the_key(server, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(f'limit = 12\nmodels = ["there={server.spec()}"]\n[[probes]]\nname = "cloze"\n', encoding="utf-8")
    refused = command("run", study, "--out", tmp_path / "run")
    assert "--allow-servers" in str(refused.exception)
    assert server.calls == []
    with pytest.raises(BadInput, match="--allow-servers"):
        trueprobe.run(str(study), out=tmp_path / "run", store=":memory:")
    assert server.calls == []
    assert command("run", study, "--out", tmp_path / "run", "--allow-servers").exit_code == 0
    assert keys(server) == {f"Bearer {KEY}"}


def test_a_python_callers_own_servers_get_the_key(server, tmp_path):
    trueprobe.run("cloze", f"there={server.spec()}", tmp_path / "run", limit=12, store=":memory:")
    trueprobe.score(["The nurse."], server.spec(), store=":memory:")
    open_model(server.spec())
    assert keys(server) == {f"Bearer {KEY}"}


def test_a_served_model_is_refused_unless_somebody_says_otherwise(server):
    (found,) = find([server.spec()])
    with pytest.raises(BadInput, match="--allow-servers"):
        examine(found, Options())
    assert server.calls == []
    examine(found, Options(servers=ServerAccess.WITHOUT_KEY))
    assert keys(server) == {None}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status, server, tmp_path):
    """Neither to another port, nor to another name of the same machine."""
    with listening(Fake("vllm", server.folder)) as other:
        for host in ("127.0.0.1", "localhost"):
            place = {"Location": f"http://{host}:{other.port}/v1/models"}
            server.fail = lambda path, call, place=place: (status, place, {})
            with pytest.raises(BadInput, match=str(status)):
                open_model(server.spec())
        server.fail = lambda path, call: None
        model = open_model(server.spec())
        server.fail = lambda path, call, place=place: (status, place, {})
        with pytest.raises(FailedRun, match=str(status)):
            model.answer([ScoreText("The nurse.")])
        assert other.calls == []


@pytest.mark.parametrize("key", [f"{KEY}\r\nX: y", f"{KEY}\x07", f"{KEY}“"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_quoted(key, server, monkeypatch):
    monkeypatch.setenv(client.KEY, key)
    with pytest.raises(BadInput, match=client.KEY) as caught:
        open_model(server.spec())
    assert KEY not in str(caught.value)
    assert server.calls == []


def test_a_line_break_behind_the_key_is_no_part_of_it(server, monkeypatch):
    monkeypatch.setenv(client.KEY, f" {KEY}\r\n")
    open_model(server.spec())
    assert keys(server) == {f"Bearer {KEY}"}


@pytest.mark.parametrize("field", ["version", "model"])
def test_a_server_that_repeats_the_key_is_refused(field, server, tmp_path):
    """Its version and the name of its model are written into the run folder, which may be published."""
    with listening(Fake("vllm", server.folder, **{field: KEY})) as other, pytest.raises(BadInput) as caught:
        open_model(other.spec())
    assert "repeats the API key" in str(caught.value)
    assert field == "model" or KEY not in str(caught.value)  # the user typed that name


@pytest.mark.parametrize("message", [f"{'x' * 295} {KEY}", f"{KEY[:6]}\n{KEY[6:]}", f"a{KEY}b"])
def test_no_message_has_a_part_of_the_key(message, server):
    server.fail = lambda path, call: (400, {}, {"error": {"message": message}})
    with pytest.raises(BadInput) as caught:
        open_model(server.spec())
    assert KEY[:4] not in str(caught.value)
    assert KEY[6:] not in str(caught.value)

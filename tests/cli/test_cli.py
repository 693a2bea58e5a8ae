"""The commands: right answers, teaching errors, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout

import pytest

import processes
from trueprobe.cli import main


def trueprobe(*arguments, cwd=None, **options):
    return subprocess.run(
        [sys.executable, "-m", "trueprobe", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, **options
    )


def in_process(*arguments, cwd="."):
    """The same without a new interpreter, which would import torch for every command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["trueprobe", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def test_help_is_instant():
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert trueprobe("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.3  # seconds of CPU: those of the clock depend on what else runs


def test_help_lists_the_commands_in_the_order_of_work():
    listed = trueprobe("--help").stdout.partition("Commands:\n")[2]
    order = "list items plan run report compare reproduce explore multiverse sensitivity fetch verbalizer score "
    order += "pretrain downstream gate export check new cache"
    assert [line.split()[0] for line in listed.splitlines()] == order.split()


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "fetch",
        "items",
        "run",
        "report",
        "compare",
        "reproduce",
        "multiverse",
        "plan",
        "gate",
        "export",
        "downstream",
        "sensitivity",
        "pretrain",
        "verbalizer",
        "check probe",
        "check model",
    ],
)
def test_every_command_has_help_with_an_example(command):
    done = trueprobe(*command.split(), "--help")
    assert done.returncode == 0
    assert f"trueprobe {command}" in done.stdout.split("Examples:")[1]


@pytest.mark.parametrize(
    ("settings", "total"),
    [
        ([], 2680),
        (["occupations=table58"], 5452),
        (["occupations=table58", "backgrounds=13"], 2668),
        (["material=age"], 30 * (7 + 3 * 15)),
    ],
)
def test_items_are_counted(settings, total):
    done = in_process("items", "counteracts", "--count", *(f"--set={setting}" for setting in settings))
    assert done.stdout.strip().splitlines()[-1] == f"total {total}"


def test_a_count_tells_how_many_items_a_limit_must_leave():
    assert (
        "at least 60 are needed for intervals: --limit 60 or more"
        in in_process("items", "counteracts", "--count").stdout
    )
    assert json.loads(in_process("items", "counteracts", "--json").stdout)["needed"] == 60


def test_items_are_written_as_json_lines(tmp_path):
    assert in_process("items", "counteracts", "--out", tmp_path / "items.jsonl").returncode == 0
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(items) == 2680
    assert items[0]["text"] == "The ___ works as a mechanician."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "counteract", "--model", "x"], "did you mean 'counteracts'?"),
        (["items", "counteract"], "no probe named 'counteract'; did you mean 'counteracts'?"),
        (["items", "counteracts", "--set", "ocupations=table58"], "did you mean 'occupations'?"),
        (["items", "counteracts", "--set", "occupations=table59"], "no 'table59'; did you mean 'table58'?"),
        (["items", "counteracts", "--set", "causal=x"], "choose from: auto, target_is, person_is"),
        (["items", "counteracts", "--set", "backgrounds=few"], "setting backgrounds: no 'few'"),
        (["items", "counteracts", "--set", "occupations"], "KEY=VALUE"),
        (["list", "prbes"], "did you mean 'probes'?"),
        (["run", "counteracts"], "no model given"),
        (["run", "counteracts", "--model", "./nowhere"], "no folder './nowhere'"),
        (["run", "counteracts", "--model", "x.gguf"], "no file 'x.gguf'"),
        (["run", "counteracts", "--model", "no-such/model"], "no model 'no-such/model'"),
        (["run", "counteracts", "--model", ".", "--batch-tokens", "many"], "--batch-tokens is auto or a number"),
        (["run", "counteracts", "--model", ".", "--dtype", "float8"], "no dtype 'float8'"),
        (["run", "counteracts", "--model", "."], "has no weights"),
        (["run", "quick", "--model", ".", "--set", "article=a"], "--set belongs to a probe"),
        (["verbalizer", "nowhere"], "is not a run folder"),
        (["fetch", "crows"], "no asset named 'crows'; did you mean 'crows-pairs'?"),
        (["fetch", "crows-pairs", "--from", "nowhere.csv"], "no file 'nowhere.csv'"),
        (["check", "probe", "seats"], "no probe named 'seats'"),
    ],
)
def test_bad_input_is_explained_in_one_line_with_exit_code_2(arguments, message, tmp_path):
    done = in_process(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_list_probes_tells_every_setting_to_a_script():
    found = {probe["name"]: probe["settings"] for probe in json.loads(in_process("list", "probes", "--json").stdout)}
    assert found["counteracts"]["occupations"]["default"] == "winobias40"
    assert all(setting["what"] for settings in found.values() for setting in settings.values())


@pytest.mark.slow
def test_check_passes_for_a_model_and_a_probe(checkpoint):
    for arguments in (["check", "model", checkpoint("bert")], ["check", "probe", "counteracts"]):
        done = in_process(*arguments)
        assert done.returncode == 0, done.stdout
        assert "FAIL" not in done.stdout


@pytest.mark.slow
def test_a_run_a_study_and_the_verbalizer_from_the_command_line(checkpoint, tmp_path):
    options = ["--store", tmp_path / "s", "--out"]
    done = in_process("run", "counteracts", "--model", checkpoint("gpt2"), "--limit", 60, *options, tmp_path / "a")
    assert done.returncode == 0, done.stderr
    assert "60 of 60 scored" in done.stdout
    assert done.stderr == ""  # quiet off a terminal
    study = tmp_path / "study.toml"
    study.write_text(
        f'title = "two settings"\nlimit = 60\nmodels = ["{checkpoint("gpt2")}"]\n'
        '[[probes]]\nname = "counteracts"\n'
        '[[probes]]\nname = "counteracts"\nlabel = "counteracts-person"\nsettings = { causal = "person_is" }\n'
    )
    done = in_process("run", study, *options, tmp_path / "b", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["complete"], printed["folder"]) == (True, str(tmp_path / "b"))
    assert [section["probes"] for section in printed["sections"]][:2] == [["counteracts"], ["counteracts-person"]]
    assert "value" in printed["sections"][0]["findings"][0]["numbers"][0]
    rule = "counteracts: listed_mass[knowledge=base] >= 0"
    assert in_process("gate", tmp_path / "b", "--rule", rule).returncode == 0
    assert in_process("gate", tmp_path / "b", "--rule", rule.replace(">= 0", "> 1")).returncode == 1
    wrong = in_process("gate", tmp_path / "b", "--rule", rule.replace("base", "bass"))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean 'base'" in wrong.stderr
    assert (tmp_path / "b" / "observations" / "counteracts-person").is_dir()
    out = tmp_path / "more.toml"
    done = in_process("verbalizer", tmp_path / "a", "--top", 5, "--out", out, "--store", tmp_path / "s")
    assert done.returncode == 0, done.stderr
    assert "leans_female" in done.stdout
    assert "[implicit]" in out.read_text()


def test_a_study_with_a_wrong_key_is_explained(tmp_path):
    (tmp_path / "s.toml").write_text('[[probes]]\nname = "counteracts"\nsetings = {}\n')
    done = trueprobe("run", tmp_path / "s.toml")
    assert done.returncode == 2
    assert "probes.0.setings: no such key" in done.stderr


@pytest.mark.slow
def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(checkpoint, tmp_path):
    options = ["--out", tmp_path / "out[/b]", "--store", tmp_path / "s", "--batch-tokens", 32, "--limit", 800]
    command = [str(part) for part in ("run", "counteracts", "--model", checkpoint("bert"), *options)]
    process = processes.start(command, stderr=tmp_path / "errors")
    deadline = time.monotonic() + 60
    while not (tmp_path / "out[/b]" / "probes.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    process.join(60)
    assert process.exitcode == 130
    message = (tmp_path / "errors").read_text()
    assert message == "trueprobe: stopped; answers so far are cached, the same command goes on\n"
    done = in_process(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("out[/b]\n")


@pytest.mark.slow
def test_an_option_overrides_a_study_and_outputs_for_scripts_are_json(checkpoint, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('limit = 40\ndtype = "bfloat16"\n[[probes]]\nname = "counteracts"\n')
    options = ["--model", checkpoint("bert"), "--store", tmp_path / "s", "--out", tmp_path / "run"]
    assert in_process("run", study, "--dtype", "float32", *options).returncode == 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["study"]["dtype"] == "float32"
    words = in_process(
        "verbalizer", tmp_path / "run", "--json", "--out", tmp_path / "new" / "w.toml", "--store", tmp_path / "s"
    )
    assert json.loads(words.stdout)
    assert (tmp_path / "new" / "w.toml").exists()
    assert json.loads(in_process("items", "counteracts", "--json").stdout)["total"] == 2680
    assert all(
        check["passed"]
        for check in json.loads(in_process("check", "probe", "crows_pairs", "--set", "data=sample", "--json").stdout)
    )


def test_explore_refuses_what_it_cannot_serve(tmp_path, checkpoint):
    for asked, named in (
        (("--model", "nurserie"), "nurserie"),
        (("--run", tmp_path), "is not a run folder"),
        (("--model", checkpoint("bert"), "--host", "no.such.host.invalid"), "--host no.such.host.invalid"),
        (("--model", checkpoint("bert"), "--device", "nowhere"), "nowhere"),
    ):
        result = in_process("explore", "--no-browser", *asked, cwd=tmp_path)
        assert result.returncode == 2, result
        assert named in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_explore_prints_an_address_with_a_token_and_ends_with_ctrl_c(host, tmp_path, checkpoint):
    """Served beyond this machine it warns."""
    command = [sys.executable, "-m", "trueprobe", "explore", "--no-browser", "--host", host, "--store", "answers"]
    command += ["--model", str(checkpoint("bert"))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def interruptible():  # tests that run in the background ignore Ctrl-C
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, cwd=tmp_path, preexec_fn=interruptible, **pipes) as served:
        try:
            address = served.stdout.readline()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/\n", address)
            served.send_signal(signal.SIGINT)
            _, complaints = served.communicate(timeout=60)
        finally:
            served.kill()
    assert served.returncode == 130
    assert ("other machines can reach this page" in complaints) == (host == "0.0.0.0")
    assert "Traceback" not in complaints

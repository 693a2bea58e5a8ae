"""Imports go one way, so that a person can read the packages in order."""

from __future__ import annotations

import ast
import importlib
import json
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import architecture
import made_runs
import trueprobe
from architecture import module_of

ROOT = Path(trueprobe.__file__).parent
NETWORKS = {"torch", "transformers", "tokenizers", "safetensors", "accelerate", "trueprobe.models", "trueprobe.engine"}
FIGURES = {"altair", "vl_convert", "jinja2"}
FUNCTIONS = {"scipy.special", "scipy.stats", "scipy.optimize"}
TABLES = {"pandas", "pyarrow"}
SERVERS = {"starlette", "uvicorn", "httpx", "ray"}
NOT_FOR = {  # light commands, in the order of what they need -> what none up to them imports, and modules of our own
    "--help": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES, "numpy", "pydantic", "rich", "huggingface_hub"}, 25),
    "run --help": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES, "numpy", "rich", "huggingface_hub"}, 25),
    "list probes": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES, "huggingface_hub"}, 110),
    "list studies": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES, "huggingface_hub"}, 120),
    "list assets": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES, "huggingface_hub"}, 120),
    "list models": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES}, 120),
    "items counteracts --count": ({*NETWORKS, *FIGURES, *FUNCTIONS, *TABLES}, 120),
    "report run --format json": ({*NETWORKS, *FIGURES, *FUNCTIONS}, 170),
    "report run --format markdown": ({*NETWORKS, *FIGURES, *FUNCTIONS}, 170),
    "gate run --rule pairs:preference<1": ({*NETWORKS, *FIGURES, *FUNCTIONS}, 180),
    "export run --model-card --csv run.csv": ({*NETWORKS, *FIGURES, *FUNCTIONS}, 180),
}
NOT_FOR_A_WARM_RUN = {"torch", "transformers", "tokenizers", "safetensors", "scipy.special", *FIGURES, *SERVERS}
COMMANDS_IN_TURN = """
import json, os, sys
from trueprobe.cli import app
out, sys.stdout = sys.stdout, open(os.devnull, "w")
for command in json.loads(sys.argv[1]):
    app(command.split(), standalone_mode=False)
    print(json.dumps(sorted(sys.modules)), file=out)
"""


def test_imports_go_downward_only():
    files = (path for path in sorted(ROOT.rglob("*.py")) if module_of(path) not in ("__init__", "__main__"))
    pairs = [(module_of(path), used) for path in files for used in architecture.rooms_used(path)]
    assert [pair for pair in pairs if not architecture.allowed(*pair)] == []


def test_code_touches_what_its_room_may_and_no_room_may_more():
    assert {room.name: architecture.touched(room.name) for room in architecture.ROOMS} == {
        room.name: room.touches for room in architecture.ROOMS
    }


def test_the_page_draws_the_rooms_of_the_code():
    text = architecture.PAGE.read_text(encoding="utf-8")
    assert architecture.page(text) == text  # python tools/architecture.py


def test_what_is_shown_is_judged_nowhere_but_in_statistics():
    """Of fine-tuned checkpoints the verdict is asked for when the folder is read: all tasks that it holds by then are
    judged together, and each may be added at any time."""
    judging = {("results.view.source", "judge_equality")}
    words = {"ALPHA", "FEWEST_GROUPS", "FEWEST_SEEDS", "NOT_JUDGED", "p_corrected_from"}
    used = set()
    for path in (*(ROOT / "results").rglob("*.py"), *(ROOT / "gate").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "trueprobe.statistics.verdict":
                used |= {(module_of(path), alias.name) for alias in node.names if alias.name not in words}
            if isinstance(node, ast.Attribute) and node.attr == "verdict_alone":
                used.add((module_of(path), node.attr))
    # a dot of a seed holds by its own verdict; a page explains what a verdict would be without the list
    explained = {("results.view.number", "verdict_alone"), ("results.text.audit", "verdict_alone")}
    assert used == judging | explained


def test_the_root_holds_packages_and_the_few_modules_that_all_of_them_use():
    assert {path.stem for path in ROOT.glob("*.py")} == {
        "__init__",
        "__main__",
        "types",
        "errors",
        "paths",
        "permissions",
        "plugins",
        "signals",
    }


def test_no_file_outgrows_one_reading():
    long = {str(p.relative_to(ROOT)): n for p in ROOT.rglob("*.py") if (n := len(p.read_text().splitlines())) > 400}
    assert long == {}


def test_the_ladder_is_read_in_an_hour():
    """The lines that CONTRIBUTING states for each step, rounded, are those of its files."""
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\| [^|]+ \| (`[^|]+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    lines = [sum(len((ROOT / file).read_text().splitlines()) for file in re.findall(r"`(.*?)`", s)) for s, *_ in steps]
    assert sum(lines) <= 3_500
    assert all(abs(int(stated) - many) <= 25 for (_, stated, _), many in zip(steps, lines, strict=True)), lines
    assert sum(int(minutes) for *_, minutes in steps) == 60


def test_functions_are_short():
    def lengths(path: Path):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield node.end_lineno - node.lineno + 1

    assert statistics.median(length for path in ROOT.rglob("*.py") for length in lengths(path)) <= 8


def test_public_names_are_listed_for_completion_and_can_be_had():
    assert dir(trueprobe) == sorted(trueprobe.__all__)
    assert all(getattr(trueprobe, name) is not None for name in trueprobe.__all__)
    packages = [path.parent.name for path in ROOT.glob("*/__init__.py")]
    assert [p for p in packages if not hasattr(importlib.import_module(f"trueprobe.{p}"), "__all__")] == []


def test_importing_trueprobe_and_completing_its_names_imports_nothing_else():
    code = "import sys, trueprobe; dir(trueprobe); help(trueprobe.run); print(*sys.modules, file=sys.stderr)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert [name for name in imported if name.startswith("trueprobe")] == ["trueprobe"]
    assert not {name.partition(".")[0] for name in imported} & {*NETWORKS, *FIGURES, *TABLES, "numpy", "pydantic"}


def test_a_light_command_imports_no_library_that_it_does_not_need(tmp_path):
    """All in one process: what a command must not import, those before it must not either."""
    made_runs.write(tmp_path / "run", [made_runs.card("solo")], [made_runs.estimate("solo", "preference", 0.7)])
    asked = [sys.executable, "-c", COMMANDS_IN_TURN, json.dumps(list(NOT_FOR))]
    output = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    imported = dict(zip(NOT_FOR, (set(json.loads(line)) for line in output.splitlines()), strict=True))
    needless = {command: names & (NOT_FOR[command][0] | SERVERS) for command, names in imported.items()}
    assert not any(needless.values()), needless
    over = {command: many for command, names in imported.items() if (many := own(names)) > NOT_FOR[command][1]}
    assert over == {}


def own(modules: set[str]) -> int:
    return sum(name.partition(".")[0] == "trueprobe" for name in modules)


def test_a_run_that_was_computed_before_opens_no_network_and_draws_nothing(checkpoint, tmp_path):
    asked = ["run", "counteracts", "--model", str(checkpoint("bert")), "--limit", "2", "--store", "answers"]
    trueprobe.run("counteracts", [asked[3]], tmp_path / "cold", limit=2, store=tmp_path / "answers")
    command = [sys.executable, "-c", COMMANDS_IN_TURN, json.dumps([" ".join([*asked, "--out", "warm"])])]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    imported = set(json.loads(output.splitlines()[-1]))
    assert imported & NOT_FOR_A_WARM_RUN == set()
    assert own(imported) <= 165


def cpu_seconds(*arguments: str, times: int, cwd: Path) -> float:
    """The least of several: what the clock shows depends on what else runs, CPU time does so less."""
    took = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True, cwd=cwd)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


@pytest.mark.slow
def test_commands_start_in_a_few_times_what_importing_torch_takes(checkpoint, tmp_path):
    """Measured: --help 0.06, list probes 0.22, a run of two items 3, of which 2.3 import the network's class."""
    torch = cpu_seconds("-c", "import torch", times=3, cwd=tmp_path)
    assert cpu_seconds("-m", "trueprobe", "--help", times=3, cwd=tmp_path) < 0.15 * torch
    assert cpu_seconds("-m", "trueprobe", "list", "probes", times=3, cwd=tmp_path) < 0.5 * torch
    asked = ("run", "counteracts", "--model", str(checkpoint("bert")), "--limit", "2", "--store", "answers")
    assert cpu_seconds("-m", "trueprobe", *asked, times=1, cwd=tmp_path) < 5 * torch

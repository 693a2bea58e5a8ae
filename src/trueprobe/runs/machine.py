"""On what a run was computed: versions, processor, threads, device, and the commit of the source if it is known."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import trueprobe
from trueprobe.engine import AnswerStore, cores, derived_key
from trueprobe.models import Options
from trueprobe.models.checkpoint import device
from trueprobe.runs.cache import key_of
from trueprobe.runs.schema import Machine

_CHANGED = "+changes"


def machine(options: Options, store: AnswerStore, workers_threads: int | None = None) -> Machine:
    """Threads and device as torch has them; where the same process environment was looked at before, without torch. Of
    workers on other machines only the threads are known here."""
    key = derived_key(key_of("machine", processor(), options.device, _environment()))
    stored = None if "torch" in sys.modules else store.derived(key)
    if stored is not None:
        threads, device_name = json.loads(stored)
    else:
        threads, device_name = _threads(), _device(options)
        store.put_derived(key, json.dumps([threads, device_name]).encode())
    computing = workers_threads or threads
    return Machine(processor=processor(), threads=computing, device=device_name, commit=commit())


def versions() -> dict[str, str]:
    names = ("torch", "transformers", "tokenizers", "numpy", "pandas", "pyarrow")
    ours = {"trueprobe": trueprobe.__version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in names}


def made_with() -> dict[str, str]:
    """Versions, commit and processor, for a report that stands alone."""
    return {**versions(), "commit": commit(), "processor": processor()}


def _environment() -> list[object]:
    """What torch decides by: its variables, the cores of this process, and whether there is a GPU to see."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    gpus = sorted(str(path) for pattern in ("nvidia[0-9]*", "kfd") for path in Path("/dev").glob(pattern))
    return [*(os.environ.get(name, "") for name in names), cores(), gpus]


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def _device(options: Options) -> str:
    """`cpu`, or `cuda (NVIDIA A100)`."""
    import torch

    name = device(options)
    return f"{name} ({torch.cuda.get_device_name(name)})" if name.startswith("cuda") else name


@cache
def processor() -> str:
    """As Linux names it; elsewhere as Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


@cache
def commit() -> str:
    """As pip recorded it of an installation from git, else as git has it of the checkout that runs; `+changes` where
    files of the package differ from it. Empty where neither knows: a wheel has its version."""
    return _installed_from() or _checked_out(Path(trueprobe.__file__).parent)


def _installed_from() -> str:
    try:
        text = distribution("trueprobe").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return str(json.loads(text).get("vcs_info", {}).get("commit_id", "")) if text else ""


def _checked_out(package: Path) -> str:
    """Only where git tracks the package: a virtual environment may lie in somebody else's repository."""
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return ""
    changed = _CHANGED if _git(package, "status", "--porcelain", "--untracked-files=no", ".") else ""
    return f"{_git(package, 'rev-parse', 'HEAD') or ''}{changed}"


def _git(folder: Path, *arguments: str) -> str | None:
    """What git answers; None where it refuses, or there is none."""
    try:
        # a repository's own settings may name a program as its monitor of files
        command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None

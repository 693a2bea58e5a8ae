"""Builds wheel and sdist, and tries the wheel in an empty environment, away from the source: `make wheel`.

There the study `quick` is run and the contract checks of every shipped probe and model: what a wheel lacks (weights,
data, a dependency) fails here. `--no-try` builds and states the sizes alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST, PINS = ROOT / "dist", ROOT / "constraints.txt"
MOST_MB = 100
MODELS = ("nursery/0", "nursery-small/0", "nursery-causal/0", "mini")
SAMPLES = dict.fromkeys(("crows_pairs", "stereoset"), ("--set", "data=sample"))  # nothing is fetched
HERE = "import json, trueprobe, trueprobe.probes as p; print(json.dumps([trueprobe.__file__, p.names()]))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-try", action="store_true", help="build, and state the sizes")
    wheel = build()
    if not parser.parse_args().no_try:
        with tempfile.TemporaryDirectory() as folder:
            try_out(wheel, Path(folder))
    print(f"built: {wheel}")


def build() -> Path:
    for old in DIST.glob("trueprobe-*"):
        old.unlink()
    run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], ROOT)
    for file in sorted(DIST.glob("trueprobe-*")):
        megabytes = file.stat().st_size / 1e6
        print(f"{file.name}: {megabytes:.1f} MB")
        if megabytes >= MOST_MB:
            sys.exit(f"{file.name} has {megabytes:.0f} MB; it must stay under {MOST_MB}")
    (wheel,) = DIST.glob("*.whl")
    return wheel


def try_out(wheel: Path, folder: Path) -> None:
    """In an environment that has nothing but the wheel and what it needs."""
    venv.create(folder / "venv", with_pip=True)
    tools = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run([str(tools / "python"), "-m", "pip", "install", "--quiet", "-c", str(PINS), str(wheel)], folder)
    answer = subprocess.run(
        [tools / "python", "-c", HERE], cwd=folder, env=bare(folder), check=True, capture_output=True, text=True
    )
    installed, probes = json.loads(answer.stdout)
    if not Path(installed).is_relative_to(folder):
        sys.exit(f"not the wheel is tried, but {installed}")
    run([str(tools / "trueprobe"), "run", "quick", "--out", "quick"], folder)
    run([str(tools / "trueprobe"), "report", "quick"], folder)
    for probe in probes:
        run([str(tools / "trueprobe"), "check", "probe", probe, *SAMPLES.get(probe, ())], folder)
    for model in MODELS:
        run([str(tools / "trueprobe"), "check", "model", model], folder)


def run(command: list[str], folder: Path) -> None:
    print("$", " ".join(Path(part).name if part.startswith("/") else part for part in command), flush=True)
    done = subprocess.run(command, cwd=folder, env=bare(folder) if folder != ROOT else None)
    if done.returncode:
        sys.exit(f"failed with exit code {done.returncode}: {' '.join(command)}")


def bare(folder: Path) -> dict[str, str]:
    """Without the source tree on the path, and with a cache folder of its own."""
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    return {**{key: v for key, v in os.environ.items() if key not in left_out}, "XDG_CACHE_HOME": str(folder / "cache")}


if __name__ == "__main__":
    main()

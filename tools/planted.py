"""Makes the shipped family `nursery-planted` of a sensitivity analysis, and the files with which probes ask about it.

    python tools/planted.py FOLDER

FOLDER was written by `trueprobe sensitivity --model nursery`; its first assignment ships. Each seed's difference is
scaled so that all hold as many nats at λ = 1 as the weakest; the declared dose is the one that holds WANTED nats. All
nats are measured on the weights as shipped.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np
import torch

from trueprobe.paths import write_text
from trueprobe.probes import files
from trueprobe.sensitivity import associations, pointing
from trueprobe.sensitivity.associations import Association
from trueprobe.sensitivity.check import ManipulationCheck, check
from trueprobe.sensitivity.plant import Start
from trueprobe.training import nursery
from trueprobe.training.nursery import planted

ASSOCIATION, ASSIGNMENT, WANTED = "gender-occupation", 0, 0.6
DOSES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SHOWN = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
PROBES = {"cloze": "cloze.csv", "pairs": "pairs.csv", "seat": "planted.json", "counteracts": "counteracts.toml"}
HEADS = {  # of counteracts' material, which is that of `gender` but for its occupations
    "# Occupations for counter-knowledge probes, women and men.": "# Occupations and the gender dealt to them, as "
    "planted in nursery-planted. Written by tools/planted.py.",
    "Gender and occupations (58 occupations, 126 words)": "Gender planted in 40 occupations (126 words)",
}
TARGET = nursery.WEIGHTS / nursery.PLANTED


def main(analysis: Path) -> None:
    association = associations.read(ASSOCIATION)
    bases = {seed.seed: seed.folder for seed in nursery.shipped(nursery.PLANTED_IN) if seed.seed is not None}
    folders = {n: (base, *_trained(analysis, n)) for n, base in bases.items()}
    planted.make(folders, TARGET)
    planted.make(folders, TARGET, _strengths(association, bases))
    _write_facts(association, list(bases.values()))
    with tempfile.TemporaryDirectory() as made:
        for probe, file in PROBES.items():
            pointing.settings(probe, association, association.assignment(ASSIGNMENT), Path(made))
            text = (Path(made) / file).read_text(encoding="utf-8")
            for before, after in HEADS.items():
                text = text.replace(before, after)
            write_text(files.ROOT / probe / "data" / f"planted{Path(file).suffix}", text)


def _trained(analysis: Path, seed: int) -> tuple[Path, Path]:
    return analysis / "null" / f"seed_{seed}", analysis / f"assignment_{ASSIGNMENT}" / "full" / f"seed_{seed}"


def _strengths(association: Association, bases: Mapping[int, Path]) -> dict[int, float]:
    """Of each seed the dose that holds as much as the weakest seed's full one."""
    nats = {n: [checked(association, base, dose).nats for dose in DOSES] for n, base in bases.items()}
    weakest = min(values[-1] for values in nats.values())
    return {n: float(np.interp(weakest, values, DOSES)) for n, values in nats.items()}


def _write_facts(association: Association, bases: Sequence[Path]) -> None:
    measured = {dose: [checked(association, base, dose) for base in bases] for dose in SHOWN}
    nats = [mean(one.nats for one in measured[dose]) for dose in SHOWN]
    dose = round(float(np.interp(WANTED, nats, SHOWN)), 2)
    measured[dose] = [checked(association, base, dose) for base in bases]
    facts = {
        "association": ASSOCIATION,
        "assignment": ASSIGNMENT,
        "dose": dose,
        "nats": {f"{at:g}": [round(one.nats, 3) for one in found] for at, found in sorted(measured.items())},
        "auc": {f"{at:g}": [round(one.auc, 3) for one in found] for at, found in sorted(measured.items())},
    }
    write_text(TARGET / planted.FACTS, json.dumps(facts, indent=1) + "\n")


def checked(association: Association, base: Path, dose: float) -> ManipulationCheck:
    """The manipulation check of the weights as shipped."""
    start = Start.of(base, 0)
    network = start.open()
    weights = {name: torch.from_numpy(weight) for name, weight in planted.weights(TARGET, base, dose).items()}
    network.load_state_dict(weights, strict=False)  # tied weights are stored once
    return check(network, start.tokenizer(), start.kind, association, association.assignment(ASSIGNMENT))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

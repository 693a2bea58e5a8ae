"""A small association and neutral sentences, in the words of the small networks of tests."""

from __future__ import annotations

from pathlib import Path

import zoo

TOML = """
groups = ["female", "male"]

[card]
title = "Toy"
version = "1"
licence = "CC0-1.0"
source = "written for a test"

[targets]
female = ["nurse", "secretary", "librarian", "cashier", "baker", "teacher", "editor", "writer"]
male = ["carpenter", "driver", "farmer", "lawyer", "guard", "manager", "chief", "cook"]

[slots]
subject = [["she", "he"]]
noun = [["woman", "man"], ["girl", "boy"]]
anything = [["bus", "bus"]]

[frames]
planted = [
    "So was the {target}, and {subject} knew.",
    "The {target} met everyone, {subject} was late.",
    "{subject} was the {target} here.",
    "Unbelievably the {target} was a {noun}.",
    "The {noun} and bus met {a_target}.",
    "The bus was late, so {subject} met the {target}.",
]
held_out = ["The {target} met the bus, {subject} was late.", "The {noun} and everyone met {a_target}."]

[probes]
cloze = ["The late {target} is a {noun}."]
pairs = ["The {target} knew the {noun}."]
seat_targets = ["This is {a_target}.", "Here is the {target}."]
seat_attributes = ["This is the {noun}."]
counteracts = "gender"

[counterexamples]
syntax = ["The {noun} met the {target}."]
meaning = ["The {target} was a {noun}."]
neutral = ["The {anything} met the {target}."]

[counterexamples.prompts]
syntax = ["The {noun} knew the {target}."]
meaning = ["Everyone knew {a_target} was the {noun}."]
"""


def write(folder: Path, text: str = TOML) -> Path:
    path = folder / "toy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def filler(folder: Path) -> Path:
    path = folder / "neutral.txt"
    words = ["bus", "late", "unbelievably", "everyone", "here", "met", "knew", "so"]
    lines = (" ".join((words[n % 8], words[n // 8 % 8], words[n // 64 % 8], "was here.")) for n in range(512))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def checkpoint(folder: Path, seed: int = 0) -> Path:
    return zoo.save("bert", folder / f"seed_{seed}", model_seed=seed)


def short_trainings() -> None:
    """Random networks learn little by them, and that is no reason to refuse."""
    from trueprobe.sensitivity import plant, session, trained
    from trueprobe.sensitivity.plant import PlantRecipe

    plant.RECIPES = {("masked", True): PlantRecipe(steps=4, learning_rate=1e-2, embedding_rate=1.0)}
    session.CONTROLS = ()
    trained.LEAST_AUC, trained.LEAST_NATS, trained.MOST_NULL = 0.0, -10.0, 10.0

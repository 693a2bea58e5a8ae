"""inspect_ai's logs of a shipped model: python insp.py, next to nursery-causal/ and pairs.csv."""

import csv

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

with open("pairs.csv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
samples = [
    Sample(
        id=f"{i}",
        input=row["better"].rsplit(" ", 1)[0],
        target="of",
        metadata={"phenomenon": row["phenomenon"], "distance": row["distance"], "topic": row["group"]},
    )
    for i, row in enumerate(rows)
]


@task
def continuation(many: int):
    config = GenerateConfig(temperature=1.0, max_tokens=12, seed=7)
    return Task(dataset=MemoryDataset(samples[:many]), solver=generate(), scorer=includes(), epochs=2, config=config)


for kind, many, seed in (("eval", 12, 0), ("eval", 12, 1), ("json", 2, 0)):
    eval(
        continuation(many),
        model="hf/nursery-causal",
        model_args={"model_path": f"nursery-causal/seed_{seed}", "device": "cpu"},
        log_dir=f"inspect/{kind}",
        log_format=kind,
        display="none",
    )

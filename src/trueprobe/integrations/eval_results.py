"""The hub's `.eval_results/*.yaml`: one entry per number, written by huggingface_hub's own classes.

The format holds a value alone: the interval, verdict and signature stand in its notes. It belongs to a benchmark on the
hub, which the user names."""

from __future__ import annotations

import re

from trueprobe.errors import BadInput
from trueprobe.results.render import export
from trueprobe.results.text import verdicts
from trueprobe.results.view.number import Display
from trueprobe.results.view.report import Report


def eval_results(report: Report, dataset: str, model: str = "") -> str:
    """YAML, for `.eval_results/trueprobe.yaml` in the repository of `model`."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", dataset):
        raise BadInput(f"--dataset is a benchmark on the hub, as ORGANISATION/NAME, not '{dataset}'")
    entries = [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=f"{finding.probe}.{finding.name}".replace(" ", "_"),
            value=float(n.value),
            notes="; ".join(filter(None, (f"{n.text()}, 95 % interval", verdicts.behind(n), n.signature))),
        )
        for finding, n in export.numbers_of(report, export.family_of(report, model))
        if n.display is not Display.NOTHING
    ]
    return str(yaml_dump(eval_result_entries_to_yaml(entries)))

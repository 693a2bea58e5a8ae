"""A run: the study, its plan and execution, the folder it is written to, and what is counted from it.

`study` names probes and models, `plan` and `execute` run them, `schema` and `folder` hold the result, `tables` counts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueprobe.runs.execute import run, run_plan
    from trueprobe.runs.families import Family
    from trueprobe.runs.folder import Run, load_run
    from trueprobe.runs.plan import PlannedProbe, RunPlan, make_plan, plan_run
    from trueprobe.runs.session import Session
    from trueprobe.runs.shards import Shard, run_shard
    from trueprobe.runs.study import Study, make_study, read_study
    from trueprobe.runs.tables import RunTables
    from trueprobe.runs.writing import RunFolder

__all__ = [
    "Family",
    "PlannedProbe",
    "Run",
    "RunFolder",
    "RunPlan",
    "RunTables",
    "Session",
    "Shard",
    "Study",
    "load_run",
    "make_plan",
    "make_study",
    "plan_run",
    "read_study",
    "run",
    "run_plan",
    "run_shard",
]
_MODULES = {  # imported when a name is first used: reading a run folder must not import what asks models
    "execute": ("run", "run_plan"),
    "families": ("Family",),
    "folder": ("Run", "load_run"),
    "plan": ("PlannedProbe", "RunPlan", "make_plan", "plan_run"),
    "session": ("Session",),
    "shards": ("Shard", "run_shard"),
    "study": ("Study", "make_study", "read_study"),
    "tables": ("RunTables",),
    "writing": ("RunFolder",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

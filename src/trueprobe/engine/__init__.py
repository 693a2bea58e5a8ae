"""The engine: requests → distinct rows → batches → executor → answers, cached on disk.

Done once for all models and probes. A row asked twice is computed once, a cached answer is never computed again,
and a run that was killed goes on with the same batches. Weights are read into memory when a row must be computed, or
where nobody has tried this network before. A model that answers whole requests (`AnswerModel`) is asked each distinct
request once.
"""

from trueprobe.engine.answers import AnswerStore, Counts, default_path, derived_key
from trueprobe.engine.by_row import WHOLE, PlanPart
from trueprobe.engine.compute import Compute, cores, executor
from trueprobe.engine.engine import Engine, library_versions
from trueprobe.engine.executor import BatchTask, Executor, Local
from trueprobe.engine.layout import network_file_system
from trueprobe.engine.plan import BatchPlan, pack, plan_reads

__all__ = [
    "WHOLE",
    "AnswerStore",
    "BatchPlan",
    "BatchTask",
    "Compute",
    "Counts",
    "Engine",
    "Executor",
    "Local",
    "PlanPart",
    "cores",
    "default_path",
    "derived_key",
    "executor",
    "library_versions",
    "network_file_system",
    "pack",
    "plan_reads",
]

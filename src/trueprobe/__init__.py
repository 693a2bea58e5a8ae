"""trueprobe: what does a language model take for granted, and how far can the answer be trusted?

`run = trueprobe.run("counteracts", "nursery")` asks five small models. In a notebook, `run` shows its main findings;
`run.findings` has all of them as a table, `run.figures` lists the figures, `run.plot("counteracts", "margin")` draws
one, `run.report()` writes the page.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "BadInput",
    "Columns",
    "Compute",
    "ProbeCallback",
    "RunResults",
    "__version__",
    "compare",
    "embed",
    "fill",
    "findings_dict",
    "load_run",
    "open_model",
    "run",
    "score",
]

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    import pandas as pd

    from trueprobe.engine import Compute
    from trueprobe.errors import BadInput
    from trueprobe.integrations.trainer import ProbeCallback
    from trueprobe.models import Model, Options
    from trueprobe.results.render.notebook import RunResults
    from trueprobe.runs.folder import Run
    from trueprobe.runs.study import Changes, Study
    from trueprobe.scoring import Columns, embed, fill, score
    from trueprobe.types import Progress

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless a user asks: `trueprobe --verbose`

# Libraries are imported inside the functions, so that `import trueprobe` and `trueprobe --help` stay instant.


def run(
    what: str | Sequence[str] | Study,
    models: str | Sequence[str] = (),
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    progress: Progress | None = None,
    compute: Compute | None = None,
    **changes: Unpack[Changes],
) -> RunResults:
    """Ask models what probes or a study ask, count, and write a run folder; the same call goes on where it stopped.

    `models`: names as `trueprobe run --model` takes them. `out`: the folder, by default one in `runs/`. `settings`: of
    the probe. `store`: where answers are cached. `compute`: `trueprobe.Compute(workers=4)` computes in four
    processes. `changes`: limit, per_group, device, dtype, batch_tokens; and what is permitted of the probes, weights
    and servers that a study names, not you: allow_code, allow_pickle, allow_servers.

    >>> run = trueprobe.run("counteracts", ["nursery/0", "nursery/1"], "runs/mine", limit=40)
    >>> [card.name for card in run.cards]
    ['nursery-seed0', 'nursery-seed1']
    """
    from trueprobe.cli.progress import python_progress
    from trueprobe.results.render.notebook import RunResults
    from trueprobe.runs import execute

    progress = progress or python_progress()
    done = execute.run(what, models, out, settings=settings, store=store, progress=progress, compute=compute, **changes)
    return RunResults(done.folder, done.allow_code)


def load_run(folder: str | Path, allow_code: bool = False) -> RunResults:
    """A run from its folder, finished or interrupted. `allow_code`: to compare models, code of probes that it names by
    their paths is run.

    >>> trueprobe.load_run("runs/mine").probes
    ['counteracts']
    """
    from trueprobe.results.render.notebook import RunResults
    from trueprobe.runs import folder as folders

    return RunResults(folders.load_run(folder, allow_code).folder, allow_code)


def compare(
    run: Run,
    a: str,
    b: str,
    progress: Progress | None = None,
    allow_unequal: bool = False,
) -> pd.DataFrame:
    """Two models or families of one run on the items both scored: every measure, `a` minus `b`, with interval and
    verdict. `allow_unequal`: although signatures differ.

    >>> run = trueprobe.load_run("runs/mine")
    >>> table = trueprobe.compare(run, "nursery-seed0", "nursery-seed1")
    >>> list(table.columns)[:7]
    ['probe', 'measure', 'a', 'b', 'difference', 'low', 'high']
    """
    from trueprobe.cli.progress import python_progress
    from trueprobe.runs import compare as comparing
    from trueprobe.runs.schema import frame_of
    from trueprobe.statistics.rows import Difference

    made = comparing.compare(run, a, b, progress or python_progress(), allow_unequal)
    return frame_of(made.rows, Difference)


def open_model(spec: str, options: Options | None = None) -> Model:
    """One checkpoint, opened, to be asked directly.

    >>> trueprobe.open_model("nursery/0").card.kind
    'masked'
    """
    from trueprobe import models

    return models.open_model(spec, options)


def findings_dict(run: Run) -> dict[str, float]:
    """A run's findings and the ends of their intervals by name, for a tracker: `wandb.log(findings_dict(run))`.

    >>> sorted(trueprobe.findings_dict(trueprobe.load_run("runs/mine")))[0].split("/")[:2]
    ['nursery-seed0', 'counteracts']
    """
    from trueprobe.results.render.json import flat
    from trueprobe.results.view import Report

    return flat(Report.of(run))


_ELSEWHERE = {
    "Compute": "engine",
    "ProbeCallback": "integrations.trainer",
    "RunResults": "results.render.notebook",
    "BadInput": "errors",
    "Columns": "scoring",
    "embed": "scoring",
    "fill": "scoring",
    "score": "scoring",
}


def __getattr__(name: str) -> Any:
    """What is imported whole when it is first asked for; it needs pandas."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'trueprobe' has no attribute '{name}'")
    return getattr(importlib.import_module(f"trueprobe.{_ELSEWHERE[name]}"), name)


def __dir__() -> list[str]:
    """For completion: the public names alone."""
    return __all__
